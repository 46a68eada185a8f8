"""Shrinkage: the trials' logit mean is pulled toward a prior, more where the trials disagree.

The formulas alone; how much to shrink is fitted in `workbench.science.pooling.tuning`.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from workbench.science.arrays import FloatArray, IntArray, as_trials, logit, sigmoid
from workbench.science.errors import DomainError


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialLogits:
    """An event's trials as shrinkage needs them: their mean logit, its spread, and their number."""

    mean: FloatArray
    spread: FloatArray
    count: IntArray


def trial_logits(trials: ArrayLike, *, ddof: int = 1) -> TrialLogits:
    """Mean and standard deviation of each event's trial logits.

    Source: BLF, App. C.9, eq. 11.

    Parameters
    ----------
    trials : array_like, shape (n, K)
        Probabilities; ``nan`` where a trial does not exist.
    ddof : {0, 1}
        1 is the sample deviation (BLF's text), 0 the population one (the authors' code).

    Returns
    -------
    TrialLogits
        Arrays of shape (n,). The spread is 0 for a single trial, so that it is returned as it is; mean and spread
        are ``nan`` for an event without trials.

    Raises
    ------
    DomainError
        ``ddof`` is neither 0 nor 1, or the trials are no matrix of probabilities.

    Examples
    --------
    >>> trial_logits([[0.5, 0.5], [0.2, 0.8]], ddof=0).spread.round(4).tolist()
    [0.0, 1.3863]
    """
    if ddof not in (0, 1):
        raise DomainError(f"ddof must be 0 or 1, not {ddof}")
    y = logit(as_trials(trials))
    exists = np.isfinite(y)
    count = exists.sum(axis=1)
    some = count > 0
    mean = np.divide(np.where(exists, y, 0.0).sum(axis=1), count, out=np.full(len(y), np.nan), where=some)
    squares = np.where(exists, (y - np.where(some, mean, 0.0)[:, None]) ** 2, 0.0).sum(axis=1)
    spread = np.sqrt(np.divide(squares, count - ddof, out=np.zeros(len(y)), where=count > ddof))
    return TrialLogits(mean=mean, spread=np.where(some, spread, np.nan), count=count.astype(np.int64))


def floor_weight(spread: ArrayLike, floor: float, slope: float) -> FloatArray:
    """Weight of the trials' mean, ``max(floor, 1 - slope * spread)``, in [floor, 1].

    ``spread`` is the standard deviation of an event's trial logits. A floor of 1 turns shrinkage off; the slope says
    how fast disagreement costs weight.

    Source: BLF, App. C.9, eq. 11. The floor binds when slope * spread >= 1 - floor (the sentence in the paper has it
    the other way round).

    Examples
    --------
    >>> floor_weight([0.0, 1.0, 9.0], 0.3, 0.5).tolist()
    [1.0, 0.5, 0.3]
    """
    if not 0.0 <= floor <= 1.0 or slope < 0.0:
        raise DomainError(f"floor must be in [0, 1] and slope at least 0, not {floor:g} and {slope:g}")
    return np.maximum(floor, 1.0 - slope * np.asarray(spread, dtype=np.float64))


def bayes_weight(count: ArrayLike, variance: ArrayLike, tau2: ArrayLike) -> FloatArray:
    """Weight of the trials' mean under a normal prior, ``K tau2 / (K tau2 + variance)``, in (0, 1].

    K is the number of trials, ``variance`` that of their logits, ``tau2`` that of the true logit about the prior's.
    Source: BLF, App. C.9, eq. 9: the posterior mean of a normal mean, precision of the trials over the sum of precisions.
    """
    if not (np.asarray(tau2) > 0.0).all():
        raise DomainError(f"tau2 must be above 0, not {np.min(tau2):g}")
    prior = np.asarray(count, dtype=np.float64) * np.asarray(tau2, dtype=np.float64)
    return np.asarray(prior / (prior + np.asarray(variance, dtype=np.float64)))


def shrink(mean_logit: ArrayLike, weight: ArrayLike, prior: ArrayLike) -> FloatArray:
    """Forecast between the trials' logit mean and the prior: ``sigmoid(w * mean + (1 - w) * logit(prior))``.

    All shapes (n,) or scalars; the prior is clipped as `logit` does. Source: BLF, App. C.9, eq. 10.

    Examples
    --------
    >>> shrink([0.0], 0.5, [0.9]).round(4).tolist()
    [0.75]
    """
    w = np.asarray(weight, dtype=np.float64)
    return sigmoid(w * np.asarray(mean_logit, dtype=np.float64) + (1.0 - w) * logit(prior))
