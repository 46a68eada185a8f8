"""Define the one hash and the one canonical JSON for everything that is filed, sealed or compared by its hash.

It stands at the bottom, so that the broker, the sandbox and the store cannot come to different hashes of one value. The bytes
must never change: ledgers, journals and packages of every version rest on them (tests/proxies/test_hashing.py).

The hash of a model request is the exception (`workbench.models.base.ModelRequest.canonical_hash`): it was taken of the
standard library's JSON, which writes some floats in other letters (1e+16, orjson 1e16), and stored requests are recalled by it.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

#: What stands before the hex digits, so that another hash function can be told apart later.
PREFIX = "sha256:"


def sha256_of(data: bytes) -> str:
    """Hash bytes as ``sha256:<64 hex digits>``.

    >>> sha256_of(b"")
    'sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
    """
    return PREFIX + hashlib.sha256(data).hexdigest()


def sha256_of_file(path: Path) -> str:
    """Hash a file's bytes in pieces: a package may have two gigabytes."""
    with open(path, "rb") as file:
        return PREFIX + hashlib.file_digest(file, "sha256").hexdigest()


def canonical_json(value: Any, *, default: Callable[[Any], Any] | None = None) -> bytes:
    """Write the JSON that is hashed: sorted keys, no spaces, UTF-8.

    ``default`` turns a value that JSON does not know into one that it does; without it such a value raises ``TypeError``.

    >>> canonical_json({"b": [1.0, None], "a": "x"})
    b'{"a":"x","b":[1.0,null]}'
    """
    return orjson.dumps(value, default=default, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)


def content_hash(value: Any) -> str:
    """Hash a value's canonical JSON, as stated in an answer's meta and compared by ``verify``."""
    return sha256_of(canonical_json(value))
