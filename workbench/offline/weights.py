"""Weights of children from their common past: a bounded ridge regression of the parent's outcome on theirs.

With outcomes y of the parent and x_i of the children over weekly windows, minimise

    (5 / h) * sum_t (y_t - b0 - sum_i w_i x_ti)^2  +  20 * sum_i (w_i - 1/k)^2

over 0 <= w_i <= 1 and |b0| <= 0.1; weights that with b0 exceed 1 in sum are scaled down to it. Windows of h trading days that begin a week apart overlap, so each counts 5/h;
the ridge weighs as much as 20 windows that do not overlap, and pulls toward equal weights.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

RIDGE_WINDOWS = 20.0
FEWEST_WINDOWS = 12.0
INTERCEPT_MAX = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """Constant and weights of the children, in their order; ``estimated`` False: too few windows, equal weights."""

    intercept: float
    weights: tuple[float, ...]
    effective_windows: float
    estimated: bool


def estimate_weights(
    parent: npt.NDArray[np.int64], children: npt.NDArray[np.int64], horizon_days: int
) -> Weights:
    """Weights of children, from outcomes over common weekly windows.

    Parameters
    ----------
    parent : array of 0 and 1, shape (n,)
    children : array of 0 and 1, shape (n, k), k >= 1
    horizon_days : int
        Length of the parent's window in trading days.

    Returns
    -------
    Weights
        Equal weights and no constant if fewer than 12 effective windows are common to all.
    """
    from scipy.optimize import lsq_linear

    n, k = children.shape
    effective = 5 * n / horizon_days
    if effective < FEWEST_WINDOWS:
        return Weights(intercept=0.0, weights=(1 / k,) * k, effective_windows=effective, estimated=False)
    # Square roots, because least squares squares the rows: each window is to count 5/h in the sum.
    scale = np.sqrt(5 / horizon_days)
    ridge = np.sqrt(RIDGE_WINDOWS)
    # lsq_linear knows no penalty: the ridge is k more rows that say w_i = 1/k, with the weight of 20 windows.
    design = np.vstack(
        [
            scale * np.column_stack([np.ones(n), children]),
            np.column_stack([np.zeros(k), ridge * np.eye(k)]),
        ]
    )
    target = np.concatenate([scale * parent, np.full(k, ridge / k)])
    low = np.array([-INTERCEPT_MAX, *[0.0] * k])
    high = np.array([INTERCEPT_MAX, *[1.0] * k])
    fitted = lsq_linear(design, target, bounds=(low, high), method="bvls").x
    # what-if edits must stay within [0, 1]: with every child true the rule gives 1 at the most
    intercept, weights = float(fitted[0]), fitted[1:]
    over = weights.sum() / (1 - max(intercept, 0.0))
    return Weights(
        intercept=intercept,
        weights=tuple(float(weight) for weight in weights / max(over, 1.0)),
        effective_windows=effective,
        estimated=True,
    )
