"""How numbers and rules are written for people, the same on every screen."""

from workbench.propositions import NodeId, Tree

NO_VALUE = "–"  # an en dash: there is no number yet, or none that still holds


def percent(p: float | None) -> str:
    """Return a probability as every screen and message of the house shows it.

    >>> percent(0.48), percent(1.0), percent(None)
    ('48.0%', '100.0%', '–')
    """
    return NO_VALUE if p is None else f"{100 * p:.1f}%"


def equation(tree: Tree, node: NodeId) -> str | None:
    """Return the rule of an inner node as a line a person can recompute, or None."""
    rule = tree[node].rule
    if rule is None:
        return None
    data = rule.to_json()
    if data["name"] == "linear":
        terms = [f"{data['intercept']:+.4f}"]
        for child, weight in data["weights"].items():
            belief = tree[child].belief
            terms.append(f"{weight:+.4f} x {child} ({percent(belief.p if belief else None)})")
        return " ".join(terms)
    if data["name"] == "logic":
        return str(data["formula"])
    return str(data["name"])
