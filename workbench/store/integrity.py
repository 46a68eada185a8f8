"""Whether the database of a home is whole: its file, its guards, its bodies, and that rows and bodies fit together.

``workbench doctor --check`` asks (`workbench.audit.home_check`); nothing is changed.
"""

from collections.abc import Iterator

from proxies.hashing import sha256_of
from workbench.store.database import Store
from workbench.store.database_schema import GUARDS


def database_faults(store: Store) -> Iterator[tuple[str | None, str]]:
    """Yield what is wrong with the database: the run that it touches, if it is one run's, and a sentence."""
    for (line,) in store.query("PRAGMA integrity_check(20)"):
        if line != "ok":
            yield None, f"SQLite finds damage: {' '.join(str(line).split())[:200]}"
    guards = {row["name"] for row in store.query("SELECT name FROM sqlite_master WHERE type = 'trigger'")}
    for name in sorted(GUARDS - guards):
        yield None, f"the guard {name}, which keeps the log append-only, is gone"
    hashes = [row["hash"] for row in store.query("SELECT hash FROM bodies")]
    for digest in hashes:  # one at a time: they may be larger together than memory
        rows = store.query("SELECT data FROM bodies WHERE hash = ?", (digest,))
        if any(sha256_of(row["data"]) != digest for row in rows):
            yield None, f"the body filed under {digest[:19]}... was altered"
    known = set(hashes)
    for run_id in store.run_ids():
        for use in store.run_bodies(run_id):
            if use.digest not in known:
                yield run_id, f"the {use.role} of {use.node or 'a call'} is gone ({use.digest[:19]}...)"


def logged_streams(store: Store) -> list[str]:
    """Return every name under which the log holds events: runs, sets of questions, studies, rounds."""
    return [row["run_id"] for row in store.query("SELECT DISTINCT run_id FROM events ORDER BY run_id")]
