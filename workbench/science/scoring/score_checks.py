"""The checks every score starts with."""

import numpy as np
from numpy.typing import ArrayLike

from workbench.science.arrays import FloatArray, as_outcomes, as_probabilities
from workbench.science.errors import DomainError


def checked(forecast: ArrayLike, outcome: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Forecasts and outcomes as float arrays of one shape (n,), or `DomainError`; what every score starts with."""
    p = as_probabilities(forecast)
    if p.ndim != 1:
        raise DomainError(f"forecasts must be one-dimensional, not of shape {p.shape}")
    return p, as_outcomes(outcome, size=len(p))


def checked_weights(weights: ArrayLike | None, size: int) -> FloatArray:
    """Weights of shape (n,) that sum to 1; equal ones when not given.

    Another length, a negative or missing weight, or a sum of 0 is a `DomainError`.

    >>> checked_weights([1, 3], 2).tolist()
    [0.25, 0.75]
    """
    if weights is None:
        return np.full(size, 1.0 / size)
    w = np.asarray(weights, dtype=np.float64)
    if w.shape != (size,) or not np.isfinite(w).all() or (w < 0).any() or w.sum() <= 0:
        raise DomainError(f"weights must be {size} numbers of at least 0 with a positive sum")
    return np.asarray(w / w.sum())
