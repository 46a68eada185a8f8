"""Keep one clock for all sources: the knowledge cutoff as an instant, and the parsing of foreign time stamps.

Every policy asks one question, *when was this known*, and compares the answer with one instant. Whatever
cannot be read is not known: the row goes.
"""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import Self
from zoneinfo import ZoneInfo

from proxies.errors import CutoffRefused

NEW_YORK = ZoneInfo("America/New_York")
TICK = timedelta(microseconds=1)
# \Z and not $, which lets a line break through at the end
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}\Z")
_INSTANT = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?\s?(Z|[+-]\d{2}(:?\d{2})?)?\Z")


@dataclass(frozen=True, slots=True)
class Cutoff:
    """The instant before which knowledge may be used."""

    #: Aware, UTC. Only what was known strictly before it may be used.
    instant: datetime
    #: As the caller wrote it.
    text: str
    #: True for ``now`` and ``live``: nothing is clamped.
    live: bool = False

    @classmethod
    def parse(cls, text: str, *, now: datetime | None = None) -> "Cutoff":
        """Parse a cutoff.

        A bare date is the start of that day in New York, so the day before is the last visible one.

        Raises `CutoffRefused`: Not a date, not an instant, or an instant without a zone.

        >>> Cutoff.parse("2018-06-30").instant.isoformat()
        '2018-06-30T04:00:00+00:00'
        """
        word = text.strip()
        if word.lower() in ("now", "live"):
            return cls(instant=(now or datetime.now(UTC)).astimezone(UTC), text=word.lower(), live=True)
        if _DAY.match(word):
            day = parse_day(word)
            if day is None:
                raise CutoffRefused(f"{word!r} is not a day of the calendar: write the cutoff as YYYY-MM-DD")
            try:
                return cls(instant=start_of_day(day, NEW_YORK), text=word)._within_calendar()
            except OverflowError:
                raise CutoffRefused(f"{word!r} is out of range for a cutoff") from None
        if _INSTANT.match(word):
            stamp = parse_instant(word, None)
            if stamp is not None:
                return cls(instant=stamp, text=word)._within_calendar()
            if _naive(word) is not None:
                raise CutoffRefused(
                    f"the cutoff {word!r} names no time zone: add one (2018-06-30T12:00-04:00, or Z for UTC)"
                )
        raise CutoffRefused(
            f"{text!r} is not a cutoff: write a date (2018-06-30), an instant with its zone "
            "(2018-06-30T12:00-04:00), or now"
        )

    def _within_calendar(self) -> Self:
        try:
            self.last_visible_day  # noqa: B018  # before the first day of the calendar there is none
        except OverflowError:
            raise CutoffRefused(f"{self.text!r} is out of range for a cutoff") from None
        return self

    @property
    def shown(self) -> str:
        """The cutoff as a model reads it: as written, or ``live``."""
        return "live" if self.live else self.text

    def asked_on(self, now: datetime | None = None) -> date:
        """Return the day that a question is asked on: for a live cutoff New York's calendar day, else the last visible day."""
        if not self.live:
            return self.last_visible_day
        return (now or datetime.now(UTC)).astimezone(NEW_YORK).date()

    @property
    def last_visible_day(self) -> date:
        """New York's calendar day before the one the instant falls in (D - 1 for a bare date D)."""
        return self.instant.astimezone(NEW_YORK).date() - timedelta(days=1)

    @property
    def last_moment_day(self) -> date:
        """New York's calendar day of the last usable moment: a window of days may end here, rows are checked after."""
        return (self.instant - TICK).astimezone(NEW_YORK).date()

    def admits(self, known: datetime) -> bool:
        """Whether something known from ``known`` on, inclusive, was known before the cutoff."""
        # not "<": an event's known instant lies one TICK after its stamp (see stamps), an interval's is its end
        return self.live or known <= self.instant


def start_of_day(day: date, zone: ZoneInfo) -> datetime:
    """Return midnight at the start of a day in a zone, as UTC."""
    return datetime.combine(day, time(0), tzinfo=zone).astimezone(UTC)


def end_of_day(day: date, zone: ZoneInfo) -> datetime:
    """Return midnight at the end of a day in a zone, as UTC: from then on a day-stamped fact is surely known."""
    return start_of_day(day + timedelta(days=1), zone)


@lru_cache(maxsize=65536)
def parse_day(text: str) -> date | None:
    """Parse a strict ``YYYY-MM-DD``; None for anything else."""
    if not _DAY.match(text):
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _naive(text: str) -> datetime | None:
    if not _INSTANT.match(text):
        return None
    # nanoseconds occur (trade stamps); the standard library reads six digits
    trimmed = re.sub(r"(\.\d{6})\d+", r"\1", text)
    try:
        return datetime.fromisoformat(trimmed.replace(" +", "+").replace(" Z", "Z"))
    except ValueError:
        return None


@lru_cache(maxsize=65536)
def parse_instant(text: str, zone: ZoneInfo | None) -> datetime | None:
    """Parse an ISO date-time into a UTC instant; None for anything else."""
    stamp = _naive(text)
    if stamp is None:
        return None
    if stamp.tzinfo is None:
        if zone is None:
            return None
        # an hour that occurs twice is read as the later one
        stamp = stamp.replace(tzinfo=zone, fold=1)
    try:
        return stamp.astimezone(UTC)
    except OverflowError:
        return None


def from_epoch(seconds: float) -> datetime | None:
    """Convert epoch seconds (or milliseconds, told by their size) to a UTC instant, or None."""
    try:
        # 1e11 as seconds is the year 5138, as milliseconds March 1973: no vendor's data lie beyond either
        return datetime.fromtimestamp(seconds / 1000 if abs(seconds) > 1e11 else seconds, tz=UTC)
    except (OverflowError, ValueError, OSError):
        return None


def zone_of(name: str) -> ZoneInfo:
    """Return the zone of an IANA name."""
    return ZoneInfo(name)
