"""Judge claims on daily series: from past windows to a statistic, from the statistic to outcomes."""

import numpy as np
import pandas as pd

from workbench.forecasts.leaf_models.claim_windows import nudged, positions, weekly_grid
from workbench.forecasts.leaf_models.spec import (
    ClaimWindows,
    Floats,
    LeafSpec,
    TooLittleHistory,
    refuse_too_few,
)
from workbench.forecasts.leaf_models.trading_days import trading_days

AVERAGE_DAYS = 200


class DailyWindows:
    """One claim on a daily series in the past windows of its length."""

    def __init__(self, spec: LeafSpec, series: pd.Series, other: pd.Series | None) -> None:
        self.spec = spec
        self.series = series
        values = series.to_numpy(dtype=float)
        self.x: Floats = np.log(values)
        if other is not None:
            # Outperformance is a rise of the ratio: one series from here on.
            self.x = self.x - np.log(other.to_numpy(dtype=float))
        self.returns: Floats = np.diff(self.x)
        index = pd.DatetimeIndex(series.index)
        self.today = index[-1].date()
        self.now = len(self.x) - 1
        self.days = trading_days(self.today, spec.end)
        begin = 0 if spec.start is None else trading_days(self.today, spec.start)
        self.begin = max(0, begin)
        if self.days - self.begin < 1:
            raise TooLittleHistory("no session lies between the start and the end of the claim")
        started = self.now
        if spec.start is not None and spec.start < self.today:
            started = int(positions(index, pd.DatetimeIndex([pd.Timestamp(spec.start)]))[0])
            if started < 0:
                raise TooLittleHistory(
                    f"no value of {spec.start}, nor of the five days before it, is visible"
                )
        self.anchor = self.x[started]
        # Values of the claim's window that are there already, by count: an unforeseen closure left some sessions out.
        self.known = self.now - started
        # The last value may be older than the last visible day. Every past as-of day is given data of the same age.
        lag = pd.Timestamp(spec.last_day) - index[-1]
        self.grid = weekly_grid(spec.last_day, index[0] + lag)
        windows = positions(index, self.grid - lag)
        needs = AVERAGE_DAYS if spec.method == "average" else 20
        self.valid = (windows >= needs) & (windows + self.days <= self.now)
        self.windows = windows[self.valid]
        # Windows start a week (5 sessions) apart and last `days` sessions, so most of them overlap.
        side_by_side = len(self.windows) * 5 / self.days
        # Of which outcomes that go together leave fewer.
        refuse_too_few(side_by_side, f"{self.days} trading days")
        self.low, self.high = nudged(spec, *self._bounds())

    # --- the interval, in units of the statistic -------------------------------------------------------------

    def _bounds(self) -> tuple[float, float]:
        spec = self.spec
        # A bound of 0 is no bound: its logarithm has to be -inf.
        with np.errstate(divide="ignore"):
            low, high = np.log(max(spec.low, 0.0)), np.log(max(spec.high, 0.0))
        if spec.method == "volatility":
            return self._volatility_bounds()
        if spec.method in ("reverting", "reverting-path") and spec.levels:
            return low, high
        if spec.levels:  # a level of the series, seen from the last close
            return low - self.x[self.now], high - self.x[self.now]
        if spec.method == "average":
            return low, high
        gap = self.anchor - self.x[self.now] if self.begin == 0 else 0.0
        return low + gap, high + gap

    def _volatility_bounds(self) -> tuple[float, float]:
        past = float(np.sum(self.returns[len(self.returns) - self.known :] ** 2)) if self.known else 0.0
        whole = self.known + self.days - self.begin
        future = self.days - self.begin

        def bound(volatility: float) -> float:
            if not np.isfinite(volatility):
                return np.inf if volatility > 0 else -np.inf
            # Variances add up: what the days that have passed used of the bound is no longer free for those to come.
            left = (volatility**2 / 252 * whole - past) / future
            return 0.5 * np.log(252 * left) if left > 0 else -np.inf

        return bound(self.spec.low), bound(self.spec.high)

    # --- the statistic of past windows -----------------------------------------------------------------------

    def past(self) -> ClaimWindows:
        """Return the windows in which the statistic fell into the interval."""
        statistic = self._statistic()
        hits = (statistic >= self.low) & (statistic <= self.high)
        hits = ~hits if self.spec.never else hits
        return ClaimWindows.of(
            hits,
            self.valid,
            self.grid,
            weeks=self.days / 5,
            horizon=self.days,
            length=f"{self.days} trading days",
        )

    def _statistic(self) -> Floats:
        spec, windows, a, b = self.spec, self.windows, self.begin, self.days
        if spec.method in ("endpoint", "relative"):
            return self.x[windows + b] - self.x[windows + a]
        if spec.method == "reverting":
            return self.x[windows + b] - (0.0 if spec.levels else self.x[windows + a])
        if spec.method == "average":
            means = np.log(self.series.rolling(AVERAGE_DAYS).mean().to_numpy())
            return np.asarray(self.x[windows + b] - means[windows + b])
        steps = self.returns[windows[:, None] + np.arange(b)[None, :]]
        if spec.method == "volatility":
            # Held above 0: a day or two may pass without any move.
            return np.asarray(0.5 * np.log(252 * np.mean(steps[:, a:] ** 2, axis=1).clip(min=1e-12)))
        path: Floats = np.cumsum(steps, axis=1)
        walk = path[:, a:] - (path[:, [a - 1]] if a else 0.0)
        extremes = walk.max(axis=1) if spec.extreme == "max" else walk.min(axis=1)
        at_level = spec.method == "reverting-path" and spec.levels
        return np.asarray(extremes + self.x[windows] if at_level else extremes)
