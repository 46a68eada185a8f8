"""Read every file that a person wrote: a small regular file, then YAML, JSON, TOML or CSV within bounds.

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
import re
import stat
import tomllib
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
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
#: A letter beyond the first 65,536 is written as two escapes in JSON; one of them alone can be encoded by nothing.
_HALF = re.compile(r"[\ud800-\udfff]")
_MAYBE_HALVES = re.compile(r"[\ud800-\udfff]|\\u[dD][89a-fA-F]")


class InputRefused(ValueError):
    """A file or text that is refused; one line says why."""


def read_bytes(path: Path, *, most: int = MOST_BYTES) -> bytes:
    """Read a regular file, unpacked if it is gzip, whatever its name.

    Raises `InputRefused`: There is none, it is a device, a pipe or a folder, it cannot be read, or it has more than ``most`` bytes.
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
        raise InputRefused(f"{name} cannot be read: the file is empty")
    if state.st_size > most or len(data) > most:
        raise InputRefused(f"{name} is larger than {_size(most)}")
    return data


def read_text(path: Path, *, most: int = MOST_BYTES) -> str:
    """Read a file in UTF-8, without a byte order mark. Raises `InputRefused`, as `read_bytes` does."""
    try:
        return read_bytes(path, most=most).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputRefused(f"{path} is no UTF-8 text: {error.reason} at byte {error.start}") from None


def parse_json(text: str | bytes, what: str) -> Any:
    """Parse a JSON text; ``what`` names it in errors. Raises `InputRefused`."""
    _check_count(text, what, "[{,:")
    try:
        text = text if isinstance(text, str) else text.decode(json.detect_encoding(text))
        value = json.loads(text, parse_int=_whole_number)
    except InputRefused as error:
        raise InputRefused(f"{what} {error}") from None
    except RecursionError:
        raise InputRefused(f"{what} is nested deeper than {MOST_LEVELS} levels") from None
    except ValueError as error:  # UnicodeDecodeError of bytes among them
        raise InputRefused(f"{what} is no JSON: {error}") from None
    _check_levels(value, what)
    if _MAYBE_HALVES.search(text):
        _check_letters(value, what)
    return value


def parse_toml(text: str, what: str) -> dict[str, Any]:
    """Parse a TOML text. Raises `InputRefused`."""
    # tomllib takes half a minute for one key of 32,000 parts
    if max(line.count(".") for line in text.split("\n")) > _MOST_DOTS:
        raise InputRefused(f"{what} has a line of more than {_MOST_DOTS:,} dots")
    try:
        value = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputRefused(f"{what} is no TOML: {' '.join(str(error).split())[:200]}") from None
    _check_levels(value, what)
    return value


def parse_csv(text: str, what: str) -> list[list[str]]:
    """Parse a CSV text into lists of cells, header included, with spreadsheets' quoting. Raises `InputRefused`."""
    _check_count(text, what, ",\n\r")
    # for the whole process, and the module's own limit would refuse a long report; the text is bounded already
    csv.field_size_limit(2**31 - 1)
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    try:
        return list(reader)
    except csv.Error as error:
        raise InputRefused(f"{what} is no CSV that can be read: row {reader.line_num}, {error}") from None


def parse_csv_rows(text: str, what: str, sign: str = "") -> list[dict[str, str]]:
    """Parse a CSV text into rows by the header's names, without empty lines; the separator is detected by default.

    Raises `InputRefused`: Also for a row of another number of cells, or a header that names a column twice.
    """
    form = csv_form(text[:MOST_TEXT_BYTES])
    form = replace(form, separator=sign) if sign else form
    _check_count(text, what, f"{form.separator}\n\r")
    header, *rows = list(csv_rows(io.StringIO(text, newline=""), what, form)) or [[]]
    twice = next((name for name, count in Counter(header).items() if count > 1), None)
    if twice is not None:
        raise InputRefused(f"{what} has the column {twice!r:.60} twice")
    for number, row in enumerate(rows, 1):
        if len(row) != len(header):
            raise InputRefused(f"row {number} of {what} has {len(row)} cells, the header {len(header)}")
    return [dict(zip(header, row, strict=True)) for row in rows]


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvForm:
    """The form of a CSV: its separator, lines before its header, and the beginning of comment lines."""

    separator: str = ","
    skip: int = 0
    comment: str = ""


def csv_encoding(head: bytes) -> str:
    """Detect a text's encoding by its byte order mark; UTF-8 without one."""
    return "utf-16" if head.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"


