"""Some 370 packages that a stranger could send, each made from one honest package by one change."""

import io
import json
import sqlite3
import stat
import struct
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from sandbox.record.journal import read_journal, seal_line
from sandbox.record.session_notebook import render_notebook
from workbench.store.events import VERSION

Members = dict[str, bytes]
DATABASE, JOURNAL, NOTEBOOK = "run.db", "run/sessions/P1.1.1.jsonl", "run/proofs/P1.ipynb"
REFUSED, ALTERED = 2, 6
DEEP = b"[" * 5000 + b"]" * 5000
#: Nested less than any parser minds, more than a package may.
STEEP = b"[" * 300 + b"]" * 300


@dataclass(frozen=True)
class Hostile:
    """A package, its name in the corpus, and the exit code that its import has to end with."""

    name: str
    code: int
    data: bytes


def members_of(package: bytes) -> Members:
    """What a package holds, by name."""
    with zipfile.ZipFile(io.BytesIO(package)) as held:
        return {name: held.read(name) for name in held.namelist()}


def pack(members: Members, *more: tuple[zipfile.ZipInfo | str, bytes]) -> bytes:
    """A package of members, and of more that may be anything."""
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as package:
        for name, data in members.items():
            package.writestr(name, data)
        with warnings.catch_warnings(
            action="ignore"
        ):  # zipfile says aloud that a name is there twice: that is the attack
            for info, data in more:
                package.writestr(info, data)
    return memory.getvalue()


def with_database(members: Members, change: Callable[[sqlite3.Connection], Any]) -> Members:
    """The members with a changed database; its triggers are away during the change and are put back as they were."""
    with closing(opened(members[DATABASE])) as db:
        triggers = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            db.execute(f"DROP TRIGGER {name}")
        change(db)
        for _, sql in triggers:
            db.execute(sql)
        return {**members, DATABASE: db.serialize()}


def opened(data: bytes) -> sqlite3.Connection:
    """A database in memory, out of the write-ahead mode that a file in memory cannot have."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.deserialize(data[:18] + b"\1\1" + data[20:])
    return db


def with_sql(members: Members, *statements: str) -> Members:
    """The members with a database that these statements changed."""
    return with_database(members, lambda db: [db.execute(statement) for statement in statements])


def with_types(members: Members, table: str, column: str, value: object) -> Members:
    """The members with a value of another type than its STRICT column allows, under the honest schema."""

    with closing(opened(members[DATABASE])) as db:
        (sql,) = db.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).fetchone()
        loose = sql.replace(") STRICT", ")")
        for kind in ("INTEGER", "TEXT", "REAL", "BLOB"):
            loose = loose.replace(f"{column} {kind}", column)
        triggers = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            db.execute(f"DROP TRIGGER {name}")
        data = _with_schema(db, table, loose)
    with closing(opened(data)) as db:
        db.execute(f"UPDATE {table} SET {column} = ?", (value,))
        data = _with_schema(db, table, sql)
    with closing(opened(data)) as db:
        for _, trigger in triggers:
            db.execute(trigger)
        return {**members, DATABASE: db.serialize()}


def _with_schema(db: sqlite3.Connection, table: str, sql: str) -> bytes:
    db.execute("PRAGMA writable_schema = ON")
    db.execute("UPDATE sqlite_master SET sql = ? WHERE name = ? AND type = 'table'", (sql, table))
    return db.serialize()


def as_written(content: Any) -> str:
    """Return an event's content as the store writes it; infinities, which it cannot write, as Python's ``json`` does."""
    try:
        return orjson.dumps(content).decode() if "inf" not in repr(content) else json.dumps(content)
    except TypeError:  # an integer of more than 64 bits
        return json.dumps(content)


def with_event(members: Members, event: str, /, **changes: Any) -> Members:
    """The members with other values in the data of every event of a kind."""

    def change(db: sqlite3.Connection) -> None:
        for seq, data in db.execute("SELECT seq, data FROM events WHERE kind = ?", (event,)).fetchall():
            text = as_written(json.loads(data) | changes)
            db.execute("UPDATE events SET data = ? WHERE seq = ?", (text, seq))

    return with_database(members, change)


def with_settings(members: Members, **changes: Any) -> Members:
    """The members with other settings of the run."""

    def change(db: sqlite3.Connection) -> None:
        (data,) = db.execute("SELECT data FROM events WHERE kind = 'run.started'").fetchone()
        content = json.loads(data)
        content["settings"] |= changes
        db.execute("UPDATE events SET data = ? WHERE kind = 'run.started'", (as_written(content),))

    return with_database(members, change)


def with_journal(
    members: Members, change: Callable[[list[dict[str, Any]]], Any], *, notebook: bool = False
) -> Members:
    """The members with P1's journal changed and sealed anew, and with ``notebook`` its notebook rendered from it."""
    lines = [json.loads(line) for line in members[JOURNAL].splitlines()]
    change(lines)
    head = "0" * 64
    for number, line in enumerate(lines):
        line["seq"], line["prev"] = number, head
        line["hash"] = head = seal_line(line)
    changed = {**members, JOURNAL: b"".join(json.dumps(line).encode() + b"\n" for line in lines)}
    if notebook:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "P1.1.1.jsonl"
            path.write_bytes(changed[JOURNAL])
            changed[NOTEBOOK] = json.dumps(render_notebook(read_journal(path))).encode()
    return changed


