"""How much memory a kernel and everything it started hold, and a watch over it.

Counted by its control group where it has one: what only processes hold, and what files and shared segments hold beyond
the disk that a private root gives. Else from /proc, per process: resident minus shared pages (``statm``), less what the
kernel had when it was ready, because that much every fork shares with the fork server; that misses segments shared
between processes, and children whose parent has ended.

The watch interrupts before it kills. What takes memory faster than it looks is stopped by the group's own limit, and
without a group by nothing but the address space of each process.
"""

import asyncio
import os
import signal
import time
from pathlib import Path
from typing import Any

from sandbox.kernels.kernel import Kernel
from sandbox.limits.cgroups import kill_listed

EVERY = 0.2  # seconds between two looks
_IN_A_ROW = 3
_EVERY_IDLE = 1.0  # the same for a kernel that somebody may have left open
_PAGE = os.sysconf("SC_PAGE_SIZE")


def private_bytes(pid: int) -> int:
    """Resident minus shared bytes of one process; 0 when it is gone."""
    try:
        fields = Path(f"/proc/{pid}/statm").read_text().split()
    except OSError:
        return 0
    return max(0, int(fields[1]) - int(fields[2])) * _PAGE


def family(pid: int) -> list[int]:
    """The process and all its living descendants."""
    found, todo = [], [pid]
    while todo:
        one = todo.pop()
        found.append(one)
        for path in Path(f"/proc/{one}/task").glob("*/children"):
            try:
                todo += map(int, path.read_text().split())
            except OSError:
                continue  # it ended while we looked
    return found


class MemoryWatch:
    """Watches one kernel against `limit_mb`; `peak` is the most it was seen to hold, in bytes.

    Parameters
    ----------
    files : bytes that its files in memory may take besides
    """

    name = "memory"

    def __init__(self, kernel: Kernel, limit_mb: int, files: int = 0) -> None:
        self._pid = kernel.process.pid
        self._group = kernel.group
        self._limit = limit_mb << 20
        self._files = files
        self._base = private_bytes(self._pid) if self._group is None else self._in_group()
        self._stops = (0, 0) if self._group is None else self._group.stops()
        self.peak = 0

    def used(self) -> int:
        """Bytes held now, beyond what every kernel begins with."""
        if self._group is None:
            used = sum(max(0, private_bytes(pid) - self._base) for pid in family(self._pid))
        else:
            used = self._in_group() - self._base
        self.peak = max(self.peak, used)
        return used

    async def exceeded(self) -> bool:
        """Whether more is held now than allowed."""
        return self.used() > self._limit

    async def falls(self, seconds: float) -> bool:
        """Whether no more than allowed is held within so many seconds, `_IN_A_ROW` looks in a row.

        One look is not enough: Linux may just have killed one process while the others still fill what they took.
        """
        below = 0
        for _ in range(max(_IN_A_ROW, round(seconds / EVERY))):
            below = 0 if await self.exceeded() else below + 1
            if below == _IN_A_ROW:
                return True
            await asyncio.sleep(EVERY)
        return False

    async def over(self, every: float = EVERY) -> None:
        """Return when more is held than allowed."""
        while not await self.exceeded():
            await asyncio.sleep(every)

    def stopped(self) -> str | None:
        """Which limit the kernel of Linux itself enforced since the last call: ``memory``, ``processes``, or None."""
        if self._group is None:
            return None
        before, self._stops = self._stops, self._group.stops()
        if self._stops[0] > before[0]:
            return "memory"
        return "processes" if self._stops[1] > before[1] else None

    def _in_group(self) -> int:
        assert self._group is not None
        try:
            private, files = self._group.used()
        except OSError:
            return 0  # its kernel ended, and the group with it
        return private + max(0, files - self._files)


async def end_children(kernel: Kernel, seconds: float = 1.0) -> None:
    """Kill all that a kernel started, and not the kernel; returns when none is left, or after so many seconds.

    The session calls this when a watch or the group stopped a cell: children that ignore the interrupt would go on taking
    what is limited, and the next cell would be stopped for them.
    """

    def children() -> list[int]:
        pids = family(kernel.process.pid) if kernel.group is None else kernel.group.processes()
        return [pid for pid in pids if pid != kernel.process.pid and not _is_zombie(pid)]

    end = time.monotonic() + seconds
    while kernel.process.alive and await asyncio.to_thread(kill_listed, children) and time.monotonic() < end:
        await asyncio.sleep(0.01)


def _is_zombie(pid: int) -> bool:
    """Whether a process has ended, and only its parent has not asked for its exit code; the kernel may never ask."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


async def guard(kernel: Kernel, limit_mb: int, files: int = 0, grace: float = 1.0) -> None:
    """Hold a kernel that runs no cells of ours to its memory until it ends: interrupt, then kill after `grace` seconds."""
    watch = MemoryWatch(kernel, limit_mb, files)
    ended: asyncio.Future[Any] = asyncio.shield(asyncio.wrap_future(kernel.process.exited))
    while kernel.process.alive:
        over: asyncio.Future[Any] = asyncio.ensure_future(watch.over(_EVERY_IDLE))
        try:
            await asyncio.wait({over, ended}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            over.cancel()
            await asyncio.gather(over, return_exceptions=True)
        kernel.interrupt()
        if not await watch.falls(grace):
            kernel.process.signal(signal.SIGKILL)
            await asyncio.wait({ended}, timeout=10)
