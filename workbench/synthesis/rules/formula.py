"""Formulas over propositions: a tokenizer, a parser without recursion, a formula's value, and what can be read off a parsed one.

``P1``, ``P1.10`` are children and ``PA`` the assumption; AND, OR, NOT (also ``& | ! ~`` and the signs of logic) bind as usual,
NOT strongest. A parsed formula is a postfix program, so nesting is as deep as the text is long and no deeper.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypeVar

from workbench.propositions.ids import NodeId
from workbench.synthesis.errors import FormulaError

ASSUMPTION: NodeId = "PA"
AND, OR, NOT = "AND", "OR", "NOT"

# After a name neither a letter, a digit nor a dot: P1x and "P1." are mistakes, not P1 with something behind it.
_TOKEN = re.compile(
    r"\s*(?:(?P<var>PA|P[1-9]\d*(?:\.[1-9]\d*)*)(?![\w.])|(?P<word>(?:AND|OR|NOT)\b)|(?P<sign>&&?|\|\|?|[!~∧∨¬()])|(?P<end>$))",
    re.IGNORECASE,
)
_SIGNS = {
    "&": AND,
    "&&": AND,
    "∧": AND,
    "|": OR,
    "||": OR,
    "∨": OR,
    "!": NOT,
    "~": NOT,
    "¬": NOT,
    "(": "(",
    ")": ")",
}
_BINDS = {OR: 1, AND: 2, NOT: 3}

Program = tuple[str, ...]
V = TypeVar("V")
Norm = Literal["product", "minmax"]


@dataclass(frozen=True, slots=True)
class Formula:
    """A parsed formula: the text, its postfix program, its distinct variables in order of appearance."""

    text: str
    program: Program
    variables: tuple[NodeId, ...]

    @property
    def repeats(self) -> bool:
        """Whether a variable stands in it more than once."""
        return sum(token not in _BINDS for token in self.program) > len(self.variables)


# A rule stores the text alone and asks for the parsed formula at every evaluation.
@lru_cache(maxsize=4096)
def parse_formula(text: str) -> Formula:
    """Parse a formula.

    Raises `FormulaError`: Anything but a formula; the message points at the place.

    >>> parse_formula("P1 AND NOT (P10 or PA)").program
    ('P1', 'P10', 'PA', 'OR', 'NOT', 'AND')
    >>> parse_formula("not not P1").variables
    ('P1',)
    """
    program: list[str] = []
    operators: list[tuple[str, int]] = []
    variables: dict[NodeId, None] = {}
    position, want_operand = 0, True
    while True:
        token, start, position = _next(text, position)
        if token == "":
            break
        is_operand = token in ("(", NOT) or (token not in _BINDS and token != ")")
        if is_operand != want_operand:
            wanted = "a proposition, NOT or (" if want_operand else "AND, OR or )"
            raise _error(text, start, f"here {wanted} should stand, not {token!r}")
        # Both stand before what they apply to, so unlike AND and OR they settle nothing on the stack.
        if token in ("(", NOT):
            operators.append((token, start))
        elif token == ")":
            while operators and operators[-1][0] != "(":
                program.append(operators.pop()[0])
            if not operators:
                raise _error(text, start, "nothing opened this parenthesis")
            operators.pop()
        elif token in _BINDS:
            while operators and _BINDS.get(operators[-1][0], 0) >= _BINDS[token]:
                program.append(operators.pop()[0])
            operators.append((token, start))
            want_operand = True
        else:
            program.append(token)
            variables[token] = None
            want_operand = False
    if want_operand:
        raise _error(text, len(text), "the formula ends too early")
    while operators:
        token, start = operators.pop()
        if token == "(":
            raise _error(text, start, "this parenthesis is never closed")
        program.append(token)
    return Formula(text, tuple(program), tuple(variables))


def _next(text: str, position: int) -> tuple[str, int, int]:
    match = _TOKEN.match(text, position)
    if match is None:
        start = position + len(text[position:]) - len(text[position:].lstrip())
        raise _error(
            text, start, "this is neither a proposition (P1, P1.2, PA) nor AND, OR, NOT or a parenthesis"
        )
    kind = match.lastgroup or "end"
    token = match[kind].upper()
    return _SIGNS[token] if kind == "sign" else token, match.start(kind), match.end()


def _error(text: str, position: int, why: str) -> FormulaError:
    excerpt = text[max(0, position - 20) : position] + ">>>" + text[position : position + 20]
    return FormulaError(f"formula, character {position + 1}: {why}: {' '.join(excerpt.split())}")


def fold(
    program: Program, leaf: Callable[[str], V], negate: Callable[[V], V], both: Callable[[str, V, V], V]
) -> V:
    """Run a program: ``leaf`` for each variable, ``negate`` for NOT, ``both`` for AND and OR."""
    stack: list[V] = []
    for token in program:
        if token == NOT:
            stack.append(negate(stack.pop()))
        elif token in _BINDS:
            right = stack.pop()
            stack.append(both(token, stack.pop(), right))
        else:
            stack.append(leaf(token))
    (result,) = stack
    return result


def combine(norm: Norm, operator: str, a: Any, b: Any) -> Any:
    """Compute one AND or OR: ab and a + b - ab for independent parts, Goedel's min and max for ``minmax``."""
    if norm == "minmax":
        return min(a, b) if operator == AND else max(a, b)
    return a * b if operator == AND else a + b - a * b