def with_notebook(members: Members, change: Callable[[Any], Any]) -> Members:
    """The members with P1's notebook changed as a JSON value."""
    content = json.loads(members[NOTEBOOK])
    change(content)
    return {**members, NOTEBOOK: json.dumps(content).encode()}


def _update_metadata(metadata: dict[str, Any], book: Any) -> None:
    book["metadata"].update(metadata)


def hostile_packages(honest: bytes) -> Iterator[Hostile]:
    """The corpus, made of an honest package of ``small_run``."""
    members = members_of(honest)
    from tests.fakes import hostile_forms

    for family in (
        *hostile_forms.FAMILIES,
        _paths,
        _kinds,
        _archives,
        _schemas,
        _rows,
        _types,
        _events,
        _settings,
        _bodies,
        _evidence,
        _files,
    ):
        for name, code, made in family(members, honest):
            data = made() if callable(made) else made
            yield Hostile(
                f"{family.__name__.strip('_')}: {name}", code, data if isinstance(data, bytes) else pack(data)
            )


Family = Iterator[tuple[str, int, Any]]

_NAMES = (
    "../outside", "../../outside", "/outside", "/root/.ssh/authorized_keys", "run/../../outside", "run/../outside",
    "run/proofs/../../../../outside", "run/proofs/../P9.ipynb", "run/./tree.json", "run//tree.json", "./run.db", "run\\proofs\\P9.ipynb",
    "C:\\outside", "run/proofs/P1.ipynb/", "run/proofs/P1.ipynb/x", "run/proofs/.P1.ipynb", "run/proofs/P01.ipynb", "run/proofs/P1.t0.ipynb",
    "run/proofs/P1.t99999.ipynb", "run/proofs/P1..ipynb", "run/proofs/p1.ipynb", "run/proofs/P1.ipynb.exe", "run/proofs/P\u0661.ipynb",
    "run/sessions/P1.1.1.jsonl\n", "run/sessions/P1.1.jsonl", "run/sessions/P1.0.1.jsonl", "run/sessions/../../x.1.1.jsonl",
    "run/sessions/P1.1.1.jsonl~", "run/other/P1.ipynb", "run/report.html", "run/.bashrc", ".bashrc", "workbench.db", "run.db-wal",
    "run.db-journal", "run/workbench.db", "run/proofs/" + "P1." * 3000 + "1.ipynb", "run/proofs/P1234567.ipynb", "run", "run/",
    "run/proofs/con.ipynb", "run/kernel.json", "run/sitecustomize.py", "run/proofs/P1.ipynb\u202e",
)  # fmt: skip


def _paths(members: Members, honest: bytes) -> Family:
    for name in _NAMES:
        if name != "run/":  # a folder that other zip programs write; let through
            yield repr(name)[:60], REFUSED, partial(pack, members, (name, b"x"))
    yield "a leaf the log does not know", REFUSED, {**members, "run/proofs/P7.ipynb": members[NOTEBOOK]}
    yield "a trial the log does not know", REFUSED, {**members, "run/proofs/P1.t2.ipynb": members[NOTEBOOK]}
    yield (
        "an attempt the log does not know",
        REFUSED,
        {**members, "run/sessions/P1.1.9.jsonl": members[JOURNAL]},
    )


