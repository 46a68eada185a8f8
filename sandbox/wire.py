"""Serve the trusted end of `CALL_API`: one server per kernel, on a socket that only this kernel holds.

A frame is four bytes of length (big endian) and a JSON object; `kernels/analyst/call_api.py` is the other end. The
kernel is hostile: everything it sends is validated, unknown fields refuse the request, sizes and counts are capped.
A frame that is no request is answered with a refusal and the connection stays: one odd parameter of a cell must not cost
the session its data. Only a frame that announces more than `_MAX_SKIP` bytes ends it.
"""

import asyncio
import itertools
import logging
import math
import re
import socket
import struct
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from proxies.errors import ProxyError, Refused
from proxies.ledger import Answer
from sandbox.limits.usage import ResourceUsage
from sandbox.types import ApiAnswer, ApiCaller, Limits

MAX_REQUEST = 64 << 10
MAX_REPLY = 32 << 20
_HEAD = 4
_AT_ONCE = 64 << 10  # bytes of a reply that are joined and sent in one go
_ENCODING = orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY
_MAX_SKIP = 16 << 20  # a longer frame is not read to its end to find the next one
_SLOW_DOWN = 0.05  # seconds per call of a kernel that is over its limit
#: Lists and objects within each other; orjson writes no more than 254, the ledger must write it too.
_MAX_DEPTH = 32
_ID = re.compile(rb'\s*\{\s*"id"\s*:\s*(\d{1,15})\s*[,}]')

log = logging.getLogger(__name__)

#: Declares a cutoff and returns how it was understood; raises `proxies.errors.Refused`.
Declare = Callable[[str], Awaitable[str]]


class CallRequest(BaseModel):
    """A data call."""

    model_config = ConfigDict(extra="forbid", strict=True)

    id: int = Field(ge=0, le=2**53)
    path: str = Field(min_length=1, max_length=300)
    params: dict[str, JsonValue] = Field(default_factory=dict, max_length=100)


class DeclareRequest(BaseModel):
    """A declaration of the knowledge cutoff."""

    model_config = ConfigDict(extra="forbid", strict=True)

    id: int = Field(ge=0, le=2**53)
    cutoff: str = Field(min_length=1, max_length=64)


class BadFrame(ValueError):
    """A kernel sent an invalid request; it is answered with a refusal."""


def parse_request(body: bytes) -> CallRequest | DeclareRequest:
    """Validate one frame's body.

    Raises `BadFrame`: It is no JSON object, has fields that no request has, or values that no source takes.
    """
    try:
        fields = orjson.loads(body)
        _check_values(fields)
        model = DeclareRequest if isinstance(fields, dict) and "cutoff" in fields else CallRequest
        return model.model_validate(fields)
    except (orjson.JSONDecodeError, ValidationError) as error:
        raise BadFrame(str(error).splitlines()[0]) from error


def _check_values(value: Any) -> None:
    """Raise `BadFrame` for nesting and numbers that cannot be written as JSON again."""
    level: list[Any] = [value]
    for _ in range(_MAX_DEPTH):
        if any(isinstance(item, float) and not math.isfinite(item) for item in level):
            raise BadFrame("a number is too large")
        inner = [item for item in level if isinstance(item, dict | list)]
        if not inner:
            return
        level = [value for item in inner for value in (item.values() if isinstance(item, dict) else item)]
    raise BadFrame(f"more than {_MAX_DEPTH} lists and objects within each other")


def _request_id(body: bytes) -> int | None:
    """Find the id in a request that could not be parsed; our own stub puts it first."""
    match = _ID.match(body)
    return int(match[1]) if match else None


@dataclass(slots=True)
class CellCalls:
    """The data calls of one cell.

    `repeated` of its first calls were counted already: the cell is run again in a fresh kernel.
    """

    index: int
    count: int = 0
    repeated: int = 0
    hashes: list[str] = field(default_factory=list)
    limit: str | None = None


