"""FRED and ALFRED: every value has a vintage, and the upstream answers as of a day."""

from collections import defaultdict
from datetime import date, timedelta
from typing import Any

from proxies.catalogue.schema import Endpoint
from proxies.errors import CutoffRefused, NoSuch, ProxyError, SourceRejected, no_answer
from proxies.fetch.cache import RawAnswer
from proxies.fetch.paging import WHOLE
from proxies.fetch.transport import HttpResponse
from proxies.json_text import Fields, Row
from proxies.vendors.base import HttpSource

_DAY = timedelta(days=1)
_MOST_ROWS = 100_000
# each part holds half the days of a window before: thousands of daily vintages need a few
_MOST_PARTS = 64


class TooManyVintages(SourceRejected):
    """A real-time window holds more than the 2,000 vintages that FRED answers at once."""


class FredSource(HttpSource):
    """FRED over HTTP. Windows of more than 2,000 vintages are asked for in parts and joined."""

    async def fetch(self, endpoint: Endpoint, params: Fields) -> RawAnswer:
        """Return the raw answer; of a window with too many vintages that of its parts."""
        try:
            return await super().fetch(endpoint, params)
        except CutoffRefused:
            if params.get("realtime_start"):
                raise
            # a live call, which asks for no day
            raise no_answer(self.name, endpoint.path) from None
        except TooManyVintages:
            return self.answer(await self._in_parts(endpoint, params))

    async def _whole(self, endpoint: Endpoint, params: Fields) -> Any:
        # later tags stand among the earlier ones
        page = endpoint.page
        plain = {name: item for name, item in params.items() if name not in (WHOLE, page.param, page.size)}
        tags: list[Any] = []
        for number in range(_MOST_PARTS):
            part = {page.size: page.most, page.param: number * page.most} if page.param else {}
            answer = await self.payload(endpoint, {**plain, **part})
            rows = answer["tags"]
            tags += rows
            if not page.param or len(rows) < page.most:
                return {**answer, **({"offset": 0} if page.param else {}), "tags": tags}
        raise SourceRejected("fred holds more tags than can be asked for: narrow the list")

    async def _in_parts(self, endpoint: Endpoint, params: Fields) -> Any:
        today = self._settings.now().date()
        start, end = (date.fromisoformat(str(params[name])) for name in ("realtime_start", "realtime_end"))
        windows, starts = [(start, end)], []
        plain = {
            name: value for name, value in params.items() if name not in ("limit", "offset", "sort_order")
        }
        rows: list[Row] = []
        payload: Row = {}
        for _ in range(2 * _MOST_PARTS):
            if not windows:
                break
            first, last = windows.pop(0)
            part = {
                "realtime_start": first.isoformat(),
                "realtime_end": last.isoformat(),
                "limit": _MOST_ROWS,
            }
            try:
                answer = await self.payload(endpoint, {**plain, **part})
                full = answer.get("count", 0) > _MOST_ROWS
            except TooManyVintages:
                full = True
            except CutoffRefused:
                # the part lies before the first vintage, which others may hold
                continue
            if full:
                middle = first + (min(last, max(today, first + _DAY)) - first) // 2
                if middle >= last:
                    raise SourceRejected("fred holds more vintages of a day than it answers")
                windows[:0] = [(first, middle), (middle + _DAY, last)]
                continue
            payload = answer
            starts.append(first.isoformat())
            rows += answer.get("observations") or []
        if windows:
            raise SourceRejected("fred holds more vintages in this window than can be asked for: shorten it")
        if not payload:
            raise self._no_vintage()
        joined = _joined_windows(rows, frozenset(starts))
        joined.sort(
            key=lambda row: (row["date"], row["realtime_start"]), reverse=params.get("sort_order") == "desc"
        )
        offset, limit = int(params.get("offset") or 0), int(params.get("limit") or _MOST_ROWS)
        window = {name: str(params[name]) for name in ("realtime_start", "realtime_end")}
        bounds = {
            "count": len(joined),
            "offset": offset,
            "limit": limit,
            "sort_order": params.get("sort_order") or "asc",
        }
        return {**payload, **window, **bounds, "observations": joined[offset : offset + limit]}

    def _no_vintage(self) -> CutoffRefused:
        # "does not exist", "not yet" and "never archived" are one answer: which it is would tell
        return CutoffRefused(
            "fred has nothing under this request as it stood on the asked day (no vintage): "
            "ask for another series or an earlier question"
        )

    def complaint(self, endpoint: Endpoint, response: HttpResponse, payload: Any) -> ProxyError | None:
        """Return the error of a response: a 400 with FRED's own words means a bad key, a bad value, or no such series on that day."""
        words = str(payload.get("error_message", "")) if isinstance(payload, dict) else ""
        if response.status == 400 and "vintage dates" in words and endpoint.path.endswith("/observations"):
            return TooManyVintages("fred holds more than 2,000 vintages in this window")
        problem = super().complaint(endpoint, response, payload)
        own_words = isinstance(problem, NoSuch) or (
            response.status == 400 and words and "api_key" not in words
        )
        if own_words and endpoint.as_of.policy == "vintage":
            return self._no_vintage()
        return problem


def _joined_windows(rows: list[Row], starts: frozenset[str]) -> list[Row]:
    by_period: dict[str, list[Row]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: str(row["realtime_start"])):
        states = by_period[row["date"]]
        last = states[-1] if states else None
        # only where a part begins: two states that meet elsewhere are two of the vendor's own
        if last and row["realtime_start"] in starts and last["value"] == row["value"] and _meet(last, row):
            states[-1] = {**last, "realtime_end": row["realtime_end"]}
        else:
            states.append(dict(row))
    return [row for states in by_period.values() for row in states]


def _meet(earlier: Fields, later: Fields) -> bool:
    return date.fromisoformat(earlier["realtime_end"]) + _DAY == date.fromisoformat(later["realtime_start"])
