"""The one way by which a file that somebody wrote is read: a small regular file, then YAML, JSON, TOML or CSV within bounds.

A reader that takes whatever parses can be stopped with a few hundred bytes: aliases that multiply, a number of a million
digits, a list nested deeper than Python can walk, ``/dev/zero``. So every reader of such files uses `read_text` and one of
the ``parse_`` functions here and turns `InputRefused` into its own room's error: exit code 2 and one line.
"""

import csv
import gzip
import io
import json
import os
import stat
import tomllib
import zlib
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import orjson
import yaml

#: Bytes of a file, also of an unpacked one. A text with one emoji takes four times its bytes in memory, and its values again.
MOST_BYTES = 32_000_000
#: Of YAML, which takes a hundred times as long to read as JSON.
MOST_YAML_BYTES = 1_000_000
_MOST_YAML_NODES = 50_000
#: Values, rows and cells of one document.
MOST_ITEMS = 3_000_000
#: Levels of lists and mappings in each other; recursive readers give up at about a thousand.
MOST_LEVELS = 100
#: Digits of a whole number: 309 are too many for a float, 4,301 for ``str``.
MOST_DIGITS = 300
_MOST_DOTS = 1000
_PLAIN_TAGS = (None, "!", "tag:yaml.org,2002:str")


class InputRefused(ValueError):
    """A file, or the text of one, that is not read; one line says why."""


def read_bytes(path: Path, *, most: int = MOST_BYTES) -> bytes:
    """Bytes of a regular file, unpacked if they are gzip's, whatever the file is called.

    Raises
    ------
    InputRefused
        There is none, it is a device, a pipe or a folder, it cannot be read, or it has more than ``most`` bytes.
    """
    name = ascii(str(path)[:200])[1:-1] if not str(path)[:200].isprintable() else str(path)[:200]
    try:
        # O_NONBLOCK: opening a named pipe would wait for its writer. The kind is asked of the open file, so that the name
        # cannot be exchanged between look and read.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:  # the latter: a name with a null character
        raise InputRefused(f"{name} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    state = os.fstat(descriptor)
    if not stat.S_ISREG(state.st_mode):
        os.close(descriptor)
        raise InputRefused(f"{name} is not a regular file")
    with open(descriptor, "rb") as file:
        try:
            data = b"" if state.st_size > most else file.read(most + 1)
            if data[:2] == b"\x1f\x8b":
                with gzip.open(io.BytesIO(data)) as stream:
                    data = stream.read(most + 1)
        except (OSError, EOFError, zlib.error) as error:
            why = getattr(error, "strerror", None) or error
            raise InputRefused(f"{name} cannot be read: {' '.join(str(why).split())}") from None
    if data is None:  # a file of the kernel's that has nothing to say yet
        raise InputRefused(f"{name} cannot be read: it gives nothing")
    if state.st_size > most or len(data) > most:
        raise InputRefused(f"{name} is larger than {_size(most)}")
    return data


def read_text(path: Path, *, most: int = MOST_BYTES) -> str:
    """Text of a file in UTF-8, without a byte order mark. Raises `InputRefused`, as `read_bytes` does."""
    try:
        return read_bytes(path, most=most).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputRefused(f"{path} is no UTF-8 text: {error.reason} at byte {error.start}") from None


def parse_json(text: str | bytes, what: str) -> Any:
    """The value of a JSON text; ``what`` names it in the complaint. Raises `InputRefused`."""
    _check_count(text, what, "[{,:")
    try:
        value = json.loads(text, parse_int=_whole_number)
    except InputRefused as error:
        raise InputRefused(f"{what} {error}") from None
    except RecursionError:
        raise InputRefused(f"{what} is nested deeper than {MOST_LEVELS} levels") from None
    except ValueError as error:  # UnicodeDecodeError of bytes among them
        raise InputRefused(f"{what} is no JSON: {error}") from None
    _check_levels(value, what)
    return value


def parse_toml(text: str, what: str) -> dict[str, Any]:
    """The tables of a TOML text. Raises `InputRefused`."""
    # tomllib takes half a minute for one key of 32,000 parts
    if max(line.count(".") for line in text.split("\n")) > _MOST_DOTS:
        raise InputRefused(f"{what} has a line of more than {_MOST_DOTS:,} dots")
    try:
        value = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputRefused(f"{what} is no TOML: {_one_line(error)}") from None
    _check_levels(value, what)
    return value


def parse_csv(text: str, what: str, sign: str = ",") -> list[list[str]]:
    """Rows of a CSV text as lists of cells, the header among them; quoted as spreadsheets do it. Raises `InputRefused`."""
    _check_count(text, what, f"{sign}\n\r")
    # for the whole process, and the module's own limit would refuse a long report; the text is bounded already
    csv.field_size_limit(2**31 - 1)
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True, delimiter=sign)
    try:
        return list(reader)
    except csv.Error as error:
        raise InputRefused(f"{what} is no CSV that can be read: row {reader.line_num}, {error}") from None


def parse_csv_rows(text: str, what: str, sign: str = ",") -> list[dict[str, str]]:
    """Rows of a CSV text by the names of its header, empty lines left out.

    Raises
    ------
    InputRefused
        Also for a row of another number of cells, or a header that names a column twice.
    """
    header, *rows = [row for row in parse_csv(text, what, sign) if row] or [[]]
    if len(set(header)) < len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise InputRefused(f"{what} has the column {twice!r:.60} twice")
    for number, row in enumerate(rows, 1):
        if len(row) != len(header):
            raise InputRefused(f"row {number} of {what} has {len(row)} cells, the header {len(header)}")
    return [dict(zip(header, row, strict=True)) for row in rows]


