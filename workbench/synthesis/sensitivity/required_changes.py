"""Find the changes that bring the root to a value: one leaf alone, or all leaves going the same share of their way.

A goal seek: `what_if` asked backwards.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from workbench.propositions import NodeId, Tree, check_probability
from workbench.synthesis.errors import SensitivityError
from workbench.synthesis.sensitivity.paths import Swing, path_weights, swings
from workbench.synthesis.whatif.evaluation import Evaluation, evaluate, reachable_ranges, root_if

#: Halvings of an interval: the last digit of a float.
_HALVINGS = 60
#: Points at which a leaf is tried where the root is not a straight line of it.
_POINTS = 17
_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """A leaf's value now, and the one that brings the root to its target; both in [0, 1]."""

    id: NodeId
    p: float
    needed: float

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reaching:
    """The changes that reach a target."""

    #: target, root: Where the root should be, and where it is.
    target: float
    root: float
    #: low, high: The root's reachable range: outside it nothing does.
    low: float
    high: float
    #: Leaves of which each would do it by itself, the least change first.
    alone: tuple[Way, ...]
    #: Part of its way, in [0, 1], that every leaf has to go towards the end (0 or 1) that moves the root there; None where even the ends
    #: do not do it.
    share: float | None
    #: The leaves after that, the widest moved first; empty without a share.
    together: tuple[Way, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the document of ``workbench whatif --reach P --json``."""
        return {
            "target": self.target,
            "root": self.root,
            "reachable": [self.low, self.high],
            "alone": [way.to_json() for way in self.alone],
            "share": self.share,
            "together": [way.to_json() for way in self.together],
        }


def ways_to_reach(tree: Tree, target: float) -> Reaching:
    """Find the changes that bring the root of a valued tree to ``target``.

    Raises `SensitivityError`: The root has no value. Raises `ProbabilityOutOfRange`: ``target`` is not in [0, 1].

    >>> from workbench.propositions import Belief, Tree
    >>> from workbench.synthesis import LinearRule, settle
    >>> tree = Tree.root_only("Rates are cut").expand("P0", {"P1": "Growth slows", "P2": "Jobs are lost"})
    >>> tree = tree.with_belief("P1", Belief(p=0.8)).with_belief("P2", Belief(p=0.5))
    >>> tree = settle(tree.with_rule("P0", LinearRule(0.0, {"P1": 0.5, "P2": 0.2})))
    >>> answer = ways_to_reach(tree, 0.25)
    >>> [(way.id, round(way.needed, 6)) for way in answer.alone], answer.share
    ([('P1', 0.3)], 0.5)
    """
    target = check_probability(target, of="the value to reach")
    evaluation = evaluate(tree)
    root = evaluation.root
    if root is None:
        raise SensitivityError("the claim has no value, so there is nothing to move")
    maps = swings(tree, evaluation=evaluation)
    # A claim alone is no driver of itself.
    leaves = [leaf for leaf in tree.leaves() if evaluation.values[leaf] is not None and leaf != tree.root.id]
    alone = []
    for leaf in leaves:
        p, swing = evaluation.values[leaf], maps[leaf]
        assert p is not None
        needed = None if swing is None else _needed(tree, leaf, p, swing, target, evaluation)
        if needed is not None:
            alone.append(Way(id=leaf, p=p, needed=needed))
    low, high = reachable_ranges(tree)[tree.root.id]
    share, together = _all_leaves(tree, leaves, target, evaluation)
    return Reaching(
        target=target,
        root=root,
        low=low,
        high=high,
        alone=tuple(sorted(alone, key=lambda way: abs(way.needed - way.p))),
        share=share,
        together=together,
    )


def _needed(
    tree: Tree, leaf: NodeId, p: float, swing: Swing, target: float, evaluation: Evaluation
) -> float | None:
    if swing.exact:
        if not swing.slope:
            return None
        x = (target - swing.offset) / swing.slope
        # Rounding past an end is not out of reach.
        x = min(1.0, max(0.0, x)) if -_TOLERANCE <= x <= 1 + _TOLERANCE else x
        return x if 0.0 <= x <= 1.0 and abs(swing(x) - target) <= _TOLERANCE else None
    return _crossing(tree, leaf, p, target, evaluation)


def _crossing(tree: Tree, leaf: NodeId, p: float, target: float, evaluation: Evaluation) -> float | None:
    """Find the crossing nearest to p of a curve that is no straight line, between points at which it lies on either side."""

    def gap(x: float) -> float | None:
        value = root_if(tree, leaf, x, evaluation)
        return None if value is None else value - target

    points = sorted({p, *(step / (_POINTS - 1) for step in range(_POINTS))})
    gaps = [(x, gap(x)) for x in points]
    crossings = []
    for (left, before), (right, after) in itertools.pairwise(gaps):
        if before is None or after is None or before * after > 0 or before == after:
            continue

        def short(x: float, rises: bool = after > before) -> bool:
            return ((gap(x) or 0.0) < 0) == rises

        crossings.append(_boundary(short, left, right))
    return min(crossings, key=lambda x: abs(x - p), default=None)


def _boundary(below: Callable[[float], bool], low: float, high: float) -> float:
    """Halve the interval at whose lower end ``below`` holds and at whose upper end it does not, to where it stops."""
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) else (low, middle)
    return high


def _all_leaves(
    tree: Tree, leaves: list[NodeId], target: float, evaluation: Evaluation
) -> tuple[float | None, tuple[Way, ...]]:
    root = evaluation.root
    assert root is not None
    up = target >= root
    weights = path_weights(tree, evaluation=evaluation)
    ends = {leaf: float((weight > 0) == up) for leaf in leaves if (weight := weights[leaf])}

    now = {leaf: evaluation.values[leaf] or 0.0 for leaf in ends}

    def moved(share: float) -> dict[NodeId, float]:
        return {leaf: now[leaf] + share * (end - now[leaf]) for leaf, end in ends.items()}

    def short(share: float) -> bool:
        value = evaluate(tree, moved(share)).root
        return value is None or (value < target if up else value > target)

    if short(1.0) and abs((evaluate(tree, moved(1.0)).root or 0.0) - target) > _TOLERANCE:
        return None, ()
    share = _boundary(short, 0.0, 1.0)
    share = share if share > 2**-50 else 0.0
    ways = [Way(id=leaf, p=now[leaf], needed=value) for leaf, value in moved(share).items()]
    return share, tuple(sorted(ways, key=lambda way: -abs(way.needed - way.p)))
