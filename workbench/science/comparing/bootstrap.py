"""Bootstrap intervals and paired tests; what is resampled is the question, not the forecast."""

from dataclasses import dataclass
from math import ceil
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from workbench.science.arrays import LEVEL, FloatArray, IntArray, codes_of
from workbench.science.errors import DomainError

_BLOCK = 100_000  # drawn units held at once: few enough to stay in cache
_LEAST = 4  # resamples at once however many units: the scores are read from memory once for all of them


class Interval(NamedTuple):
    """An interval about an estimate, and the bootstrap's standard error."""

    estimate: float
    low: float
    high: float
    error: float


Draws = Literal["index", "multinomial"]


def resample_counts(
    units: int, resamples: int, rng: np.random.Generator, draws: Draws = "index"
) -> FloatArray:
    """Count how often each unit was drawn in each resample: multinomial counts.

    ``index`` and ``multinomial`` have one distribution: units drawn and counted (about ten times faster), or numpy's
    multinomial, whose stream the reference values of the tests were made with. Rows sum to ``units``.
    """
    if draws == "multinomial":
        return rng.multinomial(units, np.full(units, 1.0 / units), size=resamples).astype(np.float64)
    small = np.uint16 if units < 2**16 else np.int32 if units < 2**31 else np.int64
    drawn = rng.integers(0, units, size=(resamples, units), dtype=small)
    flat = drawn.astype(np.int64)
    # Each resample gets its own range of codes, so that one bincount counts the draws of all.
    flat += (np.arange(resamples, dtype=np.int64) * units)[:, None]
    counts = np.bincount(flat.ravel(), minlength=resamples * units)
    return counts.reshape(resamples, units).astype(np.float64)


