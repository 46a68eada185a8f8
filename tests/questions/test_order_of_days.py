"""Two days of a claim, with their years or without: a window never ends before it starts, and a year that is written once is of both."""

from datetime import date, timedelta

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from workbench.questions.readings.calendar_days import later_month
from workbench.questions.readings.read import read

CUTOFF = date(2018, 6, 30)
#: A first and a second day, or month, of a claim about the VIX or the Baa yield.
TEXTS = (
    "VIX rises 5 % from {} to {}",
    "VIX above 20 at least once between {} and {}",
    "VIX beats the S&P 500 from {} through {}",
    "VIX averages more than 20, {} through {}",
    "VIX has never closed above 20 from {} until {}",
    "since {} the VIX is up 5 % by {}",
    "the VIX is higher than on {} on {}",
    "the VIX stands 3 points above its {} close on {}",
    "Baa yield 50 bps lower than in {} in {}",
    "Baa yield above its {} level at the end of {}",
    "core CPI up 2 % from {} to {}",
)
WRITTEN = ("{0:%Y-%m-%d}", "{0.day} {0:%B %Y}", "{0.day} {0:%B}", "{0:%B} {0.day}", "{0:%B %Y}", "{0:%B}", "{0:%A}", "{0:%Y}", "the end of {0:%B}")  # fmt: skip
days = st.dates(date(2015, 1, 1), date(2021, 12, 31))


@given(st.sampled_from(TEXTS), st.sampled_from(WRITTEN), st.sampled_from(WRITTEN), days, days, days)
@example(TEXTS[8], "{0:%B}", "{0:%B %Y}", date(2016, 2, 1), date(2016, 6, 1), date(2016, 3, 7))
@example(TEXTS[2], "{0.day} {0:%B}", "{0.day} {0:%B %Y}", date(2026, 1, 9), date(2026, 6, 30), date(2026, 1, 12))  # fmt: skip
def test_no_reading_ends_before_it_starts(text: str, one: str, other: str, first: date, second: date, cutoff: date) -> None:  # fmt: skip
    readings = read(text.format(one.format(first), other.format(second)), cutoff)
    for reading in readings.choices:
        assert reading.says.start is None or reading.says.start < reading.says.end, reading.statement


@given(days, st.integers(1, 365), st.integers(-400, 400))
def test_a_year_that_is_written_once_is_of_both_days(first: date, length: int, since: int) -> None:
    last, cutoff = first + timedelta(days=length), first + timedelta(days=since)
    assume((first.month, first.day) != (2, 29))
    reading = read(f"VIX beats the S&P 500 from {first.day} {first:%B} to {last:%Y-%m-%d}", cutoff).best
    assert reading is not None and (reading.says.start, reading.says.end) == (first, last)


@given(st.integers(1, 12), st.integers(1, 12), st.integers(-11, 12))
def test_a_month_to_measure_from_is_the_last_one_before(month: int, end: int, since: int) -> None:
    last = date(2016, end, 1)
    first = date(2016 if month < end else 2015, month, 1)
    cutoff = date(*later_month(2016, end, since), 7)
    reading = read(f"baa yield in {last:%B} 2016 at least 50 bps lower than in {first:%B}", cutoff).best
    assert reading is not None and reading.says.start is not None
    assert (reading.says.start.year, reading.says.start.month, reading.says.end.year, reading.says.end.month) == (first.year, month, 2016, end)  # fmt: skip


@pytest.mark.parametrize("cutoff", [date(2018, 3, 1), date(2019, 10, 1)])
def test_a_holiday_to_measure_from_is_that_of_its_year(cutoff: date) -> None:
    reading = read("VIX beats the S&P 500 from Labor Day to 31 December 2019", cutoff).best
    assert reading is not None and reading.says.start == date(2019, 9, 2)


@pytest.mark.parametrize("weekday", ["Monday", "Thursday"])
def test_a_weekday_to_measure_from_is_the_last_one(weekday: str) -> None:
    reading = read(f"the VIX is higher on 2018-07-31 than at {weekday}'s close", CUTOFF).best
    assert reading is not None and reading.says.start is not None
    assert CUTOFF - timedelta(days=7) < reading.says.start <= CUTOFF and f"{reading.says.start:%A}" == weekday
