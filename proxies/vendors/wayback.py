"""Read the Wayback Machine: lists of copies become rows, a copy's HTML a row with the archive's own time stamp.

The archive sends whoever asks for a second without a copy on to the nearest one, which may be a later one. No redirect is
followed, and what counts is the copy's own time (``Memento-Datetime``), never the one that was asked for.
"""

import re
from typing import Any
from urllib.parse import quote

from proxies.catalogue.schema import Endpoint
from proxies.errors import SourceRejected
from proxies.fetch.cache import RawAnswer
from proxies.fetch.transport import HttpRequest, HttpResponse, Meaning
from proxies.json_text import Fields, Row
from proxies.vendors.base import HttpSource
from proxies.vendors.web_search import instant_of

PAGE = "wayback/page"
#: Characters of a page that are read; a longer one is no article.
MOST_CHARACTERS = 2_000_000
_TEXT = ("text/html", "text/plain", "application/xhtml+xml")
_STAMP = re.compile(r"(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)\Z")
_CHARSET = re.compile(r"charset=[\"']?([\w.-]{1,40})", re.IGNORECASE)
# as the archive's own page says it; any other 404 without a copy's time may be a moved address
_NEAREST = re.compile(r"/web/\d{4,14}(?:id_)?/")
_NOT_COPIED = b"has not archived that URL"


class WaybackSource(HttpSource):
    """The archive over HTTP."""

    def http_request(self, endpoint: Endpoint, params: Fields) -> HttpRequest:
        """Return the request; a copy's address holds the page's address as it is, its question mark included."""
        if endpoint.path != PAGE:
            return self.build(endpoint, params)
        page = quote(str(params["url"]).partition("#")[0], safe=":/?&=+,;@~!$'()*%[]-._")
        address = f"{self.base(endpoint.host)}/web/{params['timestamp']}id_/{page}"
        return HttpRequest(method="GET", url=address, query={}, json=None)

    async def fetch(self, endpoint: Endpoint, params: Fields) -> RawAnswer:
        """Return the raw answer as rows."""
        request = self.http_request(endpoint, params)
        if endpoint.path == PAGE:
            rows = self._page(endpoint, await self._without_key(await self._transport.send(request)), params)
        else:
            payload, _ = await self.exchange(endpoint, request)
            rows = _captures(payload)
        return self.answer(rows)

    def meaning(self, response: HttpResponse) -> Meaning:
        """Take a copy as it is, whatever the status of the page when it was copied."""
        if any(name.lower() == "memento-datetime" for name in response.headers):
            return "final"
        return super().meaning(response)

    def _page(self, endpoint: Endpoint, response: HttpResponse, params: Fields) -> list[Row]:
        headers = {name.lower(): value for name, value in response.headers.items()}
        captured = instant_of(headers.get("memento-datetime"))
        # a copy of an error is no page
        if (captured and response.status >= 400) or (response.status == 404 and _NOT_COPIED in response.body):
            return []
        # where there is no copy of this second the archive sends on to its nearest one, which may be a later one
        if response.status in (302, 307) and not captured and _NEAREST.search(headers.get("location", "")):
            return []
        problem = self.complaint(endpoint, response, None)
        if problem is not None:
            raise problem
        if captured is None:
            raise SourceRejected("wayback does not say when it made this copy, which is not read")
        kind = headers.get("content-type", "")
        if kind.partition(";")[0].strip().lower() not in _TEXT:
            return []
        named = _CHARSET.search(kind) or _CHARSET.search(response.body[:2048].decode("ascii", "replace"))
        return [
            {
                "captured": captured,
                "original": params["url"],
                "mimetype": kind.partition(";")[0].strip().lower(),
                "html": _decoded(response.body, named[1] if named else "utf-8")[:MOST_CHARACTERS],
            }
        ]


def _decoded(body: bytes, charset: str) -> str:
    try:
        return body.decode(charset, "replace")
    except (LookupError, ValueError):  # a charset that Python does not know, or that is none
        return body.decode("utf-8", "replace")


def _captures(payload: Any) -> list[Row]:
    """Unpack a list whose first line names the columns; without a copy it is empty."""
    if not payload:
        return []
    head, *lines = payload
    rows = [dict(zip(head, line, strict=True)) for line in lines]
    return [{"captured": _instant(row.get("timestamp")), **row} for row in rows]


def _instant(digits: Any) -> str | None:
    match = _STAMP.match(digits) if isinstance(digits, str) else None
    return "{}-{}-{}T{}:{}:{}Z".format(*match.groups()) if match else None