def value_of(program: Program, p: Mapping[NodeId, Any], norm: Norm = "product") -> Any:
    """Compute the formula's value, every copy of a variable on its own: exact if none is repeated (``exact_logic`` brings
    the others to that form). Numbers, or numpy arrays for the product norm.
    """
    return fold(program, p.__getitem__, lambda a: 1.0 - a, lambda op, a, b: combine(norm, op, a, b))


def without_variable(program: Program, variable: NodeId) -> Program | None:
    """Take every copy of a variable out of its AND or OR; None when nothing is left.

    >>> without_variable(parse_formula("(P1 AND NOT P2) OR PA").program, "P2")
    ('P1', 'PA', 'OR')
    """

    def both(operator: str, left: Program | None, right: Program | None) -> Program | None:
        if left is None or right is None:
            return left if right is None else right
        return (*left, *right, operator)

    return fold(
        program,
        lambda token: None if token == variable else (token,),
        lambda inner: None if inner is None else (*inner, NOT),
        both,
    )


def with_negated(program: Program, variable: NodeId) -> Program:
    """Negate every copy of a variable; a NOT that stood before it is taken away.

    >>> render(with_negated(parse_formula("P1 AND NOT P2 OR P2").program, "P2"))
    'P1 AND P2 OR NOT P2'
    """
    turned: Program = (variable, NOT)
    return fold(
        program,
        lambda token: turned if token == variable else (token,),
        lambda inner: (variable,) if inner == turned else (*inner, NOT),
        lambda operator, left, right: (*left, *right, operator),
    )


def render(program: Program) -> str:
    """Write the program as text with the parentheses it needs.

    >>> render(parse_formula("((P1)) and (P2 or not not P3)").program)
    'P1 AND (P2 OR NOT NOT P3)'
    """
    Part = tuple[str, int]

    def bracketed(part: Part, binding: int) -> str:
        return part[0] if part[1] >= binding else f"({part[0]})"

    def both(operator: str, left: Part, right: Part) -> Part:
        binds = _BINDS[operator]
        return f"{bracketed(left, binds)} {operator} {bracketed(right, binds)}", binds

    return fold(program, lambda token: (token, 4), lambda part: (f"NOT {bracketed(part, 3)}", 3), both)[0]


def occurrences(program: Program) -> dict[NodeId, set[int]]:
    """Return per variable the signs with which it occurs: +1 under an even number of NOT, -1 under an odd one.

    A variable with one sign moves the formula one way only.
    """
    signs: dict[NodeId, set[int]] = {}
    # backwards, a program reads operator before operands: pass the sign down
    pending = [1]
    for token in reversed(program):
        sign = pending.pop()
        if token == NOT:
            pending.append(-sign)
        elif token in _BINDS:
            pending += [sign, sign]
        else:
            signs.setdefault(token, set()).add(sign)
    return signs