class WireServer:
    """Answers the calls of one kernel through an `ApiCaller`, one at a time, and counts them against `limits`."""

    def __init__(
        self,
        connection: socket.socket,
        caller: ApiCaller,
        limits: Limits,
        *,
        declare: Declare | None = None,
        used: ResourceUsage | None = None,
    ) -> None:
        self._socket = connection
        self._caller = caller
        self._limits = limits
        self._declare = declare
        #: of the whole session, also of the kernels before this one
        self.calls = 0 if used is None else used.calls
        self.answer_bytes = 0 if used is None else used.answer_bytes
        self._bad = 0
        self.cell = CellCalls(index=0)
        self.failure: Exception | None = None

    def begin(self, index: int, *, repeated: int = 0) -> None:
        """Assign calls from now on to the code cell `index`; its first `repeated` were counted when it first ran."""
        self.cell = CellCalls(index=index, repeated=repeated)

    async def run(self) -> None:
        """Serve until the kernel closes its end; a fault of the caller is kept in `failure`."""
        link = _Link(self._socket)
        try:
            while (body := await link.frame()) is not None:
                reply = await self._reply(body)
                await link.send((struct.pack(">I", sum(map(len, reply))), *reply))
        except ConnectionError:
            return
        finally:
            link.close()

    async def _reply(self, body: bytes) -> list[bytes]:
        try:
            if not body:
                raise BadFrame(f"it is empty, or has more than {MAX_REQUEST} bytes")
            return await self._answer(parse_request(body))
        except BadFrame as error:
            if self._bad == 0:  # said once: a hostile cell can send thousands
                log.warning("a kernel sent no request (%s); it was refused", error)
            self._bad += 1
            if self._bad > self._limits.api_calls:
                await asyncio.sleep(_SLOW_DOWN)
            return _failed(_request_id(body), "refused", f"this is no request: {error}")

    async def _answer(self, request: CallRequest | DeclareRequest) -> list[bytes]:
        try:
            if isinstance(request, DeclareRequest):
                if self._declare is None:
                    raise Refused("the knowledge cutoff of this session is pinned already")
                return [_encode({"id": request.id, "data": await self._declare(request.cutoff)})]
            return await self._call(request)
        except Refused as error:
            return _failed(request.id, "refused", error)
        except ProxyError as error:
            return _failed(request.id, "unavailable", error)
        except Exception as error:
            # ours to mend: the session raises it after the cell; the kernel is told only that it failed
            self.failure = error
            return _failed(request.id, "unavailable", "the data broker failed")

    async def _call(self, request: CallRequest) -> list[bytes]:
        cell = self.cell
        repeats = cell.count < cell.repeated
        if not repeats and self.calls >= self._limits.api_calls:
            cell.limit = "api_calls"
            await asyncio.sleep(_SLOW_DOWN)
            raise Refused(f"this session's {self._limits.api_calls} data calls are used up")
        if not repeats and self.answer_bytes >= self._limits.api_bytes:
            cell.limit = "api_bytes"
            await asyncio.sleep(_SLOW_DOWN)
            raise Refused(f"this session's {self._limits.api_bytes} bytes of data are used up")
        # before the answer is there: a call that is refused or fails costs one too
        self.calls += not repeats
        nth, cell.count = cell.count, cell.count + 1
        answer = await self._caller(request.path, request.params, cell=cell.index, nth=nth)
        # the parts of an answer that are JSON already are put between the others as they are
        meta = b',"meta":%b}' % _encode(dict(answer.meta))
        reply = [b'{"id":%d,"data":' % request.id, _data(answer), meta]
        size = sum(map(len, reply))
        if size > MAX_REPLY:
            raise Refused(f"the answer has {size} bytes, at most {MAX_REPLY} are passed on: ask for less")
        self.answer_bytes += 0 if repeats else size
        cell.hashes.append(str(answer.meta.get("content_hash", "")))
        return reply


class _Link:
    """Frames of one socket in the running loop, without a stream: a small call costs few turns and no copy.

    No more is read than one request can be, so a kernel that floods fills its own end of the socket.
    """

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self._socket = connection
        self._loop = asyncio.get_running_loop()
        self._received = bytearray(_HEAD + MAX_REQUEST)
        self._end = 0
        self._skip = 0  # bytes still to come of a frame that is longer than a request can be
        self._over = False
        self._waiter: asyncio.Future[None] | None = None
        self._reads = True
        self._loop.add_reader(connection, self._readable)

    async def frame(self) -> bytes | None:
        """Return the next frame's body, empty for one that was too long; None when the other end is closed."""
        while (body := self._take()) is None:
            if self._over:
                return None
            if not self._reads:
                self._reads = True
                self._loop.add_reader(self._socket, self._readable)
            self._waiter = self._loop.create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        return body

    def _take(self) -> bytes | None:
        """Take one frame's body off the buffer; None while it is incomplete."""
        if self._skip:
            dropped = min(self._skip, self._end)
            self._skip -= dropped
            self._drop(dropped)
            return None if self._skip else b""
        if self._end < _HEAD:
            return None
        (length,) = struct.unpack_from(">I", self._received)
        if length > _MAX_SKIP:
            log.warning("a kernel announced a request of %d bytes; its connection is closed", length)
            raise ConnectionError("what follows cannot be told apart any more")
        if length > MAX_REQUEST:
            self._skip = int(length)
            self._drop(_HEAD)
            return self._take()
        used = _HEAD + int(length)
        if self._end < used:
            return None
        body = bytes(self._received[_HEAD:used])
        self._drop(used)
        return body

    def _drop(self, count: int) -> None:
        self._received[: self._end - count] = self._received[count : self._end]
        self._end -= count

    def _readable(self) -> None:
        try:
            with memoryview(self._received) as room:
                count = self._socket.recv_into(room[self._end :])
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            count = 0
        self._end += count
        self._over = count == 0
        if self._over or self._end == len(self._received):
            # the loop would call this in every turn as long as something waits and there is no room for it
            self._reads = False
            self._loop.remove_reader(self._socket)
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def send(self, parts: Sequence[bytes]) -> None:
        """Send bytes; returns when the socket has taken them."""
        few = list(itertools.takewhile(lambda part: len(part) < _AT_ONCE, parts))
        await self._send(b"".join(few))
        for part in parts[len(few) :]:
            await self._send(part)

    async def _send(self, part: bytes) -> None:
        try:
            sent = self._socket.send(part)
        except (BlockingIOError, InterruptedError):
            sent = 0
        if sent < len(part):
            await self._loop.sock_sendall(self._socket, memoryview(part)[sent:])

    def close(self) -> None:
        """Close the socket, closed already or not."""
        if self._reads:
            self._loop.remove_reader(self._socket)
        self._socket.close()


def _data(answer: ApiAnswer) -> bytes:
    body = answer.body if isinstance(answer, Answer) else None
    return body if body is not None else _encode(answer.data)


def _encode(value: Any) -> bytes:
    return orjson.dumps(value, option=_ENCODING, default=str)


def _failed(number: int | None, kind: str, reason: Exception | str) -> list[bytes]:
    line = " ".join(str(reason).split())[:2000] or type(reason).__name__
    return [_encode({"id": number, "error": kind, "message": line})]
