"""Whatever a record of one's own store was replaced by, ``verify`` and ``audit`` end with findings or with one line."""

import asyncio
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from proxies.hashing import sha256_of
from tests.fakes.small_run import RUN, make_small_run
from workbench.audit.run_audit import audit_run
from workbench.engine.proof_check import verify_run
from workbench.errors import WorkbenchError
from workbench.store import Store

JUNK = (
    b"3",
    b"{}",
    b"not JSON",
    b'{"messages": [1], "text": 5, "content_hash": 5, "prompts": 3, "packages": 4}',
)
PLACES = {
    "model_calls": ("request", "reply"),
    "api_calls": ("answer", "asked", "sent", "meta"),
    "events": ("data",),
}


def forged(db: sqlite3.Connection) -> Iterator[str]:
    """Replace one record after the other, whole and with its hash, and put it back."""
    for table, columns in PLACES.items():
        key = "seq" if table == "events" else "id"
        for column in columns:
            for number, was in db.execute(f"SELECT {key}, {column} FROM {table}").fetchall():
                for junk in JUNK:
                    digest = sha256_of(junk)
                    db.execute("INSERT OR IGNORE INTO bodies VALUES (?, ?)", (digest, junk))
                    now = junk.decode() if column in ("asked", "sent", "meta") else digest
                    if table == "events":
                        now = re.sub("sha256:[0-9a-f]{64}", digest, was)
                    if now != was:
                        db.execute(f"UPDATE {table} SET {column} = ? WHERE {key} = ?", (now, number))
                        yield f"{table}.{column} {number} as {junk!r}"
                db.execute(f"UPDATE {table} SET {column} = ? WHERE {key} = ?", (was, number))


def test_no_forged_record_ends_in_a_traceback(tmp_path: Path) -> None:
    home = tmp_path / "home"
    make_small_run(home)
    store = Store(home, durable=False)
    manifest = store.folder(RUN) / "manifest.json"
    with closing(sqlite3.connect(home / "workbench.db", isolation_level=None)) as db:
        db.execute("DROP TRIGGER events_keep")
        tried = 0
        for what in forged(db):
            manifest.write_bytes(JUNK[tried % len(JUNK)])
            for look in (lambda: asyncio.run(verify_run(store, RUN)), lambda: audit_run(store, RUN)):
                try:
                    look()
                except WorkbenchError:
                    pass
                except Exception as error:
                    raise AssertionError(f"{what}: {error!r}") from error
            tried += 1
    assert tried > 40
    store.close()
