"""Laws of past windows."""

from dataclasses import replace
from datetime import date

import numpy as np
import pandas as pd
import pytest

from workbench.forecasts.leaf_models import LeafSpec, TooLittleHistory, base_outcomes, trading_days
from workbench.forecasts.leaf_models.claim_windows import positions, weekly_grid

LAST = date(2018, 6, 29)


def walk(seed: int, *, drift: float = 0.0, days: int = 2500) -> pd.Series:
    rng = np.random.default_rng(seed)
    index = pd.bdate_range(end=LAST, periods=days)
    return pd.Series(100 * np.exp(np.cumsum(drift + 0.01 * rng.standard_normal(days))), index=index)


def up(**changes: object) -> LeafSpec:
    spec = LeafSpec(method="endpoint", start=LAST, end=date(2018, 9, 28), last_day=LAST, low=1.0)
    return replace(spec, **changes)  # type: ignore[arg-type]


def test_trading_days_follow_the_exchange() -> None:
    # 2018-07-04, Labor Day, Thanksgiving and Christmas fall on weekdays; 2018-12-05 (mourning) was not foreseeable
    assert trading_days(date(2018, 7, 3), date(2018, 7, 5)) == 1
    assert trading_days(LAST, date(2018, 12, 31)) == 127
    assert trading_days(date(2018, 12, 31), LAST) == -127
    assert trading_days(LAST, date(2018, 7, 1)) == 0
    assert trading_days(date(2014, 4, 17), date(2014, 4, 21)) == 1  # Good Friday


def test_the_grid_ends_on_the_last_visible_day_and_is_weekly() -> None:
    grid = weekly_grid(LAST, pd.Timestamp("2018-01-01"))
    assert grid[-1] == pd.Timestamp(LAST)
    assert set(np.diff(grid.to_numpy()).astype("timedelta64[D]").astype(int)) == {7}
    assert len(weekly_grid(LAST, pd.Timestamp("1950-01-01"))) == 1201


def test_a_position_is_the_last_row_at_most_five_days_old() -> None:
    index = pd.DatetimeIndex(["2018-06-01", "2018-06-20"])
    days = pd.DatetimeIndex(["2018-05-31", "2018-06-01", "2018-06-06", "2018-06-07", "2018-06-25"])
    assert positions(index, days).tolist() == [-1, 0, 0, -1, 1]


def test_a_fair_walk_is_a_coin_and_drift_tilts_it() -> None:
    fair = np.mean([base_outcomes(up(), walk(seed)).base_rate for seed in range(6)])
    tilted = np.mean([base_outcomes(up(), walk(seed, drift=0.002)).base_rate for seed in range(6)])
    assert fair == pytest.approx(0.5, abs=0.15)
    assert tilted > 0.8


def test_a_higher_bar_is_never_more_likely() -> None:
    series = walk(3)
    found = [base_outcomes(up(low=bar), series) for bar in (0.9, 0.97, 1.0, 1.03, 1.1)]
    assert [item.base_rate for item in found] == sorted((item.base_rate for item in found), reverse=True)


def test_never_is_the_complement() -> None:
    spec = up(method="path", low=0.0, high=0.95, extreme="min")
    series = walk(4)
    never = base_outcomes(replace(spec, never=True), series).base_rate
    assert base_outcomes(spec, series).base_rate + never == pytest.approx(1)


def test_windows_end_before_the_cutoff() -> None:
    found = base_outcomes(up(low=5.0), walk(5))
    assert found.base_rate == 0.0
    assert trading_days(found.last, LAST) >= found.horizon - 1
    assert set(np.unique(found.outcomes)) <= {0, 1, -1}


def test_too_short_a_history_is_named() -> None:
    with pytest.raises(TooLittleHistory, match="separate windows"):
        base_outcomes(up(end=date(2019, 6, 28)), walk(8, days=300))


def test_windows_that_go_together_are_too_few_however_many_they_are() -> None:
    """Fifteen years below a level and the half after it above: weekly windows by the hundred, one crossing."""
    series = walk(8)
    level = pd.Series(np.where(np.arange(len(series)) < len(series) // 2, 10.0, 20.0), index=series.index)
    wiggle = 1 + 0.001 * np.sin(np.arange(len(series)))
    above = LeafSpec(method="reverting", levels=True, end=date(2018, 7, 6), last_day=LAST, low=15.0)
    with pytest.raises(TooLittleHistory, match=r"only 1\.\d separate windows"):
        base_outcomes(above, level * wiggle)
    # The control: as many windows of a level that crosses week by week.
    weeks = np.where(np.arange(len(series)) // 5 % 2, 10.0, 20.0)
    assert base_outcomes(above, pd.Series(weeks, index=series.index) * wiggle).effective_windows > 100
