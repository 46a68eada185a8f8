"""The simple logic rule: a formula of the children and an assumption (paper A, section 4.1, A.1 and D.8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import count, product
from typing import Any, ClassVar, get_args

from workbench.propositions import NodeId, Polarity, Rule, RuleLimits, check_probability
from workbench.propositions.rule import Column, Normaliser
from workbench.propositions.strict_json import STRICT
from workbench.synthesis.errors import MissingWeight, RuleFormatError, UnknownChild
from workbench.synthesis.rules import exact_logic
from workbench.synthesis.rules.equation_text import decimal, size
from workbench.synthesis.rules.formula import (
    AND,
    ASSUMPTION,
    NOT,
    OR,
    Formula,
    Norm,
    combine,
    fold,
    occurrences,
    parse_formula,
    render,
    value_of,
    with_negated,
    without_variable,
)

_MIXED_LIMIT = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumption:
    """The formula's PA: everything the children leave out, with a probability of its own."""

    __pydantic_config__ = STRICT

    detail: str
    probability: float

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "probability", check_probability(self.probability, of="the assumption's probability")
        )


@dataclass(frozen=True, slots=True)
class LogicRule(Rule):
    """A parent that is true if a formula of its children is.

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
        (P1 AND P2) OR (P1 AND PA) at 0.8, 0.5, 0.9 it gives 0.832, exact is 0.76.

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

    def named_children(self) -> tuple[NodeId, ...]:
        """Return :attr:`children`."""
        return self.children

    @property
    def _expands(self) -> bool:
        """Whether copies must be counted once; without copies the operators are exact as they are."""
        return self.exact and self.parsed.repeats

    def _variables(self, p: Mapping[NodeId, Any]) -> dict[NodeId, Any]:
        values = {child: p[child] for child in self.children}
        if self.assumption is not None:
            values[ASSUMPTION] = self.assumption.probability
        return values

    def evaluate(self, p: Mapping[NodeId, float]) -> float:
        """Value in [0, 1]."""
        # Sums of rounded products can pass the bounds by a last digit.
        return min(1.0, max(0.0, float(self._value(self._variables(p)))))

    def _value(self, values: Mapping[NodeId, Any]) -> Any:
        if self._expands:
            return exact_logic.probability(self.parsed.program, values)
        return value_of(self.parsed.program, values, self.norm)

    def columns(self, p: Mapping[NodeId, Column]) -> Column:
        """Values in [0, 1], of arrays."""
        values = self._variables(p)
        if self.norm == "product":
            return self._value(values)
        # np.minimum and np.maximum: Python's min and max cannot order two arrays.
        import numpy as np

        return fold(
            self.parsed.program,
            values.__getitem__,
            lambda a: 1.0 - a,
            lambda operator, a, b: np.minimum(a, b) if operator == AND else np.maximum(a, b),
        )

    def equation(self) -> str:
        """The formula, the assumption's probability, and how AND and OR are computed unless exactly."""
        text = self.formula
        if self.assumption is not None:
            text += f", with {ASSUMPTION} = {size(self.assumption.probability)}"
        if self.norm == "minmax":
            text += ", AND as the least, OR as the greatest"
        elif not self.exact:
            text += ", copies of a proposition counted as independent"
        return text

    def structure(self) -> str:
        """The formula in its plainest spelling."""
        return render(self.parsed.program)

    def reachable(self, box: Mapping[NodeId, tuple[float, float]] | None = None) -> tuple[float, float]:
        """Least and greatest value while each child stays in its interval, the assumption as it is.

        A child that occurs with one sign only moves the value one way, so its best end is known; children that occur with
        both are tried at both ends. With more than twelve of those the bounds are those of the naive rule's intervals:
        wide enough, perhaps too wide.
        """
        spans = {child: (box or {}).get(child, (0.0, 1.0)) for child in self.children}
        signs = occurrences(self.parsed.program)
        mixed = [child for child in spans if len(signs[child]) > 1]
        # A rule that is not exact may peak inside the interval (XOR by naive copies), so the ends say nothing there.
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
        if self.exact:  # under any dependence between copies the probability stays inside these
            return self._frechet(spans)
        spans_of = dict(spans)
        if self.assumption is not None:
            spans_of[ASSUMPTION] = (self.assumption.probability,) * 2
        return fold(
            self.parsed.program,
            spans_of.__getitem__,
            lambda a: (1.0 - a[1], 1.0 - a[0]),
            lambda operator, a, b: (
                combine(self.norm, operator, a[0], b[0]),
                combine(self.norm, operator, a[1], b[1]),
            ),
        )

    def dependence_bounds(self, p: Mapping[NodeId, float]) -> tuple[float, float]:
        """Frechet's bounds at the children's values."""
        return self._frechet({child: (p[child], p[child]) for child in self.children})

    def _frechet(self, spans: Mapping[NodeId, tuple[float, float]]) -> tuple[float, float]:
        spans_of = dict(spans)
        if self.assumption is not None:
            spans_of[ASSUMPTION] = (self.assumption.probability,) * 2
        return frechet(self.parsed, spans_of)

    def table_problem(self) -> str | None:
        """Say why the rule is no probability: Goedel's operators, or copies counted as independent."""
        if self.exact:
            return None
        what = "min/max operators" if self.norm == "minmax" else "copies counted as independent"
        return f"is no probability ({what})"

    def projected(self, how: Normaliser = "scale") -> tuple[Rule, float]:
        """Exact logic on the same formula, and the greatest difference found."""
        exact = LogicRule(self.formula, self.assumption)
        # the rules agree at 0 and 1 (but for a soft assumption), so look in between too
        # 3^8 = 6,561 evaluations are the most; with more children only the middle is looked at.
        levels = (0.0, 0.5, 1.0) if len(self.children) <= 8 else (0.5,)
        points = (
            dict(zip(self.children, x, strict=True)) for x in product(levels, repeat=len(self.children))
        )
        return exact, max(abs(exact.evaluate(p) - self.evaluate(p)) for p in points)

    def problog_clauses(self, head: str, atoms: Mapping[NodeId, str]) -> list[str]:
        """One clause per operator; the assumption is a probabilistic fact."""
        lines: list[str] = []
        names = dict(atoms)
        if self.assumption is not None:
            names[ASSUMPTION] = f"{head}_assumption"
            lines.append(f"{decimal(self.assumption.probability)}::{names[ASSUMPTION]}.")
        parts = count(1)

        def part(*bodies: str) -> str:
            name = f"{head}_part({next(parts)})"
            lines.extend(f"{name} :- {body}." for body in bodies)
            return name

        last = fold(
            self.parsed.program,
            names.__getitem__,
            lambda a: part(f"\\+{a}"),
            lambda operator, a, b: part(f"{a}, {b}") if operator == AND else part(a, b),
        )
        return [*lines, f"{head} :- {last}."]

    def without(self, child: NodeId) -> LogicRule | None:
        """Take the child out of its AND or OR; None when no child is left."""
        if child not in self.children:
            return self
        program = without_variable(self.parsed.program, child)
        if program is None or all(token in (AND, OR, NOT, ASSUMPTION) for token in program):
            return None
        keep = self.assumption if ASSUMPTION in program else None
        return replace(self, formula=render(program), assumption=keep)

    def with_child(self, child: NodeId) -> LogicRule:
        """Return the same rule: a child has no say until the formula names it."""
        return self

    def turned(self, child: NodeId) -> LogicRule:
        """Put NOT before the child wherever it stands, or take away the NOT that stood there."""
        return replace(self, formula=render(with_negated(self.parsed.program, child)))

    def to_json(self) -> dict[str, Any]:
        """JSON object; ``norm`` and ``naive`` are left out at their defaults."""
        data: dict[str, Any] = {
            "name": self.name,
            "formula": self.formula,
            "assumption": self.assumption and asdict(self.assumption),
        }
        if self.norm != "product":
            data["norm"] = self.norm
        if self.naive:
            data["naive"] = True
        return data

    def validate(
        self,
        children: Sequence[NodeId],
        polarities: Mapping[NodeId, Polarity] | None = None,
        limits: RuleLimits | None = None,
    ) -> None:
        """Check a rule at its creation: it names the children, all of them, and PA if that is asked.

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
        if missing:
            raise MissingWeight(f"the formula leaves out {', '.join(missing)}")
        if limits is not None and limits.require_pa and ASSUMPTION not in self.parsed.variables:
            raise RuleFormatError("the formula must name PA")

    def warnings(self) -> list[str]:
        """List the allowed but doubtful features, one line each."""
        lines = []
        if self.naive and self.parsed.repeats:
            lines.append(
                "copies of a variable count as independent (naive): the value is not the formula's probability"
            )
        if self.assumption is not None and ASSUMPTION not in self.parsed.variables:
            lines.append("the assumption has no say: the formula does not name PA")
        return lines


def frechet(formula: Formula, spans: Mapping[NodeId, tuple[float, float]]) -> tuple[float, float]:
    """Bound a formula's probability whatever the dependence between its parts (Frechet).

    Sharp for a single AND or OR of distinct variables, an outer bound for nested ones.

    >>> [round(x, 12) for x in frechet(parse_formula("P1 AND P2"), {"P1": (0.7, 0.7), "P2": (0.6, 0.6)})]
    [0.3, 0.6]
    """

    def both(operator: str, a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
        if operator == AND:
            return max(0.0, a[0] + b[0] - 1.0), min(a[1], b[1])
        return max(a[0], b[0]), min(1.0, a[1] + b[1])

    return fold(formula.program, spans.__getitem__, lambda a: (1.0 - a[1], 1.0 - a[0]), both)
