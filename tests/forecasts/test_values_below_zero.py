"""Series with values at or below zero: a decision in percent is measured from a value above zero, or refused; never made in silence."""

import contextlib
from dataclasses import replace
from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.forecasts.leaf_forecast import like_windows
from workbench.forecasts.past_windows import reading_windows
from workbench.forecasts.reading import Decision, NoPercentage, Reading, chance, decide
from workbench.forecasts.series.series_history import History
from workbench.forecasts.series_paths import Calendar, Paths
from workbench.science.errors import DomainError

SESSIONS = Calendar(frequency="session")
DAYS = SESSIONS.stamps(date(2018, 1, 1), date(2018, 7, 31))
PERCENTS = {"growth": None, "from_peak": None, "average_gap": 5}
OPPOSITE = {"above": "at_most", "below": "at_least"}


@st.composite
def values(draw: st.DrawFn, centre: float) -> np.ndarray:
    """A walk with values of one sign or both about a centre."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    steps = draw(st.sampled_from([0.02, 0.2, 1.0])) * rng.standard_normal(len(DAYS))
    return np.round(centre + np.cumsum(steps), draw(st.sampled_from([0, 2])))


@st.composite
def readings(draw: st.DrawFn, transformations: tuple[str, ...]) -> Reading:
    transformation = draw(st.sampled_from(transformations))
    statistic = (
        "volatility"
        if transformation == "value"
        else draw(st.sampled_from(["last", "highest", "lowest", "mean"]))
    )
    first = draw(st.integers(10, 100))
    return Reading(
        series=("X",),
        transformation=transformation,  # type: ignore[arg-type]
        statistic=statistic,  # type: ignore[arg-type]
        comparison=draw(st.sampled_from(["above", "below"])),
        level=draw(st.sampled_from([0.0, 1.0, 20.0, -3.0, 250.0])),
        lag=PERCENTS.get(transformation) or (draw(st.sampled_from([None, 1, 5])) if transformation in ("growth", "change") else None),
        start=DAYS[first].item(),
        end=DAYS[first + draw(st.integers(1, 20))].item(),
    )  # fmt: skip


def outcome(reading: Reading, history: History) -> Decision | None:
    """The decision, or None where it is refused."""
    try:
        decision = decide(reading, history, SESSIONS)
    except NoPercentage:
        return None
    assert decision is not None
    return decision


@given(values=values(0.3), reading=readings(("growth", "from_peak", "average_gap", "value", "change")))
def test_a_claim_or_its_opposite_holds_or_both_are_refused(values: np.ndarray, reading: Reading) -> None:
    history = History.of(DAYS, values)
    opposite = replace(reading, comparison=OPPOSITE[reading.comparison])  # type: ignore[arg-type]
    found = [outcome(one, history) for one in (reading, opposite)]
    assert (found[0] is None) == (found[1] is None)
    if found[0] is not None and found[1] is not None:
        assert found[0].true != found[1].true
    # Paths that go on from it are judged likewise: the shares of a claim and its opposite make up all, or both are refused.
    seen = int(np.searchsorted(DAYS, np.datetime64(reading.end))) - 1
    known = History(days=DAYS[:seen], values=values[:seen])
    end = len(DAYS) - seen
    paths = Paths.of(np.stack([values[seen:], values[:end], values[::-1][:end]]), DAYS[seen:], known=known, calendar=SESSIONS)  # fmt: skip
    shares = []
    for one in (reading, opposite):
        with contextlib.suppress(NoPercentage):
            shares.append(chance(one, paths).p)
    assert len(shares) in (0, 2) and (not shares or sum(shares) == pytest.approx(1.0))


@given(
    values=values(20.0), reading=readings((*PERCENTS, "value")), times=st.sampled_from([0.01, 3.0, 1000.0])
)
def test_the_unit_of_a_positive_series_changes_no_decision_in_percent(
    values: np.ndarray, reading: Reading, times: float
) -> None:
    values = np.maximum(values, 0.01)
    decision = decide(reading, History.of(DAYS, values), SESSIONS)
    scaled = decide(reading, History.of(DAYS, values * times), SESSIONS)
    assert decision is not None and scaled is not None
    assert (decision.true, decision.day) == (scaled.true, scaled.day)


@given(values=values(0.0), reading=readings(("change",)), by=st.integers(-1000, 1000))
def test_where_zero_lies_changes_no_decision_in_points(values: np.ndarray, reading: Reading, by: int) -> None:
    above_average = replace(reading, transformation="average_gap", lag=5, statistic="last", level=0.0)
    for one in (reading, above_average):
        decision = decide(one, History.of(DAYS, values), SESSIONS)
        shifted = decide(one, History.of(DAYS, values + by), SESSIONS)
        assert decision is not None and shifted is not None
        assert (decision.true, decision.day) == (shifted.true, shifted.day)


def test_oil_below_zero_has_no_volatility_and_nothing_is_a_percentage_of_it() -> None:
    """FRED, DCOILWTICO (EIA, Cushing spot): 18.31 on Friday 17 April 2020, -36.98 on the Monday, 8.91 on the Tuesday."""
    oil = History.of(["2020-04-17", "2020-04-20", "2020-04-21"], [18.31, -36.98, 8.91])
    friday, monday, tuesday = (day.item() for day in oil.days)
    weekdays = Calendar(frequency="weekday")
    fall = Reading(series=("WTI",), transformation="growth", comparison="at_most", level=-300.0, start=friday, end=monday)  # fmt: skip

    def of(**fields: object) -> bool:
        decision = decide(replace(fall, **fields), oil, weekdays)  # type: ignore[arg-type]
        assert decision is not None
        return decision.true

    # (-36.98 - 18.31) / 18.31 = -302.0%, a fall of 55.29 dollars: a percentage of the price of Friday, not of Monday's.
    assert of() and not of(level=-303.0)
    assert of(transformation="change", level=-55.29) and of(transformation="change", level=45.0, comparison="above", start=monday, end=tuesday)  # fmt: skip
    for comparison in ("above", "at_most"):
        with pytest.raises(NoPercentage, match="ask in points"):
            of(comparison=comparison, start=monday, end=tuesday, level=5.0)
        with pytest.raises(NoPercentage, match="no volatility"):
            of(comparison=comparison, transformation="value", statistic="volatility", level=20.0, end=tuesday)
    # It closed above a negative average of two days, by no percentage: (-36.98 + 8.91) / 2 = -14.04.
    above = dict(transformation="average_gap", lag=2, comparison="above", start=friday, end=tuesday)
    assert of(**above, level=0.0)
    with pytest.raises(NoPercentage):
        of(**above, level=10.0)


def test_past_windows_without_a_percentage_are_left_out_and_counted() -> None:
    days = SESSIONS.stamps(date(2010, 1, 1), date(2018, 6, 29))
    rng = np.random.default_rng(3)
    about_zero = 20.0 + np.sin(np.arange(len(days)) / 40) * 22.0 + rng.normal(0, 0.3, len(days))
    # Above zero for more than a year by now.
    history = History.of(
        days, np.where(np.arange(len(days)) < len(days) - 300, about_zero, about_zero + 30.0)
    )
    above = Reading(series=("X",), transformation="average_gap", lag=20, comparison="above", level=5.0, end=date(2018, 7, 31))  # fmt: skip
    windows = reading_windows(above, history, date(2018, 6, 29), "growth")
    bits = windows.record()["bits"]
    assert 0 < windows.windows == len(bits) - bits.count("x") < len(bits)
    assert windows.base_rate == pytest.approx(bits.count("1") / windows.windows)
    # A series above zero has all of its windows, and a claim in units of a negative one too.
    higher = History.of(days, history.values + 100.0)
    assert "x" not in reading_windows(above, higher, date(2018, 6, 29), "growth").record()["bits"]
    rises = Reading(
        series=("X",), transformation="change", comparison="above", level=0.0, end=date(2018, 7, 31)
    )
    lower = History.of(days, history.values - 100.0)
    for below in (about_zero, lower.values):
        with pytest.raises(NoPercentage):
            reading_windows(above, History.of(days, below), date(2018, 6, 29), "growth")
    # Nor is a window likened to now by a percentage that it has not.
    likened = reading_windows(rises, lower, date(2018, 6, 29), "growth")
    assert "x" not in likened.record()["bits"]
    assert all(like_windows(lower, likened, date(2018, 6, 29), by=state) is None for state in ("move", "volatility", "average"))  # fmt: skip


@pytest.mark.parametrize(
    "fields",
    [
        {"level": float("nan")},
        {"level": float("-inf")},
        {"statistic": "first", "rival": float("-inf")},
        {"comparison": "between", "upper": 1.0},
        {"comparison": "between", "upper": float("nan")},
    ],
)
def test_a_level_is_a_number_and_a_range_has_a_width(fields: dict[str, object]) -> None:
    with pytest.raises(DomainError):
        Reading(
            **{"series": ("X",), "comparison": "at_least", "level": 1.0, "end": DAYS[-1].item(), **fields}
        )  # type: ignore[arg-type]


def test_a_year_after_a_value_below_zero_a_percentage_can_be_asked_for_again() -> None:
    """A few simulations below zero are left out: a claim and its opposite share those that have a percentage."""
    days = SESSIONS.stamps(date(2016, 1, 1), date(2018, 6, 29))
    values = np.where(np.arange(len(days)) == len(days) - 260, -36.98, 60.0 + np.arange(len(days)) % 2)
    known, ahead = History.of(days, values), SESSIONS.stamps(date(2018, 6, 29), date(2018, 7, 31))
    drawn = np.full((4, len(ahead)), 60.0)
    drawn[0, 3], drawn[1, ::2] = -1.0, 61.0
    quiet = Reading(series=("X",), statistic="volatility", comparison="at_most", level=20.0, end=date(2018, 7, 31))  # fmt: skip
    paths = Paths.of(drawn, ahead, known=known, calendar=SESSIONS)
    assert chance(quiet, paths).p == pytest.approx(2 / 3)
    assert chance(replace(quiet, comparison="above"), paths).p == pytest.approx(1 / 3)
    recent = Paths.of(drawn[1:], ahead, known=History.of(days[20:], values[:-20]), calendar=SESSIONS)
    with pytest.raises(NoPercentage):
        chance(quiet, recent)
    # Of the last price, which is known, a change is a percentage at any time.
    small = replace(quiet, statistic="last", transformation="growth", level=5.0)
    assert chance(small, recent).p == 1.0
