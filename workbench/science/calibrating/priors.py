"""Priors for a question: what similar questions did, known before the forecast was due."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from workbench.science.arrays import FloatArray, IntArray, as_outcomes, codes_of
from workbench.science.errors import DomainError

#: Table 7 of BLF at the precision of its code: computed over all questions with hindsight, so not for back-tests.
STATIC_PRIORS: dict[tuple[str, str], float] = {
    ("acled", "10x_spike"): 0.002,
    ("acled", "increase"): 0.225,
    ("wikipedia", "vaccine"): 0.0,
    ("wikipedia", "fide_elo"): 0.007,
    ("wikipedia", "fide_rank"): 0.680,
    ("wikipedia", "swimming"): 0.991,
    ("fred", "all"): 0.422,
    ("yfinance", "all"): 0.576,
    ("dbnomics", "all"): 0.555,
}


def static_prior(source: str, subtype: str = "all") -> float | None:
    """Base rate of BLF's Table 7 for a source and subtype, or None if the table has no row.

    Computed from all questions with hindsight: for live use only. Source: BLF, App. C.7 (Table 7).
    """
    return STATIC_PRIORS.get((source, subtype))


@dataclass(frozen=True, slots=True, kw_only=True)
class TemporalPrior:
    """Leak-free prior of each event and the number of questions behind it."""

    p: FloatArray
    pool: IntArray


def temporal_prior(
    group: ArrayLike,
    question: ArrayLike,
    due: ArrayLike,
    resolved: ArrayLike,
    outcome: ArrayLike,
    *,
    pseudo_yes: float = 0.0,
    pseudo_no: float = 0.0,
) -> TemporalPrior:
    """Mean outcome of the other questions of the same group that had fully resolved before the forecast was due.

    Source: BLF, App. C.7 ("all data prior to the question being asked").

    A question counts once, with the mean over its dates, and only if its *last* date lies before the due day; ``p`` is
    ``nan`` where none qualifies. ``pseudo_yes`` and ``pseudo_no`` are imagined questions on either side: 1 and 1 is
    Laplace's rule, 0 and 0 the shipped column.
    """
    y = as_outcomes(outcome)
    groups, _ = codes_of(group)
    questions, names = codes_of(question)
    due_days = np.asarray(due, dtype="datetime64[D]").astype(np.int64)
    resolved_days = np.asarray(resolved, dtype="datetime64[D]").astype(np.int64)
    if not len(y) == len(groups) == len(questions) == len(due_days) == len(resolved_days):
        raise DomainError("group, question, due, resolved and outcome differ in length")
    count = len(names)
    mean = np.bincount(questions, weights=y, minlength=count) / np.bincount(questions, minlength=count)
    last = np.full(count, np.iinfo(np.int64).min)
    np.maximum.at(last, questions, resolved_days)
    group_of = np.zeros(count, dtype=np.int64)
    group_of[questions] = groups
    p, pool = np.full(len(y), np.nan), np.zeros(len(y), dtype=np.int64)
    for code in np.unique(groups):
        members = np.flatnonzero(group_of == code)
        members = members[np.argsort(last[members], kind="stable")]
        sums = np.concatenate([[0.0], np.cumsum(mean[members])])
        rows = np.flatnonzero(groups == code)
        # "left" leaves out what resolved on the due day itself: it may not have been known yet.
        resolved_before = np.searchsorted(last[members], due_days[rows], side="left")
        own_counts = (
            last[questions[rows]] < due_days[rows]
        )  # only in odd data does a question resolve before it is due
        size = resolved_before - own_counts
        total = sums[resolved_before] - np.where(own_counts, mean[questions[rows]], 0.0)
        pool[rows] = size
        weight = size + pseudo_yes + pseudo_no
        p[rows] = np.divide(total + pseudo_yes, weight, out=np.full(len(rows), np.nan), where=weight > 0)
    return TemporalPrior(p=p, pool=pool)


def empirical_prior(group: ArrayLike, outcome: ArrayLike, *, strength: float = 2.0) -> dict[str, float]:
    """Base rate per group, pulled toward the overall rate as if ``strength`` more events had been seen.

    ``strength`` is the weight of the overall rate, in events.
    """
    y = as_outcomes(outcome)
    codes, names = codes_of(group)
    if len(codes) != len(y):
        raise DomainError(f"there are {len(codes)} group labels for {len(y)} outcomes")
    if strength < 0:
        raise DomainError(f"strength must be at least 0, not {strength:g}")
    yes = np.bincount(codes, weights=y, minlength=len(names))
    count = np.bincount(codes, minlength=len(names))
    rates = (yes + strength * y.mean()) / (count + strength)
    return {name: float(rate) for name, rate in zip(names, rates, strict=True)}
