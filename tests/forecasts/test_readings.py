"""Readings of paths: coherent by construction, and the same function as the outcome."""

from dataclasses import replace
from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.forecasts.periods import whole_periods
from workbench.forecasts.reading import Decision, Reading, chance, decide
from workbench.forecasts.series.series_history import History
from workbench.forecasts.series_paths import Calendar, Paths, combined_history, weighted_quantiles
from workbench.science.errors import DomainError

SESSIONS = Calendar(frequency="session")
DAYS = SESSIONS.stamps(date(2017, 12, 29), date(2018, 12, 31))
END = date(2018, 12, 31)

TRANSFORMATIONS = st.sampled_from(["value", "change", "growth", "average_gap", "from_peak"])
STATISTICS = st.sampled_from(["last", "highest", "lowest", "mean", "total", "steps", "streak", "first"])
COMPARISONS = st.sampled_from(["above", "at_least", "below", "at_most", "between"])


@st.composite
def worlds(draw: st.DrawFn) -> tuple[History, int]:
    """A whole year of a random series, and how much of it is known."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    scale = draw(st.sampled_from([0.003, 0.01, 0.03]))
    values = np.round(100 * np.exp(np.cumsum(rng.normal(0, scale, len(DAYS)))), draw(st.sampled_from([0, 2])))
    return History.of(DAYS, values), draw(st.integers(30, len(DAYS)))


def known(history: History, count: int) -> History:
    return History(days=history.days[:count], values=history.values[:count])


def drawn(history: History, count: int, *, paths: int = 60) -> Paths:
    rng = np.random.default_rng(count)
    seen = known(history, count)
    days = DAYS[count:]
    steps = rng.normal(0, 0.015, (paths, len(days)))
    weights = rng.random(paths)
    return Paths(
        values=np.round(seen.values[-1] * np.exp(np.cumsum(steps, axis=1)), 1),
        days=days,
        weights=weights / weights.sum(),
        known=seen,
        calendar=SESSIONS,
        members=("a", "b"),
        drawn_by=np.arange(paths) % 2,
    )


@st.composite
def readings(draw: st.DrawFn) -> Reading:
    transformation = draw(TRANSFORMATIONS)
    statistic = (
        draw(st.sampled_from(["last", "highest", "lowest", "volatility"]))
        if transformation == "value"
        else draw(STATISTICS)
    )
    comparison = draw(st.sampled_from(["at_least", "at_most"]) if statistic == "first" else COMPARISONS)
    centre = {"value": 100.0, "change": 0.0, "growth": 0.0, "average_gap": 0.0, "from_peak": -3.0}[
        transformation
    ]
    level = centre + draw(st.integers(-20, 20)) / 2
    lag = {"average_gap": 20, "growth": draw(st.sampled_from([None, 5]))}.get(transformation)
    countable = statistic in ("steps", "streak", "highest", "lowest") and transformation in ("value", "change", "growth")  # fmt: skip
    every = draw(st.sampled_from([None, "week", "month"])) if countable else None
    first = draw(st.integers(20, 200))
    if every is not None and lag is not None:
        lag = 1
    return Reading(
        series=("X",),
        transformation=transformation,
        statistic=statistic,
        comparison=comparison,
        level=level,
        upper=level + 4 if comparison == "between" else None,
        rival=level + (6 if comparison == "at_most" else -6) if statistic == "first" else None,
        lag=lag,
        every=every,
        times=draw(st.integers(1, 5)) if statistic in ("steps", "streak") else 1,
        start=DAYS[first].item(),
        end=DAYS[first + draw(st.integers(1 if every is None else 50, len(DAYS) - first - 1))].item(),
        never=draw(st.booleans()),
    )


@given(world=worlds(), reading=readings())
def test_the_known_values_decide_as_the_whole_path_does(world: tuple[History, int], reading: Reading) -> None:
    history, _ = world
    outcome = decide(reading, history, SESSIONS)
    assert outcome is not None
    for count in range(30, len(DAYS), 15):
        decision = (
            decide(reading, known(history, count), SESSIONS)
            if DAYS[count - 1] > np.datetime64(reading.start)
            else None
        )
        if decision is not None:
            assert decision == outcome
            assert decision.day <= DAYS[count - 1].item()


@given(world=worlds(), reading=readings())
def test_a_path_is_judged_as_the_same_values_are_when_they_are_known(
    world: tuple[History, int], reading: Reading
) -> None:
    history, count = world
    count = min(count, len(DAYS) - 1)
    paths = Paths.of(
        history.values[None, count:], DAYS[count:], known=known(history, count), calendar=SESSIONS
    )
    outcome = decide(reading, history, SESSIONS)
    assert outcome is not None
    assert chance(reading, paths).p == float(outcome.true)


@given(world=worlds(), reading=readings(), step=st.integers(1, 8))
def test_readings_of_the_same_paths_are_coherent(
    world: tuple[History, int], reading: Reading, step: int
) -> None:
    history, count = world
    paths = drawn(history, min(count, len(DAYS) - 1))
    p = chance(reading, paths).p
    assert p + chance(replace(reading, never=not reading.never), paths).p == pytest.approx(1.0)
    if reading.statistic == "first":
        return  # has a law of its own
    base = replace(reading, never=False, comparison="above", upper=None)
    above, higher = chance(base, paths).p, chance(replace(base, level=base.level + step), paths).p
    assert higher <= above + 1e-12
    if reading.statistic not in ("steps", "streak"):
        below = chance(replace(base, comparison="at_most", level=base.level + step), paths).p
        assert above + below >= 1.0 - 1e-12
        between = chance(replace(base, comparison="between", upper=base.level + step), paths).p
        at_least = chance(replace(base, comparison="at_least"), paths).p
        assert between == pytest.approx(at_least - higher)


@given(world=worlds(), level=st.integers(80, 120))
def test_a_touch_is_as_likely_as_a_close_beyond_or_likelier_and_a_longer_window_too(
    world: tuple[History, int], level: int
) -> None:
    history, count = world
    paths = drawn(history, min(count, len(DAYS) - 10))
    close = Reading(series=("X",), comparison="at_least", level=float(level), end=END)
    touch = replace(close, statistic="highest")
    assert chance(close, paths).p <= chance(touch, paths).p + 1e-12
    earlier = replace(touch, end=paths.days[4].item())
    assert chance(earlier, paths).p <= chance(touch, paths).p + 1e-12
    once, twice = (replace(close, statistic="steps", times=times) for times in (1, 2))
    assert chance(once, paths).p == pytest.approx(chance(touch, paths).p)
    assert chance(twice, paths).p <= chance(once, paths).p + 1e-12


@given(world=worlds(), up=st.integers(1, 15), down=st.integers(1, 15))
def test_one_of_two_levels_is_met_first_or_neither(world: tuple[History, int], up: int, down: int) -> None:
    history, count = world
    paths = drawn(history, min(count, len(DAYS) - 10))
    high, low = paths.last[1] + up, paths.last[1] - down
    touch = Reading(series=("X",), statistic="highest", comparison="at_least", level=high, end=END)
    above = replace(touch, statistic="first", rival=low)
    below = replace(above, comparison="at_most", level=low, rival=high)
    within = replace(
        touch,
        statistic="steps",
        comparison="between",
        level=low + 1e-6,
        upper=high - 1e-6,
        times=len(paths.days),
    )
    assert chance(above, paths).p + chance(below, paths).p + chance(within, paths).p == pytest.approx(1.0)
    # No path meets the level first that does not meet it at all, and a rival farther off is met first less often.
    assert chance(above, paths).p <= chance(touch, paths).p + 1e-12
    assert chance(above, paths).p <= chance(replace(above, rival=low - 3), paths).p + 1e-12
    assert chance(replace(above, rival=-1e9), paths).p == pytest.approx(chance(touch, paths).p)


def test_of_a_walk_the_nearer_level_is_met_first_in_proportion() -> None:
    """Gambler's ruin (Feller, An Introduction to Probability Theory, vol. 1, XIV.2): a walk of unit steps is 3 up before 7 down with 0.7."""
    rng = np.random.default_rng(5)
    calendar = Calendar(frequency="day")
    start = History.of(["2018-01-01"], [100.0])
    days = calendar.stamps(date(2018, 1, 1), date(2018, 12, 31))
    walks = 100.0 + np.cumsum(rng.choice([-1.0, 1.0], (20_000, len(days))), axis=1)
    paths = Paths.of(walks, days, known=start, calendar=calendar)
    before = Reading(
        series=("X",), statistic="first", comparison="at_least", level=103.0, rival=93.0, end=END
    )
    # One standard error of 20,000 walks is 0.003; a walk that has met neither after a year is one in 10^8.
    assert chance(before, paths).p == pytest.approx(0.7, abs=0.013)


