"""Limit one kernel by its control group, and kill processes without hitting a stranger's."""

import contextlib
import itertools
import os
import signal
from collections.abc import Callable, Iterable
from pathlib import Path

from sandbox.limits.cgroup_tree import CgroupTree, is_busy

_SLACK = 16 << 20  # page tables, sockets and the like, which count for a group and not for the watch
_BATCH = 100  # descriptors that killing holds


def kill_listed(pids: Callable[[], Iterable[int]]) -> bool:
    """Kill at most `_BATCH` of the processes that `pids` lists; return whether there were any.

    `pids` is called twice. Linux may have given a process id to a new process since the first list; a pidfd keeps its
    process, so an id that is listed again while we hold its pidfd is the right one.
    """
    descriptors: dict[int, int] = {}
    try:
        for pid in itertools.islice(pids(), _BATCH):
            with contextlib.suppress(ProcessLookupError):
                descriptors[pid] = os.pidfd_open(pid)
        for pid in descriptors.keys() & set(pids()):
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(descriptors[pid], signal.SIGKILL)
    finally:
        for descriptor in descriptors.values():
            os.close(descriptor)
    return bool(descriptors)


class Group:
    """The control group of one kernel.

    Made by `Groups.make`. In version 1 it is a folder in each controller's tree, in version 2 one folder.
    """

    def __init__(self, folders: tuple[Path, ...], version: int, tree: CgroupTree) -> None:
        self.version = version
        self._folders = folders
        self._memory, self._pids = folders[0], folders[-1]
        self._tree = tree
        self._last_counts: tuple[int, int] | None = None

    def join(self, pid: int) -> None:
        """Move a process in; does nothing if it has ended."""
        with contextlib.suppress(ProcessLookupError):
            for folder in self._folders:
                self._tree.write(folder, "cgroup.procs", str(pid))

    def set_limits(self, memory: int, processes: int) -> None:
        """Allow `memory` bytes beyond the present use, no swap, and so many processes and threads; raises `OSError`."""
        most = str(self._usage() + memory + _SLACK)
        if self.version == 1:
            self._tree.write(self._memory, "memory.limit_in_bytes", most)
            # Memory and swap together; a system booted with swapaccount=0 has no such file.
            # In this order: Linux refuses a value here that is below the limit of memory alone.
            self._write_if_present("memory.memsw.limit_in_bytes", most)
        else:
            self._tree.write(self._memory, "memory.max", most)
            self._write_if_present("memory.swap.max", "0")
        self._tree.write(self._pids, "pids.max", str(processes))

    def memory_use(self) -> tuple[int, int]:
        """Return the bytes of processes alone, and the bytes of files and shared segments in memory."""
        fields = self._fields("memory.stat")
        if self.version == 1:
            return fields.get("total_rss", 0), fields.get("total_shmem", 0)
        return fields.get("anon", 0), fields.get("shmem", 0)

    def limit_events(self) -> tuple[int, int]:
        """Count kills for memory and refused forks; after the group's end, the last counts."""
        if self._last_counts is not None:
            return self._last_counts
        name = "memory.oom_control" if self.version == 1 else "memory.events"
        try:
            return self._fields(name).get("oom_kill", 0), self._fields("pids.events", self._pids).get(
                "max", 0
            )
        except OSError:
            return 0, 0

    def processes(self) -> list[int]:
        """List the processes inside; none after the group's end."""
        try:
            return self._tree.processes(self._memory)
        except OSError:
            return []

    def save_counts(self) -> None:
        """Save `limit_events` before the group's files go with it; called by `Groups.retire`."""
        self._last_counts = self.limit_events()

    def remove(self) -> bool:
        """Kill what is left inside and remove the group; False if it is not yet empty."""
        removed = True
        for folder in self._folders:
            try:
                # removed first, killed if that is refused: nothing can slip in between a look and the removal
                self._tree.remove(folder)
            except FileNotFoundError:
                continue
            except OSError as error:
                if not is_busy(error):
                    raise
                self._kill(folder)
                removed = False
        return removed

    def _kill(self, folder: Path) -> None:
        with contextlib.suppress(OSError):  # it went meanwhile
            self._tree.write(self._pids, "pids.max", "0")  # so that they cannot fork faster than we kill
            kill_listed(lambda: self._tree.processes(folder))

    def _usage(self) -> int:
        name = "memory.usage_in_bytes" if self.version == 1 else "memory.current"
        return int(self._tree.read(self._memory, name))

    def _fields(self, name: str, folder: Path | None = None) -> dict[str, int]:
        lines = self._tree.read(folder or self._memory, name).splitlines()
        return {key: int(value) for key, value in (line.split() for line in lines)}

    def _write_if_present(self, name: str, text: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._tree.write(self._memory, name, text)
