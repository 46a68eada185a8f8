"""Penalised logistic regression with exact leave-one-group-out predictions, for stacks of forecasts and features."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from workbench.science.arrays import FloatArray, as_outcomes, codes_of, sigmoid
from workbench.science.errors import DomainError, TooFewError

_BLOCK = 2_000_000  # cells of the fold-by-event matrix handled at once


@dataclass(frozen=True, slots=True, kw_only=True)
class LogisticFit:
    """Coefficients of ``sigmoid(features @ coefficients)``."""

    coefficients: FloatArray
    penalty: FloatArray

    def predict(self, features: ArrayLike) -> FloatArray:
        """Probabilities for rows of features, shape (n, p), in [0, 1]."""
        return sigmoid(np.asarray(features, dtype=np.float64) @ self.coefficients)


def _checked_arrays(
    features: ArrayLike, outcome: ArrayLike, penalty: ArrayLike, centre: ArrayLike | None
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    x = np.asarray(features, dtype=np.float64)
    if x.ndim != 2 or x.size == 0:
        raise DomainError(f"features must be a non-empty matrix, not of shape {x.shape}")
    if not np.isfinite(x).all():
        raise DomainError("features hold a value that is not finite")
    y = as_outcomes(outcome, size=len(x))
    ridge = np.broadcast_to(np.asarray(penalty, dtype=np.float64), (x.shape[1],)).copy()
    if (ridge < 0).any():
        raise DomainError("penalties must be at least 0")
    middle = np.zeros(x.shape[1]) if centre is None else np.asarray(centre, dtype=np.float64)
    if middle.shape != (x.shape[1],):
        raise DomainError(f"centre has shape {middle.shape}, there are {x.shape[1]} features")
    yes = int(y.sum())
    if min(yes, len(y) - yes) < 2:
        raise TooFewError(f"too few to use: {yes} Yes and {len(y) - yes} No, a fit wants 2 of each")
    return x, y, ridge, middle


def _newton(
    x: FloatArray, y: FloatArray, ridge: FloatArray, centre: FloatArray, start: FloatArray
) -> tuple[FloatArray, FloatArray]:
    theta = start.copy()

    def loss(coefficients: FloatArray) -> float:
        eta = x @ coefficients
        return float(np.logaddexp(0.0, eta).sum() - y @ eta + (ridge * (coefficients - centre) ** 2).sum())

    now = loss(theta)
    hessian = np.eye(len(theta))
    for _ in range(100):
        s = sigmoid(x @ theta)
        # The last term keeps the solve regular when a column is empty or repeats another and has no penalty.
        hessian = (x * (s * (1.0 - s))[:, None]).T @ x + 2.0 * np.diag(ridge) + 1e-10 * np.eye(len(theta))
        gradient = x.T @ (s - y) + 2.0 * ridge * (theta - centre)
        step = np.linalg.solve(hessian, gradient)
        scale = 1.0
        while (new := loss(theta - scale * step)) > now + 1e-12 * abs(now) and scale > 1e-8:
            scale *= 0.5
        theta, now = theta - scale * step, new
        if np.abs(step).max() < 1e-10:
            break
    return theta, hessian


def fit_logistic(
    features: ArrayLike, outcome: ArrayLike, *, penalty: ArrayLike = 0.0, centre: ArrayLike | None = None
) -> LogisticFit:
    """Fit a logistic regression with a squared penalty per coefficient.

    ``penalty`` is lambda per coefficient in ``NLL + sum(lambda * (b - centre) ** 2)``; 0 leaves it free. Add a column of
    ones for an intercept.
    """
    x, y, ridge, middle = _checked_arrays(features, outcome, penalty, centre)
    theta, _ = _newton(x, y, ridge, middle, middle)
    return LogisticFit(coefficients=theta, penalty=ridge)


def leave_out_logistic(
    features: ArrayLike,
    outcome: ArrayLike,
    folds: ArrayLike,
    *,
    penalty: ArrayLike = 0.0,
    centre: ArrayLike | None = None,
) -> FloatArray:
    """Predictions for each event by a fit without its fold; all folds iterate together.

    Every fold starts at the full fit and steps with the full fit's Hessian less its own part, on its own exact
    gradient; cost grows with folds times events, so this is for thousands of events, not millions.

    Parameters
    ----------
    features, outcome, penalty, centre
        As for `fit_logistic`.
    folds : array_like, shape (n,)
        Events with one label are left out together.

    Returns
    -------
    ndarray, shape (n,)
        Within 1e-7 of refitting each fold from scratch.

    Examples
    --------
    >>> x = [[1, -1], [1, -1], [1, 1], [1, 1], [1, 0], [1, 0]]
    >>> leave_out_logistic(x, [0, 0, 1, 1, 1, 0], range(6), penalty=[0.0, 1.0]).round(3)[:2].tolist()
    [0.447, 0.447]
    """
    x, y, ridge, middle = _checked_arrays(features, outcome, penalty, centre)
    codes, names = codes_of(folds)
    if len(codes) != len(x):
        raise DomainError(f"there are {len(codes)} fold labels for {len(x)} events")
    full, hessian = _newton(x, y, ridge, middle, middle)
    s = sigmoid(x @ full)
    w = s * (1.0 - s)
    result = np.empty(len(x))
    block = max(1, _BLOCK // len(x))
    for start in range(0, len(names), block):
        chosen = np.arange(start, min(start + block, len(names)))
        mask = codes[None, :] != chosen[:, None]  # (folds, events) that stay
        fold_hessians = np.zeros((len(chosen), x.shape[1], x.shape[1]))
        for row, code in enumerate(chosen):
            part = np.flatnonzero(codes == code)
            fold_hessians[row] = (x[part] * w[part, None]).T @ x[part]
        curvature = hessian[None] - fold_hessians
        theta = np.tile(full, (len(chosen), 1))
        active = np.arange(len(chosen))
        runaway: set[int] = set()
        for _ in range(60):
            eta = theta[active] @ x.T
            r = np.where(mask[active], sigmoid(eta) - y, 0.0)
            gradient = r @ x + 2.0 * ridge * (theta[active] - middle)
            step = np.linalg.solve(curvature[active], gradient[..., None])[..., 0]
            theta[active] -= step
            moving = np.abs(step).max(axis=1)
            # A fold whose step is 5 or more has run away: it takes no more chord steps and is refitted below.
            runaway.update(active[moving >= 5.0].tolist())
            active = active[(moving > 1e-9) & (moving < 5.0)]
            if not len(active):
                break
        for row, code in enumerate(chosen):
            part = np.flatnonzero(codes == code)
            coefficients = theta[row]
            # The chord steps did not settle: refit.
            if row in active or row in runaway or not np.isfinite(coefficients).all():
                keep = codes != code
                coefficients, _ = _newton(x[keep], y[keep], ridge, middle, full)
            result[part] = sigmoid(x[part] @ coefficients)
    return result
