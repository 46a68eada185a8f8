"""Divide the answer to a claim among its drivers: weights from past windows, and a constant that takes the rest."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import lsq_linear

from workbench.science.arrays import FloatArray

RIDGE_WINDOWS = 20.0
FEWEST_WINDOWS = 12.0
CONSTANT_MAX = 0.1
#: Weights are written with six decimals, cut off: what is cut goes into the constant, which has to stay within its bound.
_CUT = 1e6
_ROOM = 2e-5
#: Weight of a condition among the rows of the fit, which knows none.
_FIRM = 1e5


@dataclass(frozen=True, slots=True, kw_only=True)
class Division:
    """A division of an answer; ``estimated`` False: too few windows are common to all, so weights begin equal."""

    #: The part of the answer beside the drivers.
    constant: float
    #: Of the drivers, each at least 0; with the constant at most 1.
    weights: tuple[float, ...]
    #: The part of neither the base rate nor the drivers; the constant holds it.
    rest: float
    #: Common windows as if they did not overlap.
    effective_windows: float
    estimated: bool

    def value(self, p: Sequence[float]) -> float:
        """Return the answer at these probabilities of the drivers, in [0, 1]."""
        total = self.constant + sum(w * probability for w, probability in zip(self.weights, p, strict=True))
        return min(1.0, max(0.0, total))


def divide(
    p: float,
    base_rate: float,
    drivers: Sequence[tuple[float, float]],
    outcomes: npt.NDArray[np.int64],
    horizon_days: int,
    *,
    constant_max: float = 1.0,
) -> Division:
    """Return constant and weights that give ``p`` at today's drivers, the weights as estimated from past windows.

    `constant_max`: The constant stays at most 0.1 where weights can be found for that; above it only as far as this allows. Where that
    does not reach, the value of the division is not ``p``: the caller says so.

    Least squares of the past outcomes, about their means, on the drivers', each window weighted 5/h; a ridge of 20 windows draws
    the weights toward equal ones. Beside that hold today's equation, weights in [0, 1], and a sum with the constant of at most 1, so
    that no edit of a driver leaves [0, 1]. The nearest weights that meet all of it are taken.

    >>> rng = np.random.default_rng(0)
    >>> cause, noise = rng.integers(0, 2, (2, 900))
    >>> found = divide(0.6, 0.5, [(0.62, 0.5), (0.55, 0.5)], np.column_stack([cause, cause, noise]), 5)
    >>> [round(weight, 1) for weight in found.weights], round(found.value([0.62, 0.55]), 9)
    ([0.9, 0.0], 0.6)
    """
    today = np.array([value for value, _ in drivers])
    usual = np.array([base for _, base in drivers])
    effective = 5 * len(outcomes) / horizon_days
    estimated = effective >= FEWEST_WINDOWS
    table = (outcomes if estimated else outcomes[:0]).astype(np.float64)
    centred = (table - table.mean(axis=0)) * np.sqrt(5 / horizon_days) if estimated else table
    weights = _fit(centred, today, p, CONSTANT_MAX)
    if p - float(weights @ today) > CONSTANT_MAX:
        weights = _fit(centred, today, p, constant_max)
    constant = min(max(p - float(weights @ today), 0.0), constant_max)
    # Of no account where the conditions could be met.
    weights = weights * min(1.0, (1.0 - constant) / max(float(weights.sum()), 1e-12))
    return Division(
        constant=constant,
        weights=tuple(weights.tolist()),
        rest=p - base_rate - float(weights @ (today - usual)),
        effective_windows=effective,
        estimated=estimated,
    )


def _fit(centred: FloatArray, today: FloatArray, p: float, most: float) -> FloatArray:
    """Fit the weights, with two more unknowns: the constant, and the rest up to 1."""
    count = len(today)
    ridge, none = np.sqrt(RIDGE_WINDOWS), np.zeros((len(centred), 2))
    design = np.vstack(
        [
            np.hstack([centred[:, 1:], none]),
            np.hstack([ridge * np.eye(count), np.zeros((count, 2))]),
            _FIRM * np.array([*today, 1.0, 0.0]),
            _FIRM * np.array([*np.ones(count), 1.0, 1.0]),
        ]
    )
    target = np.concatenate(
        [centred[:, 0], np.full(count, ridge / count), [_FIRM * p, _FIRM * (1.0 - _ROOM / 2)]]
    )
    high = np.array([*np.ones(count), most - _ROOM, 1.0])
    solution = lsq_linear(design, target, bounds=(np.zeros(count + 2), high), method="bvls").x[:count]
    return np.asarray(np.floor(np.clip(solution, 0.0, 1.0) * _CUT + 1e-6) / _CUT)
