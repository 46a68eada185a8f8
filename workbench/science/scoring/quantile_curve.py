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
STEPS = 200  # of the grid that Metaculus takes, but of a number with few values
# of mass between two of 200 steps: what is written, and what the site takes; of fewer steps each takes more
_LONGEST_STEP, _MOST = 0.19, 0.2
# what Metaculus wants beyond an open end, and what is kept there, since percentiles cannot say so little
_BEYOND, _KEPT = 0.001, 0.01
_NEAR = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The range of a number; ``zero_point`` makes it logarithmic, as Metaculus defines it.

    Days are ordinals. Without a range both ends are open, and what stands in for them sets no bound. ``steps`` divide it where a
    distribution is written down; a number of few values has one for each.
    """

    low: float
    high: float
    open_low: bool = False
    open_high: bool = False
    zero_point: float | None = None
    dates: bool = False
    steps: int = STEPS

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

    def at(self, places: FloatArray) -> FloatArray:
        """The values at places in the range: the inverse of `location`."""
        shares = places
        if self.zero_point is not None:
            ratio = (self.high - self.zero_point) / (self.low - self.zero_point)
            shares = (ratio**places - 1) / (ratio - 1)
        return np.asarray(self.low + (self.high - self.low) * shares, dtype=np.float64)

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
    """Distribution function at even places of the range (201 of 200 steps), as Metaculus takes it.

    A hundredth of the mass is spread evenly, so that each step has its least; an open end keeps at least 0.01 beyond it; no step
    holds more than its most, a fifth of 200 steps. Source: Metaculus's own standardising of a CDF.
    """
    even = np.linspace(0.0, 1.0, scale.steps + 1)
    below = chance_below(quantiles, scale, scale.at(even))
    below[0], below[-1] = (below[0] if scale.open_low else 0.0), (below[-1] if scale.open_high else 1.0)
    ends = (_KEPT if scale.open_low else 0.0, _KEPT if scale.open_high else 0.0)
    mixed = (0.9899 - sum(ends)) * below + 0.0101 * even + ends[0]
    steps, longest = np.diff(mixed), _LONGEST_STEP * STEPS / scale.steps
    while steps.max() > longest + _NEAR:
        excess = np.maximum(steps - longest, 0.0)
        steps = steps - excess
        steps[:-1] += excess[1:] / 2
        steps[1:] += excess[:-1] / 2
        steps[0] += excess[0] / 2
        steps[-1] += excess[-1] / 2
    return [float(value) for value in np.round(mixed[0] + np.concatenate([[0.0], np.cumsum(steps)]), 10)]


def metaculus_faults(curve: Sequence[float], scale: Scale) -> list[str]:
    """What Metaculus would refuse of a distribution: its length, its steps, and its ends, which an open range leaves room beyond."""
    if len(curve) != scale.steps + 1:
        return [f"a distribution of {scale.steps + 1} values is wanted, not {len(curve)}"]
    steps = np.round(np.diff(np.round(curve, 10)), 9)
    least, most = round(0.01 / scale.steps, 9), _MOST * STEPS / scale.steps
    faults = []
    if steps.min() < least or steps.max() > most:
        faults.append(f"each value must be {least:g} to {most:g} above the one before")
    for end, left, is_open in (("low", curve[0], scale.open_low), ("high", 1 - curve[-1], scale.open_high)):
        if is_open and left < _BEYOND - _NEAR:
            faults.append(f"an open {end} end keeps {_BEYOND} beyond it, not {left:g}")
        elif not is_open and abs(left) > _NEAR:
            faults.append(f"a closed {end} end has nothing beyond it, not {left:g}")
    return faults
