"""Files that a reader sees whole: the old one or the new one, never half of either."""

import contextlib
import os
import secrets
from pathlib import Path


def replace_file(path: Path, data: bytes) -> None:
    """Write a file by atomic rename; its folder is made when missing.

    The mode is what the caller's umask leaves: a person who closed their files to others gets them closed. A module of
    ``tempfile`` would create 0600 and need a chmod that asks nobody.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    with contextlib.ExitStack() as undo:  # a write that fails leaves no half a file beside the target
        undo.callback(temporary.unlink, missing_ok=True)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        undo.pop_all()
