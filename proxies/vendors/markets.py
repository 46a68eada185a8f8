"""The two prediction markets: Kalshi, whose settled markets move to an archive, and Polymarket, whose long windows
come back empty.
"""

from collections.abc import Mapping
from typing import Any

import orjson

from proxies.catalogue.loader import Endpoint
from proxies.errors import NoSuch
from proxies.fetch.cache import Raw
from proxies.vendors.base import HttpSource

_ARCHIVE = {
    "kalshi/candlesticks": "historical/markets/{ticker}/candlesticks",
    "kalshi/market": "historical/markets/{ticker}",
    "kalshi/trades": "historical/trades",
}
_CHUNK = 14 * 86400
_MOST_CHUNKS = 60


class KalshiSource(HttpSource):
    """Kalshi over HTTP. Which tier answers tells whether a market has settled, so the source asks both by itself."""

    async def fetch(self, endpoint: Endpoint, params: Mapping[str, Any]) -> Raw:
        """The raw answer of the live tier, else of the archive."""
        archive = _ARCHIVE.get(endpoint.path)
        try:
            payload, body = await self.ask(endpoint, self.outgoing(endpoint, params))
            rows = (
                payload.get("candlesticks", payload.get("trades", True))
                if isinstance(payload, dict)
                else True
            )
            if rows or archive is None or not params.get("ticker"):
                return Raw(body=body, fetched_at=self._settings.now())
        except NoSuch:
            if archive is None:
                raise
            body = b""
        names = {k: v for k, v in params.items() if k != "series_ticker"}
        try:
            _, old = await self.ask(endpoint, self.build(endpoint, names, url=archive))
        except NoSuch:
            if not body:
                raise
            old = body
        return Raw(body=old, fetched_at=self._settings.now())


class PolymarketSource(HttpSource):
    """Polymarket over HTTP: long price windows are asked in chunks of two weeks."""

    async def fetch(self, endpoint: Endpoint, params: Mapping[str, Any]) -> Raw:
        """The raw answer; price paths of long windows are put together from chunks."""
        start, end = params.get("startTs"), params.get("endTs")
        if (
            endpoint.path != "polymarket/prices-history"
            or start is None
            or end is None
            or end - start <= _CHUNK
        ):
            return await super().fetch(endpoint, params)
        points: dict[Any, Any] = {}
        step = max(_CHUNK, -(-(end - start) // _MOST_CHUNKS))
        for first in range(start, end, step):
            part = {**params, "startTs": first, "endTs": min(first + step, end)}
            payload, _ = await self.ask(endpoint, self.outgoing(endpoint, part))
            for point in (payload.get("history") if isinstance(payload, dict) else None) or []:
                points[orjson.dumps(point)] = point
        return Raw(body=orjson.dumps({"history": list(points.values())}), fetched_at=self._settings.now())
