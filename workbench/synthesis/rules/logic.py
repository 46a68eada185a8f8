"""The simple logic rule: a formula of the children and an assumption (paper A, section 4.1, A.1 and D.8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, ClassVar, Literal, get_args

from workbench.propositions import NodeId, check_probability
from workbench.synthesis.errors import MissingWeight, RuleFormatError, UnknownChild
from workbench.synthesis.rules.decision import diagram_of
from workbench.synthesis.rules.formula import (
    AND,
    ASSUMPTION,
    NOT,
    OR,
    Formula,
    fold,
    occurrences,
    parse_formula,
    render,
    without_variable,
)

Norm = Literal["product", "minmax"]

_MIXED_LIMIT = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumption:
    """What the formula calls PA: everything the children leave out, with a probability of its own."""

    detail: str
    probability: float

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "probability", check_probability(self.probability, of="the assumption's probability")
        )


@dataclass(frozen=True, slots=True)
class LogicRule:
    """A parent that is true where a formula of its children is.

    Parameters
    ----------
    formula : str
        AND, OR, NOT, parentheses, child ids, PA.
    assumption : Assumption or None
        Needed exactly when the formula names PA.
    norm : {"product", "minmax"}
        ``product``: independent propositions, AND = ab, OR = a + b - ab. ``minmax``: Goedel's fuzzy operators.
    naive : bool
        Treat copies of a variable as independent, as the paper's code does. Wrong where a variable is repeated: for
        (P1 AND P2) OR (P1 AND PA) at 0.8, 0.5, 0.9 it gives 0.832, exact is 0.76 (FEATURES Y7, A7).

    Raises
    ------
    FormulaError
        The formula does not parse.
    RuleFormatError
        PA without an assumption, or an unknown norm.

    Examples
    --------
    >>> rule = LogicRule("(P1 AND P2) OR (P1 AND PA)", Assumption(detail="calm", probability=0.9))
    >>> round(rule.evaluate({"P1": 0.8, "P2": 0.5}), 12)
    0.76
    """

    name: ClassVar[str] = "logic"
    numeric: ClassVar[bool] = True

    formula: str
    assumption: Assumption | None = None
    norm: Norm = "product"
    naive: bool = False

    def __post_init__(self) -> None:
        if self.norm not in get_args(Norm):
            raise RuleFormatError(f"the norm of a logic rule is product or minmax, not {self.norm!r}")
        if ASSUMPTION in self.parsed.variables and self.assumption is None:
            raise RuleFormatError("the formula names PA, so the rule needs an assumption with a probability")

    @property
    def parsed(self) -> Formula:
        """The parsed formula."""
        return parse_formula(self.formula)

    @property
    def children(self) -> tuple[NodeId, ...]:
        """The children that the formula names, in order of appearance."""
        return tuple(name for name in self.parsed.variables if name != ASSUMPTION)

    @property
    def exact(self) -> bool:
        """Whether the value is the probability of the formula for independent children."""
        return self.norm == "product" and not (self.naive and self.parsed.repeats)

    @property
    def multilinear(self) -> bool:
        """Whether the value is affine in each child alone."""
        return self.exact

    @property
    def _merges(self) -> bool:
        """Whether copies must be counted once: only then a diagram is needed, else the operators are exact as they are."""
        return self.exact and self.parsed.repeats

    def inputs(self, p: Mapping[NodeId, Any]) -> dict[NodeId, Any]:
        """The variables' values: the children's, and the assumption's as PA."""
        given = {child: p[child] for child in self.children}
        if self.assumption is not None:
            given[ASSUMPTION] = self.assumption.probability
        return given

    def evaluate(self, p: Mapping[NodeId, float]) -> float:
        """Value in [0, 1]."""
        given = self.inputs(p)
        if self._merges:
            return min(1.0, max(0.0, float(diagram_of(self.parsed.program).probability(given))))
        value: float = fold(self.parsed.program, given.__getitem__, lambda a: 1.0 - a, self._both)
        return value

    def _both(self, operator: str, a: float, b: float) -> float:
        if self.norm == "minmax":
            return min(a, b) if operator == AND else max(a, b)
        return a * b if operator == AND else a + b - a * b

    def derivative(self, p: Mapping[NodeId, float]) -> dict[NodeId, float]:
        """Partial derivatives; for min/max the slope of the input that decides."""
        given = self.inputs(p)
        slopes = diagram_of(self.parsed.program).gradient(given) if self._merges else self._backwards(given)
        return {child: slopes[child] for child in self.children}

    def _backwards(self, given: Mapping[NodeId, float]) -> dict[NodeId, float]:
        # forward values with the place of each operand, then the chain rule from the last operation back
        program = self.parsed.program
        value: list[float] = []
        operands: list[tuple[int, ...]] = []
        stack: list[int] = []
        for place, token in enumerate(program):
            if token == NOT:
                below: tuple[int, ...] = (stack.pop(),)
                value.append(1.0 - value[below[0]])
            elif token in (AND, OR):
                right = stack.pop()
                below = (stack.pop(), right)
                value.append(self._both(token, value[below[0]], value[below[1]]))
            else:
                below = ()
                value.append(given[token])
            operands.append(below)
            stack.append(place)
        slope = [0.0] * len(program)
        slope[-1] = 1.0
        totals = dict.fromkeys(given, 0.0)
        for place in reversed(range(len(program))):
            token, here, below = program[place], slope[place], operands[place]
            if token == NOT:
                slope[below[0]] -= here
            elif token in (AND, OR):
                a, b = value[below[0]], value[below[1]]
                if self.norm == "minmax":
                    slope[below[0] if (a <= b) == (token == AND) else below[1]] += here
                else:
                    slope[below[0]] += here * (b if token == AND else 1.0 - b)
                    slope[below[1]] += here * (a if token == AND else 1.0 - a)
            else:
                totals[token] += here
        return totals

    def reachable(self, box: Mapping[NodeId, tuple[float, float]] | None = None) -> tuple[float, float]:
        """Least and greatest value while each child stays in its interval, the assumption as it is.

        A child that occurs with one sign only moves the value one way, so its best end is known; children that occur with
        both are tried at both ends. With more than twelve of those the bounds are those of the naive rule's intervals:
        wide enough, perhaps too wide.
        """
        spans = {child: (box or {}).get(child, (0.0, 1.0)) for child in self.children}
        signs = occurrences(self.parsed.program)
        mixed = [child for child in spans if len(signs[child]) > 1]
        if len(mixed) > _MIXED_LIMIT or not (self.exact or not mixed):
            return self._interval(spans)
        ends = []
        for upward in (False, True):
            fixed = {
                child: span[1] if (signs[child] == {1}) == upward else span[0]
                for child, span in spans.items()
                if child not in mixed
            }
            trials = product(*(spans[child] for child in mixed))
            values = [self.evaluate({**fixed, **dict(zip(mixed, trial, strict=True))}) for trial in trials]
            ends.append(max(values) if upward else min(values))
        return ends[0], ends[1]

    def _interval(self, spans: Mapping[NodeId, tuple[float, float]]) -> tuple[float, float]:
        given = dict(spans)
        if self.assumption is not None:
            given[ASSUMPTION] = (self.assumption.probability,) * 2
        if self.exact:  # under any dependence between copies the probability stays inside these
            return frechet(self.parsed, given)
        return fold(
            self.parsed.program,
            given.__getitem__,
            lambda a: (1.0 - a[1], 1.0 - a[0]),
            lambda operator, a, b: (self._both(operator, a[0], b[0]), self._both(operator, a[1], b[1])),
        )

    def without(self, child: NodeId) -> LogicRule | None:
        """The rule with the child taken out of its AND or OR; None when no child is left."""
        if child not in self.children:
            return self
        left = without_variable(self.parsed.program, child)
        if left is None or all(token in (AND, OR, NOT, ASSUMPTION) for token in left):
            return None
        keep = self.assumption if ASSUMPTION in left else None
        return replace(self, formula=render(left), assumption=keep)

    def with_child(self, child: NodeId) -> LogicRule:
        """The same rule: a child has no say until the formula names it."""
        return self

    def to_json(self) -> dict[str, Any]:
        """JSON object of CONTRACTS; ``norm`` and ``naive`` stand only where they are not the default."""
        assumed = self.assumption
        data: dict[str, Any] = {
            "name": self.name,
            "formula": self.formula,
            "assumption": assumed and {"detail": assumed.detail, "probability": assumed.probability},
        }
        if self.norm != "product":
            data["norm"] = self.norm
        if self.naive:
            data["naive"] = True
        return data

    def validate(
        self, children: Sequence[NodeId], *, require_pa: bool = False, require_all: bool = True
    ) -> None:
        """Check a rule at its creation (FEATURES A8, A9).

        Parameters
        ----------
        children : sequence of str
        require_pa : bool
            The paper's preset asks for PA in every formula.
        require_all : bool
            Every child must be named.

        Raises
        ------
        UnknownChild, MissingWeight, RuleFormatError
        """
        stray = [child for child in self.children if child not in children]
        if stray:
            raise UnknownChild(
                f"the formula names {', '.join(stray)}; the children are {', '.join(children)}"
            )
        missing = [child for child in children if child not in self.children]
        if missing and require_all:
            raise MissingWeight(f"the formula leaves out {', '.join(missing)}")
        if require_pa and ASSUMPTION not in self.parsed.variables:
            raise RuleFormatError("the formula must name PA")

    def warnings(self) -> list[str]:
        """What is allowed but deserves a look, one line each."""
        found = []
        if self.naive and self.parsed.repeats:
            found.append(
                "copies of a variable count as independent (naive): the value is not the formula's probability"
            )
        if self.assumption is not None and ASSUMPTION not in self.parsed.variables:
            found.append("the assumption has no say: the formula does not name PA")
        return found


def frechet(formula: Formula, spans: Mapping[NodeId, tuple[float, float]]) -> tuple[float, float]:
    """Bounds of a formula's probability whatever the dependence between its parts (Frechet).

    Sharp for a single AND or OR of distinct variables, an outer bound for nested ones.

    >>> [round(x, 12) for x in frechet(parse_formula("P1 AND P2"), {"P1": (0.7, 0.7), "P2": (0.6, 0.6)})]
    [0.3, 0.6]
    """

    def both(operator: str, a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
        if operator == AND:
            return max(0.0, a[0] + b[0] - 1.0), min(a[1], b[1])
        return max(a[0], b[0]), min(1.0, a[1] + b[1])

    return fold(formula.program, spans.__getitem__, lambda a: (1.0 - a[1], 1.0 - a[0]), both)
