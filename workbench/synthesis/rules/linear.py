"""The linear rule: a parent's p is an intercept plus a weighted sum of its children's (paper A, Eq. 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, get_args

from workbench.propositions import NodeId, Polarity
from workbench.synthesis.errors import (
    InterceptTooLarge,
    MissingWeight,
    OutOfUnitInterval,
    PolarityConflict,
    RuleFormatError,
    UnknownChild,
    WeightOutOfRange,
)
from workbench.synthesis.rules.affine import AffineRule

Semantics = Literal["free", "strict"]

INTERCEPT_MAX = 0.1
TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class LinearRule(AffineRule):
    """``p = intercept + sum(weights[i] * p_i)``.

    Parameters
    ----------
    intercept : float
        Beta 0: what is left to say when every child is false.
    weights : mapping
        Beta per child, in [-1, 1]; the sign is the polarity.
    semantics : {"free", "strict"}
        ``strict`` promises that the rule is a Bayes net's table as well (paper A, App. B): after a negative weight is
        rewritten as a positive one on the child's negation, the intercept is not negative and all sums to at most 1.
        That is the same as a reachable range inside [0, 1]. ``free`` promises nothing.

    Examples
    --------
    >>> rule = LinearRule(0.05, {"P1": 0.6, "P2": -0.2})
    >>> round(rule.evaluate({"P1": 0.5, "P2": 0.25}), 12), [round(x, 12) for x in rule.reachable()]
    (0.3, [-0.15, 0.65])
    """

    name: ClassVar[str] = "linear"

    intercept: float
    weights: Mapping[NodeId, float]
    semantics: Semantics = "free"

    def __post_init__(self) -> None:
        if self.semantics not in get_args(Semantics):
            raise RuleFormatError(f"semantics of a linear rule are free or strict, not {self.semantics!r}")
        low, high = self.reachable()
        if self.semantics == "strict" and not (low >= -TOLERANCE and high <= 1 + TOLERANCE):
            raise WeightOutOfRange(
                f"a strict linear rule must stay in [0, 1] for all children; this one reaches [{low:.4g}, {high:.4g}]: "
                "normalise it first"
            )

    def without(self, child: NodeId) -> LinearRule | None:
        """The rule without this child, the other weights kept."""
        left = {key: weight for key, weight in self.weights.items() if key != child}
        return replace(self, weights=left) if left else None

    def with_child(self, child: NodeId) -> LinearRule:
        """The rule with weight 0 for a new child."""
        return replace(self, weights={**self.weights, child: 0.0})

    def to_json(self) -> dict[str, Any]:
        """JSON object of CONTRACTS; ``semantics`` stands only where it is strict."""
        data: dict[str, Any] = {"name": self.name, "intercept": self.intercept, "weights": dict(self.weights)}
        return {**data, "semantics": "strict"} if self.semantics == "strict" else data

    def validate(
        self,
        children: Sequence[NodeId],
        polarities: Mapping[NodeId, Polarity] | None = None,
        intercept_max: float = INTERCEPT_MAX,
        *,
        p: Mapping[NodeId, float] | None = None,
        overrule_polarity: bool = False,
    ) -> None:
        """Check a rule at its creation (paper A, C.1 and E.2; FEATURES A1 to A3).

        Parameters
        ----------
        children : sequence of str
            The children, each of which must have a weight.
        polarities : mapping
            A positive child's weight must not be negative, nor a negative child's positive; 0 passes.
        intercept_max : float
            Bound of the intercept's absolute value, inclusive.
        p : mapping, optional
            The children's values; when given, the parent's must lie in [0, 1].
        overrule_polarity : bool
            An analyst insists on a sign.

        Raises
        ------
        MissingWeight, UnknownChild, WeightOutOfRange, InterceptTooLarge, PolarityConflict, OutOfUnitInterval
        """
        check_cover(self.weights, children)
        for child, weight in self.weights.items():
            if not abs(weight) <= 1.0:
                raise WeightOutOfRange(f"the weight of {child} is {weight:g}; weights lie in [-1, 1]")
        if not abs(self.intercept) <= intercept_max + 1e-12:
            raise InterceptTooLarge(
                f"the intercept is {self.intercept:g}; it may be at most {intercept_max:g} either way"
            )
        if not overrule_polarity:
            check_polarity(self.weights, polarities or {})
        if p is not None:
            check_unit(self.evaluate(p))

    def warnings(self) -> list[str]:
        """What is allowed but deserves a look, one line each (FEATURES A1)."""
        greatest = max(map(abs, self.weights.values()), default=0.0)
        found = []
        if abs(self.intercept) > greatest:
            found.append(
                f"the intercept {self.intercept:g} outweighs every child (greatest weight {greatest:g})"
            )
        low, high = self.reachable()
        if low < -TOLERANCE or high > 1 + TOLERANCE:
            found.append(
                f"the rule can leave [0, 1]: it reaches [{low:.3g}, {high:.3g}]; values are held at the bound"
            )
        return found

    @property
    def is_strict(self) -> bool:
        """Whether the rule is a Bayes net's table as it stands, whatever its semantics promise."""
        low, high = self.reachable()
        return low >= -TOLERANCE and high <= 1 + TOLERANCE


def check_cover(named: Mapping[NodeId, object], children: Sequence[NodeId]) -> None:
    """Check that the coefficients are those of the children.

    Raises
    ------
    MissingWeight, UnknownChild
    """
    missing = [child for child in children if child not in named]
    if missing:
        raise MissingWeight(f"no weight for {', '.join(missing)}")
    stray = [child for child in named if child not in children]
    if stray:
        raise UnknownChild(
            f"a weight for {', '.join(stray)}, which is no child here; the children are {', '.join(children)}"
        )


def check_polarity(weights: Mapping[NodeId, float], polarities: Mapping[NodeId, Polarity]) -> None:
    """Check signs against stated polarities.

    Raises
    ------
    PolarityConflict
    """
    for child, polarity in polarities.items():
        weight = weights.get(child, 0.0)
        if weight * (1 if polarity is Polarity.POSITIVE else -1) < 0:
            raise PolarityConflict(f"{child} is stated as {polarity} but weighs {weight:g}")


def check_unit(value: float) -> float:
    """A parent's value at creation: inside [0, 1], up to rounding.

    Raises
    ------
    OutOfUnitInterval
    """
    if not -TOLERANCE <= value <= 1 + TOLERANCE:
        raise OutOfUnitInterval(
            f"the rule gives {value:.4g} at the children's values; it must give a number in [0, 1]"
        )
    return min(1.0, max(0.0, value))
