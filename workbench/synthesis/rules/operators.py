"""A formula's value and derivative, operator by operator, every copy of a variable on its own.

That is exact if no variable is repeated; ``exact_logic`` brings the others to that form.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from workbench.propositions import NodeId
from workbench.synthesis.rules.formula import AND, NOT, OR, Program, fold

Norm = Literal["product", "minmax"]


def combine(norm: Norm, operator: str, a: Any, b: Any) -> Any:
    """Compute one AND or OR: ab and a + b - ab for independent parts, Goedel's min and max for ``minmax``."""
    if norm == "minmax":
        return min(a, b) if operator == AND else max(a, b)
    return a * b if operator == AND else a + b - a * b


def value_of(program: Program, p: Mapping[NodeId, Any], norm: Norm = "product") -> Any:
    """Compute the formula's value; numbers, or numpy arrays for the product norm."""
    return fold(program, p.__getitem__, lambda a: 1.0 - a, lambda op, a, b: combine(norm, op, a, b))


def gradient_of(program: Program, p: Mapping[NodeId, float], norm: Norm = "product") -> dict[NodeId, float]:
    """Differentiate by every variable; for min/max the slope of the input that decides.

    Forward values with the place of each operand, then the chain rule from the last operation back.
    """
    values: list[float] = []
    operands: list[tuple[int, ...]] = []
    stack: list[int] = []
    for place, token in enumerate(program):
        below: tuple[int, ...] = ()
        if token == NOT:
            below = (stack.pop(),)
            values.append(1.0 - values[below[0]])
        elif token in (AND, OR):
            right = stack.pop()
            below = (stack.pop(), right)
            values.append(combine(norm, token, values[below[0]], values[below[1]]))
        else:
            values.append(p[token])
        operands.append(below)
        stack.append(place)
    slopes = [0.0] * len(program)
    slopes[-1] = 1.0
    totals: dict[NodeId, float] = {}
    for place in reversed(range(len(program))):
        token, slope, below = program[place], slopes[place], operands[place]
        if token == NOT:
            slopes[below[0]] -= slope
        elif token in (AND, OR):
            a, b = values[below[0]], values[below[1]]
            if norm == "minmax":
                # At a tie one side takes the whole slope; both would count one change twice.
                slopes[below[0] if (a <= b) == (token == AND) else below[1]] += slope
            else:
                slopes[below[0]] += slope * (b if token == AND else 1.0 - b)
                slopes[below[1]] += slope * (a if token == AND else 1.0 - a)
        else:
            totals[token] = totals.get(token, 0.0) + slope
    return totals