@given(world=worlds(), reading=readings())
def test_a_decided_reading_has_the_chance_0_or_1_on_any_paths(
    world: tuple[History, int], reading: Reading
) -> None:
    history, count = world
    paths = drawn(history, min(count, len(DAYS) - 1))
    found = chance(reading, paths)
    if found.decided is not None:
        assert {found.p, *found.by_member.values()} == {float(found.decided.true)}


def test_a_fall_that_has_happened_is_decided_on_its_day() -> None:
    values = np.full(len(DAYS), 100.0)
    values[100] = 80.0
    fall = Reading(series=("X",), transformation="growth", statistic="lowest", comparison="at_most", level=-15.0, start=DAYS[50].item(), end=END)  # fmt: skip
    paths = drawn(History.of(DAYS, values), 120)
    found = chance(fall, paths)
    assert (found.p, found.decided and found.decided.day) == (1.0, DAYS[100].item())
    assert chance(replace(fall, never=True), paths).p == 0.0
    assert chance(fall, drawn(History.of(DAYS, values), 90)).decided is None


@given(world=worlds(), times=st.integers(1, 5))
def test_days_in_a_row_are_no_likelier_than_as_many_days(world: tuple[History, int], times: int) -> None:
    history, count = world
    paths = drawn(history, min(count, len(DAYS) - 10))
    rising = Reading(series=("X",), transformation="change", lag=1, statistic="steps", comparison="above", level=0.0, times=times, end=END)  # fmt: skip
    row = replace(rising, statistic="streak")
    assert chance(row, paths).p <= chance(rising, paths).p + 1e-12
    assert chance(replace(row, times=times + 1), paths).p <= chance(row, paths).p + 1e-12
    if times == 1:
        assert chance(row, paths).p == pytest.approx(chance(rising, paths).p)


