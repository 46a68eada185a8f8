"""Fetch long date windows in stretches where a vendor silently cuts its answers.

Nobody documents how many rows an answer may hold, and it differs by interval and plan. So the answer itself is read: when
it holds many rows and still leaves out a weekday at the window's start (or end), that part is asked for. The day at the cut
may be incomplete and is asked for again, whole. A holiday at an edge costs one more small request.

The day in which the cutoff lies is asked for by itself: the vendor takes days and no hours, so that its answer holds bars of
after the cutoff, which would push others out of an answer that is cut. Bars of minutes are told of that day only where earlier
days showed that an answer holds more than a day.
"""

from collections import Counter, deque
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

from proxies.asof.clock import Cutoff, parse_day
from proxies.asof.row_filter import Filtered
from proxies.asof.rows import get
from proxies.asof.stamps import MINUTES
from proxies.errors import CutoffRefused
from proxies.json_text import Fields, Row

# a shorter answer was not cut: no plan gives so few rows
LEAST_ROWS = 50
MOST_STRETCHES = 25
_DAY = timedelta(days=1)
# two weeks before the cutoff's own day hold some days of trading over any holidays
_BEFORE = timedelta(days=14)


def open_day(cutoff: Cutoff) -> date | None:
    """Return the day of the cutoff's instant, of which the vendor holds later bars too; None between two days."""
    day = cutoff.last_moment_day
    return None if cutoff.live or day == cutoff.last_visible_day else day


def minutes_of(grain: str) -> int:
    """Return the bar length, in minutes, for bars so short that an answer may be cut within a day; else 0.

    >>> minutes_of("5min"), minutes_of("30min"), minutes_of("day")
    (5, 0, 0)
    """
    minutes = MINUTES.get(grain, 1440)
    return minutes if 1440 // minutes >= LEAST_ROWS else 0


