"""When a claim can be asked, and how it came out."""

from datetime import date, timedelta
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.offline.embedded import full_rows, visible_rows
from workbench.forecasts.reading import chance
from workbench.forecasts.series.series_history import History
from workbench.forecasts.series_paths import Calendar, Paths
from workbench.questions.claims import Claim
from workbench.questions.decision import appraise, base_rate, check, resolve, settle
from workbench.questions.errors import ClaimRefused
from workbench.questions.grammar import read_claim
from workbench.questions.readings.read import read
from workbench.questions.series.readings_of_claims import claim_reading

LAST = date(2018, 6, 29)
FULL = {name: full_rows(name) for name in ("SP500", "NASDAQ", "VIX", "WTI", "CORE_CPI", "AAA", "BAA")}
SEEN = {name: visible_rows(name, LAST) for name in FULL}


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("The S&P 500 closes higher on 2019-12-31 than on 2018-06-29", "end on 2018-12-31"),
        ("core CPI above 259 on 2018-12-31", "end on 2018-11-30"),
        ("The BAA yield is above 5 on 2019-01-15", "end on 2018-12-31"),
        ("The S&P 500 closes higher on 2018-06-29 than on 2018-06-01", "already settled"),
        (
            "The S&P 500 closes above 2,700 on 2018-06-30",
            "already settled",
        ),  # a Saturday: Friday's close counts
        ("VIX higher on 2018-12-31 than on 2013-06-28", "begin on 2014-01-03"),
    ],
)
def test_a_claim_that_cannot_be_asked_at_the_cutoff_is_refused(statement: str, words: str) -> None:
    with pytest.raises(ClaimRefused, match=words):
        check(read_claim(statement), LAST)


def test_more_than_two_years_ahead_is_refused() -> None:
    with pytest.raises(ClaimRefused, match="two years"):
        check(read_claim("The S&P 500 closes above 2,000 on 2012-12-31"), date(2010, 1, 4))


@pytest.mark.parametrize(
    ("statement", "truth"),
    [
        # S&P 500: 2718.37 on 2018-06-29, 2913.98 on 2018-09-28, 2506.85 on 2018-12-31; VIX 25.42 on 2018-12-31
        ("The S&P 500 closes higher on 2018-12-31 than on 2018-06-29", False),
        ("The S&P 500 closes higher on 2018-09-28 than on 2018-06-29", True),
        ("The S&P 500 closes above 2,506.86 on 2018-12-31", False),
        ("The S&P 500 closes at or above 2,506.85 on 2018-12-31", True),
        ("The S&P 500 closes between 2,500 and 2,510 on 2018-12-31", True),
        ("The S&P 500 falls at least 7% from 2018-06-29 to 2018-12-31", True),
        ("The S&P 500 falls at least 8% from 2018-06-29 to 2018-12-31", False),
        ("VIX above 20 on 2018-12-31", True),
        ("VIX touches 36 before 2018-12-31", True),
        ("VIX touches 37 before 2018-12-31", False),
        ("The S&P 500 closes 13% or more below its 2018-06-29 close at least once through 2018-12-31", True),
        ("The S&P 500 never closes 13% or more below its 2018-06-29 close through 2018-12-31", False),
        ("The S&P 500 closes above its 200-day average on 2018-12-31", False),
        ("The BAA-AAA spread widens by 2018-12-31", True),
        ("WTI closes below 50 on 2018-12-31", True),
        # WTI at 74 closed above 76 in July 2018, never at 80, and below 60 in November; the S&P 500 5 % higher in August, 10 % lower in December.
        ("WTI reaches 80 before 60 through 2018-12-31", False),
        ("WTI reaches 60 before 80 through 2018-12-31", True),
        ("WTI reaches 76 before 60 through 2018-12-31", True),
        ("WTI reaches 80 before 60 through 2018-09-28", False),
        ("WTI does not reach 80 before 60 through 2018-12-31", True),
        ("The S&P 500 rises 5% before it falls 5% from 2018-06-29 to 2018-12-31", True),
        ("The S&P 500 falls 10% before it rises 10% through 2018-12-31", True),
    ],
)
def test_known_outcomes(statement: str, truth: bool) -> None:
    assert resolve(read_claim(statement), FULL, SEEN) is truth


