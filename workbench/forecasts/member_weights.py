"""Learn from past cutoffs how far to trust the members of an ensemble: a weight each, and the width and place of their pool."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from workbench.forecasts.series_paths import SAME_HORIZON
from workbench.science.arrays import FloatArray

#: Separate past windows that equal weights, and a calibration of none, count as much as.
_EQUAL, _UNCHANGED = 12.0, 20.0
#: The same for the place of the pool.
_SHIFT_UNCHANGED = 3.0 * _UNCHANGED
_ROUNDS = 60
#: Widths of the kernels of a member's density and of its rank, in deviations of its sample.
_DENSITY_WIDTH, _RANK_WIDTH = 0.3, 0.05


class PoolCalibration(NamedTuple):
    """How a pool was off: ``spread`` scales it about its centre, ``shift`` moves it, in deviations; with deviations of both about the true ones.

    Numbers of one horizon, or arrays of steps.
    """

    spread: float | FloatArray
    shift: float | FloatArray
    spread_error: float | FloatArray
    shift_error: float | FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class EnsembleFit:
    """The fit of an ensemble: weights of members (sum 1), the same for all steps, and by horizon the calibration of their pool.

    Weights of their own for every horizon would let a claim that ends later be the less likely of two that the earlier one implies.

    Parameters
    ----------
    weights : ndarray, shape (members,)
    horizons : tuple of int
        In steps, rising.
    cutoffs : tuple of int
        At how many the pool was compared with what came, by horizon.
    calibrations : tuple of PoolCalibration
    """

    weights: FloatArray
    horizons: tuple[int, ...]
    cutoffs: tuple[int, ...]
    calibrations: tuple[PoolCalibration, ...]

    def on_steps(self, steps: FloatArray) -> PoolCalibration:
        """Return the calibration of these steps ahead: that of their horizon, interpolated between two by the logarithm."""
        places = np.log(np.outer(self.horizons, (1.0, SAME_HORIZON))).ravel()
        parts = (
            np.interp(np.log(steps), places, np.repeat(values, 2))
            for values in zip(*self.calibrations, strict=True)
        )
        return PoolCalibration(*parts)


def density_and_rank(sample: FloatArray, outcome: float) -> tuple[float, float]:
    """Return the density of a sample at an outcome, and the share of it below, both smoothed by a normal kernel.

    A hundredth of the density is a far wider normal curve, so that one surprise does not rule a member out. The share is smoothed less: a
    kernel widens what it smooths, and a pool that is judged by a wider one than it draws stays too narrow (its 50 % band held 45 %
    of what came on 51 series).

    >>> density, rank = density_and_rank(np.array([-1.0, 1.0]), 0.0)
    >>> round(rank, 2)
    0.5
    """
    deviation = float(sample.std()) or 1e-12
    width = _DENSITY_WIDTH * deviation
    z = (outcome - sample) / width
    far = (outcome - float(sample.mean())) / (5.0 * deviation)
    root = np.sqrt(2.0 * np.pi)
    density = 0.99 * float(np.exp(-0.5 * z**2).mean()) / (width * root)
    density += 0.01 * float(np.exp(-0.5 * far**2)) / (5.0 * deviation * root)
    return max(density, 1e-300), float(ndtr((outcome - sample) / (_RANK_WIDTH * deviation)).mean())


def fit_ensemble(scores: Mapping[int, FloatArray], weighed: int) -> EnsembleFit:
    """Fit weights and calibration to members' scores at past cutoffs whose outcomes are known since.

    Parameters
    ----------
    scores : mapping
        By horizon in steps, rising: density of each member at the outcome, and the share of it below (its PIT), shape (cutoffs, 2, members);
        nan where a member had no forecast.
    weighed : int
        The horizon that weights are learned from: the same one for all forecasts of a series, however far they reach.

    Examples
    --------
    >>> better = np.column_stack([np.full(40, 2.0), np.full(40, 1.0)])
    >>> found = fit_ensemble({21: np.stack([better, np.tile([[0.3], [0.7]], (20, 2))], axis=1)}, 21)
    >>> bool(found.weights[0] > 0.7), found.calibrations[0].spread < 1.0
    (True, True)
    """
    counts = tuple(len(table) for table in scores.values())
    weights = _mixture_weights(scores[weighed][:, 0])
    calibrations = tuple(_pool_calibration(weights, table[:, 1]) for table in scores.values())
    return EnsembleFit(weights=weights, horizons=tuple(scores), cutoffs=counts, calibrations=calibrations)


def _mixture_weights(densities: FloatArray) -> FloatArray:
    """Fit the likeliest weights of a mixture, by expectation and maximisation; the prior adds so many windows to every member."""
    count, members = densities.shape
    weights = np.full(members, 1.0 / members)
    if not count:
        return weights
    present = np.isfinite(densities)
    filled = np.where(present, densities, 0.0)
    for _ in range(_ROUNDS):
        mass = np.where(present, weights, 0.0)
        mass /= np.maximum(mass.sum(axis=1, keepdims=True), 1e-300)
        blame = mass * filled
        blame /= np.maximum(blame.sum(axis=1, keepdims=True), 1e-300)
        # A member that was not there is neither blamed nor praised.
        blame += np.where(present, 0.0, weights)
        blame /= np.maximum(blame.sum(axis=1, keepdims=True), 1e-300)
        weights = (blame.sum(axis=0) + _EQUAL / members) / (count + _EQUAL)
    return weights


def _pool_calibration(weights: FloatArray, ranks: FloatArray) -> PoolCalibration:
    """Fit place and width of the pool by its ranks at the cutoffs of a horizon; none where there are none."""
    count = len(ranks)
    if not count:
        return PoolCalibration(1.0, 0.0, 0.0, 0.0)
    present = np.isfinite(ranks)
    mass = np.where(present, weights, 0.0)
    mass /= np.maximum(mass.sum(axis=1, keepdims=True), 1e-300)
    z = ndtri(np.clip(np.sum(mass * np.where(present, ranks, 0.0), axis=1), 1e-3, 1.0 - 1e-3))
    return PoolCalibration(
        spread=float(np.sqrt((count * float((z**2).mean()) + _UNCHANGED) / (count + _UNCHANGED))),
        shift=float(z.mean()) * count / (count + _SHIFT_UNCHANGED),
        spread_error=float(np.sqrt(count / 2)) / (count + _UNCHANGED),
        shift_error=float(np.sqrt(count)) / (count + _SHIFT_UNCHANGED),
    )
