"""Platt scaling, global and hierarchical, by full Newton steps in closed form.

The hierarchical Hessian is an arrow: two dense rows (slope, offset) and a diagonal (the groups' offsets), so one step
costs a pass over the events and a 2 x 2 solve, whatever the number of groups.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from workbench.science.arrays import (
    FloatArray,
    IntArray,
    as_outcomes,
    as_probabilities,
    codes_of,
    logit,
    sigmoid,
)
from workbench.science.errors import CalibrationError, DomainError, TooFewError

#: Ridge on the slope alone, as scikit-learn's C = 1e6: it only keeps separable data from running away.
SLOPE_RIDGE = 1e-6
_NO_GROUPS = 1e300  # penalty that pins a group's offset to exactly 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlattFit:
    """A fitted map ``sigmoid(slope * logit(p) + offset + delta[group])``."""

    slope: float
    offset: float
    deltas: Mapping[str, float] = field(default_factory=dict)
    penalty: float | None = None
    """Weight of the sum of squared deltas; None for a global fit."""
    n: int = 0

    def apply(self, forecast: ArrayLike, groups: ArrayLike | None = None) -> FloatArray:
        """Calibrate forecasts.

        Parameters
        ----------
        groups : array_like, shape (n,), optional
            Label per forecast. A group that was not in the fit has delta 0: the prior mean of the deltas.

        Raises
        ------
        CalibrationError
            The fit has deltas and no groups are given.

        Examples
        --------
        >>> PlattFit(slope=1.0, offset=0.0).apply([0.3]).round(12).tolist()
        [0.3]
        """
        p = as_probabilities(forecast)
        eta = self.slope * logit(p) + self.offset
        if self.deltas:
            if groups is None:
                raise CalibrationError(
                    "this calibration has an offset per group: the forecasts need their groups"
                )
            labels = np.asarray(groups).astype(str)
            eta = eta + np.array([self.deltas.get(str(label), 0.0) for label in labels])
        return sigmoid(eta)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrow:
    """The pieces of a hierarchical Hessian: 2 x 2 corner, one 2-vector and one diagonal entry per group."""

    aa: FloatArray
    ab: FloatArray
    bb: FloatArray
    ga: FloatArray
    gb: FloatArray
    diagonal: FloatArray

    def solve(
        self, ra: FloatArray, rb: FloatArray, rg: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Solve the system for (slope, offset, deltas) by eliminating the deltas; leading axes are batches."""
        ga_d, gb_d = self.ga / self.diagonal, self.gb / self.diagonal
        aa = self.aa - (self.ga * ga_d).sum(axis=-1)
        ab = self.ab - (self.ga * gb_d).sum(axis=-1)
        bb = self.bb - (self.gb * gb_d).sum(axis=-1)
        va = ra - (ga_d * rg).sum(axis=-1)
        vb = rb - (gb_d * rg).sum(axis=-1)
        det = aa * bb - ab * ab
        xa = (bb * va - ab * vb) / det
        xb = (aa * vb - ab * va) / det
        xg = (rg - self.ga * xa[..., None] - self.gb * xb[..., None]) / self.diagonal
        return xa, xb, xg


