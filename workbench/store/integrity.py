"""Check whether the database of a home is whole: its file, its guards, its bodies, and that rows and bodies fit together."""

import hashlib
from collections.abc import Collection, Iterator

from proxies.hashing import sha256_of
from workbench.store.database import Store
from workbench.store.database_schema import COLUMNS, GUARDS, ORDER
from workbench.store.removal import named_bodies


def body_states(store: Store) -> dict[str, bool]:
    """Tell for each body whether it still has the hash under which it is filed."""
    states = {}
    for row in store.query(
        "SELECT hash FROM bodies"
    ):  # one at a time: they may be larger together than memory
        digest = row["hash"]
        rows = store.query("SELECT data FROM bodies WHERE hash = ?", (digest,))
        states[digest] = all(sha256_of(body["data"]) == digest for body in rows)
    return states


def database_faults(store: Store, bodies: dict[str, bool]) -> Iterator[tuple[str | None, str]]:
    """Yield the faults of the database: the run that each touches, if it is one run's, and a sentence."""
    for (line,) in store.query("PRAGMA integrity_check(20)"):
        if line != "ok":
            yield None, f"SQLite finds damage: {' '.join(str(line).split())[:200]}"
    guards = {row["name"] for row in store.query("SELECT name FROM sqlite_master WHERE type = 'trigger'")}
    for name in sorted(GUARDS - guards):
        yield None, f"the guard {name}, which keeps the log append-only, is gone"
    for digest, intact in bodies.items():
        if not intact:
            yield None, f"the body filed under {digest[:19]}... was altered"
    for run_id in store.run_ids():
        for use in store.run_bodies(run_id):
            if use.digest not in bodies:
                yield run_id, f"the {use.role} of {use.node or 'a call'} is gone ({use.digest[:19]}...)"


def looked_at(store: Store, run_id: str, intact: Collection[str]) -> str:
    """Hash all that a check of a run reads: its rows, which of the bodies they name are intact, its files.

    Files by their bytes: a size and a time can be put back.
    """
    head = hashlib.sha256()
    for table in COLUMNS:
        for row in store.query(f"SELECT * FROM {table} WHERE run_id = ? ORDER BY {ORDER[table]}", (run_id,)):
            head.update(repr(tuple(row)).encode() + b"\n")
    for digest in sorted(named_bodies(store.query, run_id)):
        head.update(f"{digest} {digest in intact}\n".encode())
    folder = store.folder(run_id)
    for path in sorted(path for kind in ("proofs", "sessions") for path in (folder / kind).glob("*")):
        try:
            with path.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            content = f"{error.strerror}"
        head.update(f"{path.parent.name}/{path.name!r} {content}\n".encode())
    return head.hexdigest()


def logged_streams(store: Store) -> list[str]:
    """Return every name under which the log holds events: runs, sets of questions, studies, rounds."""
    return [row["run_id"] for row in store.query("SELECT DISTINCT run_id FROM events ORDER BY run_id")]
