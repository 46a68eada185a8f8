"""Fetch other pages than asked for, so that filtering leaves the caller enough rows (overfetch).

An old cutoff and newest-first rows would otherwise give few rows or none. A pager says which pages are needed until as many
rows have survived as were wanted, and then hands out exactly the page that was asked.
"""

from dataclasses import dataclass, replace
from typing import Any

from proxies.asof.clock import Cutoff
from proxies.asof.policies import ApiRequest, Plan
from proxies.asof.policies.first_days import MOST_HITS
from proxies.asof.row_filter import Filtered
from proxies.asof.rows import in_order
from proxies.catalogue.schema import Endpoint
from proxies.errors import ParameterInvalid
from proxies.fetch.read_back import ReadBack, not_reached, reader_of_stamps
from proxies.fetch.stretches import Stretches, minutes_of, open_day
from proxies.json_text import Fields

#: A parameter of ours, not sent: the source puts the whole list together, or so many rows of it.
WHOLE = "whole"
_WIDE, _WIDEST = 1000, 100_000
# rows handed out of a list whose size the caller leaves open: the vendors' own defaults would be filled by late rows
_DEFAULT = 250


@dataclass(slots=True)
class SinglePage:
    """One page, as planned."""

    params: Fields
    _sent: bool = False
    _filtered: Filtered | None = None

    def next(self) -> Fields | None:
        """Return the parameters of the next page, or None if there is enough."""
        if self._sent:
            return None
        self._sent = True
        return self.params

    def add(self, payload: Any, filtered: Filtered) -> None:
        """Add the page."""
        self._filtered = filtered

    def result(self) -> Filtered:
        """Return the whole answer."""
        assert self._filtered is not None, "a page was taken"
        return self._filtered


@dataclass(slots=True)
class LargestPage:
    """A list endpoint with a size only: fetched in the largest page, and cut to the rows wanted.

    If the page is full and too few rows survive it is asked for ten times as large: nobody documents for sure how many rows
    a vendor gives, and its answer shows it.
    """

    params: Fields
    endpoint: Endpoint
    wanted: int
    most: int
    widest: int
    _size: int = 0
    _held: int = -1
    _filtered: Filtered | None = None
    _cut: bool = True

    def next(self) -> Fields | None:
        """Return the parameters of the next try, or None if enough rows survived or there are no more."""
        if self._filtered is not None and (
            len(self._filtered.data) >= self.wanted or not self._cut or self._size >= self.widest
        ):
            return None
        self._size = min(self.widest, self._size * 10) if self._size else self.most
        return {**self.params, self.endpoint.page.size: self._size}

    def add(self, payload: Any, filtered: Filtered) -> None:
        """Add a try; one without more rows than the one before shows the vendor's own limit."""
        count = len(payload) if isinstance(payload, list) else 0
        # a shorter answer than was asked is whole, unless it is as long as the answer to a smaller try
        self._cut = count == self._size or count == self._held
        if count == self._held:
            self._size = self.widest
        self._filtered, self._held = filtered, count

    def result(self) -> Filtered:
        """Return the first rows, as many as wanted.

        Raises `CutoffRefused`: The list does not reach back to them.
        """
        assert self._filtered is not None, "a page was taken"
        rows = self._filtered.data
        if len(rows) < self.wanted and self._cut and not (rows and "capped" in self.endpoint.as_of.open_to):
            raise not_reached(self.endpoint, some=bool(rows))
        # a larger page holds undated rows beyond the last one handed out; how large it was follows from late rows
        undated = tuple(place for place in self._filtered.undated if place < self.wanted)
        data = rows[: self.wanted]
        return replace(self._filtered, data=data, undated=undated, visible=len(data))


@dataclass(slots=True, kw_only=True)
class WholeList(SinglePage):
    """A list with the vendor's cursors: the source follows them, and a part of the surviving rows is returned.

    The cursor that a caller gets counts surviving rows; the vendor's own would tell how many come later.
    """

    endpoint: Endpoint
    wanted: int
    skip: int

    @classmethod
    def of(cls, params: Fields, endpoint: Endpoint, wanted: int, skip: int) -> "WholeList":
        """Build the list of a caller's parameters; the caller's cursor and size are not the vendor's."""
        page = endpoint.page
        ours = {name: value for name, value in params.items() if name not in (page.param, page.size)}
        most = skip + wanted + 1 if endpoint.as_of.policy == "request_range" else True
        return cls(params={**ours, WHOLE: most}, endpoint=endpoint, wanted=wanted, skip=skip)

    def result(self) -> Filtered:
        """Return the asked part of the surviving rows, in the catalogue's order, with the cursor of the next part."""
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
) -> SinglePage | LargestPage | ReadBack | Stretches | WholeList:
    """Choose how the pages of a request are fetched."""
    endpoint, page = request.endpoint, request.endpoint.page
    listed = endpoint.rows == "[]"
    window, stamp = endpoint.as_of.window, endpoint.as_of.stamp
    if listed and page.style == "window" and window is not None and stamp is not None:
        bounds = (*window.start, *window.end)
        if len(bounds) == 2 and plan.params.get(bounds[1]):
            own_day, minutes, start = open_day(cutoff), minutes_of(stamp.grain), plan.params.get(bounds[0])
            if start or own_day:
                # a window with a start is asked for again where it is cut; short days cannot be
                own_day = own_day if minutes or not start else None
                return Stretches(plan.params, *bounds, stamp.field, own_day, minutes)
    if not cutoff.live and "overfetch" in endpoint.as_of.guards and page.style == "cursor":
        default = endpoint.params[page.size].default
        cursor = str(request.params.get(page.param) or 0)
        if not cursor.isdigit():
            raise ParameterInvalid(f"{page.param}={cursor!r} is not one that an earlier answer gave")
        return WholeList.of(plan.params, endpoint, int(request.params.get(page.size) or default), int(cursor))
    if cutoff.live or "overfetch" not in endpoint.as_of.guards or not listed:
        return SinglePage(plan.params)
    size = endpoint.params.get(page.size)
    wish = request.params.get(page.size)
    # a window that ends at the cutoff is sent upstream: the vendor's default holds no later rows
    if page.style == "limit" and size is not None and (wish is not None or window is None):
        default, most, widest = _DEFAULT, page.most or _WIDE, _WIDEST
        if endpoint.as_of.first:
            # each hit of a search costs a look-up of its first day
            default = most = widest = MOST_HITS
        requested = default if wish is None else max(0, int(wish))
        return LargestPage(plan.params, endpoint, requested, max(requested, most), max(requested, widest))
    if page.style in ("page", "offset") and page.param:
        requested = max(1, int(wish or (size and size.default) or 100))
        first = max(0, int(request.params.get(page.param) or 0))
        # always from the vendor's first page: rows that are left out move all later ones, so that page n of what may be
        # shown does not begin where the vendor's page n does
        return ReadBack(
            params=plan.params,
            endpoint=endpoint,
            instant=reader_of_stamps(request),
            cutoff=cutoff,
            page_rows=(page.most or requested) if size else 0,
            by_rows=page.style == "offset",
            skip=first * requested if page.style == "page" else first,
            wanted=requested,
        )
    return SinglePage(plan.params)
