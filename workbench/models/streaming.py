"""Replies of OpenAI-compatible servers, streamed on the wire so that silence can be told from work, whole for the caller.

A long answer and a dead line look the same without streaming. It is done below the client library: LiteLLM asks for a plain
reply and gets one, so that nothing above has to know. A server that answers a streamed request with a plain JSON reply has
answered; one that refuses ``stream`` is asked without, and that is remembered.
"""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import httpx

_LARGEST = 64_000_000
_NO_STREAM = (400, 404, 405, 415, 422, 501)
#: Headers that speak of a body which we have replaced.
_OF_THE_BODY = {"content-length", "content-type", "content-encoding", "transfer-encoding"}


@dataclass(slots=True)
class StreamMemory:
    """What was learned of a server: that it refuses ``stream``, that it answers with a plain reply all the same."""

    refused: bool = False
    plain: bool = False


class StreamingTransport(httpx.AsyncBaseTransport):
    """Sends chat requests as streamed ones and gives back the whole reply.

    Parameters
    ----------
    inner : httpx.AsyncBaseTransport
    silence : float
        Seconds without a byte after which a streamed reply is given up; raised as ``httpx.ReadTimeout``.
    total : float
        The same for the whole of one reply; all that a server which does not stream is bound by.
    memory : StreamMemory
        Kept by the caller across event loops.
    """

    def __init__(
        self, inner: httpx.AsyncBaseTransport, *, silence: float, total: float, memory: StreamMemory
    ) -> None:
        self._inner = inner
        self._memory = memory
        self._silence = silence
        self._total = total

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request; called by httpx."""
        try:
            async with asyncio.timeout(self._total):
                return await self._exchange(request)
        except TimeoutError:
            raise httpx.ReadTimeout(f"no whole reply in {self._total:.0f} s", request=request) from None

    async def _exchange(self, request: httpx.Request) -> httpx.Response:
        streamed = None if self._memory.refused else _streamed(request, self._wait)
        if streamed is None:
            return await self._inner.handle_async_request(_with_read_timeout(request, self._total))
        response = await self._inner.handle_async_request(streamed)
        if response.status_code in _NO_STREAM:
            whole = await _read_whole(response)
            if b"stream" not in whole.content.lower():
                return whole
            self._memory.refused = True
            return await self._inner.handle_async_request(_with_read_timeout(request, self._total))
        if response.status_code != 200:
            return response
        if "event-stream" not in response.headers.get("content-type", ""):
            self._memory.plain = True
            return response
        reply = _Reply()
        try:
            async for line in _lines(response, self._silence):
                reply.add(line)
                if reply.done:
                    break
        except TimeoutError:
            raise httpx.ReadTimeout(f"silent for {self._silence:.0f} s", request=request) from None
        finally:
            await response.aclose()
        if not reply.complete:
            raise httpx.RemoteProtocolError("the reply broke off", request=request)
        headers = {
            name: value for name, value in response.headers.items() if name.lower() not in _OF_THE_BODY
        }
        return httpx.Response(reply.status, headers=headers, json=reply.body(), request=request)

    @property
    def _wait(self) -> float:
        """Seconds to wait for the first byte: a server that does not stream sends none until it has finished."""
        return self._total if self._memory.plain else self._silence

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self._inner.aclose()


def _streamed(request: httpx.Request, wait: float) -> httpx.Request | None:
    """Return the request as a streamed one; None if it is no chat request."""
    if request.method != "POST" or not request.url.path.endswith("/chat/completions"):
        return None
    body = json.loads(request.content)
    if body.get("stream"):
        return None
    content = json.dumps({**body, "stream": True, "stream_options": {"include_usage": True}}).encode()
    headers = [(name, value) for name, value in request.headers.raw if name.lower() != b"content-length"]
    fresh = httpx.Request(
        request.method, request.url, headers=headers, content=content, extensions=request.extensions
    )
    return _with_read_timeout(fresh, wait)


def _with_read_timeout(request: httpx.Request, seconds: float) -> httpx.Request:
    timeout = {**request.extensions.get("timeout", {}), "read": seconds}
    request.extensions = {**request.extensions, "timeout": timeout}
    return request


async def _read_whole(response: httpx.Response) -> httpx.Response:
    await response.aread()
    return response


async def _lines(response: httpx.Response, silence: float) -> AsyncIterator[str]:
    """The lines of a stream; raises ``TimeoutError`` when nothing comes for so long."""
    parts, size, rest = response.aiter_bytes(), 0, b""
    while True:
        try:
            part = await asyncio.wait_for(anext(parts), silence)
        except StopAsyncIteration:
            break
        size += len(part)
        if size > _LARGEST:
            raise httpx.RemoteProtocolError("the reply is too large", request=response.request)
        *whole, rest = (rest + part).split(b"\n")
        for line in whole:
            yield line.decode("utf-8", "replace").rstrip("\r")
    if rest:
        yield rest.decode("utf-8", "replace").rstrip("\r")


@dataclass(slots=True)
class _Reply:
    """A chat completion that is put together from its pieces."""

    frame: dict[str, Any] = field(default_factory=dict)
    choices: dict[int, dict[str, Any]] = field(default_factory=dict)
    usage: dict[str, Any] | None = None
    error: Any = None
    done: bool = False

    @property
    def complete(self) -> bool:
        """Whether the server has come to its end: it said so, or gave a reason for every choice."""
        ended = bool(self.choices) and all(choice["finish_reason"] for choice in self.choices.values())
        return self.done or ended or self.error is not None

    @property
    def status(self) -> int:
        """Status of the whole: an error in the middle of a stream is one of the server."""
        if self.error is None:
            return 200
        code = self.error.get("code") if isinstance(self.error, dict) else None
        return code if isinstance(code, int) and 400 <= code < 600 else 502

    def add(self, line: str) -> None:
        """Take in one line of the stream; comments and empty lines are the server's way to say that it lives."""
        if not line.startswith("data:"):
            return
        text = line[5:].strip()
        if text == "[DONE]":
            self.done = True
            return
        try:
            data = json.loads(text)
        except ValueError:
            return  # half a line at a broken end; `complete` tells
        if not isinstance(data, dict):
            return
        if data.get("error"):
            self.error, self.done = data["error"], True
            return
        for name in ("id", "created", "model", "system_fingerprint"):
            if data.get(name) is not None:
                self.frame[name] = data[name]
        if isinstance(data.get("usage"), dict):
            self.usage = data["usage"]
        for piece in data.get("choices") or ():
            self._add_piece(piece)

    def _add_piece(self, piece: dict[str, Any]) -> None:
        choice = self.choices.setdefault(
            piece.get("index") or 0,
            {"finish_reason": None, "message": {"role": "assistant", "content": None}},
        )
        choice["finish_reason"] = piece.get("finish_reason") or choice["finish_reason"]
        message = choice["message"]
        # A server may send a whole message instead of a piece.
        for name, value in (piece.get("delta") or piece.get("message") or {}).items():
            if name == "tool_calls":
                for place, call in enumerate(value or ()):
                    _add_call(message.setdefault("tool_calls", {}), call, place)
            elif isinstance(value, str) and name != "role":
                message[name] = (message.get(name) or "") + value
            elif value is not None:
                message[name] = value

    def body(self) -> dict[str, Any]:
        """Return the completion as a server that does not stream would have sent it."""
        if self.error is not None:
            return {"error": self.error}
        choices = []
        for index, choice in sorted(self.choices.items()):
            message = dict(choice["message"])
            if "tool_calls" in message:
                message["tool_calls"] = [call for _, call in sorted(message["tool_calls"].items())]
            choices.append({"index": index, **choice, "message": message})
        whole = {"object": "chat.completion", "created": 0, "id": "", **self.frame, "choices": choices}
        return whole if self.usage is None else {**whole, "usage": self.usage}


def _add_call(calls: dict[int, dict[str, Any]], piece: dict[str, Any], place: int) -> None:
    index = piece.get("index")
    call = calls.setdefault(
        place if index is None else index,
        {"id": "", "type": "function", "function": {"name": "", "arguments": ""}},
    )
    call["id"] = piece.get("id") or call["id"]
    function = piece.get("function") or {}
    call["function"]["name"] = function.get("name") or call["function"]["name"]
    call["function"]["arguments"] += function.get("arguments") or ""


def wire() -> httpx.AsyncBaseTransport:
    """Return the transport below: no connection is kept, because nobody tells us when an event loop ends.

    A new connection costs a round trip or two, beside seconds of an answer.
    """
    return httpx.AsyncHTTPTransport(
        verify=_trusted(), limits=httpx.Limits(max_connections=None, max_keepalive_connections=0)
    )


@cache
def _trusted() -> ssl.SSLContext:
    """The certificates that are trusted, read once per process: that takes longer than opening the rest of a client."""
    return httpx.create_ssl_context()
