"""Canonical JSON, content hashes and atomic writes: one place for every room, since stored hashes depend on the bytes."""

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path
from typing import Any

import orjson


def canonical(value: Any) -> bytes:
    """Canonical JSON of a value: sorted keys, no spaces, UTF-8. Every stored hash is of these bytes, so they never change."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)


def hash_of_bytes(body: bytes) -> str:
    """``sha256:`` and the hex digest of some bytes, as ledgers and journals write it."""
    return "sha256:" + hashlib.sha256(body).hexdigest()


def content_hash(value: Any) -> str:
    """The hash of a value's canonical JSON: what an answer's meta states and `verify` compares."""
    return hash_of_bytes(canonical(value))


def write_atomically(path: Path, body: bytes) -> None:
    """Write a file so that a reader, or a crash, sees the old content or the new one and never half of it.

    The file is readable by its owner alone.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