@dataclass(slots=True)
class Stretches:
    """A window that is fetched in as many stretches as it takes, at most 25."""

    #: The request as planned.
    params: Fields
    #: start, end: The names of the window's bounds; the end is in ``params``. Without a start the vendor's own one counts.
    start: str
    end: str
    #: The field that holds a row's day, or instant.
    stamp: str
    #: The day in which the cutoff lies, see `open_day`; asked for by itself if the window ends with it.
    own_day: date | None = None
    #: Length of a bar where there may be too many in a day for one answer, see `minutes_of`.
    minutes: int = 0
    _open: deque[tuple[date | None, date]] = field(default_factory=deque)
    _now: tuple[date | None, date] | None = None
    _count: int = 0
    _days: dict[str, list[Any]] = field(default_factory=dict)
    _first: Filtered | None = None
    _dropped: Counter[str] = field(default_factory=Counter)
    _unread: tuple[int, ...] = ()
    _undated: list[Any] = field(default_factory=list)
    _newest_first: bool = True
    _short: bool = False
    # whether an earlier answer held more bars than a day has; None: the days before were not asked yet
    _holds_a_day: bool | None = None
    _left_out: bool = False

    def __post_init__(self) -> None:
        start, last = self.params.get(self.start), _bound_day(self.params[self.end])
        first = _bound_day(start) if start else None
        self._holds_a_day = None if self.minutes else True
        if self.own_day != last:
            self.own_day = None
        else:
            last -= _DAY
        if first is None or first <= last:
            self._open.append((first, last))

    def next(self) -> Fields | None:
        """Return the parameters of the next stretch, or None when the window is whole."""
        if self._open and self._count < MOST_STRETCHES:
            self._now = self._open.popleft()
            self._count += 1
            return self._bounded(*self._now)
        self._short = bool(self._open)
        day, self._now = self.own_day, None
        if day is None:
            return None
        if self._holds_a_day is None:
            return self._bounded(day - _BEFORE, day - _DAY)
        self.own_day = None
        if not self._holds_a_day:
            self._left_out = True
            return None
        self._now = (day, day)
        self._count += 1
        return self._bounded(day, day)

    def _bounded(self, first: date | None, last: date) -> Row:
        start = {self.start: first.isoformat()} if first else {}
        return {**self.params, **start, self.end: last.isoformat()}

    def add(self, payload: Any, filtered: Filtered) -> None:
        """Add a stretch; what is missing at either bound becomes a stretch to fetch."""
        stamps = [self._day_of(row) for row in payload] if isinstance(payload, list) else []
        days = [day for day in stamps if day is not None]
        if self.own_day is not None and self.minutes and self._exceeds_a_day(payload):
            self._holds_a_day = True
        if self._now is None:
            # the days before, which were asked for only to see how much an answer holds
            self._holds_a_day = bool(self._holds_a_day)
            return
        first, last = self._now
        if self._first is None:
            self._first = filtered
            # of the rows that stay: how late ones stand among them must not show
            stay = [day for row in filtered.data or () if (day := self._day_of(row)) is not None]
            self._newest_first = not stay or stay[0] >= stay[-1]
        self._collect(filtered)
        inside = [day for day in days if first and first <= day <= last]
        if len(stamps) < LEAST_ROWS or not inside or first is None:
            return
        low, high = min(inside), max(inside)
        # what reaches over a bound was not cut there; a stretch that is all one day cannot be cut smaller
        if min(days) == low and low < last and _weekday(first, low):
            self._open.append((first, low))
        if max(days) == high and high > first and _weekday(high + _DAY, last + _DAY):
            self._open.append((high, last))

    def _exceeds_a_day(self, payload: Any) -> bool:
        """Whether an answer holds more bars before the cutoff's day than a day has: it was not cut within one."""
        assert self.own_day is not None, "asked only before that day is"
        stamps = [get(row, self.stamp) for row in payload] if isinstance(payload, list) else []
        before = {
            text
            for text in stamps
            if isinstance(text, str) and len(text) > 15 and text[:10] < self.own_day.isoformat()
        }
        clocks = [
            60 * int(text[11:13]) + int(text[14:16]) for text in before if self._day_of({self.stamp: text})
        ]
        a_day = (max(clocks) - min(clocks)) // self.minutes + 1 if clocks else 0
        return len({text[:10] for text in before}) > 1 and len(clocks) > a_day

    def _collect(self, filtered: Filtered) -> None:
        fresh: dict[str, list[Any]] = {}
        undated = []
        for row in filtered.data if isinstance(filtered.data, list) else ():
            day = self._day_of(row)
            if day is None:
                undated.append(row)
            else:
                fresh.setdefault(day.isoformat(), []).append(row)
        for name, rows in fresh.items():
            # a day that was cut comes whole from one of the stretches
            if len(rows) > len(self._days.get(name, ())):
                self._days[name] = rows
        self._undated += undated
        self._dropped += filtered.dropped
        # a row without a date may come with every stretch
        self._unread = max(self._unread, filtered.undated, key=len)

    def _day_of(self, row: Any) -> date | None:
        value = get(row, self.stamp)
        return parse_day(value[:10]) if isinstance(value, str) else None

    def result(self) -> Filtered:
        """Return the joined rows, in the vendor's order.

        Raises `CutoffRefused`: The window is the cutoff's own day, and how many bars of it the vendor gives at once does not show.
        """
        if self._first is None:
            raise CutoffRefused(
                "bars of the cutoff's own day cannot be told: the days before do not show that the vendor gives a whole day at "
                "once, which does not mean that there were none; ask for earlier days, or use bars of half an hour or longer"
            )
        if self._count == 1 and not self._short and not self._left_out:
            return self._first
        order = sorted(self._days, reverse=self._newest_first)
        rows = [row for day in order for row in self._days[day]] + self._undated
        # from how many requests stands in the ledger: late rows in a vendor's answers can make it more
        notes = self._first.notes
        if self._short or self._open:
            notes = (*notes, "the window is still not whole: ask for a shorter one, or a longer interval")
        if self._left_out:
            notes = (
                *notes,
                "bars of the cutoff's own day are left out: the vendor may not give a whole day at once",
            )
        return Filtered(
            data=rows, dropped=self._dropped, undated=self._unread, visible=len(rows), notes=notes
        )


def _weekday(first: date, end: date) -> bool:
    """Whether a day from Monday to Friday lies between two days, the second not included."""
    length = (end - first).days
    # three days in a row always hold a weekday
    return length > 2 or any((first + n * _DAY).weekday() < 5 for n in range(length))


def _bound_day(text: Any) -> date:
    day = parse_day(str(text))
    assert day is not None, "bounds are checked days"
    return day
