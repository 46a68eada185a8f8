"""Move a run from one database to another: exported, taken in from a home of our own, or read out of a stranger's.

The stranger's database is hostile. It is opened read-only and immutable, and used only if its schema is ours to the letter, so no
trigger, view or virtual table of theirs is ever run; its rows are copied one by one into an empty store of our own, each after
its types and sizes were checked here and its meaning by the caller (`packages.intake`).
"""

import math
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import orjson

from proxies.hashing import sha256_of
from workbench.store.database import Store, check_run_id
from workbench.store.database_schema import (
    COLUMNS,
    ORDER,
    SCHEMA_VERSION,
    database_version,
    insert_row,
    own_schema,
    require_today,
    schema_objects,
)
from workbench.store.errors import OtherVersion, PackageRefused, UnknownRun

_HASH = re.compile(r"sha256:[0-9a-f]{64}")
_MAX_ROWS = {"events": 1_000_000, "model_calls": 5_000_000, "api_calls": 5_000_000}
_MAX_VALUE = 512_000_000
_MAX_INT = 2**53
_MAX_FLOAT = 1e9
#: Larger bodies are data, not requests: they are not searched for the hashes of messages.
_MAX_REQUEST = 50_000_000
_INTS = {"trial", "attempt", "step", "retry", "v", "input_tokens", "output_tokens", "cached_tokens"}
_FLOATS = {"cost_usd", "seconds"}
_OPTIONAL = {
    "events": {"node", "trial"},
    "model_calls": {"input_tokens", "output_tokens", "cached_tokens", "cost_usd"},
    "api_calls": {"answer", "meta", "refused"},
}
_BODIES = ("request", "reply", "answer")

#: Called with a table's name and a row of it before the row is taken; raises ``PackageRefused`` if it means nothing.
RowCheck = Callable[[str, dict[str, Any]], None]


class ForeignRun(NamedTuple):
    """The one run of a stranger's database, and the bodies that do not have their hash (left out)."""

    run_id: str
    altered: list[str]


def copy_foreign_run(source: Path, store: Store, check: RowCheck) -> ForeignRun:
    """Copy the one run of a stranger's database into an empty store of our own; the import of a package calls it.

    Raises `PackageRefused`: It is no database of one run that our export can have written.
    """
    with open(source, "rb") as file:
        if file.read(16) != b"SQLite format 3\0":
            raise PackageRefused("its run.db is not a database of runs")
    # immutable: SQLite neither locks the file nor looks for a journal beside it, so only these bytes are read. It also
    # lets a file in WAL mode be opened read-only where its side files are missing, as they are in a package.
    address = f"file:{quote(str(source))}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(address, uri=True, isolation_level=None)) as db:
            db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE)
            db.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
            for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "query_only = ON"):
                db.execute(f"PRAGMA {pragma}")
            try:
                # The version before the schema: a newer workbench's tables differ too, and its user should hear why.
                require_today(database_version(db), SCHEMA_VERSION, "its run.db")
            except OtherVersion as error:
                raise PackageRefused(str(error)) from None
            if db.execute("PRAGMA encoding").fetchone() != ("UTF-8",):
                raise PackageRefused("its run.db is not in UTF-8, in which every run is written")
            if schema_objects(db) != own_schema():
                raise PackageRefused("its run.db does not have the tables of a run and nothing else")
            # Only after the schema: the check evaluates constraints and index expressions, which must be ours.
            if db.execute("PRAGMA integrity_check(1)").fetchall() != [("ok",)]:
                raise PackageRefused("its run.db is damaged")
            return _copy_rows(db, store, check)
    except (sqlite3.Error, UnicodeError, OverflowError) as error:
        raise PackageRefused(f"its run.db cannot be read ({error!s:.100})") from error


