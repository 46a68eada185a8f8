"""How numbers and rules are written for people, the same on every screen."""

from workbench.propositions import NodeId, Tree


def percent(p: float | None) -> str:
    """Return a probability as people read it, ``68.9 %``; a dash where there is none."""
    return "   -  " if p is None else f"{100 * p:5.1f} %"


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
            terms.append(f"{weight:+.4f} x {child} ({percent(belief.p if belief else None).strip()})")
        return " ".join(terms)
    if data["name"] == "logic":
        return str(data["formula"])
    return str(data["name"])
