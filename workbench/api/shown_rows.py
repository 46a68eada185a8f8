"""Lists of rows that a notebook shows as a table: runs, what drives a claim, endpoints."""

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from workbench.formatting import percent
from workbench.terminal import printable

if TYPE_CHECKING:
    import pandas as pd

#: Rows that a cell shows; `frame` has all of them.
MOST_SHOWN = 100
#: Fields that hold a probability.
_PROBABILITIES = {"p", "base_rate", "low", "high"}


class ShownRows(list[dict[str, Any]]):
    """A list of dictionaries, as it prints for a program, that shows itself as a table in a notebook.

    >>> ShownRows([{"id": "P1", "p": 0.5, "empty": None}])._repr_html_().count("<td")
    2
    """

    def frame(self) -> "pd.DataFrame":
        """Return the rows as a DataFrame."""
        import pandas as pd  # import workbench stays quick

        return pd.DataFrame(list(self))

    def _repr_html_(self) -> str:
        names = [name for name in dict.fromkeys(key for row in self for key in row) if self._is_shown(name)]
        head = "".join(f"<th>{escape(name)}</th>" for name in names)
        body = "".join(
            f"<tr>{''.join(f'<td>{_cell_html(name, row.get(name))}</td>' for name in names)}</tr>"
            for row in self[:MOST_SHOWN]
        )
        more = (
            f"<p>{len(self) - MOST_SHOWN} more rows: frame() has them</p>" if len(self) > MOST_SHOWN else ""
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"

    def _is_shown(self, name: str) -> bool:
        values = [row.get(name) for row in self]
        return any(value not in (None, "", []) and not isinstance(value, Mapping) for value in values)


def _cell_html(name: str, value: object) -> str:
    if isinstance(value, float):
        return percent(value) if name in _PROBABILITIES else f"{value:.4g}"
    if isinstance(value, list | tuple):
        value = ", ".join(map(str, value))
    return "" if value is None or isinstance(value, Mapping) else escape(printable(str(value), keep=""))
