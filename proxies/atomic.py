"""Write files that a reader sees whole: the old one or the new one, never half of either."""

import contextlib
import errno
import os
import secrets
import stat
from pathlib import Path

#: Set in the environment of a process that may read a data folder and write nothing: the kernels of ``serve --read-only``.
READ_ONLY = "WORKBENCH_READ_ONLY"


def reads_only() -> bool:
    """Whether this process and its children write nothing into a data folder."""
    return bool(os.environ.get(READ_ONLY))


def _refuse_if_reading(path: Path) -> None:
    if reads_only():
        # What a disk that is mounted read-only says: whoever writes is ready for that.
        raise OSError(errno.EROFS, "it can only be read here", str(path))


def replace_file(path: Path, data: bytes, *, private: bool = False, sync: bool = True) -> None:
    """Write a file by atomic rename, creating its folder.

    Not to ``sync`` is for what can be made anew from other records: a power cut may leave it empty, a kill may not.

    The mode is what the caller's umask leaves: a person who closed their files to others gets them closed. A module of
    ``tempfile`` would create 0600 and need a chmod that asks nobody. ``private`` is for what lies in the data folder: only
    its owner may read it, whatever the umask and the mode of that folder; it goes without saying below a ``workbench.db``.

    A link that a person put there stays, and what it leads to is written. A device or a pipe (``/dev/null``, ``/dev/stdout``)
    is written into: a rename would put a file in its place, for root even in the place of the machine's own.
    """
    _refuse_if_reading(path)
    if not private:
        kind = _kind(path)
        if kind is not None and (stat.S_ISCHR(kind) or stat.S_ISFIFO(kind)):
            _write_into(path, data)
            return
        if kind is not None and not stat.S_ISREG(kind):
            raise OSError(errno.EINVAL, "it is no file", str(path))
        path = Path(os.path.realpath(path))
        private = any((folder / "workbench.db").exists() for folder in path.absolute().parents)
    private_folder(path.parent) if private else path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    mode = 0o600 if private else 0o666
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    with contextlib.ExitStack() as undo:  # a write that fails leaves no half a file beside the target
        undo.callback(temporary.unlink, missing_ok=True)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        os.replace(temporary, path)
        undo.pop_all()


def _kind(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


def _write_into(path: Path, data: bytes) -> None:
    # No O_CREAT: what stood there a moment ago may be gone, and a file under a device's name helps nobody.
    with open(os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOCTTY), "wb") as file:
        file.write(data)


def private_folder(path: Path) -> None:
    """Create a folder and its missing parents, each for its owner alone; existing ones keep their mode."""
    # mkdir's own parents=True would give the mode to the last one only
    for folder in reversed([path, *path.parents]):
        if not folder.is_dir():
            _refuse_if_reading(folder)
            folder.mkdir(mode=0o700, exist_ok=True)


def open_private(path: str | os.PathLike[str], flags: int) -> int:
    """Open a file that only its owner may read if it is created here; an ``opener`` for ``open``."""
    return os.open(path, flags | os.O_CLOEXEC, 0o600)
