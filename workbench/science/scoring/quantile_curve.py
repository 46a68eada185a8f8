"""One monotone distribution from a few quantiles, on a linear or logarithmic range that may be open at its ends."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import PchipInterpolator

from workbench.science.arrays import FloatArray
from workbench.science.errors import DomainError

#: Levels at which a model is asked for a number, in percent.
PERCENTILES = ("5", "10", "25", "50", "75", "90", "95")
_STEPS = 200  # of the grid that Metaculus takes
_LONGEST_STEP, _MOST = 0.19, 0.2  # of mass between two points of it: what is written, and what the site takes
_NEAR = 1e-9
_BEYOND = 0.01  # of the mass, beyond an open end


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The range of a number; ``zero_point`` makes it logarithmic, as Metaculus defines it.

    Days are ordinals. Without a range both ends are open, and what stands in for them sets no bound.
    """

    low: float
    high: float
    open_low: bool = False
    open_high: bool = False
    zero_point: float | None = None
    dates: bool = False

    def shown(self, value: float) -> str:
        """Return a value as people write it: a number, or an ISO day."""
        return (
            date.fromordinal(min(max(round(value), 1), date.max.toordinal())).isoformat()
            if self.dates
            else f"{value:g}"
        )

    def location(self, values: ArrayLike) -> FloatArray:
        """Place values in the range, 0 at its low and 1 at its high end; beyond them where it is open."""
        shares = (np.asarray(values, dtype=np.float64) - self.low) / (self.high - self.low)
        if self.zero_point is None:
            return shares
        ratio = (self.high - self.zero_point) / (self.low - self.zero_point)
        return np.asarray(
            np.log(np.maximum(1 + shares * (ratio - 1), _NEAR)) / np.log(ratio), dtype=np.float64
        )

    def faults(self, quantiles: Mapping[str, float]) -> list[str]:
        """Return what a model has to mend in its percentiles; empty if nothing."""
        lacking = [level for level in PERCENTILES if level not in quantiles]
        if lacking or len(quantiles) != len(PERCENTILES):
            return [f"percentiles are asked for at exactly {', '.join(PERCENTILES)}"]
        values = [quantiles[level] for level in PERCENTILES]
        faults = [] if values == sorted(values) else ["percentiles must not fall from one to the next"]
        if not self.open_low and values[0] < self.low:
            faults.append(f"nothing lies below {self.shown(self.low)}")
        if not self.open_high and values[-1] > self.high:
            faults.append(f"nothing lies above {self.shown(self.high)}")
        return faults


def chance_below(quantiles: Mapping[str, float], scale: Scale, values: ArrayLike) -> FloatArray:
    """Distribution function at values: a monotone cubic (PCHIP) through the quantiles on the transformed axis.

    A closed end holds all mass; beyond an open one the outermost quantiles reach half as far out as they lie from the median.

    `quantiles`: All of `PERCENTILES`, not falling.

    >>> even = {level: float(level) for level in PERCENTILES}
    >>> chance_below(even, Scale(low=0, high=100), [0, 30, 100]).round(3).tolist()
    [0.0, 0.3, 1.0]
    """
    if faults := scale.faults(quantiles):
        raise DomainError(faults[0])
    levels = np.array([float(level) / 100 for level in PERCENTILES])
    places = scale.location([quantiles[level] for level in PERCENTILES])
    reach = 0.5 * np.array([places[3] - places[0], places[-1] - places[3]]) + 1e-6
    first = min(0.0, places[0] - 1e-6) if not scale.open_low else places[0] - reach[0]
    last = max(1.0, places[-1] + 1e-6) if not scale.open_high else places[-1] + reach[1]
    # Quantiles may repeat, and a function has one value at a place.
    knots = np.maximum.accumulate(np.concatenate([[first], places, [last]]))
    knots = knots + np.arange(len(knots)) * _NEAR
    curve = PchipInterpolator(knots, np.concatenate([[0.0], levels, [1.0]]), extrapolate=False)
    at = scale.location(values)
    inside = np.nan_to_num(curve(np.clip(at, knots[0], knots[-1])))
    return np.asarray(np.clip(inside, 0.0, 1.0), dtype=np.float64)


def metaculus_cdf(quantiles: Mapping[str, float], scale: Scale) -> list[float]:
    """Distribution function at 201 even places of the range, as Metaculus takes it.

    A hundredth of the mass is spread evenly, so that each step is at least 5e-5; an open end keeps at least 0.01 beyond it, since
    percentiles cannot say so little; no step holds more than a fifth. Source: Metaculus's own standardising of a CDF, with 0.001.
    """
    even = np.linspace(0.0, 1.0, _STEPS + 1)
    below = chance_below(quantiles, scale, _values(scale, even))
    below[0], below[-1] = (below[0] if scale.open_low else 0.0), (below[-1] if scale.open_high else 1.0)
    ends = (_BEYOND if scale.open_low else 0.0, _BEYOND if scale.open_high else 0.0)
    mixed = (0.9899 - sum(ends)) * below + 0.0101 * even + ends[0]
    steps = np.diff(mixed)
    while steps.max() > _LONGEST_STEP + _NEAR:
        excess = np.maximum(steps - _LONGEST_STEP, 0.0)
        steps = steps - excess
        steps[:-1] += excess[1:] / 2
        steps[1:] += excess[:-1] / 2
        steps[0] += excess[0] / 2
        steps[-1] += excess[-1] / 2
    return [float(value) for value in np.round(mixed[0] + np.concatenate([[0.0], np.cumsum(steps)]), 10)]


def is_metaculus_cdf(curve: Sequence[float], scale: Scale) -> bool:
    """Whether Metaculus takes this distribution: its length, its steps, and its ends, which an open range leaves room beyond."""
    steps = np.diff(curve)
    low, high = (curve[0], 1 - curve[-1]) if curve else (0.0, 0.0)
    return (
        len(curve) == _STEPS + 1
        and bool(steps.min() >= 5e-5 - _NEAR and steps.max() <= _MOST)
        and all(
            left >= 0.001 - _NEAR if is_open else abs(left) <= _NEAR
            for left, is_open in ((low, scale.open_low), (high, scale.open_high))
        )
    )


def _values(scale: Scale, places: FloatArray) -> FloatArray:
    if scale.zero_point is None:
        shares = places
    else:
        ratio = (scale.high - scale.zero_point) / (scale.low - scale.zero_point)
        shares = (ratio**places - 1) / (ratio - 1)
    return np.asarray(scale.low + (scale.high - scale.low) * shares, dtype=np.float64)
