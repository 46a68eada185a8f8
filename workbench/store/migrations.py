"""The way forward for stored data: what was written by an older workbench opens for ever.

Two things carry a version. The database's tables do, in SQLite's ``PRAGMA user_version``; a database is brought up step by
step when it is opened. An event does, in its column ``v``; the log is append-only, so an old event stays as it is and is
brought up each time it is read. A change of an event's shape raises ``events.VERSION`` and adds one function to ``UPCASTS``;
a change of a table raises ``schema.SCHEMA_VERSION`` and adds one to ``MIGRATIONS``. The stored runs under tests/fixtures hold
both to it.
"""

import sqlite3
from collections.abc import Callable
from typing import Any

from workbench.store.database_schema import COLUMNS, SCHEMA_VERSION, create_tables
from workbench.store.errors import EventUnreadable, StoreCorrupt, StoreTooNew
from workbench.store.events import VERSION


def _count_versions(db: sqlite3.Connection) -> None:
    """0 to 1: the tables are the same; databases from before versions were counted have no number."""
    create_tables(db)  # one that was killed while it was made may lack an index
    columns = {row[1] for row in db.execute("PRAGMA table_info(model_calls)")}
    if "cached_tokens" not in columns:  # the oldest homes counted no cached tokens
        db.execute("ALTER TABLE model_calls ADD COLUMN cached_tokens INTEGER")


#: From a version of the tables to the step that makes the next one. A step must not touch the rows of ``events``.
MIGRATIONS: dict[int, Callable[[sqlite3.Connection], None]] = {0: _count_versions}


def database_version(db: sqlite3.Connection) -> int:
    """Return the version of a database's tables, which is 0 for a new file and for one from before versions."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def require_known(version: int, what: str = "the database") -> None:
    """Raise ``StoreTooNew`` for a version of the tables that only a newer workbench knows."""
    if version > SCHEMA_VERSION:
        raise StoreTooNew(
            f"{what} has version {version}, this workbench reads up to {SCHEMA_VERSION}: use the newer workbench"
        )
    if version < 0:
        raise StoreCorrupt(f"{what} has version {version}, which no workbench ever wrote")


def pending_steps(db: sqlite3.Connection) -> list[str]:
    """Return what `migrate` would do to the rows that are there, a line each; none for a new database and for one of today.

    Nothing is written. Of another program's database, and of a newer workbench's, nothing would be done.
    """
    version = database_version(db)
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables & {*COLUMNS, "bodies"} or not 0 <= version < SCHEMA_VERSION:
        return []
    return [" ".join((MIGRATIONS[step].__doc__ or "").split()) for step in range(version, SCHEMA_VERSION)]


def migrate(db: sqlite3.Connection) -> None:
    """Make the tables of an empty database, or bring those of an older one up; called inside a write transaction.

    Raises
    ------
    StoreTooNew
        A newer workbench has written it.
    StoreCorrupt
        It is another program's database: nothing is added to it.
    """
    version = database_version(db)
    require_known(version)
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    # Version 0 is every other program's default too, so the number alone does not say whose database it is.
    if tables and not tables & {*COLUMNS, "bodies"}:
        raise StoreCorrupt("the database is another program's: it holds no runs")
    if version == SCHEMA_VERSION:
        return
    if tables:
        for step in range(version, SCHEMA_VERSION):
            MIGRATIONS[step](db)
    else:
        create_tables(db)
    db.execute(f"PRAGMA user_version = {SCHEMA_VERSION:d}")


def _name_notebook_evidence(event: dict[str, Any]) -> dict[str, Any]:
    """1 to 2: version 1 knew no other evidence than a notebook and did not name it."""
    if event["kind"] == "leaf.grounded":
        return event | {"evidence": {"kind": "notebook", "package": None, "body": None}}
    return event


def _as_it_is(event: dict[str, Any]) -> dict[str, Any]:
    """Version 3 added ``journal_head`` of ``leaf.grounded``, version 4 ``dead`` of ``leaf.pooled``: defaults for an older event. Version 5 added ``leaks.audited``,
    version 6 ``looked_up`` of ``node.synthesized``, version 7 ``reply_to`` of comments, ``comment.settled``, ``estimate.given`` and runs that wait for
    approval as a whole.
    """
    return event


#: From a version of the events to the function that makes the next one, on an event as a dictionary with its kind.
UPCASTS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {
    1: _name_notebook_evidence,
    2: _as_it_is,
    3: _as_it_is,
    4: _as_it_is,
    5: _as_it_is,
    6: _as_it_is,
}


def upcast(event: dict[str, Any], version: int, *, name: str) -> dict[str, Any]:
    """Return a stored event in today's shape; called for every event that is read.

    ``name`` says in messages which event it is.

    Raises
    ------
    StoreTooNew
        A newer workbench has written it.
    EventUnreadable
        Its version is none that ever was.
    """
    if version > VERSION:
        raise StoreTooNew(
            f"{name} has version {version}, this workbench reads up to {VERSION}: use the newer workbench"
        )
    if version < 1:
        raise EventUnreadable(f"{name} has version {version}, which no workbench ever wrote")
    for step in range(version, VERSION):
        event = UPCASTS[step](event)
    return event
