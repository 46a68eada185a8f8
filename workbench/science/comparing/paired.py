"""The paired test of two methods: sign flips of whole clusters, from which interval, p value and verdict all come.

If neither method is better, the difference of any cluster could as well have had the other sign. The p value is the share of sign
patterns whose mean lies as far from zero as the one seen, and the interval holds every true difference that the same test does not
reject. A pattern splits the clusters in two; it speaks against a value unless that lies between the means of the two halves
(Hartigan 1969, "typical values"), so both are read off the means of subsets and nothing is searched for. Below `EXACT` clusters all
patterns are gone through and the test is exact for differences that are symmetric about their mean, whatever their spread.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from workbench.formatting import counted
from workbench.science.arrays import LEVEL, FloatArray, ways
from workbench.science.comparing.clusters import MIN_CLUSTERS, cluster_count, widest_way
from workbench.science.errors import DomainError

#: From this many clusters on, sign patterns are drawn instead of enumerated.
EXACT = 20
RESAMPLES = 9999
SEED = 20261123
Verdict = Literal["better", "worse", "no difference shown", "too few to tell"] | None
NOT_SHOWN: Verdict = "no difference shown"
TOO_FEW: Verdict = "too few to tell"


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedVerdict:
    """The result of the paired test of one difference."""

    #: n, clusters: Events, and groups of them whose luck is their own.
    n: int
    clusters: int
    #: Weighted mean of the differences; above 0 speaks for the method.
    estimate: float
    #: low, high: Interval of the level asked for; infinite where there are too few clusters for one.
    low: float
    high: float
    #: Two-sided, never 0: at least ``2 ** (1 - clusters)``.
    p: float
    #: After Holm's correction over the methods compared, where several are.
    p_holm: float | None = None
    #: Days on which the events were asked, where known.
    days: int | None = None
    #: None where the days asked on are unknown or fewer than `MIN_CLUSTERS` (`on_days`).
    verdict: Verdict = NOT_SHOWN
    #: Why a verdict is withheld, "" otherwise.
    reason: str = ""

    @property
    def interval(self) -> list[float] | None:
        """``[low, high]``, or None where there are too few clusters."""
        return None if self.clusters < MIN_CLUSTERS else [self.low, self.high]

    def to_json(self) -> dict[str, Any]:
        """Return it as it stands in documents, the estimate as ``difference`` with its ``interval``."""
        names = ("n", "clusters", "days", "p", "p_holm", "verdict", "reason")
        own = {name: getattr(self, name) for name in names}
        return {**own, "difference": self.estimate, "interval": self.interval}

    def judged(self, *, alpha: float = 0.05, comparisons: int = 1) -> "PairedVerdict":
        """Add the verdict that its p value allows, after Holm's correction where there is one; none stays none."""
        if self.verdict is None:
            return self
        if self.clusters < MIN_CLUSTERS:
            reason = f"{counted(self.clusters, 'cluster')} of {MIN_CLUSTERS} that a verdict needs"
            return replace(self, verdict=TOO_FEW, reason=reason)
        if 2.0 ** (1 - self.clusters) * comparisons > alpha:
            reason = f"{self.clusters} clusters can show no difference among {comparisons} comparisons"
            return replace(self, verdict=TOO_FEW, reason=reason)
        verdict: Verdict = NOT_SHOWN
        if (self.p if self.p_holm is None else self.p_holm) <= alpha:
            verdict = "better" if self.estimate > 0 else "worse"
        return replace(self, verdict=verdict, reason="")

    def on_days(self, days: int | None) -> "PairedVerdict":
        """Add the days on which its events were asked: no verdict below `MIN_CLUSTERS` of them, or where they are unknown."""
        if days is not None and days >= MIN_CLUSTERS:
            return replace(self, days=days)
        reason = (
            "the day asked on is unknown (forecast_due_date or forecast_date)"
            if days is None
            else f"asked on {counted(days, 'day')} of {MIN_CLUSTERS} that a verdict needs"
        )
        return replace(self, days=days, verdict=None, reason=reason)


