"""The tree as plain HTML: for saved notebooks, nbconvert, GitHub, and every page where no kernel answers."""

from functools import cache
from typing import TYPE_CHECKING

from workbench.propositions import Tree
from workbench.templates import html_environment
from workbench.widgets.session import WhatIfSession

if TYPE_CHECKING:
    from jinja2 import Template


@cache
def _template() -> "Template":
    return html_environment("workbench.widgets").get_template("static_tree.html.j2")


def tree_html(tree: Tree | WhatIfSession) -> str:
    """Return the tree as one HTML table: id, statement, rule or key factor, probability, and the base if it differs.

    All text is escaped; there are no scripts. The tree widget puts it beside its live view.
    """
    session = tree if isinstance(tree, WhatIfSession) else WhatIfSession(tree)
    return _template().render(rows=session.rows.values())
