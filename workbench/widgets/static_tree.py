"""The tree as plain HTML: for saved notebooks, nbconvert, GitHub, and every page where no kernel answers."""

from collections import Counter
from collections.abc import Mapping
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

from workbench.propositions import NodeId, Tree
from workbench.templates import html_environment
from workbench.widgets.rows import Row
from workbench.widgets.session import WhatIfSession

if TYPE_CHECKING:
    from jinja2 import Template


#: Rows of a page without a kernel, where nothing folds.
MOST_ROWS = 400


@cache
def _template() -> "Template":
    return html_environment("workbench.widgets").get_template("static_tree.html.j2")


def tree_html(tree: Tree | WhatIfSession, without_data: Mapping[NodeId, str] | None = None) -> str:
    """Return the tree as one HTML table: id, statement, rule or key factor, probability, and the base if it differs.

    All text is escaped; there are no scripts. The tree widget puts it beside its live view. Of a large tree it holds the
    upper levels and what was edited, and says how many rows it leaves out: 11,111 rows are 6 MB in every saved notebook. ``without_data`` marks leaves that read no
    data; a session knows its own.
    """
    session = tree if isinstance(tree, WhatIfSession) else WhatIfSession(tree, without_data=without_data)
    shown = _shown(session.rows)
    return _template().render(rows=shown, left_out=len(session.rows) - len(shown))


def _shown(rows: Mapping[NodeId, Row]) -> list[Row]:
    """Return the rows of a page that nobody can unfold: all, or as many whole levels as fit, and every edit with its path."""
    if len(rows) <= MOST_ROWS:
        return list(rows.values())
    levels = Counter(row["level"] for row in rows.values())
    deepest, count = 0, levels[0]
    while count + levels[deepest + 1] <= MOST_ROWS:
        deepest += 1
        count += levels[deepest]
    wanted = {id_ for id_, row in rows.items() if row["level"] <= deepest}
    if deepest == 0:  # more children than fit
        wanted.update(islice(rows, MOST_ROWS))
    # An edit moves its path up to the root, so the rows above it are among those that moved.
    wanted.update(islice((id_ for id_, row in rows.items() if row["edited"] or row["moved"]), MOST_ROWS))
    return [row for id_, row in rows.items() if id_ in wanted]