def test_a_claim_and_its_opposite_split_the_outcomes_between_them() -> None:
    pairs = [
        ("The S&P 500 closes higher on 2018-12-31 than on 2018-06-29", "The S&P 500 closes no higher on 2018-12-31 than on 2018-06-29"),
        ("The BAA-AAA spread is wider on 2018-12-31 than on 2018-06-29", "The BAA-AAA spread is no wider on 2018-12-31 than on 2018-06-29"),
        ("The VIX closes above 20 on 2018-12-31", "The VIX closes at or below 20 on 2018-12-31"),
        ("WTI never closes 5 % or more below its 2018-06-29 close through 2018-12-31", "WTI closes 5 % or more below its 2018-06-29 close at least once through 2018-12-31"),
    ]  # fmt: skip
    for yes, no in pairs:
        one, other = read_claim(yes), read_claim(no)
        assert resolve(one, FULL, SEEN) != resolve(other, FULL, SEEN)
        assert base_rate(one, SEEN, LAST) + base_rate(other, SEEN, LAST) == pytest.approx(1, abs=1e-12)


def test_a_past_window_is_counted_as_the_claim_of_that_day_came_out() -> None:
    """Outcome bits, week by week, against the resolution rule applied to a claim stated on that day."""
    claim = read_claim("The S&P 500 never closes 5% or more below its 2018-06-29 close through 2018-09-28")
    found = appraise(claim, SEEN, LAST)
    index = [row["date"] for row in FULL["SP500"]]
    agree = 0
    for week in range(0, len(found.outcomes), 50):
        day = found.first + timedelta(days=7 * week)
        at = max(i for i, text in enumerate(index) if text <= day.isoformat())
        then = Claim(
            pattern="drawdown",
            series="SP500",
            start=date.fromisoformat(index[at]),
            end=date.fromisoformat(index[at + found.horizon]),
            side="below",
            strict=False,
            level=-5.0,
            never=True,
        )
        assert resolve(then, FULL, {}) == bool(found.outcomes[week])
        agree += 1
    assert agree > 15


def test_a_value_older_than_five_days_does_not_count() -> None:
    rows: dict[str, Any] = {
        "VIX": [row for row in FULL["VIX"] if not "2018-12-20" <= row["date"] <= "2018-12-31"]
    }
    with pytest.raises(ClaimRefused, match="nor in the five days before"):
        resolve(read_claim("VIX above 20 on 2018-12-31"), rows, SEEN)


def test_nothing_from_after_the_cutoff_bears_on_an_appraisal() -> None:
    claim = read_claim("The S&P 500 closes higher on 2018-12-31 than on 2018-06-29")
    changed = {name: [dict(row) for row in rows] for name, rows in FULL.items()}
    for row in changed["SP500"]:
        if row["date"] > LAST.isoformat():
            row["value"] *= 2
    cut = {"SP500": [row for row in changed["SP500"] if row["date"] <= LAST.isoformat()]}
    assert (appraise(claim, cut, LAST).outcomes == appraise(claim, SEEN, LAST).outcomes).all()


def test_a_touched_level_is_reached_from_the_last_visible_value() -> None:
    assert settle(read_claim("VIX touches 30 by 2018-12-31"), SEEN).side == "above"
    assert settle(read_claim("VIX touches 10 by 2018-12-31"), SEEN).side == "below"


@pytest.mark.parametrize(("level", "rival"), [(3000, 2900), (2900, 3000), (2000, 2500)])
def test_two_levels_on_one_side_of_the_value_are_refused(level: int, rival: int) -> None:
    claim = read_claim(f"The S&P 500 reaches {level} before {rival} by 2018-12-31")
    with pytest.raises(ClaimRefused, match=r"was at 2,718\.37.* lie on one side"):
        settle(claim, SEEN)
    assert settle(read_claim("The S&P 500 reaches 3000 before 2500 by 2018-12-31"), SEEN).level == 3000


def test_too_little_history_is_refused() -> None:
    rows = {"VIX": [row for row in FULL["VIX"] if row["date"] < "2014-09-01"]}
    with pytest.raises(ClaimRefused, match="two independent periods"):
        appraise(read_claim("VIX above 20 on 2015-02-27"), rows, date(2014, 8, 29))


@pytest.mark.parametrize(
    "words",
    [
        "rises at least 10% by 2018-12-31",
        "closes 10% or more below its last known close at least once through 2018-12-31",
        "closes 3% or more below its highest close of the window through 2018-12-31",
        "closes at least 10% above its 200-day average on 2018-12-31",
        "moves by at least 5% either way by 2018-12-31",
    ],
)
def test_a_spread_has_moves_in_points_and_none_in_percent(words: str) -> None:
    with pytest.raises(ClaimRefused, match="ask in points"):
        check(read_claim(f"fred:T10Y2Y {words}"), LAST)
    check(read_claim(f"fred:GDPC1 {words}"), LAST)
    for other in (
        "rises by at least 0.5 points by 2018-12-31",
        "closes above its 200-day average on 2018-12-31",
    ):
        check(read_claim(f"fred:T10Y2Y {other}"), LAST)


