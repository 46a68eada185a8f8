"""A claim moved to an earlier cutoff: the same window, the same distance, other days."""

from calendar import monthrange
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, timedelta
from math import ceil

from workbench.questions.claims import Claim
from workbench.questions.decision import Rows, value_series

#: Past cutoffs of a record.
MOST = 120
#: The history that a series needs before its first past cutoff.
_WARM_UP = timedelta(days=730)


def earlier_days(
    claim: Claim, last_day: date, first: date, *, archive: date = date.min, most: int = MOST
) -> list[date]:
    """Return the last known days of past cutoffs, the latest first: spread evenly from two years of values to one window ago.

    A daily series steps by whole weeks, so that weekdays stay what they are; a monthly one by whole months. Before ``archive``
    nobody kept what was known.

    >>> from workbench.questions.grammar import read_claim
    >>> days = earlier_days(read_claim("VIX above 20 on 2018-12-31"), date(2018, 6, 29), date(2014, 1, 3), most=3)
    >>> [day.isoformat() for day in days]
    ['2017-12-22', '2017-04-28', '2016-09-02']
    """
    start, days_ahead = max(first + _WARM_UP, archive), (claim.end - last_day).days
    unit = 30.44 if claim.about.monthly else 7.0
    # Of the latest past cutoff the outcome is known by now.
    nearest = ceil(days_ahead / unit)
    farthest = int((last_day - start).days / unit)
    count = min(most, farthest - nearest + 1)
    if count < 1:
        return []
    spacing = (farthest - nearest + 1) / count
    steps = [nearest + int(spacing * place) for place in range(count)]
    if claim.about.monthly:
        return [months_later(last_day, -step) for step in steps]
    return [last_day - timedelta(days=7 * step) for step in steps]


def months_later(day: date, months: int) -> date:
    """Return the day so many months after, or before, a day; the end of a month stays one.

    >>> months_later(date(2018, 6, 30), 2), months_later(date(2018, 3, 30), -1)
    (datetime.date(2018, 8, 31), datetime.date(2018, 2, 28))
    """
    count = day.year * 12 + day.month - 1 + months
    year, month = count // 12, count % 12 + 1
    last = monthrange(year, month)[1]
    # The release that stands behind a month's end is then out as well.
    end = months != 0 and day.day == monthrange(day.year, day.month)[1]
    return date(year, month, last if end else min(day.day, last))


def moved_claim(
    claim: Claim, last_day: date, to: date, rows: Mapping[str, Rows], past: Mapping[str, Rows]
) -> Claim:
    """Move a claim of one cutoff to an earlier one.

    Its days lie as far from the cutoff. A level of a price or an index keeps its distance from the last known value, in percent, or in
    units where one of the two values is at or below zero; one of a series that returns to its mean, such as a volatility or a yield, stays where it is.
    """

    def moved(day: date) -> date:
        if claim.about.monthly:
            return months_later(day, (to.year - last_day.year) * 12 + to.month - last_day.month)
        return day - (last_day - to)

    dated = replace(claim, start=None if claim.start is None else moved(claim.start), end=moved(claim.end))
    if claim.pattern not in (
        "level",
        "range",
        "touch",
        "mean",
        "highest",
        "lowest",
        "count",
        "points",
        "first",
    ) or claim.about.kind in ("volatility", "yield"):
        return dated
    then, now = _last_value(claim, past), _last_value(claim, rows)
    scale, by = (then / now, 0.0) if min(then, now) > 0 else (1.0, then - now)
    if claim.pattern == "points":
        by = 0.0
    return replace(
        dated,
        level=None if claim.level is None else round(claim.level * scale + by, 4),
        upper=None if claim.upper is None else round(claim.upper * scale + by, 4),
    )


def _last_value(claim: Claim, rows: Mapping[str, Rows]) -> float:
    return float(value_series(claim.series, rows).iloc[-1])
