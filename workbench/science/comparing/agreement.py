"""Decisions side by side: who is right when the other is not, and how often two agree."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from workbench.science.arrays import BoolArray, FloatArray, as_outcomes, pair_matrix
from workbench.science.errors import DomainError


@dataclass(frozen=True, slots=True, kw_only=True)
class McNemar:
    """Events that only one of two methods got right, and the exact two-sided p value."""

    only_a: int
    only_b: int
    p: float


def mcnemar(right_a: ArrayLike, right_b: ArrayLike) -> McNemar:
    """Exact McNemar test of two methods' hits on the same events; p is 1 when they never differ.

    The exact binomial version, because two methods differ on few events. Source: paper A, App. D.1.
    """
    from statsmodels.stats.contingency_tables import mcnemar as exact_test

    a, b = np.asarray(right_a, dtype=bool), np.asarray(right_b, dtype=bool)
    if a.size == 0 or a.shape != b.shape:
        raise DomainError(f"hits of shape {a.shape} and {b.shape} cannot be paired")
    only_a, only_b = int((a & ~b).sum()), int((~a & b).sum())
    # The test looks at the two cells of disagreement only; the other two may hold anything.
    p = float(exact_test([[0, only_a], [only_b, 0]], exact=True).pvalue)
    return McNemar(only_a=only_a, only_b=only_b, p=p)


def mcnemar_matrix(forecasts: Mapping[str, ArrayLike], outcome: ArrayLike) -> tuple[list[str], FloatArray]:
    """Names of the methods and the McNemar p value of every pair, on the events both answered.

    Source: paper A, App. D.1 (Figure 10).

    Parameters
    ----------
    forecasts : mapping of str to array_like of shape (n,)
        ``nan`` where a method did not answer. Yes is called above 0.5.

    Returns
    -------
    names : list of str
    matrix : ndarray, shape (m, m)
        1 on the diagonal, ``nan`` where two share no event.

    Examples
    --------
    >>> mcnemar_matrix({"a": [0.9, 0.1], "b": [0.9, 0.9]}, [1, 0])[1].tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    o = as_outcomes(outcome)

    def p_value(a: FloatArray, b: FloatArray, rows: BoolArray) -> float:
        yes = o[rows] == 1.0
        return mcnemar((a > 0.5) == yes, (b > 0.5) == yes).p

    return pair_matrix(forecasts, p_value)


def consensus_matrix(forecasts: Mapping[str, ArrayLike]) -> tuple[list[str], FloatArray]:
    """Names of the methods and the share of events on which each pair makes the same call.

    Source: paper A, App. D.3 (Figure 11). Parameters and ``nan`` as for `mcnemar_matrix`; no outcome is needed.

    Examples
    --------
    >>> consensus_matrix({"a": [0.9, 0.1], "b": [0.9, 0.9]})[1].tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    return pair_matrix(forecasts, lambda a, b, _: float(((a > 0.5) == (b > 0.5)).mean()))
