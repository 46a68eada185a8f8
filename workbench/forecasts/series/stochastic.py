"""Models whose uncertainty grows with the horizon: random walk, autoregression, past changes."""

from dataclasses import dataclass

import numpy as np

from workbench.forecasts.series.series_history import Days, History
from workbench.forecasts.series.trend import normal_exceedance
from workbench.science.arrays import FloatArray
from workbench.science.errors import DomainError


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomWalk:
    """Independent normal steps; deviation grows with the root of the number of steps.

    Parameters
    ----------
    drift : bool
        Add the mean step.
    log : bool
        Steps of the logarithm (prices); all values must be above 0.
    window : int, optional
        Estimate on the last so many steps; all when not given.

    Examples
    --------
    >>> days = np.arange("2020-01-01", "2020-01-06", dtype="datetime64[D]")
    >>> history = History.of(days, [0.0, 1.0, 0.0, 1.0, 0.0])
    >>> RandomWalk().chances(history, days[-1:] + 4, np.array([0.0, 2.0])).round(3).tolist()
    [[0.5, 0.159]]
    """

    drift: bool = False
    log: bool = False
    window: int | None = None
    name: str = "walk"

    def chances(self, history: History, targets: Days, levels: FloatArray) -> FloatArray:
        """Probabilities, shape (targets, levels)."""
        history.need(3, "a random walk")
        values = history.values
        if self.log:
            if (values <= 0).any():
                raise DomainError("a walk of logarithms needs values above 0")
            values = np.log(values)
            with np.errstate(divide="ignore", invalid="ignore"):
                # A price is always above a level of 0 or less: its logarithm has to be -inf, without a warning.
                levels = np.where(levels > 0, np.log(np.maximum(levels, 1e-300)), -np.inf)
        # Without drift the steps are measured from 0, so no degree of freedom is spent on their mean.
        steps = np.diff(values)[-self.window :] if self.window else np.diff(values)
        mean = float(steps.mean()) if self.drift else 0.0
        variance = float(((steps - mean) ** 2).sum() / (len(steps) - (1 if self.drift else 0)))
        count = history.steps_to(targets).astype(np.float64)
        return normal_exceedance(levels, values[-1] + mean * count, np.sqrt(variance * count))


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanReverting:
    """First-order autoregression ``y' = mean + phi (y - mean) + noise``, fitted by least squares.

    The spread levels off at the series' own; with phi at or above 1 it is the random walk. ``correct`` takes off the
    downward bias of the estimate in short series, ``(1 + 3 phi) / n`` (Kendall 1954).

    Examples
    --------
    >>> days = np.arange("2020-01-01", "2020-01-09", dtype="datetime64[D]")
    >>> history = History.of(days, [1.0, 0.0, -1.0, 0.0, 1.0, 0.0, -1.0, 0.0])
    >>> MeanReverting().chances(history, days[-1:] + 50, np.array([0.0])).round(2).tolist()
    [[0.43]]
    """

    correct: bool = False
    window: int | None = None
    name: str = "mean-reverting"

    def fit(self, history: History) -> tuple[float, float, float]:
        """Mean, phi and noise deviation."""
        history.need(5, "an autoregression")
        y = history.values if self.window is None else history.values[-self.window :]
        x, z = y[:-1], y[1:]
        spread = float(((x - x.mean()) ** 2).sum())
        if spread == 0.0:
            return float(y[-1]), 0.0, 0.0
        phi = float(((x - x.mean()) * (z - z.mean())).sum() / spread)
        if self.correct:
            phi += (1.0 + 3.0 * phi) / len(x)
        constant = float(z.mean() - phi * x.mean())
        noise = float(np.sqrt(((z - constant - phi * x) ** 2).sum() / max(len(x) - 2, 1)))
        mean = constant / (1.0 - phi) if abs(phi) < 1.0 else float(y[-1])
        return mean, phi, noise

    def chances(self, history: History, targets: Days, levels: FloatArray) -> FloatArray:
        """Probabilities, shape (targets, levels)."""
        mean, phi, noise = self.fit(history)
        count = history.steps_to(targets).astype(np.float64)
        last = float(history.values[-1])
        if phi >= 1.0:
            return normal_exceedance(levels, np.full(len(count), last), noise * np.sqrt(count))
        # At -1 and below the spread would grow without bound while the sign alternates: treated as the edge of a stable fit.
        phi = max(phi, -0.999)
        power = np.sign(phi) ** count * np.abs(phi) ** count
        variance = noise**2 * (1.0 - power**2) / (1.0 - phi**2)
        return normal_exceedance(levels, mean + power * (last - mean), np.sqrt(variance))


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseRate:
    """Share of past changes over the same number of steps that would pass the level, ``(k + 1) / (n + 2)``.

    ``relative`` scales changes by the value they started from (prices). Windows overlap, so n counts more than what
    is independent.

    Examples
    --------
    >>> days = np.arange("2020-01-01", "2020-01-06", dtype="datetime64[D]")
    >>> history = History.of(days, [0.0, 1.0, 2.0, 3.0, 4.0])
    >>> BaseRate().chances(history, days[-1:] + 1, np.array([4.5])).round(3).tolist()
    [[0.833]]
    """

    relative: bool = False
    name: str = "base-rate"

    def chances(self, history: History, targets: Days, levels: FloatArray) -> FloatArray:
        """Probabilities, shape (targets, levels)."""
        y = history.values
        if self.relative and (y <= 0).any():
            raise DomainError("relative changes need values above 0")
        rows = []
        for steps in history.steps_to(targets):
            history.need(int(steps) + 2, f"a base rate over {int(steps)} steps")
            start, stop = y[:-steps], y[steps:]
            ends = y[-1] * stop / start if self.relative else y[-1] + stop - start
            above = len(ends) - np.searchsorted(np.sort(ends), levels, side="right")
            rows.append((above + 1.0) / (len(ends) + 2.0))
        return np.array(rows)
