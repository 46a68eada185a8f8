"""Read and write one channel of a kernel as bounded messages: ZMTP 3.0 on a unix socket, in the running loop.

Not libzmq, because the kernel is hostile. libzmq puts a message of many parts together out of sight: a cell that writes
parts with the MORE flag to its own descriptor made the manager grow to 2.6 GB in ten seconds, whatever the limits of
frames and queues. Here a message is counted while it comes, and what is too long is passed over without being held.
"""

import asyncio
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

_MORE, _LONG, _COMMAND = 1, 2, 4
# signature, version 3.0, security mechanism in 20 bytes, then the role of a server (no) and padding: 64 bytes
_GREETING = b"\xff" + bytes(8) + b"\x7f" + b"\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)
_BUFFER = 128 << 10  # bytes read ahead of what was asked for
_MAX_COMMAND = 1000
_MAX_PARTS = 100
_MAX_SKIPPED = 256 << 20  # bytes of one message that are passed over; more is no message
_FRAMES_AT_ONCE = 32  # until other tasks of the loop have their turn
_BYTES_AT_ONCE = 256 << 10
_PAUSE = 0.005  # seconds between two turns of a channel that is slowed down


class ChannelEnded(ConnectionError):
    """The kernel closed the channel, or broke the ZMTP protocol."""


@dataclass(slots=True)
class ChannelMessage:
    """One message: its frames, its whole size, and whether frames were skipped for their length."""

    frames: list[bytes] = field(default_factory=list)
    size: int = 0
    cut: bool = False


class Channel:
    """Our end of one socket of a kernel; `open` first."""

    def __init__(self, path: str, socket_type: str) -> None:
        self._path = path
        self._type = socket_type
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._frames = self._bytes = 0  # since other tasks had their turn
        self._pieces = 0
        self._waiting = False
        self.slow = False

    @property
    def pieces(self) -> int | None:
        """Pieces of messages received so far; None while one is being processed.

        Equal numbers, one some time after the other, say that the kernel sends nothing.
        """
        return self._pieces if self._waiting else None

    async def open(self) -> None:
        """Connect and greet. Raises `ChannelEnded`."""
        try:
            self._reader, self._writer = await asyncio.open_unix_connection(self._path, limit=_BUFFER)
            kind = self._type.encode()
            ready = b"\x05READY\x0bSocket-Type" + struct.pack(">I", len(kind)) + kind
            ready += b"\x08Identity" + bytes(4)
            self._writer.write(_GREETING + bytes([_COMMAND, len(ready)]) + ready)
            greeting = await self._read(len(_GREETING))
        except OSError as error:
            raise ChannelEnded(f"no connection ({error})") from error
        if greeting[0] != 0xFF or greeting[9] != 0x7F or greeting[10] < 3:
            raise ChannelEnded("what the kernel speaks is no ZMTP 3")

    def send(self, frames: Sequence[bytes]) -> None:
        """Send one message; what the socket does not take at once follows in later turns of the loop."""
        assert self._writer is not None
        last = len(frames) - 1
        parts = []
        for place, frame in enumerate(frames):
            more = _MORE if place < last else 0
            long = len(frame) > 255
            parts.append(
                bytes([more | _LONG]) + struct.pack(">Q", len(frame)) if long else bytes([more, len(frame)])
            )
            parts.append(frame)
        self._writer.write(b"".join(parts))

    async def receive(self, room: int) -> ChannelMessage:
        """Receive the next message, holding at most `room` bytes of it. Raises `ChannelEnded`."""
        message = ChannelMessage()
        parts = 0
        while True:
            flags = (await self._read(1))[0]
            if flags & ~(_MORE | _LONG | _COMMAND):
                raise ChannelEnded("what the kernel speaks is no ZMTP 3")
            size = struct.unpack(">Q", await self._read(8))[0] if flags & _LONG else (await self._read(1))[0]
            await self._take_turns(size)
            if flags & _COMMAND:  # its READY, which tells us nothing new, or a ping, which we did not ask for
                if size > _MAX_COMMAND:
                    raise ChannelEnded(f"a command of {size} bytes")
                await self._read(size)
                continue
            parts += 1
            message.size += size
            if parts > _MAX_PARTS or message.size > _MAX_SKIPPED:
                raise ChannelEnded(f"a message of {parts} parts and {message.size} bytes is not at its end")
            if message.cut or message.size > room:
                # the frames held so far stay: they say which request the message belongs to
                message.cut = True
                await self._skip(size)
            else:
                message.frames.append(await self._read(size))
            if not flags & _MORE:
                return message

    async def close(self) -> None:
        """Close the socket."""
        if self._writer is not None:
            # not `close`, which keeps the socket until a kernel, perhaps hung, took what is still to be sent
            self._writer.transport.abort()
            await asyncio.sleep(0)  # the loop closes the socket in its next turn

    async def _read(self, size: int) -> bytes:
        if size > _BYTES_AT_ONCE:
            # in pieces, so that it is seen to come
            starts = range(0, size, _BYTES_AT_ONCE)
            return b"".join([await self._read(min(_BYTES_AT_ONCE, size - start)) for start in starts])
        assert self._reader is not None
        self._waiting = True
        try:
            return await self._reader.readexactly(size)
        except (asyncio.IncompleteReadError, OSError) as error:
            raise ChannelEnded("the kernel closed its end") from error
        finally:
            self._pieces += 1
            self._waiting = False

    async def _skip(self, size: int) -> None:
        while size > 0:
            chunk = min(size, _BYTES_AT_ONCE)
            await self._read(chunk)
            await self._take_turns(chunk)
            size -= chunk

    async def _take_turns(self, size: int) -> None:
        """Yield to other tasks: buffered data are read without waiting, and a flood is always buffered."""
        self._frames += 1
        self._bytes += size
        if self._frames >= _FRAMES_AT_ONCE or self._bytes >= _BYTES_AT_ONCE:
            self._frames = self._bytes = 0
            await asyncio.sleep(_PAUSE if self.slow else 0)
