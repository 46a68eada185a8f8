"""Claims on monthly series."""

import numpy as np
import pandas as pd

from workbench.forecasts.leaf_models.claim_windows import nudged, smooth_share, weekly_grid
from workbench.forecasts.leaf_models.spec import (
    P_MAX,
    P_MIN,
    LeafEstimate,
    LeafSpec,
    TooLittleHistory,
    refuse_too_few,
)
from workbench.forecasts.leaf_models.window_volatility import ewma_variance, term_variance
from workbench.forecasts.separate_windows import separate_windows


def estimate_monthly(spec: LeafSpec, series: pd.Series, *, only_base: bool = False) -> LeafEstimate:
    """Probability of a claim on a monthly series: the mean of base rate, vol-scaled, momentum and AR.

    Parameters
    ----------
    spec : LeafSpec
        The claim; its bounds in growth factors (``logs``) or in changes in the series' unit.
    series : Series of float with a DatetimeIndex
        One value a month without gaps, stamped with the month's first day, oldest first.
    only_base : bool
        Whether to leave the models out; ``p`` is then the base rate.

    Raises
    ------
    TooLittleHistory
        Fewer than two separate windows of this length, or no month between the claim's start and end.
    ValueError
        A month is missing.

    Examples
    --------
    >>> from datetime import date
    >>> index = pd.date_range("1998-01-01", periods=240, freq="MS")
    >>> yields = pd.Series(4 + 0.01 * np.arange(240), index=index)
    >>> spec = LeafSpec(
    ...     method="monthly", end=date(2018, 3, 1), last_day=date(2018, 1, 5), low=0.0, logs=False, start=None
    ... )
    >>> estimate_monthly(spec, yields, only_base=True).base_rate
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
    base = float(hits.mean())
    effective = separate_windows(hits, horizon / 5)
    refuse_too_few(effective, f"{end} months")
    models = {"base rate": base}
    if not only_base:
        steps = np.diff(x)
        variance = ewma_variance(steps - steps.mean(), 0.9)
        mean = float(np.var(steps))
        ratio = np.sqrt(
            term_variance(variance[-1], mean, int(end), 0.9)
            / term_variance(variance[windows - 1], mean, int(end), 0.9)
        )
        centre = float(past.mean())
        models["vol-scaled"] = smooth_share(centre + (past - centre) * ratio, low, high)
        trailing = np.full(len(x), np.nan)
        trailing[3:] = x[3:] - x[:-3]
        width = 0.5 * float(np.std(trailing[windows])) or 1e-9
        weights = np.exp(-0.5 * ((trailing[windows] - trailing[now]) / width) ** 2)
        # Effective number of weighted windows, less what goes together, as in the daily models.
        alike = (
            float(weights.sum() ** 2 / np.sum(weights**2)) * effective / len(hits)
            if weights.sum() > 0
            else 0.0
        )
        share = float(np.average(hits, weights=weights)) if alike else base
        models["momentum"] = (alike * share + 10 * base) / (alike + 10)
        rows = np.column_stack([np.ones(len(windows)), x[windows], trailing[windows]])
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
        windows=len(windows),
        effective_windows=effective,
        first=grid[known[0]].date(),
        last=grid[known[-1]].date(),
        outcomes=outcomes[known[0] : known[-1] + 1],
    )
