"""Read a user's file as a table: CSV of any dialect, Parquet and Feather; and type its cells as numbers or text.

Excel files and documents go another way: strangers write such files, so they are parsed in a sealed kernel
(`workbench.sources.sealed_reader`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proxies.input_files import InputRefused, csv_columns, csv_encoding, csv_form
from workbench.errors import Option, UsageError
from workbench.sources.row_dates import two_readings

if TYPE_CHECKING:
    import pandas as pd

#: Bytes that a file may have; pandas holds a CSV of this size in some 6 GB.
MOST_BYTES = 2_000_000_000
MOST_COLUMNS = 200
EXCEL = (".xlsx", ".xlsm")
_SAMPLE = 64 << 10
#: Rows under a header that may belong to it: their cells hold no digit.
_MOST_HEADS = 4
#: Cells of a column of numbers that hold none: as pandas has them, Excel's errors, and statistical offices' signs.
MISSING = frozenset(
    ["", "na", "n/a", "nan", "-nan", "null", "none", "nil", "<na>", ".", "..", ":", "-", "nd", "#n/a", "#n/a n/a", "#na", "#n/a requesting data...", "#div/0!", "#value!", "#ref!", "#name?", "#num!", "#null!"]
)  # fmt: skip
_INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
_CODE = re.compile(r"[+-]?0\d+")
#: Decimal points of these may be days, times or versions: they tell nothing of other columns.
_WEAK = re.compile(r"\d{1,2}\.\d{1,2}")
_SPACES = "\u00a0\u202f\u2009"


@dataclass(frozen=True, slots=True, kw_only=True)
class CellReading:
    """How the cells of a table are read: signs of numbers, lines before the header, comments."""

    decimal: str = ""
    thousands: str = ""
    skip: int = 0
    comment: str = ""

    def check(self) -> None:
        """Refuse signs that cannot be in a number; raises ``UsageError``."""
        if self.decimal not in ("", ".", ","):
            raise UsageError(Option("decimal"), f" is . or , and not {self.decimal!r:.20}")
        if len(self.thousands) > 1 or self.thousands.isalnum() or self.thousands in ("-", "+"):
            raise UsageError(
                Option("thousands"), f" is one sign such as , . or ', not {self.thousands!r:.20}"
            )
        if self.thousands and self.thousands == self.decimal:
            raise UsageError(Option("thousands"), " and ", Option("decimal"), " are the same sign")
        if self.skip < 0:
            raise UsageError(Option("skip"), " is a number of lines")


def check_size(path: Path) -> None:
    """Refuse a missing, empty or oversized file.

    Raises `UsageError`: One line that says which.
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
            f"{path.name} has {size / 1e9:.1f} GB, at most {MOST_BYTES / 1e9:.0f} GB are allowed: keep the rows and columns that "
            "claims are about"
        )


def read_table(path: Path, reading: CellReading | None = None, *, one_column: bool = False) -> pd.DataFrame:
    """Read a CSV, Parquet or Feather file; every cell of a CSV stays text.

    Raises `UsageError`: The file is missing, too large, of another kind, or cannot be read.
    """
    import pandas as pd

    reading = reading or CellReading()
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
        return _csv(path, head, reading, one_column=one_column)
    except ImportError:
        raise UsageError(
            f"{path.name}: Feather files need the package pyarrow: install it, or write CSV or Parquet"
        ) from None
    except UsageError:
        raise
    except InputRefused as error:
        skip = ("; lines before the header are left out with ", Option("skip", "3"))
        raise UsageError(str(error), *(skip if ", the header " in str(error) else ())) from None
    except Exception as error:  # a stranger's file can break a parser in any way
        words = " ".join(str(error).split())[:160]
        raise UsageError(f"{path.name} cannot be read as a table ({type(error).__name__}: {words})") from None


