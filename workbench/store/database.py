"""One SQLite file that holds every run: the event log, the bodies, and the two ledgers.

``workbench.db`` is in WAL mode, so that a dashboard can read while a run writes. A write is one transaction and is
committed before anyone is told of it: what a reader has seen survives ``kill -9``.
"""

import hashlib
import os
import re
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import orjson

from workbench.store.errors import StoreCorrupt, UnknownRun
from workbench.store.events import VERSION, Event, parse_event
from workbench.store.migrations import SCHEMA_VERSION, migrate, upcast

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
CREATE TABLE IF NOT EXISTS bodies (hash TEXT PRIMARY KEY, data BLOB NOT NULL) STRICT, WITHOUT ROWID;
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


def insert_row(db: sqlite3.Connection, table: str, values: Sequence[object]) -> int:
    """Insert a row of one of `COLUMNS`' tables, values in that order, and return the number it got."""
    names = COLUMNS[table]
    marks = ", ".join("?" * len(names))
    cursor = db.execute(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})", tuple(values))
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def schema_objects(db: sqlite3.Connection) -> set[tuple[str, str, str, str | None]]:
    """Return the tables, indexes, triggers and views of a database, with the SQL that made them."""
    return set(db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master"))


def own_schema() -> set[tuple[str, str, str, str | None]]:
    """Return `schema_objects` of a new store, for comparison with a stranger's."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(_SCHEMA)
        return schema_objects(db)


_RUN_ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{4}")


class StoredEvent(NamedTuple):
    """An event with its place in the log."""

    seq: int
    run_id: str
    at_utc: str
    event: Event


class Store:
    """The analyst's home on disk: ``workbench.db`` and ``runs/<run_id>/``.

    Parameters
    ----------
    home : Path
        Data folder; made when missing.
    durable : bool
        False for a store that is deleted before anybody else sees it: nothing is synced to the disk.
    """

    def __init__(self, home: Path, *, durable: bool = True) -> None:
        make_home(home)
        self.home = home
        self._lock = threading.RLock()  # widgets may call from another thread
        self._db = sqlite3.connect(
            home / "workbench.db", timeout=30, check_same_thread=False, isolation_level=None
        )
        # WAL and NORMAL survive a killed process; a power cut may cost the last commits
        self._db.execute(f"PRAGMA journal_mode={'WAL' if durable else 'MEMORY'}")
        self._db.execute(f"PRAGMA synchronous={'NORMAL' if durable else 'OFF'}")
        with self.transaction() as db:
            if db.execute("PRAGMA user_version").fetchone()[0] != SCHEMA_VERSION:
                migrate(db)
        self._db.executescript(_SCHEMA)

    def close(self) -> None:
        """Close the database; the store cannot be used after."""
        with self._lock:
            self._db.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Run the block in one write transaction, committed at its end or not at all.

        A block inside another is a part of it: what it wrote is taken back where it fails, and committed with the outer one.
        """
        with self._lock:
            part = self._db.in_transaction
            self._db.execute("SAVEPOINT part" if part else "BEGIN IMMEDIATE")
            with ExitStack() as undo:  # Ctrl-C too must not leave half of it
                undo.callback(self._take_back, part)
                yield self._db
                undo.pop_all()
            self._db.execute("RELEASE part" if part else "COMMIT")

    def _take_back(self, part: bool) -> None:
        if self._db.in_transaction:  # a full disk makes SQLite end it by itself
            for statement in ("ROLLBACK TO part", "RELEASE part") if part else ("ROLLBACK",):
                self._db.execute(statement)

    def query(self, sql: str, parameters: tuple[object, ...] = ()) -> list[sqlite3.Row]:
        """Return all rows of a read."""
        with self._lock:
            cursor = self._db.execute(sql, parameters)
            cursor.row_factory = sqlite3.Row
            return cursor.fetchall()

    # -- bodies

    def put_body(self, data: bytes | str) -> str:
        """File a body under the hash of its bytes and return ``sha256:<hex>``; the same bytes are kept once."""
        raw = data.encode() if isinstance(data, str) else data
        digest = "sha256:" + hashlib.sha256(raw).hexdigest()
        with self._lock:
            self._db.execute("INSERT OR IGNORE INTO bodies VALUES (?, ?)", (digest, raw))
        return digest

    def body(self, digest: str) -> bytes:
        """Return the body filed under ``digest``; raises ``StoreCorrupt`` when it is missing or altered."""
        rows = self.query("SELECT data FROM bodies WHERE hash = ?", (digest,))
        if not rows:
            raise StoreCorrupt(f"no body is filed under {digest}")
        raw: bytes = rows[0]["data"]
        if "sha256:" + hashlib.sha256(raw).hexdigest() != digest:
            raise StoreCorrupt(f"the body filed under {digest} was altered")
        return raw

    def text(self, digest: str) -> str:
        """Return the body filed under ``digest`` as text."""
        return self.body(digest).decode()

    # -- events

    def append(
        self, run_id: str, event: Event, *, guard: Callable[[list["StoredEvent"]], None] | None = None
    ) -> int:
        """Append an event and return its sequence number.

        ``guard`` is called inside the transaction with the run's events so far; what it raises refuses the event, so a
        check and the append that rests on it are one step, whoever else writes.
        """
        data = event.model_dump(mode="json", exclude={"kind", "node", "trial"})
        with self.transaction() as db:
            if guard is not None:
                guard(self.events(run_id))
            cursor = db.execute(
                "INSERT INTO events (run_id, at_utc, kind, node, trial, v, data) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    run_id,
                    utc_now(),
                    event.kind,
                    event.node,
                    event.trial,
                    VERSION,
                    orjson.dumps(data).decode(),
                ),
            )
            assert cursor.lastrowid is not None
            return cursor.lastrowid

    def events(self, run_id: str, *, after: int = 0) -> list[StoredEvent]:
        """Return a run's events in order, those after sequence number ``after``; raises ``UnknownRun``."""
        rows = self.query("SELECT * FROM events WHERE run_id = ? AND seq > ? ORDER BY seq", (run_id, after))
        if not rows and after == 0:
            raise UnknownRun(f"no run {run_id!r} in {self.home}: `workbench runs` lists them")
        stored = []
        for row in rows:
            data = orjson.loads(row["data"]) | {
                "kind": row["kind"],
                "node": row["node"],
                "trial": row["trial"],
            }
            event = parse_event(upcast(data, row["v"], name=f"event {row['seq']}"))
            stored.append(StoredEvent(row["seq"], row["run_id"], row["at_utc"], event))
        return stored

    def log_head(self, run_id: str, *, before: int | None = None) -> str:
        """Return one hash over a run's events in order, those before a sequence number; what a signature covers.

        It is the same in every home that the run is copied to: the number of an event, which is not, counts by its place.
        """
        rows = self.query("SELECT * FROM events WHERE run_id = ? ORDER BY seq", (run_id,))
        places = {row["seq"]: place for place, row in enumerate(rows)}
        head = hashlib.sha256()
        for row in rows:
            if before is not None and row["seq"] >= before:
                break
            content = orjson.loads(row["data"])
            holder = content.get("record") if row["kind"] == "scenario.recorded" else content
            if isinstance(holder, dict) and "base_seq" in holder:
                holder["base_seq"] = places.get(holder["base_seq"])
            fields = [*(row[name] for name in ("at_utc", "kind", "node", "trial", "v")), content]
            head.update(orjson.dumps(fields, option=orjson.OPT_SORT_KEYS) + b"\n")
        return head.hexdigest()

    def run_ids(self) -> list[str]:
        """Return all runs, the oldest first."""
        rows = self.query("SELECT run_id, min(seq) AS first FROM events GROUP BY run_id ORDER BY first")
        return [row["run_id"] for row in rows]

    def resolve_run(self, text: str) -> str:
        """Return the id of the run that ``text`` names: a whole id, an unambiguous beginning, or ``last``."""
        ids = self.run_ids()
        if text in ids:
            return text
        if text == "last" and ids:
            return ids[-1]
        near = [run_id for run_id in ids if text and run_id.startswith(text)]
        if len(near) == 1:
            return near[0]
        if near:
            raise UnknownRun(f"{text!r} could be {', '.join(near[:5])}: write more of it")
        raise UnknownRun(f"no run {text!r} in {self.home}: `workbench runs` lists them")

    def folder(self, run_id: str) -> Path:
        """Return the run's folder, ``runs/<run_id>``; raises ``UnknownRun`` for what is no run id."""
        return self.home / "runs" / check_run_id(run_id)


def make_home(home: Path) -> None:
    """Make a data folder that only its owner may enter, and an empty database only its owner may read.

    What exists already keeps the mode its owner gave it.
    """
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        # SQLite would create it readable by all; its side files take over the mode of the database.
        os.close(os.open(home / "workbench.db", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        return


def check_run_id(text: object) -> str:
    """Return the run id as it is; raises ``UnknownRun`` for anything else, since paths are made of it.

    >>> check_run_id("20180630-120000-a1b2")
    '20180630-120000-a1b2'
    """
    if isinstance(text, str) and _RUN_ID.fullmatch(text):
        return text
    raise UnknownRun(f"{str(text)[:60]!r} is no run id: ids look like 20180630-120000-a1b2")


def utc_now() -> str:
    """Return the present instant as ISO 8601 in UTC, microseconds included."""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