def info_of(name: str, kind: int = stat.S_IFREG, **attributes: Any) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = (kind | 0o644) << 16
    for key, value in attributes.items():
        setattr(info, key, value)
    return info


def _kinds(members: Members, honest: bytes) -> Family:
    rest = {name: data for name, data in members.items() if name != "run/tree.json"}
    tree = members["run/tree.json"]
    for word, kind in (("link", stat.S_IFLNK), ("fifo", stat.S_IFIFO), ("device", stat.S_IFBLK), ("socket", stat.S_IFSOCK), ("folder", stat.S_IFDIR)):  # fmt: skip
        yield word, REFUSED, pack(rest, (info_of("run/tree.json", kind), b"/etc/passwd"))
    yield "a folder with content", REFUSED, pack(members, (info_of("run/proofs/"), b"x"))
    for word, method in (("bzip2", zipfile.ZIP_BZIP2), ("lzma", zipfile.ZIP_LZMA)):
        yield word, REFUSED, pack(rest, (info_of("run/tree.json", compress_type=method), tree))
    for name in members:
        yield f"{name} twice", REFUSED, pack(members, (info_of(name), members[name]))
    yield "encrypted", REFUSED, _flip(honest, 8, 0x1)
    for name in ("run/tree.json", JOURNAL, NOTEBOOK, DATABASE):
        yield f"a bomb as {name}", REFUSED, partial(pack, {**members, name: b"\0" * 12_000_000})
    yield (
        "too many members",
        REFUSED,
        partial(pack, members, *((f"run/proofs/P{n}.ipynb", b"") for n in range(1, 50_020))),
    )


def _flip(package: bytes, offset: int, bit: int) -> bytes:
    """Set a bit in every central header (at an offset there)."""
    data, place = bytearray(package), 0
    while (place := package.find(b"PK\1\2", place)) >= 0:
        data[place + offset] |= bit
        place += 4
    return bytes(data)


def _sizes(package: bytes, size: int) -> bytes:
    """Claim another unpacked size in the central header of ``run.db``."""
    data, place = bytearray(package), package.find(b"PK\1\2")
    struct.pack_into("<I", data, place + 24, size)
    return bytes(data)


def _archives(members: Members, honest: bytes) -> Family:
    for share in (0.3, 0.6, 0.9, 0.99):
        yield f"cut at {share}", REFUSED, honest[: int(len(honest) * share)]
    yield "empty", REFUSED, pack({})
    yield "no database", REFUSED, {name: data for name, data in members.items() if name != DATABASE}
    yield "a wrong checksum", REFUSED, _flip(honest, 16, 0xFF)
    yield "a claimed size above the true one", REFUSED, _sizes(honest, len(members[DATABASE]) + 1)
    yield "a claimed size below the true one", REFUSED, _sizes(honest, len(members[DATABASE]) - 1)
    yield "a claimed size of 4 GB", REFUSED, _sizes(honest, 0xFFFFFFF0)
    yield "only the directory of a zip", REFUSED, honest[honest.find(b"PK\1\2") :]
    shared = bytearray(honest)
    first, second = honest.find(b"PK\1\2"), honest.find(b"PK\1\2", honest.find(b"PK\1\2") + 4)
    shared[second + 42 : second + 46] = shared[first + 42 : first + 46]
    yield "members that share their bytes", REFUSED, bytes(shared)


