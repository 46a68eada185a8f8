"""Days of claims: their order, years that are written once, days without trading, and days beyond the calendar."""

import itertools
import json
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tests.command_line import run_cli
from tests.fakes.small_run import RUN, make_small_run
from tests.offline.embedded import full_rows
from workbench.annotations.entries import add_note
from workbench.errors import WorkbenchError
from workbench.packages.package import adopt_tree
from workbench.propositions import Tree
from workbench.questions.grammar import read_claim
from workbench.questions.readings.calendar_days import later_month
from workbench.questions.readings.read import read
from workbench.store import Store
from workbench.views.run_overview import claim_day

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


TODAY = date(2018, 6, 30)
SENTENCES = (
    "Peace holds in December {}", "Peace by {}-12-31", "VIX closes above 20 on {}-12-31", "VIX above 20 by the end of {}",
    "VIX averages more than 20 in Q4 {}", "VIX above 20 at the end of Q4 {}", "VIX above 20 on 31 December {}", "VIX above 20 in {}",
    "VIX rises by 5 % from {0}-12-01 to {0}-12-31", "VIX touches 30 by {}-12-31", "VIX above 20 in the second half of {}",
    "VIX above 20 on 29 February {}", "VIX above 20 on Thanksgiving {}", "VIX above 20 a year after {}-12-31",
    "VIX above 20 in {} days", "VIX above 20 within {} trading days", "VIX above 20 in the next {} weeks", "VIX above 20 in {} years",
)  # fmt: skip
NUMBERS = ("0000", "0001", "9998", "9999", "10000", "99999999", "999999999999")


@pytest.mark.parametrize(("sentence", "number"), list(itertools.product(SENTENCES, NUMBERS)))
def test_a_far_day_is_read_or_refused(sentence: str, number: str) -> None:
    words = sentence.format(number)
    for reader in (claim_day, lambda text: read(text, TODAY)):
        try:
            reader(words)  # type: ignore[operator]
        except WorkbenchError as refusal:
            assert "\n" not in str(refusal)


@pytest.mark.parametrize("words", ["Peace holds in December 9999"])
def test_a_claim_of_the_last_day_of_the_calendar_stops_no_list(tmp_path: Path, words: str) -> None:
    """A package or a tree brings its claim along; everything else of the home is listed beside it as before."""
    make_small_run(tmp_path / "home")
    with closing(Store(tmp_path / "home")) as store:
        adopt_tree(store, Tree.root_only(words), cutoff="2018-06-30", package="sha256:" + "0" * 64)
        for run in store.run_ids():
            add_note(store, run, tags=["watch"])
    for command in (("runs",), ("runs", "--json"), ("review",), ("show", RUN)):
        done = run_cli(tmp_path, *command)
        assert done.returncode in (0, 10), (command, done.stderr[-300:])
    rows = json.loads(run_cli(tmp_path, "runs", "--json").stdout)
    assert {row["statement"] for row in rows} >= {words} and len(rows) == 2
