"""Keep this process's folder below /tmp: sockets of its kernels and the mount point of their private root.

It is private to the user, short enough for unix sockets, and gone with the process: at a normal end by `atexit`, after
a kill -9 by the next process, which can tell by the lock that nobody holds any more.
"""

import atexit
import contextlib
import fcntl
import itertools
import os
import secrets
import tempfile
import threading
from pathlib import Path

_PREFIX = "analyst-"
_MAX_LENGTH = 60  # a unix socket's path may have 107 bytes, ours add about 25
_guard = threading.Lock()
_state: dict[int, tuple[Path, int]] = {}


def run_folder() -> Path:
    """Return this process's folder, created at the first call."""
    with _guard:
        pid = os.getpid()
        if pid in _state:
            return _state[pid][0]
        base = Path(tempfile.gettempdir())
        if len(str(base)) > _MAX_LENGTH:
            base = Path("/tmp")
        remove_orphaned_folders(base)
        folder, lock = make_held_folder(base)
        (folder / "root").mkdir()
        _state[pid] = (folder, lock)
        atexit.register(_remove, pid)
        return folder


def make_held_folder(base: Path) -> tuple[Path, int]:
    """Create a folder and lock it; return it with the lock's descriptor."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getuid()}-", dir=base))
        lock = os.open(folder / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        # Two processes that start at once: the other may have held the new lock before us, and removed the folder as left over.
        if os.fstat(lock).st_nlink:
            return folder, lock
        os.close(lock)


def remove_orphaned_folders(base: Path) -> int:
    """Remove the folders of ended processes; return how many. Called when a process creates its own."""
    removed = 0
    for folder in base.glob(f"{_PREFIX}{os.getuid()}-*"):
        try:
            lock = os.open(folder / "lock", os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            continue  # being made, or not ours
        try:
            # a lock goes with its process, however that ended; a number in a file would need a living owner to be removed
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        else:
            remove_tree(folder)
            removed += 1
        finally:
            os.close(lock)
    return removed


def remove_tree(folder: Path) -> None:
    """Remove a folder in which hostile code wrote: no recursion, no path too long for the system, no link followed.

    Every folder inside is first moved right below the top, so none is deeper than one step. What cannot be removed stays;
    nobody may write there any more.
    """
    fresh = (f"{secrets.token_hex(8)}-{number}" for number in itertools.count())
    pending = [folder]
    with contextlib.suppress(OSError):
        while pending:
            path = pending.pop()
            # hostile code may have taken the right to list or change its folder away
            os.chmod(path, 0o700)
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                with os.scandir(descriptor) as entries:
                    for entry in entries:
                        if not entry.is_dir(follow_symlinks=False):
                            os.unlink(entry.name, dir_fd=descriptor)
                        elif path != folder:
                            # moving a folder writes to it
                            os.chmod(entry.name, 0o700, dir_fd=descriptor)
                            os.rename(entry.name, folder / next(fresh), src_dir_fd=descriptor)
            finally:
                os.close(descriptor)
            if path != folder:
                os.rmdir(path)
            if not pending:
                with os.scandir(folder) as entries:
                    pending = [Path(entry.path) for entry in entries]
        os.rmdir(folder)


def _remove(pid: int) -> None:
    # a forked child inherits this exit handler
    if os.getpid() != pid:
        return
    folder, lock = _state.pop(pid)
    remove_tree(folder)
    with contextlib.suppress(OSError):
        os.close(lock)
