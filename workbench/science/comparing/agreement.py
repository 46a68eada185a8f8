"""Decisions side by side: who is right where the other is wrong, and how often two agree."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from workbench.science.arrays import FloatArray, as_outcomes, as_probabilities
from workbench.science.errors import DomainError


@dataclass(frozen=True, slots=True, kw_only=True)
class McNemar:
    """Events that only one of two methods got right, and the exact two-sided p value."""

    only_a: int
    only_b: int
    p: float


def mcnemar(right_a: ArrayLike, right_b: ArrayLike) -> McNemar:
    """Exact McNemar test of two methods' hits on the same events.

    Parameters
    ----------
    right_a, right_b : array_like of bool, shape (n,)
        Whether each method called each event right.

    Returns
    -------
    McNemar
        ``p`` in (0, 1]; 1 when they never differ.

    Raises
    ------
    DomainError
        Empty input or shapes that do not match.

    Notes
    -----
    The exact binomial test, since the two differ on few events. Source: Analytica, App. D.1.

    Examples
    --------
    >>> mcnemar([1, 1, 1, 1, 1, 1, 0], [0, 0, 0, 0, 0, 0, 1])
    McNemar(only_a=6, only_b=1, p=0.125)
    """
    from scipy.special import bdtr

    a, b = np.asarray(right_a, dtype=bool), np.asarray(right_b, dtype=bool)
    if a.size == 0 or a.shape != b.shape:
        raise DomainError(f"hits of shape {a.shape} and {b.shape} cannot be paired")
    only_a, only_b = int((a & ~b).sum()), int((~a & b).sum())
    total = only_a + only_b
    p = (
        2.0 * float(bdtr(min(only_a, only_b), total, 0.5)) if total else 1.0
    )  # both tails: p = 1/2 is symmetric
    return McNemar(only_a=only_a, only_b=only_b, p=min(p, 1.0))


def mcnemar_matrix(
    forecasts: Mapping[str, ArrayLike], outcome: ArrayLike, *, threshold: float = 0.5
) -> tuple[list[str], FloatArray]:
    """McNemar p value of every pair of methods, on the events both answered.

    Parameters
    ----------
    forecasts : mapping of str to array_like of shape (n,)
        ``nan`` where a method did not answer. Yes is called above the threshold.
    outcome : array_like, shape (n,)
        1 Yes, 0 No.
    threshold : float
        In [0, 1].

    Returns
    -------
    names : list of str
    matrix : ndarray, shape (m, m)
        p values, 1 on the diagonal, ``nan`` where two share no event.

    Notes
    -----
    Source: Analytica, App. D.1 (Figure 10).

    Examples
    --------
    >>> mcnemar_matrix({"a": [0.9, 0.1], "b": [0.9, 0.9]}, [1, 0])[1].tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    o = as_outcomes(outcome)
    names = list(forecasts)
    columns = [as_probabilities(forecasts[name], missing=True) for name in names]
    matrix = np.full((len(names), len(names)), np.nan)
    for i, a in enumerate(columns):
        for j, b in enumerate(columns[: i + 1]):
            both = np.isfinite(a) & np.isfinite(b)
            if both.any():
                hits = [(p[both] > threshold) == (o[both] == 1.0) for p in (a, b)]
                matrix[i, j] = matrix[j, i] = mcnemar(*hits).p
    return names, matrix


def consensus_matrix(
    forecasts: Mapping[str, ArrayLike], *, threshold: float = 0.5
) -> tuple[list[str], FloatArray]:
    """Share of events on which two methods make the same call.

    Parameters
    ----------
    forecasts : mapping of str to array_like of shape (n,)
        ``nan`` where a method did not answer.
    threshold : float
        Yes is called above it.

    Returns
    -------
    names : list of str
    matrix : ndarray, shape (m, m)
        In [0, 1], 1 on the diagonal, ``nan`` where two share no event.

    Notes
    -----
    Source: Analytica, App. D.3 (Figure 11).

    Examples
    --------
    >>> consensus_matrix({"a": [0.9, 0.1], "b": [0.9, 0.9]})[1].tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    names = list(forecasts)
    columns = [as_probabilities(forecasts[name], missing=True) for name in names]
    matrix = np.full((len(names), len(names)), np.nan)
    for i, a in enumerate(columns):
        for j, b in enumerate(columns):
            both = np.isfinite(a) & np.isfinite(b)
            if both.any():
                matrix[i, j] = float(((a[both] > threshold) == (b[both] > threshold)).mean())
    return names, matrix


def holm(p_values: ArrayLike) -> FloatArray:
    """P values corrected for the number of comparisons made, by Holm's step-down rule.

    Parameters
    ----------
    p_values : array_like, shape (k,)
        In [0, 1].

    Returns
    -------
    ndarray, shape (k,)
        At least the given ones, at most 1, in the given order: reject those below the level and the chance of any
        false rejection stays below it.

    Raises
    ------
    DomainError
        A value outside [0, 1].

    Notes
    -----
    Source: Holm (1979).

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64)
    if not ((p >= 0) & (p <= 1)).all():
        raise DomainError("p values must lie in [0, 1]")
    order = np.argsort(p, kind="stable")
    raised = np.maximum.accumulate(p[order] * (len(p) - np.arange(len(p))))
    result = np.empty(len(p))
    result[order] = np.minimum(raised, 1.0)
    return result
