"""The analyze stage of the offline analyst: replies that hand over a planned tree one level a round."""

import json
import re
from collections.abc import Mapping, Sequence

from workbench.models.base import Message, NodeRef
from workbench.offline.decompose import Branch

END = "<END_OF_ANALYSIS>"
_WANTED = re.compile(r"\babout (\d+)\b")


def analysis_reply(plan: Branch, nodes: Sequence[NodeRef], messages: Sequence[Message]) -> str:
    """Return the reply of the next round: the children of every planned inner node that is in the tree but not expanded.

    Parameters
    ----------
    plan : Branch
        The planned tree; its root is the first node.
    nodes : sequence of NodeRef
        The tree as it stands, root first.
    messages : sequence of Message
        The dialogue; how many leaves are wanted is read from it, where it says so.
    """
    tree = {node.id: node.statement for node in nodes}
    root = nodes[0].id
    wanted = _wanted(messages)
    groups = []
    leaves = sum(1 for node in tree if not _children(tree, node))
    for node, branch in _inner(plan, tree, root):
        branches = branch.children
        if wanted is not None:  # a tree may end somewhat above the wanted number, not far above
            branches = branches[: max(2, 2 * wanted - leaves + 1)]
        leaves += len(branches) - 1
        groups.append(_group(node, branches))
    if not groups:
        return f"Every leaf can be decided from one series by its own notebook.\n\n{END}"
    words = (
        _words(plan)
        if len(tree) == 1
        else "The propositions that rest on others themselves are split once more."
    )
    return f"{words}\n\n```json\n{json.dumps(groups, indent=2, ensure_ascii=False)}\n```"


def _words(plan: Branch) -> str:
    notes = "".join(f" Note: {note}." for note in plan.claim.notes)
    return (
        f"Read as: {plan.claim.statement}.{notes} Like windows of the visible past came true in {plan.base_rate:.1%}. "
        "The first child is the reference class; the others are claims of other kinds that support it, each with a "
        "threshold that has come true about as often."
    )


def _inner(plan: Branch, tree: Mapping[str, str], root: str) -> list[tuple[str, Branch]]:
    """Planned inner nodes that stand in the tree without children."""
    planned = []
    # By statement: planned branches carry no ids.
    by_statement = {branch.claim.statement: branch for branch in (plan, *plan.children)}
    for node, statement in tree.items():
        branch = plan if node == root else by_statement.get(statement)
        if branch is not None and branch.children and not _children(tree, node):
            planned.append((node, branch))
    return planned


def _children(tree: Mapping[str, str], node: str) -> list[str]:
    return [other for other in tree if other != node and _is_child(other, node)]


def _is_child(other: str, node: str) -> bool:
    if node == "P0":
        return other != "P0" and "." not in other
    return other.startswith(f"{node}.") and "." not in other[len(node) + 1 :]


def _group(node: str, branches: Sequence[Branch]) -> dict[str, object]:
    ids = [f"P{n}" if node == "P0" else f"{node}.{n}" for n in range(1, len(branches) + 1)]
    return {
        "parent": node,
        "children": {name: child.claim.statement for name, child in zip(ids, branches, strict=True)},
        "causality": "; ".join(
            f"({name}, Positive) {child.why}" for name, child in zip(ids, branches, strict=True)
        ),
    }


def _wanted(messages: Sequence[Message]) -> int | None:
    for message in reversed(messages):
        match = _WANTED.search(message.content) if message.role == "user" else None
        if match:
            return int(match[1])
    return None
