"""Replies of providers, streamed on the wire so that silence can be told from work, whole for the caller; which families stream.

A long answer and a dead line look the same without streaming. It is done below the client library: LiteLLM asks for a plain
reply and gets one, so that nothing above has to know. A server that answers a streamed request with a plain JSON reply has
answered; one that refuses ``stream`` is asked without, and that is remembered.
"""

import asyncio
import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache, wraps
from time import monotonic
from typing import Any

import httpx

from workbench.models.providers.streaming.stream_assembly import Assembly, Family
from workbench.models.providers.streaming.stream_formats import ANTHROPIC, CHAT, GEMINI, OLLAMA, RESPONSES

FAMILIES: tuple[Family, ...] = (CHAT, RESPONSES, ANTHROPIC, GEMINI, OLLAMA)


#: ``httpx.AsyncClient.send``, or what stands in its place.
Send = Callable[..., Awaitable[httpx.Response]]

_REFUSALS = (400, 404, 405, 415, 422, 501)
#: Seconds for what may follow the end of a reply: its counts.
_AFTER_THE_END = 10.0
#: Headers that speak of a body which we have replaced.
_OF_THE_BODY = {"content-length", "content-type", "content-encoding", "transfer-encoding"}


@dataclass(slots=True)
class StreamMemory:
    """What was learned of a model: it refuses ``stream``; it refuses to count tokens in a stream; it replies plainly all the same."""

    refused: bool = False
    uncounted: bool = False
    plain: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long one request is waited for, in seconds.

    Parameters
    ----------
    silence : float
        Without a byte after which a streamed reply is given up; raised as ``httpx.ReadTimeout``.
    total : float
        The same for the whole of one reply, however it comes.
    reasons : bool
        The model may think for long before its first word, without a sign of it on some providers' lines: up to that word
        only ``total`` counts.
    memory : StreamMemory
        Kept by the caller from request to request.
    """

    silence: float
    total: float
    reasons: bool = False
    memory: StreamMemory = field(default_factory=StreamMemory)

    @property
    def first(self) -> float:
        """Seconds to wait for the first word: a server that does not stream sends none until it has finished."""
        return self.total if self.reasons or self.memory.plain else self.silence


_PATIENCE: ContextVar[Patience | None] = ContextVar("_PATIENCE", default=None)


@contextmanager
def patience_of(patience: Patience) -> Iterator[None]:
    """Have the requests of this block streamed and bounded; requests of others through the same clients go as they are."""
    token = _PATIENCE.set(patience)
    try:
        yield
    finally:
        _PATIENCE.reset(token)


def stream_through(client: httpx.AsyncClient) -> None:
    """Have a client that a library made send by :func:`send_patiently`; a second call does nothing."""
    send = client.send
    if hasattr(send, "__wrapped__"):
        return

    @wraps(send)
    async def patiently(request: httpx.Request, **options: Any) -> httpx.Response:
        return await send_patiently(send, request, **options)

    client.send = patiently  # type: ignore[method-assign]


async def send_patiently(send: Send, request: httpx.Request, **options: Any) -> httpx.Response:
    """Return the whole reply to a request, streamed on its way where the block's patience asks for it."""
    patience = _PATIENCE.get()
    if patience is None or options.pop("stream", False):
        return await send(request, **options)
    try:
        async with asyncio.timeout(patience.total):
            return await _Exchange(send, options, patience).reply_to(request)
    except TimeoutError:
        raise httpx.ReadTimeout(f"no whole reply in {patience.total:.0f} s", request=request) from None
    except httpx.RemoteProtocolError as problem:
        # LiteLLM sends a request again on its own when it sees this error, and what it broke off may have been billed.
        raise httpx.ReadError(str(problem), request=request) from problem