def test_weeks_and_months_are_counted_by_their_last_values() -> None:
    values = np.arange(len(DAYS), dtype=float)
    days = DAYS.astype(str).tolist()
    # May 2018 ends where April did, and the week that ends on 13 July lower than the one before.
    values[days.index("2018-05-31")] = values[days.index("2018-04-30")]
    values[days.index("2018-07-13")] = 0.0
    history = History.of(DAYS, values)
    up = Reading(series=("X",), transformation="change", lag=1, statistic="steps", comparison="above", level=0.0, times=6, every="month", start=date(2018, 3, 29), end=date(2018, 10, 31))  # fmt: skip
    decision = decide(up, history, SESSIONS)
    assert whole_periods("month", date(2018, 3, 29), date(2018, 10, 31)) == 7
    # April, June, July, August, September and October are higher than the month before.
    assert decision is not None and decision.true and decision.day == date(2018, 10, 31)
    in_a_row = replace(up, statistic="streak", times=5)
    assert (found := decide(in_a_row, history, SESSIONS)) is not None and found.true
    assert (found := decide(replace(in_a_row, times=6), history, SESSIONS)) is not None and not found.true
    # A month that has begun by the start is none, nor is one that has a weekday after the end.
    short = replace(up, start=date(2018, 7, 2), end=date(2018, 9, 27), times=1)
    assert (found := decide(short, history, SESSIONS)) is not None and found.day == date(2018, 8, 31)
    assert (found := decide(replace(short, times=2), history, SESSIONS)) is not None and not found.true
    weeks = replace(up, every="week", start=date(2018, 7, 6), end=date(2018, 7, 27), times=3)
    assert (found := decide(weeks, history, SESSIONS)) is not None and not found.true
    assert (found := decide(replace(weeks, times=2), history, SESSIONS)) is not None and found.true
    fall = replace(
        weeks, statistic="lowest", transformation="growth", comparison="at_most", level=-99.0, times=1
    )
    assert (found := decide(fall, history, SESSIONS)) is not None and found.day == date(2018, 7, 13)


