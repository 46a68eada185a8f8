"""The exact probability of a formula whose variables are repeated, by Shannon expansion.

Copies of a variable are one variable: AND = ab over copies would count it twice. So each repeated variable x
is taken as true, then as false, P(f) = x P(f | x) + (1 - x) P(f | not x), until what is left names every variable once and
the operators are exact. Equal rests are worked out once, which keeps twenty variables far from 2^20 worlds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from workbench.propositions import NodeId
from workbench.synthesis.errors import FormulaError
from workbench.synthesis.rules.formula import AND, NOT, OR, Program, value_of

#: A formula that is settled, or what is left of it.
Rest = Program | bool
#: A repeated variable, and per rest of its level the places of (rest if false, rest if true) in the next level.
Level = tuple[NodeId, list[tuple[int, int]]]

#: Tokens written in one expansion before it is given up, about two seconds.
MAX_TOKENS = 5_000_000


def probability(program: Program, p: Mapping[NodeId, Any]) -> Any:
    """Compute P(formula) if the variables are independent and true with these probabilities; numbers or numpy arrays.

    Raises `FormulaError`: The formula is too entangled for an exact answer.
    """
    levels, rests = expand(program)
    values = [float(rest) if isinstance(rest, bool) else value_of(rest, p) for rest in rests]
    for name, edges in reversed(levels):
        x = p[name]
        values = [
            # a rest without the variable keeps its number to the last bit
            values[low] if low == high else x * values[high] + (1.0 - x) * values[low]
            for low, high in edges
        ]
    return values[0]


@lru_cache(maxsize=512)
def expand(program: Program) -> tuple[list[Level], list[Rest]]:
    """Expand the formula over the repeated variables in order of appearance; also return the rests at its end.

    Raises `FormulaError`.
    """
    counts = Counter(token for token in program if token not in (AND, OR, NOT))
    levels: list[Level] = []
    rests: list[Rest] = [program]
    n_tokens = 0
    for name in (name for name, count in counts.items() if count > 1):
        places: dict[Rest, int] = {}
        edges = []
        for rest in rests:
            low, high = (assign(rest, name, value) for value in (False, True))
            edges.append((places.setdefault(low, len(places)), places.setdefault(high, len(places))))
            n_tokens += 2 * (1 if isinstance(rest, bool) else len(rest))
        if n_tokens > MAX_TOKENS:
            raise FormulaError(f"the formula is too entangled for an exact value ({len(counts)} variables)")
        levels.append((name, edges))
        rests = list(places)
    return levels, rests


def assign(rest: Rest, variable: NodeId, value: bool) -> Rest:
    """Simplify a formula when a variable is true or false.

    >>> assign(("P1", "P2", "AND", "P1", "NOT", "P3", "AND", "OR"), "P1", True)
    ('P2',)
    """
    if isinstance(rest, bool):
        return rest
    left_over: list[str] = []
    stack: list[
        bool | int
    ] = []  # per operand: settled, or where its tokens start; a copy of them would cost n^2
    for token in rest:
        if token == NOT:
            operand = stack[-1]
            if isinstance(operand, bool):
                stack[-1] = not operand
            else:
                left_over.append(NOT)
        elif token in (AND, OR):
            right, left = stack.pop(), stack.pop()
            settles = token == OR
            if left is settles or right is settles:
                for start in (right, left):
                    if not isinstance(start, bool):
                        del left_over[start:]
                stack.append(settles)
            elif isinstance(left, bool):
                stack.append(right)
            else:
                if not isinstance(right, bool):
                    left_over.append(token)
                stack.append(left)
        elif token == variable:
            stack.append(value)
        else:
            stack.append(len(left_over))
            left_over.append(token)
    (result,) = stack
    return result if isinstance(result, bool) else tuple(left_over)
