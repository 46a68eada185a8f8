"""Answer from the user's own rows by DuckDB over the Parquet copy: a window of ten million rows takes milliseconds.

The query leaves out what was not known by the cutoff before it counts or picks anything, and the policy judges every row once more.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from proxies.catalogue.schema import Endpoint
from proxies.errors import NoSuch, ParameterInvalid, SourceUnavailable
from proxies.fetch.cache import RawAnswer
from proxies.json_text import Fields, Row
from proxies.settings import ProxySettings
from proxies.vendors.own.own_manifest import (
    DATE,
    KNOWN,
    MOST_ROWS,
    PLACE,
    VALUE,
    OwnManifest,
    own_sources,
    rows_path,
)

if TYPE_CHECKING:
    import bm25s
    import Stemmer

_WORD = re.compile(r"\w+")
#: Characters of a page that a result shows: the part with most of the words that were asked for.
EXCERPT = 600
#: Words of a question that count.
_MOST_WORDS = 60


class OwnRows:
    """Reads own sources; no network."""

    name = "own"

    def __init__(self, settings: ProxySettings) -> None:
        self._settings = settings
        # read once, like the catalogue: a source that is replaced meanwhile is another version, and a file of its own
        self._sources = own_sources(settings.own_folder, settings.own_at)
        self._lock = threading.Lock()
        self._connection: Any = None
        self._indexes: dict[tuple[str, ...], tuple[list[Row], PageIndex]] = {}

    async def fetch(self, endpoint: Endpoint, params: Fields) -> RawAnswer:
        """Return the rows of a source in a window, oldest first, as known by ``known_by``.

        Raises `ParameterInvalid`: More rows than one answer holds. Raises `SourceUnavailable`: The copy in the data folder is gone or
        cannot be read.
        """
        paths = {path: item for item in self._sources.values() for path in (item.path, item.pages_path)}
        item = paths.get(endpoint.path)
        if item is None or self._settings.own_folder is None:
            raise NoSuch(f"there is no own source at {endpoint.path}")
        path = rows_path(self._settings.own_folder, item.name, item.version)
        answer = self._rows
        if item.kind == "documents":
            answer = self._search_results if endpoint.path == item.path else self._pages
        rows = await asyncio.to_thread(answer, path, item, dict(params))
        return RawAnswer(body=orjson.dumps(rows, default=_as_text), fetched_at=self._settings.now())

    def _rows(self, path: Path, item: OwnManifest, params: Row) -> list[Row]:
        names, batch = self._selected(path, item, *rows_query(path, item, params))
        if len(batch) > MOST_ROWS:
            raise ParameterInvalid(
                f"{item.path} has more than {MOST_ROWS:,} rows there: ask for a window (start, end) or the newest rows (limit)"
            )
        rows = [dict(zip(names, row, strict=True)) for row in reversed(batch)]
        return [{name: _json_value(value) for name, value in row.items()} for row in rows]

    def _search_results(self, path: Path, item: OwnManifest, params: Row) -> list[Row]:
        """Search the pages of documents known by ``known_by``; only their words are counted."""
        sql, values = pages_query(path, params)
        key = (item.version, *map(str, values))
        with self._lock:
            indexed = self._indexes.get(key)
        if indexed is None:
            names, batch = self._selected(path, item, sql, values)
            pages = [dict(zip(names, row, strict=True)) for row in batch]
            indexed = pages, PageIndex([f"{page['title']} {page['text']}" for page in pages])
            with self._lock:
                # a run asks at one cutoff; a study at many, one after the other
                self._indexes = {key: indexed}
        pages, index = indexed
        query = str(params["query"])
        rows = [pages[place] for place in index.best(query, int(params.get("limit") or 10))]
        return [_page_row(item, page, index.excerpt(page["text"], query)) for page in rows]

    def _pages(self, path: Path, item: OwnManifest, params: Row) -> list[Row]:
        names, batch = self._selected(path, item, *pages_query(path, params))
        if not batch:
            raise NoSuch(f"{item.name} has no such document or page: search names them")
        pages = [dict(zip(names, row, strict=True)) for row in batch]
        return [_page_row(item, page, page["text"]) for page in pages]

    def _selected(
        self, path: Path, item: OwnManifest, sql: str, values: list[Any]
    ) -> tuple[list[str], list[Any]]:
        """Run one query over a copy; return the columns' names and the rows, at most one more than an answer may hold."""
        import duckdb

        if not path.is_file():
            raise SourceUnavailable(f"the copy of {item.name} is not in the data folder: add it again")
        with self._lock:
            if self._connection is None:
                # two threads: a window is small, and other leaves ask at the same time
                self._connection = duckdb.connect(config={"threads": 2, "memory_limit": "1GB"})
            cursor = self._connection.cursor()
        try:
            cursor.execute(sql, values)
            names = [column[0] for column in cursor.description]
            batch = cursor.fetchmany(MOST_ROWS + 1)
        except duckdb.Error as error:
            raise SourceUnavailable(
                f"the copy of {item.name} cannot be read ({type(error).__name__}): add it again"
            ) from error
        finally:
            cursor.close()
        return names, batch

    async def aclose(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def rows_query(path: Path, item: OwnManifest, params: Fields) -> tuple[str, list[Any]]:
    """Build the SQL of a request and its values: rows newest first, one more than an answer may hold.

    Names of columns come from the manifest, never from the caller; everything else is a value.
    """
    conditions: list[str] = []
    values: list[Any] = [str(path)]
    dated = item.policy.kind != "static"
    if dated and params.get("known_by"):
        conditions.append(f"{_quoted(KNOWN)} <= ?")
        values.append(_utc(params["known_by"]))
    for name, sign in (("start", ">="), ("end", "<=")):
        if params.get(name):
            conditions.append(f"{_quoted(DATE)} {sign} ?")
            values.append(date.fromisoformat(params[name]) if item.by_day else _utc(params[name]))
    if item.by and params.get("by"):
        conditions.append(f"{_quoted(item.by)}::VARCHAR = ?")
        values.append(params["by"])
    column = params.get("column")
    column = item.value if column == VALUE else column
    known_by = _utc(params["known_by"]) if dated and params.get("known_by") else None
    there = [
        column.name
        for column in item.columns
        if column.since is None or known_by is None or column.since <= known_by
    ]
    names = [column] if column else there
    selected = "".join(f", {_quoted(name)} AS {_quoted('value' if column else name)}" for name in names)
    # for the policy, which takes it out again; who asks without a cutoff has no policy behind them
    known_column = f", {_quoted(KNOWN)}" if dated and params.get("known_by") else ""
    newest = ""
    if item.policy.kind == "vintage":
        group = ", ".join(_quoted(name) for name in (DATE, item.by) if name)
        newest = f" QUALIFY row_number() OVER (PARTITION BY {group} ORDER BY {_quoted(KNOWN)} DESC, {_quoted(PLACE)} DESC) = 1"
    # of a column that is asked for alone, days without a value are left out, as vendors leave out holidays
    outer = ' WHERE "value" IS NOT NULL' if column else ""
    clause = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    limit = min(int(params.get("limit") or MOST_ROWS + 1), MOST_ROWS + 1)
    sql = (
        f"SELECT * EXCLUDE ({_quoted(PLACE)}) FROM (SELECT {_quoted(DATE)} AS date, {_quoted(PLACE)}{selected}{known_column} "
        f"FROM read_parquet(?){clause}{newest}){outer} ORDER BY date DESC, {_quoted(PLACE)} DESC LIMIT {limit}"
    )
    return sql, values


def pages_query(path: Path, params: Fields) -> tuple[str, list[Any]]:
    """Build the SQL of documents' pages and its values: those known by ``known_by``, in order; of one document if named."""
    conditions = ["TRUE"]
    values: list[Any] = [str(path)]
    known_column = ""
    if params.get("known_by"):
        known_column = f", {_quoted(KNOWN)}"
        conditions.append(f"{_quoted(KNOWN)} <= ?")
        values.append(_utc(params["known_by"]))
    if params.get("start"):
        conditions.append(f"{_quoted(DATE)} >= ?")
        values.append(date.fromisoformat(params["start"]))
    limit = MOST_ROWS
    if params.get("document"):
        conditions += ["document = ?", "page >= ?"]
        values += [params["document"], int(params.get("page") or 1)]
        limit = int(params.get("limit") or 1)
    sql = (
        f"SELECT {_quoted(DATE)} AS date, document, page::INTEGER AS page, title, text{known_column} FROM read_parquet(?) "
        f"WHERE {' AND '.join(conditions)} ORDER BY {_quoted(PLACE)} LIMIT {limit}"
    )
    return sql, values


def _page_row(item: OwnManifest, page: Fields, text: str) -> Row:
    cite = f"own:{item.name}/{page['document']}, page {page['page']} ({page['date']})"
    return {name: _json_value(value) for name, value in page.items()} | {"text": text, "cite": cite}


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _utc(text: str) -> datetime:
    """Convert an instant to the copies' form, UTC without its zone: DuckDB needs another package for zones."""
    return datetime.fromisoformat(text).astimezone(UTC).replace(tzinfo=None)


def _json_value(value: Any) -> Any:
    if isinstance(value, float) and value != value:
        return None
    if isinstance(value, datetime):
        if value.tzinfo is None:
            value = value.replace(tzinfo=UTC)
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    return value


def _as_text(value: Any) -> str:
    # decimals and intervals of a column that was added as text
    return str(value)


class PageIndex:
    """The index of some pages by BM25.

    Only pages known at the cutoff are in it: a later document changes neither an order nor a score.
    """

    def __init__(self, pages: Sequence[str]) -> None:
        # imported here: 0.3 s, which a process that searches nothing need not pay
        import bm25s
        import Stemmer

        self._stemmer: Stemmer.Stemmer = Stemmer.Stemmer("english")
        self._count = len(pages)
        self._index: bm25s.BM25 = bm25s.BM25(k1=1.2, b=0.75)
        # a page without a word is not taken by the library in every release
        self._index.index([self._stems(text) or ["\x00"] for text in pages], show_progress=False)

    def best(self, query: str, most: int) -> list[int]:
        """Return the places of the pages with a word of the question, best first; ties in the pages' own order."""
        stems = [stem for stem in self._query_stems(query) if stem in self._index.vocab_dict]
        if not stems or not self._count:
            return []
        scores = self._index.get_scores(stems)
        order = sorted(range(self._count), key=lambda place: (-float(scores[place]), place))
        return [place for place in order[:most] if scores[place] > 0]

    def excerpt(self, text: str, query: str) -> str:
        """Return the part of a page with most of the question's words, whole words only."""
        if len(text) <= EXCERPT:
            return text
        stems = set(self._query_stems(query))
        starts = [
            match.start() for match in _WORD.finditer(text) if stems.intersection(self._stems(match[0]))
        ]
        start = max(
            starts,
            key=lambda first: (sum(first <= start < first + EXCERPT for start in starts), -first),
            default=0,
        )
        start = 0 if start < 80 else text.rfind(" ", 0, start - 60) + 1
        end = start + EXCERPT
        cut = text[start:end] if end >= len(text) else text[start:end].rsplit(None, 1)[0]
        return ("... " if start else "") + cut.strip() + (" ..." if end < len(text) else "")

    def _stems(self, text: str) -> list[str]:
        stems: list[str] = self._stemmer.stemWords(_WORD.findall(text.casefold()))
        return stems

    def _query_stems(self, query: str) -> list[str]:
        return list(dict.fromkeys(self._stems(query)))[:_MOST_WORDS]
