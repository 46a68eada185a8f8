"""Read a provider's line below LiteLLM: signs of life, its own end or error, a plain reply.

LiteLLM streams and puts the pieces together. On its way it turns a reason for an end that it does not know into "stop", takes a
stream that broke off for a whole one, and counts tokens itself where the provider counted none. So each answer is read here first.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from time import monotonic
from typing import Any

import httpx

from workbench.models.providers.mended_replies import mended, utf8

#: Seconds for what may follow the end of a reply: its counts.
AFTER_THE_END = 10.0
_STREAMS = ("event-stream", "ndjson")
_BREAK = re.compile(rb"[\r\n]+")
_ENDS = ("finish_reason", "stop_reason", "finishReason", "done_reason", "stopReason", "blockReason")
_LAST_EVENTS = ("message_stop", "response.completed", "response.incomplete", "response.failed")


class PlainReply(Exception):
    """A server answered a request for a stream with a whole reply, kept in `Exchange.plain`."""


@dataclass(slots=True)
class Exchange:
    """One request and its provider's answer.

    ``first`` are the seconds to wait for the first word, ``silence`` those without a byte after it.
    """

    silence: float
    first: float
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    ends: list[str] = field(default_factory=list)
    error: object = None
    usage: dict[str, Any] = field(default_factory=dict)
    model: str | None = None
    refusal: str = ""
    #: Cohere's, which LiteLLM drops.
    thoughts: str = ""
    #: OpenRouter's signed thoughts, by their place.
    details: dict[Any, dict[str, Any]] = field(default_factory=dict)
    #: A word, thought or call has come.
    begun: bool = False
    #: Nothing more will come.
    over: bool = False
    plain: bytes | None = None
    _rest: bytearray = field(default_factory=bytearray)
    _ended: float | None = None

    @property
    def whole(self) -> bool:
        """Whether the provider has ended the reply."""
        return self.over or bool(self.ends)

    def limit(self) -> float:
        """Return the seconds to wait for the next byte."""
        if self._ended is not None:
            return self._ended + min(self.silence, AFTER_THE_END) - monotonic()
        return self.silence if self.begun else self.first

    def hear(self, piece: bytes) -> None:
        """Parse a piece of a stream."""
        self._rest += piece
        if b"\n" not in piece and b"\r" not in piece:
            return
        *lines, incomplete = _BREAK.split(bytes(self._rest))
        self._rest = bytearray(incomplete)
        for line in lines:
            self._line(line.removeprefix(b"data:").strip())
        if self._ended is None and self.whole:
            self._ended = monotonic()

    def _line(self, line: bytes) -> None:
        if line == b"[DONE]":
            self.over = True
        elif line.startswith(b"{"):
            try:
                self.note(json.loads(line))
            except (ValueError, RecursionError):
                return  # half a line at a broken end

    def note(self, piece: dict[str, Any]) -> None:
        """Record the end, errors and counts in a chunk or a whole reply."""
        kind = piece.get("type")
        inner = piece if piece.get("object") == "response" else _dict(piece.get("response"))
        delta, message = _dict(piece.get("delta")), _dict(piece.get("message"))
        choices = [_dict(part) for name in ("choices", "candidates") for part in piece.get(name) or ()]
        for holder in (piece, delta, _dict(piece.get("promptFeedback")), *choices):
            self.ends += [
                holder[name] for name in _ENDS if isinstance(holder.get(name), str) and holder[name]
            ]
        if inner.get("status") in ("completed", "incomplete"):
            self.ends.append(str(_dict(inner.get("incomplete_details")).get("reason") or inner["status"]))
        parts = content if isinstance(content := message.get("content"), list) else ()
        self.thoughts += "".join(str(part["thinking"]) for part in map(_dict, parts) if part.get("thinking"))
        for holder in (piece, message, delta, inner, _dict(piece.get("x_groq"))):
            counts = _dict(holder.get("usage") or holder.get("usageMetadata"))
            self.usage.update((name, count) for name, count in counts.items() if count is not None)
            name = holder.get("model") or holder.get("modelVersion")
            self.model = name if isinstance(name, str) else self.model
        if piece.get("prompt_eval_count"):
            self.usage["prompt_eval_count"] = piece["prompt_eval_count"]
        for choice in choices:
            increment = _dict(choice.get("delta") or choice.get("message"))
            self.refusal += increment["refusal"] if isinstance(increment.get("refusal"), str) else ""
            for place, detail in enumerate(increment.get("reasoning_details") or ()):
                self._join(detail, place)
            self.error = self.error or choice.get("error")
        # An error of the Responses is documented flat and seen with an object inside.
        flat = piece if kind == "error" else None
        self.error = self.error or piece.get("error") or inner.get("error") or flat
        self.over = self.over or kind in _LAST_EVENTS or piece.get("done") is True or self.error is not None

    def _join(self, detail: Any, place: int) -> None:
        if isinstance(detail, dict):
            thought = self.details.setdefault((detail.get("index", place), detail.get("type")), {})
            for name, value in detail.items():
                if name in ("text", "summary", "data") and isinstance(value, str):
                    thought[name] = (thought.get(name) or "") + value
                elif value is not None or name not in thought:
                    thought[name] = value

    async def pass_through(
        self, send: Callable[..., Awaitable[httpx.Response]], request: httpx.Request, options: dict[str, Any]
    ) -> httpx.Response:
        """Send a request and return its response, read in passing; a kept plain reply is returned without sending.

        Raises `PlainReply`: A whole reply came to a request for a stream; the next request is answered with it.
        """
        if self.plain is not None:
            return httpx.Response(200, headers=_bare(self.headers), content=self.plain, request=request)
        streams = _asks_to_stream(request)
        timeout = request.extensions.get("timeout", {})
        request.extensions["timeout"] = {**timeout, "read": self.first if streams else None}
        try:
            response = await send(request, **options)
            self.status, self.headers = response.status_code, response.headers
            if any(kind in response.headers.get("content-type", "") for kind in _STREAMS):
                response.stream = _Heard(response.stream, self)
                return response
            body = await response.aread()
        except httpx.RemoteProtocolError as problem:
            # LiteLLM sends a request again on its own when it sees this error, and what it broke off may have been billed.
            raise httpx.ReadError(str(problem), request=request) from problem
        body = utf8(body, response.charset_encoding)
        if response.status_code != 200:
            self._refused(body)
            return response
        if request.url.path.endswith("/chat/completions"):
            body = mended(body)
        self._whole_reply(body)
        if streams or self.error is not None:
            self.plain = body
            raise PlainReply
        return httpx.Response(200, headers=_bare(response.headers), content=body, request=request)

    def _refused(self, body: bytes) -> None:
        try:
            refusal = json.loads(body)
        except (ValueError, RecursionError):
            refusal = body.decode("utf-8", "replace")
        refusal = refusal[0] if isinstance(refusal, list) and refusal else refusal
        self.error = (
            (refusal.get("error") or refusal.get("detail") or refusal)
            if isinstance(refusal, dict)
            else refusal
        )

    def _whole_reply(self, body: bytes) -> None:
        try:
            reply = json.loads(body)
        except (ValueError, RecursionError):
            return
        for piece in reply if isinstance(reply, list) else [reply]:
            if isinstance(piece, dict):
                # Beside a reply it is a remark; FastAPI's name for an error is "detail".
                error = None if piece.get("choices") else piece.get("error") or piece.get("detail")
                self.note({**piece, "error": error})


class _Heard(httpx.AsyncByteStream):
    """A stream that is read in passing, with its silence bounded."""

    def __init__(self, inner: Any, exchange: Exchange) -> None:
        self._inner, self._exchange = inner, exchange

    async def __aiter__(self) -> AsyncIterator[bytes]:
        exchange, pieces = self._exchange, aiter(self._inner)
        while (limit := exchange.limit()) > 0:
            try:
                async with asyncio.timeout(limit):
                    piece = await anext(pieces)
            except StopAsyncIteration:
                break
            except (TimeoutError, httpx.RequestError) as problem:
                # After its end a reply is whole, and paid for: some servers hold the line, or break it.
                if exchange.whole:
                    return
                if isinstance(problem, TimeoutError | httpx.ReadTimeout):
                    raise httpx.ReadTimeout(f"silent for {limit:.0f} s") from None
                raise httpx.ReadError(str(problem)) from problem
            exchange.hear(piece)
            yield piece
            if exchange.over:
                return
        exchange.hear(b"\n")

    async def aclose(self) -> None:
        await self._inner.aclose()


_EXCHANGE: ContextVar[Exchange | None] = ContextVar("_EXCHANGE", default=None)


@contextmanager
def observed(exchange: Exchange) -> Iterator[None]:
    """Pass the requests of this block through an exchange; concurrent ones of the same clients are untouched."""
    token = _EXCHANGE.set(exchange)
    try:
        yield
    finally:
        _EXCHANGE.reset(token)


def observe(client: httpx.AsyncClient) -> None:
    """Have a library's client send through the exchange of the block; a second call does nothing."""
    send = client.send
    if hasattr(send, "__wrapped__"):
        return

    @wraps(send)
    async def through(request: httpx.Request, **options: Any) -> httpx.Response:
        exchange = _EXCHANGE.get()
        if exchange is None:
            return await send(request, **options)
        return await exchange.pass_through(send, request, options)

    client.send = through  # type: ignore[method-assign]


def _asks_to_stream(request: httpx.Request) -> bool:
    if "stream" in request.url.path.lower():
        return True
    try:
        body = json.loads(request.content)
    except ValueError:
        return False
    return isinstance(body, dict) and bool(body.get("stream"))


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _bare(headers: Mapping[str, str]) -> dict[str, str]:
    dropped = ("content-length", "content-encoding", "transfer-encoding")
    return {name: value for name, value in headers.items() if name.lower() not in dropped}
