"""Read the rows of a new source from a file, an Excel sheet, a database or a Python table, and build the source."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proxies.input_files import MOST_YAML_BYTES, InputRefused, read_text
from proxies.json_text import Fields, Row
from proxies.vendors.own.own_manifest import own_folder, own_sources
from proxies.yaml_text import line_of, parse_yaml
from workbench.errors import UsageError
from workbench.sources.excel_files import read_excel
from workbench.sources.new_source import NewSource, SourceRequest, new_source, request_of
from workbench.sources.sql_query import is_database, read_query
from workbench.sources.table_files import EXCEL, read_table

if TYPE_CHECKING:
    import pandas as pd


def is_query_file(path: Path) -> bool:
    """Whether a YAML file holds a database query with all the options of ``source add``."""
    return path.suffix.lower() in (".yaml", ".yml") and path.is_file() and "query" in _yaml_of(path)


def _yaml_of(path: Path) -> Row:
    try:
        document = parse_yaml(read_text(path, most=MOST_YAML_BYTES), path.name)
    except InputRefused as error:
        raise UsageError(str(error)) from None
    return document if isinstance(document, dict) else {}


def _query_file(path: Path, options_given: Fields) -> tuple[str, str, Row]:
    """Read the address, the query and the options of a query's file; options of the command line win."""
    document = _yaml_of(path)
    field_names = {*SourceRequest.model_fields} - {"name"}
    unknown = sorted({*document} - field_names - {"address", "query"})
    if unknown:
        line = line_of(read_text(path), (unknown[0],))
        raise UsageError(f"{path.name} line {line}: there is no {unknown[0]!r:.40} here; known are address, query, {', '.join(sorted(field_names))}")  # fmt: skip
    if not all(isinstance(document.get(name), str) for name in ("address", "query")):
        raise UsageError(f"{path.name}: address and query are needed, each a text")
    options = {name: value for name, value in document.items() if name not in ("address", "query")}
    return (
        str(document["address"]),
        str(document["query"]),
        options | {k: v for k, v in options_given.items() if v},
    )


async def open_source(
    home: Path,
    name: str,
    where: str | Path | pd.DataFrame | pd.Series[Any],
    options: Fields,
    *,
    environ: Mapping[str, str],
    sheet: str = "",
    query: str = "",
) -> NewSource:
    """Open a source, read and dated, and store nothing; a known name keeps its earlier options.

    `said`: Fields of `SourceRequest` without the name; empty ones count as not said.

    Raises `UsageError`: One line that says what is wrong with the request, the file or its rows. Raises `IsolationUnavailable`: An Excel
    file, and nothing can be sealed here.
    """
    if isinstance(where, str | Path) and is_query_file(Path(where)):
        where, query, options = _query_file(Path(where), options)
    before = own_sources(own_folder(home)).get(name)
    if before is not None and before.kind != "rows":
        raise UsageError(f"{name} holds documents: give the rows another name")
    if before is not None:
        request = request_of(before, options)
    else:
        request = SourceRequest.read({key: value for key, value in options.items() if value} | {"name": name})
    request.check()
    if not isinstance(where, str | Path):
        where = _as_table(where, request.date or "date", request.value)
        return new_source(request, where, origin="a table of Python's", now=datetime.now(UTC))
    if is_database(str(where)):
        frame, origin = await read_query(str(where), query, environ=environ)
    elif query:
        raise UsageError(
            "a query goes to a database: give a DuckDB file or an address such as postgresql://user@host/db"
        )
    else:
        path = Path(where).expanduser()
        frame = (
            await read_excel(path, sheet, request.cells)
            if path.suffix.lower() in EXCEL
            else read_table(path, request.cells)
        )
        origin = path.name
    return new_source(request, frame, origin=origin, now=datetime.now(UTC))


def _as_table(table: pd.DataFrame | pd.Series[Any], date: str, value: str) -> pd.DataFrame:
    """Convert a Python table: its index becomes columns if it holds dates or has a name; column levels are joined."""
    import pandas as pd

    if not isinstance(table, pd.DataFrame | pd.Series):
        raise UsageError(
            f"a source is a file, a database, a DataFrame or a Series, not {type(table).__name__}"
        )
    frame = (
        table.to_frame(table.name or value or "value")
        if isinstance(table, pd.Series)
        else table.copy(deep=False)
    )
    if isinstance(frame.columns, pd.MultiIndex):
        levels = [
            level
            for level in range(frame.columns.nlevels)
            if frame.columns.get_level_values(level).nunique() > 1
        ]
        joined = [
            " ".join(str(name[level]) for level in levels or [0] if name[level] != "")
            for name in frame.columns
        ]
        frame.columns = pd.Index(joined)
    frame.columns = frame.columns.map(str)
    if date not in frame.columns and frame.index.nlevels == 1 and frame.index.name in (None, date):
        frame.index.name = date
    plain = isinstance(frame.index, pd.RangeIndex) and frame.index.name is None
    if plain or (date in frame.columns and not set(filter(None, frame.index.names)) - {*frame.columns}):
        return frame.reset_index(drop=True)
    return frame.reset_index()
