"""Whether two answers of one data call say the same: by content, whatever the order of their rows and the spelling of their figures."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from proxies.hashing import canonical_json, sha256_of

#: How rows name their day, in the order in which they are looked for.
_DAYS = ("date", "period_start_day", "observation_date", "published", "datetime", "timestamp", "time", "t")


def answer_content(data: Any) -> str:
    """Return the hash of what an answer says: rows in whatever order, figures in whatever spelling, give the same.

    >>> answer_content([{"d": 1, "v": "3.80"}, {"d": 2, "v": 4}]) == answer_content([{"d": 2, "v": 4.0}, {"d": 1, "v": 3.8}])
    True
    """
    return sha256_of(canonical_json(_normalised(data)))


def _normalised(value: Any) -> Any:
    match value:
        case bool() | None:
            return value
        case int() | float():
            return float(value)
        case str():
            return _as_figure(value)
        case Mapping():
            return {str(name): _normalised(item) for name, item in value.items()}
        case list() | tuple():
            items = [_normalised(item) for item in value]
            # rows are a set; a list of bare values is a column, whose order pairs it with its neighbours
            return (
                sorted(items, key=canonical_json) if all(isinstance(each, dict) for each in items) else items
            )
        case _:
            return str(value)


def _as_figure(text: str) -> float | str:
    # "nan" and "infinity" are words here, and "1_000" is no figure of a vendor's
    if not text[:1].isdigit() and text[:1] not in "+-.":
        return text
    try:
        number = float(text) if "_" not in text else None
    except ValueError:
        return text
    return text if number is None or number != number or number in (float("inf"), float("-inf")) else number


class RowChanges(NamedTuple):
    """How the rows of an answer differ from those of an earlier one: counts, and the last day of the newer."""

    new: int
    revised: int
    removed: int
    last: str


def row_changes(before: Any, after: Any) -> RowChanges | None:
    """Return how rows with days differ between two answers; None where an answer is no list of such rows."""
    old, new = _rows_by_day(before), _rows_by_day(after)
    if old is None or new is None:
        return None
    both = old.keys() & new.keys()
    return RowChanges(
        new=len(new.keys() - old.keys()),
        revised=sum(old[day] != new[day] for day in both),
        removed=len(old.keys() - new.keys()),
        last=max(new, default=""),
    )


def _rows_by_day(data: Any) -> dict[str, Any] | None:
    rows = _rows_of_objects(data)
    if rows is None:
        return None
    name = next((name for name in _DAYS if all(name in row for row in rows)), None)
    if name is None:
        return {} if not rows else None
    listed: dict[str, list[Any]] = {}
    for row in rows:
        listed.setdefault(str(row[name]), []).append(_normalised(row))
    return {day: sorted(each, key=canonical_json) for day, each in listed.items()}


def _rows_of_objects(data: Any) -> list[Mapping[str, Any]] | None:
    if isinstance(data, Mapping):
        lists = [
            each for each in data.values() if isinstance(each, list) and each and isinstance(each[0], Mapping)
        ]
        return _rows_of_objects(lists[0]) if len(lists) == 1 else None
    if isinstance(data, list) and all(isinstance(row, Mapping) for row in data):
        return data
    return None
