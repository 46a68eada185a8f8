"""Replace ipykernel's standard streams and heartbeat where they cannot be used as they are."""

# ipykernel declares half of its functions
# mypy: disable-error-code="no-untyped-call"

import os
import select
import sys
import threading
from collections.abc import Iterator
from typing import Any

import zmq
from ipykernel.displayhook import ZMQShellDisplayHook
from ipykernel.heartbeat import Heartbeat
from ipykernel.iostream import OutStream
from ipykernel.zmqshell import ZMQDisplayPublisher

_CHUNK = 64 << 10  # what a pipe holds
_PIECE = 256 << 10  # characters of one message: the manager drops one that is too large as a whole
_MOST = 8 << 20  # characters of one display


class Stream(OutStream):
    """A standard stream that sends its text, and what programs write to its descriptor, over the output channel.

    ipykernel reads each descriptor in a thread of its own, which no flush waits for: of 300 cells that called
    `os.system`, 27 lost the program's output, or had it shown under the next cell. A proof that is run again would
    differ. Here the output thread reads the descriptors, and a flush waits for what programs have written by then.
    """

    _sending = False
    _fid: int | None

    def _setup_stream_redirects(self, name: str) -> None:
        descriptor = getattr(sys, name).fileno()
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        self._original_stdstream_fd = descriptor
        self._original_stdstream_copy = os.dup(descriptor)
        os.dup2(writer, descriptor)
        os.close(writer)
        self._fid = reader
        self._poll = select.poll()
        self._poll.register(reader, select.POLLIN)
        loop = self._io_loop.asyncio_loop
        self.pub_thread.schedule(lambda: loop.add_reader(reader, self._drain))

    def _drain(self) -> None:
        """Read what programs wrote into the descriptor; runs in the output thread."""
        assert self._fid is not None
        try:
            written = os.read(self._fid, _CHUNK)
        except BlockingIOError:
            return
        self.write(written.decode(errors="replace"))

    def flush(self) -> None:
        """Return when everything written so far is sent."""
        programs = self._fid is not None and bool(self._poll.poll(0))
        # Nothing to send: a cell flushes six times, each a change of threads and back. 2 ms of processor time a cell
        # (of 4), and a tenth of the time until twenty kernels are ready at once.
        # In this order: the buffer is emptied after `_sending` is set, and sent before that is taken back.
        if not programs and not self._buffers and not self._sending:
            return
        if programs and self._is_master_process():
            self.pub_thread.schedule(self._drain)
        super().flush()

    def _flush_buffers(self) -> Iterator[tuple[dict[str, Any], str]]:
        for parent, text in super()._flush_buffers():
            for start in range(0, len(text), _PIECE):
                yield parent, text[start : start + _PIECE]

    def _flush(self) -> None:
        self._sending = True
        try:
            super()._flush()
        finally:
            self._sending = False

    def restore(self) -> None:
        """Undo the redirection of the descriptor, when the rehearsal's kernel is dismantled."""
        os.dup2(self._original_stdstream_copy, self._original_stdstream_fd)
        os.close(self._original_stdstream_copy)
        self._io_loop.asyncio_loop.call_soon_threadsafe(self._forget)

    def _forget(self) -> None:
        assert self._fid is not None
        self._io_loop.asyncio_loop.remove_reader(self._fid)
        os.close(self._fid)
        self._fid = None

    def close(self) -> None:
        """Close the stream, unless cells print on it: their output and errors would be lost."""
        if self in (sys.stdout, sys.stderr):
            self.flush()
            return
        self._should_watch = False
        super().close()


def head(data: dict[str, Any]) -> dict[str, Any]:
    """Cut a display that is too large to the head of its text, with a note."""
    size = sum(len(content) for content in data.values() if isinstance(content, (str, bytes)))
    if size <= _MOST:
        return data
    text = str(data.get("text/plain", ""))
    return {"text/plain": f"{text[:_PIECE]}\n[cut: {size} characters were to be displayed]"}


class DisplayHook(ZMQShellDisplayHook):
    """Displays a cell's last value, or the head of one that is too large."""

    def write_format_data(self, format_dict: dict[str, Any], md_dict: Any = None) -> None:
        """Send the value, cut if it is too large."""
        super().write_format_data(head(format_dict), md_dict)


class DisplayPublisher(ZMQDisplayPublisher):
    """Displays the arguments of `display`, or the head of what is too large."""

    def publish(self, data: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        """Send the display, cut if it is too large."""
        super().publish(head(data), *args, **kwargs)


class BoundHeartbeat(Heartbeat):
    """ipykernel's heartbeat on a listening socket that was bound before the fork."""

    descriptor = -1

    def _try_bind_socket(self) -> Any:
        self.socket.setsockopt(zmq.USE_FD, self.descriptor)
        return self.socket.bind(f"ipc://{self.ip}-{self.port}")


class NoChannelThread:
    """Replaces ipykernel's thread for the shell channel: cells come straight to the main thread."""

    def __init__(self) -> None:
        self.parent_thread = threading.main_thread()

    # ipykernel asks `if self.shell_channel_thread` before it uses the thread for messages
    def __bool__(self) -> bool:
        return False
