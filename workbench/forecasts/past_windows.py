"""Past windows of a series: each laid beside the last known value as a path would go on from it; base rates are counted on them."""

from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any, Literal

import numpy as np
import pandas as pd

from workbench.forecasts.reading import NoPercentage, Reading, average_gap, outcomes_on, refuse_percentage
from workbench.forecasts.separate_windows import FEWEST_SEPARATE, separate_windows
from workbench.forecasts.series.series_history import History
from workbench.forecasts.series_paths import Calendar, Paths
from workbench.science.arrays import FloatArray, IntArray

#: How past windows are laid beside the last known value: by their growth (by their changes where a value is not above 0), by their
#: changes, or where they were.
Scale = Literal["growth", "change", "none"]

P_MIN, P_MAX = 0.02, 0.98
#: Sessions of a year, by which windows of all series are counted; and of a week, the distance of two windows.
_SESSIONS, _A_WEEK = 252, 5
_WEEKS = 1200
#: Values before the first window, and no more than a year of them.
_BEFORE = 20


class TooLittleHistory(ValueError):
    """The visible history holds too few windows of this length."""


def refuse_too_few(separate: float, length: str) -> None:
    """Refuse fewer than two separate windows (`separate_windows`), of which no share means anything; raises ``TooLittleHistory``."""
    if separate < FEWEST_SEPARATE:
        raise TooLittleHistory(f"the visible history holds fewer than two independent periods of {length}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimWindows:
    """The outcomes of a claim in past windows of its length.

    ``outcomes`` holds, for the weekly windows whose as-of days run from ``first`` to ``last`` in steps of seven days, 1
    (the claim came true), 0 or -1 (not known). ``horizon`` is in trading days; ``effective_windows`` counts windows as if
    they did not overlap. One not known between known ones is of values at or
    below 0, from which no percentage is measured.
    """

    base_rate: float
    horizon: int
    windows: int
    effective_windows: float
    first: date
    last: date
    outcomes: IntArray = field(repr=False)

    def record(self) -> dict[str, Any]:
        """Return the numbers as JSON values; ``bits`` are the outcomes by week: 1 true, 0 false, x not known."""
        return {
            "base_rate": round(self.base_rate, 6),
            "horizon_days": self.horizon,
            "windows": self.windows,
            "effective_windows": round(self.effective_windows, 1),
            "weeks_from": self.first.isoformat(),
            "weeks_to": self.last.isoformat(),
            "bits": "".join({1: "1", 0: "0", -1: "x"}[int(bit)] for bit in self.outcomes),
        }


def beside_now(values: FloatArray, steps: int, scale: Scale, starts: IntArray | None = None) -> FloatArray:
    """Return past stretches of so many steps as they would go on from the last value, shape (starts, steps).

    ``starts`` are the positions before each stretch; None: all that there are.

    >>> beside_now(np.array([1.0, 2.0, 6.0]), 1, "growth").ravel().tolist()
    [12.0, 18.0]
    """
    if len(values) <= steps:
        return np.empty((0, steps))
    windows = np.lib.stride_tricks.sliding_window_view(values, steps + 1)
    windows = windows if starts is None else windows[starts]
    base, past = windows[:, :1], windows[:, 1:]
    if scale == "none":
        return past
    if scale == "growth" and (values > 0).all():
        return np.asarray(values[-1] * past / base)
    return np.asarray(values[-1] + past - base)


def reading_windows(reading: Reading, history: History, last_day: date, scale: Scale) -> ClaimWindows:
    """Return the base rate of a reading, and its outcome in every past weekly window that was known.

    Windows start at the points of one weekly grid that ends on the last visible day, so that claims about different series line up. Each
    is given data of the same age as now, and is read by the function that reads paths.

    Raises `TooLittleHistory`: Fewer than two separate windows of this length are known, or their outcomes go together as fewer would.
    Raises `ScienceError`: No value of the claim's window is to come, or values at or below 0 leave no percentage in any window.

    >>> days = np.arange("2008-01", "2018-07", dtype="datetime64[M]").astype("datetime64[D]")
    >>> rising = History.of(days, 100 * 1.01 ** np.arange(len(days)))
    >>> up = Reading(series=("X",), transformation="growth", comparison="above", level=2.5, end=date(2018, 9, 30))
    >>> windows = reading_windows(up, rising, date(2018, 7, 15), "growth")
    >>> windows.base_rate, windows.horizon
    (1.0, 63)
    """
    calendar = Calendar.of(history)
    refuse_percentage(reading, history, calendar)
    before = min(_BEFORE, round(calendar.steps_a_year))
    if reading.transformation == "average_gap":
        # How far each day of the past was from its own average, not how far now's average would be from other days.
        history, scale = _average_gaps(history, reading), "none"
        before = 1
        reading = replace(reading, transformation="value", lag=None)
    ahead = calendar.stamps(history.days[-1].item(), reading.end)
    steps = len(ahead)
    length = f"{steps} {'trading day' if calendar.frequency == 'session' else calendar.frequency}s"
    if not steps:
        raise TooLittleHistory(f"no value is to come through {reading.end}")
    weeks = steps * _SESSIONS / calendar.steps_a_year / _A_WEEK
    grid = _weekly_grid(last_day, history.days[0])
    places = places_at(history, grid, last_day, calendar)
    known = np.flatnonzero((places >= before) & (places + steps < len(history)))
    refuse_too_few(len(known) / max(weeks, 1.0), length)
    # Windows that begin between two values of a slow series are one and the same.
    starts, which = np.unique(places[known], return_inverse=True)
    past = beside_now(history.values, steps, scale, starts)
    # A distance to an average that is none makes its window unknown.
    paths = Paths.of(np.nan_to_num(past), ahead, known=history, calendar=calendar, member="past windows")
    true, measured = outcomes_on(reading, paths)
    outcomes = np.full(len(grid), -1, dtype=np.int64)
    outcomes[known] = np.where(measured & ~np.isnan(past).any(axis=1), true, -1)[which]
    hits = outcomes[outcomes >= 0]
    if not len(hits):
        raise NoPercentage
    effective = separate_windows(hits, weeks)
    refuse_too_few(effective, length)
    return ClaimWindows(
        base_rate=float(hits.mean()),
        horizon=max(1, round(_A_WEEK * weeks)),
        windows=len(hits),
        effective_windows=effective,
        first=grid[known[0]].item(),
        last=grid[known[-1]].item(),
        outcomes=outcomes[known[0] : known[-1] + 1],
    )


def places_at(history: History, days: np.ndarray, last_day: date, calendar: Calendar) -> IntArray:
    """Return the position of the value known last on each day, if values had come out as late as the last one has by ``last_day``."""
    late = len(calendar.stamps(history.days[-1].item(), last_day))
    return np.asarray(np.searchsorted(history.days, days, side="right") - 1 - late)


def _weekly_grid(last_day: date, first: np.datetime64) -> np.ndarray:
    """Every seventh day back from the last visible one, oldest first; not before a series' first, nor more than 1,200 weeks."""
    end = np.datetime64(last_day, "D")
    weeks = min(_WEEKS, max(0, int((end - first).astype(int)) // 7))
    return np.asarray(end - 7 * np.arange(weeks, -1, -1))


def _average_gaps(history: History, reading: Reading) -> History:
    """Compute the distance of every day to its own average, from the first day that has one; NaN where it is no percentage."""
    count = reading.lag or 1
    history.need(count, "an average")
    means = pd.Series(history.values).rolling(count).mean().to_numpy()
    gaps = average_gap(reading, history.values, means)
    return History(days=history.days[count - 1 :], values=gaps[count - 1 :])


def scale_of(reading: Reading, *, returns: bool) -> Scale:
    """Choose how past windows are laid beside now: levels of a series that ``returns`` to them stay where they were.

    Two levels, of which one is met first, lie about the value of now: a window that began beyond one of them would say nothing.
    """
    levels = reading.transformation == "value" and reading.statistic not in ("volatility", "first")
    return "none" if returns and levels else "growth"
