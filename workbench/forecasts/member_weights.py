"""What past cutoffs say of the members of an ensemble: a weight each, and how wide and how far off they were together."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from workbench.science.arrays import FloatArray

#: Separate past windows that equal weights, and a calibration of none, count as much as.
_EQUAL, _UNCHANGED = 12.0, 20.0
#: The same for the place of the pool.
_SHIFT_UNCHANGED = 3.0 * _UNCHANGED
_ROUNDS = 60
#: Widths of the kernels of a member's density and of its rank, in deviations of its sample.
_DENSITY_WIDTH, _RANK_WIDTH = 0.3, 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class EnsembleFit:
    """Weights of members (sum 1), and the calibration of their pool: ``spread`` scales it about its centre, ``shift`` moves it, in deviations."""

    weights: FloatArray
    spread: float = 1.0
    shift: float = 0.0
    cutoffs: int = 0

    @property
    def shift_error(self) -> float:
        """Deviation of ``shift`` about the true one, from ranks at so many cutoffs."""
        return float(np.sqrt(self.cutoffs)) / (self.cutoffs + _SHIFT_UNCHANGED)

    @property
    def spread_error(self) -> float:
        """The same of ``spread``, as a share of it."""
        return float(np.sqrt(self.cutoffs / 2)) / (self.cutoffs + _UNCHANGED)


def density_and_rank(sample: FloatArray, outcome: float) -> tuple[float, float]:
    """Return the density of a sample at an outcome, and the share of it below, both smoothed by a normal kernel.

    A hundredth of the density is a far wider normal curve, so that one surprise does not rule a member out. The share is smoothed less: a
    kernel widens what it smooths, and a pool that is judged by a wider one than it draws stays too narrow (its 50 % band held 45 %
    of what came on 51 series).

    Examples
    --------
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


def fit_ensemble(densities: FloatArray, ranks: FloatArray, separate: float) -> EnsembleFit:
    """Return weights and calibration from what members said at past cutoffs of outcomes known since.

    Parameters
    ----------
    densities, ranks : ndarray, shape (cutoffs, members)
        Density of each member at the outcome, and the share of it below (its PIT); nan where a member had no forecast.
    separate : float
        How many of the cutoffs count as separate, since windows overlap; at most their number.

    Examples
    --------
    >>> better = np.column_stack([np.full(40, 2.0), np.full(40, 1.0)])
    >>> found = fit_ensemble(better, np.tile([[0.3], [0.7]], (20, 2)), separate=40.0)
    >>> bool(found.weights[0] > 0.7), found.spread < 1.0
    (True, True)
    """
    count, members = densities.shape
    weights = np.full(members, 1.0 / members)
    if not count:
        return EnsembleFit(weights=weights)
    present = np.isfinite(densities)
    filled = np.where(present, densities, 0.0)
    each = separate / count
    # The likelihood of a mixture, by expectation and maximisation; the prior adds so many windows to every member.
    for _ in range(_ROUNDS):
        mass = np.where(present, weights, 0.0)
        mass /= np.maximum(mass.sum(axis=1, keepdims=True), 1e-300)
        blame = mass * filled
        blame /= np.maximum(blame.sum(axis=1, keepdims=True), 1e-300)
        # A member that was not there is neither blamed nor praised.
        blame += np.where(present, 0.0, weights)
        blame /= np.maximum(blame.sum(axis=1, keepdims=True), 1e-300)
        weights = (each * blame.sum(axis=0) + _EQUAL / members) / (separate + _EQUAL)
    mass = np.where(present, weights, 0.0)
    mass /= np.maximum(mass.sum(axis=1, keepdims=True), 1e-300)
    pooled = np.sum(mass * np.where(present, ranks, 0.0), axis=1)
    z = ndtri(np.clip(pooled, 1e-3, 1.0 - 1e-3))
    shift = float(z.mean()) * separate / (separate + _SHIFT_UNCHANGED)
    spread = np.sqrt((separate * float((z**2).mean()) + _UNCHANGED) / (separate + _UNCHANGED))
    return EnsembleFit(weights=weights, spread=float(spread), shift=shift, cutoffs=count)