def paired_test(
    differences: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> PairedVerdict:
    """Test whether a mean paired difference is other than zero.

    Parameters
    ----------
    differences : array_like, shape (n,)
        Score of one method above the other's, per event.
    clusters : array_like, shape (n,) or (n, 2), optional
        Events with one label are flipped together (`event_clusters`); each its own when not given. Of two ways of sharing luck the one
        that the differences vary more in is flipped, widened by what the other adds (`widest_way`).
    weights : array_like, shape (n,), optional
        Above 0; the estimate is the weighted mean. Alike when not given.
    level : float
        Of the interval, in (0, 1); the verdict is at 1 - level.
    resamples, seed : int
        Of the patterns drawn from `EXACT` clusters on: with B of them p is (k + 1) / (B + 1).

    Raises
    ------
    DomainError
        No difference, one that is not finite, a weight that is not above 0, or lengths that differ.

    Examples
    --------
    >>> test = paired_test([0.1, 0.2, 0.15, 0.1, 0.3, 0.2])
    >>> test.verdict, test.p, round(test.low, 3)
    ('better', 0.03125, 0.1)
    >>> paired_test([0.1, 0.2]).verdict, paired_test([0.1, 0.2]).p
    ('too few to tell', 0.5)
    """
    column = np.asarray(differences, dtype=np.float64)
    return paired_tests(
        column[:, None] if column.ndim == 1 else column,
        clusters,
        weights=weights,
        level=level,
        resamples=resamples,
        seed=seed,
    )[0]


def paired_tests(
    differences: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> list[PairedVerdict]:
    """`paired_test` of every column, shape (n, m), on the same sign patterns; p values are not yet corrected for m."""
    table = np.asarray(differences, dtype=np.float64)
    n = len(table)
    shares = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
    labels = np.arange(n) if clusters is None else np.asarray(clusters)
    if table.ndim != 2 or not n or not np.isfinite(table).all():
        raise DomainError("a paired test needs finite differences, at least one")
    if len(shares) != n or len(labels) != n or not (np.isfinite(shares) & (shares > 0)).all():
        raise DomainError(f"a paired test needs a weight above 0 and a cluster for each of {n} differences")
    if not 0 < level < 1 or resamples < 1:
        raise DomainError("a paired test needs a level between 0 and 1 and at least 1 resample")
    shares = shares / shares.sum()
    codes, count = ways(labels), cluster_count(labels)
    means = shares @ table
    chosen = [
        widest_way(labels, shares * (column - mean)) for column, mean in zip(table.T, means, strict=True)
    ]
    if count < MIN_CLUSTERS:  # p is no smaller than so few clusters allow
        few = int(np.argmin([int(way_codes.max()) for way_codes in codes[:2]]))
        chosen = [(few, 1.0)] * table.shape[1]
    tests: dict[int, PairedVerdict] = {}
    for way in dict.fromkeys(way for way, _ in chosen):
        columns = [place for place, (chosen_way, _) in enumerate(chosen) if chosen_way == way]
        # Widened about its mean: the estimate stays.
        wider = np.array([chosen[place][1] for place in columns])
        flipped = shares[:, None] * (means[columns] + wider * (table[:, columns] - means[columns]))
        parts = np.column_stack([shares, flipped])
        sums = np.column_stack([np.bincount(codes[way], weights=column) for column in parts.T]).astype(float)
        halves = np.asfortranarray(_subset_sums(sums, resamples, seed))  # read by column
        for place, interval_and_p in zip(columns, _typical_values(halves, sums, level), strict=True):
            low, high, p = interval_and_p if count >= MIN_CLUSTERS else (-np.inf, np.inf, interval_and_p[2])
            test = PairedVerdict(n=n, clusters=count, estimate=float(means[place]), low=low, high=high, p=p)
            tests[place] = test.judged(alpha=1 - level)
    return [tests[place] for place in range(table.shape[1])]


def _typical_values(halves: FloatArray, sums: FloatArray, level: float) -> list[tuple[float, float, float]]:
    # The empty subset, or a drawn one of all clusters, flips nothing: it lies about every value.
    split = (halves[:, 0] > 1e-12) & (halves[:, 0] < 1.0 - 1e-12)
    inside, outside = 1.0 / halves[split, 0], 1.0 / (1.0 - halves[split, 0])
    # With m patterns a value is rejected where at most (1 - level) m of them lie about it; 1e-9 undoes rounding.
    rank = int((1.0 - level) * len(halves) + 1e-9) - int((~split).sum())
    results = []
    for column, total in enumerate(sums.sum(axis=0).tolist()[1:], 1):
        drawn = halves[:, column]
        # Ties count against a difference, also where rounding parts them.
        tie = 1e-12 * max(float(np.abs(sums[:, column]).sum()), 1e-300)
        p = float((np.abs(total - 2.0 * drawn) >= abs(total) - tie).mean())
        low, high = -np.inf, np.inf
        if rank >= 0 and split.any():
            own_mean, other_mean = drawn[split] * inside, (total - drawn[split]) * outside
            low = float(np.partition(np.minimum(own_mean, other_mean), rank)[rank])
            high = -float(np.partition(-np.maximum(own_mean, other_mean), rank)[rank])
        results.append((low, high, p))
    return results


def _subset_sums(parts: FloatArray, resamples: int, seed: int) -> FloatArray:
    count, width = parts.shape
    sums = np.zeros((1, width))
    if count < EXACT:
        for row in parts[:-1]:  # the last cluster is in no subset: a complement splits the clusters alike
            sums = np.concatenate([sums, sums + row])
        return sums
    rng = np.random.default_rng(seed)
    drawn = [sums]
    block = max(1, (1 << 21) // count)
    for start in range(0, resamples, block):
        chosen = rng.integers(0, 2, (min(block, resamples - start), count), dtype=np.uint8)
        drawn.append(chosen.astype(np.float64) @ parts)
    return np.concatenate(drawn)


def holm(p: Mapping[str, float]) -> dict[str, float]:
    """P values after Holm's correction for their number: at least the uncorrected ones, at most 1."""
    # By hand: statsmodels' multipletests collects garbage first, a quarter of a second on a busy machine.
    raised, floor = {}, 0.0
    for rank, name in enumerate(sorted(p, key=lambda name: p[name])):
        floor = max(floor, min(1.0, (len(p) - rank) * p[name]))
        raised[name] = floor
    return {name: raised[name] for name in p}


def holm_matrix(p: ArrayLike) -> FloatArray:
    """Correct a symmetric table of p values: one family of all pairs, the diagonal and missing values left out.

    >>> holm_matrix([[1.0, 0.02], [0.02, 1.0]]).tolist()
    [[1.0, 0.02], [0.02, 1.0]]
    """
    table = np.array(p, dtype=np.float64)
    upper = [(i, j) for i, j in zip(*np.triu_indices(len(table), 1), strict=True) if np.isfinite(table[i, j])]
    raised = holm({f"{i} {j}": float(table[i, j]) for i, j in upper})
    for i, j in upper:
        table[i, j] = table[j, i] = raised[f"{i} {j}"]
    return table
