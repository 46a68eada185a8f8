"""A file of the user's as a table: CSV (its separator, byte order mark and decimal commas found out), Parquet and Feather.

Excel files and documents go another way: strangers write such files, so they are parsed in a sealed kernel
(`workbench.sources.sealed_reader`).
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from proxies.input_files import InputRefused, check_width
from workbench.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

#: Bytes that a file may have; pandas holds a CSV of this size in some 6 GB.
MOST_BYTES = 2_000_000_000
MOST_COLUMNS = 200
EXCEL = (".xlsx", ".xlsm")
_SAMPLE = 64 << 10
_COMMA = re.compile(r"-?\d{1,3}(\.\d{3})*,\d+|-?\d+,\d+")
#: The comma stands once, points before it by threes: 01.02.2018 is none.
_THOUSANDS = re.compile(r"-?\d{1,3}(\.\d{3})*,\d+|-?\d+(,\d+)?")
_POINT = re.compile(r"-?\d{1,3}(,\d{3})*\.\d+|-?\d+\.\d+")


@dataclass(frozen=True, slots=True)
class TableText:
    """How a CSV file is written."""

    separator: str
    decimal: str
    encoding: str


def check_size(path: Path) -> None:
    """Refuse what is no file, an empty one, and one that is too large to be read.

    Raises
    ------
    UsageError
        One line that says which.
    """
    try:
        if not path.is_file():
            raise UsageError(f"no file {str(path)[:200]}")
        size = path.stat().st_size
    except OSError as error:
        raise UsageError(f"{path.name[:80]} cannot be read ({error.strerror})") from None
    if size == 0:
        raise UsageError(f"{path.name} is empty")
    if size > MOST_BYTES:
        raise UsageError(
            f"{path.name} has {size / 1e9:.1f} GB, at most {MOST_BYTES / 1e9:.0f} GB are taken: keep the rows and columns that "
            "claims are about"
        )


def read_table(path: Path) -> pd.DataFrame:
    """Return the rows of a CSV, Parquet or Feather file; text stays text where it is no number.

    Raises
    ------
    UsageError
        The file is missing, too large, of another kind, or cannot be read.
    """
    import pandas as pd

    check_size(path)
    try:
        with path.open("rb") as stream:
            head = stream.read(_SAMPLE)
    except OSError as error:
        raise UsageError(f"{path.name} cannot be read ({error.strerror})") from None
    try:
        if head[:4] == b"PAR1":
            return _parquet(path)
        if head[:6] == b"ARROW1" or head[:4] == b"FEA1":
            return pd.read_feather(path)
        if head[:4] in (b"PK\x03\x04", b"\xd0\xcf\x11\xe0"):
            raise UsageError(
                f"{path.name} looks like an Excel file: it is read if its name ends in {' or '.join(EXCEL)}"
            )
        if b"\0" in head:
            raise UsageError(f"{path.name} is neither CSV nor Parquet, Feather or Excel")
        form = text_form(head, path.name)
        with path.open(encoding=form.encoding, errors="replace", newline="") as lines:
            check_width(lines, path.name, form.separator, spaces=True)
        frame = pd.read_csv(
            path, sep=form.separator, decimal=form.decimal, encoding=form.encoding, index_col=False, low_memory=False,
            skipinitialspace=True, na_values=["", "."], keep_default_na=True,
        )  # fmt: skip
    except ImportError:
        raise UsageError(
            f"{path.name}: Feather files need the package pyarrow: install it, or write CSV or Parquet"
        ) from None
    except UsageError:
        raise
    except InputRefused as error:
        raise UsageError(str(error)) from None
    except Exception as error:  # a stranger's file can break a parser in any way
        words = " ".join(str(error).split())[:160]
        raise UsageError(f"{path.name} cannot be read as a table ({type(error).__name__}: {words})") from None
    return _whole_numbers(frame) if form.decimal == "," else frame


def _whole_numbers(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose texts such as 1.234,5 are numbers; pandas would take the points out of dates too."""
    import pandas as pd

    for name in frame.columns[frame.dtypes.map(pd.api.types.is_string_dtype)]:
        cells = frame[name].dropna().str.strip()
        if len(cells) and cells.map(lambda cell: _THOUSANDS.fullmatch(cell) is not None).all():
            plain = (
                frame[name].str.strip().str.replace(".", "", regex=False).str.replace(",", ".", regex=False)
            )
            frame[name] = pd.to_numeric(plain)
    return frame


def check_columns(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the table with names of columns that a caller can write; refuse too many, doubled and unwritable ones.

    Raises
    ------
    UsageError
        One line that names the column.
    """
    if len(frame.columns) > MOST_COLUMNS:
        raise UsageError(
            f"{name} has {len(frame.columns)} columns, at most {MOST_COLUMNS} are taken: keep those that claims are about"
        )
    if len(frame) == 0:
        raise UsageError(f"{name} holds no row")
    names = [str(column).lstrip("\ufeff").strip() for column in frame.columns]
    for column in names:
        if not column or len(column) > 80 or not column.isprintable():
            raise UsageError(
                f"{name}: a column is named {column[:40]!r}: give every column a name in one line"
            )
        if column.startswith("__"):
            raise UsageError(f"{name}: the column {column!r} begins with two underscores: rename it")
    folded = [column.casefold() for column in names]
    # DuckDB does not tell upper from lower case in names
    doubled = next((column for column in names if folded.count(column.casefold()) > 1), None)
    if doubled is not None:
        raise UsageError(f"{name} has two columns named {doubled!r}: rename one")
    return frame.set_axis(names, axis=1)


def text_form(head: bytes, name: str) -> TableText:
    r"""Return how a CSV is written, from its beginning.

    Examples
    --------
    >>> text_form(b"day;price\n2018-01-02;1.234,5\n", "x.csv")
    TableText(separator=';', decimal=',', encoding='utf-8')
    """
    encoding = "utf-8-sig" if head.startswith(b"\xef\xbb\xbf") else "utf-8"
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    try:
        # a letter may be cut in two where the sample ends
        text = head.decode(encoding) if len(head) < _SAMPLE else head[:-4].decode(encoding, "ignore")
    except UnicodeDecodeError:
        encoding, text = "cp1252", head.decode("cp1252", "replace")
    lines = [line for line in text.splitlines() if line.strip()][:200]
    if len(lines) < 2:
        raise UsageError(f"{name} holds no row under its header")
    counts = {sign: lines[0].count(sign) for sign in (",", ";", "\t", "|")}
    separator = max(counts, key=lambda sign: counts[sign])
    if counts[separator] == 0:
        raise UsageError(f"{name} has one column only: a date and a value are needed, separated by commas")
    cells = [cell.strip() for row in csv.reader(lines[1:], delimiter=separator) for cell in row]
    comma = any(_COMMA.fullmatch(cell) for cell in cells)
    point = any(_POINT.fullmatch(cell) for cell in cells)
    # "1,234" may be a thousand or a fraction: only a file without any decimal point is read with decimal commas
    return TableText(separator, "," if comma and not point and separator != "," else ".", encoding)


def _parquet(path: Path) -> pd.DataFrame:
    # by DuckDB, which every installation has; pandas would want pyarrow
    import duckdb

    with duckdb.connect(config={"threads": 2}) as connection:
        table: pd.DataFrame = connection.execute("SELECT * FROM read_parquet(?)", [str(path)]).df()
    return table
