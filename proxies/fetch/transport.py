"""Call over HTTP: timeouts, rate limits, retries on 429 and 5xx only, keys kept out of logs and errors.

The key joins the request below httpx's client, in the transport, so that the client's own log lines and its
exceptions hold the address without it.
"""

import asyncio
import base64
import functools
import ssl
import time
import zlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

import httpx
import orjson

from proxies.catalogue.schema import EndpointLimits, Key
from proxies.errors import QuotaExhausted, SourceRejected, SourceUnavailable
from proxies.fetch.pacing import Pace, backoff, retry_after
from proxies.secret_registry import SECRETS
from proxies.settings import Retry

#: Bytes of an answer, as sent and as unpacked.
MOST_BYTES = 64_000_000
#: Bytes from which an answer is read off the event loop. Below, no step of it takes the loop 15 ms.
LARGE = 1_000_000
_IN_THREAD = 100_000  # bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpResponse:
    """A response: status, headers (lower case), body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """A request, without the key."""

    method: str
    url: str
    query: Mapping[str, str]
    json: Mapping[str, Any] | Sequence[Any] | None = None
    headers: Mapping[str, str] | None = None


class Transport(Protocol):
    """Sends one HTTP request. Tests and Yahoo's curl put their own in its place; `RetryingTransport` calls it."""

    async def exchange(self, request: HttpRequest, timeout: float) -> HttpResponse:
        """Return the response, or raise TransportError."""
        ...

    async def aclose(self) -> None:
        """Close the connections."""
        ...


class TransportError(Exception):
    """No response came; one or two words of why, without addresses."""


class UnusableResponse(TransportError):
    """A response broke a bound: asking again would bring the same."""


class _Keyed(httpx.AsyncBaseTransport):
    """Adds the key below httpx's client, whose logs and exceptions then never hold it."""

    def __init__(
        self, inner: httpx.AsyncBaseTransport, key: Key | None, secret: str, token_url: str = ""
    ) -> None:
        self._inner, self._key, self._secret, self._token_url = inner, key, secret, token_url
        self._token: Any = None
        self._lock = asyncio.Lock()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self._key is None:
            return await self._inner.handle_async_request(request)
        headers = request.headers.copy()
        url = request.url
        if self._key.place == "basic":
            headers["authorization"] = f"Basic {base64.b64encode(self._secret.encode()).decode()}"
        elif self._key.place == "oauth2":
            headers["authorization"] = f"Bearer {await self._bearer()}"
        elif self._key.place == "header":
            headers[self._key.name] = self._key.prefix + self._secret
        else:
            url = url.copy_merge_params({self._key.name: self._secret})
        keyed = httpx.Request(
            request.method, url, headers=headers, stream=request.stream, extensions=request.extensions
        )
        return await self._inner.handle_async_request(keyed)

    async def _bearer(self) -> str:
        """Return the token of the key (client credentials): one for all calls, until a minute before it expires.

        Raises `UnusableResponse`: The service gives none. Nothing of its reply is shown: it may hold the key.
        """
        # optional; only for services that change a key for a token
        try:
            from authlib.oauth2.auth import ClientAuth
            from authlib.oauth2.rfc6749 import OAuth2Token
            from authlib.oauth2.rfc6749.parameters import prepare_token_request
        except ImportError:
            raise UnusableResponse("OAuth2 needs authlib: pip install 'analyst-workbench[own]'") from None

        assert self._key is not None
        async with self._lock:
            if self._token is None or self._token.is_expired():
                name, _, secret = self._secret.partition(":")
                form = prepare_token_request("client_credentials", scope=self._key.scope or None)
                _, headers, body = ClientAuth(name, secret).prepare("POST", self._token_url, {}, form)
                headers["content-type"] = "application/x-www-form-urlencoded"
                # through the inner transport, below the client that logs
                reply = await self._inner.handle_async_request(
                    httpx.Request("POST", self._token_url, headers=headers, content=body.encode())
                )
                try:
                    token = OAuth2Token.from_dict(orjson.loads(await _body(reply)))
                    SECRETS.add(str(token["access_token"]))
                except (ValueError, KeyError, TypeError):
                    raise UnusableResponse("no token came for the key") from None
                finally:
                    await reply.aclose()
                self._token = token
            return str(self._token["access_token"])

    async def aclose(self) -> None:
        await self._inner.aclose()


@functools.cache
def _tls() -> ssl.SSLContext:
    return httpx.create_ssl_context()


