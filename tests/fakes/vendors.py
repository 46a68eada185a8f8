"""Each vendor as a server of its own on loopback: where it wants its key, how it says no, how fast it may be asked.

The rows are those of the shared world; what differs between vendors is written down here from their documentation,
class by class, and uses nothing of the broker.
"""

import json
import time
from collections import deque
from typing import Any, ClassVar

from tests.fakes.upstream import Seen, Sent, Upstream
from tests.fakes.upstream_world import World

KEY = "v3nd0rk3yv3nd0rk3yv3nd0rk3yv3nd0"
#: Words that no caller may read: vendors' texts can be of today.
TELLTALE = "delisted in 2031"


class Vendor(Upstream):
    """A vendor over a world; ``calls`` in ``window`` seconds are served, the next ones are told to wait."""

    source: ClassVar[str]
    #: an endpoint with rows, and what is asked of it beside its example
    path: ClassVar[str]
    key_in: ClassVar[tuple[str, str] | None] = None
    window: ClassVar[float] = 1.0
    no_such: ClassVar[Sent]
    bad_key: ClassVar[Sent]
    too_fast: ClassVar[Sent]
    used_up: ClassVar[Sent | None] = None

    def __init__(self, world: World, *, calls: int = 1000) -> None:
        super().__init__(self._gated)
        self.world, self.calls = world, calls
        self.turned_away = 0
        self._times: deque[float] = deque()

    def _gated(self, seen: Seen) -> Sent:
        if self.key_in is not None:
            place, name = self.key_in
            given = (seen.headers if place == "header" else seen.query).get(name, "")
            if given.removeprefix("Bearer ") != KEY:
                return self.bad_key
        now = time.monotonic()
        while self._times and self._times[0] < now - self.window:
            self._times.popleft()
        if len(self._times) >= self.calls:
            self.turned_away += 1
            return self.too_fast
        self._times.append(now)
        return self.world.answer(seen)


def _error(status: int, body: Any, **headers: str) -> Sent:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Sent(raw, status, {name.replace("_", "-"): value for name, value in headers.items()})


class Fmp(Vendor):
    """Financial Modeling Prep: complaints are an object where a list is due; the plan's end is a 429 with its words."""

    source, path = "fmp", "fmp/news/articles/news/stock-latest"
    key_in = ("header", "apikey")
    no_such = _error(200, [])
    bad_key = _error(401, {"Error Message": "Invalid API KEY. Please retry or visit our documentation."})
    too_fast = _error(429, {"message": "Too many requests"})
    used_up = _error(429, {"Error Message": "Limit Reach . Please upgrade your plan"})


class Fred(Vendor):
    """FRED: 400 for nearly everything, a key among it; 429 with its code in the body."""

    source, path = "fred", "fred/series/series/observations"
    key_in = ("query", "api_key")
    no_such = _error(400, {"error_code": 400, "error_message": f"Bad Request.  {TELLTALE}"})
    bad_key = _error(
        400, {"error_code": 400, "error_message": "Bad Request.  The value for variable api_key is not registered."}
    )  # fmt: skip
    too_fast = _error(429, {"error_code": 429, "error_message": "Too Many Requests.  Exceeded Rate Limit"})


class Msd(Vendor):
    """Main Street Data: nothing is documented but the header of the key."""

    source, path = "msd", "msd/companies/companies-post"
    key_in = ("header", "x-api-key")
    no_such = _error(200, {"companies": []})
    bad_key = _error(403, {"message": "Forbidden"})
    too_fast = _error(429, {"message": "Too Many Requests"})


class SearchApi(Vendor):
    """SearchApi for Google Trends: a line under ``error``; the month's searches run out."""

    source, path = "gt", "gt/google-trends/google_trends_overtime"
    key_in = ("header", "authorization")
    no_such = _error(200, {"error": f"Google didn't return any results, {TELLTALE}"})
    bad_key = _error(401, {"error": "Invalid API key"})
    too_fast = _error(429, {"error": "Too many requests"})
    used_up = _error(429, {"error": "You have run out of your monthly searches"})


class Exa(Vendor):
    """Exa: an id, a text and a tag; 402 when the credits are gone."""

    source, path = "exa", "exa/search/search"
    key_in = ("header", "x-api-key")
    no_such = _error(200, {"requestId": "a1", "results": []})
    bad_key = _error(
        401, {"requestId": "a1", "error": "x-api-key header is invalid", "tag": "INVALID_API_KEY"}
    )
    too_fast = _error(429, {"error": "You've exceeded your Exa rate limit"})
    used_up = _error(402, {"requestId": "a1", "error": "no more credits", "tag": "NO_MORE_CREDITS"})


