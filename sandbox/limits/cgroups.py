"""Keep the control groups of all kernels of this process: Linux itself limits memory and processes of a session.

One group per kernel, below one per process of ours whose name says whose it is, so that the next start can remove the
groups of the dead. A kernel is moved in right after its fork, before any code of a session runs; what it starts is born
there, so orphans count too. Pages it shares with the fork server stay on that one's account, so the group counts what
the kernel took since.
Where no group can be made, `available` is None and the watch (`sandbox.limits.memory`) is all there is.
"""

import atexit
import contextlib
import itertools
import logging
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from sandbox.limits.cgroup import Group
from sandbox.limits.cgroup_tree import CgroupTree, NoGroups, Place, find_place, identity, is_orphan

_log = logging.getLogger(__name__)
_PATIENCE = 3.0  # seconds that the end of our process waits for the last groups
# It waits for a line, since it must be inside the group, with the limits set, before it does anything. It forks first:
# nothing is left to report after the kill. 96 MiB is well above the 16 of the limit and the slack that a group adds.
_TRIAL = """
import os, sys
sys.stdin.readline()
try:
    os.fork() or os._exit(0)
    print('forked', flush=True)
except OSError:
    print('refused', flush=True)
bytearray(b'x') * (96 << 20)
print('allocated', flush=True)
"""

#: Tries whether the limits of a group bite; raises `NoGroups`.
Trial = Callable[[Group], None]


def try_limits(group: Group) -> None:
    """Put a throw-away process in; its fork must be refused and its memory must kill it. Raises `NoGroups`.

    Called once per process: in some containers the limit files can be written and are not obeyed.
    """
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _TRIAL],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as child:
        try:
            group.join(child.pid)
            group.set_limits(16 << 20, 1)
            printed, _ = child.communicate(b"\n", timeout=10)
        except subprocess.TimeoutExpired as error:
            raise NoGroups("a process in a control group did not end") from error
        finally:
            child.kill()
    if b"refused" not in printed:
        raise NoGroups("a control group did not bound the processes in it")
    if b"allocated" in printed or child.returncode != -signal.SIGKILL or group.limit_events()[0] < 1:
        raise NoGroups("a control group did not bound the memory in it")


class Groups:
    """The control groups of this process: makes one per kernel and removes those of ended kernels.

    A thread removes them, since Linux refuses to remove a group while a killed process in it is still ending, and that
    may take seconds. `available` makes the one instance of a process.
    """

    def __init__(self, place: Place, tree: CgroupTree, trial: Trial) -> None:
        self.version = place.version
        self._tree = tree
        self._numbers = itertools.count(1)
        self._groups: set[Group] = set()
        self._lock = threading.Lock()
        self._retired: queue.SimpleQueue[Group] = queue.SimpleQueue()
        self._cleaner: threading.Thread | None = None
        name = f"analyst-{identity(os.getpid())}"
        self.folders = tuple(folder / name for folder in place.folders)
        for folder in place.folders:
            remove_orphaned_groups(folder, tree)
        try:
            for folder in self.folders:
                tree.make(folder)
            if self.version == 2:
                tree.write(self.folders[0], "cgroup.subtree_control", "+memory +pids")
            group = self.make()
            try:
                trial(group)
            finally:
                self._remove_all([group])
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
        # known before it is made: `close` must find a group of which only the first folder came to be
        with self._lock:
            self._groups.add(group)
        try:
            for folder in self.folders:
                self._tree.make(folder / name)
        except OSError:
            self.retire(group)
            raise
        return group

    def retire(self, group: Group) -> None:
        """Remove a group in the background, after its kernel's end; its counts stay readable."""
        group.save_counts()
        with self._lock:
            if self._cleaner is None:
                self._cleaner = threading.Thread(target=self._clean, name="control-groups", daemon=True)
                self._cleaner.start()
        self._retired.put(group)

    def close(self) -> None:
        """Kill and remove everything within a few seconds; the next start removes the rest."""
        with self._lock:
            groups = list(self._groups)
        self._remove_all(groups)
        for folder in self.folders:
            with contextlib.suppress(OSError):  # never made, or still busy and left to the next start
                self._tree.remove(folder)

    def _remove_all(self, groups: list[Group]) -> None:
        end = time.monotonic() + _PATIENCE
        while (
            groups := [group for group in groups if not self._try_remove(group)]
        ) and time.monotonic() < end:
            time.sleep(0.02)

    def _clean(self) -> None:
        pending: list[Group] = []
        wait = 0.02
        while True:
            with contextlib.suppress(queue.Empty):
                pending.append(self._retired.get(timeout=wait if pending else None))
                wait = 0.02
            pending = [group for group in pending if not self._try_remove(group)]
            wait = min(2 * wait, 1.0)

    def _try_remove(self, group: Group) -> bool:
        try:
            if not group.remove():
                return False
        except OSError as error:  # the next start tries again
            _log.warning("a control group stays: %s", error)
        with self._lock:
            self._groups.discard(group)
        return True


def remove_orphaned_groups(parent: Path, tree: CgroupTree) -> int:
    """Remove the groups below `parent` whose manager has ended, killing what runs in them; return how many.

    Called when a process makes its first group: a manager that was killed could not clean up.
    """
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


#: By process id, since a forked process must not use its parent's groups: the groups, or why there are none.
by_process: dict[int, Groups | str] = {}
_lock = threading.Lock()


def _open_groups() -> Groups | str:
    if sys.platform != "linux":
        return f"{sys.platform} has no control groups"
    try:
        tree = CgroupTree()
        place = find_place(
            Path("/proc/self/mountinfo").read_text(), Path("/proc/self/cgroup").read_text(), tree
        )
        return Groups(place, tree, try_limits)
    except (NoGroups, OSError) as error:
        return str(error)


def _groups_or_reason() -> Groups | str:
    pid = os.getpid()
    with _lock:
        if pid not in by_process:
            by_process[pid] = _open_groups()
            atexit.register(_close, pid)
        return by_process[pid]


def _close(pid: int) -> None:
    groups = by_process.pop(pid, None)
    # a forked child inherits this exit handler, and must not remove its parent's groups
    if isinstance(groups, Groups) and os.getpid() == pid:
        groups.close()


def available() -> Groups | None:
    """Return the groups of this process, tried at the first call; None where none can be made."""
    groups = _groups_or_reason()
    return groups if isinstance(groups, Groups) else None


def make_group() -> Group | None:
    """Make the control group of a kernel before it starts; None where Linux makes none.

    Before the fork, as a kernel without one has a narrower filter of system calls.
    """
    groups = available()
    try:
        return groups.make() if groups is not None else None
    except OSError as error:
        _log.warning("a kernel runs without a control group, only watched: %s", error)
        return None


def retire_group(group: Group, _ended: object = None) -> None:
    """Remove a group of `make_group` in the background, after its kernel ended or failed to start."""
    groups = available()
    if groups is not None:
        groups.retire(group)


def memory_bound() -> str:
    """Return what limits the memory of a kernel and its children: ``cgroup v1``, ``cgroup v2``, or ``watched`` and why."""
    groups = _groups_or_reason()
    return f"cgroup v{groups.version}" if isinstance(groups, Groups) else f"watched ({groups})"