def _csv(path: Path, head: bytes, reading: CellReading, *, one_column: bool) -> pd.DataFrame:
    encoding = csv_encoding(head)
    if b"\0" in head and encoding != "utf-16":
        raise UsageError(
            f"{path.name} is neither CSV nor Parquet, Feather or Excel: save it as one of them, CSV in UTF-8"
        )
    try:
        # a letter may be cut in two where the sample ends
        text = head.decode(encoding) if len(head) < _SAMPLE else head[:-4].decode(encoding, "ignore")
    except UnicodeDecodeError:
        encoding, text = "cp1252", head.decode("cp1252", "replace")
    form = csv_form(text, skip=reading.skip, comment=reading.comment)
    with path.open(encoding=encoding, errors="replace", newline="") as lines:
        header, columns = csv_columns(lines, path.name, form, spaces=True)
    if not columns[0]:
        raise UsageError(f"{path.name} holds no row under its header")
    if len(header) == 1 and not one_column:
        raise UsageError(
            f"{path.name} has one column only: a date and a value are needed, separated by commas; lines before the header are "
            "left out with ",
            Option("skip", "3"),
        )
    return written_table(header, columns)


def written_table(header: Sequence[str], columns: Sequence[list[Any]]) -> pd.DataFrame:
    """Build a table as people write it: further rows of names join the header, empty columns are dropped."""
    import pandas as pd

    heads = 0
    for cells in zip(*(column[:_MOST_HEADS] for column in columns), strict=True):
        texts = ["" if cell is None else cell for cell in cells]
        named = all(isinstance(text, str) for text in texts) and "".join(texts).strip()
        if not named or any(sign.isdigit() for sign in "".join(texts)) or len(texts[0]) > 40:
            break
        heads += 1
    # a date stands in every row: rows without a digit are names, unless there is no other row
    heads = heads if heads < min(_MOST_HEADS, len(columns[0])) else 0
    names = list(header)
    if heads:
        more = [[str(cell or "").strip() for cell in column[:heads]] for column in columns]
        if len({name.casefold() for name in names}) < len(names):
            names = [
                " ".join(dict.fromkeys(filter(None, (name, *names_below))))
                for name, names_below in zip(names, more, strict=True)
            ]
        for row in range(heads):  # as pandas names an index: alone in its row
            if more[0][row] and not any(cells[row] for cells in more[1:]):
                names[0] = more[0][row]
    places = [
        place for place, name in enumerate(names) if not name.startswith("Unnamed: ") or any(columns[place])
    ]
    frame = pd.DataFrame({place: pd.Series(columns[place][heads:], dtype="object") for place in places})
    frame.columns = pd.Index([names[place] for place in places])
    named = f"{heads + 1} rows name the columns: {', '.join(map(str, frame.columns[:6]))}"
    frame.attrs |= {"written": True, "notes": [named] if heads else []}
    return frame


def typed_columns(
    frame: pd.DataFrame, reading: CellReading, *, text: Collection[str], value: str
) -> pd.DataFrame:
    """Convert columns of numbers to numbers; the columns ``text`` stay as written.

    The whole column decides. What every cell of a column leaves open, the decimal commas of another column decide.

    Raises `TwoReadings`: The numbers of a column can be read with a decimal point and with a decimal comma.
    """
    import pandas as pd

    written = bool(frame.attrs.get("written"))
    columns = {
        name: _Column(frame[name].tolist(), reading)
        for name in frame.columns
        if name not in text
        and (pd.api.types.is_object_dtype(frame[name]) or pd.api.types.is_string_dtype(frame[name]))
        # strings of a database or of Python's are no numbers by accident, unless claims mean them
        and (written or name == value or not pd.api.types.is_string_dtype(frame[name].infer_objects()))
    }
    commas = next((name for name, column in columns.items() if column.decimals == ","), None)
    points = next(
        (name for name, column in columns.items() if column.decimals == "." and not column.weak), None
    )
    frame = frame.copy(deep=False)
    for name, column in columns.items():
        if column.decimals == "?" and bool(commas) == bool(points):
            place, cell = column.unclear
            without_signs = cell.replace(",", "").replace(".", "")
            raise two_readings(
                "decimal",
                f"the column {name} can be read in two ways: {cell} in row {place + 1} is {without_signs} or {cell.replace(',', '.')}: say which",
                {
                    sign: f"{cell} is {cell.replace(',', '.') if sign in cell else without_signs}"
                    for sign in ".,"
                },
            )
        typed = column.typed("," if commas else ".")
        if typed is not None:
            frame[name] = typed
    return frame


