"""Probability of a dated claim about one series, from its own past: the models behind the offline analyst's leaves.

Every claim comes down to one number per window, the *statistic* (a log return, a path's lowest point, a realised
volatility), and to an interval ``[low, high]`` that it has to fall into. Windows start at the points of one weekly
grid that ends on the last day visible at the cutoff, so that claims about different series line up. A window
counts if its outcome was known by then.

The models, each a probability that the statistic of the coming window falls into the interval:

* **base rate**: the share of past windows in which it did;
* **vol-scaled**: the same windows, their deviations from the mean scaled to today's volatility term structure;
* **season**: the same calendar window of earlier years, shrunk to the base rate with 10 pseudo-years;
* **momentum**: past windows weighted by how alike their trailing half year was to the present one, shrunk likewise;
* **GJR-GARCH**: paths simulated from a fitted GJR-GARCH(1,1), innovations drawn from its own residuals (filtered
  historical simulation; Glosten, Jagannathan and Runkle 1993; Barone-Adesi, Giannopoulos and Vosper 1999);
* **AR**: direct regression of the window's change on the present level, for series that revert;
* **HAR**: regression of realised volatility on its own past week, month and half year (Corsi 2009).

Shares over rescaled or simulated windows are smoothed with a normal kernel of a tenth of a standard deviation:
a probability then moves with the last close instead of in steps. Nothing here reads a clock; simulations are seeded.
"""

from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import ndtr

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Method = Literal[
    "endpoint", "average", "path", "volatility", "relative", "reverting", "reverting-path", "monthly"
]

WEEKS = 1200
FRESH_DAYS = 5
PATHS = 4000
SEED = 20
P_MIN, P_MAX = 0.02, 0.98
HALF_YEAR = 126
AVERAGE_DAYS = 200


