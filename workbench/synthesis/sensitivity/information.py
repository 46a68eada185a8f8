"""Estimate the worth of knowing more about a leaf, and rank the leaves to ground next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import inf
from typing import Any

from workbench.propositions import NodeId, Tree, check_probability
from workbench.synthesis.errors import SensitivityError
from workbench.synthesis.sensitivity.paths import path_weights, swings
from workbench.synthesis.sensitivity.uncertainty import deviations
from workbench.synthesis.whatif.evaluation import evaluate, root_if


@dataclass(frozen=True, slots=True, kw_only=True)
class InformationRow:
    """The worth of learning more about one leaf."""

    id: NodeId
    #: None: not grounded yet, which comes first of all.
    p: float | None
    #: Expected cut in the root's Brier score from learning whether the leaf is true: p (1 - p) (root if true - root if false)^2, when the
    #: tree is taken at its word.
    resolve: float | None
    #: Cut in the root's error variance from one more trial of the leaf; None where nothing says how far trials lie apart.
    reground: float | None
    #: Trials there are.
    trials: int
    #: Standard deviation of one trial, blended with what was assumed.
    trial_sd: float | None
    #: Dollars of one trial; None if unknown.
    cost: float | None
    #: ``reground`` per dollar; None if the cost is unknown, infinite if it is 0.
    per_dollar: float | None

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values; infinity becomes null."""
        return {**asdict(self), "per_dollar": None if self.per_dollar == inf else self.per_dollar}


def value_of_information(
    tree: Tree,
    trials: Mapping[NodeId, Sequence[float]] | None = None,
    costs: Mapping[NodeId, float] | None = None,
    *,
    assumed_sd: float | None = 0.1,
) -> list[InformationRow]:
    """Return one row per leaf that has a weight or no value yet, in tree order.

    Raises `SensitivityError, ProbabilityOutOfRange`.
    """
    evaluation = evaluate(tree)
    weights = path_weights(tree, evaluation=evaluation)
    maps = swings(tree, evaluation=evaluation)
    rows = []
    for leaf in tree.leaves():
        p, weight, swing = evaluation.values[leaf], weights[leaf], maps[leaf]
        # A value with no trials on record counts as one trial.
        values = list((trials or {}).get(leaf, () if p is None else (p,)))
        cost = (costs or {}).get(leaf)
        if cost is not None and not cost >= 0:
            raise SensitivityError(f"the cost of {leaf} is {cost:g}; dollars are not negative")
        variance = _trial_variance(leaf, values, assumed_sd)
        resolve = reground = None
        if p is not None and swing is not None and weight is not None:
            # Otherwise the swing is a tangent at the present value and says nothing about 0 and 1.
            if swing.exact:
                ends: tuple[float | None, float | None] = swing(1.0), swing(0.0)
            else:
                ends = root_if(tree, leaf, 1.0, evaluation), root_if(tree, leaf, 0.0, evaluation)
            assert ends[0] is not None and ends[1] is not None
            resolve = p * (1 - p) * (ends[0] - ends[1]) ** 2
            count = max(1, len(values))
            # The mean of n trials has variance v / n, so this is what one more takes away.
            if variance is not None:
                reground = weight**2 * variance * (1 / count - 1 / (count + 1))
        per_dollar = None
        if reground is not None and cost is not None:
            per_dollar = reground / cost if cost > 0 else (inf if reground > 0 else 0.0)
        rows.append(
            InformationRow(
                id=leaf,
                p=p,
                resolve=resolve,
                reground=reground,
                trials=len(values),
                trial_sd=None if variance is None else variance**0.5,
                cost=cost,
                per_dollar=per_dollar,
            )
        )
    return rows


def ground_next(rows: Sequence[InformationRow]) -> list[InformationRow]:
    """Rank the rows: leaves without a value, then by variance cut per dollar where every cost is known, else by cut.

    Leaves that cost nothing are ranked among themselves by the cut alone; those without a cut keep the tree's order.
    """
    # One unknown price, and cuts per dollar would be compared with plain cuts.
    priced = all(row.cost is not None for row in rows if row.p is not None)

    def rank(row: InformationRow) -> tuple[float, float]:
        gain = row.reground or 0.0
        if row.p is None:
            return -inf, 0.0
        return (-(row.per_dollar or 0.0), -gain) if priced else (0.0, -gain)

    return sorted(rows, key=rank)


def pooled_sd(groups: Iterable[Sequence[float]]) -> float | None:
    """Return the standard deviation of a trial about the mean of its own leaf, over all leaves; None where none has two trials.

    >>> round(pooled_sd([[0.4, 0.6], [0.5]]), 12), pooled_sd([[0.5]])
    (0.141421356237, None)
    """
    squares, freedom = 0.0, 0
    for values in groups:
        squares += deviations(values)
        freedom += max(0, len(values) - 1)
    return (squares / freedom) ** 0.5 if freedom else None


def _trial_variance(leaf: NodeId, values: Sequence[float], assumed_sd: float | None) -> float | None:
    for value in values:
        check_probability(value, of=f"a trial of {leaf}")
    if assumed_sd is None:
        sd = pooled_sd([values])
        return None if sd is None else sd**2
    # The assumed spread counts as one more degree of freedom; it fades as trials come in.
    return (deviations(values) + assumed_sd**2) / max(1, len(values))
