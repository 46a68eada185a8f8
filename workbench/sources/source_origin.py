"""Where the rows of a new source come from: a file, an Excel sheet, a table of Python's; and the whole way to a stored source."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proxies.vendors.own.own_manifest import own_folder, own_sources
from workbench.errors import Option, UsageError
from workbench.sources.excel_files import read_excel
from workbench.sources.new_source import NewSource, SourceRequest, new_source, request_of
from workbench.sources.sql_query import is_database, read_query
from workbench.sources.table_files import EXCEL, read_table

if TYPE_CHECKING:
    import pandas as pd


async def open_source(
    home: Path,
    name: str,
    where: str | Path | pd.DataFrame,
    said: Mapping[str, Any],
    *,
    environ: Mapping[str, str],
    sheet: str = "",
    query: str = "",
) -> NewSource:
    """Return a source read and dated, with nothing stored yet; of a known name what was said before holds still.

    Parameters
    ----------
    where : path, DSN or DataFrame
    said : mapping
        Fields of `SourceRequest` without the name; empty ones count as not said.

    Raises
    ------
    UsageError
        One line that says what is wrong with the request, the file or its rows.
    IsolationUnavailable
        An Excel file, and nothing can be sealed here.
    """
    before = own_sources(own_folder(home)).get(name)
    if before is not None and before.kind != "rows":
        raise UsageError(f"{name} holds documents: give the rows another name")
    if before is not None:
        request = request_of(before, said)
    elif not said.get("date"):
        raise UsageError("say which column dates the rows: ", Option("date", "COLUMN"))
    else:
        request = SourceRequest(name=name, **{key: value for key, value in said.items() if value})
    request.check()
    if not isinstance(where, str | Path):
        return new_source(request, where, origin="a table of Python's", now=datetime.now(UTC))
    if is_database(str(where)):
        frame, origin = await read_query(str(where), query, environ=environ)
    elif query:
        raise UsageError(
            "a query goes to a database: give a DuckDB file or an address such as postgresql://user@host/db"
        )
    else:
        path = Path(where).expanduser()
        frame = await read_excel(path, sheet) if path.suffix.lower() in EXCEL else read_table(path)
        origin = path.name
    return new_source(request, frame, origin=origin, now=datetime.now(UTC))
