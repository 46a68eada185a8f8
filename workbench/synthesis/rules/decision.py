"""Exact probability of a formula of independent propositions: a reduced ordered decision diagram.

Copies of a variable are one variable (FEATURES A7): the product rule over copies would count it twice. The diagram is as
good as enumerating all 2^n worlds and mostly far smaller; nothing recurses.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from workbench.propositions.ids import NodeId
from workbench.synthesis.errors import FormulaError
from workbench.synthesis.rules.formula import AND, Program, fold

MAX_NODES = 2_000_000


class Diagram:
    """A formula's worlds, merged: nodes 0 (false) and 1 (true), then one per decision, children before parents.

    Parameters
    ----------
    program : tuple of str
        Postfix formula.

    Raises
    ------
    FormulaError
        More than two million decisions: the formula is too entangled for an exact answer.
    """

    __slots__ = ("_high", "_low", "_unique", "_var", "nodes", "root", "variables")

    def __init__(self, program: Program):
        order = dict.fromkeys(token for token in program if token not in ("AND", "OR", "NOT"))
        self.variables: tuple[NodeId, ...] = tuple(order)
        level = {name: index for index, name in enumerate(order)}
        last = len(order)
        self._var, self._low, self._high = [last, last], [0, 1], [0, 1]
        self._unique: dict[tuple[int, int, int], int] = {}
        memos: dict[str, dict[tuple[int, int], int]] = {"AND": {}, "OR": {}}
        self.root = fold(
            program,
            lambda token: self._make(level[token], 0, 1),
            self._complement,
            lambda operator, left, right: self._apply(operator == AND, left, right, memos[operator]),
        )
        self.nodes = self._below(self.root)
        self._unique = {}

    def __len__(self) -> int:
        return len(self.nodes)

    def _make(self, var: int, low: int, high: int) -> int:
        if low == high:
            return low
        key = (var, low, high)
        found = self._unique.get(key)
        if found is None:
            found = self._unique[key] = len(self._var)
            if found > MAX_NODES:
                raise FormulaError(
                    f"the formula is too entangled for an exact value ({len(self.variables)} variables)"
                )
            self._var.append(var)
            self._low.append(low)
            self._high.append(high)
        return found

    def _below(self, root: int) -> tuple[int, ...]:
        """The decisions under a node, children first."""
        seen: set[int] = set()
        stack = [root]
        while stack:
            node = stack.pop()
            if node > 1 and node not in seen:
                seen.add(node)
                stack += (self._low[node], self._high[node])
        return tuple(sorted(seen))

    def _complement(self, root: int) -> int:
        flipped = {0: 1, 1: 0}
        for node in self._below(root):
            flipped[node] = self._make(self._var[node], flipped[self._low[node]], flipped[self._high[node]])
        return flipped[root]

    def _apply(self, conjunction: bool, left: int, right: int, memo: dict[tuple[int, int], int]) -> int:
        neutral, absorbing = (1, 0) if conjunction else (0, 1)

        def known(a: int, b: int) -> int | None:
            if a == absorbing or b == absorbing:
                return absorbing
            if a in (neutral, b):
                return b
            return a if b == neutral else memo.get((a, b) if a < b else (b, a))

        stack = [(left, right)]
        while stack:
            a, b = stack[-1]
            if known(a, b) is not None:
                stack.pop()
                continue
            var = min(self._var[a], self._var[b])
            lows = (self._low[a] if self._var[a] == var else a, self._low[b] if self._var[b] == var else b)
            highs = (self._high[a] if self._var[a] == var else a, self._high[b] if self._var[b] == var else b)
            low, high = known(*lows), known(*highs)
            if low is None:
                stack.append(lows)
            if high is None:
                stack.append(highs)
            if low is not None and high is not None:
                memo[(a, b) if a < b else (b, a)] = self._make(var, low, high)
                stack.pop()
        result = known(left, right)
        assert result is not None
        return result

    def probability(self, p: Mapping[NodeId, Any]) -> Any:
        """P(formula) when the variables are independent and true with these probabilities; numbers or numpy arrays."""
        return self._values(p)[self.root]

    def _values(self, p: Mapping[NodeId, Any]) -> dict[int, Any]:
        given = [p[name] for name in self.variables]
        values: dict[int, Any] = {0: 0.0, 1: 1.0}
        for node in self.nodes:
            x = given[self._var[node]]
            values[node] = x * values[self._high[node]] + (1.0 - x) * values[self._low[node]]
        return values

    def gradient(self, p: Mapping[NodeId, float]) -> dict[NodeId, float]:
        """Derivative of the probability by each variable's: P(formula | variable) - P(formula | not variable)."""
        values = self._values(p)
        given = [p[name] for name in self.variables]
        slope = [0.0] * len(given)
        reach = dict.fromkeys(self.nodes, 0.0)
        reach[self.root] = 1.0
        for node in reversed(self.nodes):
            var, low, high = self._var[node], self._low[node], self._high[node]
            here = reach[node]
            slope[var] += here * (values[high] - values[low])
            for child, share in ((low, 1.0 - given[var]), (high, given[var])):
                if child > 1:
                    reach[child] += here * share
        return dict(zip(self.variables, slope, strict=True))


@lru_cache(maxsize=512)
def diagram_of(program: Program) -> Diagram:
    """The program's diagram, kept for the next time."""
    return Diagram(program)
