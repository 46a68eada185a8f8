"""Ask Polymarket over HTTP. Lists follow the vendor's cursors; long price windows go in chunks, since they come back empty."""

from collections.abc import Iterable, Mapping
from itertools import takewhile
from typing import Any

import orjson

from proxies.catalogue.schema import Endpoint
from proxies.errors import ParameterInvalid, SchemaDrift
from proxies.fetch.cache import RawAnswer
from proxies.fetch.transport import HttpResponse
from proxies.json_text import Fields
from proxies.vendors.base import HttpSource

_CHUNK = 14 * 86400
_MOST_CHUNKS = 60
#: Of a list the key of its rows, the parameter that takes the cursor, and the most rows of a page.
_LISTS = {
    "polymarket/markets": ("markets", "after_cursor", 100),
    "polymarket/events": ("events", "after_cursor", 100),
    "polymarket/trades": ("data", "cursor", 1000),
}
_MOST_PAGES = 100
_BOTH: tuple[Mapping[str, str], ...] = ({"closed": "false"}, {"closed": "true"})
# the vendor's names of a trade's fields, and those of its older service, which the catalogue has
_TRADE = {"condition_id": "conditionId", "token_id": "asset", "outcome_index": "outcomeIndex"}


class PolymarketSource(HttpSource):
    """Polymarket over HTTP. A list without ``closed`` would leave out settled markets, so both kinds are fetched."""

    async def fetch(self, endpoint: Endpoint, params: Fields) -> RawAnswer:
        """Return the raw answer: a part of a list, by rows, or a price path."""
        if endpoint.path in _LISTS:
            return self.answer(await self._list(endpoint, params))
        start, end = params.get("startTs"), params.get("endTs")
        if (
            endpoint.path != "polymarket/prices-history"
            or start is None
            or end is None
            or end - start <= _CHUNK
        ):
            return await super().fetch(endpoint, params)
        points: dict[Any, Any] = {}
        # a very long window gets longer chunks, not more requests
        step = max(_CHUNK, -(-(end - start) // _MOST_CHUNKS))
        for first in range(start, end, step):
            part = {**params, "startTs": first, "endTs": min(first + step, end)}
            payload = await self.payload(endpoint, part)
            for point in (payload.get("history") if isinstance(payload, dict) else None) or []:
                # the point at the edge of two chunks comes with both
                points[orjson.dumps(point)] = point
        return self.answer({"history": list(points.values())})

    def is_answer(self, endpoint: Endpoint, response: HttpResponse, payload: Any) -> bool:
        """Accept a page of a list too, which stands under its own key."""
        if endpoint.path in _LISTS and isinstance(payload, dict):
            return isinstance(payload.get(_LISTS[endpoint.path][0]), list)
        return super().is_answer(endpoint, response, payload)

    async def _list(self, endpoint: Endpoint, params: Fields) -> list[Any]:
        first = int(params.get("offset") or 0)
        if first > (endpoint.page.last or first):
            return []
        end = first + int(params.get("limit") or 100)
        plain = {name: value for name, value in params.items() if name not in ("offset", "limit")}
        if endpoint.path == "polymarket/trades":
            plain = {("condition" if name == "market" else name): value for name, value in plain.items()}
        kinds = ({},) if endpoint.path == "polymarket/trades" or "closed" in plain else _BOTH
        parts = [_Part(self, endpoint, {**plain, **kind}) for kind in kinds]
        while True:
            rows = _in_order(parts) if "order" in plain else _one_by_one(parts)
            unfinished = [part for part in parts if not part.ended]
            if len(rows) >= end or not unfinished:
                return rows[first:end]
            # of two ordered lists the one that is behind says how far both are known
            await (
                min(unfinished, key=lambda part: part.reach) if "order" in plain else unfinished[0]
            ).read_on()


class _Part:
    """The pages of one list so far, each row with its own or the previous row's ordering stamp."""

    def __init__(self, source: PolymarketSource, endpoint: Endpoint, params: Fields) -> None:
        self._source, self._endpoint, self._params = source, endpoint, params
        self._cursor, self._pages = "", 0
        self.rows: list[tuple[str, Any]] = []
        self.reach, self.ended = "", False

    async def read_on(self) -> None:
        """Read the next page.

        Raises `ParameterInvalid`: There are more pages than are read. Raises `SchemaDrift`: They do not come in the order that was asked
        for, so that nobody knows how far they reach.
        """
        key, name, size = _LISTS[self._endpoint.path]
        if self._pages == _MOST_PAGES:
            raise ParameterInvalid(f"{self._endpoint.path} holds too many rows before these: narrow the list")
        sent = {**self._params, "limit": size} | ({name: self._cursor} if self._cursor else {})
        payload, _ = await self._source.exchange(self._endpoint, self._source.build(self._endpoint, sent))
        # the older service, and a list by ids, come bare
        page, beside = (
            (payload[key], payload.get("pagination", payload)) if isinstance(payload, dict) else (payload, {})
        )
        in_order = True
        for row in page:
            stamp = row.get(self._params.get("order")) if isinstance(row, dict) else None
            if isinstance(stamp, str):
                in_order = in_order and stamp[:19] >= self.reach[:19]
                self.reach = stamp
            self.rows.append((self.reach, _renamed(row)))
        self._cursor = str(beside.get("next_cursor") or "")
        self._pages += 1
        self.ended = not (self._cursor and page) or beside.get("has_more") is False
        if not (in_order or self.ended):
            raise SchemaDrift(
                f"polymarket does not give {self._endpoint.path} in the order that was asked for"
            )


def _in_order(parts: list[_Part]) -> list[Any]:
    """Merge the rows of all lists up to the point where each is known, each row once."""
    reach = min((part.reach for part in parts if not part.ended), default=None)
    rows = sorted((row for part in parts for row in part.rows), key=lambda row: row[0])
    return _once(row for stamp, row in rows if reach is None or stamp <= reach)


def _one_by_one(parts: list[_Part]) -> list[Any]:
    """Concatenate the rows of the first list and, once it has ended, of the next."""
    finished = list(takewhile(lambda part: part.ended, parts))
    return _once(row for part in parts[: len(finished) + 1] for _, row in part.rows)


def _once(rows: Iterable[Any]) -> list[Any]:
    return list(
        {orjson.dumps(row.get("id") or row if isinstance(row, dict) else row): row for row in rows}.values()
    )


def _renamed(row: Any) -> Any:
    return {_TRADE.get(name, name): value for name, value in row.items()} if isinstance(row, dict) else row