def parse_yaml(text: str, what: str, *, aliases: bool = False) -> Any:
    """The one document of a YAML text as JSON data: a date without quotes becomes text, a whole number as a key too.

    ``aliases`` is for texts that ship with the package.

    Raises
    ------
    InputRefused
        No YAML, several documents, an alias, a tag that is no plain data, a key that occurs twice in one mapping, or beyond
        the bounds of this file.
    """
    if len(text) > MOST_YAML_BYTES:
        raise InputRefused(f"{what} is larger than {_size(MOST_YAML_BYTES)}")
    try:
        _check_events(text, aliases=aliases)
        # through JSON and back: what has no form in JSON is no plain data either
        return orjson.loads(orjson.dumps(yaml.load(text, Loader=_Loader)))
    except InputRefused as error:
        raise InputRefused(f"{what} {error}") from None
    except yaml.YAMLError as error:
        raise InputRefused(f"{what} is no YAML: {_one_line(error)}") from None
    except (ValueError, TypeError, OverflowError) as error:  # the 31st of February; a key that is a list
        raise InputRefused(f"{what} is no plain data: {_one_line(error)}") from None


def line_of(text: str, place: Sequence[str | int]) -> int | None:
    r"""Return the line, from 1, on which a part of a YAML text begins, or the last part on the way to it that is there.

    >>> line_of("a: 1\nb:\n- c: 2\n- d: 3\n", ("b", 1, "x"))
    4
    """
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError:
        return None
    line = None
    for part in place:
        if isinstance(node, yaml.MappingNode):
            named = next(((key, value) for key, value in node.value if key.value == str(part)), None)
            if named is None:
                break
            line, node = named[0].start_mark.line + 1, named[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.start_mark.line + 1
        else:
            break
    return line


def _check_events(text: str, *, aliases: bool) -> None:
    """Refuse what would take too long, or too much, to build, before anything is built."""
    levels = nodes = 0
    for event in yaml.parse(text, Loader=_BASE):
        if getattr(event, "anchor", None) is not None and not aliases:
            raise InputRefused("uses an anchor or an alias (& or *): write the value out")
        if (tag := getattr(event, "tag", None)) not in _PLAIN_TAGS:
            raise InputRefused(f"uses the tag {tag!r:.60}: plain data only")
        nodes += isinstance(event, yaml.events.NodeEvent)
        levels += isinstance(event, yaml.events.CollectionStartEvent)
        levels -= isinstance(event, yaml.events.CollectionEndEvent)
        if levels > MOST_LEVELS:
            raise InputRefused(f"is nested deeper than {MOST_LEVELS} levels")
        if nodes > _MOST_YAML_NODES:
            raise InputRefused(f"has more than {_MOST_YAML_NODES:,} values")


_BASE: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_BASE):  # type: ignore[misc]
    """PyYAML's safe loader, which takes the last of two equal keys without a word: here they are an error."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        seen: set[Hashable] = set()
        for key, _ in node.value:
            name = _as_key(self.construct_object(key, deep=True))
            if isinstance(name, Hashable) and name in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {name!r} occurs twice", node.start_mark
                )
            seen.add(name)
        return {_as_key(name): value for name, value in super().construct_mapping(node, deep).items()}

    def construct_number(self, node: Any) -> int | float:
        if len(node.value) > MOST_DIGITS:
            raise InputRefused(f"holds a number of more than {MOST_DIGITS} digits")
        value: int | float
        if node.tag.endswith("int"):
            value = self.construct_yaml_int(node)
        else:
            value = self.construct_yaml_float(node)
            if not abs(value) < float("inf"):
                raise InputRefused(f"holds {node.value[:40]}, which is no finite number")
        return value


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_number)
_Loader.add_constructor("tag:yaml.org,2002:float", _Loader.construct_number)


def _as_key(name: Any) -> Any:
    return str(name) if type(name) is int else name


def _whole_number(digits: str) -> int:
    if len(digits.lstrip("-")) > MOST_DIGITS:
        raise InputRefused(f"holds a number of more than {MOST_DIGITS} digits")
    return int(digits)


def _check_count(text: str | bytes, what: str, marks: str) -> None:
    count = sum(text.count(mark) if isinstance(text, str) else text.count(mark.encode()) for mark in marks)
    if count > MOST_ITEMS:
        raise InputRefused(f"{what} has more than {MOST_ITEMS:,} values: split it")


def _check_levels(value: Any, what: str) -> None:
    # Level by level and not by recursion, which would fail on just the values that this is to refuse.
    level, pending = 0, [value]
    while pending:
        holders = [item for item in pending if isinstance(item, dict | list)]
        level += 1
        if holders and level > MOST_LEVELS:
            raise InputRefused(f"{what} is nested deeper than {MOST_LEVELS} levels")
        # hexadecimal, in TOML
        if any(type(item) is int and item.bit_length() > 4 * MOST_DIGITS for item in pending):
            raise InputRefused(f"{what} holds a number of more than {MOST_DIGITS} digits")
        pending = [
            item for holder in holders for item in (holder.values() if isinstance(holder, dict) else holder)
        ]


def _size(count: int) -> str:
    return f"{count // 1_000_000} MB" if count >= 1_000_000 else f"{count // 1024} KiB"


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
