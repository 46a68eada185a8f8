"""Days and periods by the names that people give them: holidays, meetings, quarters, and the arithmetic between them."""

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import date, timedelta

from workbench.questions.errors import ClaimRefused
from workbench.questions.readings.lexicon import lexicon

#: Last days of the scheduled meetings of the FOMC (federalreserve.gov, "Meeting calendars"), on which its decision is published.
FOMC = tuple(
    date(year, *map(int, day.split("-")))
    for year, days in {
        2012: "1-25 3-13 4-25 6-20 8-1 9-13 10-24 12-12",
        2013: "1-30 3-20 5-1 6-19 7-31 9-18 10-30 12-18",
        2014: "1-29 3-19 4-30 6-18 7-30 9-17 10-29 12-17",
        2015: "1-28 3-18 4-29 6-17 7-29 9-17 10-28 12-16",
        2016: "1-27 3-16 4-27 6-15 7-27 9-21 11-2 12-14",
        2017: "2-1 3-15 5-3 6-14 7-26 9-20 11-1 12-13",
        2018: "1-31 3-21 5-2 6-13 8-1 9-26 11-8 12-19",
        2019: "1-30 3-20 5-1 6-19 7-31 9-18 10-30 12-11",
        2020: "1-29 3-18 4-29 6-10 7-29 9-16 11-5 12-16",
        2021: "1-27 3-17 4-28 6-16 7-28 9-22 11-3 12-15",
        2022: "1-26 3-16 5-4 6-15 7-27 9-21 11-2 12-14",
        2023: "2-1 3-22 5-3 6-14 7-26 9-20 11-1 12-13",
        2024: "1-31 3-20 5-1 6-12 7-31 9-18 11-7 12-18",
        2025: "1-29 3-19 5-7 6-18 7-30 9-17 10-29 12-10",
        2026: "1-28 3-18 4-29 6-17 7-29 9-16 10-28 12-9",
    }.items()
    for day in days.split()
)

