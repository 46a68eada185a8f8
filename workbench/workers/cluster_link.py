"""The owner's end of the pipe to the process that is a Dask client in its stead (`dask_client`): lines of JSON, no Dask here.

What comes up is a stranger's: it is bounded before it is read and read by `worker_words`. A line that no process of ours
writes ends the process, and the run stops, resumable.
"""

import asyncio
import itertools
import os
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

from sandbox.sealed_program import start_sealed
from workbench.errors import ProviderError
from workbench.workers.certificates import ClientCertificate
from workbench.workers.outbox import MAX_MESSAGE
from workbench.workers.worker_words import Answers, BadWord, Members, Pipe, Said, read_word

#: Connections that one session hands out; a client that is well has a few.
_MOST_CONNECTIONS = 10_000
_MAX_LINE = MAX_MESSAGE + 1_000_000
#: The process that speaks Dask imports these.
_PACKAGES = ("distributed", "dask")


class WorkersGone(ProviderError):
    """No worker is left, or nobody who could speak to them; what is done is kept."""


class OrderFailed(Exception):
    """What an order came to, in the words of whoever it failed for: the name of the error's class, and its text."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(f"{kind}: {text}")
        self.kind = kind


class ClusterLink:
    """Speaks to one scheduler through a sealed process; begun by ``open``.

    Parameters
    ----------
    address : tuple of str and int
        The scheduler's host and port: all that the process is ever connected to.
    on_message : callable
        Gets each message of a worker, unread, as JSON values.
    on_refused : callable
        Gets the lease of a message that was too large.
    on_gone : callable
        Called once when nothing comes any more.
    """

    def __init__(
        self,
        address: tuple[str, int],
        *,
        on_message: Callable[[dict[str, Any]], None],
        on_refused: Callable[[str, int], None],
        on_gone: Callable[[WorkersGone], None],
    ) -> None:
        self._address = address
        self._on_message, self._on_refused, self._on_gone = on_message, on_refused, on_gone
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._gone: WorkersGone | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._reading: asyncio.Task[None] | None = None

    async def open(self, certificate: ClientCertificate, *, inbox: str, level: str, timeout: float) -> None:
        """Start the process and connect it; raises ``WorkersGone`` with the reason where it cannot."""
        down_read, down_write = os.pipe()
        up_read, up_write = os.pipe()
        ours, theirs = socket.socketpair()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  (as long as the process)
        options = {
            "address": f"tls://{self._address[0]}:{self._address[1]}",
            "authority": str(certificate.authority),
            "certificate": str(certificate.certificate),
            "key": str(certificate.key),
            "inbox": inbox,
            "timeout": timeout,
            "up": up_write,
            "down": down_read,
            "connections": theirs.fileno(),
        }
        try:
            self._process = await asyncio.to_thread(
                start_sealed,
                "workbench.workers.dask_client",
                options,
                level=level,
                packages=_PACKAGES,
                folders=[Path(__file__).resolve().parents[1]],
                descriptors=(down_read, up_write, theirs.fileno()),
                stderr=self._log.fileno(),
            )
        finally:
            os.close(down_read)
            os.close(up_write)
            theirs.close()
        self._connections = ours
        threading.Thread(target=self._connect_all, name="cluster-connections", daemon=True).start()
        loop = asyncio.get_running_loop()
        words = asyncio.StreamReader(limit=_MAX_LINE)
        self._words, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(words), os.fdopen(up_read, "rb")
        )
        transport, protocol = await loop.connect_write_pipe(
            asyncio.streams.FlowControlMixin, os.fdopen(down_write, "wb")
        )
        self._orders = asyncio.StreamWriter(transport, protocol, None, loop)
        self._reading = asyncio.ensure_future(self._read(words))
        try:
            async with asyncio.timeout(timeout + 40):  # a slow machine imports Dask for some seconds
                await asyncio.shield(self._ready)
        except TimeoutError:
            raise WorkersGone(f"no answer after {timeout:g} s") from None

    async def aclose(self) -> None:
        """End the process."""
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
        self._stop(WorkersGone("closed"))
        if self._process is not None:
            self._words.close()
            self._orders.close()
            self._connections.close()
            try:
                await asyncio.to_thread(self._process.wait, 5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                await asyncio.to_thread(self._process.wait)
            self._log.close()

    # -- orders

    async def members(self) -> dict[str, int]:
        """Return how many jobs each worker takes at once, by its address."""
        members: dict[str, int] = read_word(Members, await self._order("members"))
        return members

    async def describe(
        self, workers: Sequence[str], settings: Mapping[str, Any], *, seal: bool, neighbours: int
    ) -> dict[str, Said]:
        """Return what each of these workers says of itself."""
        answer = await self._order(
            "describe", workers=list(workers), settings=dict(settings), seal=seal, neighbours=neighbours
        )
        said: dict[str, Said] = read_word(Answers, answer)
        return said

    async def clocks(self, workers: Sequence[str]) -> dict[str, Said]:
        """Return what time each of these workers has."""
        said: dict[str, Said] = read_word(Answers, await self._order("clocks", workers=list(workers)))
        return said

    async def perform(self, order: Mapping[str, Any], *, key: str, workers: Sequence[str]) -> str:
        """Have a worker do a job and return its word at the end; raises ``OrderFailed``."""
        word = await self._order("perform", order=dict(order), key=key, workers=list(workers))
        return word if isinstance(word, str) else "?"

    async def send(self, inbox: str, message: bytes) -> None:
        """Send a message to the worker with this inbox; returns when it is on its way."""
        await self._write(
            {"n": next(self._numbers), "do": "send", "inbox": inbox, "message": message.decode()}
        )

    async def _order(self, what: str, **fields: Any) -> Any:
        if self._gone is not None:
            raise self._gone
        number = next(self._numbers)
        waiting = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            await self._write({"n": number, "do": what, **fields})
            return await waiting
        except asyncio.CancelledError:
            with suppress(WorkersGone):
                await self._write({"do": "release", "task": number})
            raise
        finally:
            del self._waiting[number]

    async def _write(self, order: dict[str, Any]) -> None:
        if self._gone is not None:
            raise self._gone
        try:
            self._orders.write(orjson.dumps(order) + b"\n")
            await self._orders.drain()
        except OSError as error:
            raise WorkersGone(
                f"the process that speaks to the workers ended ({type(error).__name__})"
            ) from error

    # -- words

    async def _read(self, words: asyncio.StreamReader) -> None:
        try:
            while line := await words.readline():
                self._take(read_word(Pipe, line))
            self._stop(WorkersGone(f"the process that speaks to the workers ended{self._last_words()}"))
        except (BadWord, ValueError) as error:  # ValueError: a line without end
            self._stop(
                WorkersGone(
                    f"the process that speaks to the workers says what it never would ({error!s:.120})"
                )
            )

    def _take(self, word: Pipe) -> None:
        if word.message is not None:
            self._on_message(word.message)
        elif word.refused is not None:
            self._on_refused(word.refused, word.size)
        elif word.gone is not None:
            self._stop(WorkersGone(f"the scheduler of the workers cannot be reached any more ({word.gone})"))
        elif word.ready and not self._ready.done():
            self._ready.set_result(None)
        elif word.n is not None:
            waiting = self._waiting.get(word.n)
            if waiting is not None and not waiting.done():
                if word.error is not None:
                    waiting.set_exception(OrderFailed(*word.error))
                else:
                    waiting.set_result(word.answer)

    def _stop(self, error: WorkersGone) -> None:
        if self._gone is not None:
            return
        self._gone = error
        if self._process is not None:
            self._process.kill()  # the guard; what it guards dies with it
        for waiting in [*self._waiting.values(), self._ready]:
            if not waiting.done():
                waiting.set_exception(error)
        self._on_gone(error)

    def _last_words(self) -> str:
        size = os.fstat(self._log.fileno()).st_size
        text = os.pread(self._log.fileno(), 300, max(0, size - 300)).decode(errors="replace")
        line = "".join(each for each in (text.strip().splitlines() or [""])[-1] if each.isprintable())
        return f": {line}" if line else ""

    def _connect_all(self) -> None:
        """Make connections to the scheduler and hand them over, one for each request; in a thread of its own."""
        with suppress(OSError):
            for _ in range(_MOST_CONNECTIONS):
                if not self._connections.recv(1):
                    return
                try:
                    connection = socket.create_connection(self._address, timeout=20)
                except OSError:
                    self._connections.sendall(b"n")
                    continue
                with connection:
                    socket.send_fds(self._connections, [b"y"], [connection.fileno()])
