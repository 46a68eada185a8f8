"""One owner per run: the process that works on a run holds a lock on a file of it for the whole sitting.

Two processes on one run would both append to its journals, and every proof would be broken. The lock is the system's
(flock): it goes with its process, however that ended, so no stale file ever has to be judged.
"""

import fcntl
import os
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import orjson

from proxies.atomic import private_folder
from workbench.errors import Command, UsageError, command
from workbench.store import utc_now

LOCK_NAME = "owner.lock"


class RunInWork(UsageError):
    """Another process works on the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """The process that works on a run; ``pid`` is None where it could not be read (it is just starting)."""

    pid: int | None = None
    since_utc: str | None = None
    host: str | None = None

    def line(self) -> str:
        """Return the words that name it, for messages."""
        if self.pid is None:
            return "another process"
        elsewhere = f" on {self.host}" if self.host != socket.gethostname() else ""
        return f"process {self.pid}{elsewhere} since {(self.since_utc or '')[:19]} UTC"


@contextmanager
def own_run(folder: Path) -> Iterator[None]:
    """Hold a run for the block; called by ``Engine.work`` around a sitting.

    Raises `RunInWork`: Another process, or another engine of this one, holds it.
    """
    hint = ("; ", command("watch", folder.name), " shows it, ", command("stop", folder.name), " ends it")
    with own_folder(folder, what=f"run {folder.name}", hint=hint):
        yield


@contextmanager
def own_folder(folder: Path, *, what: str, hint: Sequence[str | Command] = ()) -> Iterator[None]:
    """Hold a folder for the block, so that one process works on what it stands for; made if there is none.

    Raises `RunInWork`: Another process, or another engine of this one, holds it: one line with ``what``, who, since when, and the
    ``hint``.
    """
    private_folder(folder)
    # O_CLOEXEC: a child that lived on with the descriptor would hold the run after we are gone.
    descriptor = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunInWork(f"{what} is running: {_owner_soon_in(descriptor).line()}", *hint) from None
        facts = {"pid": os.getpid(), "since_utc": utc_now(), "host": socket.gethostname()}
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, orjson.dumps(facts), 0)
        try:
            yield
        finally:
            # The file stays: removing it would let two processes lock two files of one name.
            os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def owner_of(folder: Path) -> Owner | None:
    """Return who works on a run, None if nobody does; ``watch``, ``stop``, ``rm`` and the screens ask it."""
    try:
        descriptor = os.open(folder / LOCK_NAME, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        # Shared: two who ask at once must not take each other for an owner.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _owner_in(descriptor)
    finally:
        os.close(descriptor)
    return None


def phase_here(phase: str, folder: Path) -> str:
    """Return a run's state in a word with what its log cannot know: nobody works on one whose process was killed.

    Such a log ends in the middle; only the lock tells.
    """
    return "stopped" if phase in ("running", "waiting") and owner_of(folder) is None else phase


def _owner_soon_in(descriptor: int) -> Owner:
    """Who holds it, waited for where the holder has its lock and has not written yet who it is; half a second at most."""
    for _ in range(25):
        if (owner := _owner_in(descriptor)).pid:
            return owner
        time.sleep(0.02)
    return _owner_in(descriptor)


def _owner_in(descriptor: int) -> Owner:
    try:
        return Owner(**orjson.loads(os.pread(descriptor, 4096, 0)))
    except (ValueError, TypeError):  # between its lock and its write
        return Owner()
