"""Search the web with Brave over HTTP."""

from typing import Any

from proxies.catalogue.schema import Endpoint
from proxies.errors import ProxyError, QuotaExhausted, SourceRejected
from proxies.fetch.transport import HttpResponse
from proxies.vendors.base import HttpSource


class BraveSource(HttpSource):
    """Brave over HTTP; its 429 names what ran out: the second's rate or the month's plan."""

    def quota(self, response: HttpResponse) -> bool:
        """Whether the month's plan ran out."""
        # a 429 for the second's rate is worth a retry, and comes with another code
        return response.status == 402 or (response.status == 429 and b"QUOTA_LIMITED" in response.body[:2000])

    def complaint(self, endpoint: Endpoint, response: HttpResponse, payload: Any) -> ProxyError | None:
        """Return the error of a complaint, which is an object of type ErrorResponse."""
        if isinstance(payload, dict) and payload.get("type") == "ErrorResponse":
            if response.status == 429:
                return QuotaExhausted("brave takes no more calls: wait, or use another key")
            # a wrong key is a 422 like a wrong parameter, told apart by its code
            if b"SUBSCRIPTION_TOKEN" in response.body[:2000]:
                return SourceRejected("brave does not accept the key: check BRAVE_API_KEY")
        return super().complaint(endpoint, response, payload)