@dataclass(frozen=True, slots=True)
class _Exchange:
    """One request and its reply."""

    send: Send
    options: dict[str, Any]
    patience: Patience

    async def reply_to(self, request: httpx.Request) -> httpx.Response:
        memory = self.patience.memory
        family = (
            None if memory.refused else next((family for family in FAMILIES if family.sends(request)), None)
        )
        if family is None:
            return await self._plain(request)
        response = await self._streamed(family, request, counted=not memory.uncounted)
        if _refuses(response, b"stream_options") and not memory.uncounted:
            response = await self._streamed(family, request, counted=False)
            # A refusal for another reason may quote the whole request; only what helped is remembered.
            memory.uncounted = response.is_success
        if _refuses(response, b"stream"):
            response = await self._plain(request)
            memory.refused = response.is_success
        return response

    async def _plain(self, request: httpx.Request) -> httpx.Response:
        response = await self._sent(request, self.patience.total)
        await response.aread()
        return response

    async def _streamed(self, family: Family, request: httpx.Request, *, counted: bool) -> httpx.Response:
        first = self.patience.silence if family.pings else self.patience.first
        response = await self._sent(family.streamed(request, counted=counted), first)
        if response.status_code != 200:
            await response.aread()
            return response
        if family.kind not in response.headers.get("content-type", ""):
            self.patience.memory.plain = True
            await response.aread()
            return response
        reply = family.assembly()
        try:
            await self._read(response, reply, first)
        finally:
            await response.aclose()
        if not reply.complete:
            raise httpx.RemoteProtocolError("the reply broke off", request=request)
        headers = {
            name: value for name, value in response.headers.items() if name.lower() not in _OF_THE_BODY
        }
        return httpx.Response(reply.status, headers=headers, json=reply.whole(), request=request)

    async def _read(self, response: httpx.Response, reply: Assembly, first: float) -> None:
        """Read a stream into its reply until that is done."""
        ended: float | None = None

        def limit() -> float:
            if ended is not None:
                return max(0.0, ended + min(self.patience.silence, _AFTER_THE_END) - monotonic())
            return self.patience.silence if reply.begun else first

        try:
            async for line in _lines(response, limit):
                reply.add_line(line)
                if reply.done:
                    return
                if ended is None and reply.complete:
                    ended = monotonic()
        except (TimeoutError, httpx.RequestError) as problem:
            # After its end a reply is whole, and paid for: some servers hold the line, or break it.
            if reply.complete:
                return
            if isinstance(problem, TimeoutError | httpx.ReadTimeout):
                raise httpx.ReadTimeout(f"silent for {limit():.0f} s", request=response.request) from None
            raise

    async def _sent(self, request: httpx.Request, seconds: float) -> httpx.Response:
        timeout = {**request.extensions.get("timeout", {}), "read": seconds}
        request.extensions = {**request.extensions, "timeout": timeout}
        return await self.send(request, stream=True, **self.options)


def _refuses(response: httpx.Response, part: bytes) -> bool:
    """Whether a server rejects a request in words that name this part of it."""
    return response.status_code in _REFUSALS and part in response.content.lower()


_LINE_END = re.compile(rb"\r\n|\n|\r")


async def _lines(response: httpx.Response, limit: Callable[[], float]) -> AsyncIterator[str]:
    """The lines of a stream; raises ``TimeoutError`` when nothing comes for as long as ``limit`` says."""
    parts, rest = response.aiter_bytes(), bytearray()
    while True:
        try:
            async with asyncio.timeout(limit()):
                part = await anext(parts)
        except StopAsyncIteration:
            break
        rest += part
        if b"\n" not in part and b"\r" not in part:
            continue
        # A line ends with any of the three (the standard of event streams); a last "\r" may be half of "\r\n".
        *whole, last = _LINE_END.split(rest[:-1] if rest.endswith(b"\r") else rest)
        rest = bytearray(last + b"\r" if rest.endswith(b"\r") else last)
        for line in whole:
            yield line.decode("utf-8", "replace")
    if rest:
        yield rest.decode("utf-8", "replace").rstrip("\r")


def wire() -> httpx.AsyncBaseTransport:
    """Return the transport to a server of one's own: no connection is kept, because nobody tells us when an event loop ends.

    A new connection costs a round trip or two, beside seconds of an answer.
    """
    return httpx.AsyncHTTPTransport(
        verify=_trusted(), limits=httpx.Limits(max_connections=None, max_keepalive_connections=0)
    )


@cache
def _trusted() -> ssl.SSLContext:
    """The certificates that are trusted, read once per process: that takes longer than opening the rest of a client."""
    return httpx.create_ssl_context()
