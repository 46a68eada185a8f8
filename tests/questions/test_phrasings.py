"""Other ways of saying the same are read as what they say; an aside is named, and a condition is none."""

from datetime import date

import pytest

from workbench.questions.readings.read import read

JUNE = date(2018, 6, 29)


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("VIX below 15 on the last day of the July-September quarter", "The VIX closes below 15 on 2018-09-30"),
        ("the dow loses 500+ pts in one day b4 halloween", "Dow Jones Industrial Average falls by 500 points or more within one of the steps through 2018-10-30"),
        ("S&P 500 with seven straight daily gains in July or August", "The S&P 500 closes higher on at least 7 consecutive days from 2018-06-30 to 2018-08-31"),
        ("Gold will be 50-75 dollars higher than today at year end", "Gold rises by between 50 and 75 on 2018-12-31"),
        ("10-year yields 50-75 bps higher than today at year end", "10-year Treasury yield rises by between 0.5 and 0.75 percentage points on 2018-12-31"),
        ("the Fed lifts its policy rate when it next convenes", "Federal funds rate is higher at the meeting that ends on 2018-08-01"),
        ("USDJPY no lower than 105 and no higher than 115 on 31 August", "yahoo:USDJPY=X closes between 105 and 115 on 2018-08-31"),
        ("the Nasdaq's best close of 2019 will be above 9,000", "The NASDAQ Composite has its highest value above 9,000 from 2018-12-31 to 2019-12-31"),
        ("Forget bullion. The S&P 500 will do better than gold in 2019.", "The S&P 500 outperforms yahoo:GC=F from 2018-12-31 to 2019-12-31"),
        ("Oil's slump has further to run, and Brent will be under $65 on Christmas Eve", "yahoo:BZ=F closes below 65 on 2018-12-24"),
        ("oil won't see 80 again until 2019", "WTI crude oil never touches 80 through 2018-12-31"),
        ("Unemployment falls to a fresh 50-year low by year-end", "US unemployment rate closes at a new 2600-week low at least once through 2018-12-31"),
        ("the 3m libor is at 2.5 or more on 31 August", "3-month rate is at or above 2.5 on 2018-08-31"),
        ("bitcoin dips below $5k at some point in 2019", "yahoo:BTC-USD closes at or below 5,000 at least once from 2018-12-31 to 2019-12-31"),
        ("10s above 3 and a quarter on 31 August", "fred:DGS10 is above 3.25 on 2018-08-31"),
        ("WTI closes above 70 at least once within 24 hours", "WTI crude oil closes at or above 70 at least once through 2018-06-30"),
        ("WTI closes above 70 at least once over the next 72 hours", "WTI crude oil closes at or above 70 at least once through 2018-07-02"),
        ("yahoo:M&M.NS closes above 1.5e+3 on 2018-08-31", "yahoo:M&M.NS closes above 1,500 on 2018-08-31"),
        ("VIX above 1.25e1 on 2018-08-31", "The VIX closes above 12.5 on 2018-08-31"),
        ("at least twelve sessions on which the VIX closes above 18 in H2", "The VIX closes above 18 on at least 12 days from 2018-06-30 to 2018-12-31"),
    ],
)  # fmt: skip
def test_another_way_of_saying_it_is_read(text: str, statement: str) -> None:
    found = read(text, JUNE)
    assert found.best is not None and found.best.statement == statement, [
        each.statement for each in found.choices
    ]


@pytest.mark.parametrize(
    ("text", "aside"),
    [
        ("VIX above 20 on 2018-09-28, imho", "imho"),
        ("VIX above 20 on 2018-09-28, veteran traders say", "veteran traders say"),
        ("We'd put the odds at roughly 70% that VIX is above 20 on 2018-09-28", "We'd put the odds at roughly 70% that"),
        ("VIX, now in the mid-10s, is above 20 on 2018-09-28", "now in the mid-10s"),
        ("VIX above 20 on 2018-09-28, a level traders have not seen since 2016", "a level traders have not seen since 2016"),
    ],
)  # fmt: skip
def test_an_aside_is_named_and_the_claim_read_without_it(text: str, aside: str) -> None:
    best = read(text, JUNE).best
    assert best is not None and best.statement == "The VIX closes above 20 on 2018-09-28"
    assert f"{aside!r} is an aside, and no part of the claim" in best.notes


@pytest.mark.parametrize(
    "text",
    [
        "Should trade tensions escalate, we would expect the S&P 500 to fall below 2,500 by year-end.",
        "Were inflation to surprise, the 10-year yield ends the year above 3.5%",
        "VIX above 20 on 2018-09-28, if traders say so",
        "VIX above 20 on 2018-09-28, unless the Fed says no",
        "Real GDP grows at least 3% in Q3, seasonally adjusted",
        "Gold, in euro terms, above 1100 at year end",
        "Why the bull market may be nearing its end",
        "nasdaq up, dow down in july",
    ],
)
def test_a_condition_another_measure_and_a_headline_are_no_asides(text: str) -> None:
    assert not read(text, JUNE).choices


@pytest.mark.parametrize(
    "text",
    [
        "gold is higher at some point in July than today",
        "WTI between 70 and 75 at some point in July",
        "S&P 500's 200-day average above 2700 at year end",
        "S&P won't have a down month before November",
        "S&P 500 hits a record in each of the next three months",
    ],
)
def test_what_one_reading_would_lose_is_asked(text: str) -> None:
    assert read(text, JUNE).best is None


@pytest.mark.parametrize(
    ("today", "measured"), [(JUNE, True), (date(2018, 6, 30), True), (date(2018, 6, 27), False)]
)
def test_the_close_of_a_weekday_is_the_last_one_only_on_that_day(today: date, measured: bool) -> None:
    found = read("WTI at least 5% above Friday's close at the end of September", today)
    assert any(each.relation == "change" and each.start is None for each in found.choices) is measured


@pytest.mark.parametrize("text", ["S&P 500 hits a ytd high before October 2018", "the VIX makes a new low for the year by December 2018", "S&P 500 makes a multi-year high in H2 2018"])  # fmt: skip
def test_a_high_of_the_year_so_far_is_not_taken_for_one_of_all_time(text: str) -> None:
    assert read(text, date(2018, 6, 30)).best is None
