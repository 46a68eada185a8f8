"""GDELT's document search: days become the fourteen digits that it wants, and an empty object means that there is none."""

from collections.abc import Mapping
from typing import Any

from proxies.catalogue.loader import Endpoint
from proxies.fetch.transport import HttpRequest, HttpResponse
from proxies.vendors.base import HttpSource


class GdeltSource(HttpSource):
    """GDELT over HTTP."""

    def http_request(self, endpoint: Endpoint, params: Mapping[str, Any]) -> HttpRequest:
        """The request, from the first second of the first day to the last one of the last, UTC."""
        clocks = {"startdatetime": "000000", "enddatetime": "235959"}
        digits = {
            name: str(params[name]).replace("-", "") + clock
            for name, clock in clocks.items()
            if params.get(name)
        }
        return self.build(endpoint, {**params, **digits})

    def is_answer(self, endpoint: Endpoint, response: HttpResponse, payload: Any) -> bool:
        """As for every source; where nothing is found GDELT sends an object without anything in it."""
        return payload == {} or super().is_answer(endpoint, response, payload)
