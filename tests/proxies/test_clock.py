"""The cutoff is one instant: a bare date is the start of that day in New York."""

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxies.asof.clock import NEW_YORK, Cutoff, parse_day, parse_instant
from proxies.errors import CutoffRefused, Refused


@pytest.mark.parametrize(
    ("text", "instant", "last"),
    [
        ("2018-06-30", "2018-06-30T04:00:00+00:00", "2018-06-29"),
        ("2018-01-15", "2018-01-15T05:00:00+00:00", "2018-01-14"),
        ("2018-06-30T12:00-04:00", "2018-06-30T16:00:00+00:00", "2018-06-29"),
        ("2018-06-30T02:00:00Z", "2018-06-30T02:00:00+00:00", "2018-06-28"),
        ("2018-06-30 09:30:00.123456+02:00", "2018-06-30T07:30:00.123456+00:00", "2018-06-29"),
    ],
)
def test_a_cutoff_is_an_instant_and_the_day_before_is_the_last_visible_one(
    text: str, instant: str, last: str
) -> None:
    cutoff = Cutoff.parse(text)
    assert cutoff.instant.isoformat() == instant
    assert cutoff.last_visible_day.isoformat() == last
    assert not cutoff.live


@pytest.mark.parametrize("text", ["now", "live", " Now "], ids=["the present", "the other word", "spaces"])
def test_now_and_live_clamp_nothing(text: str) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    cutoff = Cutoff.parse(text, now=now)
    assert cutoff.live and cutoff.instant == now


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2018-02-30",
        "2018-13-01",
        "30/06/2018",
        "2018-06-30T12:00",
        "tomorrow",
        "20180630",
        "2018-W26-6",
        "1e9",
        "0001-01-01",
        "0001-01-01T12:00Z",
    ],
)
def test_anything_else_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(CutoffRefused) as caught:
        Cutoff.parse(text)
    assert isinstance(caught.value, Refused)
    assert "\n" not in caught.value.reason and len(caught.value.reason) < 200


@given(st.dates(min_value=date(1901, 1, 1), max_value=date(2100, 1, 1)))
def test_the_last_usable_moment_of_a_bare_date_lies_on_the_last_visible_day(day: date) -> None:
    cutoff = Cutoff.parse(day.isoformat())
    assert cutoff.last_visible_day == cutoff.last_moment_day
    assert cutoff.instant.astimezone(NEW_YORK).date() == day


@given(st.text(max_size=30))
def test_no_text_makes_the_readers_raise(text: str) -> None:
    parse_day(text)
    parse_instant(text, NEW_YORK)


@pytest.mark.parametrize(
    "text", ["2024-1-5", "2024-01-05T", "01/05/2024", "1st Jan 2030", "2024-01-05x", "20240105"]
)
def test_loose_dates_are_unreadable_rather_than_guessed(text: str) -> None:
    assert parse_day(text) is None and parse_instant(text, NEW_YORK) is None


def test_an_hour_that_occurs_twice_is_read_as_the_later_one() -> None:
    # 2024-11-03 01:30 happens at 05:30Z and again at 06:30Z
    assert parse_instant("2024-11-03 01:30:00", NEW_YORK) == datetime(2024, 11, 3, 6, 30, tzinfo=UTC)
