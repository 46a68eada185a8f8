"""Kalshi: JSON over HTTP; settled markets move to an archive."""

from collections.abc import Mapping
from typing import Any

from proxies.catalogue.loader import Endpoint
from proxies.errors import NoSuch
from proxies.fetch.cache import RawAnswer
from proxies.vendors.base import HttpSource

_ARCHIVE = {
    "kalshi/candlesticks": "historical/markets/{ticker}/candlesticks",
    "kalshi/market": "historical/markets/{ticker}",
    "kalshi/trades": "historical/trades",
}


class KalshiSource(HttpSource):
    """Kalshi over HTTP. It asks the live tier and then the archive by itself: a caller who saw which of them answers would
    know whether a market has settled.
    """

    async def fetch(self, endpoint: Endpoint, params: Mapping[str, Any]) -> RawAnswer:
        """The raw answer of the live tier, else of the archive."""
        archive = _ARCHIVE.get(endpoint.path)
        try:
            payload, body = await self.exchange(endpoint, self.http_request(endpoint, params))
            # the live tier answers for a market that was archived with an empty list, or (below) with "not found"
            rows = (
                payload.get("candlesticks", payload.get("trades", True))
                if isinstance(payload, dict)
                else True
            )
            if rows or archive is None or not params.get("ticker"):
                return RawAnswer(body=body, fetched_at=self._settings.now())
        except NoSuch:
            if archive is None:
                raise
            body = b""
        # the archive's paths have no series
        names = {k: v for k, v in params.items() if k != "series_ticker"}
        try:
            _, old = await self.exchange(endpoint, self.build(endpoint, names, url=archive))
        except NoSuch:
            if not body:
                raise
            old = body
        return RawAnswer(body=old, fetched_at=self._settings.now())
