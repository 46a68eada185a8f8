"""Some 330 packages that a stranger could send, each made from one honest package by one change."""

import io
import json
import sqlite3
import stat
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
_LONG = {"@deep@": DEEP.decode(), "@steep@": STEEP.decode(), "@nines@": "9" * 5000, "@zeros@": "0" * 64}


def _rows() -> dict[str, Any]:
    text = Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
    for mark, long in _LONG.items():
        text = text.replace(mark, long)
    rows: dict[str, Any] = json.loads(text)
    return rows


#: Names of members, run ids, and changes of a package by kind, name and exit code.
ROWS = _rows()


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


def with_types(members: Members, table: str, column: str, value: str) -> Members:
    """The members with a value (in SQL) of another type than its STRICT column allows, under the honest schema."""

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
        db.execute(f"UPDATE {table} SET {column} = {value}")
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

    for change, name, code, *arguments in ROWS["changes"]:
        yield Hostile(name, code, pack(_CHANGES[change](members, *arguments)))
    families = (_paths, _kinds, _databases, _run_ids, _bodies, _evidence, _files)
    for family in (*hostile_forms.FAMILIES, *families):
        for name, code, made in family(members, honest):
            data = made() if callable(made) else made
            yield Hostile(
                f"{family.__name__.strip('_')}: {name}", code, data if isinstance(data, bytes) else pack(data)
            )


Family = Iterator[tuple[str, int, Any]]


def _paths(members: Members, honest: bytes) -> Family:
    for name in (*ROWS["paths"], "run/proofs/" + "P1." * 3000 + "1.ipynb"):
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
    for name in ("run/tree.json", JOURNAL, NOTEBOOK, DATABASE):
        yield f"a bomb as {name}", REFUSED, partial(pack, {**members, name: b"\0" * 12_000_000})
    yield (
        "too many members",
        REFUSED,
        partial(pack, members, *((f"run/proofs/P{n}.ipynb", b"") for n in range(1, 50_020))),
    )


def _databases(members: Members, honest: bytes) -> Family:
    database = members[DATABASE]
    for name, data in {
        "no database": b"x" * 4096, "nothing": b"", "half a database": database[: len(database) // 2],
        "a header alone": database[:100], "a page of noise": database[:8192] + b"\xa5" * 4096 + database[12288:],
        "another text encoding": database[:56] + b"\0\0\0\2" + database[60:],
    }.items():  # fmt: skip
        yield name, REFUSED, {**members, DATABASE: data}


def _run_ids(members: Members, honest: bytes) -> Family:
    for run_id in ROWS["run_ids"]:

        def rename(db: sqlite3.Connection, run_id: str = run_id) -> None:
            for table in ("events", "model_calls", "api_calls"):
                db.execute(f"UPDATE {table} SET run_id = ?", (run_id,))

        yield f"run id {run_id[:30]!r}", REFUSED, partial(with_database, members, rename)


def added(
    members: Members, kind: str, data: dict[str, Any], node: str | None = None, trial: int | None = None
) -> Members:
    row = ("20180630-120000-aced", "2026-01-01T00:00:00Z", kind, node, trial, VERSION, as_written(data))
    insert = "INSERT INTO events (run_id, at_utc, kind, node, trial, v, data) VALUES (?, ?, ?, ?, ?, ?, ?)"
    return with_database(members, lambda db: db.execute(insert, row))


_CHANGES: dict[str, Callable[..., Members]] = {
    "sql": lambda members, statements: with_sql(members, *statements),
    "event": lambda members, kind, changes: with_event(members, kind, **changes),
    "settings": lambda members, changes: with_settings(members, **changes),
    "types": with_types,
    "added": added,
}


def _bodies(members: Members, honest: bytes) -> Family:
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

    for name, kind, changes in ROWS["journal"]:

        def changed(lines: list[dict[str, Any]], kind: str = kind, changes: Any = changes) -> None:
            line = next(line for line in lines if line["kind"] == kind)
            (line["result"] if kind == "result" else line).update(changes)

        yield f"journal sealed anew: {name}", ALTERED, with_journal(members, changed)
    for name, edit in {
        "no source": lambda lines: next(line for line in lines if line["kind"] == "code").pop("source"),
        "other outputs": lambda lines: next(line for line in lines if line["kind"] == "result")["result"]["outputs"][0].update(text="3\n"),
    }.items():  # fmt: skip
        yield f"journal sealed anew: {name}", ALTERED, with_journal(members, edit)
    for name, change in {
        "output": lambda book: book["cells"][1]["outputs"][0].update(text="3\n"), "source": lambda book: book["cells"][1].update(source="1"),
        "text": lambda book: book["cells"][0].update(source="# Another"), "order": lambda book: book["cells"].reverse(),
        "missing": lambda book: book["cells"].pop(), "more": lambda book: book["cells"].append({**book["cells"][0], "id": "more"}),
    }.items():  # fmt: skip
        yield f"notebook: {name}", ALTERED, with_notebook(members, change)
    for name, metadata in ROWS["metadata"].items():
        yield f"notebook: {name}", REFUSED, with_notebook(members, partial(_update_metadata, metadata))
    yield "notebook: gone", ALTERED, {name: data for name, data in members.items() if name != NOTEBOOK}


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
