"""Intervals of means over events and of counted rates: every number that a command prints with an interval gets it here.

All flip the signs of whole clusters, as the paired test does (`workbench.science.comparing.paired`), so the interval of a score, of a
difference and of a return are of one kind. What is flipped is chosen so that it is hardly skewed: of a mean loss its root, which is why
the Brier score has the ends of its own index. Simulated coverage: ``python -m benchmarks.interval_coverage``.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from workbench.science.arrays import LEVEL, NORMAL, FloatArray, ways, wilson
from workbench.science.comparing.clusters import MIN_CLUSTERS, cluster_count, widest_way
from workbench.science.comparing.paired import paired_tests
from workbench.science.errors import DomainError
from workbench.science.scoring.utility import TaskValues

#: Low and high end; None where there are too few clusters.
Bounds = list[float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resampling:
    """The draws of the sign patterns behind an interval."""

    #: 0 for no intervals; with 2000 the half-width of a 95 % interval moves by about 3 % from seed to seed. All patterns are gone through
    #: where there are fewer than 20 clusters.
    resamples: int = 2000
    seed: int = 20261122

    def __post_init__(self) -> None:
        if self.resamples < 0:
            raise DomainError(f"resamples must be at least 0, not {self.resamples}")

    def note(self) -> dict[str, Any]:
        """Describe the intervals of a document; nothing where it has none."""
        if not self.resamples:
            return {}
        return {"interval": {**asdict(self), "level": LEVEL, "unit": "cluster", "kind": "sign flips"}}


PLAIN = Resampling()


def mean_intervals(
    columns: Sequence[FloatArray],
    clusters: ArrayLike,
    *,
    weights: FloatArray | None = None,
    resampling: Resampling = PLAIN,
) -> list[Bounds]:
    """Interval of the weighted mean of each column; None for all below `MIN_CLUSTERS` clusters.

    >>> mean_intervals([np.arange(6.0)], list("abcdef"))[0][0]
    0.0
    """
    if not columns:
        return []
    if not resampling.resamples:
        return [None] * len(columns)
    tests = paired_tests(
        np.column_stack(columns),
        clusters,
        weights=weights,
        resamples=resampling.resamples,
        seed=resampling.seed,
    )
    return [test.interval for test in tests]


def root_values(losses: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Values whose mean is the root of the mean loss: the root's first-order dependence on each event.

    A mean of squares is skewed and its root is not: of 20 events a nominal 95 % covers 93 % on this scale and 91.5 % on its own.

    >>> root_values(np.array([0.0, 0.5])).tolist()
    [0.25, 0.75]
    """
    mean = float(np.average(losses, weights=weights))
    if mean <= 0:  # all losses are 0
        return np.zeros(len(losses))
    root = float(np.sqrt(mean))
    return root + (losses - mean) / (2.0 * root)


def squared(bounds: Bounds, *, most: float = np.inf) -> Bounds:
    """The interval of a mean loss, which is no larger than ``most``, from that of its root."""
    return None if bounds is None else [min(max(0.0, end) ** 2, most) for end in bounds]


def loss_interval(
    losses: ArrayLike, clusters: ArrayLike, *, most: float = 1.0, resampling: Resampling = PLAIN
) -> Bounds:
    """Interval of the mean of losses, which lie between 0 and ``most``: Brier scores if not said.

    >>> [round(end, 9) for end in loss_interval([0.25] * 6, list("abcdef"))]
    [0.25, 0.25]
    """
    roots = root_values(np.asarray(losses, dtype=np.float64))
    return squared(mean_intervals([roots], clusters, resampling=resampling)[0], most=most)


def ratio_interval(
    parts: ArrayLike, wholes: ArrayLike, clusters: ArrayLike, *, resampling: Resampling = PLAIN
) -> Bounds:
    """Interval of the mean of parts over the mean of wholes, parts between 0 and their wholes, by its first-order dependence on each.

    Large wholes outweigh small ones, so the clusters are worth fewer, and the ratio is fitted: as many degrees of freedom as clusters
    of one size would leave (of 20 choices with payoffs 92 % cover with it and 89 % without). None where they are worth too few.

    >>> ratio_interval([1.0, 2.0] * 4, [2.0, 4.0] * 4, range(8))
    [0.5, 0.5]
    """
    x, whole = np.asarray(parts, dtype=np.float64), np.asarray(wholes, dtype=np.float64)
    ratio = float(x.sum() / whole.sum())
    effective, count = _worth(clusters, whole / whole.sum()), cluster_count(clusters)
    if effective < MIN_CLUSTERS:
        return None
    t = [float(stdtrit(freedom - 1.0, 0.5 + LEVEL / 2)) for freedom in (effective, count)]
    wider = np.sqrt(effective / (effective - 1.0)) * t[0] / t[1]
    influence = wider * (x - ratio * whole) / whole.mean()
    ends = mean_intervals([ratio + influence], clusters, resampling=resampling)[0]
    return None if ends is None else [min(max(end, 0.0), 1.0) for end in ends]


