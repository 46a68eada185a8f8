"""The past of a series on the scale on which its steps are alike, with the estimates that all members share:
volatility, drift, season.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from workbench.forecasts.series.series_history import Days, History
from workbench.forecasts.series_paths import Calendar
from workbench.science.arrays import FloatArray, IntArray

#: Fewer values than this say nothing of a distribution of steps.
FEWEST = 24
#: Decay of the fast and the slow average of squared steps, by whether steps are about a day long.
_DECAYS = {True: (0.94, 0.985), False: (0.8, 0.95)}
#: Share of a deviation of variance that is left after a step.
_PERSISTENCE = {True: 0.985, False: 0.9}
#: Years for which the mean of the past counts as much as a drift of 0: a Sharpe ratio is seldom above 0.4, so its prior is 6 years' worth.
_DRIFT_YEARS = 6.0
#: Cycles that a season is looked for in, at least, years of them at most, what a year takes from the weight of one, and the F of an evident one.
_CYCLES, _SEASON_YEARS, _SEASON_STAYS, _EVIDENT = 3, 20, 0.85, 3.0
#: Decay of the level tried for a local level.
_LEVELS = (0.1, 0.2, 0.35, 0.5, 0.7, 0.85, 1.0)


@dataclass(frozen=True, kw_only=True)
class ScaledPast:
    """Values on their scale: logarithms where steps grow with the level, else as they are.

    What several members read from it is computed once.

    Parameters
    ----------
    x : ndarray, shape (n,)
        Oldest first.
    days : ndarray of datetime64[D], shape (n,)
    calendar : Calendar
    logarithmic : bool
    """

    x: FloatArray
    days: Days
    calendar: Calendar
    logarithmic: bool

    @classmethod
    def of(cls, history: History, calendar: Calendar) -> "ScaledPast":
        """Put the past of a history on its scale."""
        values = history.values
        logarithmic = _steps_grow_with_level(values)
        return cls(
            x=np.log(values) if logarithmic else values.astype(np.float64),
            days=history.days,
            calendar=calendar,
            logarithmic=logarithmic,
        )

    def until(self, count: int) -> "ScaledPast":
        """Return the past with its first ``count`` values, on the same scale."""
        return ScaledPast(
            x=self.x[:count], days=self.days[:count], calendar=self.calendar, logarithmic=self.logarithmic
        )

    def unscaled(self, x: FloatArray) -> FloatArray:
        """Return numbers of this scale in the unit of the series."""
        return np.exp(x) if self.logarithmic else x

    @property
    def daily(self) -> bool:
        """Whether a step is a day or a session."""
        return self.calendar.steps_a_year > 100

    @cached_property
    def steps(self) -> FloatArray:
        """Changes from one value to the next, shape (n - 1,)."""
        return np.diff(self.x)

    @cached_property
    def drift(self) -> float:
        """Mean step, shrunk to 0 by the years that it was seen for."""
        years = (len(self.x) - 1) / self.calendar.steps_a_year
        return float(self.steps.mean()) * years / (years + _DRIFT_YEARS)

    @property
    def drift_error(self) -> float:
        """Deviation of the drift about the true one, once it is shrunk: that of a mean over the years seen and those of the prior."""
        count = len(self.steps) + _DRIFT_YEARS * self.calendar.steps_a_year
        return float(self.steps.std() / np.sqrt(count))

    @cached_property
    def variances(self) -> tuple[FloatArray, float]:
        """The variance expected of the step after each value (shape (n,)), and the one that it returns to.

        The mean of a fast and a slow exponential average of squared steps, shrunk to the long run. The long run is the mean of
        all of the past and of its median, which a single crash does not move.
        """
        squares = (self.steps - self.steps.mean()) ** 2
        mean = float(squares.mean())
        # The median of the square of a standard normal number is 0.455.
        long_run = 0.5 * mean + 0.5 * min(mean, float(np.median(squares)) / 0.455)
        if long_run <= 0.0:
            long_run = mean
        start = float(squares[:60].mean())
        fast, slow = (
            smoothed(np.concatenate([[start], squares]), 1 - decay) for decay in _DECAYS[self.daily]
        )
        now = 0.9 * (0.5 * fast + 0.5 * slow) + 0.1 * long_run
        now[0] = start
        return now, long_run

    @cached_property
    def shocks(self) -> FloatArray:
        """Past steps over the volatility that was expected of them; mean 0, variance 1, shape (n - 1,)."""
        expected, _ = self.variances
        shocks = (self.steps - self.steps.mean()) / np.sqrt(np.maximum(expected[:-1], 1e-300))
        spread = float(shocks.std())
        return np.asarray((shocks - shocks.mean()) / spread) if spread > 0 else shocks

    @cached_property
    def season(self) -> FloatArray:
        """The effect of each part of the year (of a series of every day: of the week) on the level; 0 where it is no more than its noise.

        Regressed on the parts through the errors of a local level, which are as good as independent: of a walk these are its steps, of
        noise about a level the values. What lies far back counts less, since seasons move. Found evident by its F, it keeps ``1 - 1 / F``
        of itself, which is the share that is no noise (James and Stein), and is shrunk by nothing else.
        """
        cells = _cells(self.days, self.calendar)
        if cells is None or len(self.x) < _CYCLES * cells.max() + 1:
            return np.zeros(1 if cells is None else int(cells.max()) + 1)
        recent = slice(-int(_SEASON_YEARS * self.calendar.steps_a_year), None)
        x, cells = self.x[recent], cells[recent]
        parts = np.eye(int(cells.max()) + 1)[cells]
        age = np.arange(len(x) - 2, -1, -1) / parts.shape[1]
        weight = np.sqrt(_SEASON_STAYS**age)[:, None]
        season = np.zeros(parts.shape[1])
        for decay in (1.0, None):
            decay = best_decay(x - parts @ season) if decay is None else decay
            table = np.column_stack([parts, x])
            errors = table[1:] - smoothed(table, decay)[:-1]
            design = np.column_stack([errors[:, :-1], np.ones(len(errors))])
            season, f = _regressed(weight * design, weight[:, 0] * errors[:, -1])
        return season * (1.0 - 1.0 / f) if f > _EVIDENT else np.zeros(len(season))

    def season_of(self, days: Days) -> FloatArray:
        """Return the season's part in the level on these days."""
        cells = _cells(days, self.calendar)
        return np.zeros(len(days)) if cells is None else np.asarray(self.season[cells])

    @cached_property
    def rest(self) -> "ScaledPast":
        """The past without its season: what members draw from."""
        return replace(self, x=self.x - self.season_of(self.days)) if self.season.any() else self

    def ahead(self, now: FloatArray | float, long_run: float, steps: int) -> FloatArray:
        """Return the variance expected of each step ahead, from the one expected of the next: shape (..., steps)."""
        power = _PERSISTENCE[self.daily] ** np.arange(steps)
        return np.asarray(long_run + (np.asarray(now)[..., None] - long_run) * power)


