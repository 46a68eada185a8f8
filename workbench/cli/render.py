"""A run in plain text, for a terminal."""

from workbench.engine.view import RunView
from workbench.engine.wording import equation_with_values, percent
from workbench.propositions import NodeId, Tree


def tree_lines(tree: Tree, *, equations: bool = True) -> list[str]:
    """Return the tree as lines: id, probability, statement, and under an inner node its rule."""
    lines: list[str] = []
    # (node, prefix before its branch mark, is the last of its siblings)
    stack: list[tuple[NodeId, str, bool | None]] = [(tree.root.id, "", None)]
    while stack:
        node, prefix, last = stack.pop()
        proposition = tree[node]
        mark = "" if last is None else ("└─ " if last else "├─ ")
        belief = proposition.belief
        lines.append(
            f"{prefix}{mark}{node}  {percent(belief.p if belief else None)}  {proposition.statement}"
        )
        below = prefix + ("" if last is None else ("   " if last else "│  "))
        rule = equation_with_values(tree, node) if equations else None
        if rule:
            lines.append(f"{below}│    = {rule}")
        children = proposition.children
        stack.extend(
            (child, below, index == len(children) - 1) for index, child in reversed(list(enumerate(children)))
        )
    return lines


def run_lines(view: RunView) -> list[str]:
    """Return a run as lines: the tree, then what it rests on."""
    lines = [*tree_lines(view.tree), ""]
    facts = [f"run {view.run_id}", view.state.status, f"cutoff {view.cutoff}", view.state.settings.model]
    if view.state.isolation:
        facts.append(
            f"kernels sealed by {view.state.isolation}"
            if view.state.isolation != "none"
            else "KERNELS NOT SEALED"
        )
    lines.append(" · ".join(facts))
    if view.state.imported is not None:
        lines.append(view.state.imported.line())
    if (absent := view.state.not_installed()) is not None:
        lines.append(absent)
    cost = "cost unknown" if view.cost_usd is None else f"${view.cost_usd:.4f}"
    lines.append(f"{view.model_calls} model calls ({cost}), {view.api_calls} data calls")
    if view.base_rate is not None:
        lines.append(f"base rate known at the cutoff: {percent(view.base_rate)}")
    return lines
