"""Scores of a predictive distribution of one number: weighted draws or quantiles against the value that came.

In every function ``outcome`` is what came, in the units of the draws. Empty input, unequal shapes, a weight below 0 or a value that is
not finite raise `DomainError`. The CRPS is in the units of the series and generalises the absolute error of a point forecast (Gneiting and
Raftery 2007, section 4.2); lower is better.
"""

import numpy as np
from numpy.typing import ArrayLike

from workbench.science.arrays import FloatArray
from workbench.science.errors import DomainError


def _draws(values: ArrayLike, weights: ArrayLike | None) -> tuple[FloatArray, FloatArray]:
    x = np.asarray(values, dtype=np.float64)
    w = np.ones_like(x) if weights is None else np.asarray(weights, dtype=np.float64)
    if x.ndim != 1 or not x.size or x.shape != w.shape:
        raise DomainError("draws and their weights must have one non-zero length")
    if not np.isfinite(x).all() or not np.isfinite(w).all() or (w < 0).any() or w.sum() <= 0:
        raise DomainError("draws must be finite, their weights at least 0 and not all 0")
    order = np.argsort(x, kind="stable")
    return x[order], w[order] / w.sum()


def _finite_outcome(outcome: float) -> float:
    if not np.isfinite(outcome):
        raise DomainError(f"an outcome must be a finite number, not {outcome}")
    return float(outcome)


def _quantiles(levels: ArrayLike, quantiles: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Levels, rising, and their quantiles."""
    shares, q = np.asarray(levels, dtype=np.float64), np.asarray(quantiles, dtype=np.float64)
    if shares.ndim != 1 or not shares.size or shares.shape != q.shape:
        raise DomainError("levels and quantiles must have one non-zero length")
    if not ((shares > 0) & (shares < 1)).all() or not np.isfinite(q).all():
        raise DomainError("levels must lie between 0 and 1, quantiles must be finite")
    order = np.argsort(shares, kind="stable")
    if not (np.diff(shares[order]) > 0).all():
        raise DomainError("levels must differ")
    return shares[order], q[order]


def crps_of_draws(values: ArrayLike, outcome: float, weights: ArrayLike | None = None) -> float:
    """CRPS of weighted draws: ``E|X - y| - E|X - X'| / 2``.

    Parameters
    ----------
    values : array_like, shape (n,)
    outcome : float
    weights : array_like, shape (n,), optional
        At least 0; equal when not given.

    Examples
    --------
    >>> crps_of_draws([1.0, 3.0], 2.0)
    0.5
    """
    x, w = _draws(values, weights)
    below = np.cumsum(w) - w
    # Of sorted draws the mean distance of two is a sum over ranks, so n draws cost n log n.
    spread = 2.0 * float((w * x * (2.0 * below + w - 1.0)).sum())
    return max(0.0, float((w * np.abs(x - _finite_outcome(outcome))).sum()) - 0.5 * spread)


def crps_of_quantiles(levels: ArrayLike, quantiles: ArrayLike, outcome: float) -> float:
    """CRPS of a distribution that is known by some quantiles: twice the pinball loss, weighed by the spacing of the levels.

    Half of the gaps to both neighbours is a level's weight, the whole of its one gap that of the first and the last: levels that are
    evenly spread weigh the same. Few levels near the middle say nothing of the tails.

    >>> crps_of_quantiles([0.5], [1.0], 3.0), round(crps_of_quantiles([0.1, 0.3, 0.9], [0.0] * 3, 1.0), 4)
    (2.0, 1.1333)
    """
    shares, q = _quantiles(levels, quantiles)
    gaps = np.diff(shares)
    weights = np.concatenate([gaps[:1], (gaps[1:] + gaps[:-1]) / 2, gaps[-1:]]) if len(gaps) else np.ones(1)
    gap = _finite_outcome(outcome) - q
    return float(2.0 / weights.sum() * (weights * np.where(gap >= 0, shares, shares - 1.0) * gap).sum())


def pit_of_draws(values: ArrayLike, outcome: float, weights: ArrayLike | None = None) -> float:
    """Place the outcome in the distribution, in [0, 1]: the share of weight below it, and half of the weight at it.

    Over many forecasts of a calibrated forecaster these are uniform (Dawid 1984): more near 0 and 1 than that are bands too narrow.

    >>> pit_of_draws([1.0, 2.0, 3.0, 4.0], 2.5)
    0.5
    """
    x, w = _draws(values, weights)
    y = _finite_outcome(outcome)
    return min(1.0, float(w[x < y].sum() + 0.5 * w[x == y].sum()))


def pit_of_quantiles(levels: ArrayLike, quantiles: ArrayLike, outcome: float) -> float:
    """Place the outcome in a distribution that is known by some quantiles, in [0, 1].

    Linear between two of them; outside all of them the middle of what is left, since quantiles say nothing of the tails.

    >>> pit_of_quantiles([0.25, 0.5, 0.75], [1.0, 2.0, 3.0], 2.5), pit_of_quantiles([0.25, 0.5, 0.75], [1.0, 2.0, 3.0], 9.0)
    (0.625, 0.875)
    """
    shares, q = _quantiles(levels, quantiles)
    y = _finite_outcome(outcome)
    if (np.diff(q) < 0).any():
        raise DomainError("quantiles must not fall")
    if y < q[0] or y > q[-1]:
        return float(shares[0] / 2 if y < q[0] else (1 + shares[-1]) / 2)
    # Several quantiles at the outcome (an end of a range, a value that repeats): the middle of their shares.
    low, high = np.searchsorted(q, y, side="left"), np.searchsorted(q, y, side="right")
    if high > low:
        return float((shares[low] + shares[high - 1]) / 2)
    return float(np.interp(y, q, shares))


def interval_coverage(pit: ArrayLike, share: float) -> float:
    """Share of outcomes inside the central interval that should hold ``share`` of them.

    >>> interval_coverage([0.02, 0.3, 0.5, 0.99], 0.9)
    0.5
    """
    values = np.asarray(pit, dtype=np.float64)
    if not values.size or not 0 < share < 1:
        raise DomainError("a coverage needs an outcome, and a share between 0 and 1")
    return float((np.abs(values - 0.5) <= share / 2 + 1e-12).mean())
