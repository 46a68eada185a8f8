"""A day without trading is named, and the session before it counts: in the reading, and as the day of the outcome."""

from datetime import date, timedelta

import pytest

from tests.offline.embedded import full_rows
from workbench.questions.grammar import read_claim
from workbench.questions.readings.read import read

#: Closed at short notice: who asks beforehand cannot know, so the calendar leaves them open.
UNFORESEEN = {
    date(2001, 9, 11), date(2001, 9, 12), date(2001, 9, 13), date(2001, 9, 14), date(2004, 6, 11), date(2007, 1, 2),
    date(2012, 10, 29), date(2012, 10, 30), date(2018, 12, 5),
}  # fmt: skip


@pytest.mark.parametrize(("series", "name"), [("SP500", "The S&P 500"), ("VIX", "The VIX")])
def test_the_session_that_counts_is_the_last_day_with_a_close(series: str, name: str) -> None:
    closes = {date.fromisoformat(row["date"]) for row in full_rows(series)} | UNFORESEEN
    day = last = date.fromisoformat(full_rows(series)[0]["date"])
    while day < date(2018, 12, 31):
        last = day if day in closes else last
        claim = read_claim(f"{name} closes above 20 on {day}")
        assert claim.last_close == last
        assert bool(claim.remarks) == (last != day), day
        day += timedelta(days=1)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("The Nasdaq closes below 7500 on 2018-11-22", ["22 November 2018", "21 November 2018"]),
        ("VIX above 20 on Christmas 2018", ["25 December 2018", "24 December 2018"]),
        ("S&P 500 closes above 2800 on 2018-09-01", ["1 September 2018", "31 August 2018"]),
        ("WTI closes higher on 2018-12-31 than on 2018-07-04", ["4 July 2018", "3 July 2018"]),
        ("yahoo:^GSPC closes above 9,000 on 2027-12-25", ["25 December 2027", "23 December 2027"]),
    ],
)
def test_a_reading_names_the_day_and_the_session(text: str, named: list[str]) -> None:
    notes = " ".join(read(text, date(2018, 6, 28)).notes)
    assert all(day in notes for day in named) and notes.count("no session") == 1


@pytest.mark.parametrize(
    "text",
    [
        "VIX above 20 on 2018-12-31",
        "WTI touches 80 by 2018-12-25",  # any session through that day counts
        "The BAA-AAA spread is above 1 on 2018-11-22",  # a monthly figure has no session
        "own:orders above 130 on 2018-12-25",
    ],
)
def test_other_days_are_not_remarked_upon(text: str) -> None:
    assert not any("session" in note for note in read(text, date(2018, 6, 28)).notes)
