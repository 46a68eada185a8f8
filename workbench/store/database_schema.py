"""The tables of ``workbench.db`` as SQL, and the names of their columns.

A change here is a new version of the database: raise ``SCHEMA_VERSION``. Databases of other versions are refused.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import cache

from workbench.store.errors import OtherVersion, StoreCorrupt

#: ``PRAGMA user_version`` of a database that this workbench writes.
SCHEMA_VERSION = 1

# SQLite keeps the text of each CREATE as it stands here and the import of a package compares it letter by letter
# (`schema_objects`): after a change of white space alone, every older package would be refused.
_SCHEMA = """
CREATE TABLE IF NOT EXISTS events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id TEXT NOT NULL, at_utc TEXT NOT NULL, kind TEXT NOT NULL,
    node TEXT, trial INTEGER, v INTEGER NOT NULL, data TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS events_by_run ON events (run_id, seq);
CREATE TRIGGER IF NOT EXISTS events_keep BEFORE UPDATE ON events
    BEGIN SELECT RAISE(ABORT, 'the event log is append-only'); END;
CREATE TRIGGER IF NOT EXISTS events_stay BEFORE DELETE ON events
    BEGIN SELECT RAISE(ABORT, 'the event log is append-only'); END;
CREATE TABLE IF NOT EXISTS bodies (hash TEXT PRIMARY KEY, data BLOB NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS model_calls (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id TEXT NOT NULL, node TEXT NOT NULL, trial INTEGER NOT NULL, attempt INTEGER NOT NULL,
    stage TEXT NOT NULL, step INTEGER NOT NULL, retry INTEGER NOT NULL,
    at_utc TEXT NOT NULL, request_hash TEXT NOT NULL, request TEXT NOT NULL, reply TEXT NOT NULL,
    model TEXT NOT NULL, input_tokens INTEGER, output_tokens INTEGER, cached_tokens INTEGER,
    cost_usd REAL, seconds REAL NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS model_calls_at ON model_calls (run_id, node, trial, attempt, stage, step, retry);
CREATE TABLE IF NOT EXISTS api_calls (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id TEXT NOT NULL, node TEXT NOT NULL, trial INTEGER NOT NULL, attempt INTEGER NOT NULL,
    stage TEXT NOT NULL, step INTEGER NOT NULL, retry INTEGER NOT NULL,
    at_utc TEXT NOT NULL, path TEXT NOT NULL, asked TEXT NOT NULL, sent TEXT NOT NULL, cutoff TEXT NOT NULL,
    request_hash TEXT NOT NULL, answer TEXT, meta TEXT, refused TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS api_calls_at ON api_calls (run_id, node, trial, attempt, stage, step, retry);
"""

# The row of each run in lists, made at the first list after the run's last event; no package holds it. A text is long, and read
# by searches alone: as the last column it lies on pages of its own.
SUMMARIES = """
CREATE TABLE IF NOT EXISTS summaries (
    run_id TEXT PRIMARY KEY, seq INTEGER NOT NULL, made_by TEXT NOT NULL, facts TEXT NOT NULL, text TEXT NOT NULL
) STRICT
"""
# For each run that `doctor --check` found whole, one hash over all that it read; no package holds it.
WHOLE = "CREATE TABLE IF NOT EXISTS whole (run_id TEXT PRIMARY KEY, looked_at TEXT NOT NULL) STRICT"
#: Tables that are made when they are first written to, and can be made anew at any time.
DERIVED = {"summaries": SUMMARIES, "whole": WHOLE}

_ADDRESS = ("run_id", "node", "trial", "attempt", "stage", "step", "retry", "at_utc")
#: The columns of each table that holds rows of runs, without the number that SQLite gives; SQL is made of these names only.
COLUMNS: dict[str, tuple[str, ...]] = {
    "events": ("run_id", "at_utc", "kind", "node", "trial", "v", "data"),
    "model_calls": (
        *_ADDRESS, "request_hash", "request", "reply", "model", "input_tokens", "output_tokens", "cached_tokens",
        "cost_usd", "seconds",
    ),
    "api_calls": (
        *_ADDRESS, "path", "asked", "sent", "cutoff", "request_hash", "answer", "meta", "refused",
    ),
}  # fmt: skip
#: The triggers that keep the log append-only.
GUARDS = frozenset({"events_keep", "events_stay"})
#: The column of each table that orders its rows.
ORDER = {"events": "seq", "model_calls": "id", "api_calls": "id"}

SchemaObjects = set[tuple[str, str, str, str | None]]


def create_tables(db: sqlite3.Connection) -> None:
    """Create the tables, indexes and triggers that are not there yet, as a part of the transaction that is open."""
    for statement in _statements():
        db.execute(statement)


def _statements() -> Iterator[str]:
    # executescript would commit the open transaction first: a process killed in between would leave half a schema
    statement = ""
    for line in _SCHEMA.strip().splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def trigger_sql(name: str) -> str:
    """Return the statement that makes a trigger, letter by letter as `create_tables` has it."""
    return next(statement for statement in _statements() if f"TRIGGER IF NOT EXISTS {name} " in statement)


def insert_row(db: sqlite3.Connection, table: str, values: Sequence[object]) -> int:
    """Insert a row of one of `COLUMNS`' tables, values in that order, and return the number that it got."""
    names = COLUMNS[table]
    marks = ", ".join("?" * len(names))
    cursor = db.execute(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})", tuple(values))
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def schema_objects(db: sqlite3.Connection) -> SchemaObjects:
    """Return the tables, indexes, triggers and views of a database, with the SQL that made them."""
    return set(db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master"))


@cache
def own_schema() -> frozenset[tuple[str, str, str, str | None]]:
    """Return `schema_objects` of a new store, for comparison with a stranger's."""
    # Made by SQLite rather than listed: its own tables, such as that of AUTOINCREMENT, are in it too.
    with closing(sqlite3.connect(":memory:")) as db:
        create_tables(db)
        return frozenset(schema_objects(db))


def database_version(db: sqlite3.Connection) -> int:
    """Return the version of a database's tables: 0 for a new file and for another program's."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def require_today(version: int, today: int, what: str) -> None:
    """Raise ``OtherVersion`` where another version of the workbench wrote it."""
    if version != today:
        cure = (
            "use the newer workbench"
            if version > today
            else "use the workbench that wrote it, or name another data folder with WORKBENCH_HOME"
        )
        raise OtherVersion(f"{what} has version {version}, this workbench reads {today} alone: {cure}")


def open_tables(db: sqlite3.Connection) -> None:
    """Make the tables of an empty database, and refuse those of another version; called inside a write transaction.

    Raises `OtherVersion`: Another version of the workbench has written it. Raises `StoreCorrupt`: It is another program's database:
    nothing is added to it.
    """
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if tables:
        # Version 0 is every other program's default too, so the number alone does not say whose database it is.
        if not tables & {*COLUMNS, "bodies"}:
            raise StoreCorrupt("the database is another program's: it holds no runs")
        require_today(database_version(db), SCHEMA_VERSION, "the database")
        return
    create_tables(db)
    db.execute(f"PRAGMA user_version = {SCHEMA_VERSION:d}")
