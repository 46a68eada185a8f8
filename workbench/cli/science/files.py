"""Files that the science commands write: whole, or not at all."""

import csv
import gzip
import io
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from workbench.errors import UsageError
from workbench.outputs import write_output
from workbench.spreadsheet import guard_formula
from workbench.terminal import printable


def write_whole(path: Path, text: str) -> None:
    """Write text by an atomic rename, gzipped when the name ends in ``.gz``.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_whole(Path(folder) / "a.txt", "x")
    ...     [file.name for file in Path(folder).iterdir()]
    ['a.txt']
    """
    data = text.encode()
    if path.suffix == ".gz":
        # Without the time of writing equal results are equal bytes.
        data = gzip.compress(data, mtime=0)
    try:
        path.parent.stat()  # a folder that is missing is a mistyped path: it is not made
        write_output(path, data)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from error


def csv_text(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Rows as CSV with a header, no text a formula; lines end in a plain newline on every platform."""
    lines = []
    for row in (header, *rows):
        text = io.StringIO()
        # \r\n, because the writer quotes only the line ends that it writes itself, and a lone \r would end a row
        guarded = [guard_formula(value) if isinstance(value, str) else value for value in row]
        csv.writer(text, lineterminator="\r\n").writerow(guarded)
        lines.append(text.getvalue().removesuffix("\r\n") + "\n")
    return "".join(lines)


def print_csv(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print rows as CSV on stdout: as they are for another program, harmless for a terminal."""
    text = csv_text(header, rows)
    sys.stdout.write(printable(text) if sys.stdout.isatty() else text)
    sys.stdout.flush()


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write rows as CSV, gzipped when the name ends in ``.gz``; the file appears whole or not at all."""
    write_whole(path, csv_text(header, rows))
