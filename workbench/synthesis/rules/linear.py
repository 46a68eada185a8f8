"""Linear rules: a parent's p is an intercept plus a weighted sum of its children's (paper A, Eq. 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, get_args

from workbench.propositions import NodeId, Polarity, Rule, RuleLimits
from workbench.propositions.rule import Column, Normaliser
from workbench.propositions.strict_json import StoredId
from workbench.synthesis.errors import (
    InterceptTooLarge,
    MissingWeight,
    OutOfUnitInterval,
    PolarityConflict,
    RuleFormatError,
    UnknownChild,
    WeightOutOfRange,
)
from workbench.synthesis.rules.equation_text import decimal, weighted_sum
from workbench.synthesis.rules.normalise import TOLERANCE, Literals, normalised

Semantics = Literal["free", "strict"]

INTERCEPT = "intercept"
INTERCEPT_MAX = RuleLimits().intercept_max
# A stored intercept is b0 plus the weights of the negations: b0 comes back with the rounding of that sum.
BOUND_ROUNDING = 1e-12


class AffineRule(Rule):
    """The shared methods of rules of the form ``intercept + sum of weight × p``; both are the subclass's."""

    __slots__ = ()

    multilinear: ClassVar[bool] = True
    affine: ClassVar[bool] = True

    # Only declared: at run time a dataclass would take an inherited property for the default of its field.
    if TYPE_CHECKING:

        @property
        def intercept(self) -> float:
            """The value when every child is false."""

        @property
        def weights(self) -> Mapping[NodeId, float]:
            """The weight of each child, negative if it speaks against."""

    def named_children(self) -> tuple[NodeId, ...]:
        """The children with a weight."""
        return tuple(self.weights)

    def evaluate(self, p: Mapping[NodeId, float]) -> float:
        """Raw value, rounded once; it leaves [0, 1] if the weights allow it."""
        return fsum([self.intercept, *(weight * p[child] for child, weight in self.weights.items())])

    def derivative(self, p: Mapping[NodeId, float]) -> dict[NodeId, float]:
        """The weights, whatever the point (paper A, Proposition 1)."""
        return dict(self.weights)

    def coefficients(self, p: Mapping[NodeId, float]) -> dict[str, float]:
        """Intercept and weights."""
        return {INTERCEPT: self.intercept, **self.weights}

    def reachable(self, box: Mapping[NodeId, tuple[float, float]] | None = None) -> tuple[float, float]:
        """Least and greatest raw value."""
        low, high = [self.intercept], [self.intercept]
        for child, weight in self.weights.items():
            start, end = (box or {}).get(child, (0.0, 1.0))
            low.append(weight * (start if weight > 0 else end))
            high.append(weight * (end if weight > 0 else start))
        return fsum(low), fsum(high)

    def columns(self, p: Mapping[NodeId, Column]) -> Column:
        """Raw values, term by term; a constant stands for all rows if no child has a weight."""
        total: Column = self.intercept
        for child, weight in self.weights.items():
            total = total + weight * p[child]
        return total

    def without(self, child: NodeId) -> Self | None:
        """Remove this child, which then counts as false; the other weights stay.

        One that spoke against then speaks for the parent with its whole weight, which stays in the intercept.
        """
        weights = {key: weight for key, weight in self.weights.items() if key != child}
        return replace(self, weights=weights) if weights else None  # type: ignore[type-var]

    def with_child(self, child: NodeId) -> Self:
        """Add a child with weight 0."""
        return replace(self, weights={**self.weights, child: 0.0})  # type: ignore[type-var]

    def turned(self, child: NodeId) -> Self:
        """Put 1 - p in place of this child's p: its weight turns, and the constant takes it up."""
        weight = self.weights[child]
        intercept = self.intercept + weight
        return replace(self, intercept=intercept, weights={**self.weights, child: -weight})  # type: ignore[type-var]

    def literals(self) -> Literals:
        """The rule's coefficients on literals."""
        return Literals.of(self.intercept, self.weights)

    def table_problem(self) -> str | None:
        """Say why the rule is no table of a Bayes net: it can leave [0, 1]."""
        low, high = self.reachable()
        if low >= -TOLERANCE and high <= 1 + TOLERANCE:
            return None
        leak = self.literals().leak
        on_literals = f" (intercept {leak:.4g} on literals)" if leak < 0 else ""
        return f"its linear rule reaches [{low:.4g}, {high:.4g}]{on_literals}"

    def projected(self, how: Normaliser = "scale") -> tuple[Rule, float]:
        """The strict rule, and the greatest difference between the two."""
        nearest = strict(self, how)
        return nearest, greatest_gap(self, nearest)

    def problog_clauses(self, head: str, atoms: Mapping[NodeId, str]) -> list[str]:
        """Write an annotated disjunction over which child decides (paper A, App. B); the rule must be strict."""
        form = self.literals()
        picks = [("leak", max(0.0, form.leak)), *form.shares.items()]
        scale = max(1.0, fsum(share for _, share in picks))  # rounding only: the rule is strict
        by = {who: f"{head}_by({atoms.get(who, who)})" for who, _ in picks}
        lines = ["; ".join(f"{decimal(share / scale)}::{by[who]}" for who, share in picks) + "."]
        lines.append(f"{head} :- {by['leak']}.")
        for child in form.shares:
            literal = f"\\+{atoms[child]}" if child in form.negated else atoms[child]
            lines.append(f"{head} :- {by[child]}, {literal}.")
        return lines

    def warnings(self) -> list[str]:
        """List doubtful features: a great constant, a range beyond [0, 1] or on one side of 0.5."""
        leak = self.literals().leak
        greatest = max(map(abs, self.weights.values()), default=0.0)
        lines = []
        if leak > greatest:
            lines.append(f"the constant {leak:.3g} outweighs every child (greatest weight {greatest:.3g})")
        elif leak > INTERCEPT_MAX + BOUND_ROUNDING:
            lines.append(f"the constant {leak:.3g} is above {INTERCEPT_MAX:g}: it speaks where no child does")
        low, high = self.reachable()
        if low < -TOLERANCE or high > 1 + TOLERANCE:
            lines.append(
                f"the rule can leave [0, 1]: it reaches [{low:.3g}, {high:.3g}]; values are held at the bound"
            )
        if not low <= 0.5 <= high:
            lines.append(
                f"whatever the children are, the value stays {'above' if low > 0.5 else 'below'} 0.5:"
                f" it reaches [{low:.3g}, {high:.3g}]"
            )
        return lines


