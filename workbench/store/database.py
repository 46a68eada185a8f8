"""One SQLite file that holds every run: the event log, the bodies, and the two ledgers.

``workbench.db`` is in WAL mode, so that a dashboard can read while a run writes. A write is one transaction and is
committed before anyone is told of it: what a reader has seen survives ``kill -9``.
"""

import hashlib
import os
import re
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from proxies.atomic import reads_only
from proxies.hashing import sha256_of
from proxies.secret_registry import SECRETS
from workbench.errors import command
from workbench.store.database_schema import (
    COLUMNS,
    DERIVED,
    ORDER,
    SCHEMA_VERSION,
    database_version,
    insert_row,
    open_tables,
    require_today,
)
from workbench.store.errors import (
    EventUnreadable,
    HomeUnusable,
    OtherVersion,
    StoreCorrupt,
    StoreFull,
    UnknownRun,
)
from workbench.store.events import VERSION, Event, parse_event
from workbench.store.home_folder import can_only_be_read, make_home, refuse_network_folder

# Half of SQLite's own size: a commit copies every page it touches into the log, and an event touches three. A thousand
# leaves hand 48 MB to the system instead of 85; with 1 kB it were 32, and an answer of 5 MB would take twice as long.
_PAGE_BYTES = 2048
_LOG_PAGES = (
    4000  # of the log, until they are copied into the database; a page that many events touch is copied once
)
_BUSY_SECONDS = 30
_LAST_SEQ = 2**63 - 1  # SQLite's largest integer
_RUN_ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{4}")


class StoredEvent(NamedTuple):
    """An event with its place in the log."""

    seq: int
    run_id: str
    at_utc: str
    event: Event

    @property
    def instant(self) -> float:
        """The event's time, in seconds since 1970; 0.0 for an unreadable one, as a stranger's package may hold."""
        try:
            return datetime.fromisoformat(self.at_utc).timestamp()
        except ValueError:
            return 0.0


class BodyUse(NamedTuple):
    """A body that a row of a ledger names; ``role`` is ``request``, ``reply`` or ``answer``."""

    node: str
    trial: int
    role: str
    digest: str


#: SQLite's errors where the machine has no more room; a later sitting can go on.
_FULL = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_IOERR: "the disk does not take it",
    sqlite3.SQLITE_CANTOPEN: "no file can be opened",
    sqlite3.SQLITE_BUSY: "another process has held it for too long",
}

_ROLES = {"model_calls": ("request", "reply"), "api_calls": ("answer",)}


def database_state(home: Path) -> str:
    """Describe a home's database, as ``doctor`` prints it; nothing is written."""
    path = home / "workbench.db"
    if not path.is_file():
        return "none yet"
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
            version = database_version(db)
    except sqlite3.Error as error:
        return f"cannot be read ({error})"
    return f"version {version}" + ("" if version == SCHEMA_VERSION else ", another workbench's")


