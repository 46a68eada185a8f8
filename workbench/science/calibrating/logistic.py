"""Penalised logistic regression, and its predictions for events that a fit has not seen, one group of events left out at a time."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from workbench.science.arrays import FloatArray, IntArray, as_outcomes, codes_of, sigmoid
from workbench.science.errors import DomainError, TooFewError

_CELLS = 2_000_000  # of a matrix of folds by events (or by products of moves) that is held at once
_STEPS = 60
# From this many events on the gradient of all of them is taken from its series about the full fit: exact sums cost events times folds.
_MANY = 500
_NEAR = 0.01  # largest move of any event's log odds for which the series is trusted: its remainder is then below 1e-7


@dataclass(frozen=True, slots=True, kw_only=True)
class _Problem:
    """The loss ``NLL(features @ coefficients) + sum(ridge * (coefficients - centre) ** 2)``."""

    x: FloatArray
    y: FloatArray
    ridge: FloatArray
    centre: FloatArray

    @classmethod
    def of(
        cls, features: ArrayLike, outcome: ArrayLike, penalty: ArrayLike, centre: ArrayLike | None
    ) -> "_Problem":
        x = np.asarray(features, dtype=np.float64)
        if x.ndim != 2 or x.size == 0 or not np.isfinite(x).all():
            raise DomainError(
                f"features must be a non-empty matrix of finite numbers; their shape is {x.shape}"
            )
        y = as_outcomes(outcome, size=len(x))
        ridge = np.broadcast_to(np.asarray(penalty, dtype=np.float64), x.shape[1:]).copy()
        if (ridge < 0).any():
            raise DomainError("penalties must be at least 0")
        middle = np.zeros(x.shape[1]) if centre is None else np.asarray(centre, dtype=np.float64)
        if middle.shape != x.shape[1:]:
            raise DomainError(f"centre has shape {middle.shape}, there are {x.shape[1]} features")
        yes = int(y.sum())
        if min(yes, len(y) - yes) < 2:
            raise TooFewError(f"too few to use: {yes} Yes and {len(y) - yes} No, calibration wants 2 of each")
        return cls(x=x, y=y, ridge=ridge, centre=middle)

    def without(self, fold: ArrayLike) -> "_Problem":
        keep = ~np.isin(np.arange(len(self.y)), fold)
        return _Problem(x=self.x[keep], y=self.y[keep], ridge=self.ridge, centre=self.centre)

    def loss(self, theta: FloatArray) -> float:
        eta = self.x @ theta
        squares = (self.ridge * (theta - self.centre) ** 2).sum()
        return float(np.logaddexp(0.0, eta).sum() - self.y @ eta + squares)

    def gradient(self, theta: FloatArray) -> FloatArray:
        """Gradient at each row of coefficients, shape (m, p)."""
        return (sigmoid(theta @ self.x.T) - self.y) @ self.x + 2.0 * self.ridge * (theta - self.centre)

    def hessian(self, theta: FloatArray) -> FloatArray:
        s = sigmoid(self.x @ theta)
        # The last term keeps the solve regular when a column is empty or repeats another and has no penalty.
        flat = 2.0 * np.diag(self.ridge) + 1e-10 * np.eye(len(theta))
        return (self.x * (s * (1.0 - s))[:, None]).T @ self.x + flat

    def third_derivative(self, theta: FloatArray) -> FloatArray:
        """Third derivative of the loss, shape (p, p * p)."""
        s = sigmoid(self.x @ theta)
        weighted = self.x * (s * (1.0 - s) * (1.0 - 2.0 * s))[:, None]
        return np.stack([((weighted * column[:, None]).T @ self.x).ravel() for column in self.x.T])

    def newton(self, start: FloatArray) -> FloatArray:
        """Coefficients at the minimum, by Newton steps that are halved while they do not lower the loss."""
        theta, now = start.copy(), self.loss(start)
        for _ in range(100):
            step = np.linalg.solve(self.hessian(theta), self.gradient(theta[None])[0])
            scale = 1.0
            # At the optimum the loss only changes by rounding, so an equal loss within 1e-12 counts as no worse.
            while (new := self.loss(theta - scale * step)) > now + 1e-12 * abs(now) and scale > 1e-8:
                scale *= 0.5
            theta, now = theta - scale * step, new
            if np.abs(step).max() < 1e-10:
                break
        return theta


def fit_logistic(
    features: ArrayLike, outcome: ArrayLike, *, penalty: ArrayLike = 0.0, centre: ArrayLike | None = None
) -> FloatArray:
    """Coefficients b of ``sigmoid(features @ b)`` with a squared penalty each.

    ``penalty`` is lambda per coefficient in ``NLL + sum(lambda * (b - centre) ** 2)``; 0 leaves it free. Add a column of
    ones for an intercept.
    """
    problem = _Problem.of(features, outcome, penalty, centre)
    return problem.newton(problem.centre)


def leave_out_logistic(
    features: ArrayLike,
    outcome: ArrayLike,
    folds: ArrayLike,
    *,
    penalty: ArrayLike = 0.0,
    centre: ArrayLike | None = None,
) -> FloatArray:
    """Predictions for each event by a fit without its fold; all folds iterate together.

    Every fold starts at the full fit and steps with its Hessian, on the gradient of all events less the fold's own. A fold that does
    not settle so is refitted.

    Parameters
    ----------
    features, outcome, penalty, centre
        As for `fit_logistic`.
    folds : array_like, shape (n,)
        Events with one label are left out together.

    Returns
    -------
    ndarray, shape (n,)
        Within 1e-7 of refitting each fold from scratch. Of many events time grows about linearly.

    Examples
    --------
    >>> x = [[1, -1], [1, -1], [1, 1], [1, 1], [1, 0], [1, 0]]
    >>> leave_out_logistic(x, [0, 0, 1, 1, 1, 0], range(6), penalty=[0.0, 1.0]).round(3)[:2].tolist()
    [0.447, 0.447]
    """
    problem = _Problem.of(features, outcome, penalty, centre)
    codes, names = codes_of(folds)
    if len(codes) != len(problem.x):
        raise DomainError(f"there are {len(codes)} fold labels for {len(problem.x)} events")
    rows = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
    full = problem.newton(problem.centre)
    folds_out = _LeftOut(problem=problem, full=full, rows=rows, moves=np.zeros((len(names), len(full))))
    waiting = np.arange(len(names))
    if len(codes) > _MANY:
        waiting = folds_out.settle_by_series()
    moves = folds_out.moves
    for fold in folds_out.settle(waiting, lambda d: problem.gradient(full + d), cells=len(codes)):
        moves[fold] = problem.without(rows[fold]).newton(full) - full
    return sigmoid((problem.x * (full + moves[codes])).sum(axis=1))


@dataclass(frozen=True, slots=True, kw_only=True)
class _LeftOut:
    """The full fit, the events of each fold, and how far the coefficients move without it, shape (folds, p)."""

    problem: _Problem
    full: FloatArray
    rows: list[IntArray]
    moves: FloatArray

    def settle_by_series(self) -> IntArray:
        """Find the moves with the gradient's series of second order; return the folds that moved too far for it."""
        hessian, curve = self.problem.hessian(self.full), self.problem.third_derivative(self.full)

        def series(d: FloatArray) -> FloatArray:
            squares = (d[:, :, None] * d[:, None, :]).reshape(len(d), -1)
            return np.asarray(d @ hessian + 0.5 * squares @ curve.T)

        lost = self.settle(np.arange(len(self.rows)), series, cells=curve.size)
        farthest = np.abs(self.moves) @ np.abs(self.problem.x).max(axis=0)
        far = np.union1d(lost, np.flatnonzero(~(farthest < _NEAR)))
        self.moves[far] = 0.0
        return np.asarray(far, dtype=np.int64)

    def settle(
        self, folds: IntArray, everything: Callable[[FloatArray], FloatArray], *, cells: int
    ) -> IntArray:
        """Find the moves of these folds, from a gradient of all events at moves; return the folds that did not settle."""
        inverse, lost = np.linalg.inv(self.problem.hessian(self.full)), list[int]()
        block = max(1, _CELLS // cells)
        for start in range(0, len(folds), block):
            active = folds[start : start + block]
            for _ in range(_STEPS):
                rows = np.concatenate([self.rows[fold] for fold in active])
                sizes = [len(self.rows[fold]) for fold in active]
                x = self.problem.x[rows]
                theta = np.repeat(self.full + self.moves[active], sizes, axis=0)
                own = (sigmoid((x * theta).sum(axis=1)) - self.problem.y[rows])[:, None] * x
                gradient = everything(self.moves[active]) - np.add.reduceat(own, np.cumsum([0, *sizes[:-1]]))
                step = gradient @ inverse
                self.moves[active] -= step
                size = np.abs(step).max(axis=1)
                # A fold whose step is 5 or more has run away.
                lost += active[~(size < 5.0)].tolist()
                active = active[(size > 1e-11) & (size < 5.0)]
                if not len(active):
                    break
            lost += active.tolist()
        return np.array(lost, dtype=np.int64)
