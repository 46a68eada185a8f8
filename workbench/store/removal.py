"""Remove a run from a home: its rows, the bodies that nothing else names, and its folder, all or nothing."""

import fcntl
import os
import re
import secrets
import shutil
import sqlite3
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from workbench.errors import UsageError
from workbench.store.database import Store, check_run_id
from workbench.store.database_schema import COLUMNS, DERIVED, trigger_sql

_HASH = re.compile(r"sha256:[0-9a-f]{64}")
_REMOVED, _DOOMED = ".removed-", ".doomed-"
_ID_LENGTH = len("20180630-120000-a1b2")
#: Lies in a run's folder while an import moves it in, until its rows are committed.
MOVING = ".moving"
#: Files that a process writes into the folder of a run that another removes meanwhile; all of them are made from the log.
_HUSK = frozenset({"owner.lock", "manifest.json", "tree.json", "report.html", "checks.json"})
_GUARD = "events_stay"


class RemovedRun(NamedTuple):
    """The size of a removal: rows, bodies, bytes of bodies, files and folders."""

    rows: int
    bodies: int
    body_bytes: int
    files: int


def remove_run(store: Store, run_id: str) -> RemovedRun:
    """Remove a run; called by ``workbench rm``, which holds the run's lock.

    A kill leaves all or nothing: the folder is renamed before the commit, and `settle` puts it back, or deletes it, by
    whether the rows are there.
    """
    folder = store.folder(run_id)
    aside = folder.with_name(
        f"{_REMOVED}{run_id}-{secrets.token_hex(4)}"
    )  # another one may be on its way out
    with store.transaction() as db:
        before = named_bodies(db.execute, run_id)
        rows = _delete_rows(db, run_id)
        bodies, size = _delete_bodies(db, before - named_bodies(db.execute))
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
        bodies, size = _delete_bodies(db, everything - named_bodies(db.execute))
    store.compact()
    return RemovedRun(0, bodies, size, files)


def runs_naming(store: Store, source: str) -> set[str]:
    """Return the runs that read a source of the user's own, or whose claim or settings name it."""
    # by the endpoint too: a call may write a short form of the path
    calls = store.query(
        "SELECT DISTINCT run_id FROM api_calls WHERE path LIKE ? OR meta LIKE ?",
        (f"%own/{source}/%", f'%"endpoint":"own/{source}/%'),
    )
    events = store.query(
        "SELECT DISTINCT run_id FROM events WHERE data LIKE ? OR data LIKE ?",
        (f"%own:{source}%", f"%own/{source}/%"),
    )
    return {row["run_id"] for row in (*calls, *events)}


def runs_calling(store: Store, source: str) -> set[str]:
    """Return the runs that called a service of the user's own, by the name that its paths begin with."""
    calls = store.query(
        "SELECT DISTINCT run_id FROM api_calls WHERE path LIKE ? OR meta LIKE ?",
        (f"{source}/%", f'%"endpoint":"{source}/%'),
    )
    return {row["run_id"] for row in calls}


def runs_with_service(store: Store, source: str) -> set[str]:
    """Return the runs that called a service of the user's own, or whose claim or settings name it."""
    events = store.query("SELECT DISTINCT run_id FROM events WHERE data LIKE ?", (f"%service:{source}/%",))
    return runs_calling(store, source) | {row["run_id"] for row in events}


def began_at(store: Store, run_id: str) -> datetime | None:
    """Return the time a run began, which decides the versions of the user's own data it reads; None for one without a log."""
    rows = store.query("SELECT at_utc FROM events WHERE run_id = ? ORDER BY seq LIMIT 1", (run_id,))
    return datetime.fromisoformat(rows[0]["at_utc"]) if rows else None


def settle(store: Store) -> int:
    """Finish removals and imports that a kill cut off, one way or the other; return the number of deleted folders.

    What is whose is decided inside a write transaction: there nobody else is between a rename and its commit.
    """
    runs = store.home / "runs"
    with store.transaction():
        run_ids = set(store.run_ids())
        for path in sorted(runs.iterdir()) if runs.is_dir() else ():
            if path.name.startswith(_REMOVED):
                run_id = path.name.removeprefix(_REMOVED)[:_ID_LENGTH]
                if run_id in run_ids and not store.folder(run_id).exists():
                    path.rename(store.folder(run_id))
                else:
                    _doom(path)
            elif path.name in run_ids:
                (path / MOVING).unlink(missing_ok=True)
            elif path.is_dir() and _is_husk(path):
                _doom(path)
    doomed = list(runs.glob(f"{_DOOMED}*"))
    for path in doomed:
        shutil.rmtree(path, ignore_errors=True)  # another process may be at it too
    return len(doomed)


def _doom(path: Path) -> None:
    # Deleted after the transaction, which others wait for; a name of its own, so that nothing comes back under it.
    path.rename(path.with_name(f"{_DOOMED}{secrets.token_hex(8)}"))


def _is_husk(folder: Path) -> bool:
    """Whether a folder that no row names was left by a killed import, or by a writer into a removed run.

    Anything else there may be all that is left of a database that was lost, and is not ours to delete.
    """
    try:
        check_run_id(folder.name)
        if not (folder / MOVING).exists() and {path.name for path in folder.iterdir()} - _HUSK:
            return False
        lock = os.open(folder / "owner.lock", os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    except (UsageError, OSError):
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:  # somebody is just finding out that the run is gone
        return False
    finally:
        os.close(lock)
    return True


def sweep(folder: Path) -> int:
    """Delete the temporary files of killed processes below a folder; return their number.

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
    for table, statement in DERIVED.items():
        db.execute(statement)
        db.execute(f"DELETE FROM {table} WHERE run_id = ?", (run_id,))
    return count


def _delete_bodies(db: sqlite3.Connection, digests: set[str]) -> tuple[int, int]:
    count = size = 0
    for digest in digests:
        row = db.execute("SELECT length(data) FROM bodies WHERE hash = ?", (digest,)).fetchone()
        if row is not None:
            count, size = count + 1, size + row[0]
            db.execute("DELETE FROM bodies WHERE hash = ?", (digest,))
    return count, size


def named_bodies(
    query: Callable[[str, tuple[object, ...]], Iterable[Any]], run_id: str | None = None
) -> set[str]:
    """Return every hash that the rows of a run (or of all) name, and the hashes in those bodies in turn."""
    where, values = ("", ()) if run_id is None else (" WHERE run_id = ?", (run_id,))
    named: set[str] = set()
    for (data,) in query(f"SELECT data FROM events{where}", values):
        named.update(_HASH.findall(data))
    for request, reply in query(f"SELECT request, reply FROM model_calls{where}", values):
        named.update((request, reply))
    answers = query(f"SELECT answer FROM api_calls{where}", values)
    named.update(answer for (answer,) in answers if answer is not None)
    # A request is kept as the hashes of its messages; replies and answers name no body.
    for (data,) in query(
        f"SELECT data FROM bodies WHERE hash IN (SELECT request FROM model_calls{where})", values
    ):
        named.update(_HASH.findall(bytes(data).decode("utf-8", "replace")))
    return named
