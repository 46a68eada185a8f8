"""Claims on monthly series."""

import numpy as np
import pandas as pd

from workbench.forecasts.leaf_models.claim_windows import nudged, weekly_grid
from workbench.forecasts.leaf_models.spec import ClaimWindows, LeafSpec, TooLittleHistory, refuse_too_few


def monthly_windows(spec: LeafSpec, series: pd.Series) -> ClaimWindows:
    """Return the base rate and past outcomes of a claim on a monthly series.

    Raises `TooLittleHistory`: Fewer than two separate windows of this length, or no month between the claim's start and end. Raises
    `ValueError`: A month is missing.

    >>> from datetime import date
    >>> index = pd.date_range("1998-01-01", periods=240, freq="MS")
    >>> yields = pd.Series(4 + 0.01 * np.arange(240), index=index)
    >>> spec = LeafSpec(
    ...     method="monthly", end=date(2018, 3, 1), last_day=date(2018, 1, 5), low=0.0, logs=False, start=None
    ... )
    >>> monthly_windows(spec, yields).base_rate
    1.0
    """
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
    # Months by which the last value lags behind the cutoff (publication takes time). Past as-of days see no more than that.
    lag = spec.last_day.year * 12 + spec.last_day.month - last
    at_all = grid.year.to_numpy() * 12 + grid.month.to_numpy() - lag - months[0]
    valid = (at_all >= 12) & (at_all + end <= now)
    windows = at_all[valid]
    # In trading days, the unit of the daily models.
    horizon = 21 * int(end)
    side_by_side = len(windows) * 5 / horizon
    refuse_too_few(side_by_side, f"{end} months")
    low, high = spec.low, spec.high
    if spec.logs:
        with np.errstate(divide="ignore"):
            low, high = float(np.log(max(low, 0.0))), float(np.log(max(high, 0.0)))
    if spec.levels:
        low, high = low - x[now], high - x[now]
    elif begin < 0:
        low, high = low + x[now + begin] - x[now], high + x[now + begin] - x[now]
    low, high = nudged(spec, low, high)
    past = x[windows + end] - x[windows + start]
    hits = (past >= low) & (past <= high)
    return ClaimWindows.of(hits, valid, grid, weeks=horizon / 5, horizon=horizon, length=f"{end} months")
