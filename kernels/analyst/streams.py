"""What a kernel sends out: its standard streams on the output channel, and the heartbeat's echo."""

# ipykernel declares half of its functions
# mypy: disable-error-code="no-untyped-call"

import os
import select
import sys
import threading
from typing import Any

import zmq
from ipykernel.heartbeat import Heartbeat
from ipykernel.iostream import IOPubThread, OutStream

_CHUNK = 64 << 10  # what a pipe holds


class Stream(OutStream):
    """A standard stream: what is written to it, and to its descriptor by programs, goes over the output channel.

    Two things are done otherwise than in ipykernel: the output thread itself reads the descriptor, where there is a
    thread for each, and a flush with nothing to send costs nothing. A cell flushes six times, each time a change of
    threads and back.
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
        """Take over what programs wrote; in the output thread."""
        assert self._fid is not None
        try:
            written = os.read(self._fid, _CHUNK)
        except BlockingIOError:
            return
        self.write(written.decode(errors="replace"))

    def flush(self) -> None:
        """Return when everything written so far is on its way."""
        programs = self._fid is not None and bool(self._poll.poll(0))
        # in this order: the buffer is emptied after `_sending` is set, and sent before that is taken back
        if not programs and not self._buffers and not self._sending:
            return
        if programs and self._is_master_process():
            self.pub_thread.schedule(self._drain)
        super().flush()

    def _flush(self) -> None:
        self._sending = True
        try:
            super()._flush()
        finally:
            self._sending = False

    def restore(self) -> None:
        """Give the descriptor back; the stream must not be used any more."""
        os.dup2(self._original_stdstream_copy, self._original_stdstream_fd)
        os.close(self._original_stdstream_copy)
        self._io_loop.asyncio_loop.call_soon_threadsafe(self._forget)

    def _forget(self) -> None:
        assert self._fid is not None
        self._io_loop.asyncio_loop.remove_reader(self._fid)
        os.close(self._fid)
        self._fid = None

    def close(self) -> None:
        """Close it; there is no thread to be ended."""
        self._should_watch = False
        super().close()


class OutputThread(IOPubThread):
    """The thread of the output channel, which greets every subscriber.

    A subscription is announced by a descriptor that is readable until ZMQ has looked into its mailbox, and any send
    looks into it too. In ipykernel a subscriber who comes just before an output is therefore not greeted until the next
    one comes; here every send looks for one.
    """

    def _really_send(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        super()._really_send(msg, *args, **kwargs)
        if threading.current_thread() is self.thread and self.socket.getsockopt(zmq.EVENTS) & zmq.POLLIN:
            self._xpub_stream.flush(zmq.POLLIN)


class LateHeartbeat:
    """Answers the heartbeat as soon as somebody connects to it; our own manager never does.

    The thread and its context (two more threads) start with the first connection, seen by `loop`, the output thread's.
    """

    def __init__(self, descriptor: int, endpoint: tuple[str, str, int], loop: Any) -> None:
        self._descriptor = descriptor
        self._endpoint = endpoint
        self._loop = loop

    def watch(self) -> None:
        """Wait for the first connection; called in the thread of the loop."""
        self._loop.add_reader(self._descriptor, self._start)

    def _start(self) -> None:
        self._loop.remove_reader(self._descriptor)
        beating = _BoundHeartbeat(zmq.Context(), self._endpoint)
        beating.fd = self._descriptor
        beating.start()


class _BoundHeartbeat(Heartbeat):
    fd = -1

    def _try_bind_socket(self) -> Any:
        self.socket.setsockopt(zmq.USE_FD, self.fd)
        return self.socket.bind(f"ipc://{self.ip}-{self.port}")


class NoChannelThread:
    """Stands where ipykernel keeps the thread of its shell channel: there is none, cells come straight to the main one."""

    def __init__(self) -> None:
        self.parent_thread = threading.main_thread()

    def __bool__(self) -> bool:
        return False