def csv_form(sample: str, *, skip: int = 0, comment: str = "") -> CsvForm:
    r"""Detect a CSV's form from its beginning: a line ``sep=;``, or the sign that splits most names of the header.

    >>> csv_form("day;price\\n2018-01-02;1.234,5\\n").separator
    ';'
    """
    lines = sample.removeprefix("\ufeff").splitlines()[skip:]
    declared = re.fullmatch(r'"?sep=(.)"?', lines[0].strip(" ")) if lines else None
    if declared:
        return CsvForm(separator=declared[1], skip=skip + 1, comment=comment)
    header = next((line for line in lines if line.strip() and not (comment and line.startswith(comment))), "")
    counts = {sign: len(next(csv.reader([header], delimiter=sign), [])) for sign in ",;\t|"}
    return CsvForm(separator=max(counts, key=lambda sign: counts[sign]), skip=skip, comment=comment)


def csv_rows(file: TextIO, what: str, form: CsvForm, *, spaces: bool = False) -> Iterator[list[str]]:
    """Yield the header of a CSV and its rows, without blank lines: the one reader of people's tables.

    Cells beyond the header are left out where they are empty. ``spaces`` says that those behind a separator do not count.

    Raises `InputRefused`: Names the row: it holds more than the header names, or a quote that nothing ends. More than `MOST_COLUMNS`
    columns, or a first line with more than `MOST_TEXT_BYTES`.
    """

    def lines() -> Iterator[str]:
        # the bound is for the lines that say how wide a table is; a row may hold a long report
        for place in itertools.count():
            line = file.readline(MOST_TEXT_BYTES if number == 0 else -1)
            if len(line) == MOST_TEXT_BYTES and number == 0:
                raise InputRefused(f"{what} begins with a line of more than {_size(MOST_TEXT_BYTES)}")
            if not line:
                return
            line = line.removeprefix("\ufeff") if place == 0 else line
            if place >= form.skip and not (form.comment and line.startswith(form.comment)):
                yield line

    # for the whole process, and the module's own limit would refuse a long report
    csv.field_size_limit(2**31 - 1)
    width, number = 0, 0
    rows = csv.reader(lines(), delimiter=form.separator, skipinitialspace=spaces, strict=True)
    try:
        for row in rows:
            if len(row) < 2 and not "".join(row).strip():
                continue
            if not width:
                width = len(row)
                if width > MOST_COLUMNS:
                    raise InputRefused(f"{what} has {width:,} columns, at most {MOST_COLUMNS:,} are read")
                yield row
                continue
            number += 1
            while len(row) > width and not row[-1].strip():
                row.pop()
            if len(row) > width:
                decimals = " (numbers with a comma stand in quotes)" if form.separator == "," else ""
                raise InputRefused(
                    f"row {number} of {what} has {len(row)} cells, the header {width}: name every column{decimals}"
                )
            yield row
    except csv.Error as error:
        raise InputRefused(
            f"{what} is no CSV that can be read: row {number + 1} (line {rows.line_num + form.skip}), {error}"
        ) from None


def csv_columns(
    file: TextIO, what: str, form: CsvForm, *, spaces: bool = False
) -> tuple[list[str], list[list[str]]]:
    """Return the header of a CSV and its columns, short rows padded. Raises `InputRefused`, as `csv_rows` does."""
    rows = csv_rows(file, what, form, spaces=spaces)
    header = next(rows, None)
    if header is None:
        raise InputRefused(f"{what} is empty: a header and at least one row are needed")
    columns: list[list[str]] = [[] for _ in header]
    # equal cells are one text: of ten million rows the columns that repeat take a tenth
    shared: list[dict[str, str]] = [{} for _ in header]
    while batch := list(itertools.islice(rows, 20_000)):
        for place, cells in enumerate(itertools.zip_longest(*batch, header, fillvalue="")):
            interned = shared[place] if len(shared[place]) < 10_000 else {}
            columns[place].extend([interned.setdefault(cell, cell) for cell in cells[:-1]])
    return [name.strip() or f"Unnamed: {place}" for place, name in enumerate(header)], columns


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


def _check_letters(value: Any, what: str) -> None:
    pending: list[tuple[str, Any]] = [("", value)]
    for place, item in pending:
        if isinstance(item, dict):
            pending += [(f"{place}.{key}", part) for key, part in item.items()]
            pending += [(f"{place} (a name)", key) for key in item]
        elif isinstance(item, list):
            pending += [(f"{place}[{number}]", part) for number, part in enumerate(item)]
        elif isinstance(item, str) and (half := _HALF.search(item)):
            position = ascii(place.removeprefix("."))[1:-1][:100] or "its text"
            raise InputRefused(
                f"{what} holds half a letter, {ascii(half[0])[1:-1]}, in {position}: write both halves, or leave it out"
            )


def _size(count: int) -> str:
    return f"{count // 1_000_000} MB" if count >= 1_000_000 else f"{count // 1024} KiB"
