"""Partial derivatives of whatever is computed by sums, products, least and greatest: once forward, then back by the chain rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from workbench.propositions import NodeId


class _Traced:
    """A number that knows what it was computed from; sums and products of it are put on the tape."""

    __slots__ = ("parts", "slope", "tape", "value")

    def __init__(self, value: float, tape: list[_Traced], *parts: tuple[Any, float]) -> None:
        self.value, self.tape, self.parts, self.slope = value, tape, parts, 0.0
        tape.append(self)

    def __add__(self, other: Any) -> _Traced:
        if not isinstance(other, _Traced):
            return _Traced(self.value + other, self.tape, (self, 1.0))
        return _Traced(self.value + other.value, self.tape, (self, 1.0), (other, 1.0))

    def __mul__(self, other: Any) -> _Traced:
        if not isinstance(other, _Traced):
            return _Traced(self.value * other, self.tape, (self, other))
        return _Traced(self.value * other.value, self.tape, (self, other.value), (other, self.value))

    __radd__, __rmul__ = __add__, __mul__

    def __sub__(self, other: Any) -> _Traced:
        return self.__add__(-1.0 * other)

    def __rsub__(self, other: Any) -> _Traced:
        return (self * -1.0).__add__(other)

    def __lt__(self, other: Any) -> bool:
        return self.value < (other.value if isinstance(other, _Traced) else other)

    def __gt__(self, other: Any) -> bool:
        return self.value > (other.value if isinstance(other, _Traced) else other)


def slopes(compute: Callable[[Mapping[NodeId, Any]], Any], p: Mapping[NodeId, float]) -> dict[NodeId, float]:
    """Differentiate by each of ``p``; of two equal numbers the first decides which is the least or the greatest.

    >>> slopes(lambda v: 1.0 - v["P1"] * v["P2"], {"P1": 0.25, "P2": 0.5})
    {'P1': -0.5, 'P2': -0.25}
    """
    tape: list[_Traced] = []
    inputs = {name: _Traced(value, tape) for name, value in p.items()}
    result = compute(inputs)
    if isinstance(result, _Traced):  # else a constant
        result.slope = 1.0
    for number in reversed(tape):
        for part, local in number.parts:
            part.slope += number.slope * local
    return {name: number.slope for name, number in inputs.items()}
