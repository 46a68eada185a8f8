"""Read a sheet of an Excel file as a table, the first one by default; parsed in a sealed kernel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from workbench.errors import Option, UsageError
from workbench.formatting import counted
from workbench.sources.sealed_reader import read_sealed
from workbench.sources.table_files import CellReading, check_size, written_table

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS = 300_000
# values as Excel last computed them; nothing of the file is run, and links to other files are not followed
_PARSE = """
import datetime, io, openpyxl
book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
wanted = {sheet!r}
names = book.sheetnames
answer = {{"sheets": names}}
if not wanted or wanted in names:
    def plain(cell):
        if isinstance(cell, datetime.datetime):
            return {{"t": cell.isoformat()}}
        if isinstance(cell, datetime.date):
            return {{"t": cell.isoformat() + "T00:00:00"}}
        if isinstance(cell, float) and cell != cell:
            return None
        return cell if cell is None or isinstance(cell, (bool, int, float)) else str(cell)
    def lines(book):
        for place, row in enumerate(book[wanted or names[0]].iter_rows(values_only=True)):
            if place >= {skip} and any(cell is not None for cell in row):
                yield place + 1, row
            if place > {most} + {skip}:
                break
    told = dict(lines(book))
    answer["rows"] = [[plain(cell) for cell in row] for row in told.values()]
    # a program that writes formulas stores no value of them
    empty = {{place for place, row in told.items() if None in row}}
    formulas = []
    if empty:
        book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, keep_links=False)
        for place, row in lines(book):
            values = told.get(place, ())
            formulas += [(place, number) for number, cell in enumerate(row)
                         if place in empty and str(getattr(cell, "text", cell))[:1] == "=" and (number >= len(values) or values[number] is None)]
    answer["formulas"] = [len(formulas), *formulas[:1]]
"""


async def read_excel(path: Path, sheet: str, reading: CellReading) -> pd.DataFrame:
    """Read a sheet of an Excel file; its first row that is not skipped names the columns.

    Raises `UsageError`: No such file or sheet, too many rows, or no Excel file. Raises `IsolationUnavailable`: Nothing can be sealed on
    this machine.
    """
    import pandas as pd

    check_size(path)
    answer = await read_sealed(
        path.read_bytes(),
        path.name,
        _PARSE.format(sheet=sheet, most=MOST_ROWS, skip=reading.skip),
        packages=("openpyxl",),
    )
    if not isinstance(answer, dict) or "rows" not in answer:
        sheets = answer.get("sheets", []) if isinstance(answer, dict) else []
        raise UsageError(
            f"{path.name} has no sheet {sheet!r:.60}: it has {', '.join(map(str, sheets))[:200]}"
        )
    rows = answer["rows"]
    if len(rows) > MOST_ROWS:
        raise UsageError(f"{path.name} has more than {MOST_ROWS:,} rows: write it as CSV or Parquet")
    rows = [row for row in rows if not (reading.comment and str(row[0] or "").startswith(reading.comment))]
    if len(rows) < 2:
        raise UsageError(f"{path.name} holds no row under its header")
    width = max(len(row) for row in rows)
    header, *cells = [
        [
            *(pd.Timestamp(cell["t"]) if isinstance(cell, dict) else cell for cell in row),
            *([None] * (width - len(row))),
        ]
        for row in rows
    ]
    names = [f"Unnamed: {place}" if name is None else str(name) for place, name in enumerate(header)]
    for place, head in enumerate(header):
        row = next((n for n, row in enumerate(cells, 1) if row[place] is not None), 0)
        if head is None and row:
            raise UsageError(
                f"{path.name}: row {row} holds {str(cells[row - 1][place])[:40]!r} in column {place + 1}, which has no name: "
                "name it, or leave lines before the header out with ",
                Option("skip", "3"),
            )
    frame = written_table(names, [list(column) for column in zip(*cells, strict=True)])
    count, *first = answer["formulas"]
    if count:
        frame.attrs["notes"] += [
            f"the sheet stores no value of {counted(count, 'formula')}, the first in row {first[0][0]}, column {first[0][1] + 1}: "
            "missing here, until Excel or LibreOffice has opened the file and saved it"
        ]
    return frame