def _cells(days: Days, calendar: Calendar) -> IntArray | None:
    """Return the part of the year, or week, that each day lies in; None for a frequency whose season is not looked for."""
    months = days.astype("datetime64[M]").astype(np.int64) % 12
    parts = {"month": months, "quarter": months // 3, "day": days.astype(np.int64) % 7}
    return parts.get(calendar.frequency)


def _regressed(design: FloatArray, target: FloatArray) -> tuple[FloatArray, float]:
    """Regress on parts whose effects sum to 0, and return their F against none but the constant in the last column.

    Errors are cut at four usual ones, so that one collapse does not become a season.
    """
    for _ in range(2):
        effects, *_ = np.linalg.lstsq(design, target, rcond=1e-9)
        fitted = design @ effects
        error = target - fitted
        limit = 4.0 * float(np.median(np.abs(error))) or np.inf
        target = fitted + np.clip(error, -limit, limit)
    constant = design[:, -1]
    alone = target - constant * (constant @ target) / (constant @ constant)
    residual = float(((target - fitted) ** 2).sum())
    parts = design.shape[1] - 2
    total_weight = float((constant**2).sum())
    explained = float((alone**2).sum()) - residual
    if explained <= 0.0 or total_weight <= parts + 1:
        return np.zeros(parts + 1), 0.0
    f = explained / parts / max(residual / (total_weight - parts - 1), 1e-300)
    return effects[:-1] - effects[:-1].mean(), f


def best_decay(level: FloatArray) -> float:
    """Choose the decay of a local level with the least squared error one step ahead; 1 is a walk."""
    tails = [(level[1:] - smoothed(level, decay)[:-1])[len(level) // 10 :] for decay in _LEVELS]
    return _LEVELS[int(np.argmin([float((tail**2).mean()) for tail in tails]))]


def smoothed(values: ArrayLike, share: float) -> FloatArray:
    """Average exponentially through each value, which enters with this share; the first value begins it; of each column.

    By pandas, since scipy's filters load all of its statistics: half a second in every process that reads a series.

    >>> smoothed([1.0, 3.0, 3.0], 0.5).tolist()
    [1.0, 2.0, 2.5]
    """
    table = np.asarray(values)
    series = pd.Series(table) if table.ndim == 1 else pd.DataFrame(table)
    return np.array(series.ewm(alpha=share, adjust=False).mean(), dtype=np.float64)


def _steps_grow_with_level(values: FloatArray) -> bool:
    """Whether steps are more alike as shares of the value than as amounts (never where a value is 0 or below)."""
    if (values <= 0).any() or len(values) < 3:
        return False
    level = np.log(values[:-1])
    if np.ptp(level) == 0.0:
        return True
    amounts, shares = np.abs(np.diff(values)), np.abs(np.diff(np.log(values)))
    if not amounts.any():
        return True
    return abs(_correlation(shares, level)) <= abs(_correlation(amounts, level))


def _correlation(a: FloatArray, b: FloatArray) -> float:
    spread = float(a.std() * b.std())
    return float(((a - a.mean()) * (b - b.mean())).mean()) / spread if spread else 0.0
