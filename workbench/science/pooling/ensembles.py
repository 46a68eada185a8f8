"""Ensembles of forecasters: who adds something to whom."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr

from workbench.science.arrays import FloatArray, as_outcomes, as_probabilities, codes_of, pair_matrix
from workbench.science.errors import DomainError
from workbench.science.pooling.pool import pool

Chosen = frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class EnsembleStep:
    """One step of a greedy ensemble: who joined, and the mean Brier score of the pool after that."""

    added: str
    brier: float


def _members(
    forecasts: Mapping[str, ArrayLike], outcome: ArrayLike
) -> tuple[dict[str, FloatArray], FloatArray]:
    if not forecasts:
        raise DomainError("an ensemble needs at least one member")
    y = as_outcomes(outcome)
    members = {}
    for name, p in forecasts.items():
        members[name] = as_probabilities(p, name=f"forecast of {name}")
        if members[name].shape != y.shape:
            raise DomainError(f"{name} has {members[name].size} forecasts for {y.size} outcomes")
    return members, y


def _grow(
    names: Iterable[str], score: Callable[[Chosen], float], size: int | None = None
) -> list[EnsembleStep]:
    """Add whoever lowers the score most (or raises it least), ties by name, so that the order does not depend on that of the file."""
    left, chosen, steps = set(names), frozenset[str](), []
    while left and len(chosen) != size:
        brier, added = min((score(chosen | {name}), name) for name in left)
        left, chosen = left - {added}, chosen | {added}
        steps.append(EnsembleStep(added=added, brier=brier))
    return steps


def greedy_ensemble(
    forecasts: Mapping[str, ArrayLike], outcome: ArrayLike, *, how: str = "mean"
) -> list[EnsembleStep]:
    """Members in the order in which each lowers the pooled Brier score most (or raises it least).

    Source: BLF, App. F (Figure 13), where adding members hurt on ForecastBench.

    The scores are in-sample: read them as a description, not as what the next question will bring.
    """
    members, y = _members(forecasts, outcome)

    def score(chosen: Chosen) -> float:
        return float(((_pooled(members, chosen, how) - y) ** 2).mean())

    return _grow(members, score)


def _pooled(members: Mapping[str, FloatArray], chosen: Chosen, how: str) -> FloatArray:
    return pool(np.column_stack([members[name] for name in sorted(chosen)]), how)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOutEnsemble:
    """Forecasts of greedy ensembles that never saw the outcome of the question they forecast.

    Parameters
    ----------
    p : ndarray, shape (n,)
    chosen : dict
        Members, by name -> number of questions for which just these were chosen.
    """

    p: FloatArray
    chosen: dict[tuple[str, ...], int]


def greedy_leave_out(
    forecasts: Mapping[str, ArrayLike],
    outcome: ArrayLike,
    folds: ArrayLike,
    *,
    how: str = "mean",
    size: int | None = None,
) -> HeldOutEnsemble:
    """Greedy ensembles with members and size chosen, for every question, on the other questions only.

    What `greedy_ensemble` describes in-sample, as a forecaster that could have been used: of the steps on the other questions
    the best one counts, and its members forecast the question that was left out.
    """
    members, y = _members(forecasts, outcome)
    codes, names = codes_of(folds)
    if len(codes) != len(y):
        raise DomainError(f"there are {len(codes)} fold labels for {len(y)} events")
    if len(names) < 2:
        raise DomainError("leaving a question out needs at least two questions")
    rest = len(y) - np.bincount(codes)

    @cache  # folds that chose alike share the work
    def without_fold(chosen: Chosen) -> tuple[FloatArray, FloatArray]:
        p = _pooled(members, chosen, how)
        squared = (p - y) ** 2
        return p, (squared.sum() - np.bincount(codes, weights=squared)) / rest

    p, counts = np.empty(len(y)), Counter[tuple[str, ...]]()
    for fold in range(len(names)):

        def score(chosen: Chosen, fold: int = fold) -> float:
            return float(without_fold(chosen)[1][fold])

        steps = _grow(members, score, size)
        best = int(np.argmin([step.brier for step in steps]))
        chosen = frozenset(step.added for step in steps[: best + 1])
        p[codes == fold] = without_fold(chosen)[0][codes == fold]
        counts[tuple(sorted(chosen))] += 1
    return HeldOutEnsemble(p=p, chosen=dict(counts.most_common()))


def _entropy(p: FloatArray) -> FloatArray:
    return np.asarray((entr(p) + entr(1.0 - p)) / np.log(2.0))


def jensen_shannon(p: ArrayLike, q: ArrayLike) -> float:
    """Mean Jensen-Shannon divergence of two forecasters' Yes/No forecasts, in bits: 0 if equal, 1 if opposite and certain.

    Source: BLF, App. F (Figure 14).
    """
    a, b = as_probabilities(p), as_probabilities(q)
    if a.shape != b.shape:
        raise DomainError(f"forecasts of shape {a.shape} and {b.shape} cannot be compared")
    middle = _entropy(0.5 * (a + b)) - 0.5 * (_entropy(a) + _entropy(b))
    # Rounding can leave equal forecasts a hair below 0.
    return float(np.maximum(middle, 0.0).mean())


def divergence_matrix(forecasts: Mapping[str, ArrayLike]) -> tuple[list[str], FloatArray]:
    """Jensen-Shannon divergence of every pair of forecasters on the events both answered.

    Parameters
    ----------
    forecasts : mapping of str to array_like of shape (n,)
        ``nan`` where a forecaster did not answer.

    Returns
    -------
    names : list of str
    matrix : ndarray, shape (m, m)
        In bits, 0 on the diagonal, ``nan`` where two share no event.

    Examples
    --------
    >>> names, matrix = divergence_matrix({"a": [0.2, 0.4], "b": [0.2, float("nan")]})
    >>> matrix.tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    return pair_matrix(forecasts, lambda a, b, _: jensen_shannon(a, b))
