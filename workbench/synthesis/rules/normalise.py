"""Making a free linear rule strict, so that it is a Bayes net's table too (paper A, App. B; FEATURES A4, A5).

Everything happens on literals: a negative weight w on a child is the weight |w| on its negation and moves w into the
intercept. In that form strict means intercept >= 0, weights >= 0, all together at most 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, fsum
from typing import Literal, get_args

from workbench.propositions import NodeId
from workbench.synthesis.errors import RuleFormatError
from workbench.synthesis.rules.ablations import AverageRule, RandomRule
from workbench.synthesis.rules.linear import TOLERANCE, LinearRule

Normaliser = Literal["scale", "softmax", "min-max"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Literals:
    """A linear rule on literals: ``leak + sum(shares[i] * (1 - p_i if i in negated else p_i))``."""

    leak: float
    shares: Mapping[NodeId, float]
    negated: frozenset[NodeId]

    def rule(self) -> LinearRule:
        """The same function as a strict linear rule."""
        intercept = fsum([self.leak, *(self.shares[child] for child in self.negated)])
        weights = {child: -share if child in self.negated else share for child, share in self.shares.items()}
        return LinearRule(intercept, weights, "strict")


def literals(rule: LinearRule | AverageRule | RandomRule) -> Literals:
    """The rule rewritten on literals; the leak may be negative and the total above 1."""
    negated = frozenset(child for child, weight in rule.weights.items() if weight < 0)
    return Literals(
        leak=fsum([rule.intercept, *(rule.weights[child] for child in negated)]),
        shares={child: abs(weight) for child, weight in rule.weights.items()},
        negated=negated,
    )


def strict(rule: LinearRule | AverageRule | RandomRule, how: Normaliser = "scale") -> LinearRule:
    """The strict rule nearest in spirit; a rule that is strict already keeps its numbers under ``scale``.

    Parameters
    ----------
    rule : LinearRule, AverageRule or RandomRule
    how : {"scale", "softmax", "min-max"}
        ``scale``: a negative leak becomes 0, then all is divided by the total where that is above 1; zeros and ratios
        stay. ``softmax``: shares proportional to exp(share), filling what the leak leaves. ``min-max``: the least share
        becomes 0, the greatest 1, then as ``scale``.

    Examples
    --------
    >>> strict(LinearRule(0.0, {"P1": 1.0, "P2": 0.6})).weights
    {'P1': 0.625, 'P2': 0.37499999999999994}
    """
    if how not in get_args(Normaliser):
        raise RuleFormatError(f"a normaliser is one of {', '.join(get_args(Normaliser))}, not {how!r}")
    free = literals(rule)
    leak = min(1.0, max(0.0, free.leak))
    shares = dict(free.shares)
    if how == "softmax":
        weights = {child: exp(share) for child, share in shares.items()}
        total = fsum(weights.values())
        return Literals(
            leak=leak, shares={c: (1.0 - leak) * w / total for c, w in weights.items()}, negated=free.negated
        ).rule()
    if how == "min-max" and shares:
        low, high = min(shares.values()), max(shares.values())
        if high > low:
            shares = {child: (share - low) / (high - low) for child, share in shares.items()}
    total = fsum([leak, *shares.values()])
    if total > 1.0 + TOLERANCE:
        leak, shares = leak / total, {child: share / total for child, share in shares.items()}
    return Literals(leak=leak, shares=shares, negated=free.negated).rule()


def greatest_gap(one: LinearRule | AverageRule | RandomRule, other: LinearRule) -> float:
    """Greatest difference between two linear rules over all children's values in [0, 1]."""
    steps = [other.weights.get(child, 0.0) - weight for child, weight in one.weights.items()]
    base = other.intercept - one.intercept
    return max(
        abs(fsum([base, *(s for s in steps if s > 0)])), abs(fsum([base, *(s for s in steps if s < 0)]))
    )
