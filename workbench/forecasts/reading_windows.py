"""Count how often a reading came true in past windows of its series, whatever its frequency; its chance does not use this."""

from datetime import date
from typing import Literal

import numpy as np
import pandas as pd

from workbench.forecasts.leaf_models.claim_windows import weekly_grid
from workbench.forecasts.leaf_models.spec import ClaimWindows, TooLittleHistory, refuse_too_few
from workbench.forecasts.reading import Reading, outcomes_on
from workbench.forecasts.series.series_history import History
from workbench.forecasts.series_paths import Calendar, Paths

#: How past windows are laid beside the last known value: by their growth, by their changes, or where they were.
Scale = Literal["growth", "change", "none"]
_A_WEEK = 52.18
#: Values before the first window.
_BEFORE = 12


def reading_windows(reading: Reading, history: History, last_day: date, scale: Scale) -> ClaimWindows:
    """Return the base rate of a reading, and its outcome in every past weekly window that was known.

    Each past window goes on from the last known value as a path would, so that the reading is read from it by the same function.

    Raises `TooLittleHistory`: Fewer than two separate windows of this length are known, or their outcomes go together as fewer would.

    >>> days = np.arange("2008-01", "2018-07", dtype="datetime64[M]").astype("datetime64[D]")
    >>> rising = History.of(days, 100 * 1.01 ** np.arange(len(days)))
    >>> up = Reading(series=("X",), transformation="growth", comparison="above", level=2.5, end=date(2018, 9, 30))
    >>> windows = reading_windows(up, rising, date(2018, 7, 15), "growth")
    >>> windows.base_rate, windows.horizon
    (1.0, 65)
    """
    calendar = Calendar.of(history)
    ahead = calendar.stamps(history.days[-1].item(), reading.end)
    steps = len(ahead)
    if not steps:
        raise TooLittleHistory(f"no value is to come through {reading.end}")
    weeks = steps * _A_WEEK / calendar.steps_a_year
    age = np.datetime64(last_day, "D") - history.days[-1]
    grid = weekly_grid(last_day, pd.Timestamp(history.days[0] + age))
    places = np.searchsorted(history.days, grid.to_numpy().astype("datetime64[D]") - age, side="right") - 1
    valid = (places >= _BEFORE) & (places + steps < len(history))
    starts = places[valid]
    refuse_too_few(len(starts) / max(weeks, 1.0), f"{steps} values")
    # Windows that begin between two values of a slow series are one and the same.
    unique, which = np.unique(starts, return_inverse=True)
    x, now = history.values, float(history.values[-1])
    past = x[unique[:, None] + np.arange(1, steps + 1)[None, :]]
    base = x[unique][:, None]
    if scale == "growth":
        past = now * past / base
    elif scale == "change":
        past = now + past - base
    paths = Paths.of(past, ahead, known=history, calendar=calendar, member="past windows")
    hits = outcomes_on(reading, paths)[which]
    return ClaimWindows.of(
        hits,
        valid,
        grid,
        weeks=weeks,
        # In trading days, five a week, by which windows of all series are counted.
        horizon=max(1, round(5 * weeks)),
        length=f"{steps} values",
    )


def scale_of(reading: Reading, history: History, *, returns: bool) -> Scale:
    """Choose how past windows are laid beside now: levels of a series that ``returns`` to them stay where they were.

    Two levels, of which one is met first, lie about the value of now: a window that began beyond one of them would say nothing.
    """
    if returns and reading.transformation == "value" and reading.statistic not in ("volatility", "first"):
        return "none"
    return "growth" if bool((history.values > 0).all()) else "change"