class Brave(Vendor):
    """Brave: an ErrorResponse; how long to wait is the first number of a header."""

    source, path = "brave", "brave/web"
    key_in = ("header", "x-subscription-token")
    no_such = _error(200, {"type": "search", "query": {"original": TELLTALE}})
    bad_key = _error(
        422, {"type": "ErrorResponse", "error": {"status": 422, "code": "SUBSCRIPTION_TOKEN_INVALID"}}
    )
    too_fast = _error(
        429, {"type": "ErrorResponse", "error": {"status": 429, "code": "RATE_LIMITED", "detail": "slower"}},
        X_RateLimit_Limit="1, 2000", X_RateLimit_Remaining="0, 1200", X_RateLimit_Reset="1, 1419704",
    )  # fmt: skip
    used_up = _error(429, {"type": "ErrorResponse", "error": {"status": 429, "code": "QUOTA_LIMITED"}})


class Yahoo(Vendor):
    """Yahoo: no key, plain words when it is too much, complaints under the answer's own name."""

    source, path = "yfinance", "yfinance/history"
    no_such = _error(
        404, {"chart": {"result": None, "error": {"code": "Not Found", "description": TELLTALE}}}
    )
    too_fast = _error(429, b"Too Many Requests\r\n", content_type="text/plain")


class Kalshi(Vendor):
    """Kalshi: no Retry-After."""

    source, path = "kalshi", "kalshi/trades"
    no_such = _error(404, {"error": {"code": "not_found", "message": TELLTALE}})
    too_fast = _error(429, {"error": "too many requests"})


class Polymarket(Vendor):
    """Polymarket: a line under ``error``."""

    source, path = "polymarket", "polymarket/prices-history"
    no_such = _error(404, {"error": f"market not found, {TELLTALE}"})
    too_fast = _error(429, {"error": "rate limit exceeded"})


class Wikipedia(Vendor):
    """Wikipedia: errors under status 200; a database that lags asks to come back."""

    source, path = "wikipedia", "wikipedia/revisions"
    no_such = _error(
        200, {"error": {"code": "missingtitle", "info": TELLTALE}}, MediaWiki_API_Error="missingtitle"
    )
    too_fast = _error(
        200, {"error": {"code": "maxlag", "info": "Waiting for a server: 7 seconds lagged"}},
        MediaWiki_API_Error="maxlag", Retry_After="1",
    )  # fmt: skip


class Dbnomics(Vendor):
    """DBnomics: a list of errors."""

    source, path = "dbnomics", "dbnomics/series"
    no_such = _error(404, {"errors": [{"message": TELLTALE}]})
    too_fast = _error(429, {"errors": [{"message": "too many requests"}]})


class Gdelt(Vendor):
    """GDELT: an empty object where nothing is found, and plain words where it is asked too fast."""

    source, path = "gdelt", "gdelt/documents"
    no_such = _error(200, {})
    too_fast = _error(429, b"Please limit requests to one every 5 seconds")


class Sec(Vendor):
    """EDGAR: an XML of the store behind it where there is no such file; 403 for programs that it does not know."""

    source, path = "sec", "sec/company-concept"
    no_such = _error(404, b"<?xml version='1.0'?><Error><Code>NoSuchKey</Code></Error>")
    too_fast = _error(429, b"<html>Request Rate Threshold Exceeded</html>")


class Serper(Vendor):
    """Serper: a message; 400 when the credits are gone."""

    source, path = "serper", "serper/search"
    key_in = ("header", "x-api-key")
    no_such = _error(200, {"searchParameters": {"q": TELLTALE}, "organic": []})
    bad_key = _error(403, {"message": "Unauthorized.", "statusCode": 403})
    too_fast = _error(429, {"message": "Too many requests"})


class Tavily(Vendor):
    """Tavily: what is wrong stands under ``detail``."""

    source, path = "tavily", "tavily/search"
    key_in = ("header", "authorization")
    no_such = _error(200, {"query": TELLTALE, "results": []})
    bad_key = _error(401, {"detail": {"error": "Unauthorized: missing or invalid API key."}})
    too_fast = _error(429, {"detail": {"error": "Your request has been blocked due to excessive requests."}})


class Searxng(Vendor):
    """SearXNG: HTML where the form json is not allowed, and where its limiter says no."""

    source, path = "searxng", "searxng/search"
    no_such = _error(200, {"query": TELLTALE, "results": []})
    too_fast = _error(429, b"Too Many Requests")


class Wayback(Vendor):
    """The Wayback Machine: an empty list where nothing was copied."""

    source, path = "wayback", "wayback/captures"
    no_such = _error(200, [])
    too_fast = _error(429, b"<html>Too Many Requests</html>")


VENDORS = (
    Serper,
    Tavily,
    Searxng,
    Wayback,
    Fmp,
    Fred,
    Msd,
    SearchApi,
    Exa,
    Brave,
    Yahoo,
    Kalshi,
    Polymarket,
    Wikipedia,
    Dbnomics,
    Sec,
    Gdelt,
)
