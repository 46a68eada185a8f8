"""Follow the Brier score while an agent works: beliefs by step, pooled over trials, against outcomes (BLF, App. E, Fig. 12)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from workbench.science.arrays import FloatArray, as_probabilities
from workbench.science.comparing.mean_intervals import PLAIN, Resampling, loss_interval
from workbench.science.errors import DomainError

#: The belief before the first step (BLF, Algorithm 1).
PRIOR = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class StepScores:
    """Mean Brier score after each step, the prior's first, and its interval; None of too few clusters.

    ``working`` counts at each step the questions of which some trial still went on; the others count with their last belief.
    """

    brier: tuple[float, ...]
    intervals: tuple[tuple[float, float] | None, ...]
    working: tuple[int, ...]
    n: int
    clusters: int


def carried(beliefs: Sequence[float | None], length: int) -> FloatArray:
    """Return a trial's belief before its first step and after each of ``length`` steps; a step without one leaves it as it was.

    >>> carried([0.6, None, 0.8], 4).tolist()
    [0.5, 0.6, 0.6, 0.8, 0.8]
    """
    if length < len(beliefs):
        raise DomainError(f"{len(beliefs)} steps do not fit into {length}")
    values = pd.Series([PRIOR, *beliefs], dtype=float).reindex(range(length + 1)).ffill().to_numpy()
    return as_probabilities(values, name="belief")


def step_scores(
    questions: Sequence[Sequence[Sequence[float | None]]],
    outcomes: Sequence[float],
    clusters: Sequence[str],
    *,
    resampling: Resampling = PLAIN,
) -> StepScores:
    """Return the Brier score of the mean-over-trials belief after each step.

    Raises `DomainError`: No question, a question without a trial, or sequences of unequal length.

    >>> step_scores([[[0.8, 0.9], [0.6]]], [1.0], ["a"]).brier
    (0.25, 0.09, 0.0625)
    """
    if not questions or not len(questions) == len(outcomes) == len(clusters) or not all(questions):
        raise DomainError("one outcome and one cluster for each question, and at least one trial of each")
    longest = [max(map(len, trials)) for trials in questions]
    length = max(longest)
    means = np.array([np.mean([carried(trial, length) for trial in trials], axis=0) for trials in questions])
    # Rounded where binary fractions would show: scores of equal beliefs are equal.
    scores = np.round((means - np.asarray(outcomes, dtype=np.float64)[:, None]) ** 2, 12)
    brier = scores.mean(axis=0)
    intervals = [loss_interval(column, clusters, resampling=resampling) for column in scores.T]
    return StepScores(
        brier=tuple(float(value) for value in brier),
        intervals=tuple(None if bounds is None else (bounds[0], bounds[1]) for bounds in intervals),
        working=tuple(sum(size >= step for size in longest) for step in range(length + 1)),
        n=len(questions),
        clusters=len(set(clusters)),
    )
