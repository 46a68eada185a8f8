"""Control groups: the kernel of Linux itself bounds the memory and the processes of a session, orphans included.

One group per kernel, below one per process of ours whose name says whose it is, so that the next start can remove the
groups of the dead. A kernel is moved in right after its fork, before any code of a session runs; what it starts is born
there. Pages it shares with the fork server stay on that one's account, so the group holds what the kernel took since.
Where no group can be made, `available` is None and the watch (`sandbox.limits.memory`) is all there is.
"""

import atexit
import contextlib
import itertools
import logging
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from pathlib import Path

from sandbox.limits.cgroup_tree import NoGroups, Place, Tree, find_place, identity, is_busy, is_orphan

_log = logging.getLogger(__name__)
_SLACK = 16 << 20  # page tables, sockets and the like, which count for a group and not for the watch
_AT_ONCE = 100  # descriptors that killing holds
_PATIENCE = 3.0  # seconds that the end of our process waits for the last groups

#: Tries whether the limits of a group bite; raises `NoGroups`.
Trial = Callable[["Group"], None]


def kill_listed(pids: Callable[[], Iterable[int]]) -> bool:
    """Kill the processes that `pids` lists, at most `_AT_ONCE` of them; return whether there were any.

    It is asked twice: a number may be another process's by now, but not once we hold a descriptor of it.
    """
    descriptors: dict[int, int] = {}
    try:
        for pid in itertools.islice(pids(), _AT_ONCE):
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
    """The groups of one kernel, one in each tree; made by `Groups.make`."""

    def __init__(self, folders: tuple[Path, ...], version: int, tree: Tree) -> None:
        self.version = version
        self._folders = folders
        self._memory, self._pids = folders[0], folders[-1]
        self._tree = tree
        self._last: tuple[int, int] | None = None

    def join(self, pid: int) -> None:
        """Move a process in; nothing when it is gone already."""
        with contextlib.suppress(ProcessLookupError):
            for folder in self._folders:
                self._tree.write(folder, "cgroup.procs", str(pid))

    def bound(self, memory: int, processes: int) -> None:
        """Allow so many bytes beyond what is held now, no swap, and so many processes and threads."""
        most = str(self._held() + memory + _SLACK)
        if self.version == 1:
            self._tree.write(self._memory, "memory.limit_in_bytes", most)
            # memory and swap together; the file is missing where swap is not accounted for
            self._write_if_there("memory.memsw.limit_in_bytes", most)
        else:
            self._tree.write(self._memory, "memory.max", most)
            self._write_if_there("memory.swap.max", "0")
        self._tree.write(self._pids, "pids.max", str(processes))

    def used(self) -> tuple[int, int]:
        """Bytes that only processes hold, and bytes in files and segments that live in memory."""
        fields = self._fields("memory.stat")
        if self.version == 1:
            return fields.get("total_rss", 0), fields.get("total_shmem", 0)
        return fields.get("anon", 0), fields.get("shmem", 0)

    def stops(self) -> tuple[int, int]:
        """How often a process was killed for memory here, and how often a fork was refused; as last known after its end."""
        if self._last is not None:
            return self._last
        name = "memory.oom_control" if self.version == 1 else "memory.events"
        try:
            return self._fields(name).get("oom_kill", 0), self._fields("pids.events", self._pids).get(
                "max", 0
            )
        except OSError:
            return 0, 0

    def processes(self) -> list[int]:
        """The processes inside, none when it is gone."""
        try:
            return self._tree.processes(self._memory)
        except OSError:
            return []

    def settle(self) -> None:
        """Remember the counts: the group is about to go."""
        self._last = self.stops()

    def remove(self) -> bool:
        """Kill what is left inside and remove it; False when something is in it still."""
        gone = True
        for folder in self._folders:
            try:
                self._tree.remove(folder)
            except FileNotFoundError:
                continue
            except OSError as error:
                if not is_busy(error):
                    raise
                self._kill(folder)
                gone = False
        return gone

    def _kill(self, folder: Path) -> None:
        with contextlib.suppress(OSError):  # it went meanwhile
            self._tree.write(self._pids, "pids.max", "0")  # so that they cannot fork faster than we kill
            kill_listed(lambda: self._tree.processes(folder))

    def _held(self) -> int:
        name = "memory.usage_in_bytes" if self.version == 1 else "memory.current"
        return int(self._tree.read(self._memory, name))

    def _fields(self, name: str, folder: Path | None = None) -> dict[str, int]:
        lines = self._tree.read(folder or self._memory, name).splitlines()
        return {key: int(value) for key, value in (line.split() for line in lines)}

    def _write_if_there(self, name: str, text: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._tree.write(self._memory, name, text)


class Groups:
    """All groups of this process; groups whose kernel ended are removed by a thread, however long that takes."""

    def __init__(self, place: Place, tree: Tree, trial: Trial) -> None:
        self.version = place.version
        self._tree = tree
        self._numbers = itertools.count(1)
        self._living: set[Group] = set()
        self._lock = threading.Lock()
        self._ended: queue.SimpleQueue[Group] = queue.SimpleQueue()
        self._cleaner: threading.Thread | None = None
        name = f"analyst-{identity(os.getpid())}"
        self.folders = tuple(folder / name for folder in place.folders)
        for folder in place.folders:
            sweep(folder, tree)
        try:
            for folder in self.folders:
                tree.make(folder)
            if self.version == 2:
                tree.write(self.folders[0], "cgroup.subtree_control", "+memory +pids")
            group = self.make()
            try:
                trial(group)
            finally:
                self._finish([group])
        except OSError as error:
            self.close()
            raise NoGroups(f"control groups of version {self.version}: {error}") from error
        except NoGroups:
            self.close()
            raise

    def make(self) -> Group:
        """Make the group for one kernel; raises `OSError`."""
        name = f"kernel-{next(self._numbers)}"
        group = Group(tuple(folder / name for folder in self.folders), self.version, self._tree)
        with self._lock:
            self._living.add(group)
        for folder in self.folders:
            self._tree.make(folder / name)
        return group

    def retire(self, group: Group) -> None:
        """Its kernel ended: keep the counts, and remove it in the background."""
        group.settle()
        with self._lock:
            if self._cleaner is None:
                self._cleaner = threading.Thread(target=self._clean, name="control-groups", daemon=True)
                self._cleaner.start()
        self._ended.put(group)

    def close(self) -> None:
        """Remove everything, what runs in it is killed; waits a few seconds at most, the next start does the rest."""
        with self._lock:
            living = list(self._living)
        self._finish(living)
        for folder in self.folders:
            with contextlib.suppress(OSError):  # never made, or still busy and left to the next start
                self._tree.remove(folder)

    def _finish(self, groups: list[Group]) -> None:
        end = time.monotonic() + _PATIENCE
        while (groups := [group for group in groups if not self._removed(group)]) and time.monotonic() < end:
            time.sleep(0.02)

    def _clean(self) -> None:
        pending: list[Group] = []
        wait = 0.02
        while True:
            with contextlib.suppress(queue.Empty):
                pending.append(self._ended.get(timeout=wait if pending else None))
                wait = 0.02
            pending = [group for group in pending if not self._removed(group)]
            wait = min(2 * wait, 1.0)

    def _removed(self, group: Group) -> bool:
        try:
            if not group.remove():
                return False
        except OSError as error:  # the next start tries again
            _log.warning("a control group stays: %s", error)
        with self._lock:
            self._living.discard(group)
        return True


def sweep(parent: Path, tree: Tree) -> int:
    """Remove the groups below `parent` whose process is gone, and what still runs in them; return how many."""
    removed = 0
    for folder in tree.groups(parent):
        if not is_orphan(folder.name):
            continue
        with contextlib.suppress(OSError):  # another process sweeps too, or something in it is just ending
            for inner in tree.groups(folder):
                for _ in range(50):
                    if Group((inner,), 1, tree).remove():
                        break
                    time.sleep(0.01)
            tree.remove(folder)
            removed += 1
    return removed


_found: dict[int, Groups | str] = {}
_finding = threading.Lock()


def _find() -> Groups | str:
    if sys.platform != "linux":
        return f"{sys.platform} has no control groups"
    try:
        tree = Tree()
        from sandbox.limits.cgroup_trial import try_limits

        place = find_place(
            Path("/proc/self/mountinfo").read_text(), Path("/proc/self/cgroup").read_text(), tree
        )
        return Groups(place, tree, try_limits)
    except (NoGroups, OSError) as error:
        return str(error)


def _looked() -> Groups | str:
    pid = os.getpid()
    with _finding:
        if pid not in _found:
            _found[pid] = _find()
            atexit.register(_close, pid)
        return _found[pid]


def _close(pid: int) -> None:
    found = _found.pop(pid, None)
    if isinstance(found, Groups) and os.getpid() == pid:
        found.close()


def available() -> Groups | None:
    """The groups of this process, found by trying at the first call; None where none can be made."""
    found = _looked()
    return found if isinstance(found, Groups) else None


def adopt(pid: int, exited: "Future[int]") -> Group | None:
    """Move a fresh kernel into a group of its own, which goes when the kernel has; None where there are no groups."""
    groups = available()
    if groups is None:
        return None
    group = None
    try:
        group = groups.make()
        group.join(pid)
    except OSError as error:
        _log.warning("a kernel runs without a control group, only watched: %s", error)
        if group is not None:
            groups.retire(group)
        return None
    exited.add_done_callback(lambda _: groups.retire(group))
    return group


def memory_bound() -> str:
    """What bounds the memory of a kernel with all it started: ``cgroup v1``, ``cgroup v2``, or ``watched`` and why."""
    found = _looked()
    return f"cgroup v{found.version}" if isinstance(found, Groups) else f"watched ({found})"
