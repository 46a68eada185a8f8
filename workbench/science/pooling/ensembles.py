"""Ensembles of forecasters: who adds something to whom."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from workbench.science.arrays import FloatArray, as_outcomes, as_probabilities, codes_of, pair_matrix
from workbench.science.errors import DomainError
from workbench.science.pooling.pool import pool


@dataclass(frozen=True, slots=True, kw_only=True)
class EnsembleStep:
    """One step of a greedy ensemble: who joined, and the mean Brier score of the pool after that."""

    added: str
    brier: float


def greedy_ensemble(
    forecasts: Mapping[str, ArrayLike], outcome: ArrayLike, *, how: str = "mean", size: int | None = None
) -> list[EnsembleStep]:
    """Members in the order in which each lowers the pooled Brier score most (or raises it least).

    Source: BLF, App. F (Figure 13), where adding members hurt on ForecastBench.

    The scores are in-sample: read them as a description, not as what the next question will bring.
    """
    members, y = _members(forecasts, outcome)
    chosen: list[str] = []
    steps = []
    while members.keys() - set(chosen) and len(chosen) < (size or len(members)):
        scores = {
            name: float(((pool(np.column_stack([members[m] for m in [*chosen, name]]), how) - y) ** 2).mean())
            for name in members
            if name not in chosen
        }
        # Ties go by name, so that the order does not depend on that of the file.
        best = min(scores, key=lambda name: (scores[name], name))
        chosen.append(best)
        steps.append(EnsembleStep(added=best, brier=scores[best]))
    return steps


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
    cache: dict[frozenset[str], tuple[FloatArray, FloatArray]] = {}

    def without_fold(chosen: frozenset[str]) -> tuple[FloatArray, FloatArray]:
        # The order of joining does not matter to the pool, and folds that chose alike share the work.
        if chosen not in cache:
            p = pool(np.column_stack([members[name] for name in sorted(chosen)]), how)
            squared = (p - y) ** 2
            cache[chosen] = p, (squared.sum() - np.bincount(codes, weights=squared)) / rest
        return cache[chosen]

    state: list[frozenset[str]] = [frozenset()] * len(names)
    best: list[tuple[float, frozenset[str]]] = [(np.inf, frozenset())] * len(names)
    for _ in range(min(size or len(members), len(members))):
        following = list(state)
        for chosen in set(state):
            candidates = [chosen | {name} for name in sorted(members.keys() - chosen)]
            scores = np.array([without_fold(candidate)[1] for candidate in candidates])
            for fold in np.flatnonzero([fold_state == chosen for fold_state in state]):
                # The first of equal scores: ties go by name, as in `greedy_ensemble`.
                place = int(np.argmin(scores[:, fold]))
                following[fold] = candidates[place]
                if scores[place, fold] < best[fold][0]:
                    best[fold] = float(scores[place, fold]), candidates[place]
        state = following
    p = np.empty(len(y))
    for label, (_, chosen) in enumerate(best):
        p[codes == label] = without_fold(chosen)[0][codes == label]
    counts = Counter(tuple(sorted(chosen)) for _, chosen in best)
    return HeldOutEnsemble(p=p, chosen=dict(counts.most_common()))


def _entropy(p: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(p > 0, p * np.log2(p), 0.0) + np.where(p < 1, (1 - p) * np.log2(1 - p), 0.0)
    return np.asarray(-terms)


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