def _schemas(members: Members, honest: bytes) -> Family:
    changes = {
        "another table": ["CREATE TABLE more (x)"],
        "a view": ["CREATE VIEW more AS SELECT * FROM events"],
        "a trigger": ["CREATE TRIGGER more AFTER INSERT ON bodies BEGIN DELETE FROM bodies; END"],
        "a virtual table": ["CREATE VIRTUAL TABLE more USING fts5(x)"],
        "an index on a function": ["CREATE INDEX more ON events (lower(data))"],
        "a column": ["ALTER TABLE events ADD COLUMN more TEXT"],
        "a column named as SQL": ['ALTER TABLE api_calls ADD COLUMN "x) VALUES (1); DROP TABLE events; --" TEXT'],
        "a column renamed": ["ALTER TABLE model_calls RENAME COLUMN cost_usd TO cost"],
        "a computed column": ["ALTER TABLE events ADD COLUMN more TEXT GENERATED ALWAYS AS (lower(data))"],
        "an index gone": ["DROP INDEX events_by_run"],
        "a table gone": ["DROP TABLE api_calls"],
        "a view in place of a table": ["ALTER TABLE bodies RENAME TO b", "CREATE VIEW bodies AS SELECT * FROM b"],
        "tables that are not strict": ["DROP TABLE model_calls", "CREATE TABLE model_calls (id INTEGER PRIMARY KEY, run_id, node)"],
        "a statistics table": ["ANALYZE"],
    }  # fmt: skip
    for name, statements in changes.items():
        yield name, REFUSED, partial(with_sql, members, *statements)
    database = members[DATABASE]
    for name, data in {
        "no database": b"x" * 4096, "nothing": b"", "half a database": database[: len(database) // 2],
        "a header alone": database[:100], "a page of noise": database[:8192] + b"\xa5" * 4096 + database[12288:],
        "another text encoding": database[:56] + b"\0\0\0\2" + database[60:],
    }.items():  # fmt: skip
        yield name, REFUSED, {**members, DATABASE: data}


_IDS = (
    "../../pwned", "/tmp/pwned", "", "20180630-120000-ACED", "20180630-120000-aced\n", "20180630-120000-aced\0", "'; DROP TABLE events; --",
)  # fmt: skip


def _rows(members: Members, honest: bytes) -> Family:
    tables = ("events", "model_calls", "api_calls")
    for run_id in _IDS:

        def rename(db: sqlite3.Connection, run_id: str = run_id) -> None:
            for table in tables:
                db.execute(f"UPDATE {table} SET run_id = ?", (run_id,))

        yield f"run id {run_id[:30]!r}", REFUSED, partial(with_database, members, rename)
    for table in tables:
        yield (
            f"{table} of another run",
            REFUSED,
            with_sql(
                members,
                f"UPDATE {table} SET run_id = '20180101-000000-feed' WHERE rowid = (SELECT max(rowid) FROM {table})",
            ),
        )
    yield "no run", REFUSED, with_sql(members, "DELETE FROM events")
    yield (
        "a run without its beginning",
        REFUSED,
        with_sql(members, "DELETE FROM events WHERE kind = 'run.started'"),
    )
    yield (
        "a run that begins twice",
        REFUSED,
        with_sql(
            members,
            "UPDATE events SET kind = 'run.started', data = (SELECT data FROM events WHERE seq = 1) WHERE kind = 'run.finished'",
        ),
    )
    for column, value in (("node", "'../P1'"), ("node", "'P1/../../x'"), ("node", "'P01'"), ("trial", "-1"), ("trial", "10000000000000"), ("v", str(VERSION + 1)), ("at_utc", "'yesterday'"), ("kind", "'run.pwned'"), ("kind", "'leaf.grounded' || char(27)")):  # fmt: skip
        yield (
            f"events.{column} = {value}",
            REFUSED,
            with_sql(members, f"UPDATE events SET {column} = {value} WHERE kind = 'leaf.started'"),
        )
    for column, value in (("node", "'../P1'"), ("step", "9223372036854775807"), ("stage", "char(27) || '[2J'"), ("cutoff", "char(10)"), ("asked", "'{'"), ("sent", "'{}'"), ("meta", "NULL"), ("meta", """'{"content_hash": 5}'"""), ("answer", "'../x'")):  # fmt: skip
        yield (
            f"api_calls.{column} = {value}",
            REFUSED,
            with_sql(members, f"UPDATE api_calls SET {column} = {value}"),
        )
    for column, value in (("cost_usd", "9e999"), ("input_tokens", "-7"), ("model", "char(7)"), ("request", "'sha256:zz'")):  # fmt: skip
        yield (
            f"model_calls.{column} = {value}",
            REFUSED,
            with_sql(members, f"UPDATE model_calls SET {column} = {value}"),
        )


def _types(members: Members, honest: bytes) -> Family:
    for table, column, value in (
        ("events", "v", "one"), ("events", "trial", "1.5x"), ("events", "data", b"\xff\xfe"), ("events", "data", 7), ("events", "run_id", b"\xff"),
        ("api_calls", "attempt", "x"), ("api_calls", "path", 7), ("model_calls", "seconds", "fast"), ("model_calls", "request_hash", b"\0"),
        ("bodies", "data", "text"),
    ):  # fmt: skip
        yield (
            f"{table}.{column} as {type(value).__name__}",
            REFUSED,
            partial(with_types, members, table, column, value),
        )
    yield (
        "invalid UTF-8",
        REFUSED,
        with_sql(members, "UPDATE events SET data = CAST(x'7b22fffe227d' AS TEXT) WHERE kind = 'run.sealed'"),
    )


def _events(members: Members, honest: bytes) -> Family:
    for name, sql in {
        "no JSON": "'{'", "a list": "'[]'", "NaN": """'{"p": NaN}'""", "deep": f"'{DEEP.decode()}'", "steep": """'{"p": """ + STEEP.decode() + "}'",
    }.items():  # fmt: skip
        yield (
            f"data is {name}",
            REFUSED,
            with_sql(members, f"UPDATE events SET data = {sql} WHERE kind = 'run.finished'"),
        )
    for kind, changes in (
        ("run.finished", {"p": 2.0}), ("run.finished", {"more": 1}), ("run.finished", {"kind": "run.started"}), ("leaf.started", {"attempt": 10**12}),
        ("leaf.grounded", {"report": "../x"}), ("node.synthesized", {"rule": {"name": 7}}),
        ("node.synthesized", {"rule": {"name": "linear", "intercept": 1e999, "weights": {}}}), ("run.started", {"cutoff": "never"}),
        ("run.started", {"cutoff_instant": "x"}), ("run.started", {"statement": "\x1b[2J"}), ("run.started", {"statement": "another claim"}),
        ("run.started", {"settings": {}}), ("run.sealed", {"isolation": ["none"]}),
    ):  # fmt: skip
        yield f"{kind} {str(changes)[:50]}", REFUSED, with_event(members, kind, **changes)
    scenario = {
        "record": {
            "action": "edit",
            "scenario": "x",
            "author": "",
            "at": "2026-01-01T00:00:00Z",
            "base_seq": 77,
        }
    }
    yield "a scenario on no record", REFUSED, added(members, "scenario.recorded", scenario)
    yield (
        "a scenario that is none",
        REFUSED,
        added(members, "scenario.recorded", {"record": {"action": "open"}}),
    )
    yield (
        "an edit of the tree on no event",
        REFUSED,
        added(members, "tree.edited", {"tree": "sha256:" + "0" * 64, "base_seq": -1}),
    )
    yield (
        "a leaf beside the tree",
        REFUSED,
        added(members, "leaf.started", {"attempt": 1}, node="P9", trial=1),
    )
    yield "a pooled leaf beside the tree", REFUSED, added(members, "node.failed", {"reason": 1}, node="P9")


def added(
    members: Members, kind: str, data: dict[str, Any], node: str | None = None, trial: int | None = None
) -> Members:
    row = ("20180630-120000-aced", "2026-01-01T00:00:00Z", kind, node, trial, VERSION, as_written(data))
    insert = "INSERT INTO events (run_id, at_utc, kind, node, trial, v, data) VALUES (?, ?, ?, ?, ?, ?, ?)"
    return with_database(members, lambda db: db.execute(insert, row))


def _settings(members: Members, honest: bytes) -> Family:
    for changes in (
        {"isolation": "root"}, {"isolation": ["none"]}, {"trials": 10**9}, {"trials": "3"}, {"concurrency": 2**70}, {"agent": {"pwned": 1}}, {"pwned": 1},
        {"budget_usd": "NaN"},
    ):  # fmt: skip
        yield str(changes), REFUSED, with_settings(members, **changes)


def _bodies(members: Members, honest: bytes) -> Family:
    for what, column in (("model_calls", "reply"), ("model_calls", "request"), ("api_calls", "answer")):
        which = f"(SELECT {column} FROM {what} LIMIT 1)"
        yield (
            f"an altered {column}",
            ALTERED,
            with_sql(members, f"UPDATE bodies SET data = CAST(data || ' ' AS BLOB) WHERE hash = {which}"),
        )
        yield (
            f"a {column} that is gone",
            ALTERED,
            with_sql(members, f"DELETE FROM bodies WHERE hash = {which}"),
        )
    for kind, field in (("tree.planned", "tree"), ("leaf.grounded", "report")):
        which = f"(SELECT json_extract(data, '$.{field}') FROM events WHERE kind = '{kind}' LIMIT 1)"
        yield (
            f"an altered {field}",
            ALTERED,
            with_sql(members, f"UPDATE bodies SET data = CAST(data || ' ' AS BLOB) WHERE hash = {which}"),
        )
        yield (
            f"a {field} that is gone",
            ALTERED,
            with_sql(members, f"DELETE FROM bodies WHERE hash = {which}"),
        )
    yield (
        "a body that nothing names",
        REFUSED,
        with_sql(members, "INSERT INTO bodies VALUES ('sha256:" + "a" * 64 + "', x'00')"),
    )
    for name, data in {
        "deep": DEEP,
        "steep": STEEP,
        "no JSON": b"\xff\xfe",
        "another value": b"{}",
        "a list": b"[]",
    }.items():
        yield (
            f"a reply that is {name}",
            REFUSED,
            with_database(members, partial(_other_body, "model_calls", "reply", data)),
        )
        yield (
            f"a request that is {name}",
            REFUSED,
            with_database(members, partial(_other_body, "model_calls", "request", data)),
        )
    yield "a tree that is no tree", REFUSED, with_database(members, _other_tree)


def _other_body(table: str, column: str, data: bytes, db: sqlite3.Connection) -> None:
    """Put other data in the place of a body, under its own true hash."""
    import hashlib

    digest = "sha256:" + hashlib.sha256(data).hexdigest()
    db.execute("INSERT OR IGNORE INTO bodies VALUES (?, ?)", (digest, data))
    (old,) = db.execute(f"SELECT {column} FROM {table} LIMIT 1").fetchone()
    db.execute(f"UPDATE {table} SET {column} = ? WHERE {column} = ?", (digest, old))
    db.execute("DELETE FROM bodies WHERE hash = ?", (old,))


def _other_tree(db: sqlite3.Connection) -> None:
    import hashlib

    (data,) = db.execute("SELECT data FROM events WHERE kind = 'tree.planned'").fetchone()
    body = b'{"nodes": [{"id": "../x", "statement": "x"}]}'
    digest = "sha256:" + hashlib.sha256(body).hexdigest()
    db.execute("INSERT INTO bodies VALUES (?, ?)", (digest, body))
    db.execute("DELETE FROM bodies WHERE hash = ?", (json.loads(data)["tree"],))
    db.execute("UPDATE events SET data = ? WHERE kind = 'tree.planned'", (as_written({"tree": digest}),))


def _evidence(members: Members, honest: bytes) -> Family:
    lines = members[JOURNAL].splitlines(keepends=True)
    for name, data in {
        "a word changed": members[JOURNAL].replace(b"CALL_API", b"call_api"), "a line gone": b"".join(lines[:3] + lines[4:]),
        "lines swapped": b"".join([lines[1], lines[0], *lines[2:]]), "cut": members[JOURNAL][:-30], "a line twice": b"".join([*lines, lines[-1]]),
        "invalid UTF-8": b"\xff\xfe\n", "deep": DEEP + b"\n", "empty": b"", "of another leaf": members["run/sessions/P2.1.1.jsonl"],
        "NaN": members[JOURNAL].replace(b"0.01", b"NaN"),
    }.items():  # fmt: skip
        yield f"journal: {name}", ALTERED, {**members, JOURNAL: data}
    yield "journal: gone", ALTERED, {name: data for name, data in members.items() if name != JOURNAL}

    def code(lines: list[dict[str, Any]]) -> dict[str, Any]:
        return next(line for line in lines if line["kind"] == "code")

    def result(lines: list[dict[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = next(line for line in lines if line["kind"] == "result")["result"]
        return found

    for name, change in {
        "another source": lambda lines: code(lines).update(source="print('pwned')"),
        "no source": lambda lines: code(lines).pop("source"),
        "a number as source": lambda lines: code(lines).update(source=7),
        "no such cell": lambda lines: code(lines).update(id="cell-999"),
        "another name": lambda lines: lines[0].update(name="P2.1.1"),
        "another run": lambda lines: lines[0].update(metadata={"run": "20180101-000000-feed"}),
        "a clock that is none": lambda lines: lines[0].update(clock="soon"),
        "outputs that are none": lambda lines: result(lines).update(outputs=[{"output_type": "pwned"}]),
        "other outputs": lambda lines: result(lines)["outputs"][0].update(text="3\n"),
        "no outputs": lambda lines: result(lines).update(outputs=[]),
        "another data hash": lambda lines: result(lines).update(api_hashes=["sha256:" + "0" * 64]),
        "no data hash": lambda lines: result(lines).update(api_hashes=[]),
        "another status": lambda lines: result(lines).update(status="pwned"),
    }.items():  # fmt: skip
        yield f"journal sealed anew: {name}", ALTERED, with_journal(members, change)
    for name, change in {
        "output": lambda book: book["cells"][1]["outputs"][0].update(text="3\n"), "source": lambda book: book["cells"][1].update(source="1"),
        "text": lambda book: book["cells"][0].update(source="# Another"), "order": lambda book: book["cells"].reverse(),
        "missing": lambda book: book["cells"].pop(), "more": lambda book: book["cells"].append({**book["cells"][0], "id": "more"}),
    }.items():  # fmt: skip
        yield f"notebook: {name}", ALTERED, with_notebook(members, change)
    for name, metadata in {
        "an unsealed kernel": {"kernelspec": {"name": "python3", "display_name": "Analyst"}}, "no kernel": {"kernelspec": {}},
        "a widget's module": {"widgets": {"application/vnd.jupyter.widget-state+json": {"state": {}}}},
    }.items():  # fmt: skip
        yield f"notebook: {name}", REFUSED, with_notebook(members, partial(_update_metadata, metadata))
    yield "notebook: gone", ALTERED, {name: data for name, data in members.items() if name != NOTEBOOK}
    for name, statement in {
        "a call gone": "DELETE FROM api_calls WHERE node = 'P1'",
        "a call more": "INSERT INTO api_calls SELECT NULL, run_id, node, trial, attempt, stage, step, 1, at_utc, path, asked, sent, cutoff, request_hash, answer, meta, refused FROM api_calls WHERE node = 'P1'",
        "another content hash": "UPDATE api_calls SET meta = json_set(meta, '$.content_hash', 'sha256:" + "0" * 64 + "')",
        "another p in the log": "UPDATE events SET data = json_set(data, '$.p', 0.99) WHERE kind = 'leaf.grounded'",
        "no conclusion": "DELETE FROM model_calls",
    }.items():  # fmt: skip
        code_of = REFUSED if name == "no conclusion" else ALTERED  # its bodies are then named by nothing
        yield name, code_of, with_sql(members, statement)


def _files(members: Members, honest: bytes) -> Family:
    for name in ("run/manifest.json", NOTEBOOK):
        for word, data in {"no JSON": b"{", "a list": b"[]", "deep": DEEP, "steep": b'{"x": ' + STEEP + b"}", "invalid UTF-8": b'{"\xff": 1}', "NaN": b'{"x": NaN}', "empty": b""}.items():  # fmt: skip
            yield f"{name} is {word}", REFUSED, {**members, name: data}
    yield (
        "tree.json is no tree",
        REFUSED,
        {**members, "run/tree.json": b'{"nodes": [{"id": "../x", "statement": ""}]}'},
    )
    yield (
        "manifest.json has odd packages",
        REFUSED,
        {**members, "run/manifest.json": b'{"packages": "pandas"}'},
    )
    yield (
        "a notebook that nbformat refuses",
        REFUSED,
        with_notebook(members, lambda book: book.update(cells=[{"cell_type": "pwned"}])),
    )
