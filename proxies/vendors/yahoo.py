"""Ask Yahoo Finance, an undocumented service that wants a browser's handshake, a cookie and, in places, a crumb."""

from dataclasses import replace
from typing import Any

from proxies.catalogue.schema import Endpoint
from proxies.errors import ProxyError, SourceError, SourceUnavailable
from proxies.fetch.cache import RawAnswer
from proxies.fetch.transport import (
    MOST_BYTES,
    HttpRequest,
    HttpResponse,
    Transport,
    TransportError,
    too_large,
    unpacked,
)
from proxies.json_text import Fields, Row
from proxies.vendors.base import HttpSource

_CRUMBED = (
    "yfinance/upgrades-downgrades",
    "yfinance/earnings-dates",
    "yfinance/quote",
    "yfinance/quote-summary",
    "yfinance/options",
)


class CurlTransport:
    """The transport of Yahoo: curl with a browser's TLS handshake, opened at the first call."""

    def __init__(self) -> None:
        self._session: Any = None

    async def exchange(self, request: HttpRequest, timeout: float) -> HttpResponse:
        """Return one HTTP exchange."""
        from curl_cffi import CurlOpt, requests
        from curl_cffi.curl import CURL_WRITEFUNC_ERROR

        if self._session is None:
            self._session = requests.AsyncSession(
                impersonate="chrome",
                trust_env=False,
                # curl would unpack five codings deep; `unpacked` stops in time
                curl_options={CurlOpt.HTTP_CONTENT_DECODING: 0},
            )
        body = bytearray()

        def take(part: bytes) -> int:
            # curl calls this between two reads, and stops at once: a queue would fill faster than anybody looks into it
            body.extend(part)
            return CURL_WRITEFUNC_ERROR if len(body) > MOST_BYTES else len(part)

        try:
            response = await self._session.request(
                request.method,
                request.url,
                params=dict(request.query) or None,
                json=dict(request.json) if request.json is not None else None,
                timeout=timeout,
                allow_redirects=False,
                # in the browser's own place among its headers; without it Yahoo may send what `unpacked` does not read
                headers={"Accept-Encoding": "gzip"},
                content_callback=take,
            )
        except requests.exceptions.RequestException as error:
            if len(body) > MOST_BYTES:
                raise too_large() from None
            raise TransportError(
                "no answer in time" if "timed out" in str(error).lower() else "no connection"
            ) from None
        headers = {str(k).lower(): str(v) for k, v in response.headers.items()}
        plain = await unpacked(bytes(body), ", ".join(response.headers.get_list("content-encoding")))
        return HttpResponse(status=response.status_code, headers=headers, body=plain)

    async def aclose(self) -> None:
        """Close the session."""
        if self._session is not None:
            await self._session.close()
            self._session = None


class YahooSource(HttpSource):
    """Yahoo over curl."""

    _crumb: str | None = None

    def transport(self) -> Transport:
        """Open curl with a browser's handshake."""
        return CurlTransport()

    async def fetch(self, endpoint: Endpoint, params: Fields) -> RawAnswer:
        """Return the raw answer. Paths that want a crumb (a token bound to the cookie) get one first."""
        if endpoint.path in _CRUMBED and self._crumb is None:
            self._crumb = await self._new_crumb()
        return await super().fetch(endpoint, params)

    async def _new_crumb(self) -> str:
        try:
            response = await self._transport.send(
                HttpRequest(method="GET", url=f"{self.base('query1')}/v1/test/getcrumb", query={})
            )
        except SourceError:
            # "" and not None: later calls go without a crumb and do not try the handshake again until a 401 resets it
            return ""
        text = response.body.decode("utf-8", "replace").strip()
        # a page in HTML can come under status 200 too
        return text if response.status == 200 and len(text) < 40 and "<" not in text else ""

    def http_request(self, endpoint: Endpoint, params: Fields) -> HttpRequest:
        """Return the request, with the bodies that two of the paths want."""
        tail = endpoint.path.rpartition("/")[2]
        if tail == "earnings-dates":
            body: Row = {
                "sortType": "DESC", "entityIdType": "earnings", "sortField": "startdatetime", "offset": 0, "size": 100,
                "includeFields": ["startdatetime", "epsestimate", "epsactual", "epssurprisepct"],
                "query": {"operator": "eq", "operands": ["ticker", params["symbol"]]},
            }  # fmt: skip
            query = {"lang": "en-US", "region": "US"}
            request = replace(self.build(endpoint, {}), method="POST", query=query, json=body)
        elif tail == "news":
            body = {"serviceConfig": {"snippetCount": params.get("count", 10), "s": [params["symbol"]]}}
            query = {"queryRef": "latestNews", "serviceKey": "ncp_fin"}
            request = replace(self.build(endpoint, {}), method="POST", query=query, json=body)
        else:
            request = self.build(endpoint, params)
        if endpoint.path in _CRUMBED and self._crumb:
            return replace(request, query={**request.query, "crumb": self._crumb})
        return request

    def complaint(self, endpoint: Endpoint, response: HttpResponse, payload: Any) -> ProxyError | None:
        """Return the error of a complaint; one about the crumb makes the next call get another."""
        if response.status == 401:
            self._crumb = None
            return SourceUnavailable("yfinance refuses its crumb: try again later")
        return super().complaint(endpoint, response, payload)
