"""What every rule of the form ``intercept + sum of weight x p`` shares."""

from __future__ import annotations

from collections.abc import Mapping
from math import fsum

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