@pytest.mark.parametrize("values", [(-0.5, -0.2), (0.0, 0.3), (2.0, -1.0)])
def test_a_percentage_of_a_value_at_or_below_zero_is_refused_where_the_values_show_it(
    values: tuple[float, float],
) -> None:
    """A balance of -0.5 that rises by 10% would be asked to pass -0.55, from above."""
    days = [date(2018, 1, 1) + timedelta(days=count) for count in range(180)]
    start, last = values
    rows = {"own:balance": [{"date": str(day), "value": start if day < LAST - timedelta(days=7) else last} for day in days]}  # fmt: skip
    since = "from 2018-06-01 to 2018-12-31"
    rises = read_claim(f"own:balance rises at least 10% {since}")
    points = read_claim(f"own:balance rises by at least 0.3 points {since}")
    later = {"own:balance": [*rows["own:balance"], *({"date": str(LAST + timedelta(days=count)), "value": last} for count in range(1, 186))]}  # fmt: skip
    if start > 0:
        assert not resolve(rises, later, rows)
        falls = read_claim("own:balance rises at least 10% from 2018-06-29 to 2018-12-31")
    else:
        falls = rises
    for decide in (lambda: resolve(falls, later, rows), lambda: settle(falls, rows), lambda: base_rate(falls, rows, LAST)):  # fmt: skip
        with pytest.raises(ClaimRefused, match="ask in points"):
            decide()
    assert resolve(points, later, rows) == (last - start >= 0.3 - 1e-9)


@pytest.mark.parametrize(
    "fields", [{"level": float("nan")}, {"level": float("inf")}, {"pattern": "range", "upper": 20.0}]
)
def test_a_claim_has_finite_levels_and_a_range_with_a_width(fields: dict[str, Any]) -> None:
    with pytest.raises(ClaimRefused, match="state"):
        Claim(**{"pattern": "level", "series": "VIX", "level": 20.0, "end": LAST, **fields})


_BELOW = ["falls below", "drops under", "slips beneath", "breaks below", "is under"]
_ABOVE = ["rises above", "exceeds", "breaks above", "tops", "climbs past", "is over"]
_AT_OR_BELOW = ["falls to", "drops to", "reaches", "touches", "hits", "gets to", "is at or below", "is no longer above"]  # fmt: skip
_AT_OR_ABOVE = ["rises to", "climbs to", "reaches", "touches", "hits", "gets to", "is at or above", "is at least", "is no longer below"]  # fmt: skip


@pytest.mark.parametrize("name", ["WTI", "the VIX", "the Baa yield", "the unemployment rate", "the 10-year yield"])  # fmt: skip
@pytest.mark.parametrize("never", [False, True])
@pytest.mark.parametrize(
    ("words", "before", "counts"),
    [
        *((words, 5.0, False) for words in _BELOW),
        *((words, 5.0, True) for words in _AT_OR_BELOW),
        *((words, 3.0, False) for words in _ABOVE),
        *((words, 3.0, True) for words in _AT_OR_ABOVE),
    ],
)
def test_a_value_at_the_level_decides_a_touch_as_its_words_say(
    words: str, before: float, counts: bool, never: bool, name: str
) -> None:
    """Law: what comes to its level and never beyond has reached it, and has not been below or above it; paths say so too."""
    said = f"{name} {'never ' * never}{words} 4 {'' if never else 'at some point '}through 2018-12-31"
    (reading,) = [each for each in read(said, date(2018, 7, 1)).choices if each.says.pattern == "touch"]
    claim = reading.claim
    assert claim is not None
    days = pd.date_range("2017-01-01", "2018-12-31", freq="MS" if claim.about.monthly else "B")
    values = np.where(days < "2018-09-01", before + np.arange(len(days)) % 2 / 10, 4.0)
    rows = [{"date": f"{day:%Y-%m-%d}", "value": value} for day, value in zip(days, values, strict=True)]
    seen = {claim.series: [row for row in rows if row["date"] < "2018-07-01"]}
    assert resolve(claim, {claim.series: rows}, seen) == (counts != never)
    past, ahead = days < "2018-07-01", days >= "2018-07-01"
    known = History.of(days[past].to_numpy(), values[past])
    paths = Paths.of([values[ahead]], days[ahead].to_numpy(), known=known, calendar=Calendar.of(known))
    assert chance(claim_reading(settle(claim, seen)), paths).p == float(counts != never)


def test_a_series_that_never_moved_keeps_its_level() -> None:
    rows = [{"date": f"{2000 + i // 12}-{1 + i % 12:02}-01", "value": 4.0} for i in range(222)]
    claim = settle(read_claim("fred:UNRATE is at or below 4 on 2018-12-31"), {"fred:UNRATE": rows})
    assert claim.observed is not None and (claim.about.kind, claim.level) == ("yield", 4.0)
