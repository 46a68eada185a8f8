"""Search documents with GDELT: days become its fourteen digits, and an empty object means none."""

from collections.abc import Mapping
from typing import Any

from proxies.catalogue.schema import Endpoint
from proxies.errors import ProxyError, SourceRejected
from proxies.fetch.transport import HttpRequest, HttpResponse
from proxies.vendors.base import HttpSource


class GdeltSource(HttpSource):
    """GDELT over HTTP."""

    def http_request(self, endpoint: Endpoint, params: Mapping[str, Any]) -> HttpRequest:
        """Return the request, from the first second of the first day to the last one of the last, UTC."""
        clocks = {"startdatetime": "000000", "enddatetime": "235959"}
        digits = {
            name: str(params[name]).replace("-", "") + clock
            for name, clock in clocks.items()
            if params.get(name)
        }
        return self.build(endpoint, {**params, **digits})

    def busy(self, response: HttpResponse) -> bool:
        """Whether a response asks to come back later: that is a sentence under status 200."""
        return response.status == 200 and response.body[:100].lower().startswith(b"please limit requests")

    def complaint(self, endpoint: Endpoint, response: HttpResponse, payload: Any) -> ProxyError | None:
        """Return the error of a response: what is wrong with a query stands in a sentence under status 200."""
        if response.status == 200 and response.body[:20].lower().startswith((b"your query", b"your search")):
            return SourceRejected(
                "gdelt does not take this query: words of three letters and more, phrases in quotes, some hundred characters at most"
            )
        return super().complaint(endpoint, response, payload)

    def is_answer(self, endpoint: Endpoint, response: HttpResponse, payload: Any) -> bool:
        """Accept GDELT's empty object too, its form of "nothing found"."""
        return payload == {} or super().is_answer(endpoint, response, payload)
