"""Compute how far each proposition can move while the leaves stay in their intervals."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.propositions import NodeId, Tree
from workbench.synthesis.whatif.evaluation import clamp, follows_children

Span = tuple[float, float]


def typed_ranges(tree: Tree) -> dict[NodeId, Span]:
    """Return the ranges that an analyst gave in place of a value, by proposition."""
    return {
        node.id: (node.belief.low, node.belief.high)
        for node in tree.propositions()
        if node.belief is not None and node.belief.low is not None and node.belief.high is not None
    }


def reachable_ranges(
    tree: Tree, leaves: Mapping[NodeId, Span] | None = None, *, raw: bool = False
) -> dict[NodeId, Span]:
    """Return the least and greatest value of every proposition.

    Exact, since in a tree the children move independently and each rule's range over a box is that of its corners (see
    ``LogicRule.reachable`` for the one exception). A pinned node, and one without a function, stay where they are; without a
    value they may be anywhere.

    `leaves`: Interval per leaf; [0, 1] where not given.
    """
    spans: dict[NodeId, Span] = {}
    raw_spans: dict[NodeId, Span] = {}
    for node_id in reversed(tree.ids()):
        node = tree[node_id]
        if not node.children:
            span = (leaves or {}).get(node_id, (0.0, 1.0))
        elif follows_children(node):
            assert node.rule is not None
            span = node.rule.reachable({child: spans[child] for child in node.children})
        else:
            p = node.p
            span = (0.0, 1.0) if p is None else (p, p)
        raw_spans[node_id] = span
        # A parent reads values that are held in [0, 1], also if the raw ranges are asked for.
        spans[node_id] = clamp(span[0]), clamp(span[1])
    chosen = raw_spans if raw else spans
    return {node: chosen[node] for node in tree.ids()}