class _Column:
    """The cells of a possible column of numbers, and how they can be read.

    ``decimals`` is the sign before the decimals, ``?`` where both readings are possible and differ, ``""`` where neither is needed,
    None where the column holds text.
    """

    def __init__(self, cells: list[Any], reading: CellReading) -> None:
        self.cells = cells
        self._reading = reading
        texts = {
            cell: _plain(cell, reading) for cell in set(filter(lambda cell: isinstance(cell, str), cells))
        }
        self._texts = texts
        numbers = [
            text
            for text in texts.values()
            if text.casefold() not in MISSING and not _INFINITE.fullmatch(text)
        ]
        self.weak = all(_WEAK.fullmatch(text) for text in numbers if "." in text)
        self.decimals: str | None = None
        self._others = [cell for cell in cells if not isinstance(cell, str) and not is_missing(cell)]
        if not (numbers or self._others) or any(map(_CODE.fullmatch, numbers)):
            return
        if any(
            isinstance(cell, bool) or not isinstance(cell, int | float | Decimal) for cell in self._others
        ):
            return
        possible = [
            sign for sign in ".," if all(map(_numbers_with(sign, reading.thousands).fullmatch, numbers))
        ]
        possible = [sign for sign in possible if sign == reading.decimal] or possible
        if possible:
            signs = any("." in text or "," in text for text in numbers)
            self.decimals = "" if not signs else possible[0] if len(possible) == 1 else "?"

    @property
    def unclear(self) -> tuple[int, str]:
        """The place and text of the first cell with a sign."""
        return next(
            (place, self._texts[cell]) for place, cell in enumerate(self.cells)
            if isinstance(cell, str) and any(sign in self._texts[cell] for sign in ".,")
        )  # fmt: skip

    def typed(self, usual: str) -> pd.Series[Any] | None:
        """Return the column as numbers or truth values; None for text."""
        import pandas as pd

        if self.decimals is None:
            words = {text.casefold() for text in self._texts.values()} - MISSING
            if words and words <= {"true", "false"} and not self._others:
                flags = {
                    cell: {"true": True, "false": False}.get(text.casefold())
                    for cell, text in self._texts.items()
                }
                return pd.Series([flags.get(cell) for cell in self.cells], dtype="boolean")
            return pd.Series(self.cells, dtype="object").infer_objects() if self._others else None
        decimal = usual if self.decimals == "?" else self.decimals or "."
        drop = self._reading.thousands or (",." if decimal == "." else ".,")[0]
        values = {
            cell: math.nan
            if text.casefold() in MISSING
            else float(text.replace(drop, "").replace(decimal, "."))
            for cell, text in self._texts.items()
        }
        return pd.Series(
            [
                values[cell] if isinstance(cell, str) else math.nan if is_missing(cell) else float(cell)
                for cell in self.cells
            ],
            dtype="float64",
        )


def _plain(cell: str, reading: CellReading) -> str:
    text = cell.strip().replace("\u2212", "-")
    return text.translate(dict.fromkeys(map(ord, _SPACES), " ")) if reading.thousands == " " else text


def _numbers_with(decimal: str, thousands: str) -> re.Pattern[str]:
    if thousands == decimal:
        return re.compile(r"(?!)")  # no number has one sign for both
    group = re.escape(thousands or ("," if decimal == "." else "."))
    point = re.escape(decimal)
    # by thousands, or by hundreds beyond the first thousand, as India writes them
    integer = rf"\d+|[1-9]\d{{0,2}}({group}\d{{3}})+|[1-9]\d?({group}\d\d)+{group}\d{{3}}"
    return re.compile(
        rf"[+-]?(({integer})({point}\d*)?|{point}\d+)([eE][+-]?\d{{1,4}})?",
        re.ASCII,
    )


def is_missing(cell: Any) -> bool:
    """Whether a cell of a table is empty."""
    import pandas as pd

    return bool(pd.api.types.is_scalar(cell) and pd.isna(cell))


def check_columns(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """Normalise column names; refuse too many, duplicate and unwritable ones.

    Raises `UsageError`: One line that names the column.
    """
    if len(frame.columns) > MOST_COLUMNS:
        raise UsageError(
            f"{name} has {len(frame.columns)} columns, at most {MOST_COLUMNS} are allowed: keep those that claims are about"
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


def _parquet(path: Path) -> pd.DataFrame:
    # by DuckDB, which every installation has; pandas would want pyarrow
    import duckdb

    with duckdb.connect(config={"threads": 2}) as connection:
        table: pd.DataFrame = connection.execute("SELECT * FROM read_parquet(?)", [str(path)]).df()
    return table