@dataclass(frozen=True, slots=True)
class LinearRule(AffineRule):
    """``p = intercept + sum(weights[i] * p_i)``, stored so; printed with a child that speaks against through its negation.

    With w = -weight that is the same number: ``intercept - w p = (intercept - w) + w (1 - p)``. What is left as the constant
    there, b0, is what speaks for the parent when no child does, and the bound of the intercept is a bound of it.

    Parameters
    ----------
    intercept : float
        b0 plus the w of all children that speak against: the value when every child is false.
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
    weights: Mapping[StoredId, float]
    semantics: Semantics = "free"

    def __post_init__(self) -> None:
        if self.semantics not in get_args(Semantics):
            raise RuleFormatError(f"semantics of a linear rule are free or strict, not {self.semantics!r}")
        if self.semantics == "strict" and self.table_problem() is not None:
            low, high = self.reachable()
            raise WeightOutOfRange(
                f"a strict linear rule must stay in [0, 1] for all children; this one reaches [{low:.4g}, {high:.4g}]: "
                "normalise it first"
            )

    def equation(self) -> str:
        """Write ``0.02 + 0.50 × P1 + 0.25 × (1 − P2)``."""
        return weighted_sum(self.literals())

    def to_json(self) -> dict[str, Any]:
        """JSON object; ``semantics`` is left out unless it is strict."""
        data: dict[str, Any] = {"name": self.name, "intercept": self.intercept, "weights": dict(self.weights)}
        return {**data, "semantics": "strict"} if self.semantics == "strict" else data

    def validate(
        self,
        children: Sequence[NodeId],
        polarities: Mapping[NodeId, Polarity] | None = None,
        limits: RuleLimits | None = None,
    ) -> None:
        """Check a rule at its creation (paper A, C.1 and E.2).

        Every child must have a weight in [-1, 1]; a positive child's must not be negative, nor a negative child's positive
        (0 passes). The bound of the intercept, inclusive, is one of b0 from above: of the constant where every child that
        speaks against counts through its negation. From below it is one of the stored intercept, as in the paper: a b0 that is
        negative because signed weights are can only hold the parent down, and the reachable range says so.

        Raises
        ------
        MissingWeight, UnknownChild, WeightOutOfRange, InterceptTooLarge, PolarityConflict
        """
        limits = limits or RuleLimits()
        check_cover(self.weights, children)
        for child, weight in self.weights.items():
            # "not <=" instead of ">", here and below, so that NaN is refused as well.
            if not abs(weight) <= 1.0:
                raise WeightOutOfRange(f"the weight of {child} is {weight:g}; weights lie in [-1, 1]")
        most = limits.intercept_max + BOUND_ROUNDING
        if not (self.literals().leak <= most and self.intercept >= -most):
            raise InterceptTooLarge(
                f"the constant is {self.literals().leak:g} in {self.equation()}; it may be at most"
                f" {limits.intercept_max:g}"
                if self.intercept >= -most
                else f"the intercept is {self.intercept:g}; it may be at most {limits.intercept_max:g} below 0"
            )
        if not limits.overrule_polarity:
            check_polarity(self.weights, polarities or {})


def rule_of_reply(
    constant: float, weights: Mapping[NodeId, float], polarities: Mapping[NodeId, Polarity]
) -> LinearRule:
    """Return the rule of a reply, whichever of the two forms its weights are written in; synthesizers read with it.

    Negative children with weights of 0 or more count through their negation, w (1 - p); with weights of 0 or less the reply is
    signed, w p. Both are stored signed.

    Raises
    ------
    PolarityConflict
        Some are written in one form and some in the other.

    Examples
    --------
    >>> against = {"P1": Polarity.NEGATIVE, "P2": Polarity.NEGATIVE}
    >>> rule_of_reply(0.0, {"P1": 0.25, "P2": 0.5}, against)
    LinearRule(intercept=0.75, weights={'P1': -0.25, 'P2': -0.5}, semantics='free')
    >>> rule_of_reply(0.75, {"P1": -0.25, "P2": -0.5}, against).intercept
    0.75
    """
    negative = [child for child in weights if polarities.get(child) is Polarity.NEGATIVE]
    through_negation = [child for child in negative if weights[child] > 0]
    if not through_negation:
        return LinearRule(constant, dict(weights))
    signed = [
        child for child in weights if weights[child] < 0 and polarities.get(child) is not Polarity.POSITIVE
    ]
    if signed:
        raise PolarityConflict(
            f"the weight of {', '.join(signed)} is negative and that of {', '.join(through_negation)} is not, so it cannot be"
            " told which of the two forms is meant: give every Negative child a weight of 0 or more, which counts as"
            " weight × (1 − p)"
        )
    form = Literals(leak=constant, shares=dict(weights), negated=frozenset(through_negation))
    return LinearRule(*form.signed())


def strict(rule: AffineRule, how: Normaliser = "scale") -> LinearRule:
    """The strict rule nearest in spirit; a rule that is strict already keeps its numbers under ``scale``.

    See :func:`workbench.synthesis.rules.normalise.normalised` for the three ways.

    Examples
    --------
    >>> strict(LinearRule(0.0, {"P1": 1.0, "P2": 0.6})).weights
    {'P1': 0.625, 'P2': 0.37499999999999994}
    """
    intercept, weights = normalised(rule.literals(), how).signed()
    return LinearRule(intercept, weights, "strict")


def greatest_gap(rule: AffineRule, other: AffineRule) -> float:
    """Greatest difference between two linear rules over all children's values in [0, 1]."""
    # The difference is affine too, so it is greatest where all rising terms are at 1, or all falling ones.
    steps = [other.weights.get(child, 0.0) - weight for child, weight in rule.weights.items()]
    base = other.intercept - rule.intercept
    return max(
        abs(fsum([base, *(s for s in steps if s > 0)])), abs(fsum([base, *(s for s in steps if s < 0)]))
    )


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
    """Check a parent's value at creation: inside [0, 1], up to rounding.

    Raises
    ------
    OutOfUnitInterval
    """
    if not -TOLERANCE <= value <= 1 + TOLERANCE:
        raise OutOfUnitInterval(
            f"the rule gives {value:.4g} at the children's values; it must give a number in [0, 1]"
        )
    return min(1.0, max(0.0, value))