def share_interval(
    hits: ArrayLike,
    clusters: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    events: int | None = None,
) -> Bounds:
    """Interval of a share, such as accuracy, of hits in [0, 1]: Wilson's, for as many events as the clusters are worth.

    Sign flips see no spread where all events are right, or all but one. The spread between clusters says how many independent events
    would be as sure, at most ``events`` (Korn and Graubard 1998, with Wilson's interval); none is given where one cluster outweighs
    the others so far that they count as fewer than `MIN_CLUSTERS`. The spread of single events follows from the share; only what
    clusters add to it is estimated, so the quantile lies between the normal and the t by how much they add: t alone covers 98 %.

    >>> [round(end, 3) for end in share_interval([1] * 10, range(10))]
    [0.722, 1.0]
    """
    x = np.asarray(hits, dtype=np.float64)
    shares = np.ones(len(x)) if weights is None else np.asarray(weights, dtype=np.float64)
    shares = shares / shares.sum()
    effective, count = _worth(clusters, shares), cluster_count(clusters)
    if count < MIN_CLUSTERS or effective < MIN_CLUSTERS - 1e-9:
        return None
    mean = float((shares * x).sum())
    residual = shares * (x - mean)
    codes = ways(clusters)
    way, wider = widest_way(clusters, residual)
    total = float((np.bincount(codes[way], weights=residual) ** 2).sum())
    variance = wider**2 * total / (1.0 - 1.0 / effective)
    most = 1.0 / float((shares**2).sum()) if events is None else float(events)
    within = mean * (1.0 - mean)
    if events is None and count == len(x):
        size, added = most, 0.0  # every event is a cluster: nothing is estimated
    elif within <= 0:
        # All right or all wrong: nothing tells how far a cluster's events go together, so each counts once.
        size, added = effective, 1.0
    else:
        size = most if variance <= 0 else min(max(within / variance, 1.0), most)
        added = max(0.0, 1.0 - within / most / variance) if variance > 0 else 0.0
    z = (1.0 - added) * NORMAL + added * float(stdtrit(effective - 1.0, 0.5 + LEVEL / 2))
    low, high = wilson(mean, size, z)
    return [float(low), float(high)]


def _worth(clusters: ArrayLike, weights: FloatArray) -> float:
    return min(1.0 / float((np.bincount(codes, weights=weights) ** 2).sum()) for codes in ways(clusters))


def utility_intervals(
    values: TaskValues, clusters: ArrayLike, *, resampling: Resampling = PLAIN
) -> dict[str, Bounds]:
    """Intervals of the accuracy, hard and soft utility of choices, the utilities over all of them at once.

    Payoffs differ from task to task and are drawn with it. The hard score is a share of what was at stake, so it is as sure as an
    accuracy where all were right; the soft one is no share of cases.
    """
    span = values.most - values.worst
    hard = (values.hard - values.worst) / span
    return {
        "accuracy": share_interval(values.right, clusters),
        "hard": share_interval(hard, clusters, weights=span),
        "soft": ratio_interval(values.soft - values.worst, span, clusters, resampling=resampling),
    }


def class_share_interval(clusters: ArrayLike) -> Callable[[FloatArray, NDArray[np.bool_]], Bounds]:
    """`share_interval` of a class of forecasts over its own clusters, as `reliability` asks for it."""
    labels = np.asarray(clusters)
    return lambda outcomes, inside: share_interval(outcomes, labels[inside])


def rank_correlation_interval(
    a: ArrayLike, b: ArrayLike, clusters: ArrayLike, *, resampling: Resampling = PLAIN
) -> tuple[float, Bounds]:
    """Spearman's rank correlation of two columns that both vary, and its interval, flipped on Fisher's scale.

    There its variance is 1 / (n - 3) for n clusters, where flips of a mean see 1 / (n - 1): with eight of them 91 % would cover.

    >>> rho, ends = rank_correlation_interval(range(8), [0, 2, 1, 3, 5, 4, 6, 7], range(8))
    >>> round(rho, 3), [round(end, 2) for end in ends]
    (0.952, [0.75, 0.99])
    """
    ranks = [pd.Series(np.asarray(column, dtype=np.float64)).rank().to_numpy() for column in (a, b)]
    u, v = ((column - column.mean()) / column.std() for column in ranks)
    rho = float((u * v).mean())
    rounded = min(max(rho, -0.999999), 0.999999)
    count = cluster_count(clusters)
    wider = np.sqrt((count - 1.0) / (count - 3.0)) if count > 3 else 1.0
    influence = wider * (u * v - rho * (u**2 + v**2) / 2.0) / (1.0 - rounded**2)
    ends = mean_intervals([np.arctanh(rounded) + influence], clusters, resampling=resampling)[0]
    return rho, None if ends is None else [float(np.tanh(end)) for end in ends]


class RateInterval(NamedTuple):
    """A rate with the ends of its interval, all in [0, 1]."""

    rate: float
    low: float
    high: float


def wilson_interval(count: int, n: int) -> RateInterval:
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
    if not 0 <= count <= n or n < 1:
        raise DomainError(f"a rate needs 0 <= count <= n and n of at least 1, not {count} of {n}")
    low, high = wilson(count / n, n)
    return RateInterval(count / n, float(low), float(high))


def rate_over_runs(counts: ArrayLike, totals: ArrayLike) -> Bounds:
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
    rates, runs = c[some] / t[some], np.arange(int(some.sum()))
    return share_interval(rates, runs, weights=t[some], events=int(t.sum()))
