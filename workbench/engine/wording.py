"""How numbers, rules, trees and runs are written for people, the same on every screen."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workbench.propositions import NodeId, Tree

if TYPE_CHECKING:
    from workbench.engine.view import RunView

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
    # Whole ids by one pattern: replacing text by text would find P2.1 inside P2.10 too.
    children = set(tree[node].children)

    def with_value(match: re.Match[str]) -> str:
        child = match[0]
        if child not in children:
            return child
        belief = tree[child].belief
        return f"{child} ({percent(belief.p if belief else None)})"

    return _ID.sub(with_value, rule.equation())


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
