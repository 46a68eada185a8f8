"""Watch the memory of a kernel and its children.

Counted by its control group where it has one: what only processes hold, and what files and shared segments hold beyond
the disk that a private root gives. Else from /proc, per process: resident minus shared pages (``statm``), less what the
kernel had when it was ready, because that much every fork shares with the fork server; and resident pages of shared memory
beyond that disk, those of several processes as often. That misses children whose parent has ended, and pages of shared
memory that a process has given back while another mapping keeps them.

The watch interrupts before it kills. What takes memory faster than it looks is stopped by the group's own limit, and
without a group by nothing but the address space of each process.
"""

import asyncio
import os
import re
import signal
import time
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Protocol

from sandbox.limits.cgroup import Group, kill_listed

_INTERVAL = 0.2  # seconds between two looks
#: Seconds for what was interrupted to end.
_GRACE = 1.0
_IDLE_INTERVAL = 1.0  # the same for a kernel that somebody may have left open
_LOOKS_BELOW = 3  # looks in a row below the limit until a kernel counts as recovered
_PAGE = os.sysconf("SC_PAGE_SIZE")
_SHMEM = re.compile(r"^RssShmem:\s*(\d+) kB$", re.MULTILINE)


class WatchedProcess(Protocol):
    """The process of a kernel."""

    @property
    def pid(self) -> int:
        """Process id on this side."""

    @property
    def alive(self) -> bool:
        """Whether the process runs."""

    @property
    def exited(self) -> "Future[int]":
        """The future of the exit code."""

    def signal(self, number: int, *, group: bool = False) -> None:
        """Send a signal to the process."""


class WatchedKernel(Protocol):
    """A kernel under limits; `sandbox.kernels.kernel.Kernel` has this shape.

    A Protocol and not that class, because a kernel joins its control group when it starts: `kernels` imports this room.
    """

    @property
    def process(self) -> WatchedProcess:
        """The kernel's process."""

    @property
    def group(self) -> Group | None:
        """The kernel's control group, if it has one."""

    def interrupt(self) -> None:
        """Send Ctrl-C to the kernel and its programs."""


def private_bytes(pid: int) -> int:
    """Return the resident minus shared bytes of one process; 0 after its end."""
    try:
        fields = Path(f"/proc/{pid}/statm").read_text().split()
    except OSError:
        return 0
    return max(0, int(fields[1]) - int(fields[2])) * _PAGE


def shared_bytes(pid: int) -> int:
    """Return the resident shared memory of one process, files in memory included; 0 after its end."""
    try:
        found = _SHMEM.search(Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0
    return int(found[1]) << 10 if found else 0


def process_tree(pid: int) -> list[int]:
    """List a process and its living descendants; a child whose parent has ended is missed."""
    pids, pending = [], [pid]
    while pending:
        current = pending.pop()
        pids.append(current)
        for path in Path(f"/proc/{current}/task").glob("*/children"):
            try:
                pending += map(int, path.read_text().split())
            except OSError:
                continue  # it ended while we looked
    return pids


class MemoryWatch:
    """Watches the memory of one kernel against `limit_mb`."""

    name = "memory"

    def __init__(self, kernel: WatchedKernel, limit_mb: int, files: int = 0) -> None:
        self._pid = kernel.process.pid
        self._group = kernel.group
        self._limit = limit_mb << 20
        self._files = files
        self._baseline = private_bytes(self._pid) if self._group is None else self._in_group()
        self._events = (0, 0) if self._group is None else self._group.limit_events()

    def used(self) -> int:
        """Return the bytes in use beyond those with which every kernel begins."""
        if self._group is None:
            pids = process_tree(self._pid)
            private = sum(max(0, private_bytes(pid) - self._baseline) for pid in pids)
            return private + max(0, sum(map(shared_bytes, pids)) - self._files)
        return self._in_group() - self._baseline

    async def exceeded(self) -> bool:
        """Whether the memory exceeds its limit now."""
        return self.used() > self._limit

    async def recovers(self, seconds: float) -> bool:
        """Whether the use falls to the limit within so many seconds and stays there for `_LOOKS_BELOW` looks.

        One look is not enough: Linux may just have killed one process while the others still fill what they took.
        """
        below = 0
        for _ in range(max(_LOOKS_BELOW, round(seconds / _INTERVAL))):
            below = 0 if await self.exceeded() else below + 1
            if below == _LOOKS_BELOW:
                return True
            await asyncio.sleep(_INTERVAL)
        return False

    async def wait_exceeded(self, interval: float = _INTERVAL) -> None:
        """Wait until the limit is exceeded, looking every `interval` seconds, first after one.

        A session looks right before a cell starts, so most cells end without a second look.
        """
        await asyncio.sleep(interval)
        while not await self.exceeded():
            await asyncio.sleep(interval)

    def enforced(self) -> str | None:
        """Return the limit that Linux enforced since the last call: ``memory``, ``processes``, or None."""
        if self._group is None:
            return None
        before, self._events = self._events, self._group.limit_events()
        if self._events[0] > before[0]:
            return "memory"
        return "processes" if self._events[1] > before[1] else None

    def _in_group(self) -> int:
        assert self._group is not None
        try:
            private, files = self._group.memory_use()
        except OSError:
            return 0  # its kernel ended, and the group with it
        return private + max(0, files - self._files)


async def end_children(kernel: WatchedKernel) -> None:
    """Kill the children of a kernel, not the kernel; returns when none is left, or after a second.

    The session calls this when a watch or the group stopped a cell: children that ignore the interrupt would go on taking
    what is limited, and the next cell would be stopped for them.
    """

    def children() -> list[int]:
        pids = process_tree(kernel.process.pid) if kernel.group is None else kernel.group.processes()
        return [pid for pid in pids if pid != kernel.process.pid and not _is_zombie(pid)]

    end = time.monotonic() + _GRACE
    while kernel.process.alive and await asyncio.to_thread(kill_listed, children) and time.monotonic() < end:
        await asyncio.sleep(0.01)


def _is_zombie(pid: int) -> bool:
    """Whether a process has ended without its parent fetching the exit code; a kernel may never do so."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


async def guard_memory(kernel: WatchedKernel, limit_mb: int, files: int = 0) -> None:
    """Interrupt a kernel over its memory limit, and kill it after a second, until it ends.

    For kernels that a Jupyter program drives; a session watches its own while a cell runs.
    """
    watch = MemoryWatch(kernel, limit_mb, files)
    # shielded: to cancel a wrapped future cancels the one it wraps, for everybody who waits for it
    ended: asyncio.Future[Any] = asyncio.shield(asyncio.wrap_future(kernel.process.exited))
    while kernel.process.alive:
        exceeded: asyncio.Future[Any] = asyncio.ensure_future(watch.wait_exceeded(_IDLE_INTERVAL))
        try:
            await asyncio.wait({exceeded, ended}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            exceeded.cancel()
            await asyncio.gather(exceeded, return_exceptions=True)
        kernel.interrupt()
        if not await watch.recovers(_GRACE):
            kernel.process.signal(signal.SIGKILL)
            await asyncio.wait({ended}, timeout=10)
