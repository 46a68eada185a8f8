"""Measure how much a rule's coefficients move when the synthesizer is asked again, and the effect of uncertain weights on the root."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum

from workbench.propositions import NodeId, Rule
from workbench.synthesis.errors import SensitivityError
from workbench.synthesis.rules.linear import INTERCEPT
from workbench.synthesis.sensitivity.uncertainty import deviations
from workbench.synthesis.whatif.evaluation import clamp


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """One number over K refits; ``flips`` is True if it was above 0 in one and below in another."""

    mean: float
    sd: float
    low: float
    high: float
    flips: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RefitSpread:
    """The agreement of K refits of one node."""

    #: K.
    count: int
    #: Per child (and ``intercept``, the leak of a noisy-or) its spread: linear weights; noisy-or weights, inhibitors counted negative; for
    #: logic the derivative at the children's values.
    coefficients: dict[str, Spread]
    #: The node's value over the refits, at the children's values.
    value: Spread
    #: For logic: how often each formula came, in its plainest spelling.
    formulas: dict[str, int]
    #: Sign flips and other disagreement, one line each.
    warnings: list[str]


def spread_of(values: Sequence[float]) -> Spread:
    """Compute mean, standard deviation (ddof 1, 0 for a single value), extremes and sign flips."""
    sd = (deviations(values) / (len(values) - 1)) ** 0.5 if len(values) > 1 else 0.0
    low, high = min(values), max(values)
    return Spread(mean=fsum(values) / len(values), sd=sd, low=low, high=high, flips=low < 0 < high)


def refit_spread(rules: Sequence[Rule], p: Mapping[NodeId, float]) -> RefitSpread:
    """Compute the spread of K refits of one node at its children's values.

    Raises `SensitivityError`: No rule, rules of different kinds, or rules without a function.
    """
    kinds = {rule.name for rule in rules}
    if len(kinds) != 1 or not rules[0].numeric:
        raise SensitivityError("refits of one driver need at least one rule, all of one kind with a function")
    rows = [rule.coefficients(p) for rule in rules]
    names = dict.fromkeys(name for row in rows for name in row)
    # A refit that leaves a child out gives it no say, which is 0 and not a missing value.
    spreads = {name: spread_of([row.get(name, 0.0) for row in rows]) for name in names}
    formulas = Counter(form for rule in rules if (form := rule.structure()) is not None)
    warnings = [
        f"{name} changes sign between refits ({spread.low:.3g} to {spread.high:.3g})"
        for name, spread in spreads.items()
        if spread.flips and name != INTERCEPT
    ]
    if len(formulas) > 1:
        warnings.append(f"{len(formulas)} different formulas in {len(rules)} refits")
    return RefitSpread(
        count=len(rules),
        coefficients=spreads,
        value=spread_of([clamp(rule.evaluate(p)) for rule in rules]),
        formulas=dict(formulas.most_common()),
        warnings=warnings,
    )
