"""Elicitation: several ways of asking one model for one probability, made into one number."""

import numpy as np
from numpy.typing import ArrayLike

from workbench.science.arrays import FloatArray, as_outcomes, as_probabilities
from workbench.science.errors import DomainError
from workbench.science.pooling.pool import pool_mean


def prompt_ensemble(variants: ArrayLike) -> FloatArray:
    """Mean of the probabilities that the default prompt and its variants drew from the model, shape (n,).

    A column of ``variants`` per prompt, ``nan`` where one gave no answer. Source: Prophet Arena, App. D.3 (prompt
    ensemble).

    Examples
    --------
    >>> prompt_ensemble([[0.6, 0.7, 0.5, 0.6]]).round(12).tolist()
    [0.6]
    """
    return pool_mean(variants)


def both_directions(p_yes: ArrayLike, p_no: ArrayLike) -> FloatArray:
    """Half of the probability stated for Yes and half of one minus that stated for No: ``(p_yes + 1 - p_no) / 2``.

    The two come from two requests. Source: Prophet Arena, App. D.3 (bi-direction).

    Examples
    --------
    >>> both_directions([0.7], [0.5]).round(12).tolist()
    [0.6]
    """
    yes, no = as_probabilities(p_yes, name="p_yes"), as_probabilities(p_no, name="p_no")
    if yes.shape != no.shape:
        raise DomainError(f"p_yes has shape {yes.shape}, p_no {no.shape}")
    return 0.5 * (yes + 1.0 - no)


def self_consistency(votes: ArrayLike, confidence: ArrayLike | None = None) -> FloatArray:
    """Share of Yes among repeated Yes/No answers, plain or weighted by the stated confidence.

    Source: Prophet Arena, App. D.3 (self-consistency, R = 10 there).

    Parameters
    ----------
    votes : array_like, shape (n, R)
        1 for Yes, 0 for No, ``nan`` for no answer.
    confidence : array_like, shape (n, R), optional
        Confidence in the answer given, in [0, 1]. Low confidence in Yes is indecision, not belief in No: it only
        weighs less.

    Returns
    -------
    ndarray, shape (n,)
        In [0, 1]; plain votes give steps of 1 / R. ``nan`` where there is no vote or no weight.

    Raises
    ------
    DomainError
        Votes other than 0 and 1, or shapes that do not match.

    Examples
    --------
    >>> self_consistency([[1, 1, 0, 1]]).tolist()
    [0.75]
    >>> self_consistency([[1, 1, 0, 1]], [[0.9, 0.8, 0.5, 0.3]]).tolist()
    [0.8]
    """
    answers = np.asarray(votes, dtype=np.float64)
    if answers.ndim != 2 or answers.size == 0:
        raise DomainError(f"votes must be a matrix (events, answers), not of shape {answers.shape}")
    answered = np.isfinite(answers)
    if answered.any():
        as_outcomes(answers[answered], name="vote")
    weights = np.ones_like(answers)
    if confidence is not None:
        weights = as_probabilities(confidence, name="confidence", missing=True)
        if weights.shape != answers.shape:
            raise DomainError(f"confidence has shape {weights.shape}, the votes {answers.shape}")
    weights = np.where(answered & np.isfinite(weights), weights, 0.0)
    total = weights.sum(axis=1)
    agreed = (weights * np.where(answered, answers, 0.0)).sum(axis=1)
    return np.asarray(np.divide(agreed, total, out=np.full(len(answers), np.nan), where=total > 0))
