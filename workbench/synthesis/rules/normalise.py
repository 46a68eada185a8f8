"""Make linear coefficients strict, so that the rule is a Bayes net's table too (paper A, App. B)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import exp, fsum
from typing import get_args

from workbench.propositions import NodeId
from workbench.propositions.rule import Normaliser
from workbench.synthesis.errors import RuleFormatError

TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Literals:
    """Linear coefficients on literals: ``leak + sum(shares[i] * (1 - p_i if i in negated else p_i))``."""

    leak: float
    shares: Mapping[NodeId, float]
    negated: frozenset[NodeId]

    @classmethod
    def of(cls, intercept: float, weights: Mapping[NodeId, float]) -> Literals:
        """Rewrite signed coefficients on literals; the leak may be negative and the total above 1."""
        negated = frozenset(child for child, weight in weights.items() if weight < 0)
        return cls(
            leak=fsum([intercept, *(weights[child] for child in negated)]),
            shares={child: abs(weight) for child, weight in weights.items()},
            negated=negated,
        )

    def signed(self) -> tuple[float, dict[NodeId, float]]:
        """Intercept and signed weights of the same function."""
        intercept = fsum([self.leak, *(self.shares[child] for child in self.negated)])
        return intercept, {c: -share if c in self.negated else share for c, share in self.shares.items()}


def check_normaliser(how: str) -> Normaliser:
    """Return the normaliser of this name, as the command line brings it; raises ``RuleFormatError`` if there is none."""
    for name in get_args(Normaliser):
        if how == name:
            normaliser: Normaliser = name
            return normaliser
    raise RuleFormatError(f"a normaliser is one of {', '.join(get_args(Normaliser))}, not {how!r}")


def normalised(free: Literals, how: Normaliser = "scale") -> Literals:
    """Return the strict coefficients nearest in spirit."""
    check_normaliser(how)
    leak, shares = min(1.0, max(0.0, free.leak)), dict(free.shares)
    if how == "softmax":
        raised = {child: exp(share) for child, share in shares.items()}
        total = fsum(raised.values())
        return replace(free, leak=leak, shares={c: (1.0 - leak) * x / total for c, x in raised.items()})
    if how == "min-max" and shares:
        low, high = min(shares.values()), max(shares.values())
        # Equal shares have no range to stretch.
        if high > low:
            shares = {child: (share - low) / (high - low) for child, share in shares.items()}
    total = fsum([leak, *shares.values()])
    if total > 1.0 + TOLERANCE:  # a rule that is strict already keeps its numbers to the last bit
        leak, shares = leak / total, {child: share / total for child, share in shares.items()}
    return replace(free, leak=leak, shares=shares)
