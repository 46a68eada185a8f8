"""The catalogue's YAML as plain data. Reading 200 kB of it takes 300 ms, so the result is stored as JSON and read in 2 ms."""

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
import yaml

from proxies.atomic import replace_file
from proxies.errors import CatalogueError

log = logging.getLogger(__name__)
# raised when `parse_yaml` gives other data for the same text
_VERSION = 1


class NamedText(Protocol):
    """A text, and the name under which errors speak of it."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def text(self) -> str: ...  # noqa: D102


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """PyYAML's safe loader, which takes the last of two equal keys without a word: here they are an error."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        names = [self.construct_object(name, deep=True) for name, _ in node.value]
        for name in names:
            if names.count(name) > 1:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {name!r} occurs twice", node.start_mark
                )
        return super().construct_mapping(node, deep)


def parse_yaml(text: str) -> Any:
    """The one document of a YAML text as JSON data: a date without quotes becomes text.

    Raises
    ------
    yaml.YAMLError
        No YAML, several documents, a tag that is no plain data, a key that occurs twice in one mapping.
    """
    try:
        # through JSON and back, so that a text just parsed equals one read from the stored file
        return orjson.loads(orjson.dumps(yaml.load(text, Loader=_Loader)))
    except TypeError as error:
        raise yaml.YAMLError(f"not plain data ({error})") from None


def compiled_documents(texts: Sequence[NamedText], folder: Path | None) -> list[Any]:
    """The parsed texts, from a file in a folder if one was written for exactly these texts.

    The file's name is the texts' hash, so that an edited catalogue is never mixed up with an old one. It decides what may be
    known when: a file that belongs to somebody else, or that others may write, is not read.

    Raises
    ------
    CatalogueError
        A text is no YAML.
    """
    if folder is None:
        return [_parse(item) for item in texts]
    whole = orjson.dumps([_VERSION, *(item.text for item in texts)])
    path = folder / f"catalogue-{hashlib.sha256(whole).hexdigest()}.json"
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
        return orjson.loads(_parsed(item.text))
    except yaml.YAMLError as error:
        raise CatalogueError(f"{item.name}: {' '.join(str(error).split())}") from None


@functools.lru_cache(maxsize=64)  # the shipped texts twice over, 1 MB
def _parsed(text: str) -> bytes:
    """The data of a text as JSON, kept for a process that opens many homes: every reader makes objects of its own of it."""
    return orjson.dumps(parse_yaml(text))


def _read_own(path: Path) -> bytes | None:
    """The content of a file that only this user can have written, or None."""
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