class TooLittleHistory(ValueError):
    """The visible history holds too few windows of this length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeafSpec:
    """What is asked of a series.

    ``low`` and ``high`` bound the statistic in the claim's own unit: growth factors relative to the value on
    ``start`` (endpoint, relative, drawdown along a path), levels of the series (``levels`` True), ratios to the
    200-day average (average), annualised volatility as a fraction (volatility); for monthly series in differences,
    changes in the unit of the series. ``start`` None is the last visible value. ``last_day`` is the last day of
    the visible calendar. ``extreme`` says which end of a path counts, ``never`` asks for the complement,
    ``strict`` leaves equality with a bound out.
    """

    method: Method
    end: date
    last_day: date
    low: float = -np.inf
    high: float = np.inf
    start: date | None = None
    levels: bool = False
    logs: bool = True
    extreme: Literal["max", "min"] = "max"
    never: bool = False
    strict: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class LeafEstimate:
    """The probability of a claim and what it rests on.

    ``models`` enter ``p`` with equal weight, ``comparators`` with none. ``outcomes`` holds, for the weekly windows
    whose as-of days run from ``first`` to ``last`` in steps of seven days, 1 (the claim came true), 0 or -1
    (not known). ``horizon`` is in trading days; ``effective_windows`` counts windows as if they did not overlap.
    """

    p: float
    base_rate: float
    models: dict[str, float]
    comparators: dict[str, float]
    horizon: int
    windows: int
    effective_windows: float
    first: date
    last: date
    outcomes: Ints = field(repr=False)


def trading_days(first: date, last: date) -> int:
    """Sessions of the New York Stock Exchange after ``first``, through ``last``; negative if ``last`` is earlier.

    Regular holidays by rule; the odd closure (a storm, a day of mourning) is not foreseen, as it was not then.

    Examples
    --------
    >>> trading_days(date(2018, 6, 29), date(2018, 12, 31))
    127
    """
    if last < first:
        return -trading_days(last, first)
    one = np.timedelta64(1, "D")
    closed = exchange_holidays(first.year, last.year)
    return int(np.busday_count(np.datetime64(first) + one, np.datetime64(last) + one, holidays=closed))


@lru_cache(maxsize=64)
def exchange_holidays(first: int, last: int) -> npt.NDArray[np.datetime64]:
    """Days of the years ``first`` to ``last`` on which the New York Stock Exchange is closed by rule."""
    from pandas.tseries.holiday import (
        AbstractHolidayCalendar,
        GoodFriday,
        Holiday,
        USLaborDay,
        USMartinLutherKingJr,
        USMemorialDay,
        USPresidentsDay,
        USThanksgivingDay,
        nearest_workday,
        sunday_to_monday,
    )

    rules = [
        Holiday("New Year", month=1, day=1, observance=sunday_to_monday),
        USMartinLutherKingJr,
        USPresidentsDay,
        GoodFriday,
        USMemorialDay,
        Holiday("Independence", month=7, day=4, observance=nearest_workday),
        USLaborDay,
        USThanksgivingDay,
        Holiday("Christmas", month=12, day=25, observance=nearest_workday),
    ]
    calendar = AbstractHolidayCalendar(name="NYSE", rules=rules)
    return (
        calendar.holidays(pd.Timestamp(first, 1, 1), pd.Timestamp(last, 12, 31))
        .to_numpy()
        .astype("datetime64[D]")
    )


def estimate(spec: LeafSpec, series: pd.Series, other: pd.Series | None = None) -> LeafEstimate:
    """Probability of a claim from the visible values of its series.

    Parameters
    ----------
    spec : LeafSpec
        The claim.
    series, other : Series of float with a DatetimeIndex
        Visible values, oldest first, without gaps; monthly series carry the first day of the month. ``other`` only
        for relative claims.

    Raises
    ------
    TooLittleHistory
        Fewer than two non-overlapping windows of this length lie in the visible history.
    """
    if spec.method == "monthly":
        return _monthly(spec, series)
    if spec.method == "relative":
        if other is None:
            raise ValueError("a relative claim needs a second series")
        both = pd.concat([series, other], axis=1, join="inner").dropna()
        series, other = both.iloc[:, 0], both.iloc[:, 1]
    return _Daily(spec, series, other).estimate()


def base_outcomes(spec: LeafSpec, series: pd.Series, other: pd.Series | None = None) -> LeafEstimate:
    """Base rate and outcomes alone, no model fitted: for choosing thresholds; ``p`` is the base rate."""
    if spec.method == "monthly":
        return _monthly(spec, series, only_base=True)
    if spec.method == "relative" and other is not None:
        both = pd.concat([series, other], axis=1, join="inner").dropna()
        series, other = both.iloc[:, 0], both.iloc[:, 1]
    return _Daily(spec, series, other).estimate(only_base=True)


def weekly_grid(last_day: date, first: pd.Timestamp) -> pd.DatetimeIndex:
    """As-of days of the common grid: every seventh day back from the last visible one, oldest first."""
    end = pd.Timestamp(last_day)
    weeks = min(WEEKS, max(0, (end - first).days // 7))
    return pd.date_range(end=end, periods=weeks + 1, freq="7D")


def positions(index: pd.DatetimeIndex, days: pd.DatetimeIndex) -> Ints:
    """Row of the last value on or before each day; -1 where there is none, or none in the five days before."""
    at = index.searchsorted(days, side="right") - 1
    age = (days - index[np.maximum(at, 0)]).days
    return np.where((at >= 0) & (age <= FRESH_DAYS), at, -1).astype(np.int64)


def smooth_share(values: Floats, low: float, high: float, weights: Floats | None = None) -> float:
    """Share of values in an interval, each spread by a normal kernel of a tenth of their standard deviation."""
    width = 0.1 * float(np.std(values)) or 1e-9
    inside = ndtr((high - values) / width) - ndtr((low - values) / width)
    return float(np.average(inside, weights=weights))


def ewma_variance(returns: Floats, decay: float = 0.94) -> Floats:
    """Exponentially weighted mean of squared returns, through each return."""
    return pd.Series(returns**2).ewm(alpha=1 - decay).mean().to_numpy()


def term_variance(now: Floats | float, mean: float, days: int, persistence: float = 0.98) -> Any:
    """Mean daily variance expected over the next days, reverting from ``now`` to ``mean``."""
    weight = (1 - persistence**days) / (days * (1 - persistence))
    return mean + (np.asarray(now) - mean) * weight


def simulate_garch(closes: pd.Series, days: int) -> Floats:
    """Daily log returns of simulated paths, shape (PATHS, days), from a GJR-GARCH fitted to all closes."""
    from arch import arch_model

    returns = 100 * np.diff(np.log(closes.to_numpy(dtype=float)))
    fit = arch_model(returns, mean="Constant", vol="GARCH", p=1, o=1, q=1, rescale=False).fit(disp="off")
    mu, omega, alpha, gamma, beta = (
        float(fit.params.iloc[k] if hasattr(fit.params, "iloc") else fit.params[k]) for k in range(5)
    )
    residuals = np.asarray(fit.std_resid)
    shocks = np.random.default_rng(SEED).choice(residuals, size=(days, PATHS))
    last = float(returns[-1] - mu)
    variance = np.full(
        PATHS,
        omega + (alpha + gamma * (last < 0)) * last**2 + beta * float(fit.conditional_volatility[-1]) ** 2,
    )
    paths = np.empty((days, PATHS))
    for day in range(days):
        shock = np.sqrt(variance) * shocks[day]
        paths[day] = mu + shock
        variance = omega + (alpha + gamma * (shock < 0)) * shock**2 + beta * variance
    return paths.T / 100


class _Daily:
    """One claim on a daily series: windows, statistics, models."""

    def __init__(self, spec: LeafSpec, series: pd.Series, other: pd.Series | None) -> None:
        self.spec = spec
        self.series = series
        values = series.to_numpy(dtype=float)
        self.x: Floats = np.log(values)
        if other is not None:
            self.x = self.x - np.log(other.to_numpy(dtype=float))
        self.returns: Floats = np.diff(self.x)
        index = pd.DatetimeIndex(series.index)
        self.today = index[-1].date()
        self.now = len(self.x) - 1
        self.days = trading_days(self.today, spec.end)
        begin = 0 if spec.start is None else trading_days(self.today, spec.start)
        self.known = max(0, -begin)  # days of the claim's window that have already passed
        self.begin = max(0, begin)
        if self.days - self.begin < 1:
            raise TooLittleHistory("no session lies between the start and the end of the claim")
        self.anchor = self.x[self.now]
        if begin < 0 and spec.start is not None:
            self.anchor = self.x[positions(index, pd.DatetimeIndex([pd.Timestamp(spec.start)]))[0]]
        lag = pd.Timestamp(spec.last_day) - index[-1]
        self.grid = weekly_grid(spec.last_day, index[0] + lag)
        at = positions(index, self.grid - lag)
        needs = AVERAGE_DAYS if spec.method == "average" else 20
        self.valid = (at >= needs) & (at + self.days <= self.now)
        self.at = at[self.valid]
        self.effective = len(self.at) * 5 / self.days
        if self.effective < 2:
            raise TooLittleHistory(
                f"only {self.effective:.1f} separate windows of {self.days} trading days lie in the visible history"
            )
        self.index = index
        self.low, self.high = _nudged(spec, *self._bounds())

    # --- the interval, in units of the statistic -------------------------------------------------------------

    def _bounds(self) -> tuple[float, float]:
        spec = self.spec
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
            left = (volatility**2 / 252 * whole - past) / future
            return 0.5 * np.log(252 * left) if left > 0 else -np.inf

        return bound(self.spec.low), bound(self.spec.high)

    # --- the statistic of past and simulated windows ---------------------------------------------------------

    def _past(self) -> Floats:
        spec, at, a, b = self.spec, self.at, self.begin, self.days
        if spec.method in ("endpoint", "relative"):
            return self.x[at + b] - self.x[at + a]
        if spec.method == "reverting":
            return self.x[at + b] - (0.0 if spec.levels else self.x[at + a])
        if spec.method == "average":
            means = np.log(self.series.rolling(AVERAGE_DAYS).mean().to_numpy())
            return np.asarray(self.x[at + b] - means[at + b])
        steps = self.returns[at[:, None] + np.arange(b)[None, :]]
        if spec.method == "reverting-path" and spec.levels:
            return self._of_steps(steps) + self.x[at]
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
            return np.asarray(0.5 * np.log(252 * np.mean(steps[:, a:] ** 2, axis=1)))
        walk = path[:, a:] - (path[:, [a - 1]] if a else 0.0)
        return np.asarray(walk.max(axis=1) if spec.extreme == "max" else walk.min(axis=1))

    # --- models ----------------------------------------------------------------------------------------------

    def estimate(self, *, only_base: bool = False) -> LeafEstimate:
        past = self._past()
        hits = (past >= self.low) & (past <= self.high)
        hits = ~hits if self.spec.never else hits
        base = float(hits.mean())
        models, comparators = ({"base rate": base}, {}) if only_base else self._models(past, hits, base)
        outcomes = np.full(len(self.grid), -1, dtype=np.int64)
        outcomes[self.valid] = hits
        known = np.flatnonzero(self.valid)
        return LeafEstimate(
            p=float(np.clip(np.mean(list(models.values())), P_MIN, P_MAX)),
            base_rate=base,
            models=models,
            comparators=comparators,
            horizon=self.days,
            windows=len(self.at),
            effective_windows=self.effective,
            first=self.grid[known[0]].date(),
            last=self.grid[known[-1]].date(),
            outcomes=outcomes[known[0] : known[-1] + 1],
        )

    def _models(self, past: Floats, hits: Any, base: float) -> tuple[dict[str, float], dict[str, float]]:
        method = self.spec.method
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
            models[name] = self._alike(hits, base)
        if method in ("endpoint", "average", "path", "volatility"):
            models["GJR-GARCH"] = self._share(self._of_steps(simulate_garch(self.series, self.days)))
        return models, self._comparators(base)

    def _share(self, values: Floats) -> float:
        share = smooth_share(values, self.low, self.high)
        return 1 - share if self.spec.never else share

    def _scaled(self) -> Floats:
        variance = ewma_variance(self.returns)
        mean = float(np.mean(self.returns**2))
        now = term_variance(variance[-1], mean, self.days)
        then = term_variance(variance[self.at - 1], mean, self.days)
        steps = self.returns[self.at[:, None] + np.arange(self.days)[None, :]]
        drift = float(self.returns.mean())
        return self._of_steps(drift + (steps - drift) * np.sqrt(now / then)[:, None])

    def _season(self, base: float) -> float:
        """Same window of earlier years; the present distance to the threshold is kept."""
        last = pd.Timestamp(self.index[-1])
        years = [last - pd.DateOffset(years=k) for k in range(1, 60)]
        at = positions(self.index, pd.DatetimeIndex([day for day in years if day >= self.index[0]]))
        at = at[(at >= 0) & (at + self.days <= self.now)]
        steps = self.returns[at[:, None] + np.arange(self.days)[None, :]]
        values = self._of_steps(steps) if len(at) else np.empty(0)
        count = float(np.sum((values >= self.low) & (values <= self.high)))
        return (count + 10 * base) / (len(at) + 10)

    def _alike(self, hits: Any, base: float) -> float:
        """Past windows weighted by the likeness of their state to the present one."""
        state = self._state()
        usable = np.isfinite(state[self.at])
        seen = state[self.at][usable]
        width = 0.5 * float(np.std(seen)) or 1e-9
        weights = np.exp(-0.5 * ((seen - state[self.now]) / width) ** 2)
        if not weights.sum() > 0:
            return base
        share = float(np.average(hits[usable], weights=weights))
        alike = float(weights.sum() ** 2 / np.sum(weights**2)) * 5 / self.days
        return (alike * share + 10 * base) / (alike + 10)

    def _state(self) -> Floats:
        """What the present is compared by: level, trailing return, distance to the average, or volatility."""
        if self.spec.method == "reverting":
            return self.x
        if self.spec.method == "average":
            return np.asarray(self.x - np.log(self.series.rolling(AVERAGE_DAYS).mean().to_numpy()))
        volatility = np.sqrt(np.concatenate([[np.nan], ewma_variance(self.returns)]))
        if self.spec.method == "path":
            return np.asarray(np.log(volatility))
        trailing = np.full(len(self.x), np.nan)
        trailing[HALF_YEAR:] = self.x[HALF_YEAR:] - self.x[:-HALF_YEAR]
        return np.asarray(trailing / (volatility * np.sqrt(HALF_YEAR)))

    def _har(self, past: Floats) -> float:
        squares = pd.Series(np.concatenate([[np.nan], self.returns**2]))
        parts = [
            0.5 * np.log(252 * squares.rolling(n).mean().clip(lower=1e-12)).to_numpy()
            for n in (5, 22, HALF_YEAR)
        ]
        design = np.column_stack([np.ones(len(self.x)), *parts])
        usable = np.isfinite(design[self.at]).all(axis=1)
        rows, target = design[self.at][usable], past[usable]
        beta = np.linalg.lstsq(rows, target, rcond=None)[0]
        return self._share(design[self.now] @ beta + target - rows @ beta)

    def _ar(self, past: Floats) -> float:
        rows = np.column_stack([np.ones(len(self.at)), self.x[self.at]])
        beta = np.linalg.lstsq(rows, past, rcond=None)[0]
        forecast = beta[0] + beta[1] * self.x[self.now]
        return self._share(forecast + past - rows @ beta)

    def _ar_paths(self) -> Floats:
        rows = np.column_stack([np.ones(self.now), self.x[:-1]])
        beta = np.linalg.lstsq(rows, self.x[1:], rcond=None)[0]
        shocks = np.random.default_rng(SEED).choice(self.x[1:] - rows @ beta, size=(self.days, PATHS))
        level = np.full(PATHS, self.x[self.now])
        steps = np.empty((self.days, PATHS))
        for day in range(self.days):
            following = beta[0] + beta[1] * level + shocks[day]
            steps[day] = following - level
            level = following
        return self._of_steps(steps.T) + (self.x[self.now] if self.spec.levels else 0.0)

    def _comparators(self, base: float) -> dict[str, float]:
        """Paper B's time-series models (BLF, App. I), printed beside the answer with weight 0 for prices."""
        if self.spec.method not in ("endpoint", "reverting") or self.begin:
            return {}
        width = 60
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


