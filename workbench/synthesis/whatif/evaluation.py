"""Compute the values of a tree: all of them, those above an edit, and how far each can move."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from workbench.propositions import ROOT, Belief, NodeId, Proposition, Tree, depth_of, parent_of

Span = tuple[float, float]

# Rounding past a bound is not saturation.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """Every proposition's value, computed afresh."""

    #: Per id the value in [0, 1]; None where a leaf is ungrounded or a node without a function is out of date.
    values: Mapping[NodeId, float | None]
    #: Per inner id with a function, the value before it is held at 0 or 1.
    raw: Mapping[NodeId, float]

    @property
    def root(self) -> float | None:
        """The root's value."""
        return self.values[ROOT]


def clamp(value: float) -> float:
    """Return the value, or the bound of [0, 1] that it passes."""
    return 0.0 if value < 0.0 else 1.0 if value > 1.0 else value


def is_saturated(value: float) -> bool:
    """Whether a raw value lies outside [0, 1], by more than rounding."""
    return not -_ROUNDING <= value <= 1 + _ROUNDING


def follows_children(node: Proposition) -> bool:
    """Whether the node's value is computed from its children's: it has a rule with a function and is not pinned."""
    return bool(node.children) and not node.pinned and node.rule is not None and node.rule.numeric


def raw_value(node: Proposition, values: Mapping[NodeId, float | None]) -> float | None:
    """Compute a node by its rule from its children's values; None where it does not follow them, or one of them is missing."""
    if not follows_children(node):
        return None
    below = {child: values[child] for child in node.children}
    if None in below.values():
        return None
    assert node.rule is not None
    return node.rule.evaluate(below)  # type: ignore[arg-type]


def evaluate(tree: Tree, p: Mapping[NodeId, float] | None = None) -> Evaluation:
    """Evaluate the whole tree bottom-up.

    A leaf has its belief; a pinned node too. An inner node with a function is computed from its children and held inside
    [0, 1]. A node without one (vanilla, or not synthesized yet) keeps its belief unless that is stale.

    `p`: Values to take in place of some nodes', which are then not computed.
    """
    fixed = p or {}
    values: dict[NodeId, float | None] = {}
    raw: dict[NodeId, float] = {}
    for node in reversed(tree.propositions()):  # depth first backwards: children before their parent
        if node.id in fixed:
            values[node.id] = fixed[node.id]
        elif (value := raw_value(node, values)) is not None:
            raw[node.id] = value
            values[node.id] = clamp(value)
        else:
            values[node.id] = None if follows_children(node) else node.p
    return Evaluation(values=values, raw=raw)


def root_if(tree: Tree, node: NodeId, x: float, evaluation: Evaluation) -> float | None:
    """Return the root's value when one node's is x, by recomputing its path."""
    value: float | None = x
    while (parent := parent_of(node)) is not None:
        above = tree[parent]
        if above.pinned:
            return evaluation.root
        siblings = {child: evaluation.values[child] for child in above.children}
        raw = raw_value(above, {**siblings, node: value})
        if raw is None:
            return None
        node, value = parent, clamp(raw)
    return value


class Refreshed(NamedTuple):
    """A tree whose ancestors of an edit were recomputed."""

    tree: Tree
    #: Raw value per recomputed ancestor.
    raw: dict[NodeId, float]
    #: All that has another value, or was marked stale.
    moved: set[NodeId]


def refresh(before: Tree, after: Tree, touched: Iterable[NodeId]) -> Refreshed:
    """Recompute the ancestors of the touched nodes of an edited tree, and nothing else.

    ``touched`` names what the edit changed: a node with a new value, or the parent whose children or rule changed. Such a
    parent is itself recomputed. A value that no longer follows from below, and cannot be computed, is marked stale.
    """
    edited = set(touched)
    fresh: dict[NodeId, Proposition] = {}
    raw: dict[NodeId, float] = {}
    for node_id in _upwards(after, edited):
        node = after[node_id]
        if not node.children or node.pinned:
            continue
        below = {child: (fresh[child] if child in fresh else after[child]).p for child in node.children}
        if (value := raw_value(node, below)) is not None:
            raw[node_id] = value
            p = clamp(value)
            # key factor and report stay
            belief = replace(node.belief or Belief(p=p), p=p, source="model")
            fresh[node_id] = replace(node, belief=belief, model_belief=None, stale=False)
        elif node.belief is not None:
            # An edited node is exempt: the edit itself gave it its value, or marked it stale.
            moved = any(child not in before or before[child].p != p for child, p in below.items())
            if node.stale or follows_children(node) or (moved and node_id not in edited):
                fresh[node_id] = replace(node, stale=True)
    return Refreshed(
        after.with_propositions(fresh.values()) if fresh else after,
        raw,
        set(fresh),
    )


def _upwards(tree: Tree, edited: set[NodeId]) -> list[NodeId]:
    due = set(edited)
    for start in edited:
        node = parent_of(start)
        while node is not None and node not in due:
            due.add(node)
            # a pinned node hides what lies below from what lies above
            node = None if tree[node].pinned else parent_of(node)
    return sorted(due, key=depth_of, reverse=True)


def settle(tree: Tree) -> Tree:
    """Recompute every inner value that can be; a computable node that lacks a child's value turns stale."""
    return refresh(tree, tree, tree.inner()).tree


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
    """Return the least and greatest value of every proposition while the leaves stay in their intervals ([0, 1] if not given).

    Exact, since in a tree the children move independently and each rule's range over a box is that of its corners (see
    ``LogicRule.reachable`` for the one exception). A pinned node, and one without a function, stay where they are; without a
    value they may be anywhere.
    """
    spans: dict[NodeId, Span] = {}
    raw_spans: dict[NodeId, Span] = {}
    for node in reversed(tree.propositions()):
        if not node.children:
            span = (leaves or {}).get(node.id, (0.0, 1.0))
        elif follows_children(node):
            assert node.rule is not None
            span = node.rule.reachable({child: spans[child] for child in node.children})
        else:
            span = (0.0, 1.0) if node.p is None else (node.p, node.p)
        raw_spans[node.id] = span
        # A parent reads values that are held in [0, 1], also if the raw ranges are asked for.
        spans[node.id] = clamp(span[0]), clamp(span[1])
    chosen = raw_spans if raw else spans
    return {node: chosen[node] for node in tree.ids()}