@dataclass(frozen=True, slots=True, kw_only=True)
class PlattProblem:
    """Checked input of a fit: logits, outcomes, group codes and the two penalties."""

    z: FloatArray
    outcome: FloatArray
    codes: IntArray
    names: tuple[str, ...]
    penalty: float
    ridge: float

    @property
    def groups(self) -> int:
        """Number of group offsets (1, pinned to zero, for a global fit)."""
        return max(len(self.names), 1)

    @classmethod
    def of(
        cls,
        forecast: ArrayLike,
        outcome: ArrayLike,
        groups: ArrayLike | None,
        *,
        penalty: float,
        minimum: int,
        ridge: float = SLOPE_RIDGE,
    ) -> "PlattProblem":
        """Check the input; refuse what cannot be fitted with one line that says why."""
        p = np.asarray(as_probabilities(forecast))
        if p.ndim != 1:
            raise DomainError(f"forecasts must be one-dimensional, not of shape {p.shape}")
        y = as_outcomes(outcome, size=len(p))
        if len(p) < minimum:
            raise TooFewError(
                f"too few to use: {len(p)} resolved forecasts, calibration wants at least {minimum}"
            )
        yes = int(y.sum())
        if min(yes, len(y) - yes) < 2:
            raise TooFewError(f"too few to use: {yes} Yes and {len(y) - yes} No, calibration wants 2 of each")
        if groups is None:
            codes, names = np.zeros(len(p), dtype=np.int64), list[str]()
            penalty = _NO_GROUPS
        else:
            if not penalty > 0.0:
                raise DomainError(f"the penalty on the group offsets must be above 0, not {penalty:g}")
            codes, names = codes_of(groups)
            if len(codes) != len(p):
                raise DomainError(f"there are {len(codes)} group labels for {len(p)} forecasts")
        return cls(z=logit(p), outcome=y, codes=codes, names=tuple(names), penalty=penalty, ridge=ridge)

    def sums(self, weights: FloatArray) -> FloatArray:
        """Sum ``weights`` within each group."""
        return np.bincount(self.codes, weights=weights, minlength=self.groups).astype(np.float64, copy=False)

    def arrow(self, s: FloatArray) -> Arrow:
        """Return the Hessian at fitted probabilities ``s``."""
        w = s * (1.0 - s)
        gb, ga, gaa = self.sums(w), self.sums(w * self.z), self.sums(w * self.z * self.z)
        return Arrow(
            aa=np.asarray(gaa.sum() + self.ridge),
            ab=np.asarray(ga.sum()),
            bb=np.asarray(gb.sum()),
            ga=ga,
            gb=gb,
            diagonal=gb + 2.0 * self.penalty,
        )

    def loss(self, theta: tuple[float, float, FloatArray]) -> float:
        """Return the penalised negative log likelihood."""
        a, b, delta = theta
        eta = a * self.z + b + delta[self.codes]
        nll = np.logaddexp(0.0, eta).sum() - (self.outcome * eta).sum()
        squares = float((delta * delta).sum())
        # A global fit has deltas of 0 and a penalty of 1e300: without squares the product is left out.
        return float(nll + 0.5 * self.ridge * a * a + (self.penalty * squares if squares else 0.0))


def solve_newton(problem: PlattProblem, *, tol: float = 1e-11) -> tuple[float, float, FloatArray]:
    """Slope, offset and deltas at the penalised maximum likelihood, by Newton with step halving.

    >>> p, o = [0.3] * 10 + [0.7] * 10, [1] * 3 + [0] * 7 + [1] * 7 + [0] * 3
    >>> a, b, _ = solve_newton(PlattProblem.of(p, o, None, penalty=1.0, minimum=10))
    >>> round(a, 5), abs(round(b, 6))
    (1.0, 0.0)
    """
    a, b, delta = 1.0, 0.0, np.zeros(problem.groups)
    loss = problem.loss((a, b, delta))
    for _ in range(200):
        s = sigmoid(a * problem.z + b + delta[problem.codes])
        r = s - problem.outcome
        per_group = problem.sums(r)
        step_a, step_b, step_d = problem.arrow(s).solve(
            np.asarray((r * problem.z).sum() + problem.ridge * a),
            np.asarray(per_group.sum()),
            per_group + 2.0 * problem.penalty * delta,
        )
        scale = 1.0
        while True:
            trial = (float(a - scale * step_a), float(b - scale * step_b), delta - scale * step_d)
            new = problem.loss(trial)
            # At the optimum the loss only changes by rounding, so an equal loss within 1e-12 counts as no worse.
            if new <= loss + 1e-12 * abs(loss) or scale < 1e-8:
                break
            scale *= 0.5
        (a, b, delta), loss = trial, new
        size = max(abs(float(step_a)), abs(float(step_b)), float(np.abs(step_d).max()))
        if size < tol:
            break
    return a, b, delta


def fit_platt(
    forecast: ArrayLike,
    outcome: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    penalty: float = 1.0,
    minimum: int = 10,
) -> PlattFit:
    """Platt scaling fitted on all events: global, or with an offset per group.

    Source: BLF, App. C.11, eq. 12 and 13; lambda = 1 is the paper's. A ridge of 1e-6 acts on the slope only.

    A label per event in ``groups`` makes it hierarchical: lambda in ``NLL + lambda * sum(delta ** 2)``, the overall offset
    not penalised. Slope > 1 spreads forecasts out, < 1 pulls them in; slope 1 and offset 0 change nothing.
    """
    problem = PlattProblem.of(forecast, outcome, groups, penalty=penalty, minimum=minimum)
    a, b, delta = solve_newton(problem)
    return PlattFit(
        slope=a,
        offset=b,
        deltas=dict(zip(problem.names, delta.tolist(), strict=True)) if problem.names else {},
        penalty=penalty if groups is not None else None,
        n=len(problem.z),
    )
