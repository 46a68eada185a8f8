"""Pooling: several trials of one question become one forecast.

Everywhere here ``trials`` is a matrix of shape (n, K): a row per event, a column per trial, probabilities in [0, 1], and
``nan`` where a trial does not exist. What comes out has shape (n,) and is ``nan`` for an event without any trial, unless
the function says otherwise. A matrix of another shape, or a value outside [0, 1], is a ``DomainError``.
"""

from collections.abc import Callable
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from workbench.science.arrays import (
    FloatArray,
    as_trials,
    logit,
    sigmoid,
)
from workbench.science.errors import TooFewError, UnknownName


def _row_mean(matrix: FloatArray) -> FloatArray:
    count = np.isfinite(matrix).sum(axis=1)
    # Not `np.nanmean`, which warns about every event without a trial.
    total = np.nansum(matrix, axis=1)
    return np.asarray(np.divide(total, count, out=np.full(len(matrix), np.nan), where=count > 0))


def pool_mean(trials: ArrayLike) -> FloatArray:
    """Arithmetic mean of each event's trials, in [0, 1]; ``nan`` without any trial.

    By Jensen, its Brier score is at most the mean of the trials' scores. Source: BLF, App. C.8, eq. 3.

    Examples
    --------
    >>> pool_mean([[0.1, 0.3], [0.5, float("nan")]]).tolist()
    [0.2, 0.5]
    """
    return _row_mean(as_trials(trials))


def pool_logit_mean(trials: ArrayLike) -> FloatArray:
    """Sigmoid of the mean log odds of each event's trials, clipped as `logit` does; ``nan`` without any trial.

    The default pooling: it keeps more of the trials' extremity than the arithmetic mean. Source: BLF, App. C.8, eq.
    6.

    Examples
    --------
    >>> pool_logit_mean([[0.2, 0.8], [0.9, 0.9]]).round(6).tolist()
    [0.5, 0.9]
    """
    return sigmoid(_row_mean(logit(as_trials(trials))))


def pool_median(trials: ArrayLike) -> FloatArray:
    """Median of each event's trials; the mean of the middle two when their number is even.

    >>> pool_median([[0.1, 0.2, 0.9], [0.1, 0.3, float("nan")]]).tolist()
    [0.2, 0.2]
    """
    matrix = np.sort(as_trials(trials), axis=1)  # nan sorts last
    count = np.isfinite(matrix).sum(axis=1)
    rows = np.arange(len(matrix))
    # An event without trials has count 0: the indices only have to stay legal, its result is replaced by nan below.
    low = matrix[rows, np.maximum((count - 1) // 2, 0)]
    high = matrix[rows, np.maximum(count // 2, 0) % matrix.shape[1]]
    return np.where(count > 0, 0.5 * (low + high), np.nan)


def pool_first(trials: ArrayLike) -> FloatArray:
    """The first trial of each event: a run without pooling.

    Where trial 1 is missing, the first that exists.

    >>> pool_first([[0.4, 0.6], [float("nan"), 0.7]]).tolist()
    [0.4, 0.7]
    """
    matrix = as_trials(trials)
    return np.asarray(matrix[np.arange(len(matrix)), np.isfinite(matrix).argmax(axis=1)])


#: Pooling rules that need neither outcomes nor a prior, by the name the command line uses.
POOLINGS: dict[str, Callable[[ArrayLike], FloatArray]] = {
    "mean": pool_mean,
    "median": pool_median,
    "logit-mean": pool_logit_mean,
    "first": pool_first,
}
#: What `pool` takes, as a message or a help text says it.
POOLING_NAMES = (*POOLINGS, *(f"{name}:k" for name in POOLINGS))


def pool(trials: ArrayLike, how: str = "logit-mean") -> FloatArray:
    """Pool with a rule chosen by name.

    Parameters
    ----------
    trials : array_like, shape (n, K)
    how : str
        One of ``mean``, ``median``, ``logit-mean``, ``first``; or ``RULE:k``, see `average_of_subsets`.

    Raises
    ------
    UnknownName
        No such rule, or ``k`` is not a positive whole number.
    DomainError
        Not a matrix, or a value outside [0, 1].

    Examples
    --------
    >>> pool([[0.1, 0.3]], "mean").tolist()
    [0.2]
    """
    rule, _, size = how.partition(":")
    if not is_pooling(how):
        raise UnknownName("pooling", how, POOLING_NAMES)
    return average_of_subsets(trials, int(size), rule) if size else POOLINGS[rule](trials)


def is_pooling(how: str) -> bool:
    """Whether `pool` knows a rule of this name.

    >>> [is_pooling(name) for name in ("mean", "mean:3", "mean:0", "mode")]
    [True, True, False, False]
    """
    rule, colon, size = how.partition(":")
    return rule in POOLINGS and (not colon or (size.isascii() and size.isdigit() and int(size) > 0))


def average_of_subsets(trials: ArrayLike, size: int, how: str = "logit-mean") -> FloatArray:
    """The mean of the pooled forecasts of all of an event's subsets of ``size`` trials.

    The columns ``mean:k``, ``logit-mean:k`` of BLF's published forecasts. Under ``mean`` every size gives the mean of
    all trials but for the last bits, so this is no forecast from k trials: for that average the scores over
    `subset_pools`. Source: BLF, App. D.4.

    An event with fewer trials than ``size`` is pooled over all it has.

    >>> average_of_subsets([[0.2, 0.8, 0.8]], 1, "median").round(6).tolist()
    [0.6]
    """
    if size < 1:
        raise TooFewError(f"a subset needs at least one trial, not {size}")
    matrix = as_trials(trials)
    pooled = np.full(len(matrix), np.nan)
    exists = np.isfinite(matrix)
    counts = exists.sum(axis=1)
    # Events with equally many trials form a rectangle without gaps, so a loop over the few counts replaces one over events.
    for count in np.unique(counts[counts > 0]).tolist():
        rows = counts == count
        present = matrix[rows][exists[rows]].reshape(-1, count)
        pooled[rows] = subset_pools(present, min(size, count), how).mean(axis=1)
    return pooled


def subset_pools(trials: ArrayLike, size: int, how: str = "logit-mean") -> FloatArray:
    """Pooled forecasts of every subset of ``size`` trials, for events that have all K.

    Source: BLF, App. D.4 (Figure 9); averaging scores, not forecasts, is our correction.

    Parameters
    ----------
    trials : array_like, shape (n, K)
        Probabilities; events with a missing trial give a row of ``nan``.
    size : int
        Trials per subset, 1..K.
    how : str
        Pooling rule, see `pool`.

    Returns
    -------
    ndarray, shape (n, C(K, size))
        Average the *scores* over columns for the number-of-trials curve. Averaging the forecasts, as the authors'
        code does, makes every size look like all K trials.

    Raises
    ------
    TooFewError
        ``size`` is not in 1..K.

    Examples
    --------
    >>> subset_pools([[0.1, 0.2, 0.6]], 2, "mean").round(2).tolist()
    [[0.15, 0.35, 0.4]]
    """
    matrix = as_trials(trials)
    total = matrix.shape[1]
    if not 1 <= size <= total:
        raise TooFewError(f"subsets of {size} trials were asked for, there are {total} trials per event")
    complete = np.isfinite(matrix).all(axis=1)
    columns = [pool(matrix[:, list(chosen)], how) for chosen in combinations(range(total), size)]
    pooled = np.column_stack(columns)
    pooled[~complete] = np.nan
    return pooled
