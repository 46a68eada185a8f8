"""Intervals of a counted rate: Wilson's, and one over whole runs where cases of one run are alike."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from workbench.science.arrays import wilson
from workbench.science.comparing.mean_intervals import Bounds, share_interval
from workbench.science.errors import DomainError


class RateInterval(NamedTuple):
    """A rate with the ends of its interval, all in [0, 1]."""

    rate: float
    low: float
    high: float


def wilson_interval(count: int, n: int, *, level: float = 0.95) -> RateInterval:
    """Rate of ``count`` in ``n`` independent cases with Wilson's score interval.

    Raises
    ------
    DomainError
        No case, or a count outside 0..n.

    Notes
    -----
    BLF, App. B.3, counts 21 leaks in 1,375 kept results.

    Examples
    --------
    >>> [round(value, 4) for value in wilson_interval(21, 1375)]
    [0.0153, 0.01, 0.0232]
    """
    if not 0 <= count <= n or n < 1 or not 0 < level < 1:
        raise DomainError(f"a rate needs 0 <= count <= n and n of at least 1, not {count} of {n}")
    low, high = wilson(count / n, n, float(ndtri(0.5 + level / 2)))
    return RateInterval(count / n, float(low), float(high))


def rate_over_runs(counts: ArrayLike, totals: ArrayLike, *, level: float = 0.95) -> Bounds:
    """Interval of a rate over runs, whose cases share a claim, sources and a model; None for fewer than six runs.

    Parameters
    ----------
    counts, totals : array_like, shape (runs,)
        Cases that count, and all cases, of each run; runs without a case are left out.

    Raises
    ------
    DomainError
        Shapes that differ, or no case at all.

    Examples
    --------
    >>> [round(end, 2) for end in rate_over_runs([1, 0, 2, 0, 0, 1], [10] * 6)]
    [0.02, 0.17]
    """
    c, t = np.asarray(counts, dtype=np.float64), np.asarray(totals, dtype=np.float64)
    if c.shape != t.shape or c.ndim != 1 or not t.sum() > 0:
        raise DomainError("counts and totals are one number each per run, with at least one case")
    some = t > 0
    return share_interval(
        c[some] / t[some],
        np.arange(int(some.sum())),
        weights=t[some],
        events=int(t.sum()),
        level=level,
    )
