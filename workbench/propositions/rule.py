"""The base class of every synthesis rule, built in or a stranger's; the built-in ones live in ``workbench.synthesis.rules``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from itertools import product
from typing import Any, Literal, Self

from pydantic_core import to_jsonable_python

from workbench.propositions.ids import NodeId
from workbench.propositions.strict_json import STRICT, read_strict

#: With more children a default that tries every corner or row would not end in time.
MANY_CHILDREN = 12

#: How linear coefficients are made strict: see ``workbench.synthesis.rules.normalise``.
Normaliser = Literal["scale", "softmax", "min-max"]

#: Values of one child for many assignments at once: a numpy array, or anything that computes like one.
Column = Any


class Polarity(StrEnum):
    """Whether a child's truth speaks for or against its parent's."""

    POSITIVE = "Positive"
    NEGATIVE = "Negative"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleLimits:
    """Limits for a rule when it is made; stored rules are not checked again."""

    #: Greatest constant of a linear rule whose children count, where they speak against, through their negation.
    intercept_max: float = 0.1
    #: A formula must name the assumption PA, as paper A asks.
    require_pa: bool = False
    #: An analyst insists on a sign that contradicts the stated polarity.
    overrule_polarity: bool = False


class Rule(ABC):
    """How a proposition's soft truth value follows from its children's: a frozen dataclass, compared by content.

    A package adds one with an entry point in the group ``analyst_workbench.rules`` under the rule's name, whose value is
    the class. Five things must be there: ``name``, ``named_children``, ``evaluate``, ``equation``, and fields that JSON
    can hold (or ``from_json`` and ``to_json`` of its own). Everything else has a default that is right for any function,
    if slower or wider than it could be.
    """

    __slots__ = ()
    __pydantic_config__ = STRICT

    # -- what a rule is

    @property
    @abstractmethod
    def name(self) -> str:
        """Name under which the rule is registered and stored: linear, logic, ..."""

    @property
    def numeric(self) -> bool:
        """False if there is no function to evaluate (vanilla): only a full resynthesis gives a number then."""
        return True

    @property
    def multilinear(self) -> bool:
        """Whether the value is affine in each child while the others stand still; True makes every analysis exact."""
        return False

    @property
    def affine(self) -> bool:
        """Whether the value is one constant plus a weight times p per child; the root's variance is exact then."""
        return False

    @abstractmethod
    def named_children(self) -> tuple[NodeId, ...]:
        """The children that the rule reads; a rule that names no child of its node is refused at its creation."""

    def unknown_children(self, children: Sequence[NodeId]) -> tuple[NodeId, ...]:
        """Return the named children that its node has not below it: with any, nothing can be computed."""
        below = set(children)
        return tuple(child for child in self.named_children() if child not in below)

    # -- storing

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read a rule as :meth:`to_json` writes it; by default the dataclass' fields, strictly. ``data`` holds the name too."""
        body = {key: value for key, value in data.items() if key != "name"}
        return read_strict(cls, body, what=f"the {data['name']} rule")

    def to_json(self) -> dict[str, Any]:
        """Return the rule as a plain JSON object with its ``name``; by default the dataclass' fields."""
        assert is_dataclass(self)
        body = {field.name: getattr(self, field.name) for field in fields(self)}
        return {"name": self.name, **to_jsonable_python(body)}

    # -- the function

    @abstractmethod
    def evaluate(self, p: Mapping[NodeId, float]) -> float:
        """Return the raw value at the children's p; it may leave [0, 1], the tree holds it at the bound."""

    def derivative(self, p: Mapping[NodeId, float]) -> Mapping[NodeId, float]:
        """Return the partial derivative by each child at this point; by default from differences, exact for a multilinear rule."""
        slopes = {}
        for child in self.named_children():
            x = p[child]
            # A straight line's slope is exact over the whole interval, and a small step would lose digits. Near 0 and 1
            # the step is one-sided, since a rule need not be defined outside.
            low, high = (0.0, 1.0) if self.multilinear else (max(0.0, x - 1e-6), min(1.0, x + 1e-6))
            rise = self.evaluate({**p, child: high}) - self.evaluate({**p, child: low})
            slopes[child] = rise / (high - low)
        return slopes

    def reachable(self, box: Mapping[NodeId, tuple[float, float]] | None = None) -> tuple[float, float]:
        """Return the least and greatest raw value while each child stays in its interval (default [0, 1]).

        By default the corners of the box for a multilinear rule of up to twelve children, else all of [0, 1]: a rule that
        can leave [0, 1] otherwise must say so itself.
        """
        children = self.named_children()
        if not self.multilinear or len(children) > MANY_CHILDREN:
            return 0.0, 1.0
        ends = [(box or {}).get(child, (0.0, 1.0)) for child in children]
        values = [self.evaluate(dict(zip(children, corner, strict=True))) for corner in product(*ends)]
        return min(values), max(values)

    def columns(self, p: Mapping[NodeId, Column]) -> Column:
        """Return raw values for many assignments at once, from one column per child; by default one row after the other."""
        # zip() of no columns gives no row at all, but the rule still has one value.
        rows = zip(*p.values(), strict=True) if p else [()]
        return [self.evaluate(dict(zip(p, row, strict=True))) for row in rows]

    # -- the rule in words and numbers

    @abstractmethod
    def equation(self) -> str:
        """Write the right-hand side as one line that a person can recompute from the children's p: ``0.10 + 0.50 × P1``.

        Every number that enters is in it. The command line, the report, the exported notebook and the page print this.
        """

    def coefficients(self, p: Mapping[NodeId, float]) -> dict[str, float]:
        """Return the numbers by which refits are compared, per child and ``intercept``; by default the derivative at p."""
        return dict(self.derivative(p))

    def structure(self) -> str | None:
        """Return the structure that refits can differ in beside numbers, in its plainest spelling (a formula); None if there is none."""
        return None

    def warnings(self) -> list[str]:
        """List the allowed but doubtful features, one line each."""
        return []

    # -- the rule and its node

    def validate(
        self,
        children: Sequence[NodeId],
        polarities: Mapping[NodeId, Polarity] | None = None,
        limits: RuleLimits | None = None,
    ) -> None:
        """Raise a ``RuleError`` if the rule does not fit a node with these children; synthesizers send the line back to the model.

        ``checked_value`` calls this when a rule is made, and refuses unknown children and values outside [0, 1] itself.
        """
        return

    def without(self, child: NodeId) -> Rule | None:
        """Remove a child; None if the rule cannot do without it (the node is then synthesized anew)."""
        return None if child in self.named_children() else self

    def with_child(self, child: NodeId) -> Rule:
        """Add a child, which has no weight yet."""
        return self

    def turned(self, child: NodeId) -> Rule | None:
        """Turn a child's sign at the same weight; None if the rule cannot (the node is then synthesized anew).

        Turned twice it is the same rule. By default a rule cannot be turned.
        """
        return None

    # -- the rule as a conditional probability table

    def table_problem(self) -> str | None:
        """Say why the rule is no table of a Bayes net; None if it is one. The exports to BIF and ProbLog ask."""
        low, high = self.reachable()
        if not self.multilinear:
            return "is not affine in each child alone"
        if low < -1e-9 or high > 1 + 1e-9:
            return f"reaches [{low:.4g}, {high:.4g}]"
        return None

    def projected(self, how: Normaliser = "scale") -> tuple[Rule, float] | None:
        """Return the nearest rule that is a table, and the greatest difference; None if there is none.

        ``how`` says how linear coefficients are made to sum to at most 1.
        """
        return None

    def problog_clauses(self, head: str, atoms: Mapping[NodeId, str]) -> list[str] | None:
        """Write the rule as ProbLog clauses of ``head`` over the children's atoms; None writes its table row by row."""
        return None

    def dependence_bounds(self, p: Mapping[NodeId, float]) -> tuple[float, float] | None:
        """Return the least and greatest value under any dependence between the children (Frechet); None if nothing is known."""
        return None