def test_months_to_come_leave_a_count_open_until_it_is_reached_or_out_of_reach() -> None:
    values = np.arange(len(DAYS), dtype=float)
    up = Reading(series=("X",), transformation="change", lag=1, statistic="steps", comparison="above", level=0.0, times=2, every="month", start=date(2018, 6, 29), end=date(2018, 9, 30))  # fmt: skip

    def until(day: str, reading: Reading = up) -> Decision | None:
        return decide(
            reading, known(History.of(DAYS, values), int((np.datetime64(day) >= DAYS).sum())), SESSIONS
        )

    assert until("2018-08-30") is None
    assert (reached := until("2018-08-31")) is not None and reached.true
    falling = replace(up, comparison="below")
    assert until("2018-07-31", falling) is None  # August and September may still fall
    assert (missed := until("2018-08-31", falling)) is not None and not missed.true


def test_a_new_high_is_above_all_before_or_above_those_of_the_last_weeks() -> None:
    values = np.full(len(DAYS), 100.0)
    values[10], values[100], values[120] = 105.0, 103.0, 104.0
    high = Reading(series=("X",), transformation="over_high", statistic="highest", comparison="above", level=0.0, start=DAYS[50].item(), end=END)  # fmt: skip
    known = History.of(DAYS, values)
    never = decide(high, known, SESSIONS)
    assert never is not None and not never.true
    of_weeks = decide(replace(high, weeks=8), known, SESSIONS)
    assert of_weeks is not None and of_weeks.true and of_weeks.day == DAYS[100].item()
    # 105 lies 18 weeks before the 100th day: a window that reaches back to it has a new high on no day
    longer = decide(replace(high, weeks=19, start=DAYS[99].item(), end=DAYS[101].item()), known, SESSIONS)
    assert (DAYS[100] - DAYS[10]).astype(int) // 7 == 18 and longer is not None and not longer.true
    low = replace(high, transformation="over_low", statistic="lowest", comparison="below")
    assert (decided := decide(low, known, SESSIONS)) is not None and not decided.true
    with pytest.raises(DomainError, match="fewer than 60 weeks of values"):
        decide(replace(high, weeks=60), known, SESSIONS)
    assert chance(high, drawn(History.of(DAYS, values), 90)).p <= chance(replace(high, weeks=4), drawn(History.of(DAYS, values), 90)).p  # fmt: skip


def test_a_window_that_ends_after_the_paths_is_refused() -> None:
    paths = drawn(History.of(DAYS, np.full(len(DAYS), 100.0)), 200)
    with pytest.raises(DomainError, match="before the claim does"):
        chance(Reading(series=("X",), comparison="above", level=1.0, end=date(2019, 3, 1)), paths)


