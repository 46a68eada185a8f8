"""Fetching more pages than asked for, so that filtering does not leave the caller with nothing (overfetch).

An old cutoff and newest-first rows would otherwise give few rows or none. The pager asks until as many rows have
survived as were wanted, within bounds, and then hands out exactly the page that was asked.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from proxies.asof.clock import Cutoff
from proxies.asof.policies import ApiRequest, Plan
from proxies.asof.row_filter import Filtered
from proxies.asof.rows import in_order
from proxies.catalogue.loader import Endpoint
from proxies.errors import ParameterInvalid
from proxies.fetch.stretches import Stretches

MOST_PAGES = 25
#: A parameter of ours, not sent: the source puts the whole list together, or so many rows of it.
WHOLE = "whole"
_WIDE = 1000


@dataclass(slots=True)
class SinglePage:
    """One page, as planned."""

    params: Mapping[str, Any]
    _sent: bool = False
    _filtered: Filtered | None = None

    def next(self) -> Mapping[str, Any] | None:
        """The parameters of the next page, or None when there is enough."""
        if self._sent:
            return None
        self._sent = True
        return self.params

    def add(self, payload: Any, filtered: Filtered) -> None:
        """Add the page."""
        self._filtered = filtered

    def result(self) -> Filtered:
        """The whole answer."""
        assert self._filtered is not None, "a page was taken"
        return self._filtered


@dataclass(slots=True)
class GrowingPage:
    """A list endpoint with a size only: ask for many, hand out as many as were wanted."""

    params: Mapping[str, Any]
    size: str
    wanted: int
    most: int
    _size: int = 0
    _filtered: Filtered | None = None
    _full: bool = True

    def next(self) -> Mapping[str, Any] | None:
        """The parameters of the next try: a size that grows until enough rows survive."""
        if self._filtered is not None and (len(self._filtered.data) >= self.wanted or not self._full):
            return None
        if self._size >= self.most:
            return None
        self._size = min(self.most, max(self.wanted, self._size * 10 or min(self.wanted * 4, _WIDE)))
        return {**self.params, self.size: self._size}

    def add(self, payload: Any, filtered: Filtered) -> None:
        """Add a try; fewer rows than asked means that there are no more."""
        self._filtered = filtered
        self._full = isinstance(payload, list) and len(payload) >= self._size

    def result(self) -> Filtered:
        """The first rows, as many as wanted."""
        assert self._filtered is not None, "a page was taken"
        # a larger try holds undated rows beyond the last one handed out; how large it was follows from late rows
        undated = tuple(place for place in self._filtered.undated if place < self.wanted)
        data = self._filtered.data[: self.wanted]
        return replace(self._filtered, data=data, undated=undated, visible=len(data))


@dataclass(slots=True)
class Pages:
    """A paged list: go on until the asked page of the surviving rows is full."""

    params: Mapping[str, Any]
    param: str
    size: str
    first: int
    wanted: int
    skip: int
    step: int
    _page: int = 0
    _rows: list[Any] = field(default_factory=list)
    _dropped: Counter[str] = field(default_factory=Counter)
    _undated: list[int] = field(default_factory=list)
    _notes: tuple[str, ...] = ()
    _ended: bool = False
    _last: Any = None

    def next(self) -> Mapping[str, Any] | None:
        """The parameters of the next page, or None when the asked rows are there."""
        if self._ended or len(self._rows) >= self.skip + self.wanted or self._page >= MOST_PAGES:
            return None
        params = {**self.params, self.param: self.first + self._page * self.step}
        if self.size:
            params[self.size] = self.wanted
        self._page += 1
        return params

    def add(self, payload: Any, filtered: Filtered) -> None:
        """Add a page; an empty one ends the search, and so does one that repeats (the upstream has no pages)."""
        if payload == self._last and self._page > 1:
            self._ended = True
            return
        self._last = payload
        self._ended = not isinstance(payload, list) or not payload
        self._undated += [len(self._rows) + place for place in filtered.undated]
        self._rows += filtered.data if isinstance(filtered.data, list) else []
        self._dropped += filtered.dropped
        self._notes = filtered.notes

    def result(self) -> Filtered:
        """The asked page of the surviving rows."""
        notes = self._notes
        if not self._ended and len(self._rows) < self.skip + self.wanted:
            notes = (*notes, "not every page was looked through: there may be more rows")
        end = self.skip + self.wanted
        data = self._rows[self.skip : end]
        return Filtered(
            data=data,
            visible=len(data),
            dropped=self._dropped,
            # where pages end follows from late rows, so that only what lies before the last row handed out counts
            undated=tuple(place for place in self._undated if self.skip <= place < end),
            notes=notes,
        )


@dataclass(slots=True, kw_only=True)
class WholeList(SinglePage):
    """A list with the vendor's cursors: the source follows them, and a part of the surviving rows is handed out.

    The cursor that a caller gets counts surviving rows; the vendor's own would tell how many come later.
    """

    endpoint: Endpoint
    wanted: int
    skip: int

    @classmethod
    def of(cls, params: Mapping[str, Any], endpoint: Endpoint, wanted: int, skip: int) -> "WholeList":
        """The list that a caller's parameters call for; its own cursor and size are not the vendor's."""
        page = endpoint.page
        ours = {name: value for name, value in params.items() if name not in (page.param, page.size)}
        most = skip + wanted + 1 if endpoint.as_of.policy == "request_range" else True
        return cls(params={**ours, WHOLE: most}, endpoint=endpoint, wanted=wanted, skip=skip)

    def result(self) -> Filtered:
        """The asked part of the surviving rows, in the catalogue's order, with the cursor of the next part."""
        assert self._filtered is not None, "the list was taken"
        key = (self.endpoint.rows or "").removesuffix("[]")
        data = in_order(self._filtered.data, self.endpoint.rows or "", self.endpoint.as_of.order)
        rows = data.get(key) or []
        end = self.skip + self.wanted
        part = {
            **data,
            key: rows[self.skip : end],
            self.endpoint.page.cursor: str(end) if len(rows) > end else "",
        }
        return replace(self._filtered, data=part)


