"""Calls over HTTP: timeouts, rate limits, retries on 429 and 5xx only, keys that no log or error can show.

The key joins the request below httpx's client, in the transport, so that the client's own log lines and its
exceptions hold the address without it.
"""

import asyncio
import functools
import random
import re
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Protocol

import httpx
from aiolimiter import AsyncLimiter

from proxies.catalogue.schema import Key, Limits
from proxies.errors import QuotaExhausted, SourceUnavailable
from proxies.settings import Retry

MOST_BYTES = 64_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpResponse:
    """What came back: status, headers (lower case), body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """What goes out, without the key."""

    method: str
    url: str
    query: Mapping[str, str]
    json: Mapping[str, Any] | None = None
    headers: Mapping[str, str] | None = None


class Transport(Protocol):
    """Sends one HTTP request. Tests and Yahoo's curl put their own in its place; `RetryingTransport` calls it."""

    async def exchange(self, request: HttpRequest, timeout: float) -> HttpResponse:
        """The response, or TransportError when there was none."""
        ...

    async def aclose(self) -> None:
        """Give connections back."""
        ...


class TransportError(Exception):
    """No response came: one or two words on why, without addresses."""


class _Keyed(httpx.AsyncBaseTransport):
    """Adds the key below httpx's client, which logs requests and copies them into its exceptions: neither has the key."""

    def __init__(self, inner: httpx.AsyncBaseTransport, key: Key | None, secret: str) -> None:
        self._inner, self._key, self._secret = inner, key, secret

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request with its key."""
        if self._key is None:
            return await self._inner.handle_async_request(request)
        headers = request.headers.copy()
        url = request.url
        if self._key.place == "header":
            headers[self._key.name] = self._key.prefix + self._secret
        else:
            url = url.copy_merge_params({self._key.name: self._secret})
        keyed = httpx.Request(
            request.method, url, headers=headers, stream=request.stream, extensions=request.extensions
        )
        return await self._inner.handle_async_request(keyed)

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self._inner.aclose()


@functools.cache
def _tls() -> ssl.SSLContext:
    """One set of trusted roots for all sources: reading it takes longer than many calls."""
    return httpx.create_ssl_context()


class HttpxTransport:
    """The transport of every source but Yahoo: one pooled httpx client, opened at the first call."""

    def __init__(self, *, key: Key | None, secret: str, agent: str) -> None:
        self._key, self._secret, self._agent = key, secret, agent
        self._client: httpx.AsyncClient | None = None

    async def exchange(self, request: HttpRequest, timeout: float) -> HttpResponse:
        """One HTTP exchange."""
        if self._client is None:
            inner = httpx.AsyncHTTPTransport(
                verify=await asyncio.to_thread(_tls),
                limits=httpx.Limits(max_connections=32, max_keepalive_connections=16),
            )
            self._client = httpx.AsyncClient(
                transport=_Keyed(inner, self._key, self._secret),
                headers={"user-agent": self._agent},
                follow_redirects=False,  # _Keyed would add the key to every hop, whatever its host
                trust_env=False,
            )
        try:
            # streamed, so that an answer without end is given up at the limit and not when memory is full
            async with self._client.stream(
                request.method,
                request.url,
                params=dict(request.query) or None,
                json=request.json,
                headers=dict(request.headers or {}),
                timeout=timeout,
            ) as response:
                parts, size = [], 0
                async for part in response.aiter_bytes():
                    size += len(part)
                    if size > MOST_BYTES:
                        raise TransportError(f"the answer is larger than {MOST_BYTES // 1_000_000} MB")
                    parts.append(part)
                return HttpResponse(
                    status=response.status_code, headers=dict(response.headers), body=b"".join(parts)
                )
        except httpx.TimeoutException:
            raise TransportError("no answer in time") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise TransportError(_plain(error)) from None

    async def aclose(self) -> None:
        """Close the client."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None


def _plain(error: Exception) -> str:
    names = {
        "ConnectError": "no connection",
        "RemoteProtocolError": "the connection broke",
        "ReadError": "the connection broke",
    }
    return names.get(type(error).__name__, "the exchange failed")