def _nudged(spec: LeafSpec, low: float, high: float) -> tuple[float, float]:
    """Bounds moved by 1e-9, so that equality counts or does not, whatever the last bit of a float says."""
    nudge = 1e-9 if spec.strict else -1e-9
    return low + nudge, high - nudge


def _monthly(spec: LeafSpec, series: pd.Series, *, only_base: bool = False) -> LeafEstimate:
    """Claims about monthly series: base rate, vol-scaled, momentum and AR, mean of the four."""
    index = pd.DatetimeIndex(series.index)
    values = series.to_numpy(dtype=float)
    x = np.log(values) if spec.logs else values
    now = len(x) - 1
    months = index.year.to_numpy() * 12 + index.month.to_numpy()
    if not np.array_equal(np.diff(months), np.ones(len(months) - 1)):
        raise ValueError("a monthly series must have one value a month, without gaps")
    last = months[-1]
    end = spec.end.year * 12 + spec.end.month - last
    begin = 0 if spec.start is None else spec.start.year * 12 + spec.start.month - last
    start = max(0, begin)
    if end - start < 1:
        raise TooLittleHistory("no month lies between the start and the end of the claim")
    grid = weekly_grid(spec.last_day, index[0])
    lag = spec.last_day.year * 12 + spec.last_day.month - last
    at_all = grid.year.to_numpy() * 12 + grid.month.to_numpy() - lag - months[0]
    valid = (at_all >= 12) & (at_all + end <= now)
    at = at_all[valid]
    horizon = 21 * int(end)
    effective = len(at) * 5 / horizon
    if effective < 2:
        raise TooLittleHistory(
            f"only {effective:.1f} separate windows of {end} months lie in the visible history"
        )
    low, high = spec.low, spec.high
    if spec.logs:
        with np.errstate(divide="ignore"):
            low, high = float(np.log(max(low, 0.0))), float(np.log(max(high, 0.0)))
    if spec.levels:
        low, high = low - x[now], high - x[now]
    elif begin < 0:
        low, high = low + x[now + begin] - x[now], high + x[now + begin] - x[now]
    low, high = _nudged(spec, low, high)
    past = x[at + end] - x[at + start]
    hits = (past >= low) & (past <= high)
    base = float(hits.mean())
    models = {"base rate": base}
    if not only_base:
        steps = np.diff(x)
        variance = ewma_variance(steps - steps.mean(), 0.9)
        mean = float(np.var(steps))
        ratio = np.sqrt(
            term_variance(variance[-1], mean, int(end), 0.9)
            / term_variance(variance[at - 1], mean, int(end), 0.9)
        )
        centre = float(past.mean())
        models["vol-scaled"] = smooth_share(centre + (past - centre) * ratio, low, high)
        trailing = np.full(len(x), np.nan)
        trailing[3:] = x[3:] - x[:-3]
        width = 0.5 * float(np.std(trailing[at])) or 1e-9
        weights = np.exp(-0.5 * ((trailing[at] - trailing[now]) / width) ** 2)
        alike = float(weights.sum() ** 2 / np.sum(weights**2)) * 5 / horizon if weights.sum() > 0 else 0.0
        share = float(np.average(hits, weights=weights)) if alike else base
        models["momentum"] = (alike * share + 10 * base) / (alike + 10)
        rows = np.column_stack([np.ones(len(at)), x[at], trailing[at]])
        beta = np.linalg.lstsq(rows, past, rcond=None)[0]
        models["AR"] = smooth_share(
            np.array([1.0, x[now], trailing[now]]) @ beta + past - rows @ beta, low, high
        )
    known = np.flatnonzero(valid)
    outcomes = np.full(len(grid), -1, dtype=np.int64)
    outcomes[valid] = hits
    return LeafEstimate(
        p=float(np.clip(np.mean(list(models.values())), P_MIN, P_MAX)),
        base_rate=base,
        models=models,
        comparators={},
        horizon=horizon,
        windows=len(at),
        effective_windows=effective,
        first=grid[known[0]].date(),
        last=grid[known[-1]].date(),
        outcomes=outcomes[known[0] : known[-1] + 1],
    )
