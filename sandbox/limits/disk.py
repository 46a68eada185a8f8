"""Watch what a kernel writes into its folder on the host's disk.

Only for kernels without a private root: where there is one, its folders are file systems of a bounded size. Counted are
blocks and entries below the folder, and what the kernel's processes still hold of files that they removed, as far as the
system lets us look into them (as root; as an ordinary user a sealed process is closed to us too).
"""

import asyncio
import contextlib
import os
import stat
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from sandbox.limits.memory import WatchedKernel, process_tree

_INTERVAL = 0.25  # seconds between two looks, more where a look takes long
_SHARE = 10  # at most a tenth of the time is spent looking
_BLOCK = 512  # what st_blocks counts in, whatever the file system


class DiskWatch:
    """Watches the folder of one kernel: at most `limit_mb` MiB of blocks and `entries` files and folders."""

    name = "disk"

    def __init__(self, kernel: WatchedKernel, folder: Path, limit_mb: int, entries: int) -> None:
        self._kernel = kernel
        self._folder = folder
        self._bytes = limit_mb << 20
        self._entries = entries

    async def exceeded(self) -> bool:
        """Whether the folder exceeds its limits now."""
        return await asyncio.to_thread(self.look)

    def look(self) -> bool:
        """Whether the folder exceeds its limits; an unreadable tree counts as too much."""
        size = 0
        for entries, status in enumerate(walk(self._folder), 1):
            if status is None:
                return True
            # blocks, not the length: a sparse file takes only what was written of it
            size += status.st_blocks * _BLOCK
            # a tree beyond the limit is not walked to its end, however large a cell made it
            if size > self._bytes or entries > self._entries:
                return True
        group = self._kernel.group
        pids = process_tree(self._kernel.process.pid) if group is None else group.processes()
        return size + removed_bytes(pids, self._folder) > self._bytes

    async def wait_exceeded(self) -> None:
        """Wait until the limits are exceeded; the first look is after one interval, as with `MemoryWatch`."""
        await asyncio.sleep(_INTERVAL)
        while True:
            began = time.monotonic()
            if await self.exceeded():
                return
            await asyncio.sleep(max(_INTERVAL, _SHARE * (time.monotonic() - began)))

    async def recovers(self, seconds: float) -> bool:
        """Whether the use falls to the limits within so many seconds."""
        end = time.monotonic() + seconds
        while await self.exceeded():
            if time.monotonic() >= end:
                return False
            await asyncio.sleep(_INTERVAL)
        return True


def walk(folder: Path) -> Iterator[os.stat_result | None]:
    """Yield the status of everything below a folder, following no link; None for an unreadable folder."""
    todo = [str(folder)]
    while todo:
        try:
            with os.scandir(todo.pop()) as entries:
                for entry in entries:
                    with contextlib.suppress(FileNotFoundError):
                        yield entry.stat(follow_symlinks=False)
                        if entry.is_dir(follow_symlinks=False):
                            todo.append(entry.path)
        except (FileNotFoundError, NotADirectoryError):
            continue  # it went while we looked
        except OSError:
            yield None  # made unreadable, or deeper than a path can be long


def removed_bytes(pids: Iterable[int], folder: Path) -> int:
    """Sum the disk use of deleted files that these processes hold open or mapped."""
    device = os.stat(folder).st_dev
    sizes: dict[int, int] = {}  # by inode: several processes may hold one file
    for pid in pids:
        with contextlib.suppress(OSError):  # it ended, or we may not look into it
            for number in os.listdir(f"/proc/{pid}/fd"):
                with contextlib.suppress(FileNotFoundError):
                    status = os.stat(f"/proc/{pid}/fd/{number}")
                    if status.st_dev == device and status.st_nlink == 0 and stat.S_ISREG(status.st_mode):
                        sizes[status.st_ino] = status.st_blocks * _BLOCK
            # a mapping keeps the blocks of a removed file when its last descriptor is closed
            for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
                span, _, _, _, inode, *path = line.split(maxsplit=5)
                if path and path[0].endswith(" (deleted)") and path[0].startswith(f"{folder}/"):
                    start, end = (int(part, 16) for part in span.split("-"))
                    sizes[int(inode)] = max(sizes.get(int(inode), 0), end - start)
    return sum(sizes.values())
