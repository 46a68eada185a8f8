"""The noisy-or rule with a leak and inhibitors (paper A, App. B; Meert and Vennekens 2014)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, ClassVar

from workbench.propositions import NodeId, Polarity, Rule, RuleLimits
from workbench.propositions.rule import Column
from workbench.propositions.strict_json import StoredId
from workbench.synthesis.errors import RuleFormatError, WeightOutOfRange
from workbench.synthesis.rules.equation_text import MINUS, decimal, product_of_failures, size
from workbench.synthesis.rules.linear import INTERCEPT, check_cover, check_polarity


@dataclass(frozen=True, slots=True)
class NoisyOrRule(Rule):
    """``p = (1 - (1 - leak) * prod(1 - w_i p_i)) * prod(1 - v_j p_j)``.

    Every true cause brings the parent about with probability w_i on its own, so does the leak, and every true inhibitor
    prevents it with probability v_j, all independently. It is a Bayes net's table for any coefficients in [0, 1].

    Parameters
    ----------
    leak : float
        Probability that the parent is true though no cause is.
    weights : mapping
        Per cause, in [0, 1].
    inhibitors : mapping
        Per inhibitor, in [0, 1].

    Examples
    --------
    >>> rule = NoisyOrRule(0.1, {"P1": 0.8, "P2": 0.5}, {"P3": 0.5})
    >>> round(rule.evaluate({"P1": 0.5, "P2": 0.4, "P3": 0.2}), 12)
    0.5112
    """

    name: ClassVar[str] = "noisy-or"
    multilinear: ClassVar[bool] = True

    leak: float
    weights: Mapping[StoredId, float]
    inhibitors: Mapping[StoredId, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for what, value in {"the leak": self.leak, **self.weights, **self.inhibitors}.items():
            if not 0.0 <= value <= 1.0:
                raise WeightOutOfRange(f"{what} weighs {value:g}; noisy-or coefficients lie in [0, 1]")
        twice = self.weights.keys() & self.inhibitors.keys()
        if twice:
            raise RuleFormatError(f"{', '.join(sorted(twice))} cannot be both a cause and an inhibitor")

    def named_children(self) -> tuple[NodeId, ...]:
        """Causes, then inhibitors."""
        return (*self.weights, *self.inhibitors)

    def evaluate(self, p: Mapping[NodeId, float]) -> float:
        """Value in [0, 1]."""
        value: float = self.columns(p)
        return value

    def columns(self, p: Mapping[NodeId, Column]) -> Column:
        """Values in [0, 1], of numbers and of arrays."""
        spared = _failures(1.0, self.inhibitors, p)
        return (1.0 - _failures(1.0 - self.leak, self.weights, p)) * spared

    def equation(self) -> str:
        """Write ``(1 − 0.95 × (1 − 0.60 × P1)) × (1 − 0.30 × P2)``: the chance that a cause acts and no inhibitor does."""
        happens = f"1 {MINUS} {product_of_failures(size(1 - self.leak), self.weights)}"
        if not self.inhibitors:
            return happens
        return f"({happens}) × {product_of_failures(None, self.inhibitors)}"

    def _signed(self) -> dict[NodeId, float]:
        return {**self.weights, **{child: -value for child, value in self.inhibitors.items()}}

    def coefficients(self, p: Mapping[NodeId, float]) -> dict[str, float]:
        """Leak and weights, inhibitors counted negative."""
        return {INTERCEPT: self.leak, **self._signed()}

    def reachable(self, box: Mapping[NodeId, tuple[float, float]] | None = None) -> tuple[float, float]:
        """Least and greatest value."""
        spans = {child: (box or {}).get(child, (0.0, 1.0)) for child in (*self.weights, *self.inhibitors)}
        # A bool is the index: the value is least with causes at their lower ends and inhibitors at their upper ones.
        low = {child: span[child in self.inhibitors] for child, span in spans.items()}
        high = {child: span[child in self.weights] for child, span in spans.items()}
        return self.evaluate(low), self.evaluate(high)

    def without(self, child: NodeId) -> NoisyOrRule | None:
        """Remove this child; the other coefficients stay."""
        weights, inhibitors = _others(self.weights, child), _others(self.inhibitors, child)
        return replace(self, weights=weights, inhibitors=inhibitors) if weights or inhibitors else None

    def with_child(self, child: NodeId) -> NoisyOrRule:
        """Add a child with weight 0."""
        return replace(self, weights={**self.weights, child: 0.0})

    def turned(self, child: NodeId) -> NoisyOrRule:
        """Make a cause an inhibitor of the same strength, or an inhibitor a cause."""
        if child in self.weights:
            stops = {**self.inhibitors, child: self.weights[child]}
            return replace(self, weights=_others(self.weights, child), inhibitors=stops)
        causes = {**self.weights, child: self.inhibitors[child]}
        return replace(self, weights=causes, inhibitors=_others(self.inhibitors, child))

    def problog_clauses(self, head: str, atoms: Mapping[NodeId, str]) -> list[str]:
        """Write one probabilistic cause per weight, one stop per inhibitor."""
        lines = [f"{decimal(self.leak)}::{head}_cause(leak)."]
        lines += [f"{decimal(w)}::{head}_cause({atoms[c]}) :- {atoms[c]}." for c, w in self.weights.items()]
        if not self.inhibitors:
            return [*lines, f"{head} :- {head}_cause(_)."]
        lines += [f"{decimal(v)}::{head}_stop({atoms[c]}) :- {atoms[c]}." for c, v in self.inhibitors.items()]
        return [
            *lines,
            f"{head}_stopped :- {head}_stop(_).",
            f"{head} :- {head}_cause(_), \\+{head}_stopped.",
        ]

    def validate(
        self,
        children: Sequence[NodeId],
        polarities: Mapping[NodeId, Polarity] | None = None,
        limits: RuleLimits | None = None,
    ) -> None:
        """Check a rule at its creation: every child once, causes positive, inhibitors negative.

        Raises
        ------
        MissingWeight, UnknownChild, PolarityConflict
        """
        check_cover(self._signed(), children)
        check_polarity(self._signed(), polarities or {})


def _others(weights: Mapping[NodeId, float], child: NodeId) -> dict[NodeId, float]:
    return {key: value for key, value in weights.items() if key != child}


def _failures(start: Any, weights: Mapping[NodeId, Any], p: Mapping[NodeId, Column]) -> Any:
    """Multiply ``start`` by the chance that each of these does not act."""
    return prod((1.0 - weight * p[child] for child, weight in weights.items()), start=start)
