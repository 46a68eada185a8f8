"""Read lists with the newest first back to the cutoff: its page is searched for, not walked to.

A list is asked for in the vendor's largest pages. If the first page is all later than the cutoff, the next ones are chosen
by the stamps seen so far: ahead as fast as they tell (at least twice as far each time), then halving between the last page
that is all late and the first that is not. The order of the stamps is checked on every page: vendors order by a day beside
the one that counts, so a little disorder only moves the edge, and a list that is in no order is walked. A list whose edge
is not reached is refused: "could not look" is never "there is none".
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from proxies.asof.clock import Cutoff
from proxies.asof.policies.base import ApiRequest, stamp_for
from proxies.asof.policies.first_days import too_many_hits
from proxies.asof.row_filter import Filtered
from proxies.asof.rows import get
from proxies.asof.stamps import known_from
from proxies.catalogue.schema import Endpoint
from proxies.errors import CutoffRefused
from proxies.json_text import Fields

#: Requests to find the page where the cutoff lies, enough for a million pages however unevenly the rows came; and pages
#: read from there on.
MOST_SEARCHED = 32
MOST_READ = 25
#: Seconds by which rows may stand out of order: what is filed in the evening before a holiday bears a day of next week.
_DISORDER = 31 * 86400.0
# as many pages that repeat the first one show that the vendor has no pages
_REPEATS = 3
# at most so many times as far ahead as before, whatever the stamps promise
_LEAP = 32


def reader_of_stamps(request: ApiRequest) -> Callable[[Any], float | None]:
    """Return a function from a row to the second of its stamp, or None if unreadable."""
    row_stamp = request.endpoint.as_of.stamp
    if row_stamp is None:
        return lambda row: None
    stamp = stamp_for(request, row_stamp)
    seconds: dict[Any, float | None] = {}

    def instant(row: Any) -> float | None:
        value = get(row, row_stamp.field)
        if row_stamp.fallback and (value is None or value == ""):
            value = get(row, row_stamp.fallback)
        if not isinstance(value, (str, int, float)):
            return None
        if value not in seconds:
            moment = known_from(value, stamp)
            seconds[value] = moment.timestamp() if moment else None
        return seconds[value]

    return instant


def not_reached(endpoint: Endpoint, *, some: bool) -> CutoffRefused:
    """Build the refusal of a list that ends before enough rows of before the cutoff came.

    It says no number: how far the list was read follows from how much came later.
    """
    if endpoint.as_of.first:
        return too_many_hits(endpoint)
    instead = f": use {endpoint.as_of.instead}" if endpoint.as_of.instead else ""
    if some:
        return CutoffRefused(
            f"{endpoint.path} begins with its newest rows, and so many of before the cutoff are not reached: "
            f"ask for fewer, or for an earlier page{instead and ', or use ' + endpoint.as_of.instead}"
        )
    return CutoffRefused(
        f"{endpoint.path} begins with its newest rows and does not reach back to the cutoff: what was known then "
        f"cannot be told, which does not mean that there was nothing{instead}"
    )


@dataclass(slots=True)
class _ReadPage:
    """A page that was read: its surviving rows, its number of rows, and its stamps.

    ``newest`` and ``oldest`` are None if no stamp can be read. ``falling`` is by how much the rows miss the order newest
    first, in seconds, and ``rising`` by how much oldest first.
    """

    filtered: Filtered
    held: int
    newest: float | None = None
    oldest: float | None = None
    falling: float = 0.0
    rising: float = 0.0

    @classmethod
    def of(cls, filtered: Filtered, held: int, stamps: Iterable[float | None]) -> "_ReadPage":
        page = cls(filtered, held)
        for second in stamps:
            if second is not None:
                page.follow(second, second)
        return page

    def follow(self, newest: float, oldest: float) -> None:
        if self.newest is None or self.oldest is None:
            self.newest, self.oldest = newest, oldest
            return
        self.falling, self.rising = (
            max(self.falling, newest - self.oldest),
            max(self.rising, self.newest - oldest),
        )
        self.newest, self.oldest = max(self.newest, newest), min(self.oldest, oldest)

    @property
    def rows(self) -> list[Any]:
        return self.filtered.data if isinstance(self.filtered.data, list) else []


@dataclass(slots=True, kw_only=True)
class ReadBack:
    """The pages of a list from the cutoff back, until enough rows are there."""

    #: The request as planned.
    params: Fields
    endpoint: Endpoint
    #: A row's second, see `reader_of_stamps`.
    instant: Callable[[Any], float | None]
    cutoff: Cutoff
    #: Rows that a page is asked to hold; 0 if the endpoint takes no size.
    page_rows: int
    #: Pages are named by the rows before them (an offset) and not by their number.
    by_rows: bool
    #: skip, wanted: Which of the surviving rows are handed out.
    skip: int
    wanted: int
    _pages: dict[int, _ReadPage] = field(default_factory=dict)
    _now: int = 0
    _first: Any = None
    _repeats: int = 0
    _searched: int = 0
    _disorder: float = 0.0
    _falling: bool = True
    _start: int = 0
    _stop: int = 0
    _short: bool = False

    # -- the pager's three calls --------------------------------------------------------------------------------------

    def next(self) -> Fields | None:
        """Return the parameters of the next page, or None if the rows are there or out of reach."""
        number = self._next_page()
        if number is None:
            return None
        self._now = number
        page = self.endpoint.page
        sized = {page.size: self.page_rows} if self.page_rows else {}
        return {**self.params, page.param: number * self._step, **sized}

    def add(self, payload: Any, filtered: Filtered) -> None:
        """Add the page that was asked for last."""
        rows = payload if isinstance(payload, list) else []
        if self._now == 0:
            self._first = payload
        elif rows and payload == self._first:
            self._repeats += 1
            if self._starts_early or self._repeats >= _REPEATS or len(rows) != self.page_rows:
                # the upstream has no pages and gives its first one again: were there more, it would be full
                self._short = self._short or len(rows) == self.page_rows
                rows, filtered = [], Filtered(data=[])
        self._pages[self._now] = _ReadPage.of(filtered, len(rows), map(self.instant, rows))
        self._check_order()

    def result(self) -> Filtered:
        """Return the asked rows.

        Raises `CutoffRefused`: The list does not reach back to them.
        """
        read = [self._pages[number] for number in range(self._start, self._stop)]
        rows: list[Any] = []
        undated: list[int] = []
        for page in read:
            undated += [len(rows) + place for place in page.filtered.undated]
            rows += page.rows
        end = self.skip + self.wanted
        if len(rows) < end and (self._short or self._is_cut(some=bool(rows))):
            raise not_reached(self.endpoint, some=bool(rows))
        # rows without a date before the first that survived stand among late ones, of which not all were read; a list that
        # is sorted here comes in an order of the vendor's that says nothing
        least = max(self.skip, 1) if rows and not self.endpoint.as_of.order else self.skip
        dropped = sum((page.filtered.dropped for page in self._pages.values()), Counter[str]())
        data = rows[self.skip : end]
        return Filtered(
            data=data,
            visible=len(data),
            dropped=dropped,
            # where pages end follows from late rows, so that only what lies before the last row handed out counts
            undated=tuple(place for place in undated if least <= place < end),
            notes=next((page.filtered.notes for page in read if page.filtered.notes), ()),
        )

    # -- which page ---------------------------------------------------------------------------------------------------

    @property
    def _step(self) -> int:
        """Return the difference of the parameter between one page and the next."""
        if not self.by_rows:
            return 1
        # a vendor may hold fewer rows to a page than it was asked for
        return self._pages[0].held or 1 if 0 in self._pages else self.page_rows

    @property
    def _edge(self) -> float:
        """Return the second from which rows are surely late, in whatever order."""
        return self.cutoff.instant.timestamp() + self._disorder

    @property
    def _starts_early(self) -> bool:
        return not self._is_late(self._pages[0])

    def _is_late(self, page: _ReadPage) -> bool:
        """Whether a page holds only late rows; one without a readable stamp may hold anything."""
        return page.oldest is not None and page.oldest > self._edge and not page.rows

    def _next_page(self) -> int | None:
        if 0 not in self._pages:
            return 0
        self._start, self._stop = 0, 0
        in_order = self._disorder <= _DISORDER
        if in_order and self._falling and not self._starts_early:
            late, early = self._bracket()
            if early is None or early > late + 1:
                if self._searched >= MOST_SEARCHED or self._short:
                    self._short = True
                    return None
                self._searched += 1
                return self._guess(late, early)
            self._start = early
        enough = self.skip + self.wanted
        surviving = 0
        for number in count(self._start):
            page = self._pages.get(number)
            if page is None:
                # where in a page the cutoff lies follows from late rows: two pages more than the asked rows can fill
                most = MOST_READ + 2 if enough <= MOST_READ * self._pages[0].held else MOST_READ
                self._short = self._short or number - self._start >= most
                return None if self._short else number
            self._stop = number + 1
            surviving += len(page.rows)
            later = in_order and not self._falling and page.newest is not None and page.newest > self._edge
            if not page.held or surviving >= enough or later or self._is_last(number):
                return None
        return None

    def _is_last(self, number: int) -> bool:
        return self.page_rows > 0 and self._pages[number].held < self.page_rows == self._pages[0].held

    def _bracket(self) -> tuple[int, int | None]:
        late = max(n for n, page in self._pages.items() if page.held and self._is_late(page))
        return late, min((n for n in self._pages if n > late), default=None)

    def _guess(self, late: int, early: int | None) -> int:
        newest, oldest = self._pages[0].newest, self._pages[late].oldest
        assert newest is not None and oldest is not None, "late pages have stamps"
        pace = (newest - oldest) / (late + 1)
        ahead = (oldest - self._edge) / pace if pace > 0 else float(late)
        if early is None:
            # after some tries that fell short, twice as far at least
            least = 2 * late if self._searched > 3 else late + 1
            number = late + 1 + int(min(ahead, float(_LEAP * (late + 1))))
            number = max(number, least)
            # the vendor's last page is looked at before any beyond it: past it some vendors know only errors
            last = self._last_number
            return last if late < last < number else number
        remaining = MOST_SEARCHED - self._searched
        if self._searched % 2 == 0 or remaining <= (early - late).bit_length() + 1:
            return (late + early) // 2
        return min(late + 1 + int(min(ahead, 2.0**40)), early - 1)

    @property
    def _last_number(self) -> int:
        """Return the number of the last documented page, or one that no list reaches."""
        return self.endpoint.page.last // self._step if self.endpoint.page.last else 2**40

    def _is_cut(self, *, some: bool) -> bool:
        filled = [number for number, page in self._pages.items() if page.held]
        last = max(filled, default=0)
        if last == self._last_number:
            return True
        # a list that ends with a full page, all late, has ended by chance or by a limit that nobody documents
        return not some and last > 0 and self._pages[last].held == self._pages[0].held

    def _check_order(self) -> None:
        joined = _ReadPage(Filtered(data=None), 0)
        for _, page in sorted(self._pages.items()):
            if page.newest is not None and page.oldest is not None:
                joined.follow(page.newest, page.oldest)
                joined.falling = max(joined.falling, page.falling)
                joined.rising = max(joined.rising, page.rising)
        self._falling = joined.falling <= joined.rising
        self._disorder = min(joined.falling, joined.rising)


def is_beyond(endpoint: Endpoint, params: Fields) -> bool:
    """Whether a page lies past the vendor's documented last one, where an error means "no more"."""
    value = params.get(endpoint.page.param)
    return bool(endpoint.page.last) and isinstance(value, int) and value > endpoint.page.last
