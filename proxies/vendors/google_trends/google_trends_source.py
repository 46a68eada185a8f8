"""Ask Google Trends through SearchApi, and read the two shipped tables."""

from collections.abc import Mapping
from typing import Any

from proxies.catalogue.schema import Endpoint
from proxies.errors import NoSuch, ProxyError, QuotaExhausted, SourceRejected
from proxies.fetch.cache import RawAnswer
from proxies.fetch.transport import HttpResponse
from proxies.vendors.base import HttpSource
from proxies.vendors.google_trends.trends_tables import read_table


class SearchApiSource(HttpSource):
    """SearchApi over HTTP; category and place codes from local tables."""

    async def fetch(self, endpoint: Endpoint, params: Mapping[str, Any]) -> RawAnswer:
        """Return the raw answer; local tables need no key."""
        if endpoint.method == "LOCAL":
            table = endpoint.path.rpartition("_")[2]
            return self.answer(read_table(table))
        return await super().fetch(endpoint, params)

    def quota(self, response: HttpResponse) -> bool:
        """Whether the plan is used up: that is a 429 with words of its own, and asking again would not help."""
        words = response.body[:2000].lower()
        return response.status == 402 or (
            response.status == 429 and (b"run out" in words or b"monthly" in words)
        )

    def complaint(self, endpoint: Endpoint, response: HttpResponse, payload: Any) -> ProxyError | None:
        """Return the error of a complaint, which is a text under ``error``; "no results" is one of them and stands in the catalogue."""
        problem = super().complaint(endpoint, response, payload)
        if (
            isinstance(payload, dict)
            and isinstance(payload.get("error"), str)
            and not isinstance(problem, NoSuch)
        ):
            words = payload["error"].lower()
            if "run out" in words or "monthly" in words or "credits" in words:
                return QuotaExhausted("gt (SearchApi) says that the plan's searches are used up")
            if response.status == 200:
                return SourceRejected(
                    f"gt (SearchApi) refused the search: check the parameters of {endpoint.path}"
                )
        return problem
