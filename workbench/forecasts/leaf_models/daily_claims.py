"""Claims on daily series: from windows to a statistic, from the statistic to the models' probabilities."""

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr

from workbench.forecasts.leaf_models.claim_windows import nudged, positions, smooth_share, weekly_grid
from workbench.forecasts.leaf_models.spec import (
    P_MAX,
    P_MIN,
    Floats,
    LeafEstimate,
    LeafSpec,
    TooLittleHistory,
    refuse_too_few,
)
from workbench.forecasts.leaf_models.trading_days import trading_days
from workbench.forecasts.leaf_models.window_volatility import (
    PATHS,
    SEED,
    ewma_variance,
    simulate_garch,
    term_variance,
)
from workbench.forecasts.separate_windows import separate_windows

HALF_YEAR = 126
AVERAGE_DAYS = 200


class DailyModels:
    """One claim on a daily series: windows, statistics, models."""

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
        self.index = index
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

    # --- the statistic of past and simulated windows ---------------------------------------------------------

    def _past(self) -> Floats:
        spec, windows, a, b = self.spec, self.windows, self.begin, self.days
        if spec.method in ("endpoint", "relative"):
            return self.x[windows + b] - self.x[windows + a]
        if spec.method == "reverting":
            return self.x[windows + b] - (0.0 if spec.levels else self.x[windows + a])
        if spec.method == "average":
            means = np.log(self.series.rolling(AVERAGE_DAYS).mean().to_numpy())
            return np.asarray(self.x[windows + b] - means[windows + b])
        steps = self.returns[windows[:, None] + np.arange(b)[None, :]]
        if spec.method == "reverting-path" and spec.levels:
            return self._of_steps(steps) + self.x[windows]
        return self._of_steps(steps)

    def _of_steps(self, steps: Floats) -> Floats:
        """Statistic of windows given as daily log returns, shape (n, days), seen from the present."""
        spec, a = self.spec, self.begin
        path: Floats = np.cumsum(steps, axis=1)
        if spec.method in ("endpoint", "relative"):
            return path[:, -1] - (path[:, a - 1] if a else 0.0)
        if spec.method == "average":
            recent = self.x[max(0, self.now + 1 - AVERAGE_DAYS) :]
            full = np.concatenate(
                [np.broadcast_to(recent, (len(path), len(recent))), self.x[self.now] + path], axis=1
            )
            return np.asarray(full[:, -1] - np.log(np.exp(full[:, -AVERAGE_DAYS:]).mean(axis=1)))
        if spec.method == "volatility":
            # Held above 0 as the regressors of HAR are: a day or two may pass without any move.
            return np.asarray(0.5 * np.log(252 * np.mean(steps[:, a:] ** 2, axis=1).clip(min=1e-12)))
        walk = path[:, a:] - (path[:, [a - 1]] if a else 0.0)
        return np.asarray(walk.max(axis=1) if spec.extreme == "max" else walk.min(axis=1))

    # --- models ----------------------------------------------------------------------------------------------

    def estimate(self, *, only_base: bool = False, simulated: bool = True) -> LeafEstimate:
        """The models' probabilities and their mean; ``only_base`` fits none, ``simulated`` False leaves GJR-GARCH out."""
        past = self._past()
        hits = (past >= self.low) & (past <= self.high)
        hits = ~hits if self.spec.never else hits
        base = float(hits.mean())
        effective = separate_windows(hits, self.days / 5)
        refuse_too_few(effective, f"{self.days} trading days")
        models, comparators = (
            ({"base rate": base}, {}) if only_base else self._models(past, hits, effective, simulated)
        )
        outcomes = np.full(len(self.grid), -1, dtype=np.int64)
        outcomes[self.valid] = hits
        known = np.flatnonzero(self.valid)
        return LeafEstimate(
            p=float(np.clip(np.mean(list(models.values())), P_MIN, P_MAX)),
            base_rate=base,
            models=models,
            comparators=comparators,
            horizon=self.days,
            windows=len(self.windows),
            effective_windows=effective,
            first=self.grid[known[0]].date(),
            last=self.grid[known[-1]].date(),
            outcomes=outcomes[known[0] : known[-1] + 1],
        )

    def _models(
        self, past: Floats, hits: Any, effective: float, simulated: bool
    ) -> tuple[dict[str, float], dict[str, float]]:
        method = self.spec.method
        base = float(hits.mean())
        models = {"base rate": base}
        if method == "volatility":
            models["HAR"] = self._har(past)
        elif method == "reverting":
            models["AR"] = self._ar(past)
        elif method == "reverting-path":
            models["AR paths"] = self._share(self._ar_paths())
        else:
            models["vol-scaled"] = self._share(self._scaled())
        if method in ("endpoint", "average", "relative"):
            models["season"] = self._season(base)
        if method in ("endpoint", "average", "relative", "path", "reverting"):
            name = {"average": "distance", "path": "calm", "reverting": "analogues"}.get(method, "momentum")
            models[name] = self._alike(hits, effective)
        if simulated and method in ("endpoint", "average", "path", "volatility"):
            models["GJR-GARCH"] = self._share(self._of_steps(simulate_garch(self.series, self.days)))
        return models, self._comparators(base)

    def _share(self, values: Floats) -> float:
        share = smooth_share(values, self.low, self.high)
        return 1 - share if self.spec.never else share

    def _scaled(self) -> Floats:
        variance = ewma_variance(self.returns)
        mean = float(np.mean(self.returns**2))
        # `returns[i - 1]` ends on value i, so `windows - 1` is the last return that was visible at a window.
        now = term_variance(variance[-1], mean, self.days)
        then = term_variance(variance[self.windows - 1], mean, self.days)
        steps = self.returns[self.windows[:, None] + np.arange(self.days)[None, :]]
        drift = float(self.returns.mean())
        return self._of_steps(drift + (steps - drift) * np.sqrt(now / then)[:, None])

    def _season(self, base: float) -> float:
        """Same window of earlier years; the present distance to the threshold is kept."""
        last = pd.Timestamp(self.index[-1])
        years = [last - pd.DateOffset(years=k) for k in range(1, 60)]
        windows = positions(self.index, pd.DatetimeIndex([day for day in years if day >= self.index[0]]))
        windows = windows[(windows >= 0) & (windows + self.days <= self.now)]
        steps = self.returns[windows[:, None] + np.arange(self.days)[None, :]]
        values = self._of_steps(steps) if len(windows) else np.empty(0)
        count = float(np.sum((values >= self.low) & (values <= self.high)))
        return (count + 10 * base) / (len(windows) + 10)

    def _alike(self, hits: Any, effective: float) -> float:
        """Past windows weighted by the likeness of their state to the present one."""
        state = self._state()
        usable = np.isfinite(state[self.windows])
        seen = state[self.windows][usable]
        if not len(seen) or not np.isfinite(state[self.now]):
            raise TooLittleHistory("no past window has as much behind it as the present is compared by")
        # A constant state has no spread, and a width of 0 would divide by 0.
        width = 0.5 * float(np.std(seen)) or 1e-9
        weights = np.exp(-0.5 * ((seen - state[self.now]) / width) ** 2)
        base = float(hits.mean())
        if not weights.sum() > 0:
            return base
        share = float(np.average(hits[usable], weights=weights))
        # Kish's effective number of weighted windows, less what goes together; it meets the 10 pseudo-windows of the base rate.
        alike = float(weights.sum() ** 2 / np.sum(weights**2)) * effective / len(hits)
        return (alike * share + 10 * base) / (alike + 10)

    def _state(self) -> Floats:
        """What the present is compared by: level, trailing return, distance to the average, or volatility."""
        if self.spec.method == "reverting":
            return self.x
        if self.spec.method == "average":
            return np.asarray(self.x - np.log(self.series.rolling(AVERAGE_DAYS).mean().to_numpy()))
        # There is one return fewer than values.
        volatility = np.sqrt(np.concatenate([[np.nan], ewma_variance(self.returns)]))
        if self.spec.method == "path":
            return np.asarray(np.log(volatility))
        trailing = np.full(len(self.x), np.nan)
        trailing[HALF_YEAR:] = self.x[HALF_YEAR:] - self.x[:-HALF_YEAR]
        return np.asarray(trailing / (volatility * np.sqrt(HALF_YEAR)))

    def _har(self, past: Floats) -> float:
        squares = pd.Series(np.concatenate([[np.nan], self.returns**2]))
        parts = [
            # Clipped, since a stretch without any change would have the logarithm of 0.
            0.5 * np.log(252 * squares.rolling(n).mean().clip(lower=1e-12)).to_numpy()
            for n in (5, 22, HALF_YEAR)
        ]
        design = np.column_stack([np.ones(len(self.x)), *parts])
        usable = np.isfinite(design[self.windows]).all(axis=1)
        if usable.sum() < 2 * design.shape[1]:
            raise TooLittleHistory(
                f"only {usable.sum()} past windows have the half year behind them that volatility is read from"
            )
        rows, target = design[self.windows][usable], past[usable]
        beta = np.linalg.lstsq(rows, target, rcond=None)[0]
        # The forecast plus every past error of the regression: the errors need no distribution.
        return self._share(design[self.now] @ beta + target - rows @ beta)

    def _ar(self, past: Floats) -> float:
        rows = np.column_stack([np.ones(len(self.windows)), self.x[self.windows]])
        beta = np.linalg.lstsq(rows, past, rcond=None)[0]
        forecast = beta[0] + beta[1] * self.x[self.now]
        return self._share(forecast + past - rows @ beta)

    def _ar_paths(self) -> Floats:
        rows = np.column_stack([np.ones(self.now), self.x[:-1]])
        beta = np.linalg.lstsq(rows, self.x[1:], rcond=None)[0]
        shocks = np.random.default_rng(SEED).choice(self.x[1:] - rows @ beta, size=(self.days, PATHS))
        level = np.full(PATHS, self.x[self.now])
        # A row per day, so that the loop over days, which the recursion needs, writes contiguous memory.
        steps = np.empty((self.days, PATHS))
        for day in range(self.days):
            following = beta[0] + beta[1] * level + shocks[day]
            steps[day] = following - level
            level = following
        return self._of_steps(steps.T) + (self.x[self.now] if self.spec.levels else 0.0)

    def _comparators(self, base: float) -> dict[str, float]:
        """Paper B's time-series models (BLF, App. I), printed beside the answer with weight 0 for prices."""
        width = 60
        if self.spec.method not in ("endpoint", "reverting") or self.begin or len(self.x) < width:
            return {}
        y = self.x[-width:]
        slope, intercept = np.polyfit(np.arange(width), y, 1)
        spread = float(np.std(y - intercept - slope * np.arange(width), ddof=2))
        reached = self.spec.method == "reverting" and self.spec.levels
        ahead = intercept + slope * (width - 1 + self.days) - (0.0 if reached else self.x[self.now])
        linear = float(ndtr((self.high - ahead) / spread) - ndtr((self.low - ahead) / spread))
        safe = 0.1 * linear + 0.9 * 0.5
        return {"linear": linear, "safe-linear": safe, "hybrid": 0.5 * safe + 0.5 * self._knn_levels()}

    def _knn_levels(self) -> float:
        """Share of levels within seven days of the end's calendar day in five earlier years, Laplace-smoothed."""
        days = pd.DatetimeIndex(self.index)
        shift = 0.0 if self.spec.method == "reverting" and self.spec.levels else self.x[self.now]
        count = total = 0
        for k in range(1, 6):
            centre = pd.Timestamp(self.spec.end) - pd.DateOffset(years=k)
            near = np.abs((days - centre).days) <= 7
            values = self.x[near] - shift
            count += int(np.sum((values >= self.low) & (values <= self.high)))
            total += len(values)
        return (count + 1) / (total + 2)
