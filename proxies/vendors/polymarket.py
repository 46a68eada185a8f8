"""Polymarket: JSON over HTTP; long price windows come back empty, so they are asked in chunks."""

from collections.abc import Mapping
from typing import Any

import orjson

from proxies.catalogue.loader import Endpoint
from proxies.fetch.cache import RawAnswer
from proxies.vendors.base import HttpSource

_CHUNK = 14 * 86400
_MOST_CHUNKS = 60


class PolymarketSource(HttpSource):
    """Polymarket over HTTP: long price windows are asked in chunks of two weeks."""

    async def fetch(self, endpoint: Endpoint, params: Mapping[str, Any]) -> RawAnswer:
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
        # a very long window gets longer chunks, not more requests
        step = max(_CHUNK, -(-(end - start) // _MOST_CHUNKS))
        for first in range(start, end, step):
            part = {**params, "startTs": first, "endTs": min(first + step, end)}
            payload, _ = await self.exchange(endpoint, self.http_request(endpoint, part))
            for point in (payload.get("history") if isinstance(payload, dict) else None) or []:
                # the point at the edge of two chunks comes with both
                points[orjson.dumps(point)] = point
        return RawAnswer(
            body=orjson.dumps({"history": list(points.values())}), fetched_at=self._settings.now()
        )