class HttpxTransport:
    """The transport of every source but Yahoo: one pooled httpx client, opened at the first call."""

    def __init__(self, *, key: Key | None, secret: str, agent: str, token_url: str = "") -> None:
        self._key, self._secret, self._agent, self._token_url = key, secret, agent, token_url
        self._client: httpx.AsyncClient | None = None

    async def exchange(self, request: HttpRequest, timeout: float) -> HttpResponse:
        """Return one HTTP exchange."""
        client = await self._opened()
        try:
            # streamed, so that an answer without end is given up at the limit and not when memory is full
            async with client.stream(
                request.method,
                request.url,
                params=dict(request.query) or None,
                json=request.json,
                headers=dict(request.headers or {}),
                timeout=timeout,
            ) as response:
                body = await _body(response)
                return HttpResponse(status=response.status_code, headers=dict(response.headers), body=body)
        except httpx.TimeoutException:
            raise TransportError("no answer in time") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise TransportError(_plain_error(error)) from None

    async def _opened(self) -> httpx.AsyncClient:
        if self._client is None:
            roots = await asyncio.to_thread(_tls)
            # Asked again after the pause: of two first calls at once, the second would replace the first one's open client.
            if self._client is None:
                inner = httpx.AsyncHTTPTransport(
                    verify=roots, limits=httpx.Limits(max_connections=32, max_keepalive_connections=16)
                )
                self._client = httpx.AsyncClient(
                    transport=_Keyed(inner, self._key, self._secret, self._token_url),
                    # one coding is enough, and of this one `unpacked` knows how to stop in time
                    headers={"user-agent": self._agent, "accept-encoding": "gzip"},
                    follow_redirects=False,  # _Keyed would add the key to every hop, whatever its host
                    trust_env=False,
                )
        return self._client

    async def aclose(self) -> None:
        """Close the client."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None


async def _body(response: httpx.Response) -> bytes:
    """Read the body of a response. Raises UnusableResponse, as `unpacked` does."""
    parts, size = [], 0
    # raw: httpx would unpack as many codings as a header names, each a thousandfold, before we see a byte
    async for part in response.aiter_raw():
        size += len(part)
        if size > MOST_BYTES:
            raise too_large()
        parts.append(part)
    return await unpacked(b"".join(parts), response.headers.get("content-encoding", ""))


def too_large() -> UnusableResponse:
    """Build the error of an answer beyond the bound."""
    return UnusableResponse(f"the answer is larger than {MOST_BYTES // 1_000_000} MB: ask for less")


async def unpacked(body: bytes, coding: str) -> bytes:
    """Undo the Content-Encoding of a response's body; both transports call it.

    Raises `UnusableResponse`: It is coded otherwise than once with gzip, is broken, or is larger than MOST_BYTES.
    """
    codings = [name for part in coding.lower().split(",") if (name := part.strip()) not in ("", "identity")]
    if not codings or not body:
        return body
    # gzip in gzip: 7 kB have become 4 GB
    if codings not in (["gzip"], ["x-gzip"]):
        raise UnusableResponse("the answer comes in a coding that was not asked for")
    if len(body) < _IN_THREAD:
        return _gunzip(body)
    return await asyncio.to_thread(_gunzip, body)


def _gunzip(body: bytes) -> bytes:
    reader = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    try:
        plain = reader.decompress(body, MOST_BYTES + 1)
    except zlib.error:
        raise UnusableResponse("the answer's gzip cannot be read") from None
    if len(plain) > MOST_BYTES:
        raise too_large()
    if not reader.eof or reader.unused_data:
        raise UnusableResponse("the answer's gzip is cut short or followed by something else")
    return plain


def _plain_error(error: Exception) -> str:
    names = {
        "ConnectError": "no connection",
        "RemoteProtocolError": "the connection broke",
        "ReadError": "the connection broke",
    }
    return names.get(type(error).__name__, "the exchange failed")


#: What a response asks of the transport beside its status: "" for nothing, ``final`` for never to be asked again.
Meaning: TypeAlias = Literal["", "busy", "quota", "final"]


def plan_used_up(response: HttpResponse) -> Meaning:
    """Return ``quota`` for the status by which most services say that a plan is used up."""
    return "quota" if response.status == 402 else ""


@dataclass(slots=True)
class RetryingTransport:
    """Sends one source's requests: paced, bounded in number and time, repeated after 429 and 5xx."""

    #: For error messages.
    source: str
    transport: Transport
    limits: EndpointLimits
    retry: Retry
    meaning: Callable[[HttpResponse], Meaning] = plan_used_up
    #: Whether another key may help.
    keyed: bool = True
    #: False: only a 429 says that a request did not arrive, and is sent again after.
    repeatable: bool = True
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    sent: int = 0
    _pace: Pace = field(init=False)
    _slept: float = field(default=0.0, init=False)  # by how much pauses of a test were ahead of the clock

    def __post_init__(self) -> None:
        limits = self.limits
        per_minute = 60 * limits.per_second if limits.per_second else limits.per_minute or None
        self._pace = Pace(
            limits.together,
            requests_per_minute=per_minute,
            # A vendor that counts by the second refuses a minute's worth at once.
            burst=max(1.0, limits.per_second) if limits.per_second else None,
            clock=lambda: time.monotonic() + self._slept,
            sleep=self._pause,
        )

    async def _pause(self, seconds: float) -> None:
        begun = time.monotonic()
        await self.sleep(seconds)
        self._slept += max(0.0, seconds - (time.monotonic() - begun))

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Return the upstream's response, of any status that a retry would not change.

        Raises `SourceUnavailable`: No response, none in ``limits.total`` seconds, or 5xx to the last try. Raises `SourceRejected`: The
        response is larger than may be, or coded otherwise than was asked (`SourceUnavailable` where the request may not be repeated).
        Raises `QuotaExhausted`: The plan is used up, or 429 to the last try.
        """
        for attempt in range(1, self.retry.tries + 1):
            last = attempt == self.retry.tries
            async with self._pace.slot():
                self.sent += 1
                try:
                    # a transport's timeout is for each read: one byte every few seconds would hold the place for ever
                    async with asyncio.timeout(self.limits.total):
                        response = await self.transport.exchange(request, self.limits.timeout)
                except TimeoutError:
                    raise SourceUnavailable(
                        f"{self.source} did not finish its answer in {self.limits.total:g} s: ask for less, or later"
                    ) from None
                except UnusableResponse as error:
                    # one that writes has arrived: whether it was taken is to be looked up
                    kind = SourceRejected if self.repeatable else SourceUnavailable
                    raise kind(f"{self.source} sent an answer that cannot be read: {error}") from None
                except TransportError as error:
                    # repeated once, not to the last try: each further timeout would cost the caller the whole wait again
                    if last or attempt > 1 or not self.repeatable:
                        raise SourceUnavailable(
                            f"{self.source} cannot be reached ({error}): try again later"
                        ) from None
                    response = None
            if response is not None:
                meaning = self.meaning(response)
                # before the question whether to retry: a used-up plan often answers 429 too, and no pause brings it back
                if meaning == "quota":
                    raise QuotaExhausted(
                        f"{self.source} reports that the plan's calls are used up: {self._cure}"
                    )
                failed = response.status == 429 or response.status >= 500
                if meaning == "final" or not (failed or meaning == "busy"):
                    self._pace.answered()
                    return response
                wait = retry_after(response.headers)
                # a vendor that asks for an hour gets no call that sleeps for an hour: the caller is told
                final = last or not (self.repeatable or response.status == 429)
                if final or (wait is not None and wait > self.retry.cap):
                    raise self._spent(response, wait)
            else:
                wait = None
            if wait is None:
                # jitter, so that many kernels do not come back together
                wait = backoff(attempt, first=self.retry.base, longest=self.retry.cap)
            if response is not None and response.status == 429:
                self._pace.refused(
                    wait
                )  # the others would be refused as well: they wait too, and fewer go at once
            # outside the slot: a call that pauses takes no place from others
            await self._pause(wait)
        raise AssertionError("the last try returns or raises")

    @property
    def _cure(self) -> str:
        return "wait, or use another key" if self.keyed else "wait, and ask for less at once"

    def _spent(self, response: HttpResponse, wait: float | None) -> SourceUnavailable | QuotaExhausted:
        if response.status == 429:
            when = f" for {wait:.0f} s" if wait else ""
            return QuotaExhausted(f"{self.source} takes no more calls{when} (HTTP 429): {self._cure}")
        if response.status < 400:
            return QuotaExhausted(f"{self.source} takes no more calls for now: {self._cure}")
        return SourceUnavailable(f"{self.source} is not working (HTTP {response.status}): try again later")
