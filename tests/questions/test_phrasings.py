"""Other ways of saying the same are read as what they say; an aside is named, and a condition is none."""

from datetime import date

import pytest

from workbench.questions.readings.read import read

JUNE = date(2018, 6, 29)


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
    ("today", "measured"), [(JUNE, True), (date(2018, 6, 30), True), (date(2018, 6, 27), False)]
)
def test_the_close_of_a_weekday_is_the_last_one_only_on_that_day(today: date, measured: bool) -> None:
    found = read("WTI at least 5% above Friday's close at the end of September", today)
    assert (
        any(each.says.pattern == "change" and each.says.start is None for each in found.choices) is measured
    )
