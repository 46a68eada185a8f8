"""Cache vendors' raw answers in SQLite, bounded and without keys, so that a question is asked once.

Only what the upstream said is stored here, with the instant it was fetched; filters run on every read. An answer
may serve a cutoff only if it was fetched after that cutoff, and a live call only while it is young.
"""

import os
import sqlite3
import threading
import zlib
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from proxies.asof.clock import Cutoff
from proxies.atomic import open_private, private_folder
from proxies.hashing import canonical_json

_SCHEMA = """
CREATE TABLE IF NOT EXISTS raw (
    name TEXT PRIMARY KEY, source TEXT NOT NULL, endpoint TEXT NOT NULL, sent TEXT NOT NULL,
    fetched_at TEXT NOT NULL, used_at TEXT NOT NULL, size INTEGER NOT NULL, body BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS raw_used ON raw(used_at);
"""


_TOUCH = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class RawAnswer:
    """A vendor's answer before any filter: JSON bytes, and the time of fetching.

    Whether a large answer is JSON is found when it is read; a small one was parsed by its source.
    """

    body: bytes
    fetched_at: datetime


def may_serve(fetched_at: datetime, cutoff: Cutoff, now: datetime, max_age: float) -> bool:
    """Whether an answer of that time of fetching may serve this cutoff now."""
    # a cutoff that lies ahead is the present; a time of fetching that lies ahead (the clock was set back) serves nobody
    if cutoff.live or cutoff.instant > now:
        return 0 <= (now - fetched_at).total_seconds() <= max_age
    # what was fetched before the cutoff may lack rows that were known by then
    return fetched_at > cutoff.instant


class RawCache:
    """The raw cache of one broker."""

    def __init__(self, path: Path | None, most_bytes: int) -> None:
        self._path, self._most = path, most_bytes
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None

    def _open(self) -> sqlite3.Connection:
        if self._db is None:
            if self._path is not None:
                private_folder(self._path.parent)
                # SQLite would create it readable by all; its side files take over the mode
                os.close(open_private(self._path, os.O_RDWR | os.O_CREAT))
            # autocommit, and one connection for all threads, which take turns under the lock; other processes may write too
            db = sqlite3.connect(
                self._path or ":memory:", check_same_thread=False, isolation_level=None, timeout=30
            )
            with ExitStack() as undo:
                undo.callback(db.close)
                db.execute("PRAGMA journal_mode=WAL")
                # power that fails may cost the last answers, which are then fetched again; FULL would sync at every one
                db.execute("PRAGMA synchronous=NORMAL")
                db.executescript(_SCHEMA)
                undo.pop_all()
            self._db = db
        return self._db

    def find(self, name: str, now: datetime, usable: Callable[[datetime], bool]) -> RawAnswer | None:
        """Return the answer under a name if its time of fetching is usable, or None. Called in a thread if the cache has a file.

        That it was used is noted to the hour: writing at every read would cost more than the read.
        """
        with self._lock:
            db = self._open()
            row = db.execute("SELECT body, fetched_at, used_at FROM raw WHERE name = ?", (name,)).fetchone()
            if row is not None and str(row[2]) < (now - _TOUCH).isoformat():
                db.execute("UPDATE raw SET used_at = ? WHERE name = ?", (now.isoformat(), name))
        if row is None:
            return None
        try:
            fetched_at = datetime.fromisoformat(row[1])
            if not usable(fetched_at):
                return None
            body = row[0] if self._path is None else zlib.decompress(row[0])
        except (ValueError, TypeError, zlib.error):  # a row that is none of ours: fetched anew, and replaced
            return None
        return RawAnswer(body=body, fetched_at=fetched_at)

    def put(self, name: str, raw: RawAnswer, *, source: str, endpoint: str, sent: Mapping[str, Any]) -> None:
        """Store an answer; the longest unused go when there are too many. Called like `find`."""
        # in memory nothing is packed: that would hold the loop, whose own thread does it there
        body = raw.body if self._path is None else zlib.compress(raw.body, 1)
        # one huge answer must not push out most of the others
        if len(body) > self._most // 4:
            return
        fetched_at = raw.fetched_at.isoformat()
        with self._lock:
            db = self._open()
            db.execute(
                "INSERT OR REPLACE INTO raw VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    name,
                    source,
                    endpoint,
                    canonical_json(dict(sent)).decode(),
                    fetched_at,
                    fetched_at,
                    len(body),
                    body,
                ),
            )
            (total,) = db.execute("SELECT COALESCE(SUM(size), 0) FROM raw").fetchone()
            if total > self._most:
                self._evict(db, total)

    def discard(self, name: str) -> None:
        """Remove a wrong answer, so that it is fetched again. Called like `find`."""
        with self._lock:
            self._open().execute("DELETE FROM raw WHERE name = ?", (name,))

    def _evict(self, db: sqlite3.Connection, total: int) -> None:
        for name, size in db.execute("SELECT name, size FROM raw ORDER BY used_at").fetchall():
            # a fifth is cleared at once, so that a full cache does not evict at every write
            if total <= self._most * 0.8:
                return
            db.execute("DELETE FROM raw WHERE name = ?", (name,))
            total -= size

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._db is not None:
                self._db.close()
                self._db = None
