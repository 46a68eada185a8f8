"""Long date windows where a vendor cuts its answers short without saying so: asked again until the window is whole.

Nobody documents how many rows an answer may hold, and it differs by interval and plan. So the answer itself is read: when
it holds many rows and still leaves out a weekday at the window's start (or end), that part is asked for. The day at the cut
may be incomplete and is asked for again, whole. A holiday at an edge costs one more small request.
"""

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

from proxies.asof.clock import parse_day
from proxies.asof.row_filter import Filtered
from proxies.asof.rows import get

# a shorter answer was not cut: no plan gives so few rows
LEAST_ROWS = 50
MOST_STRETCHES = 25
_DAY = timedelta(days=1)


@dataclass(slots=True)
class Stretches:
    """A window asked for in as many stretches as it takes, at most 25.

    Parameters
    ----------
    params : mapping
        The request as planned.
    start, end : str
        The names of the window's bounds; both are in ``params``.
    stamp : str
        The field that holds a row's day, or instant.
    """

    params: Mapping[str, Any]
    start: str
    end: str
    stamp: str
    _open: deque[tuple[date, date]] = field(default_factory=deque)
    _now: tuple[date, date] | None = None
    _count: int = 0
    _days: dict[str, list[Any]] = field(default_factory=dict)
    _first: Filtered | None = None
    _dropped: Counter[str] = field(default_factory=Counter)
    _unread: tuple[int, ...] = ()
    _undated: list[Any] = field(default_factory=list)
    _newest_first: bool = True
    _short: bool = False

    def __post_init__(self) -> None:
        self._open.append((_day(self.params[self.start]), _day(self.params[self.end])))

    def next(self) -> Mapping[str, Any] | None:
        """The parameters of the next stretch, or None when the window is whole."""
        if not self._open:
            return None
        if self._count >= MOST_STRETCHES:
            self._short = True
            return None
        self._now = self._open.popleft()
        self._count += 1
        return {**self.params, self.start: self._now[0].isoformat(), self.end: self._now[1].isoformat()}

    def add(self, payload: Any, filtered: Filtered) -> None:
        """Add a stretch; what it leaves out at either bound becomes a stretch to ask for."""
        assert self._now is not None, "a stretch was asked for"
        first, last = self._now
        stamps = [self._day_of(row) for row in payload] if isinstance(payload, list) else []
        days = [day for day in stamps if day is not None]
        if self._first is None:
            self._first = filtered
            self._newest_first = not days or days[0] >= days[-1]
        self._collect(filtered)
        inside = [day for day in days if first <= day <= last]
        if len(stamps) < LEAST_ROWS or not inside:
            return
        low, high = min(inside), max(inside)
        # what reaches over a bound was not cut there; a stretch that is all one day cannot be cut smaller
        if min(days) == low and low < last and _weekday(first, low):
            self._open.append((first, low))
        if max(days) == high and high > first and _weekday(high + _DAY, last + _DAY):
            self._open.append((high, last))

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
        """The joined rows, in the vendor's order."""
        assert self._first is not None, "a stretch was added"
        if self._count == 1 and not self._short:
            return self._first
        order = sorted(self._days, reverse=self._newest_first)
        rows = [row for day in order for row in self._days[day]] + self._undated
        # from how many requests stands in the ledger: late rows in a vendor's answers can make it more
        notes = self._first.notes
        if self._short or self._open:
            notes = (*notes, "the window is still not whole: ask for a shorter one, or a longer interval")
        return Filtered(
            data=rows, dropped=self._dropped, undated=self._unread, visible=len(rows), notes=notes
        )


def _weekday(first: date, end: date) -> bool:
    """Whether a day from Monday to Friday lies between two days, the second not included."""
    length = (end - first).days
    # three days in a row always hold a weekday
    return length > 2 or any((first + n * _DAY).weekday() < 5 for n in range(length))


def _day(text: Any) -> date:
    day = parse_day(str(text))
    assert day is not None, "bounds are checked days"
    return day
