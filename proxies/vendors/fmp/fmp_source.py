"""Financial Modeling Prep: lists of rows; complaints come as an object, with any status."""

from collections.abc import Mapping
from typing import Any

import orjson

from proxies.catalogue.schema import Endpoint
from proxies.errors import ProxyError, QuotaExhausted, SourceRejected
from proxies.fetch.cache import RawAnswer
from proxies.fetch.transport import HttpResponse
from proxies.vendors.base import HttpSource
from proxies.vendors.fmp.members import spells


class FmpSource(HttpSource):
    """FMP over HTTP. "No rows" is an empty list with status 200; an empty body or a 404 is a fault."""

    async def fetch(self, endpoint: Endpoint, params: Mapping[str, Any]) -> RawAnswer:
        """Return the raw answer; an index's members come with those that were members before."""
        if endpoint.codec != "members":
            return await super().fetch(endpoint, params)
        self.require_key()
        members = await self.payload(endpoint, params)
        changes, _ = await self.exchange(endpoint, self.build(endpoint, {}, url=f"historical-{endpoint.url}"))
        return self.answer(spells(members, changes))

    def quota(self, response: HttpResponse) -> bool:
        """Whether the daily plan is used up: that is a 429 with words of its own, which a rate limit's 429 does not have."""
        return response.status == 429 and b"limit reach" in response.body[:2000].lower()

    def complaint(self, endpoint: Endpoint, response: HttpResponse, payload: Any) -> ProxyError | None:
        """Return the error of a complaint: FMP sends an object with ``Error Message`` instead of a list, also under status 200."""
        if response.status == 402:
            return SourceRejected(
                f"your fmp plan does not hold {endpoint.path} for these values (HTTP 402): other endpoints and values are not concerned"
            )
        if isinstance(payload, dict) and {"Error Message", "error", "Error"} & payload.keys():
            words = orjson.dumps(payload).lower()
            if b"limit reach" in words:
                return QuotaExhausted("fmp says that the plan's calls are used up: wait, or use another key")
            if b"api key" in words or b"apikey" in words:
                return SourceRejected("fmp does not accept the key: check FMP_API_KEY")
            if response.status == 200:
                return SourceRejected(
                    f"fmp answered with a complaint instead of rows: check the parameters of {endpoint.path}"
                )
        return super().complaint(endpoint, response, payload)
