"""Rules without a model, a plain mean and random weights, to measure what a model's weights are worth (paper A, Table 13)."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from workbench.propositions import NodeId, Polarity, natural_order
from workbench.propositions.strict_json import StoredId
from workbench.synthesis.errors import RuleFormatError
from workbench.synthesis.rules.equation_text import MINUS, weighted_sum
from workbench.synthesis.rules.linear import AffineRule


@dataclass(frozen=True, slots=True)
class AverageRule(AffineRule):
    """The plain mean of the children, no intercept.

    Parameters
    ----------
    children : tuple of str
        At least one; the mean is over these.
    negated : tuple of str
        Children that enter as 1 - p: the polarity-aware form. Empty in the paper.

    Examples
    --------
    >>> AverageRule(("P1", "P2"), ("P2",)).evaluate({"P1": 0.75, "P2": 0.25})
    0.75
    """

    name: ClassVar[str] = "average"

    children: tuple[StoredId, ...]
    negated: tuple[StoredId, ...] = ()

    def __post_init__(self) -> None:
        if not self.children:
            raise RuleFormatError("an average needs at least one child")
        stray = set(self.negated) - set(self.children)
        if stray:
            raise RuleFormatError(f"{', '.join(sorted(stray))} is negated but not averaged")

    @property
    def intercept(self) -> float:
        """Intercept of the linear rule that computes the same."""
        return len(self.negated) / len(self.children)

    @property
    def weights(self) -> dict[NodeId, float]:
        """Weights of the linear rule that computes the same."""
        share = 1.0 / len(self.children)
        return {child: -share if child in self.negated else share for child in self.children}

    def equation(self) -> str:
        """Write ``(P1 + P2) / 2``, negated children as ``(1 − P2)``."""
        terms = [
            f"(1 {MINUS} {child})" if child in self.negated else child
            for child in natural_order(self.children)
        ]
        return f"({' + '.join(terms)}) / {len(terms)}"

    def without(self, child: NodeId) -> AverageRule | None:
        """Average the others."""
        children = tuple(key for key in self.children if key != child)
        return AverageRule(children, tuple(key for key in self.negated if key != child)) if children else None

    def with_child(self, child: NodeId) -> AverageRule:
        """Return the same average: the newcomer joins when the rule is remade."""
        return self

    def turned(self, child: NodeId) -> AverageRule:
        """Put 1 - p in place of this child's p, or the other way round."""
        negated = tuple(key for key in self.negated if key != child)
        return replace(self, negated=negated if child in self.negated else (*negated, child))

    def to_json(self) -> dict[str, Any]:
        """JSON object; ``negated`` is left out if it is empty."""
        data: dict[str, Any] = {"name": self.name, "children": list(self.children)}
        return {**data, "negated": list(self.negated)} if self.negated else data


@dataclass(frozen=True, slots=True)
class RandomRule(AffineRule):
    """A linear rule with random weights that sum to 1, no intercept; remembers its seed."""

    name: ClassVar[str] = "random"

    weights: Mapping[StoredId, float]
    seed: int
    intercept: float = field(default=0.0)

    def equation(self) -> str:
        """Write the weighted sum, and the seed its weights were drawn with."""
        return f"{weighted_sum(self.literals())} (weights drawn with seed {self.seed})"

    def to_json(self) -> dict[str, Any]:
        """JSON object; ``intercept`` is left out if it is 0."""
        data: dict[str, Any] = {"name": self.name, "weights": dict(self.weights), "seed": self.seed}
        return {**data, "intercept": self.intercept} if self.intercept else data


def average_rule(
    children: Sequence[NodeId],
    polarities: Mapping[NodeId, Polarity] | None = None,
    *,
    polarity_aware: bool = False,
) -> AverageRule:
    """The unweighted mean; ``polarity_aware`` takes 1 - p of negative children (off in the paper's preset)."""
    return AverageRule(tuple(children), _negative(children, polarities) if polarity_aware else ())


def random_rule(
    children: Sequence[NodeId],
    polarities: Mapping[NodeId, Polarity] | None = None,
    *,
    seed: int,
    polarity_aware: bool = False,
) -> RandomRule:
    """Draw weights evenly from all that are positive and sum to 1 (Dirichlet 1), the same for the same seed and children."""
    # A text seed is hashed by SHA-512, not by hash(), so the draws do not change from process to process.
    source = random.Random(f"{seed}:{','.join(children)}")
    # Exponentials divided by their sum are Dirichlet(1); uniform numbers divided by theirs would favour even weights.
    draws = [source.expovariate(1.0) for _ in children]
    total = sum(draws)
    shares = {child: x / total for child, x in zip(children, draws, strict=True)}
    flipped = _negative(children, polarities) if polarity_aware else ()
    weights = {child: -share if child in flipped else share for child, share in shares.items()}
    return RandomRule(weights, seed, sum(shares[child] for child in flipped))


def _negative(children: Sequence[NodeId], polarities: Mapping[NodeId, Polarity] | None) -> tuple[NodeId, ...]:
    return tuple(child for child in children if (polarities or {}).get(child) is Polarity.NEGATIVE)
