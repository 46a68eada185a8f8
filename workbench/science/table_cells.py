"""Cells of a CSV or parquet file as columns, each checked as it is read: the one place of this room where files are opened.

CSV (gzip too, whatever its name) and parquet are read alike. A file is either usable as a whole or refused with one
line that names file, row and column. Rows are counted from 1 after the header; ids are text, also where they look
like numbers.
"""

import io
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from proxies.input_files import InputRefused, csv_columns, csv_encoding, csv_form, read_bytes
from workbench.science.arrays import FloatArray
from workbench.science.errors import TableError

StrArray = NDArray[np.str_]
_MOST_BYTES = 200_000_000  # a published set of forecasts has tens of millions


def read_cells(path: Path) -> pd.DataFrame:
    """Return all cells of a file as they stand: text from CSV, typed values from parquet."""
    try:
        # By content, not by name: gzip and parquet are read whatever the file is called.
        data = read_bytes(path, most=_MOST_BYTES)
    except InputRefused as error:
        raise TableError(path, str(error).removeprefix(f"{path} ")) from None
    if data[:4] == b"PAR1":
        return _parquet(path, data)
    try:
        text = io.StringIO(data.decode(csv_encoding(data)), newline="")
        form = csv_form(text.read(1 << 16))
        text.seek(0)
        # As text, so that an id 001 keeps its zeros and a source called NA stays a name; `Cells.number` parses later.
        header, columns = csv_columns(text, "the file", form)
    except InputRefused as error:
        raise TableError(path, str(error).removeprefix("the file ")) from None
    except UnicodeDecodeError as error:
        raise TableError(path, f"is no CSV that can be read: {' '.join(str(error).split())}") from error
    if twice := next((name for name, count in Counter(header).items() if count > 1), None):
        raise TableError(path, "the column appears twice: rename one", column=twice)
    return pd.DataFrame(dict(zip(header, columns, strict=True)), dtype=str)


def _parquet(path: Path, data: bytes) -> pd.DataFrame:
    try:
        return pd.read_parquet(io.BytesIO(data)).reset_index(drop=True)
    except ImportError as error:
        raise TableError(
            path, "is parquet, which needs the package pyarrow: install it or give CSV"
        ) from error
    except (OSError, ValueError) as error:
        raise TableError(path, f"is no parquet that can be read: {' '.join(str(error).split())}") from error


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells of a file, by column; what cannot be read as asked for is a line with file, row and column."""

    path: Path
    frame: pd.DataFrame

    def __contains__(self, column: str) -> bool:
        return column in self.frame.columns

    def refuse(self, bad: NDArray[np.bool_], column: str, problem: str | Callable[[int], str]) -> None:
        """Raise the one line about the first bad row, if there is any.

        The row's number comes from the frame's index, not from its position: `Events.take` leaves the index as it was read,
        so the line still points at the right row of the file.
        """
        if bad.any():
            position = int(np.argmax(bad))
            text = problem if isinstance(problem, str) else problem(position)
            raise TableError(self.path, text, row=int(self.frame.index[position]) + 1, column=column)

    def require(self, *columns: str) -> "Cells":
        """Refuse a table that lacks one of these columns, or has no row."""
        missing = [column for column in columns if column not in self]
        if missing:
            have = ", ".join(str(column) for column in self.frame.columns[:12])
            raise TableError(self.path, f"the column is missing; the file has: {have}", column=missing[0])
        if not len(self.frame):
            raise TableError(self.path, "has a header but no row")
        return self

    def text(self, column: str, *, blank: bool = False) -> StrArray:
        """Return a column as text, "" for an empty cell where ``blank`` allows one."""
        series = self.frame[column]
        values = np.where(series.isna(), "", series.astype(str).to_numpy(dtype=object)).astype(str)
        if not blank:
            self.refuse(np.char.strip(values) == "", column, "is empty")
        return values

    def number(self, column: str, *, blank: bool = False) -> FloatArray:
        """Return a column as finite numbers, ``nan`` for an empty cell where ``blank`` allows one."""
        series = self.frame[column]
        # Parquet may hold outcomes as True and False.
        if series.dtype == bool:
            series = series.astype(float)
        cell = self.text(column, blank=True)
        text = np.char.strip(cell)
        values = pd.to_numeric(series.where(series.astype(str) != "", None), errors="coerce").to_numpy(
            dtype=np.float64, na_value=np.nan
        )
        absent = np.isin(np.char.lower(text), ("", "nan", "na", "none", "null", "<na>"))
        self.refuse(~np.isfinite(values) & ~absent, column, lambda row: f"{str(cell[row])!r} is not a number")
        if not blank:
            self.refuse(
                absent,
                column,
                lambda row: f"is {repr(str(cell[row])) if text[row] else 'empty'}; a number is needed",
            )
        return values

    def probability(self, column: str, *, blank: bool = False) -> FloatArray:
        """Return a column as numbers from 0 to 1."""
        values = self.number(column, blank=blank)
        self.refuse(
            (values < 0.0) | (values > 1.0),
            column,
            lambda row: f"{values[row]:g} is not a probability between 0 and 1",
        )
        return values

    def refuse_repeated(self, what: str, **keys: NDArray[Any]) -> None:
        """Refuse a table in which two rows have the same keys."""
        frame = pd.DataFrame(keys)
        again = frame.duplicated().to_numpy()
        if again.any():
            row = int(np.argmax(again))
            # Compared again only in the bad case, so that the line can name both rows.
            first = int(np.argmax((frame == frame.iloc[row]).all(axis=1).to_numpy()))
            key = ", ".join(str(value) for value in frame.iloc[row])
            raise TableError(self.path, f"{what} {key} appears twice, first in row {first + 1}", row=row + 1)
