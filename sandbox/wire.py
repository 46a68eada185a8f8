"""The trusted end of `CALL_API`: one server per kernel, on a socket that only this kernel holds.

A frame is four bytes of length (big endian) and a JSON object; `kernels/analyst/call_api.py` is the other end. An answer
that was asked for as columns has, in place of ``data``, ``columns`` and ``attached``, the count of bytes that follow it. The
kernel is hostile: everything it sends is validated, unknown fields refuse the request, sizes and counts are capped,
and a frame that is no request at all ends the connection.
"""

import asyncio
import logging
import socket
import struct
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import orjson
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from proxies.columns import Columns, to_columns
from proxies.errors import ProxyError, Refused
from proxies.ledger import Answer
from sandbox.types import ApiAnswer, ApiCaller, Limits

MAX_REQUEST = 64 << 10
MAX_REPLY = 32 << 20
_HEAD = 4
_SLOW_DOWN = 0.05  # seconds per call of a kernel that is over its limit

log = logging.getLogger(__name__)

#: Declares a cutoff and returns how it was understood; raises `proxies.errors.Refused`.
Declare = Callable[[str], Awaitable[str]]


class CallRequest(BaseModel):
    """A data call."""

    model_config = ConfigDict(extra="forbid", strict=True)

    id: int = Field(ge=0, le=2**53)
    path: str = Field(min_length=1, max_length=300)
    params: dict[str, JsonValue] = Field(default_factory=dict, max_length=100)
    columns: bool = False


class DeclareRequest(BaseModel):
    """A declaration of the knowledge cutoff."""

    model_config = ConfigDict(extra="forbid", strict=True)

    id: int = Field(ge=0, le=2**53)
    cutoff: str = Field(min_length=1, max_length=64)


class BadFrame(ValueError):
    """What came in is no request; the connection ends."""


def parse_request(body: bytes) -> CallRequest | DeclareRequest:
    """Validate one frame's body.

    Raises
    ------
    BadFrame
        It is no JSON object, or has fields that no request has.
    """
    try:
        fields = orjson.loads(body)
        model = DeclareRequest if isinstance(fields, dict) and "cutoff" in fields else CallRequest
        return model.model_validate(fields)
    except (orjson.JSONDecodeError, ValidationError) as error:
        raise BadFrame(str(error).splitlines()[0]) from error


@dataclass(slots=True)
class CellCalls:
    """What one cell asked for."""

    index: int
    count: int = 0
    hashes: list[str] = field(default_factory=list)
    limit: str | None = None


class WireServer:
    """Puts the calls of one kernel to an `ApiCaller`, one at a time, and counts them against `limits`."""

    def __init__(
        self, connection: socket.socket, caller: ApiCaller, limits: Limits, *, declare: Declare | None = None
    ) -> None:
        self._socket = connection
        self._caller = caller
        self._limits = limits
        self._declare = declare
        self._calls = 0
        self._bytes = 0
        self.cell = CellCalls(index=0)
        self.failure: Exception | None = None

    def begin(self, index: int) -> None:
        """Calls from now on belong to the code cell `index`."""
        self.cell = CellCalls(index=index)

    async def run(self) -> None:
        """Serve until the kernel closes its end or sends what is no request."""
        self._socket.setblocking(False)
        reader, writer = await asyncio.open_unix_connection(sock=self._socket, limit=1 << 16)
        received = bytearray()
        try:
            while True:
                while (body := _frame(received)) is None:
                    chunk = await reader.read(1 << 16)
                    if not chunk:
                        return
                    received += chunk
                reply, *attached = await self._answer(parse_request(body))
                writer.writelines((struct.pack(">I", len(reply)), reply, *attached))
                if writer.transport.get_write_buffer_size():
                    await writer.drain()
        except BadFrame as error:
            log.warning("a kernel sent no request (%s); its connection is closed", error)
        except ConnectionError:
            return
        finally:
            writer.close()

    async def _answer(self, request: CallRequest | DeclareRequest) -> list[bytes | memoryview]:
        try:
            if isinstance(request, DeclareRequest):
                if self._declare is None:
                    raise Refused("the knowledge cutoff of this session is pinned already")
                return [_encode({"id": request.id, "data": await self._declare(request.cutoff)})]
            return await self._call(request)
        except Refused as error:
            return [_failed(request.id, "refused", error)]
        except ProxyError as error:
            return [_failed(request.id, "unavailable", error)]
        except Exception as error:
            # ours to mend: the session raises it after the cell; the kernel is told only that it failed
            self.failure = error
            return [_failed(request.id, "unavailable", "the data broker failed")]

    async def _call(self, request: CallRequest) -> list[bytes | memoryview]:
        cell = self.cell
        if self._calls >= self._limits.api_calls:
            cell.limit = "api_calls"
            await asyncio.sleep(_SLOW_DOWN)
            raise Refused(f"this session's {self._limits.api_calls} data calls are used up")
        if self._bytes >= self._limits.api_bytes:
            cell.limit = "api_bytes"
            await asyncio.sleep(_SLOW_DOWN)
            raise Refused(f"this session's {self._limits.api_bytes} bytes of data are used up")
        self._calls += 1
        nth, cell.count = cell.count, cell.count + 1
        answer = await self._caller(request.path, request.params, cell=cell.index, nth=nth)
        # a large answer is turned into columns beside the loop, which serves other kernels too
        columns = await asyncio.to_thread(_columns, answer) if request.columns else None
        reply: list[bytes | memoryview]
        if columns is None:
            reply = [_encode({"id": request.id, "data": answer.data, "meta": dict(answer.meta)})]
        else:
            told = {"columns": columns.head, "attached": columns.size, "meta": dict(answer.meta)}
            reply = [_encode({"id": request.id, **told}), *columns.body]
        size = sum(map(len, reply))
        if size > MAX_REPLY:
            raise Refused(f"the answer has {size} bytes, at most {MAX_REPLY} are passed on: ask for less")
        self._bytes += size
        cell.hashes.append(str(answer.meta.get("content_hash", "")))
        return reply


def _frame(received: bytearray) -> bytes | None:
    """Take one frame's body off the front of what was received; None when it is not all there."""
    if len(received) < _HEAD:
        return None
    (length,) = struct.unpack_from(">I", received)
    if length > MAX_REQUEST:
        raise BadFrame(f"{length} bytes")
    if len(received) < _HEAD + length:
        return None
    body = bytes(received[_HEAD : _HEAD + length])
    del received[: _HEAD + length]
    return body


def _columns(answer: ApiAnswer) -> Columns | None:
    return answer.columns() if isinstance(answer, Answer) else to_columns(answer.data)


def _encode(message: dict[str, Any]) -> bytes:
    return orjson.dumps(message, option=orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY, default=str)


def _failed(number: int, kind: str, reason: Exception | str) -> bytes:
    line = " ".join(str(reason).split())[:2000] or type(reason).__name__
    return _encode({"id": number, "error": kind, "message": line})
