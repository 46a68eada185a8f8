"""Read when a row was known, by the stamps that the catalogue describes.

`known_from` gives the first instant at which a row may be used, or None where that cannot be told. A row is
visible when that instant is not after the cutoff. Events (a publication, a trade) are known just after their
stamp, so that one stamped exactly at the cutoff stays out; an interval that ends at the cutoff is in.
"""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from proxies.asof.clock import NEW_YORK, TICK, end_of_day, from_epoch, parse_day, parse_instant, start_of_day

MINUTES = {
    "1min": 1, "2min": 2, "5min": 5, "15min": 15, "30min": 30, "60min": 60, "90min": 90, "1hour": 60, "4hour": 240,
}  # fmt: skip
_MONTH = re.compile(r"(\d{4})-(\d{2})\Z")
_DIGITS = re.compile(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\Z")
_COMPACT = re.compile(r"(\d{4})(\d{2})(\d{2})(\d{2})?\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """The form of a stamp and its meaning."""

    #: ``iso``, ``epoch``, ``month`` (2019-10), ``compact`` (20240131, 2024013100), ``year``.
    form: str = "iso"
    #: Where stamps without an offset are read.
    zone: ZoneInfo = NEW_YORK
    #: ``instant`` (an event), ``end`` (the inclusive end of an interval), ``day``, ``month``, or a bar length (``15min``, ``1hour``,
    #: ``1day``, ``1week``, ``1month``) whose start the stamp is.
    grain: str = "instant"
    #: With grain ``day``: when on that day it is known, in ``close_zone``; None: at the day's end.
    close: tuple[int, int] | None = None
    close_zone: ZoneInfo = NEW_YORK
    #: Days that pass on top before it is known.
    plus_days: int = 0
    #: How it is written, as strptime has it; in the place of ``form``.
    pattern: str = ""


def read(value: Any, stamp: Stamp) -> date | datetime | None:
    """Parse a stamp into a day or a UTC instant, or None."""
    if value is None or isinstance(value, bool) or value == "":
        return None
    if stamp.form == "epoch":
        if isinstance(value, str):
            value = float(value) if re.fullmatch(r"\d{1,13}(\.\d+)?", value) else None
        # 0 and -1 stand for "none" in many places, and no vendor counts in fractions of a second
        if not isinstance(value, (int, float)) or value in (0, -1) or value != int(value):
            return None
        return from_epoch(value)
    if stamp.form == "year":
        return _year_end(value)
    if not isinstance(value, str):
        return None
    if stamp.pattern:
        return _by_pattern(value, stamp)
    if stamp.form == "month":
        match = _MONTH.match(value)
        return month_end(int(match[1]), int(match[2])) if match else None
    if stamp.form == "digits":
        digits = _DIGITS.match(value)
        return parse_instant("{}-{}-{}T{}:{}:{}Z".format(*digits.groups()), stamp.zone) if digits else None
    if stamp.form == "compact":
        match = _COMPACT.match(value)
        return parse_day(f"{match[1]}-{match[2]}-{match[3]}") if match else None
    return parse_day(value) or parse_instant(value, stamp.zone)


def _by_pattern(value: str, stamp: Stamp) -> date | datetime | None:
    try:
        moment = datetime.strptime(value.strip(), stamp.pattern)  # noqa: DTZ007 - its zone follows below
    except ValueError:
        return None
    if not any(sign in stamp.pattern for sign in ("%H", "%I", "%X", "%c")):
        return moment.date()
    return (moment if moment.tzinfo else moment.replace(tzinfo=stamp.zone)).astimezone(UTC)


def known_from(value: Any, stamp: Stamp) -> datetime | None:
    """Return the first instant at which a row with this stamp may be used, or None if it cannot be told."""
    moment = read(value, stamp)
    if moment is None:
        return None
    try:
        return _known_from(moment, stamp) + timedelta(days=stamp.plus_days)
    except (OverflowError, ValueError):
        return None


def _known_from(moment: date | datetime, stamp: Stamp) -> datetime:
    if not isinstance(moment, datetime):
        return _of_day(moment, stamp)
    if stamp.grain == "instant":
        # an event is known just after its stamp: one that is stamped exactly at the cutoff stays out
        return moment + TICK
    if stamp.grain == "end":
        return moment
    if stamp.grain in MINUTES:
        return moment + timedelta(minutes=MINUTES[stamp.grain])
    return _of_day(moment.astimezone(stamp.zone).date(), stamp)


def _of_day(day: date, stamp: Stamp) -> datetime:
    if stamp.grain in ("1week", "1wk"):
        # weekly and monthly bars are stamped with their start and hold later days: known when the last of those is over
        return start_of_day(day + timedelta(days=7), stamp.zone)
    if stamp.grain in ("month", "1month", "1mo"):
        return end_of_day(month_end(day.year, day.month) or day, stamp.zone)
    if stamp.close is None:
        return end_of_day(day, stamp.zone)
    return datetime.combine(day, time(*stamp.close), tzinfo=stamp.close_zone).astimezone(UTC)


def month_end(year: int, month: int) -> date | None:
    """Return the last day of a month, or None where there is no such month."""
    if not (1 <= month <= 12 and 1 <= year <= 9998):
        return None
    return date(year + month // 12, month % 12 + 1, 1) - timedelta(days=1)


def quarter_end(year: int, quarter: int) -> date | None:
    """Return the last day of a quarter, or None where there is no such quarter."""
    return month_end(year, 3 * quarter) if 1 <= quarter <= 4 else None


def _year_end(value: Any) -> date | None:
    if isinstance(value, str) and re.fullmatch(r"\d{4}", value):
        value = int(value)
    if isinstance(value, int) and 1000 <= value <= 9998:
        return date(value, 12, 31)
    return None
