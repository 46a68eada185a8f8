"""Laws of past windows."""

from dataclasses import replace
from datetime import date

import numpy as np
import pandas as pd
import pytest

from workbench.forecasts.past_windows import ClaimWindows, TooLittleHistory, beside_now, reading_windows
from workbench.forecasts.reading import Reading
from workbench.forecasts.series.series_history import History
from workbench.forecasts.trading_days import trading_days

LAST = date(2018, 6, 29)
UP = Reading(
    series=("X",), transformation="growth", comparison="above", level=0.0, start=LAST, end=date(2018, 9, 28)
)


def walk(seed: int, *, drift: float = 0.0, days: int = 2500) -> History:
    rng = np.random.default_rng(seed)
    index = pd.bdate_range(end=LAST, periods=days)
    return History.of(index, 100 * np.exp(np.cumsum(drift + 0.01 * rng.standard_normal(days))))


def windows(reading: Reading, history: History) -> ClaimWindows:
    return reading_windows(reading, history, LAST, "growth")


def test_trading_days_follow_the_exchange() -> None:
    # 2018-07-04, Labor Day, Thanksgiving and Christmas fall on weekdays; 2018-12-05 (mourning) was not foreseeable
    assert trading_days(date(2018, 7, 3), date(2018, 7, 5)) == 1
    assert trading_days(LAST, date(2018, 12, 31)) == 127
    assert trading_days(date(2018, 12, 31), LAST) == -127
    assert trading_days(LAST, date(2018, 7, 1)) == 0
    assert trading_days(date(2014, 4, 17), date(2014, 4, 21)) == 1  # Good Friday


def test_a_fair_walk_is_a_coin_and_drift_tilts_it() -> None:
    fair = np.mean([windows(UP, walk(seed)).base_rate for seed in range(6)])
    tilted = np.mean([windows(UP, walk(seed, drift=0.002)).base_rate for seed in range(6)])
    assert fair == pytest.approx(0.5, abs=0.15)
    assert tilted > 0.8


def test_a_higher_bar_is_never_more_likely_and_never_is_the_complement() -> None:
    series = walk(3)
    rates = [windows(replace(UP, level=level), series).base_rate for level in (-10, -3, 0, 3, 10)]
    assert rates == sorted(rates, reverse=True)
    fall = replace(UP, statistic="lowest", comparison="at_most", level=-5.0)
    assert windows(fall, series).base_rate + windows(replace(fall, never=True), series).base_rate == pytest.approx(1)  # fmt: skip


def test_windows_end_before_the_cutoff() -> None:
    outcomes = windows(replace(UP, level=400.0), walk(5))
    assert outcomes.base_rate == 0.0
    assert trading_days(outcomes.last, LAST) >= outcomes.horizon - 1
    assert set(np.unique(outcomes.outcomes)) <= {0, 1, -1}


def test_too_short_a_history_is_named() -> None:
    with pytest.raises(TooLittleHistory, match="two independent periods"):
        windows(replace(UP, end=date(2019, 6, 28)), walk(8, days=300))


def test_a_distance_to_an_average_is_the_past_day_s_own() -> None:
    """However far the last value lies above its average, the share is that of the past."""
    history = walk(2)
    gap = Reading(
        series=("X",), transformation="average_gap", lag=200, comparison="above", level=0.0, end=UP.end
    )
    calm = windows(gap, history).base_rate
    leapt = History(days=history.days, values=np.append(history.values[:-1], 10 * history.values[-1]))
    assert windows(gap, leapt).base_rate == calm


@pytest.mark.parametrize(("scale", "ahead"), [("growth", [12.0, 18.0]), ("change", [7.0, 10.0]), ("none", [2.0, 6.0])])  # fmt: skip
def test_a_window_goes_on_from_the_last_value(scale: str, ahead: list[float]) -> None:
    assert beside_now(np.array([1.0, 2.0, 6.0]), 1, scale).ravel().tolist() == ahead  # type: ignore[arg-type]
    below = np.array([-1.0, 2.0, 6.0])
    assert beside_now(below, 1, "growth").tolist() == beside_now(below, 1, "change").tolist()