MONTHS = {
    name: number
    for number, names in enumerate(
        [
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sept sep",
            "october oct",
            "november nov",
            "december dec",
        ],
        start=1,
    )
    for name in names.split()
}
WEEKDAYS = {
    name: number
    for number, names in enumerate(
        [
            "monday mon",
            "tuesday tues tue",
            "wednesday wed",
            "thursday thurs thu",
            "friday fri",
            "saturday sat",
            "sunday sun",
        ]
    )
    for name in names.split()
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """Days from ``first`` to ``last``, both included."""

    first: date
    last: date

    @property
    def before(self) -> date:
        """The day before it, whose close its changes are measured from."""
        return self.first - timedelta(days=1)


def months_of(year: int, first: int, count: int = 1) -> Period:
    """Return ``count`` calendar months.

    >>> months_of(2018, 7, 6).last
    datetime.date(2018, 12, 31)
    """
    last = first + count - 1
    return Period(first=date(year, first, 1), last=date(year, last, monthrange(year, last)[1]))


def later_month(year: int, month: int, count: int) -> tuple[int, int]:
    """Return year and month so many months later, or earlier."""
    total = year * 12 + month - 1 + count
    return total // 12, total % 12 + 1


_LIFETIME = {"day": 36_500, "week": 5_200, "month": 1_200, "quarter": 400, "half": 200, "year": 100}


def after(day: date, count: int, unit: str) -> date:
    """Return the day so many days, weeks, months or years after a day.

    >>> after(date(2018, 6, 30), 3, "month"), after(date(2018, 10, 31), 1, "month")
    (datetime.date(2018, 9, 30), datetime.date(2018, 11, 30))
    >>> after(date(2018, 7, 3), 1, "trading day")
    datetime.date(2018, 7, 5)

    Raises `ClaimRefused`: It is more than a lifetime away: the calendar ends, and days would be counted one by one until then.
    """
    if count > _LIFETIME.get(unit, _LIFETIME["day"]):
        raise ClaimRefused(f"{count} {unit}s from now is too far ahead for a claim; choose a nearer date")
    if unit in ("trading day", "session", "business day"):
        for _ in range(count):
            day += timedelta(days=1)
            while day.weekday() > 4 or exchange_holiday(day):
                day += timedelta(days=1)
        return day
    if unit in ("day", "week"):
        return day + timedelta(days=count * (7 if unit == "week" else 1))
    months = count * {"month": 1, "quarter": 3, "half": 6, "year": 12}[unit]
    year, month = later_month(day.year, day.month, months)
    return date(year, month, min(day.day, monthrange(year, month)[1]))


def period_of(day: date, unit: str, shift: int = 0) -> Period:
    """Return the calendar week, month, quarter, half or year of a day, or the one ``shift`` later.

    >>> period_of(date(2018, 6, 30), "quarter", 1).first
    datetime.date(2018, 7, 1)
    """
    if unit == "week":
        first = day - timedelta(days=day.weekday()) + timedelta(days=7 * shift)
        return Period(first=first, last=first + timedelta(days=4))
    size = {"month": 1, "quarter": 3, "half": 6, "year": 12}[unit]
    begin = (day.month - 1) // size * size + 1
    year, month = later_month(day.year, begin, size * shift)
    return months_of(year, month, size)


def weekday_after(day: date, weekday: int, weeks: int = 0) -> date:
    """Return the next such weekday, after the day itself.

    >>> weekday_after(date(2018, 6, 26), 4)
    datetime.date(2018, 6, 29)
    """
    return day + timedelta(days=(weekday - day.weekday() - 1) % 7 + 1 + 7 * weeks)


def holiday(name: str, year: int) -> date | None:
    """Return the day of a holiday in a year, as the lexicon says it; None where that year has none.

    >>> holiday("thanksgiving", 2018), holiday("good friday", 2018), holiday("election day", 2017)
    (datetime.date(2018, 11, 22), datetime.date(2018, 3, 30), None)
    """
    rule = lexicon().holidays[name]
    if rule == "election":
        return _nth(year, 11, 0, 1) + timedelta(days=1) if year % 2 == 0 else None
    if fixed := re.fullmatch(r"(\d+)-(\d+)", rule):
        return date(year, int(fixed[1]), int(fixed[2]))
    day, _, shift = re.sub(" ([+-]) ", r" \1", rule).partition(" " if rule.startswith("easter") else " +")
    if day == "easter":
        return _easter(year) + timedelta(days=int(shift or 0))
    rank, weekday, month = day.split()
    if rank == "last":
        return weekday_after(date(year, int(month), 24), WEEKDAYS[weekday])
    return _nth(year, int(month), WEEKDAYS[weekday], int(rank[0])) + timedelta(days=int(shift or 0))


def exchange_holiday(day: date) -> bool:
    """Return whether the exchanges of New York are closed on a weekday (`trading_days` has the rules in full, and pandas with them)."""
    year = day.year
    moving = (_nth(year, 1, 0, 3), _nth(year, 2, 0, 3), _easter(year) - timedelta(days=2), *(holiday(each, year) for each in ("memorial day", "labor day", "thanksgiving")))  # fmt: skip
    fixed = (date(year, 1, 1), date(year, 7, 4), date(year, 12, 25))
    observed = (each + timedelta(days={5: -1, 6: 1}.get(each.weekday(), 0)) for each in fixed)
    return day in moving or day in observed


def last_session(day: date) -> date:
    """Return the last day up to this one on which the exchanges of New York are open.

    >>> last_session(date(2018, 11, 22)), last_session(date(2018, 9, 1))
    (datetime.date(2018, 11, 21), datetime.date(2018, 8, 31))
    """
    while day.weekday() > 4 or exchange_holiday(day):
        day -= timedelta(days=1)
    return day


def _nth(year: int, month: int, weekday: int, count: int) -> date:
    first = date(year, month, 1)
    return first + timedelta(days=(weekday - first.weekday()) % 7 + 7 * (count - 1))


def _easter(year: int) -> date:
    # Gregorian computus, Meeus' form.
    a, b, c = year % 19, year // 100, year % 100
    h = (19 * a + b - b // 4 - (b - (b + 8) // 25 + 1) // 3 + 15) % 30
    k = (32 + 2 * (b % 4) + 2 * (c // 4) - h - c % 4) % 7
    m = (a + 11 * h + 22 * k) // 451
    month, day = divmod(h + k - 7 * m + 114, 31)
    return date(year, month, day + 1)
