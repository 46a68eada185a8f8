"""FRED and ALFRED: every value has a vintage, and the upstream itself answers as of a day."""

from typing import Any

from proxies.catalogue.loader import Endpoint
from proxies.errors import CutoffRefused, ProxyError, SourceRejected, no_answer
from proxies.fetch.transport import HttpResponse
from proxies.vendors.base import HttpSource


class FredSource(HttpSource):
    """FRED over HTTP; 423 means "busy" here."""

    also_retry = frozenset({423})

    def complaint(self, endpoint: Endpoint, response: HttpResponse, payload: Any) -> ProxyError | None:
        """The error of a response: 400 means a bad key, a bad value, or a series without an archive for that day."""
        if (
            response.status == 400
            and isinstance(payload, dict)
            and "api_key" in str(payload.get("error_message", ""))
        ):
            return SourceRejected("fred does not accept the key: check FRED_API_KEY")
        if response.status in (400, 404):
            if endpoint.as_of.policy == "vintage":
                # "does not exist", "not yet" and "never archived" are one answer: which it is would tell
                return CutoffRefused(
                    "fred has nothing under this request as it stood on the asked day (no vintage): "
                    "ask for another series or an earlier question"
                )
            return no_answer(self.name, endpoint.path)
        return super().complaint(endpoint, response, payload)