def resampled_means(
    values: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    resamples: int = 5000,
    seed: int | np.random.Generator = 0,
    draws: Draws = "index",
) -> FloatArray:
    """Means of every column under resampling of rows, or of whole clusters of rows.

    Parameters
    ----------
    values : array_like, shape (n,) or (n, m)
        Scores; one column per method, so that all are compared on the same resamples.
    clusters : array_like, shape (n,), optional
        Rows with one label are drawn together (the dates of one question).
    resamples : int
        At least 1.
    seed : int or Generator
        The same seed gives the same resamples for any number of columns.
    draws : {"index", "multinomial"}
        See `resample_counts`.

    Returns
    -------
    ndarray, shape (resamples, m)
        A cluster resample's mean is over its rows, so clusters weigh by their size.

    Raises
    ------
    DomainError
        Empty input, a value that is not finite, or labels of another length.

    Examples
    --------
    >>> resampled_means([1.0, 1.0], resamples=3).tolist()
    [[1.0], [1.0], [1.0]]
    """
    y = np.asarray(values, dtype=np.float64)
    y = y[:, None] if y.ndim == 1 else y
    if y.ndim != 2 or y.size == 0 or not np.isfinite(y).all():
        raise DomainError("the bootstrap needs a non-empty table of finite scores")
    if resamples < 1:
        raise DomainError(f"at least 1 resample is needed, not {resamples}")
    if clusters is None:
        sums, sizes = y, None
    else:
        codes, names = codes_of(clusters)
        if len(codes) != len(y):
            raise DomainError(f"there are {len(codes)} cluster labels for {len(y)} rows")
        sizes = np.bincount(codes, minlength=len(names)).astype(np.float64)
        sums = np.column_stack([np.bincount(codes, weights=column, minlength=len(names)) for column in y.T])
    units = len(sums)
    rng = np.random.default_rng(seed)
    means = np.empty((resamples, y.shape[1]))
    block = max(_LEAST, _BLOCK // units)
    for start in range(0, resamples, block):
        stop = min(start + block, resamples)
        counts = resample_counts(units, stop - start, rng, draws)
        drawn = np.full(stop - start, float(units)) if sizes is None else counts @ sizes
        means[start:stop] = (counts @ sums) / drawn[:, None]
    return means


def _checked(resampled: ArrayLike, level: float) -> tuple[FloatArray, float]:
    """Resampled estimates and their standard deviation."""
    values = np.asarray(resampled, dtype=np.float64)
    if not 0.0 < level < 1.0 or not len(values):
        raise DomainError("an interval needs resamples and a level between 0 and 1")
    return values, float(values.std(ddof=1)) if len(values) > 1 else float("nan")


def symmetric_interval(estimate: float, resampled: ArrayLike, *, level: float = LEVEL) -> Interval:
    """Interval about the estimate that holds the wanted share (``level``) of resampled estimates.

    The half-width is the ceil(level B)-th smallest distance. Source: Prophet Arena, App. C.7, algorithm 1.
    """
    values, error = _checked(resampled, level)
    distance = np.sort(np.abs(values - estimate))
    # The 1e-9 undoes rounding: 0.55 * 100 is a hair above 55 and must not pick the 56th distance.
    half = float(distance[min(ceil(level * len(values) - 1e-9), len(values)) - 1])
    return Interval(estimate, estimate - half, estimate + half, error)


def percentile_interval(estimate: float, resampled: ArrayLike) -> Interval:
    """Interval between the outer percentiles of the resampled estimates; the kind printed by BLF (App. G.2).

    Examples
    --------
    >>> interval = percentile_interval(0.0, [-1.0, 0.0, 1.0])
    >>> (round(interval.low, 9), round(interval.high, 9))
    (-0.95, 0.95)
    """
    values, error = _checked(resampled, LEVEL)
    low, high = np.quantile(values, [0.5 - LEVEL / 2, 0.5 + LEVEL / 2]).tolist()
    return Interval(estimate, low, high, error)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedResult:
    """One method against another by the bootstrap: the difference of their scores, its interval and its p values."""

    n: int
    units: int
    a: float
    b: float
    difference: float
    low: float
    high: float
    a_low: float
    a_high: float
    error: float
    p_one_sided: float
    p_two_sided: float

    @property
    def stars(self) -> str:
        """``***``, ``**``, ``*`` for two-sided p below 0.001, 0.01, 0.05, else ``ns``."""
        p = self.p_two_sided
        return "***" if p < 0.001 else "**" if p < 0.01 else "*" if p < 0.05 else "ns"


def index_means(means: FloatArray) -> FloatArray:
    """Brier Index of mean Brier scores, element by element; higher is better.

    >>> index_means(np.array([0.25])).tolist()
    [50.0]
    """
    return np.asarray(100.0 * (1.0 - np.sqrt(np.maximum(means, 0.0))))


def opposite_share(difference: float, resampled: FloatArray) -> float:
    """Share of resamples on the other side of zero than the estimate, ties counted: the one-sided p value.

    Source: BLF, App. G.2. Its printed stars fit twice this value. The estimate counts as one more resample, (k + 1) / (B + 1):
    what was drawn B times cannot show a p below 1 / (B + 1).

    Examples
    --------
    >>> opposite_share(1.0, np.array([1.0, -0.5, 0.0, 2.0]))
    0.6
    """
    opposite = resampled <= 0.0 if difference > 0 else resampled >= 0.0
    return float((opposite.sum() + 1) / (len(resampled) + 1))


def parts_in_order(kind: ArrayLike) -> list[str]:
    """Question types that are there, market first.

    >>> parts_in_order(["dataset", "market", "dataset"])
    ['market', 'dataset']
    """
    return sorted(set(np.asarray(kind).astype(str).tolist()), key=lambda name: (name != "market", name))


@dataclass(frozen=True, slots=True, kw_only=True)
class StratifiedIndex:
    """Brier Index per question type and overall, on the data and on every resample, for many methods at once."""

    names: tuple[str, ...]
    estimates: dict[str, FloatArray]
    """Part -> Brier Index per method, shape (m,)."""
    resampled: dict[str, FloatArray]
    """Part -> Brier Index per resample and method, shape (B, m)."""
    n: dict[str, int]
    units: dict[str, int]
    """What was drawn in each part: questions, or events."""

    def pair(self, a: str, b: str, part: str) -> PairedResult:
        """Method ``a`` against ``b`` on one part (``market``, ``dataset``, ``overall``); above 0, a is better."""
        i, j = self.names.index(a), self.names.index(b)
        of_a, of_b = self.estimates[part][[i, j]].tolist()
        drawn = self.resampled[part][:, i]
        own = percentile_interval(of_a, drawn)
        gaps = drawn - self.resampled[part][:, j]
        gap = percentile_interval(of_a - of_b, gaps)
        # No p is below that of as many equal signs as units were drawn.
        p = max(opposite_share(gap.estimate, gaps), 2.0 ** -self.units[part])
        return PairedResult(
            n=self.n[part],
            units=self.units[part],
            a=of_a,
            b=of_b,
            difference=gap.estimate,
            low=gap.low,
            high=gap.high,
            a_low=own.low,
            a_high=own.high,
            error=gap.error,
            p_one_sided=p,
            p_two_sided=min(1.0, 2.0 * p),
        )


def stratified_index(
    scores: ArrayLike,
    names: tuple[str, ...],
    strata: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    resamples: int = 5000,
    seed: int = 0,
    draws: Draws = "index",
) -> StratifiedIndex:
    """Brier Index by stratum and their plain mean, with paired resamples inside each stratum.

    Source: BLF, App. G.2; the index is recomputed on every resample (the root after the mean).

    Parameters
    ----------
    scores : array_like, shape (n, m)
        Brier scores of m methods on the same n events.
    names : tuple of str, length m
    strata : array_like, shape (n,)
        Question type of each event; ``overall`` is the unweighted mean over strata, whatever their sizes.
    clusters : array_like, shape (n,), optional
        Draw whole questions; single events when not given.
    resamples, seed, draws
        As for `resampled_means`; one stream serves all strata, market first.

    Raises
    ------
    DomainError
        As `resampled_means`, or shapes that do not match.

    Examples
    --------
    >>> table = stratified_index([[0.0, 0.25]] * 4, ("a", "b"), ["market", "market", "dataset", "dataset"], resamples=9)
    >>> table.pair("a", "b", "overall").difference
    50.0
    """
    y = np.asarray(scores, dtype=np.float64)
    labels = np.asarray(strata).astype(str)
    if y.ndim != 2 or y.shape != (len(labels), len(names)):
        raise DomainError(
            f"scores of shape {y.shape} do not fit {len(labels)} events and {len(names)} methods"
        )
    groups = None if clusters is None else np.asarray(clusters).astype(str)
    estimates: dict[str, FloatArray] = {}
    drawn: dict[str, FloatArray] = {}
    count: dict[str, int] = {}
    units: dict[str, int] = {}
    stream = np.random.default_rng(seed)
    # All parts draw from one stream, so their order decides which numbers come out.
    for part in parts_in_order(labels):
        rows: IntArray = np.flatnonzero(labels == part)
        estimates[part] = index_means(y[rows].mean(axis=0))
        means = resampled_means(
            y[rows],
            clusters=None if groups is None else groups[rows],
            resamples=resamples,
            seed=stream,
            draws=draws,
        )
        drawn[part] = index_means(means)
        count[part] = len(rows)
        units[part] = len(rows) if groups is None else len(set(groups[rows].tolist()))
    parts = list(estimates)
    estimates["overall"] = np.mean([estimates[part] for part in parts], axis=0)
    drawn["overall"] = np.mean([drawn[part] for part in parts], axis=0)
    count["overall"] = len(labels)
    units["overall"] = sum(units.values())
    return StratifiedIndex(names=names, estimates=estimates, resampled=drawn, n=count, units=units)
