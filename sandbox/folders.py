"""The one folder a process keeps outside its journals: sockets of its kernels and the mount point of their root.

It is private to the user, short enough for unix sockets, and gone with the process: at a normal end by `atexit`, after
a kill -9 by the next process, which can tell by the lock that nobody holds any more.
"""

import atexit
import contextlib
import fcntl
import os
import shutil
import tempfile
import threading
from pathlib import Path

_PREFIX = "analyst-"
_LONGEST = 60  # a unix socket's path may have 107 bytes, ours add about 25
_guard = threading.Lock()
_state: dict[int, tuple[Path, int]] = {}


def run_folder() -> Path:
    """Return this process's folder, made at the first call."""
    with _guard:
        pid = os.getpid()
        if pid in _state:
            return _state[pid][0]
        base = Path(tempfile.gettempdir())
        if len(str(base)) > _LONGEST:
            base = Path("/tmp")
        sweep(base)
        folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getuid()}-", dir=base))
        lock = os.open(folder / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        (folder / "root").mkdir()
        _state[pid] = (folder, lock)
        atexit.register(_remove, pid)
        return folder


def sweep(base: Path) -> int:
    """Remove folders of processes that are gone; return how many."""
    removed = 0
    for folder in base.glob(f"{_PREFIX}{os.getuid()}-*"):
        try:
            lock = os.open(folder / "lock", os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            continue  # being made, or not ours
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        else:
            shutil.rmtree(folder, ignore_errors=True)
            removed += 1
        finally:
            os.close(lock)
    return removed


def _remove(pid: int) -> None:
    if os.getpid() != pid:
        return
    folder, lock = _state.pop(pid)
    shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):
        os.close(lock)
