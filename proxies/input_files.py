"""The one way by which a file that somebody wrote is read: a small regular file, then YAML, JSON, TOML or CSV within bounds.

A reader that takes whatever parses can be stopped with a few hundred bytes: aliases that multiply, a number of a million
digits, a list nested deeper than Python can walk, ``/dev/zero``. So every reader of such files uses `read_text` and one of
the ``parse_`` functions here or `yaml_text.parse_yaml` and turns `InputRefused` into its own room's error: exit code 2 and one line.
"""

import csv
import gzip
import io
import itertools
import json
import os
import stat
import tomllib
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

#: Bytes of a file, also of an unpacked one. A text with one emoji takes four times its bytes in memory, and its values again.
MOST_BYTES = 32_000_000
#: Of YAML, which takes a hundred times as long to read as JSON.
MOST_YAML_BYTES = 1_000_000
#: Of a text that goes into one field: a rationale, a context, a step.
MOST_TEXT_BYTES = 1_000_000
#: Values, rows and cells of one document.
MOST_ITEMS = 3_000_000
#: Columns of a table; pandas takes seconds over ten times as many of one name, and minutes over a hundred times.
MOST_COLUMNS = 2000
#: Levels of lists and mappings in each other; recursive readers give up at about a thousand.
MOST_LEVELS = 100
#: Digits of a whole number: 309 are too many for a float, 4,301 for ``str``.
MOST_DIGITS = 300
_MOST_DOTS = 1000


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
    twice = next((name for name, count in Counter(header).items() if count > 1), None)
    if twice is not None:
        raise InputRefused(f"{what} has the column {twice!r:.60} twice")
    for number, row in enumerate(rows, 1):
        if len(row) != len(header):
            raise InputRefused(f"row {number} of {what} has {len(row)} cells, the header {len(header)}")
    return [dict(zip(header, row, strict=True)) for row in rows]


def check_width(file: TextIO, what: str, sign: str = ",", *, spaces: bool = False) -> None:
    """Refuse a CSV that is too wide before pandas reads it; ``spaces`` says that those behind a sign do not count.

    Raises
    ------
    InputRefused
        More than `MOST_COLUMNS` columns, or a first line with more than `MOST_TEXT_BYTES`.
    """

    def lines() -> Iterator[str]:
        while line := file.readline(MOST_TEXT_BYTES):
            if len(line) == MOST_TEXT_BYTES:
                raise InputRefused(f"{what} begins with a line of more than {_size(MOST_TEXT_BYTES)}")
            yield line

    csv.field_size_limit(2**31 - 1)
    rows = csv.reader(lines(), delimiter=sign, skipinitialspace=spaces)
    try:
        # the two lines that pandas counts columns by: the first that are not blank; it refuses a longer one below them
        written = (row for row in rows if len(row) > 1 or "".join(row).strip())
        width = max(map(len, itertools.islice(written, 2)), default=0)
    except csv.Error as error:
        raise InputRefused(f"{what} is no CSV that can be read: row {rows.line_num}, {error}") from None
    if width > MOST_COLUMNS:
        raise InputRefused(f"{what} has {width:,} columns, at most {MOST_COLUMNS:,} are read")


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
