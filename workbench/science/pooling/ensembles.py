"""Ensembles of forecasters: who adds something to whom."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from workbench.science.arrays import FloatArray, as_outcomes, as_probabilities
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

    Parameters
    ----------
    forecasts : mapping of str to array_like of shape (n,)
        Forecasts per member on the same events.
    how : str
        Pooling rule, see `workbench.science.pooling.pool.pool`.
    size : int, optional
        Stop after this many members; all when not given.

    Returns
    -------
    list of EnsembleStep
        The scores are in-sample: read them as a description, not as what the next question will bring.

    Raises
    ------
    DomainError
        No member, lengths that do not match, or a value that is no probability.

    Examples
    --------
    >>> steps = greedy_ensemble({"a": [0.9, 0.4], "b": [0.5, 0.1]}, [1, 0])
    >>> [(step.added, round(step.brier, 4)) for step in steps]
    [('a', 0.085), ('b', 0.0763)]
    """
    if not forecasts:
        raise DomainError("an ensemble needs at least one member")
    y = as_outcomes(outcome)
    members = {}
    for name, p in forecasts.items():
        members[name] = as_probabilities(p, name=f"forecast of {name}")
        if members[name].shape != y.shape:
            raise DomainError(f"{name} has {members[name].size} forecasts for {y.size} outcomes")
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


def _entropy(p: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(p > 0, p * np.log2(p), 0.0) + np.where(p < 1, (1 - p) * np.log2(1 - p), 0.0)
    return np.asarray(-terms)


def jensen_shannon(p: ArrayLike, q: ArrayLike) -> float:
    """Mean Jensen-Shannon divergence of two forecasters' Yes/No forecasts, in bits: 0 if equal, 1 if opposite and certain.

    Source: BLF, App. F (Figure 14).

    Examples
    --------
    >>> jensen_shannon([0.0], [1.0])
    1.0
    >>> round(jensen_shannon([0.5], [0.9]), 4)
    0.1468
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
    names = list(forecasts)
    columns = [as_probabilities(forecasts[name], missing=True) for name in names]
    matrix = np.full((len(names), len(names)), np.nan)
    for i, a in enumerate(columns):
        for j, b in enumerate(columns):
            both = np.isfinite(a) & np.isfinite(b)
            if both.any():
                matrix[i, j] = jensen_shannon(a[both], b[both])
    return names, matrix
