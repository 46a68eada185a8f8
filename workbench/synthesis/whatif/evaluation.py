"""Compute the value of every proposition, from the leaves up; a what-if recomputes one path only (``resynthesis``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from workbench.propositions import ROOT, Belief, NodeId, Proposition, Tree


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """Every proposition's value, computed afresh."""

    #: Per id the value in [0, 1]; None where a leaf is ungrounded or a node without a function is out of date.
    values: Mapping[NodeId, float | None]
    #: Per inner id with a function, the value before it is held at 0 or 1.
    raw: Mapping[NodeId, float]
    #: Ids whose raw value left [0, 1].
    saturated: tuple[NodeId, ...]

    @property
    def root(self) -> float | None:
        """The root's value."""
        return self.values[ROOT]


def clamp(value: float) -> float:
    """Return the value, or the bound of [0, 1] that it passes."""
    return 0.0 if value < 0.0 else 1.0 if value > 1.0 else value


def follows_children(node: Proposition) -> bool:
    """Whether the node's value is computed from its children's: it has a rule with a function and is not pinned."""
    return bool(node.children) and not node.pinned and node.rule is not None and node.rule.numeric


def evaluate(tree: Tree, p: Mapping[NodeId, float] | None = None) -> Evaluation:
    """Evaluate the whole tree bottom-up.

    A leaf has its belief; a pinned node too. An inner node with a function is computed from its children and held inside
    [0, 1]. A node without one (vanilla, or not synthesized yet) keeps its belief unless that is stale.

    `p`: Values to take in place of some nodes', which are then not computed.
    """
    fixed = p or {}
    values: dict[NodeId, float | None] = {}
    raw: dict[NodeId, float] = {}
    saturated: list[NodeId] = []
    for node_id in reversed(tree.ids()):  # depth first backwards: children before their parent
        node = tree[node_id]
        if node_id in fixed:
            values[node_id] = fixed[node_id]
        elif follows_children(node):
            below = {child: values[child] for child in node.children}
            if None in below.values():
                values[node_id] = None
                continue
            assert node.rule is not None
            raw[node_id] = value = node.rule.evaluate(below)  # type: ignore[arg-type]
            values[node_id] = clamp(value)
            # Rounding past the bound is not saturation.
            if value < -1e-12 or value > 1 + 1e-12:
                saturated.append(node_id)
        else:
            values[node_id] = node.p
    return Evaluation(values=values, raw=raw, saturated=tuple(reversed(saturated)))


def settle(tree: Tree) -> Tree:
    """Recompute every inner value that can be; a value that no longer follows is marked stale.

    A computable node that lacks a child's value and had one of its own turns stale.
    """
    values = evaluate(tree).values
    changed = []
    for node in tree.propositions():
        if not follows_children(node):
            continue
        value = values[node.id]
        if value is None:
            if node.belief is not None and not node.stale:
                changed.append(replace(node, stale=True))
        elif node.belief is None or node.stale or node.belief.p != value:
            changed.append(with_value(node, value))
    return tree.with_propositions(changed) if changed else tree


def with_value(node: Proposition, value: float) -> Proposition:
    """Give the node a computed value; its key factor and report stay."""
    words = node.belief if node.belief is not None else Belief(p=value)
    return replace(node, belief=replace(words, p=value, source="model"), model_belief=None, stale=False)
