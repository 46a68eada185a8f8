"""What every rule of the form ``intercept + sum of weight x p`` shares."""

from __future__ import annotations

from collections.abc import Mapping
from math import fsum
from typing import ClassVar, Protocol

from workbench.propositions import NodeId

_UNIT = (0.0, 1.0)


def affine_value(intercept: float, weights: Mapping[NodeId, float], p: Mapping[NodeId, float]) -> float:
    """``intercept + sum(weights[i] * p[i])``, rounded once."""
    return fsum([intercept, *(weight * p[child] for child, weight in weights.items())])


def affine_range(
    intercept: float,
    weights: Mapping[NodeId, float],
    box: Mapping[NodeId, tuple[float, float]] | None = None,
) -> tuple[float, float]:
    """Least and greatest value while each child stays in its interval (default [0, 1])."""
    low, high = [intercept], [intercept]
    for child, weight in weights.items():
        start, end = (box or {}).get(child, _UNIT)
        low.append(weight * (start if weight > 0 else end))
        high.append(weight * (end if weight > 0 else start))
    return fsum(low), fsum(high)


class _Affine(Protocol):
    @property
    def intercept(self) -> float: ...
    @property
    def weights(self) -> Mapping[NodeId, float]: ...


class AffineRule:
    """A rule whose value is its ``intercept`` plus the sum of its ``weights`` x p; both are the subclass's."""

    __slots__ = ()

    numeric: ClassVar[bool] = True
    multilinear: ClassVar[bool] = True

    def evaluate(self: _Affine, p: Mapping[NodeId, float]) -> float:
        """Raw value; leaves [0, 1] where the weights allow it."""
        return affine_value(self.intercept, self.weights, p)

    def derivative(self: _Affine, p: Mapping[NodeId, float]) -> dict[NodeId, float]:
        """The weights, whatever the point (paper A, Proposition 1)."""
        return dict(self.weights)

    def reachable(
        self: _Affine, box: Mapping[NodeId, tuple[float, float]] | None = None
    ) -> tuple[float, float]:
        """Least and greatest raw value."""
        return affine_range(self.intercept, self.weights, box)
