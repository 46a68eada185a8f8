"""Measure how far each proposition moves the root: path weights, contributions and swings, exact and in one pass down the tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from workbench.propositions import ROOT, NodeId, Tree
from workbench.steps import Steps, at_once
from workbench.synthesis.whatif.evaluation import Evaluation, evaluate, follows_children, root_if


@dataclass(frozen=True, slots=True)
class Swing:
    """The root as a function of one node's value while all others stand still: ``clamp(slope * x + offset, low, high)``.

    ``exact`` is False below a rule that is not affine in its children one by one; the slope is then the derivative here.
    """

    slope: float
    offset: float
    low: float
    high: float
    exact: bool = True

    def __call__(self, x: float) -> float:
        """The root's value when the node's is x."""
        return min(self.high, max(self.low, self.slope * x + self.offset))


@dataclass(frozen=True, slots=True, kw_only=True)
class TornadoRow:
    """How much one leaf moves the root: a row of ``workbench sensitivity``.

    Parameters
    ----------
    path_weight : float or None
        Derivative of the root by the leaf, before any value is held at 0 or 1: the beta path of paper A, section 4.2,
        where every rule on the path is linear. 0 below a pinned node; None below a node without a function.
    p : float or None
        The leaf's value.
    low, high : float or None
        Least and greatest root value while the leaf stays in its interval.
    contribution : float or None
        ``path_weight * p``: what the root would lose if the leaf were false (before saturation).
    """

    id: NodeId
    path_weight: float | None
    p: float | None
    low: float | None
    high: float | None
    contribution: float | None

    def to_json(self) -> dict[str, Any]:
        """Return a row of ``workbench sensitivity --json``."""
        return asdict(self)


def path_weights(tree: Tree, *, evaluation: Evaluation | None = None) -> dict[NodeId, float | None]:
    """Differentiate the root by every proposition, at the tree's values: products of local ones from the root down.

    For linear rules these are the beta paths (paper A, section 4.2), the same at every point. Below a pinned node 0, below
    a node without a function or without values None. Saturation is not counted: see :func:`swings`.
    """
    evaluation = evaluation or evaluate(tree)
    weights: dict[NodeId, float | None] = {ROOT: 1.0}
    for node_id in tree.ids():
        node = tree[node_id]
        if not node.children:
            continue
        above = weights[node_id]
        local = _local(tree, node_id, evaluation)
        for child in node.children:
            # 0 before None: what hangs below a pinned node moves nothing, whether or not it could be computed.
            if node.pinned or above == 0.0:
                weights[child] = 0.0
            elif above is None or local is None:
                weights[child] = None
            else:
                weights[child] = above * local.get(child, 0.0)
    return weights


def swings(tree: Tree, *, evaluation: Evaluation | None = None) -> dict[NodeId, Swing | None]:
    """Return the root as a function of every proposition's value, the others held at theirs; None where there is no function."""
    return at_once(_swings_in_steps(tree, evaluation or evaluate(tree)))


def _swings_in_steps(tree: Tree, evaluation: Evaluation) -> Steps[dict[NodeId, Swing | None]]:
    swing_of: dict[NodeId, Swing | None] = {ROOT: Swing(1.0, 0.0, 0.0, 1.0)}
    for node_id in tree.ids():
        node = tree[node_id]
        if not node.children:
            continue
        above = swing_of[node_id]
        local = _local(tree, node_id, evaluation)
        for child in node.children:
            value = evaluation.values[child]
            if node.pinned and evaluation.root is not None:
                swing_of[child] = Swing(0.0, evaluation.root, evaluation.root, evaluation.root)
            elif above is None or local is None or value is None or node.rule is None:
                swing_of[child] = None
            else:
                slope = local.get(child, 0.0)
                offset = evaluation.raw[node_id] - slope * value
                # This node's value is held in [0, 1], so the root goes no further than it does at these two.
                ends = above(0.0), above(1.0)
                swing_of[child] = Swing(
                    above.slope * slope,
                    above.slope * offset + above.offset,
                    min(ends),
                    max(ends),
                    above.exact and node.rule.multilinear,
                )
        yield
    return swing_of


def tornado(tree: Tree, ranges: Mapping[NodeId, tuple[float, float]] | None = None) -> list[TornadoRow]:
    """Return one row per leaf, the widest swing of the root first.

    `ranges`: Interval of a leaf's value, for instance from its trials; [0, 1] where not given.
    """
    return at_once(tornado_in_steps(tree, ranges))


def tornado_in_steps(
    tree: Tree, ranges: Mapping[NodeId, tuple[float, float]] | None = None
) -> Steps[list[TornadoRow]]:
    """Make the rows of :func:`tornado`, of 10,000 leaves in some 70 ms."""
    spans = ranges or {}
    evaluation = evaluate(tree)
    yield
    weights = path_weights(tree, evaluation=evaluation)
    yield
    maps = yield from _swings_in_steps(tree, evaluation)
    rows = []
    for leaf in tree.leaves():
        p, weight, swing = evaluation.values[leaf], weights[leaf], maps[leaf]
        low = high = None
        if swing is not None:
            start, end = spans.get(leaf, (0.0, 1.0))
            ends = (
                [swing(start), swing(end)]
                if swing.exact
                else _along_path(tree, leaf, (start, end), evaluation)
            )
            low, high = min(ends), max(ends)
        contribution = None if weight is None or p is None else weight * p
        rows.append(
            TornadoRow(id=leaf, path_weight=weight, p=p, low=low, high=high, contribution=contribution)
        )
    yield
    return sorted(rows, key=swing_order)


def swing_order(row: TornadoRow) -> float:
    """Return the key that puts the widest swing first and rows without one last."""
    # Widths negated lie in [-1, 0].
    return 1.0 if row.low is None or row.high is None else row.low - row.high


def _local(tree: Tree, node_id: NodeId, evaluation: Evaluation) -> Mapping[NodeId, float] | None:
    node = tree[node_id]
    below = {child: evaluation.values[child] for child in node.children}
    if not follows_children(node) or None in below.values() or node_id not in evaluation.raw:
        return None
    assert node.rule is not None
    return node.rule.derivative(below)  # type: ignore[arg-type]


def _along_path(tree: Tree, leaf: NodeId, span: tuple[float, float], evaluation: Evaluation) -> list[float]:
    # not monotone in general (XOR by naive copies), so look inside the interval too
    start, end = span
    points = [start + (end - start) * step / 16 for step in range(17)]
    values = [root_if(tree, leaf, x, evaluation) for x in points]
    return [value for value in values if value is not None]
