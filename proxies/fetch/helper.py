"""A process beside the broker that handles large answers, so that reading one never holds up the broker's loop.

Parsing and encoding hold the interpreter's lock from end to end, whatever thread they run in; only another process
gets them off the loop. It is started by the first large answer, gets raw bytes and the request, never a key or the
environment, and ends with the broker. This end: `Helper`. The other end, `serve`, runs in the process.
"""

import asyncio
import contextlib
import io
import itertools
import logging
import os
import pickle
import socket
import subprocess
import sys
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from types import MappingProxyType
from typing import Any, TypeVar

import orjson

from proxies import errors
from proxies.asof.policies import AskAgain
from proxies.errors import ProxyError, SourceUnavailable
from proxies.fetch.columns import WANTED, Columns
from proxies.fetch.handling import Done, Job, More

_SECONDS = 120.0  # for one answer; a process that takes longer is ended
_START_SECONDS = 30.0
_ENVIRONMENT = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "LANG", "LC_ALL", "SYSTEMROOT")
_PROGRAM = "from proxies.fetch.helper_process import serve; serve({})"

_Told = TypeVar("_Told")
log = logging.getLogger(__name__)


class CannotStart(Exception):
    """There can be no such process here; answers are handled in the broker's own."""


@dataclass(slots=True)
class Seat:
    """A job's place in the process: its number, and how many pages it has taken in there."""

    number: int
    seen: int = 0


class Helper:
    """The broker's end of the process; one exchange at a time."""

    def __init__(self) -> None:
        self._gate = asyncio.Lock()
        self._numbers = itertools.count(1)
        self._process: subprocess.Popen[bytes] | None = None
        self._link: Connection | None = None
        self._ends: Callable[[], Any] | None = None
        self._refused = False
        self._starting: asyncio.Task[None] | None = None

    def ready(self) -> None:
        """Start the process if there is none, while others go on: a large answer is on its way."""
        if self._process is None and not self._refused and self._starting is None:
            self._starting = asyncio.create_task(self._turn(lambda link: None))
            self._starting.add_done_callback(self._started)

    def _started(self, task: asyncio.Task[None]) -> None:
        self._starting = None
        if not task.cancelled():
            task.exception()  # it comes again with the answer

    def seat(self) -> Seat:
        """A place for a new job."""
        return Seat(next(self._numbers))

    async def step(self, seat: Seat, job: Job, bodies: Sequence[bytes]) -> More | Done:
        """As `Handling.step`, told all pages of the job each time; the process gets those that are new to it.

        Raises
        ------
        Refused, AskAgain, SourceRejected
            As `Handling.step`.
        SourceUnavailable
            The process ended, or took too long; the next answer gets a new one.
        CannotStart
            There is no process.
        """
        ahead = WANTED.get()

        def talk(link: Connection) -> More | Done:
            head: dict[str, Any] = {"kind": "again"}
            if seat.seen:
                head, parts = _put(link, ("step", seat.number, seat.seen, None, ahead), bodies[seat.seen :])
            if head["kind"] == "again":
                head, parts = _put(link, ("step", seat.number, 0, job, ahead), bodies)
            seat.seen = len(bodies)
            if head["kind"] == "more":
                return More(params=head["params"])
            return Done(
                body=parts[0],
                content_hash=head["hash"],
                dropped=head["dropped"],
                undated=head["undated"],
                notes=tuple(head["notes"]),
            )

        return await self._turn(talk)

    async def columns(self, body: bytes, content_hash: str) -> Columns | None:
        """The columns of an answer's JSON; None where it has no rows. Raises as `step`."""

        def talk(link: Connection) -> Columns | None:
            # the answer that was handled last is still there as it was read
            head, parts = _put(link, ("columns", content_hash), ())
            if head["kind"] == "again":
                head, parts = _put(link, ("columns", content_hash), (body,))
            return Columns(parts[0], [memoryview(part) for part in parts[1:]]) if parts else None

        return await self._turn(talk)

    async def aclose(self) -> None:
        """End the process; an exchange that is under way fails."""
        if self._starting is not None:
            await asyncio.wait([self._starting])
        if self._process is not None:
            self._process.kill()  # it holds nothing that could be lost
        async with self._gate:
            self._refused = True
            await asyncio.to_thread(self._end)

    async def _turn(self, talk: Callable[[Connection], _Told]) -> _Told:
        async def turn() -> _Told:
            async with self._gate:
                return await asyncio.to_thread(self._talk, talk)

        task = asyncio.create_task(turn())
        task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        # a caller that is cancelled must not leave half an exchange on the link
        return await asyncio.shield(task)

    def _talk(self, talk: Callable[[Connection], _Told]) -> _Told:
        if self._link is None:
            self._start()
        assert self._link is not None, "it is started"
        try:
            return talk(self._link)
        except (EOFError, OSError, TimeoutError) as error:
            log.warning("the process that reads large answers is gone (%s)", type(error).__name__)
            self._end()
            raise SourceUnavailable(
                "the process that reads large answers ended before it was done: ask again, or for less"
            ) from None

    def _start(self) -> None:
        if self._refused:
            raise CannotStart
        ours, theirs = socket.socketpair()
        paths = [os.path.abspath(path) for path in sys.path]
        # what a key could be in stays here: the environment is made anew
        environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
        link = Connection(ours.detach())
        process = None
        try:
            process = subprocess.Popen(
                [sys.executable, "-s", "-P", "-c", _PROGRAM.format(theirs.fileno())],
                env={**environment, "PYTHONPATH": os.pathsep.join(paths)},
                cwd="/",
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C at the terminal is for the broker
            )
            theirs.close()
            _take(link, _START_SECONDS)
        except (OSError, ValueError, EOFError) as error:
            log.warning("no process for large answers (%s): they are read in the broker's own", error)
            theirs.close()
            _finish(process, link)
            self._refused = True
            raise CannotStart from None
        self._process, self._link = process, link
        # also where a broker is dropped without being closed, or the interpreter ends
        self._ends = weakref.finalize(self, _finish, process, link)

    def _end(self) -> None:
        if self._ends is not None:
            self._ends()
        self._process = self._link = self._ends = None


def _finish(process: "subprocess.Popen[bytes] | None", link: Connection) -> None:
    with contextlib.suppress(OSError):
        link.close()
    if process is not None:
        process.kill()
        process.wait()


def _put(link: Connection, head: Any, bodies: Sequence[bytes]) -> tuple[dict[str, Any], list[bytes]]:
    link.send_bytes(_pickled((*head, len(bodies))))
    for body in bodies:
        link.send_bytes(body)
    told = orjson.loads(_take(link, _SECONDS))
    if told["kind"] == "error":
        raise _error(told)
    return told, [_take(link, _SECONDS) for _ in range(told["parts"])]


def _take(link: Connection, seconds: float) -> bytes:
    if not link.poll(seconds):
        raise TimeoutError
    return link.recv_bytes()


def _error(told: dict[str, Any]) -> Exception:
    if told["error"] == "AskAgain":
        return AskAgain(told["params"])
    kind = getattr(errors, told["error"], SourceUnavailable)
    assert issubclass(kind, ProxyError), "the other end names our own errors"
    return kind(told["reason"])


class _Pickler(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        """Read-only mappings, which pickle does not know."""
        return (_read_only, (dict(value),)) if type(value) is MappingProxyType else NotImplemented


def _read_only(fields: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(fields)


def _pickled(value: Any) -> bytes:
    file = io.BytesIO()
    _Pickler(file, protocol=5).dump(value)
    return file.getvalue()