def json_of(body: bytes, digest: str) -> Any:
    """Return the JSON value of a stored body; raises ``StoreCorrupt`` where it is none."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        raise StoreCorrupt(f"the body filed under {digest} is no JSON") from None


class Store:
    """The analyst's home on disk: ``workbench.db`` and ``runs/<run_id>/``."""

    def __init__(self, home: Path, *, durable: bool = True) -> None:
        self.home = home
        self._durable = durable
        self._lock = threading.RLock()  # widgets may call from another thread
        self._path = home / "workbench.db"
        self._folders: dict[str, Path] = {}
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        if reads_only():
            self._open_beside_writers()
            return
        if can_only_be_read(home):
            self._open_to_read()
            return
        refuse_network_folder(home)
        make_home(home)
        with ExitStack() as undo:
            with self._clear_errors(opening=True):
                # isolation_level=None: Python's module would otherwise begin transactions of its own beside those of
                # transaction(). The thread check is off because the lock above lets only one thread in at a time.
                self._db = sqlite3.connect(
                    self._path, timeout=_BUSY_SECONDS, check_same_thread=False, isolation_level=None
                )
                undo.callback(self._db.close)
                self._db.execute(f"PRAGMA page_size={_PAGE_BYTES}")  # one that exists keeps its own
                # Asked before anything is written: a database that is not ours, or too new, stays as it is.
                if database_version(self._db) != SCHEMA_VERSION:
                    self._open_tables()
                # WAL and NORMAL survive a killed process; a power cut may cost the last commits
                self._db.execute(f"PRAGMA journal_mode={'WAL' if durable else 'MEMORY'}")
                self._db.execute(f"PRAGMA synchronous={'NORMAL' if durable else 'OFF'}")
                self._db.execute(f"PRAGMA wal_autocheckpoint={_LOG_PAGES}")
            undo.pop_all()

    def _open_beside_writers(self) -> None:
        """Open a home that others write and this process may not: in place, so that their writes are seen."""
        with ExitStack() as undo, self._clear_errors(opening=True):
            place = f"{self._path.absolute().as_uri()}?mode=ro"
            self._db = sqlite3.connect(
                place, uri=True, timeout=_BUSY_SECONDS, check_same_thread=False, isolation_level=None
            )
            undo.callback(self._db.close)
            require_today(database_version(self._db), SCHEMA_VERSION, str(self._path))
            self._db.execute("PRAGMA query_only = ON")
            undo.pop_all()

    def _open_to_read(self) -> None:
        """Open a home on a disk that takes no writes: runs are shown, exported and checked there, and nothing is begun.

        A copy is opened: SQLite reads a database in WAL mode in place only if it may make files beside it, and what was
        written last may still stand in the log (``workbench.db-wal``), which it would leave out.
        """
        with ExitStack() as undo:
            self._copy = tempfile.TemporaryDirectory(prefix="workbench-")
            undo.callback(self._copy.cleanup)
            target = Path(self._copy.name) / "workbench.db"
            try:
                shutil.copyfile(self._path, target)
                log = self._path.with_name("workbench.db-wal")
                if log.exists():
                    shutil.copyfile(log, target.with_name(log.name))
            except OSError as error:
                raise HomeUnusable(f"{self._path} cannot be read ({error.strerror})") from error
            with self._clear_errors(opening=True):
                self._db = sqlite3.connect(target, check_same_thread=False, isolation_level=None)
                undo.callback(self._db.close)
                if database_version(self._db) != SCHEMA_VERSION:
                    self._open_tables()
                self._db.execute("PRAGMA query_only = ON")
            undo.pop_all()

    def _open_tables(self) -> None:
        with self.transaction() as db:
            empty = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
            runs = self.home / "runs"
            # The database was lost, its runs' files were not. A new database here would pass for an empty home.
            if empty and runs.is_dir() and any(runs.iterdir()):
                raise StoreCorrupt(
                    f"{self._path} is empty, but {runs} holds runs: put the database's backup back, or move"
                    " that folder away to begin anew"
                )
            try:
                open_tables(db)
            except (StoreCorrupt, OtherVersion) as error:
                raise type(error)(f"{self._path}: {error}") from None

    def _has_no_room(self) -> bool:
        # SQLite calls it an I/O error where it finds no room for the file that it shares between processes, which is 32 kB.
        room = os.statvfs(self.home)
        return room.f_bavail * room.f_frsize < 65_536

    @contextmanager
    def _clear_errors(self, *, opening: bool = False) -> Iterator[None]:
        """Turn SQLite's errors of a damaged or closed file into one line with a way out."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            code = (
                getattr(error, "sqlite_errorcode", 0) & 0xFF
            )  # the extended codes keep the kind in the low byte
            # A missing table or column has only SQLite's general error code, so the text has to tell.
            missing = isinstance(error, sqlite3.OperationalError) and str(error).startswith("no such ")
            if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or missing:
                raise StoreCorrupt(
                    f"{self._path} is damaged or not a database of the workbench ({error}): put its backup back, or name"
                    " another home"
                ) from error
            if not opening and code in _FULL:
                raise StoreFull(f"{self._path} cannot be written ({_FULL[code]})") from error
            if code == sqlite3.SQLITE_READONLY:
                raise HomeUnusable(f"{self.home} can only be read here") from error
            if opening and code == sqlite3.SQLITE_IOERR and self._has_no_room():
                raise StoreFull(f"{self._path} cannot be opened (the disk is full)") from error
            if opening and isinstance(error, sqlite3.OperationalError):
                raise HomeUnusable(f"{self._path} cannot be opened ({error})") from error
            raise

    def twin(self) -> "Store":
        """Open the same home once more, for another thread: neither waits for a lock of the other."""
        return Store(self.home, durable=self._durable)

    def close(self) -> None:
        """Close the database; the store cannot be used after."""
        with self._lock:
            self._db.close()
            if self._copy is not None:
                self._copy.cleanup()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Run the block in one write transaction: committed at its end, rolled back if it raises.

        A block inside another is a part of it: its writes are undone if it raises, and committed with the outer block.
        """
        with self._lock:
            part = self._db.in_transaction
            # IMMEDIATE takes the write lock at once and waits for it up to the timeout. A plain BEGIN that reads first, as
            # append() with a guard does, fails at its first write without any waiting if another process wrote in between.
            with self._clear_errors():
                self._db.execute("SAVEPOINT part" if part else "BEGIN IMMEDIATE")
            with ExitStack() as undo:  # Ctrl-C too must not leave half of it
                undo.callback(self._roll_back, part)
                with self._clear_errors():
                    yield self._db
                    # In the block: a full disk may refuse the commit, and the transaction is open then.
                    self._db.execute("RELEASE part" if part else "COMMIT")
                undo.pop_all()

    def _roll_back(self, part: bool) -> None:
        if self._db.in_transaction:  # a full disk makes SQLite end it by itself
            # ROLLBACK TO leaves the savepoint itself open: without the RELEASE the next one would nest inside it.
            for statement in ("ROLLBACK TO part", "RELEASE part") if part else ("ROLLBACK",):
                self._db.execute(statement)

    def query(self, sql: str, parameters: tuple[object, ...] = ()) -> list[sqlite3.Row]:
        """Return all rows of a SELECT. For the modules beside this one: no other part of ``workbench`` has SQL."""
        with self._lock, self._clear_errors():
            cursor = self._db.execute(sql, parameters)
            cursor.row_factory = sqlite3.Row
            # Read whole while the lock is held: all threads share this one connection.
            return cursor.fetchall()

    def compact(self) -> None:
        """Give the space of deleted rows back to the disk; nobody else may hold the database."""
        with self._lock, self._clear_errors():
            self._db.execute("VACUUM")

    # -- bodies

    def put_body(self, data: bytes | str) -> str:
        """File a body under the hash of its bytes and return ``sha256:<hex>``; the same bytes are stored once."""
        raw = data.encode() if isinstance(data, str) else data
        digest = sha256_of(raw)
        with self._lock, self._clear_errors():
            self._db.execute("INSERT OR IGNORE INTO bodies VALUES (?, ?)", (digest, raw))
        return digest

    def body(self, digest: str) -> bytes:
        """Return the body filed under ``digest``; raises ``StoreCorrupt`` when it is missing or altered."""
        rows = self.query("SELECT data FROM bodies WHERE hash = ?", (digest,))
        if not rows:
            raise StoreCorrupt(f"no body is filed under {digest}")
        raw: bytes = rows[0]["data"]
        # Hashed at every read: the ledgers replay what lies here, and a file on disk can be edited.
        if sha256_of(raw) != digest:
            raise StoreCorrupt(f"the body filed under {digest} was altered")
        return raw

    def json(self, digest: str) -> Any:
        """Return the JSON value filed under ``digest``; raises ``StoreCorrupt`` as `body`, and where it is none."""
        return json_of(self.body(digest), digest)

    def text(self, digest: str) -> str:
        """Return the body filed under ``digest`` as text."""
        return self.body(digest).decode()

    # -- summaries

    def summaries(self, made_by: str, *, texts: bool = False) -> dict[str, tuple[str, str]]:
        """Return the facts and, if asked for, the text of each run without an event since they were stored."""
        if not self.query("SELECT 1 FROM sqlite_master WHERE name = 'summaries'"):
            return {}
        text = "text" if texts else "''"
        rows = self.query(
            f"SELECT run_id, facts, {text} AS text FROM summaries"
            " WHERE made_by = ? AND seq = (SELECT max(seq) FROM events WHERE events.run_id = summaries.run_id)",
            (made_by,),
        )
        return {row["run_id"]: (row["facts"], row["text"]) for row in rows}

    def keep_summaries(self, made_by: str, rows: Sequence[tuple[str, int, str, str]]) -> None:
        """Store (run, its last event's number, facts, text) for the next list; skipped where it cannot be written at once."""
        self._keep("summaries", [(run_id, seq, made_by, facts, text) for run_id, seq, facts, text in rows])

    def whole(self) -> dict[str, str]:
        """Return, for each run that was found whole, the hash over all that the check read."""
        if not self.query("SELECT 1 FROM sqlite_master WHERE name = 'whole'"):
            return {}
        return {row["run_id"]: row["looked_at"] for row in self.query("SELECT * FROM whole")}

    def keep_whole(self, looked_at: Mapping[str, str]) -> None:
        """Store such hashes for the next check; skipped where they cannot be written at once."""
        self._keep("whole", list(looked_at.items()))

    def _keep(self, table: str, rows: Sequence[tuple[object, ...]]) -> None:
        if not rows:
            return
        marks = ", ".join("?" * len(rows[0]))
        with self._lock:
            try:
                self._db.execute("PRAGMA busy_timeout = 0")
                with self.transaction() as db:
                    db.execute(DERIVED[table])
                    db.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", rows)
            except (StoreFull, HomeUnusable):
                pass  # a list is no reason to wait for another process, nor to fail on a disk without room
            finally:
                self._db.execute(f"PRAGMA busy_timeout = {_BUSY_SECONDS * 1000}")

    # -- events

    def append(
        self,
        run_id: str,
        event: Event,
        *,
        at_utc: str | None = None,
        guard: Callable[[list["StoredEvent"]], None] | None = None,
    ) -> int:
        """Append an event and return its sequence number; ``at_utc`` is when it happened, by default now.

        ``guard`` is called inside the transaction with the run's events so far; what it raises refuses the event, so a
        check and the append that rests on it are one step, whoever else writes.

        Raises ``UnknownRun`` for a run that was never started, or that another process has removed since it was read.
        """
        # What has a column of its own is not repeated in the text; the import of a package refuses an event that does.
        data = event.model_dump(mode="json", exclude={"node", "trial"})
        text = orjson.dumps(data).decode()
        if SECRETS.clean(text) is not text:
            text = orjson.dumps(SECRETS.clean_values(data)).decode()
        with self.transaction() as db:
            if guard is not None:
                guard(self.events(run_id))
            elif event.kind != "run.started" and ":" not in run_id and not self.has_run(run_id):
                raise self._no_run(run_id)
            values = (
                run_id,
                at_utc or utc_now(),
                event.kind,
                event.node,
                event.trial,
                VERSION,
                text,
            )
            return insert_row(db, "events", values)

    def events(
        self, run_id: str, *, after: int = 0, until: int | None = None, kinds: Sequence[str] | None = None
    ) -> list[StoredEvent]:
        """Return a run's events in order, those after sequence number ``after`` up to ``until``, all or those of some kinds.

        Raises `UnknownRun`: The home has no such run. Raises `EventUnreadable`: A row of the log is not what the workbench wrote. Raises
        `OtherVersion`: A newer workbench has written an event.
        """
        # by number, not by time: the clock of a machine may go back
        chosen = "" if kinds is None else f" AND kind IN ({', '.join('?' * len(kinds))})"
        rows = self.query(
            f"SELECT * FROM events WHERE run_id = ? AND seq > ? AND seq <= ?{chosen} ORDER BY seq",
            (run_id, after, _LAST_SEQ if until is None else until, *(kinds or ())),
        )
        # After a number, no rows means that nothing new has happened; from the start, that the run does not exist.
        if not rows and after == 0 and kinds is None:
            raise self._no_run(run_id)
        return [_stored_event(row) for row in rows]

    def _no_run(self, text: str) -> UnknownRun:
        return UnknownRun(f"no run {text!r} in {self.home}: ", command("runs"), " lists them")

    def log_head(self, run_id: str, *, before: int | None = None, without: Collection[str] = ()) -> str:
        """Return one hash over a run's events in order, those before a sequence number; what a signature covers.

        It is the same in every home that the run is copied to: the number of an event, which is not, counts by its place.
        ``without`` leaves kinds of events out.
        """
        head = hashlib.sha256()
        for line in self.log_lines(run_id, before=before, without=without):
            head.update(line + b"\n")
        return head.hexdigest()

    def log_lines(
        self, run_id: str, *, before: int | None = None, without: Collection[str] = ()
    ) -> list[bytes]:
        """Return each of a run's events as one line that is the same in every home the run is copied to."""
        rows = self.query("SELECT * FROM events WHERE run_id = ? ORDER BY seq", (run_id,))
        places = {row["seq"]: place for place, row in enumerate(rows)}
        lines = []
        for row in rows:
            if before is not None and row["seq"] >= before:
                break
            if row["kind"] in without:
                continue
            # The parsed content with sorted keys, not the stored text: an import that renumbers base_seq writes the text anew.
            content = orjson.loads(row["data"])
            record = content.get("record") if row["kind"] == "scenario.recorded" else content
            if isinstance(record, dict) and "base_seq" in record:
                record["base_seq"] = places.get(record["base_seq"])
            fields = [*(row[name] for name in ("at_utc", "kind", "node", "trial", "v")), content]
            lines.append(orjson.dumps(fields, option=orjson.OPT_SORT_KEYS))
        return lines

    def mended(self, run_id: str, *, before: int) -> int:
        """Count a run's events, of those before a number, that screens show otherwise than they were written.

        A stranger's package may hold characters that steer a terminal; they stay in the log, and no screen shows them (`events.Shown`).
        """
        rows = self.query("SELECT * FROM events WHERE run_id = ? AND seq < ?", (run_id, before))
        suspects = [row for row in rows if not row["data"].isprintable() or "\\u00" in row["data"]]
        return sum(
            bool(_unshown(orjson.loads(row["data"])) - _unshown(_stored_event(row).event.model_dump()))
            for row in suspects
        )

    def has_run(self, run_id: str) -> bool:
        """Whether a run of this id was begun here."""
        return bool(self.query("SELECT 1 FROM events WHERE run_id = ? LIMIT 1", (run_id,)))

    def run_ids(self) -> list[str]:
        """Return all runs, the oldest first."""
        rows = self.query(
            "SELECT run_id, min(seq) AS first FROM events WHERE instr(run_id, ':') = 0 GROUP BY run_id ORDER BY first"
        )
        return [row["run_id"] for row in rows]

    def claims(self) -> dict[str, str]:
        """Return the statement with which each run was opened; of a run whose first record is damaged nothing.

        One look at the log: folding all of it takes a hundred times longer, and a list of runs asks for this.
        """
        claims: dict[str, str] = {}
        for row in self.query("SELECT run_id, data FROM events WHERE kind = 'run.started'"):
            try:
                statement = orjson.loads(row["data"])["statement"]
            except (ValueError, TypeError, KeyError):
                continue
            if isinstance(statement, str):
                claims.setdefault(row["run_id"], statement)
        return claims

    def streams(self, sort: str) -> list[str]:
        """Return the names of the streams of one sort, ``questions`` or ``study``, the oldest first.

        A stream stands in the log beside the runs, under ``sort:name``: no id of a run has a colon.
        """
        rows = self.query(
            "SELECT run_id, min(seq) AS first FROM events WHERE substr(run_id, 1, ?) = ? GROUP BY run_id ORDER BY first",
            (len(sort) + 1, f"{sort}:"),
        )
        return [row["run_id"].partition(":")[2] for row in rows]

    def last_seq(self) -> int:
        """Return the number of the last event of any run, 0 without any: it tells whether the log grew."""
        return int(self.query("SELECT coalesce(max(seq), 0) FROM events")[0][0])

    def resolve_run(self, text: str, *, unfinished: bool = False) -> str:
        """Return the id of the run that ``text`` names: a whole id, an unambiguous beginning, or ``last``.

        ``last`` is the newest run that has a tree; with ``unfinished``, as ``resume``, ``watch`` and ``stop`` ask, the newest
        one that is not finished. Where there is none it is the newest run.
        """
        ids = self.run_ids()
        if text in ids:
            return text
        if text == "last" and ids:
            finished, planned = self._finished_runs(), self._runs_with("tree.planned", "tree.expanded")
            fit = [run_id for run_id in ids if (run_id not in finished if unfinished else run_id in planned)]
            return (fit or ids)[-1]
        near = [run_id for run_id in ids if text and run_id.startswith(text)]
        if len(near) == 1:
            return near[0]
        if near:
            raise UnknownRun(f"{text!r} could be {', '.join(near[:5])}: write more of the run id")
        raise self._no_run(text)

    def _finished_runs(self) -> set[str]:
        rows = self.query(
            "SELECT run_id, max(CASE WHEN kind = 'run.finished' THEN seq END) AS ended,"
            " max(CASE WHEN kind = 'leaf.reopened' THEN seq END) AS reopened"
            " FROM events WHERE kind IN ('run.finished', 'leaf.reopened') GROUP BY run_id"
        )
        return {row["run_id"] for row in rows if (row["ended"] or 0) > (row["reopened"] or 0)}

    def _runs_with(self, *kinds: str) -> set[str]:
        """Return the runs whose log holds an event of one of these kinds; no event itself is read."""
        marks = ", ".join("?" * len(kinds))
        rows = self.query(f"SELECT DISTINCT run_id FROM events WHERE kind IN ({marks})", kinds)
        return {row["run_id"] for row in rows}

    def run_bodies(self, run_id: str) -> list["BodyUse"]:
        """Return every body that a run's ledgers name, call by call; the audit and an import check each."""
        uses = []
        for table, roles in _ROLES.items():
            names = ", ".join(("node", "trial", *roles))
            for row in self.query(
                f"SELECT {names} FROM {table} WHERE run_id = ? ORDER BY {ORDER[table]}", (run_id,)
            ):
                uses += [
                    BodyUse(row["node"], row["trial"], role, row[role])
                    for role in roles
                    if row[role] is not None
                ]
        return uses

    def ledger_head(self, run_id: str) -> str:
        """Return one hash over a run's rows of both ledgers and the sizes of the bodies that they name; no body is read."""
        head = hashlib.sha256()
        for table, roles in _ROLES.items():
            sizes = (f"(SELECT length(data) FROM bodies WHERE hash = {role})" for role in roles)
            names = ", ".join((*COLUMNS[table], *sizes))
            for row in self.query(
                f"SELECT {names} FROM {table} WHERE run_id = ? ORDER BY {ORDER[table]}", (run_id,)
            ):
                head.update(repr(tuple(row)).encode() + b"\n")
        return head.hexdigest()

    def folder(self, run_id: str) -> Path:
        """Return the run's folder, ``runs/<run_id>``; raises ``UnknownRun`` for what is no run id."""
        folder = self._folders.get(run_id)
        if folder is None:
            # Kept: a leaf asks a dozen times, and joining paths was a twentieth of its processor time.
            folder = self._folders[run_id] = self.home / "runs" / check_run_id(run_id)
        return folder


def _stored_event(row: sqlite3.Row) -> StoredEvent:
    name = f"event {row['seq']} of run {row['run_id']}"
    try:
        content = orjson.loads(row["data"])
        # The columns win: queries select by them, so the text must not be able to say something else.
        data = content | {"kind": row["kind"], "node": row["node"], "trial": row["trial"]}
        require_today(row["v"], VERSION, name)
        event = parse_event(data)
    except (
        ValueError,
        TypeError,
    ) as error:  # no JSON, no object, or not of its kind; pydantic's error is a ValueError
        reason = " ".join(str(error).split())[:160]
        raise EventUnreadable(f"{name} was altered, it cannot be read ({reason})") from error
    return StoredEvent(row["seq"], row["run_id"], row["at_utc"], event)


def _unshown(value: object) -> set[str]:
    """Collect the texts of JSON data that hold characters a terminal would obey."""
    match value:
        case str():
            return set() if value.replace("\n", " ").isprintable() else {value}
        case dict():
            return set().union(*map(_unshown, value.values()))
        case list() | tuple():
            return set().union(*map(_unshown, value))
        case _:
            return set()


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