def _copy_rows(source: sqlite3.Connection, store: Store, check: RowCheck) -> ForeignRun:
    ids = [row[0] for row in source.execute("SELECT DISTINCT run_id FROM events LIMIT 3")]
    if len(ids) != 1:
        raise PackageRefused(f"it holds {'no run' if not ids else 'several runs'}, a package holds one")
    try:
        run_id = check_run_id(ids[0])
    except UnknownRun as error:
        raise PackageRefused(str(error)) from None
    needed: set[str] = set()
    mentioned: set[str] = set()

    def checked_rows(table: str) -> Iterator[dict[str, Any]]:
        names = (ORDER[table], *COLUMNS[table])
        for row in source.execute(f"SELECT {', '.join(names)} FROM {table} ORDER BY {ORDER[table]}"):
            values = dict(zip(names, row, strict=True))
            _check_values(table, values, run_id)
            check(table, values)
            needed.update(values[name] for name in _BODIES if values.get(name))
            yield values

    with store.transaction() as db:
        for table, most in _MAX_ROWS.items():
            # Counted before a row is copied: a table of a billion rows is refused without filling the disk.
            if source.execute(f"SELECT count(*) FROM {table}").fetchone()[0] > most:
                raise PackageRefused(f"its {table} have more than {most} rows")
            _insert_rows(db, table, checked_rows(table))
        for (data,) in db.execute("SELECT data FROM events"):
            mentioned.update(_HASH.findall(data))
        return ForeignRun(run_id, _copy_bodies(source, db, needed, mentioned))


def _check_values(table: str, values: dict[str, Any], run_id: str) -> None:
    """Raise ``PackageRefused`` for a row whose values do not have the types and sizes of our own."""
    for name in COLUMNS[table]:
        value = values[name]
        if value is None and name in _OPTIONAL[table]:
            continue
        if name in _INTS:
            # The columns of a database that a stranger made are not trusted to be of their declared type.
            good = type(value) is int and 0 <= value <= _MAX_INT
        elif name in _FLOATS:
            good = isinstance(value, float) and math.isfinite(value) and 0 <= value <= _MAX_FLOAT
        else:
            good = isinstance(value, str)
        if not good:
            raise PackageRefused(f"a row of its {table} has {str(value)[:30]!r} as {name}")
        if name in _BODIES and not _HASH.fullmatch(value):
            raise PackageRefused(f"a row of its {table} has {value[:40]!r} as {name}, no hash")
    if values["run_id"] != run_id:
        raise PackageRefused(f"its {table} hold a row of another run: {values['run_id'][:40]!r}")


def _copy_bodies(
    source: sqlite3.Connection, db: sqlite3.Connection, needed: set[str], mentioned: set[str]
) -> list[str]:
    """Copy the bodies that the run names and that have their hash; return a sentence for every altered one.

    ``needed`` are those that a row of a ledger names as its request, reply or answer; ``mentioned`` those in an event.
    """
    altered: list[str] = []
    pending, seen, whole = [*needed, *mentioned], set(), True
    # a request names the messages it is made of, so what it names is looked up too
    while pending:
        # A list and not recursion: a chain of bodies that name each other may be as long as a stranger likes.
        digest = pending.pop()
        if digest in seen:
            continue
        seen.add(digest)
        row = source.execute("SELECT data FROM bodies WHERE hash = ?", (digest,)).fetchone()
        if row is None:
            whole = whole and digest not in needed
            continue  # a hash of data that an event or a text mentions is no body; who needs one that is gone says so
        if not isinstance(row[0], bytes):
            raise PackageRefused("a body of its run.db is no bytes")
        if sha256_of(row[0]) != digest:
            altered.append(f"the body filed under {digest[:19]}... was altered")
            continue
        db.execute("INSERT OR IGNORE INTO bodies VALUES (?, ?)", (digest, row[0]))
        if len(row[0]) < _MAX_REQUEST:
            pending.extend(_HASH.findall(row[0].decode("utf-8", "replace")))
    (count,) = source.execute("SELECT count(*) FROM bodies").fetchone()
    (copied,) = db.execute("SELECT count(*) FROM bodies").fetchone()
    # with a request gone, so is what names the messages it was made of
    if whole and not altered and count != copied:
        raise PackageRefused("its run.db holds bodies that nothing of the run names")
    return altered