def pager(
    request: ApiRequest, cutoff: Cutoff, plan: Plan
) -> SinglePage | GrowingPage | Pages | Stretches | WholeList:
    """How the pages of a request are fetched."""
    endpoint, page = request.endpoint, request.endpoint.page
    listed = endpoint.rows == "[]"
    window, stamp = endpoint.as_of.window, endpoint.as_of.stamp
    if listed and page.style == "window" and window is not None and stamp is not None:
        bounds = (*window.start, *window.end)
        if len(bounds) == 2 and all(plan.params.get(name) for name in bounds):
            return Stretches(plan.params, *bounds, stamp.field)
    if not cutoff.live and "overfetch" in endpoint.as_of.guards and page.style == "cursor":
        default = endpoint.params[page.size].default
        cursor = str(request.params.get(page.param) or 0)
        if not cursor.isdigit():
            raise ParameterInvalid(f"{page.param}={cursor!r} is not one that an earlier answer gave")
        return WholeList.of(plan.params, endpoint, int(request.params.get(page.size) or default), int(cursor))
    if cutoff.live or "overfetch" not in endpoint.as_of.guards or not listed:
        return SinglePage(plan.params)
    if page.style == "limit" and page.size and request.params.get(page.size) is not None:
        wanted = max(0, int(request.params[page.size]))
        return GrowingPage(plan.params, page.size, wanted, max(wanted, page.most or _WIDE))
    if page.style in ("page", "offset") and page.param:
        default = endpoint.params[page.size].default if page.size in endpoint.params else None
        wanted = max(1, int(request.params.get(page.size) or default or 100))
        first = max(0, int(request.params.get(page.param) or 0))
        skip = first * wanted if page.style == "page" else first
        step = 1 if page.style == "page" else wanted
        # always from the vendor's first page: rows that are left out move all later ones, so that page n of what may be
        # shown does not begin where the vendor's page n does
        return Pages(plan.params, page.param, page.size, 0, wanted, skip, step)
    return SinglePage(plan.params)