@pytest.mark.parametrize(
    "fields",
    [
        {"comparison": "between", "level": 1.0},
        {"comparison": "between", "level": 1.0, "upper": 0.5},
        {"comparison": "above", "level": 1.0, "lag": 3},
        {"comparison": "above", "level": 1.0, "transformation": "average_gap"},
        {"comparison": "above", "level": 1.0, "times": 3},
        {"comparison": "at_least", "level": 1.0, "statistic": "first"},
        {"comparison": "at_least", "level": 1.0, "rival": 0.5},
        {"comparison": "at_least", "level": 1.0, "statistic": "first", "rival": 2.0},
        {"comparison": "above", "level": 1.0, "statistic": "first", "rival": 0.5},
        {"comparison": "above", "level": 1.0, "start": END},
        {"comparison": "above", "level": 1.0, "combination": "ratio"},
        {"comparison": "above", "level": 1.0, "statistic": "volatility", "transformation": "growth"},
    ],
)
def test_fields_that_do_not_go_together_are_refused(fields: dict[str, object]) -> None:
    with pytest.raises(DomainError):
        Reading(series=("X",), end=END, **fields)  # type: ignore[arg-type]


def test_a_month_is_the_one_that_holds_the_day() -> None:
    months = Calendar(frequency="month")
    days = months.stamps(date(2017, 12, 1), date(2018, 12, 31))
    history = History.of(days, np.arange(12.0))
    higher = Reading(series=("X",), transformation="change", comparison="above", level=2.0, start=date(2018, 6, 15), end=date(2018, 9, 28))  # fmt: skip
    found = decide(higher, history, months)
    assert found is not None and (found.true, found.day, found.value) == (True, date(2018, 9, 1), 8.0)


def test_two_series_are_read_on_the_paths_that_they_share() -> None:
    first = drawn(History.of(DAYS, np.full(len(DAYS), 100.0)), 200)
    ratio = first.combine(first, "ratio")
    assert set(ratio.values.ravel()) == {1.0} and set(ratio.known.values) == {1.0}
    with pytest.raises(DomainError, match="together"):
        first.combine(replace(first, weights=first.weights[::-1]), "ratio")
    with pytest.raises(DomainError, match="above 0"):
        combined_history(first.known, History.of(DAYS, np.zeros(len(DAYS))), "ratio")


@given(
    st.lists(st.tuples(st.floats(-5, 5), st.floats(0.1, 1)), min_size=1, max_size=30), st.floats(0.01, 0.99)
)
def test_a_quantile_has_its_share_of_the_weight_at_or_below_it(
    pairs: list[tuple[float, float]], share: float
) -> None:
    values, weights = (np.array(part) for part in zip(*pairs, strict=True))
    weights /= weights.sum()
    (found,) = weighted_quantiles(values, weights, [share])
    assert weights[values <= found].sum() >= share - 1e-9
    assert weights[values < found].sum() <= share + 1e-9


@pytest.mark.parametrize(
    ("days", "frequency"),
    [
        (SESSIONS.stamps(date(2010, 1, 1), date(2018, 1, 1)), "session"),
        (Calendar(frequency="weekday").stamps(date(2010, 1, 1), date(2018, 1, 1)), "weekday"),
        (Calendar(frequency="day").stamps(date(2017, 1, 1), date(2018, 1, 1)), "day"),
        (Calendar(frequency="week").stamps(date(2017, 1, 1), date(2018, 1, 1)), "week"),
        (Calendar(frequency="month").stamps(date(2010, 1, 1), date(2018, 1, 1)), "month"),
        (Calendar(frequency="quarter").stamps(date(2010, 1, 1), date(2018, 1, 1)), "quarter"),
        (Calendar(frequency="year").stamps(date(1950, 1, 1), date(2018, 1, 1)), "year"),
    ],
)
def test_a_calendar_is_seen_in_the_days_of_a_series(days: np.ndarray, frequency: str) -> None:
    assert Calendar.of(History.of(days, np.arange(len(days)))).frequency == frequency
