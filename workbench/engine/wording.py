"""How numbers and rules are written for people, the same on every screen."""

import re

from workbench.propositions import NodeId, Tree

_ID = re.compile(r"\bP[0-9]+(?:\.[0-9]+)*")

NO_VALUE = "–"  # an en dash: there is no number yet, or none that still holds


def percent(p: float | None) -> str:
    """Return a probability as every screen and message of the house shows it.

    >>> percent(0.48), percent(1.0), percent(None)
    ('48.0%', '100.0%', '–')
    """
    return NO_VALUE if p is None else f"{100 * p:.1f}%"


def equation_with_values(tree: Tree, node: NodeId) -> str | None:
    """Return an inner node's ``Rule.equation`` with the children's values beside their ids; None if it has no rule.

    The terminal, the report and the exported notebook print this line, so that a reader can recompute the value.
    """
    rule = tree[node].rule
    if rule is None:
        return None
    children = set(tree[node].children)

    def with_value(match: re.Match[str]) -> str:
        child = match[0]
        if child not in children:
            return child
        belief = tree[child].belief
        return f"{child} ({percent(belief.p if belief else None)})"

    return _ID.sub(with_value, rule.equation())
