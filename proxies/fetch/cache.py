"""Raw answers, kept so that a question is asked once: SQLite, bounded, without keys.

Only what the upstream said is kept here, with the instant it was fetched; filters run on every read. An answer
may serve a cutoff only if it was fetched after that cutoff, and a live call only while it is young.
"""

import hashlib
import sqlite3
import threading
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from proxies.asof.clock import Cutoff
from proxies.hashing import canonical_json

_SCHEMA = """
CREATE TABLE IF NOT EXISTS raw (
    name TEXT PRIMARY KEY, source TEXT NOT NULL, endpoint TEXT NOT NULL, sent TEXT NOT NULL,
    fetched_at TEXT NOT NULL, used_at TEXT NOT NULL, size INTEGER NOT NULL, body BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS raw_used ON raw(used_at);
"""


#: Bytes from which an answer is handled outside the broker's process: below, no step of it takes the loop 15 ms.
LARGE = 1_000_000
_TOUCH = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Raw:
    """An upstream's answer as it came: JSON bytes, and when.

    ``read`` says whether they are known to be JSON; an answer of `LARGE` bytes may not be when it comes.
    """

    body: bytes
    fetched_at: datetime
    read: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """A raw answer as it is kept."""

    body: bytes
    fetched_at: datetime

    def open(self) -> Raw:
        """The answer; for a large one in a thread."""
        return Raw(body=zlib.decompress(self.body), fetched_at=self.fetched_at)


def raw_name(source: str, endpoint: str, sent: Mapping[str, Any], version: int) -> str:
    """The cache's name for a call: source, endpoint, sent parameters and policy version, never a key."""
    return hashlib.sha256(canonical_json([source, endpoint, dict(sent), version])).hexdigest()


def may_serve(raw: Raw | Packed, cutoff: Cutoff, now: datetime, max_age: float) -> bool:
    """Whether an answer fetched then may serve this cutoff now."""
    if cutoff.live or cutoff.instant > now:
        return 0 <= (now - raw.fetched_at).total_seconds() <= max_age
    return raw.fetched_at > cutoff.instant


class RawCache:
    """The raw cache of one broker.

    Parameters
    ----------
    path : Path or None
        The SQLite file; None keeps it in memory.
    most_bytes : int
        Stored bytes above which the longest unused answers go.
    """

    def __init__(self, path: Path | None, most_bytes: int) -> None:
        self._path, self._most = path, most_bytes
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None

    def _open(self) -> sqlite3.Connection:
        if self._db is None:
            if self._path is not None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(
                self._path or ":memory:", check_same_thread=False, isolation_level=None, timeout=30
            )
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.executescript(_SCHEMA)
        return self._db

    def find(self, name: str, now: datetime) -> Packed | None:
        """The answer under a name as it is kept, or None; that it was used is noted to the hour. For a file in a thread."""
        with self._lock:
            db = self._open()
            row = db.execute("SELECT body, fetched_at, used_at FROM raw WHERE name = ?", (name,)).fetchone()
            if row is not None and datetime.fromisoformat(row[2]) < now - _TOUCH:
                db.execute("UPDATE raw SET used_at = ? WHERE name = ?", (now.isoformat(), name))
        return Packed(body=row[0], fetched_at=datetime.fromisoformat(row[1])) if row else None

    def put(self, name: str, raw: Raw, *, source: str, endpoint: str, sent: Mapping[str, Any]) -> None:
        """Keep an answer; the longest unused go when there are too many. For a file, and a large one, in a thread."""
        body = zlib.compress(raw.body, 1)
        if len(body) > self._most // 4:
            return
        at = raw.fetched_at.isoformat()
        with self._lock:
            db = self._open()
            db.execute(
                "INSERT OR REPLACE INTO raw VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (name, source, endpoint, canonical_json(dict(sent)).decode(), at, at, len(body), body),
            )
            (total,) = db.execute("SELECT COALESCE(SUM(size), 0) FROM raw").fetchone()
            if total > self._most:
                self._evict(db, total)

    def _evict(self, db: sqlite3.Connection, total: int) -> None:
        for name, size in db.execute("SELECT name, size FROM raw ORDER BY used_at").fetchall():
            if total <= self._most * 0.8:
                return
            db.execute("DELETE FROM raw WHERE name = ?", (name,))
            total -= size

    def stored_bytes(self) -> int:
        """Bytes of answers kept."""
        with self._lock:
            (total,) = self._open().execute("SELECT COALESCE(SUM(size), 0) FROM raw").fetchone()
        return int(total)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._db is not None:
                self._db.close()
                self._db = None
