"""The two web searches: Exa and Brave."""

from typing import Any

from proxies.catalogue.loader import Endpoint
from proxies.errors import ProxyError, QuotaExhausted, SourceRejected
from proxies.fetch.transport import Reply
from proxies.vendors.base import HttpSource


class ExaSource(HttpSource):
    """Exa over HTTP; 402 means that the credits are used up."""


class BraveSource(HttpSource):
    """Brave over HTTP; its 429 names what ran out: the second's rate or the month's plan."""

    def quota(self, reply: Reply) -> bool:
        """Whether the month's plan ran out."""
        return reply.status == 402 or (reply.status == 429 and b"QUOTA_LIMITED" in reply.body[:2000])

    def complaint(self, endpoint: Endpoint, reply: Reply, payload: Any) -> ProxyError | None:
        """A complaint is an object of type ErrorResponse."""
        if isinstance(payload, dict) and payload.get("type") == "ErrorResponse":
            if reply.status == 429:
                return QuotaExhausted("brave takes no more calls: wait, or use another key")
            # a wrong key is a 422 like a wrong parameter, told apart by its code
            if b"SUBSCRIPTION_TOKEN" in reply.body[:2000]:
                return SourceRejected("brave does not accept the key: check BRAVE_API_KEY")
        return super().complaint(endpoint, reply, payload)
