"""The noisy-or rule with a leak and inhibitors (paper A, App. B; Meert and Vennekens 2014)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, ClassVar

from workbench.propositions import NodeId, Polarity
from workbench.synthesis.errors import (
    MissingWeight,
    PolarityConflict,
    RuleFormatError,
    UnknownChild,
    WeightOutOfRange,
)


@dataclass(frozen=True, slots=True)
class NoisyOrRule:
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
    numeric: ClassVar[bool] = True
    multilinear: ClassVar[bool] = True

    leak: float
    weights: Mapping[NodeId, float]
    inhibitors: Mapping[NodeId, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for what, value in {"the leak": self.leak, **self.weights, **self.inhibitors}.items():
            if not 0.0 <= value <= 1.0:
                raise WeightOutOfRange(f"{what} weighs {value:g}; noisy-or coefficients lie in [0, 1]")
        twice = self.weights.keys() & self.inhibitors.keys()
        if twice:
            raise RuleFormatError(f"{', '.join(sorted(twice))} cannot be both a cause and an inhibitor")

    def _causes(self, p: Mapping[NodeId, Any]) -> Any:
        return prod((1.0 - w * p[child] for child, w in self.weights.items()), start=1.0 - self.leak)

    def _spared(self, p: Mapping[NodeId, Any]) -> Any:
        return prod((1.0 - v * p[child] for child, v in self.inhibitors.items()), start=1.0)

    def evaluate(self, p: Mapping[NodeId, Any]) -> Any:
        """Value in [0, 1]; numbers or numpy arrays."""
        return (1.0 - self._causes(p)) * self._spared(p)

    def derivative(self, p: Mapping[NodeId, float]) -> dict[NodeId, float]:
        """Partial derivatives: those of causes are not negative, those of inhibitors not positive."""
        spared, happens = self._spared(p), 1.0 - self._causes(p)
        slopes = {}
        for child, w in self.weights.items():
            others = {key: value for key, value in self.weights.items() if key != child}
            slopes[child] = w * NoisyOrRule(self.leak, others)._causes(p) * spared
        for child, v in self.inhibitors.items():
            kept = {key: value for key, value in self.inhibitors.items() if key != child}
            slopes[child] = -v * happens * NoisyOrRule(0.0, {}, kept)._spared(p)
        return slopes

    def reachable(self, box: Mapping[NodeId, tuple[float, float]] | None = None) -> tuple[float, float]:
        """Least and greatest value."""
        spans = {child: (box or {}).get(child, (0.0, 1.0)) for child in (*self.weights, *self.inhibitors)}
        low = {child: span[child in self.inhibitors] for child, span in spans.items()}
        high = {child: span[child in self.weights] for child, span in spans.items()}
        return self.evaluate(low), self.evaluate(high)

    def without(self, child: NodeId) -> NoisyOrRule | None:
        """The rule without this child, the other coefficients kept."""
        weights = {key: value for key, value in self.weights.items() if key != child}
        inhibitors = {key: value for key, value in self.inhibitors.items() if key != child}
        return replace(self, weights=weights, inhibitors=inhibitors) if weights or inhibitors else None

    def with_child(self, child: NodeId) -> NoisyOrRule:
        """The rule with weight 0 for a new child."""
        return replace(self, weights={**self.weights, child: 0.0})

    def to_json(self) -> dict[str, Any]:
        """JSON object of CONTRACTS."""
        return {
            "name": self.name,
            "leak": self.leak,
            "weights": dict(self.weights),
            "inhibitors": dict(self.inhibitors),
        }

    def validate(
        self, children: Sequence[NodeId], polarities: Mapping[NodeId, Polarity] | None = None
    ) -> None:
        """Check a rule at its creation: every child once, causes positive, inhibitors negative.

        Raises
        ------
        MissingWeight, UnknownChild, PolarityConflict
        """
        named = {**self.weights, **self.inhibitors}
        missing = [child for child in children if child not in named]
        if missing:
            raise MissingWeight(f"no coefficient for {', '.join(missing)}")
        stray = [child for child in named if child not in children]
        if stray:
            raise UnknownChild(
                f"a coefficient for {', '.join(stray)}; the children are {', '.join(children)}"
            )
        for child, polarity in (polarities or {}).items():
            if named.get(child) and (polarity is Polarity.POSITIVE) != (child in self.weights):
                role = "a cause" if child in self.weights else "an inhibitor"
                raise PolarityConflict(f"{child} is stated as {polarity} but stands as {role}")
