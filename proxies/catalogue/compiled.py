"""Cache the catalogue's parsed YAML as JSON: parsing 200 kB takes 300 ms, reading the JSON 2 ms."""

import contextlib
import functools
import hashlib
import logging
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import orjson

from proxies.atomic import replace_file
from proxies.errors import CatalogueError
from proxies.input_files import InputRefused
from proxies.yaml_text import parse_yaml

log = logging.getLogger(__name__)
# raised when `parse_yaml` gives other data for the same text
_VERSION = 2


class NamedText(Protocol):
    """A text with its name for error messages."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def text(self) -> str: ...  # noqa: D102
    @property
    def shipped(self) -> bool: ...  # noqa: D102


def compiled_documents(texts: Sequence[NamedText], folder: Path | None) -> list[Any]:
    """Parse the texts, or read the result from a file that was written for exactly these texts.

    The file's name is the texts' hash, so that an edited catalogue is never mixed up with an old one. It decides what may be
    known when: a file that belongs to somebody else, or that others may write, is not read.

    Raises `CatalogueError`: A text is no YAML.
    """
    if folder is None:
        return [_parse(item) for item in texts]
    key = orjson.dumps([_VERSION, *(item.text for item in texts)])
    path = folder / f"catalogue-{hashlib.sha256(key).hexdigest()}.json"
    body = _read_own(path)
    with contextlib.suppress(orjson.JSONDecodeError):  # cut off by a full disk: parsed and written anew
        stored = orjson.loads(body) if body is not None else None
        if isinstance(stored, list) and len(stored) == len(texts):
            return stored
    documents = [_parse(item) for item in texts]
    try:
        if folder.parent.is_dir():  # reading a catalogue makes no data folder where there is none
            replace_file(path, orjson.dumps(documents), private=True)
    except OSError as error:  # a full disk or a read-only home: the next process parses again
        log.info("the parsed catalogue could not be stored (%s)", type(error).__name__)
    return documents


def _parse(item: NamedText) -> Any:
    try:
        return orjson.loads(_parsed(item.text, item.shipped))
    except InputRefused as error:
        raise CatalogueError(f"{item.name}{error}") from None


@functools.lru_cache(maxsize=64)  # the shipped texts twice over, 1 MB
def _parsed(text: str, shipped: bool) -> bytes:
    return orjson.dumps(parse_yaml(text, ":", aliases=shipped))


def _read_own(path: Path) -> bytes | None:
    """Read a file that only this user can have written; None for any other."""
    try:
        # opened first and examined through the descriptor: between a look at the path and its opening the file could change
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        state = os.fstat(file.fileno())
        # Windows has no user ids to compare
        owner = os.geteuid() if hasattr(os, "geteuid") else state.st_uid
        if state.st_uid != owner or not stat.S_ISREG(state.st_mode) or state.st_mode & 0o022:
            log.warning("%s can be written by others and is not read: remove it", path)
            return None
        return file.read()
