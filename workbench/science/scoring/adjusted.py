"""Scores without the question's own difficulty: the two-way additive model, and difficulty-adjusted Brier scores."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from workbench.science.arrays import FloatArray, IntArray, checked, codes_of
from workbench.science.errors import DomainError


@dataclass(frozen=True, slots=True, kw_only=True)
class AdditiveEffects:
    """Least-squares fit of ``score = mean + method + question``; either set of effects sums to 0."""

    mean: float
    method: FloatArray
    question: FloatArray
    sweeps: int
    """Alternating sweeps it took; 1 on balanced data."""


def additive_effects(scores: ArrayLike) -> AdditiveEffects:
    """Method and question effects by alternating least squares.

    Source: BLF, App. G.2, eq. 14-16. On balanced data it gives the direct means in one sweep.

    Raises `DomainError` for a method or question without any score, groups of methods that share no question, or no
    convergence.
    """
    y = np.asarray(scores, dtype=np.float64)
    if y.ndim != 2 or y.size == 0:
        raise DomainError(f"scores must be a non-empty matrix (methods, questions), not of shape {y.shape}")
    present = np.isfinite(y)
    per_method, per_question = present.sum(axis=1), present.sum(axis=0)
    if (per_method == 0).any() or (per_question == 0).any():
        kind, index = ("method", per_method) if (per_method == 0).any() else ("question", per_question)
        raise DomainError(f"{kind} at position {int(np.argmin(index))} has no score: leave it out")
    filled = np.where(present, y, 0.0)
    weights = present.astype(np.float64)
    row_sums, column_sums = filled.sum(axis=1), filled.sum(axis=0)
    mean = float(filled.sum() / present.sum())
    method, question = np.zeros(y.shape[0]), np.zeros(y.shape[1])
    for sweep in range(1, 100_001):
        question = (column_sums - mean * per_question - method @ weights) / per_question
        new = (row_sums - mean * per_method - weights @ question) / per_method
        moved = float(np.abs(new - method).max())
        if sweep == 1 and present.all():
            moved = 0.0  # balanced: the first sweep is exact
        method = new
        # Only sums of the three are determined; the means move into the constant, so that both sets of effects sum to 0.
        shift_m, shift_q = float(method.mean()), float(question.mean())
        method, question, mean = method - shift_m, question - shift_q, mean + shift_m + shift_q
        if moved < 1e-13:
            return AdditiveEffects(mean=mean, method=method, question=question, sweeps=sweep)
    raise DomainError("the additive fit did not settle: some methods share no question with the others")


def two_way_anova(score: ArrayLike, method: ArrayLike, question: ArrayLike) -> dict[str, float]:
    """Variance of scores split into method, question and the rest: sums of squares, their shares in per cent, and F statistics.

    Not statsmodels' ``anova_lm``: on unbalanced data its sums of squares are other ones than paper B's, and it wants a dense
    column per question (400 of them).

    Source: BLF, App. G.1 (Table 20).

    The residual is by subtraction, so on unbalanced data the shares overlap a little.
    """
    y = np.asarray(score, dtype=np.float64)
    rows, row_names = codes_of(method)
    columns, column_names = codes_of(question)
    if y.size == 0 or not len(rows) == len(columns) == len(y) or not np.isfinite(y).all():
        raise DomainError("score, method and question must have one non-zero length and finite scores")

    def between(codes: IntArray) -> float:
        size = np.bincount(codes)
        means = np.bincount(codes, weights=y) / size
        return float((size * (means - y.mean()) ** 2).sum())

    squares = {"method": between(rows), "question": between(columns)}
    total = float(((y - y.mean()) ** 2).sum())
    squares["residual"] = total - sum(squares.values())
    m, q = len(row_names), len(column_names)
    freedom = {"method": m - 1, "question": q - 1, "residual": len(y) - m - q + 1}
    if freedom["residual"] < 1:
        raise DomainError(
            f"{len(y)} scores leave nothing for the residual: more trials or questions are needed"
        )
    noise = squares["residual"] / freedom["residual"]
    return {
        "N": len(y),
        "M": m,
        "Q": q,
        "grand_mean": float(y.mean()),
        **{f"SS_{part}": value for part, value in squares.items()},
        "SS_total": total,
        **{f"pct_{part}": 100 * value / total for part, value in squares.items()},
        **{f"df_{part}": value for part, value in freedom.items()},
        **{
            f"F_{part}": squares[part] / freedom[part] / noise
            if freedom[part] and noise > 0
            else float("nan")
            for part in ("method", "question")
        },
    }


def market_difficulty(crowd: ArrayLike, outcome: ArrayLike) -> FloatArray:
    """Difficulty of market events, shape (n,): the crowd's own Brier score; higher is harder. Source: BLF, App. A.2."""
    q, o = checked(crowd, outcome)
    return np.asarray((q - o) ** 2)


def question_difficulty(scores: ArrayLike) -> FloatArray:
    """Difficulty of every event: its effect in a two-way additive fit of the Brier scores of a pool of methods.

    ``scores`` has shape (methods, n), ``nan`` where a method did not answer; the effects have mean 0, higher is
    harder. The official leaderboard uses its own pool of methods, so its values differ. Source: BLF, App. A.2 and
    G.2.
    """
    return additive_effects(scores).question


def adjusted_brier(score: ArrayLike, difficulty: ArrayLike, reference: ArrayLike | None = None) -> float:
    """Mean of score minus difficulty, with the mean difficulty of the reference events added back.

    Source: BLF, App. A.2, footnote 5 (the rescaled form).

    ``reference`` holds the difficulties of all events of this type (the method's own when not given): adding their mean
    back makes a method that answered everything keep its plain score. Lower is better; can be below 0.
    """
    b, g = np.asarray(score, dtype=np.float64), np.asarray(difficulty, dtype=np.float64)
    if b.size == 0 or b.shape != g.shape:
        raise DomainError(f"scores of shape {b.shape} need difficulties of the same shape, not {g.shape}")
    level = g if reference is None else np.asarray(reference, dtype=np.float64)
    return float((b - g).mean() + level.mean())
