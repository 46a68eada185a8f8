"""Files that the science commands write: whole, or not at all."""

import csv
import gzip
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from proxies.atomic import replace_file
from workbench.errors import UsageError


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
        replace_file(path, data)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from error


def csv_text(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Rows as CSV with a header; lines end in a plain newline on every platform."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write rows as CSV, gzipped when the name ends in ``.gz``; the file appears whole or not at all."""
    write_whole(path, csv_text(header, rows))
