"""How sure a counted rate is: Wilson's interval, and a bootstrap that draws whole runs where cases of one run are alike."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

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
    z = float(ndtri(0.5 + level / 2))
    rate = count / n
    centre = (rate + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * float(np.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n)))
    return RateInterval(rate, max(0.0, centre - half), min(1.0, centre + half))


def bootstrap_rate(
    counts: ArrayLike, totals: ArrayLike, *, level: float = 0.95, draws: int = 5000, seed: int = 0
) -> RateInterval:
    """Rate over runs with a percentile interval from drawing whole runs: cases of one run share its claim, sources and model.

    Parameters
    ----------
    counts, totals : array_like, shape (runs,)
        Cases that count, and all cases, of each run; runs without a case are left out.
    draws : int
        Bootstrap samples.

    Raises
    ------
    DomainError
        Shapes that differ, or no case at all.

    Examples
    --------
    >>> [round(value, 2) for value in bootstrap_rate([1, 0, 2, 0], [10, 10, 10, 10])]
    [0.07, 0.0, 0.15]
    """
    c, t = np.asarray(counts, dtype=np.float64), np.asarray(totals, dtype=np.float64)
    if c.shape != t.shape or c.ndim != 1 or not t.sum() > 0:
        raise DomainError("counts and totals are one number each per run, with at least one case")
    c, t = c[t > 0], t[t > 0]
    rows = np.random.default_rng(seed).integers(0, len(c), size=(draws, len(c)))
    rates = c[rows].sum(axis=1) / t[rows].sum(axis=1)
    low, high = np.quantile(rates, [(1 - level) / 2, (1 + level) / 2])
    return RateInterval(float(c.sum() / t.sum()), float(low), float(high))