def take_run(store: Store, other: Store) -> None:
    """Copy the one run of another store into this one; the second half of an import, after every check.

    Called inside a transaction, together with the move of the run's files.
    """
    with store.transaction() as db:
        bodies = other.query("SELECT hash, data FROM bodies")
        db.executemany("INSERT OR IGNORE INTO bodies VALUES (?, ?)", bodies)
        for table in COLUMNS:
            rows = other.query(f"SELECT * FROM {table} ORDER BY {ORDER[table]}")
            _insert_rows(db, table, (dict(row) for row in rows))


def _insert_rows(db: sqlite3.Connection, table: str, rows: Iterator[dict[str, Any]]) -> None:
    """Insert rows in order under numbers of this database, and point the events that name a number at the new ones.

    A home numbers the events of all its runs in one series, so a scenario's ``base_seq`` is another number in each home.
    """
    numbers: dict[object, int] = {}
    for values in rows:
        if table == "events":
            values = values | {"data": _renumbered(values, numbers)}
        number = insert_row(db, table, [values[name] for name in COLUMNS[table]])
        # Rows come in order and an event rests on an earlier one, so its new number is known by then.
        numbers[values[ORDER[table]]] = number


def _renumbered(values: dict[str, Any], numbers: dict[object, int]) -> str:
    data: str = values["data"]
    if values["kind"] not in ("scenario.recorded", "tree.edited"):
        return data
    content = orjson.loads(data)
    record = content.get("record") if values["kind"] == "scenario.recorded" else content
    if not isinstance(record, dict) or record.get("base_seq") is None:
        return data
    if type(record["base_seq"]) is not int or record["base_seq"] not in numbers:
        raise PackageRefused("an event rests on another that is not in the package")
    record["base_seq"] = numbers[record["base_seq"]]
    return orjson.dumps(content).decode()


def copy_run_into(store: Store, run_id: str, into: Path) -> Path:
    """Copy one run's rows, and the bodies they name, into a new database; return its path, for a package."""
    # A new database instead of a copy of the home's file: it holds no other run's rows.
    Store(into).close()
    target = into / "workbench.db"
    with closing(sqlite3.connect(target, isolation_level=None)) as db:
        db.execute("ATTACH ? AS source", (str(store.home / "workbench.db"),))
        # One transaction reads one snapshot: a run that goes on meanwhile is exported as of one instant.
        db.execute("BEGIN")
        for table, columns in COLUMNS.items():
            # Events keep their numbers, which base_seq of other events names; nothing names a ledger row's number.
            names = ", ".join(("seq", *columns) if table == "events" else columns)
            db.execute(
                # without an order SQLite goes by its index, by address: calls that ran side by side would change places
                f"INSERT INTO {table} ({names}) SELECT {names} FROM source.{table} WHERE run_id = ?"
                f" ORDER BY {ORDER[table]}",
                (run_id,),
            )
        for table, role in (("model_calls", "request"), ("model_calls", "reply"), ("api_calls", "answer")):
            db.execute(
                f"INSERT OR IGNORE INTO bodies SELECT * FROM source.bodies WHERE hash IN (SELECT {role} FROM {table})"
            )
        mentioned: set[str] = set()
        # A request names its messages by hash, and an event its tree and reports; replies and answers name no body.
        texts = "SELECT data FROM events UNION ALL SELECT CAST(data AS TEXT) FROM bodies WHERE hash IN (SELECT request FROM model_calls)"
        for (data,) in db.execute(texts):
            mentioned.update(part[: 7 + 64] for part in data.split('"') if part.startswith("sha256:"))
        db.executemany(
            "INSERT OR IGNORE INTO bodies SELECT * FROM source.bodies WHERE hash = ?",
            [(digest,) for digest in mentioned],
        )
        db.execute("COMMIT")
    # Closing the last connection has moved the WAL into the file, so the one file is the whole database.
    return target
