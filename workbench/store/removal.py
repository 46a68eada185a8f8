"""Taking a run out of a home: its rows, the bodies that nothing else names, and its folder, all or nothing.

The log is append-only for everybody else; here its guard is lifted inside the one transaction and set again before the end.
"""

import re
import shutil
import sqlite3
from pathlib import Path
from typing import NamedTuple

from workbench.store.database import Store
from workbench.store.database_schema import COLUMNS, trigger_sql

_HASH = re.compile(r"sha256:[0-9a-f]{64}")
_REMOVED = ".removed-"
_GUARD = "events_stay"


class RemovedRun(NamedTuple):
    """What a removal took: rows, bodies, bytes of bodies, files and folders."""

    rows: int
    bodies: int
    body_bytes: int
    files: int


def remove_run(store: Store, run_id: str) -> RemovedRun:
    """Remove a run; called by ``workbench rm``, which holds the run's lock.

    A kill leaves all or nothing: the folder is renamed before the commit, and `settle` puts it back, or deletes it, by
    whether the rows are there.
    """
    settle(store)
    folder = store.folder(run_id)
    aside = folder.with_name(f"{_REMOVED}{run_id}")
    with store.transaction() as db:
        before = _named(db, run_id)
        rows = _delete_rows(db, run_id)
        bodies, size = _delete_bodies(db, before - _named(db))
        if folder.is_dir():
            folder.rename(aside)
    files = sum(1 for path in aside.rglob("*") if path.is_file()) if aside.is_dir() else 0
    settle(store)
    return RemovedRun(rows, bodies, size, files)


def collect_garbage(store: Store) -> RemovedRun:
    """Remove bodies that no row names, half-written files, and folders of removed runs; ``workbench gc``."""
    files = settle(store) + sweep(store.home / "runs")
    with store.transaction() as db:
        everything = {digest for (digest,) in db.execute("SELECT hash FROM bodies")}
        bodies, size = _delete_bodies(db, everything - _named(db))
    store.compact()
    return RemovedRun(0, bodies, size, files)


def settle(store: Store) -> int:
    """Finish removals that a kill cut off, one way or the other; return how many folders were deleted."""
    known, count = set(store.run_ids()), 0
    for aside in (store.home / "runs").glob(f"{_REMOVED}*"):
        run_id = aside.name.removeprefix(_REMOVED)
        if run_id in known and not store.folder(run_id).exists():
            aside.rename(store.folder(run_id))
        else:
            shutil.rmtree(aside)
            count += 1
    return count


def sweep(folder: Path) -> int:
    """Delete the temporary files that a killed process left behind, below a folder; return how many.

    They are named by ``proxies.atomic``: a dot, the target's name, eight random digits.
    """
    count = 0
    for path in folder.rglob(".*"):
        if re.fullmatch(r"\..+\.[0-9a-f]{8}", path.name) and path.is_file() and not path.is_symlink():
            path.unlink(missing_ok=True)
            count += 1
    return count


def _delete_rows(db: sqlite3.Connection, run_id: str) -> int:
    db.execute(f"DROP TRIGGER IF EXISTS {_GUARD}")
    count = 0
    for table in COLUMNS:
        count += db.execute(f"DELETE FROM {table} WHERE run_id = ?", (run_id,)).rowcount
    db.execute(trigger_sql(_GUARD))
    return count


def _delete_bodies(db: sqlite3.Connection, digests: set[str]) -> tuple[int, int]:
    count = size = 0
    for digest in digests:
        row = db.execute("SELECT length(data) FROM bodies WHERE hash = ?", (digest,)).fetchone()
        if row is not None:
            count, size = count + 1, size + row[0]
            db.execute("DELETE FROM bodies WHERE hash = ?", (digest,))
    return count, size


def _named(db: sqlite3.Connection, run_id: str | None = None) -> set[str]:
    """Every hash that the rows of a run (or of all) name, and the bodies that those name in turn."""
    where, values = ("", ()) if run_id is None else (" WHERE run_id = ?", (run_id,))
    named: set[str] = set()
    for (data,) in db.execute(f"SELECT data FROM events{where}", values):
        named.update(_HASH.findall(data))
    for request, reply in db.execute(f"SELECT request, reply FROM model_calls{where}", values):
        named.update((request, reply))
    answers = db.execute(f"SELECT answer FROM api_calls{where}", values)
    named.update(answer for (answer,) in answers if answer is not None)
    # A request is kept as the hashes of its messages; replies and answers name no body.
    for (data,) in db.execute(
        f"SELECT data FROM bodies WHERE hash IN (SELECT request FROM model_calls{where})", values
    ):
        named.update(_HASH.findall(bytes(data).decode("utf-8", "replace")))
    return named
