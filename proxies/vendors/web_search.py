"""Search with Serper and Tavily, whose dates become ISO days and instants for the shared policies.

A date that counts from the present ("3 days ago") is of today, so that such a row is late: taken for undated it would be counted
in what an agent reads.
"""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from proxies.catalogue.schema import Endpoint
from proxies.fetch.cache import RawAnswer
from proxies.fetch.transport import HttpRequest, HttpResponse
from proxies.json_text import Fields
from proxies.vendors.base import HttpSource

_WORDS = ("%b %d, %Y", "%B %d, %Y", "%d %b %Y", "%d %B %Y", "%Y-%m-%d")


class SerperSource(HttpSource):
    """Serper over HTTP: the window travels in Google's own parameter, rows are called ``organic``."""

    def http_request(self, endpoint: Endpoint, params: Fields) -> HttpRequest:
        """Return the request; ``between`` becomes Google's range of days (``tbs``)."""
        plain = {name: value for name, value in params.items() if name != "between"}
        first, _, last = str(params.get("between") or "").partition("to")
        if last:
            plain["tbs"] = f"cdr:1,cd_min:{_american(first)},cd_max:{_american(last)}"
        return self.build(endpoint, plain)

    async def fetch(self, endpoint: Endpoint, params: Fields) -> RawAnswer:
        """Return the raw answer as rows with ``url`` and an ISO ``published``."""
        self.require_key()
        payload = await self.payload(endpoint, params)
        today = self._settings.now().date().isoformat()
        rows = [
            {
                "title": hit.get("title"),
                "url": hit.get("link"),
                "snippet": hit.get("snippet"),
                "published": today if _counts_back(hit.get("date")) else day_of(hit.get("date")),
            }
            for hit in payload["organic"]
            if isinstance(hit, dict)
        ]
        return self.answer(rows)

    def is_answer(self, endpoint: Endpoint, response: HttpResponse, payload: Any) -> bool:
        """Whether a reply is one of Serper's, which hold their results under ``organic``."""
        return isinstance(payload, dict) and isinstance(payload.get("organic"), list)


class TavilySource(HttpSource):
    """Tavily over HTTP: dates of news are written as in mails."""

    async def fetch(self, endpoint: Endpoint, params: Fields) -> RawAnswer:
        """Return the raw answer as rows with an ISO ``published``."""
        self.require_key()
        payload = await self.payload(endpoint, params)
        rows = [
            {
                "title": hit.get("title"),
                "url": hit.get("url"),
                "content": hit.get("content"),
                "published": instant_of(hit.get("published_date")),
            }
            for hit in payload["results"]
            if isinstance(hit, dict)
        ]
        return self.answer(rows)

    def is_answer(self, endpoint: Endpoint, response: HttpResponse, payload: Any) -> bool:
        """Whether a reply is one of Tavily's, which hold their results under ``results``."""
        return isinstance(payload, dict) and isinstance(payload.get("results"), list)


def day_of(text: Any) -> str | None:
    """Parse a date in words ("May 3, 2024") into an ISO day; None for anything else.

    >>> day_of("May 3, 2024"), day_of("3 days ago")
    ('2024-05-03', None)
    """
    if not isinstance(text, str):
        return None
    for form in _WORDS:
        try:
            return datetime.strptime(text.strip(), form).replace(tzinfo=UTC).date().isoformat()
        except ValueError:
            continue
    return None


def instant_of(text: Any) -> str | None:
    """Parse a date of mails and HTTP headers into an ISO instant, UTC; None for anything else, and without a zone.

    >>> instant_of("Tue, 04 Jun 2024 13:17:00 GMT"), instant_of("yesterday")
    ('2024-06-04T13:17:00Z', None)
    """
    if not isinstance(text, str):
        return None
    try:
        moment = parsedate_to_datetime(text)
        if moment.tzinfo is None:
            return None
        return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _counts_back(text: Any) -> bool:
    return isinstance(text, str) and text.strip().lower().endswith(" ago")


def _american(day: str) -> str:
    year, month, number = day.split("-")
    return f"{month}/{number}/{year}"