def redact(text: str, secrets: tuple[str, ...]) -> str:
    """A text without keys: the secrets themselves and anything that looks like a key in an address."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, "***")
    return re.sub(r"(?i)\b(api_?key|token|authorization)([\"']?\s*[=:]\s*[\"']?)[^\s&\"']+", r"\1\2***", text)


@dataclass(slots=True)
class RetryingTransport:
    """Sends one source's requests: paced, at most so many at once, repeated after 429 and 5xx.

    Parameters
    ----------
    source : str
        For error messages.
    transport : Transport
    limits : Limits
    retry : Retry
    quota, busy : what a response of this source says beside its status
    sleep : awaitable function of seconds, for tests
    """

    source: str
    transport: Transport
    limits: Limits
    retry: Retry
    busy: Callable[[HttpResponse], bool] = lambda response: False
    quota: Callable[[HttpResponse], bool] = lambda response: response.status == 402
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    _pace: AsyncLimiter | None = None
    _gate: asyncio.Semaphore | None = None
    sent: int = 0

    async def send(self, request: HttpRequest) -> HttpResponse:
        """The upstream's response, of any status that a retry would not change.

        Raises
        ------
        SourceUnavailable
            No response, or 5xx to the last try.
        QuotaExhausted
            The plan is used up, or 429 to the last try.
        """
        if self._gate is None:
            self._gate = asyncio.Semaphore(self.limits.together)
            self._pace = _limiter(self.limits)
        for attempt in range(1, self.retry.tries + 1):
            last = attempt == self.retry.tries
            async with self._gate:
                if self._pace is not None:
                    await self._pace.acquire()
                self.sent += 1
                try:
                    response = await self.transport.exchange(request, self.limits.timeout)
                except TransportError as error:
                    # repeated once, not to the last try: each further timeout would cost the caller the whole wait again
                    if last or attempt > 1:
                        raise SourceUnavailable(
                            f"{self.source} cannot be reached ({error}): try again later"
                        ) from None
                    response = None
            if response is not None:
                # before the question whether to retry: a used-up plan often answers 429 too, and no pause brings it back
                if self.quota(response):
                    raise QuotaExhausted(
                        f"{self.source} says that the plan's calls are used up: wait, or use another key"
                    )
                busy = response.status == 429 or response.status >= 500 or self.busy(response)
                if not busy:
                    return response
                wait = retry_after(response.headers)
                # a vendor that asks for an hour gets no call that sleeps for an hour: the caller is told
                if last or (wait is not None and wait > self.retry.cap):
                    raise self._spent(response, wait)
            else:
                wait = None
            if wait is None:
                # jitter, so that many kernels do not come back together
                pause = min(self.retry.cap, self.retry.base * 2 ** (attempt - 1))
                wait = pause * (0.5 + random.random() / 2)
            # outside the gate: a call that pauses takes no place from others
            await self.sleep(wait)
        raise AssertionError("the last try returns or raises")

    def _spent(self, response: HttpResponse, wait: float | None) -> SourceUnavailable | QuotaExhausted:
        if response.status == 429:
            when = f" for {wait:.0f} s" if wait else ""
            return QuotaExhausted(
                f"{self.source} takes no more calls{when} (HTTP 429): wait, or use another key"
            )
        return SourceUnavailable(f"{self.source} is not working (HTTP {response.status}): try again later")


def _limiter(limits: Limits) -> AsyncLimiter | None:
    if limits.per_second:
        # AsyncLimiter lets nothing through a bucket smaller than one: half a call a second is one call in two seconds
        return AsyncLimiter(max(1.0, limits.per_second), max(1.0, limits.per_second) / limits.per_second)
    return AsyncLimiter(limits.per_minute, 60) if limits.per_minute else None


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds the upstream asks to wait, from Retry-After or X-RateLimit-Reset, or None."""
    text = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,9}(\.\d+)?", text):
        return float(text)
    if text:
        try:
            return max(0.0, (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds())
        except (TypeError, ValueError):
            return None
    first = headers.get("x-ratelimit-reset", "").split(",")[0].strip()
    # more digits are an instant since 1970, not a number of seconds to wait
    return float(first) if re.fullmatch(r"\d{1,6}", first) else None
