"""Difficulty-adjusted Brier scores: what is left after the question's own difficulty is taken off."""

import numpy as np
from numpy.typing import ArrayLike

from workbench.science.arrays import FloatArray
from workbench.science.errors import DomainError
from workbench.science.scoring.additive import additive_effects
from workbench.science.scoring.checks import checked


def market_difficulty(crowd: ArrayLike, outcome: ArrayLike) -> FloatArray:
    """Difficulty of market events, shape (n,): the crowd's own Brier score; higher is harder. Source: BLF, App. A.2.

    Examples
    --------
    >>> market_difficulty([0.9], [0]).round(2).tolist()
    [0.81]
    """
    q, o = checked(crowd, outcome)
    return np.asarray((q - o) ** 2)


def question_difficulty(scores: ArrayLike) -> FloatArray:
    """Difficulty of every event: its effect in a two-way additive fit of the Brier scores of a pool of methods.

    ``scores`` has shape (methods, n), ``nan`` where a method did not answer; the effects have mean 0, higher is
    harder. The official leaderboard uses its own pool of methods, so its values differ. Source: BLF, App. A.2 and
    G.2.

    Examples
    --------
    >>> question_difficulty([[0.1, 0.3], [0.2, 0.4]]).round(6).tolist()
    [-0.1, 0.1]
    """
    return additive_effects(scores).question


def adjusted_brier(score: ArrayLike, difficulty: ArrayLike, reference: ArrayLike | None = None) -> float:
    """Mean of score minus difficulty, with the mean difficulty of the reference events added back.

    Source: BLF, App. A.2, footnote 5 (the rescaled form).

    Parameters
    ----------
    score, difficulty : array_like, shape (n,)
        Of the events the method answered.
    reference : array_like, shape (m,), optional
        Difficulties of all events of this type; the method's own when not given. Adding their mean back makes
        a method that answered everything keep its plain score.

    Returns
    -------
    float
        Lower is better; can be below 0.

    Examples
    --------
    >>> round(adjusted_brier([0.25, 0.25], [0.1, 0.3]), 12)
    0.25
    """
    b, g = np.asarray(score, dtype=np.float64), np.asarray(difficulty, dtype=np.float64)
    if b.size == 0 or b.shape != g.shape:
        raise DomainError(f"scores of shape {b.shape} need difficulties of the same shape, not {g.shape}")
    level = g if reference is None else np.asarray(reference, dtype=np.float64)
    return float((b - g).mean() + level.mean())
