"""Scores of binary forecasts."""

import numpy as np
from numpy.typing import ArrayLike

from workbench.science.arrays import FloatArray, codes_of
from workbench.science.errors import DomainError
from workbench.science.scoring.checks import checked, checked_weights

_MACHINE = float(np.finfo(np.float64).eps)


def brier_scores(forecast: ArrayLike, outcome: ArrayLike) -> FloatArray:
    """Squared error of each forecast.

    Source: BLF, App. A.2.

    Parameters
    ----------
    forecast : array_like, shape (n,)
        Probability of Yes, in [0, 1].
    outcome : array_like, shape (n,)
        1 resolved Yes, 0 resolved No.

    Returns
    -------
    ndarray, shape (n,)
        In [0, 1]; lower is better.

    Examples
    --------
    >>> brier_scores([0.5, 1.0], [1, 1]).tolist()
    [0.25, 0.0]
    """
    p, o = checked(forecast, outcome)
    return np.asarray((p - o) ** 2)


def brier(forecast: ArrayLike, outcome: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Mean squared error of the forecasts.

    Source: BLF, App. A.2; Prophet Arena, App. C.1.

    Parameters
    ----------
    forecast : array_like, shape (n,)
        Probability of Yes, in [0, 1].
    outcome : array_like, shape (n,)
        1 resolved Yes, 0 resolved No.
    weights : array_like, shape (n,), optional
        At least 0; equal when not given.

    Returns
    -------
    float
        In [0, 1]; lower is better, always-0.5 gives 0.25.

    Examples
    --------
    >>> brier([0.5, 1.0], [1, 1])
    0.125
    """
    scores = brier_scores(forecast, outcome)
    if weights is None:
        return float(scores.mean())
    return min(
        float(scores @ checked_weights(weights, len(scores))), 1.0
    )  # rounding of the weights may pass 1


def event_weights(event: ArrayLike) -> FloatArray:
    """Weight 1/m for each of the m markets of an event, so that every event counts once.

    Source: Prophet Arena, App. C.1.

    Parameters
    ----------
    event : array_like, shape (n,)
        Label of the event each market belongs to.

    Returns
    -------
    ndarray, shape (n,)
        In (0, 1]; they sum to the number of events.

    Examples
    --------
    >>> event_weights(["a", "a", "b"]).tolist()
    [0.5, 0.5, 1.0]
    """
    codes, names = codes_of(event)
    return np.asarray(1.0 / np.bincount(codes, minlength=len(names))[codes])


def event_weighted_brier(forecast: ArrayLike, outcome: ArrayLike, event: ArrayLike) -> float:
    """Mean over events of the mean Brier score of the event's markets.

    Source: Prophet Arena, section 3.1 and App. C.1.

    Parameters
    ----------
    forecast : array_like, shape (n,)
        Probability of Yes, in [0, 1].
    outcome : array_like, shape (n,)
        1 resolved Yes, 0 resolved No.
    event : array_like, shape (n,)
        Label of the event of each market (or of the question of each resolution date).

    Returns
    -------
    float
        In [0, 1]; lower is better.

    Examples
    --------
    >>> event_weighted_brier([1.0, 0.0, 0.5], [1, 1, 1], ["a", "a", "b"])
    0.375
    """
    return brier(forecast, outcome, event_weights(event))


def brier_index(forecast: ArrayLike, outcome: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Brier Index of binary forecasts, in points: 100 perfect, 50 for always 0.5.

    The root is taken once, after the mean. Source: BLF, App. A.2.

    Parameters
    ----------
    forecast : array_like, shape (n,)
        Probability of Yes, in [0, 1].
    outcome : array_like, shape (n,)
        1 resolved Yes, 0 resolved No.
    weights : array_like, shape (n,), optional
        At least 0; equal when not given.

    Returns
    -------
    float
        In [0, 100]; higher is better.

    Examples
    --------
    >>> brier_index([0.5, 0.5], [1, 0])
    50.0
    """
    return index_of(brier(forecast, outcome, weights))


def index_of(score: float) -> float:
    """Brier Index of a mean Brier score; scores below 0 (adjusted ones can be) count as 0.

    Parameters
    ----------
    score : float
        Mean Brier score; lower is better.

    Returns
    -------
    float
        ``100 (1 - sqrt(max(0, score)))``; higher is better.

    Examples
    --------
    >>> index_of(0.25)
    50.0
    """
    return float(100.0 * (1.0 - np.sqrt(max(0.0, score))))


def metaculus_scores(forecast: ArrayLike, outcome: ArrayLike, *, clip: float = 1e-3) -> FloatArray:
    """Metaculus baseline score of each forecast, in points.

    Source: BLF, App. A.2.

    Parameters
    ----------
    forecast : array_like, shape (n,)
        Probability of Yes, in [0, 1].
    outcome : array_like, shape (n,)
        1 resolved Yes, 0 resolved No.
    clip : float
        The probability of what happened is clipped to [clip, 1 - clip]; 1e-3 is Metaculus' own limit.

    Returns
    -------
    ndarray, shape (n,)
        ``100 (1 + log2 p_outcome)``: at most 100, 0 for 0.5; higher is better.

    Examples
    --------
    >>> metaculus_scores([0.5, 0.25], [1, 1]).tolist()
    [0.0, -100.0]
    """
    p, o = checked(forecast, outcome)
    happened = np.clip(np.where(o == 1.0, p, 1.0 - p), clip, 1.0 - clip)
    return np.asarray(100.0 * (1.0 + np.log2(happened)))


def metaculus_baseline(forecast: ArrayLike, outcome: ArrayLike) -> float:
    """Mean Metaculus baseline score, in points: 0 for always 0.5, at most 100, higher is better.

    Source: BLF, App. A.2; clip 1e-3, see `metaculus_scores`.

    Parameters
    ----------
    forecast, outcome : array_like, shape (n,)
        Probability of Yes; 1 Yes, 0 No.

    Examples
    --------
    >>> metaculus_baseline([0.5, 0.5], [1, 0])
    0.0
    """
    return float(metaculus_scores(forecast, outcome).mean())


def log_losses(forecast: ArrayLike, outcome: ArrayLike, *, clip: float = _MACHINE) -> FloatArray:
    """Negative log likelihood of each forecast, in nats.

    Parameters
    ----------
    forecast : array_like, shape (n,)
        Probability of Yes, in [0, 1].
    outcome : array_like, shape (n,)
        1 resolved Yes, 0 resolved No.
    clip : float
        Forecasts are clipped to [clip, 1 - clip]: one certain miss costs 36 nats, not infinity (as scikit-learn).

    Returns
    -------
    ndarray, shape (n,)
        At least 0; lower is better, always-0.5 gives 0.693.

    Examples
    --------
    >>> log_losses([0.5], [1]).round(4).tolist()
    [0.6931]
    """
    p, o = checked(forecast, outcome)
    q = np.clip(p, clip, 1.0 - clip)
    with np.errstate(divide="ignore"):
        return np.where(o == 1.0, -np.log(q), -np.log1p(-q))


def log_loss(forecast: ArrayLike, outcome: ArrayLike, *, clip: float = _MACHINE) -> float:
    """Mean negative log likelihood, in nats; lower is better, always-0.5 gives 0.693.

    Parameters
    ----------
    forecast, outcome, clip
        As for `log_losses`.

    Examples
    --------
    >>> round(log_loss([0.9, 0.9], [1, 1]), 4)
    0.1054
    """
    return float(log_losses(forecast, outcome, clip=clip).mean())


def accuracy(forecast: ArrayLike, outcome: ArrayLike, *, threshold: float = 0.5) -> float:
    """Share of events called right by "Yes when above the threshold"; exactly at the threshold counts as half.

    A forecast at the threshold decides nothing, so always-0.5 is right half the time whatever happened.

    Parameters
    ----------
    forecast : array_like, shape (n,)
        Probability of Yes, in [0, 1].
    outcome : array_like, shape (n,)
        1 resolved Yes, 0 resolved No.
    threshold : float
        In [0, 1].

    Returns
    -------
    float
        In [0, 1]; higher is better.

    Examples
    --------
    >>> accuracy([0.9, 0.5], [1, 0])
    0.75
    """
    p, o = checked(forecast, outcome)
    if not 0.0 <= threshold <= 1.0:
        raise DomainError(f"threshold {threshold:g} is not in [0, 1]")
    right = np.where(p == threshold, 0.5, (p > threshold) == (o == 1.0))
    return float(right.mean())


def confidence(forecast: ArrayLike) -> float:
    """Mean probability of the side each forecast favours.

    Source: Analytica, section 5.1 (Conf.).

    Parameters
    ----------
    forecast : array_like, shape (n,) or (n, options)
        Probabilities; two-sided Yes/No forecasts, or one row per task over its options.

    Returns
    -------
    float
        In [0.5, 1] for Yes/No forecasts: how sure, not how right.

    Examples
    --------
    >>> confidence([0.9, 0.3])
    0.8
    """
    p = np.asarray(forecast, dtype=np.float64)
    if p.size == 0 or not ((p >= 0) & (p <= 1)).all():
        raise DomainError("forecasts must be a non-empty array of probabilities in [0, 1]")
    return float(np.maximum(p, 1.0 - p).mean() if p.ndim == 1 else p.max(axis=1).mean())
