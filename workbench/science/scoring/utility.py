"""Scores of a choice among options that are worth something: accuracy, soft and hard utility, stability over runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from workbench.science.arrays import FloatArray
from workbench.science.errors import DomainError

Normalise = Literal["per-task", "pooled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UtilityScores:
    """Averages over tasks; all in [0, 1], higher is better, but for ``brier`` (lower) and ``confidence`` (neither)."""

    accuracy: float
    soft: float
    hard: float
    brier: float
    confidence: float
    tasks: int


def _task(probabilities: ArrayLike, payoffs: ArrayLike, index: int) -> tuple[FloatArray, FloatArray]:
    p, u = np.asarray(probabilities, dtype=np.float64), np.asarray(payoffs, dtype=np.float64)
    if p.ndim != 1 or p.shape != u.shape or len(p) < 2:
        raise DomainError(f"task {index} needs at least 2 options with a probability and a payoff each")
    if not ((p >= 0) & (p <= 1)).all() or p.sum() <= 0 or not np.isfinite(u).all():
        raise DomainError(f"task {index} has a probability outside [0, 1] or a payoff that is no number")
    if np.ptp(u) == 0:
        raise DomainError(f"task {index} pays the same whatever is chosen: leave it out")
    return p / p.sum(), u


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskValues:
    """The values that `utility_scores` averages, shape (tasks,): shares that were right, and values in the units of the payoffs."""

    right: FloatArray
    soft: FloatArray
    hard: FloatArray
    brier: FloatArray
    sure: FloatArray
    worst: FloatArray
    most: FloatArray


def utility_scores(
    probabilities: Sequence[ArrayLike], payoffs: Sequence[ArrayLike], *, normalise: Normalise = "per-task"
) -> UtilityScores:
    """Accuracy, soft and hard utility of choices, min-max normalised per task or over all tasks at once.

    Source: Analytica, section 5.1; the text normalises per task, the authors' code over all tasks.

    Parameters
    ----------
    probabilities : sequence of array_like
        Per task, one probability per option; made to sum to 1.
    payoffs : sequence of array_like
        Per task, what each option turned out to be worth (dollars per dollar).
    normalise : {"per-task", "pooled"}
        ``per-task`` scales every task to worst 0, best 1 and averages, as the paper's text; ``pooled`` takes the
        ratio of the averages, as its code: tasks with larger stakes weigh more.

    Returns
    -------
    UtilityScores
        ``soft`` is the value of betting by probability, ``hard`` of the most probable option (ties share), ``brier``
        the squared error over options against the best one, divided by the number of options.

    Raises
    ------
    DomainError
        No task, a task with fewer than 2 options or without any stake, or a value out of range.

    Examples
    --------
    >>> s = utility_scores([[0.8, 0.2], [0.5, 0.5]], [[1.2, 0.8], [0.9, 1.1]])
    >>> round(s.accuracy, 3), round(s.soft, 3), round(s.hard, 3)
    (0.75, 0.65, 0.75)
    """
    values = task_values(probabilities, payoffs)
    soft, hard, span = values.soft - values.worst, values.hard - values.worst, values.most - values.worst
    if normalise == "per-task":
        soft_score, hard_score = float((soft / span).mean()), float((hard / span).mean())
    elif normalise == "pooled":
        soft_score, hard_score = float(soft.sum()) / float(span.sum()), float(hard.sum()) / float(span.sum())
    else:
        raise DomainError(f"normalise must be 'per-task' or 'pooled', not {normalise!r}")
    return UtilityScores(
        accuracy=float(values.right.mean()),
        soft=soft_score,
        hard=hard_score,
        brier=float(values.brier.mean()),
        confidence=float(values.sure.mean()),
        tasks=len(values.right),
    )


def task_values(probabilities: Sequence[ArrayLike], payoffs: Sequence[ArrayLike]) -> TaskValues:
    """Compute the worth of each choice, from probabilities and payoffs as `utility_scores` takes them.

    >>> task_values([[0.8, 0.2]], [[1.2, 0.8]]).soft.round(2).tolist()
    [1.12]
    """
    if not len(probabilities) or len(probabilities) != len(payoffs):
        raise DomainError(f"{len(probabilities)} tasks with probabilities, {len(payoffs)} with payoffs")
    rows = []
    for index, (chances, worth) in enumerate(zip(probabilities, payoffs, strict=True)):
        p, u = _task(chances, worth, index)
        # Probabilities were divided by their sum above, so equal ones may differ in the last bits; they still tie.
        top = p >= p.max() - 1e-12
        best = u >= u.max() - 1e-12
        rows.append(
            (
                best[top].mean(),
                float(p @ u),
                u[top].mean(),
                ((p - best / best.sum()) ** 2).mean(),
                p.max(),
                u.min(),
                u.max(),
            )
        )
    right, soft, hard, brier, sure, worst, most = (np.array(column) for column in zip(*rows, strict=True))
    return TaskValues(right=right, soft=soft, hard=hard, brier=brier, sure=sure, worst=worst, most=most)


def run_variance(scores: ArrayLike) -> float:
    """Mean over tasks of the variance of a score over repeated runs; lower means steadier, not better.

    ``scores`` has shape (tasks, runs), at least 2 runs, else `DomainError`. Source: Analytica, section 5.1 (100
    tasks, 10 runs).

    Examples
    --------
    >>> run_variance([[1.0, 0.0], [0.5, 0.5]])
    0.25
    """
    y = np.asarray(scores, dtype=np.float64)
    if y.ndim != 2 or y.shape[1] < 2 or not np.isfinite(y).all():
        raise DomainError("scores must be a matrix (tasks, runs) of numbers with at least 2 runs")
    return float(y.var(axis=1, ddof=1).mean())
