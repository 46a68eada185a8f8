"""How much memory a kernel and everything it started hold, read from /proc, and a watch over it.

Counted per process: resident minus shared pages (``statm``), less what the kernel had when it was ready, because that
much every fork shares with the fork server. The address-space limit bounds one process; this bounds all of them together.
"""

import asyncio
import os
from pathlib import Path

_EVERY = 0.2  # seconds between two looks
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
    """Watches one kernel against `limit_mb`; `peak` is the most it was seen to hold, in bytes."""

    def __init__(self, pid: int, limit_mb: int) -> None:
        self._pid = pid
        self._limit = limit_mb << 20
        self._base = private_bytes(pid)
        self.peak = 0

    def used(self) -> int:
        """Bytes held now, beyond what every kernel begins with."""
        used = sum(max(0, private_bytes(pid) - self._base) for pid in family(self._pid))
        self.peak = max(self.peak, used)
        return used

    async def falls(self, seconds: float) -> bool:
        """Whether no more than allowed is held within so many seconds."""
        for _ in range(max(1, round(seconds / _EVERY))):
            if self.used() <= self._limit:
                return True
            await asyncio.sleep(_EVERY)
        return False

    async def over(self) -> None:
        """Return when more is held than allowed."""
        while self.used() <= self._limit:
            await asyncio.sleep(_EVERY)
