"""The way forward for stored data: what was written by an older workbench opens for ever.

Two things carry a version. The database's tables do, in SQLite's ``PRAGMA user_version``; a database is brought up step by
step when it is opened for writing. An event does, in its column ``v``; the log is append-only, so an old event stays as it
is and is brought up each time it is read. A change of an event's shape raises ``events.VERSION`` and adds one function
to ``UPCASTS``; a change of a table raises ``SCHEMA_VERSION`` and adds one to ``MIGRATIONS``. The stored runs under
tests/fixtures hold both to it.
"""

import sqlite3
from collections.abc import Callable
from typing import Any

from workbench.store.errors import StoreTooNew
from workbench.store.events import VERSION

#: ``PRAGMA user_version`` of a database that this workbench writes.
SCHEMA_VERSION = 1


def _first(db: sqlite3.Connection) -> None:
    """Version 0 is a database from before versions were counted; its tables are those of version 1."""


#: From a version of the tables to the step that makes the next one.
MIGRATIONS: dict[int, Callable[[sqlite3.Connection], None]] = {0: _first}


def migrate(db: sqlite3.Connection) -> None:
    """Bring the tables of an open database up to ``SCHEMA_VERSION``; called inside a write transaction.

    Raises
    ------
    StoreTooNew
        A newer workbench has written it.
    """
    version = int(db.execute("PRAGMA user_version").fetchone()[0])
    if version > SCHEMA_VERSION:
        raise StoreTooNew(
            f"the database has version {version}, this workbench writes {SCHEMA_VERSION}: use the newer workbench"
        )
    for step in range(version, SCHEMA_VERSION):
        MIGRATIONS[step](db)
    db.execute(f"PRAGMA user_version = {SCHEMA_VERSION:d}")


def _evidence_of_a_notebook(event: dict[str, Any]) -> dict[str, Any]:
    """Version 1 knew no other evidence than a notebook and did not name it."""
    if event["kind"] == "leaf.grounded":
        return event | {"evidence": {"kind": "notebook", "package": None, "body": None}}
    return event


def _as_it_is(event: dict[str, Any]) -> dict[str, Any]:
    """Version 3 added ``journal_head`` of ``leaf.grounded``, which an older event leaves at its default."""
    return event


#: From a version of the events to the function that makes the next one, on an event as a dictionary with its kind.
UPCASTS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {1: _evidence_of_a_notebook, 2: _as_it_is}


def upcast(event: dict[str, Any], version: int, *, name: str) -> dict[str, Any]:
    """Return a stored event in today's shape; called for every event that is read; ``name`` is how an error names it.

    Raises
    ------
    StoreTooNew
        A newer workbench has written it, or its version is none that ever was.
    """
    if not 1 <= version <= VERSION:
        raise StoreTooNew(
            f"{name} has version {version}, this workbench reads up to {VERSION}: use the newer workbench"
        )
    for step in range(version, VERSION):
        event = UPCASTS[step](event)
    return event
