"""Packages that two programs read as two different things, and records in forms that export never writes.

Families of the corpus in `hostile_packages`, which names and counts them.
"""

import io
import json
import sqlite3
import struct
import zipfile
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tests.fakes.hostile_packages import (
    ALTERED,
    DATABASE,
    JOURNAL,
    NOTEBOOK,
    REFUSED,
    Members,
    added,
    info_of,
    opened,
    pack,
    with_database,
    with_event,
    with_sql,
)
from tests.fakes.zips import Part, build
from workbench.packages.signature import sign_package
from workbench.signing_keys import public_key_of
from workbench.store import Store

Family = Iterator[tuple[str, int, Any]]

_MANIFEST = "run/manifest.json"
_DIRECTORY, _END = b"PK\1\2", b"PK\5\6"


def _written_over(package: bytes, mark: bytes, offset: int, form: str, value: int) -> bytes:
    """Another value in the first central header of an archive, or in its last bytes."""
    data = bytearray(package)
    struct.pack_into(form, data, package.find(mark) + offset, value)
    return bytes(data)


def archive_frames(members: Members, honest: bytes) -> Family:
    """Something before, behind or beside the archive, and a directory that lies."""
    other = pack({"report.html": b"<p>Another run</p>"})
    yield "a program before it", REFUSED, b"#!/bin/sh\nexit\n" + honest
    yield "another archive before it", REFUSED, other + honest
    yield "bytes behind it", REFUSED, honest + b"\0" * 64
    yield "another archive behind it", REFUSED, honest + other
    memory = io.BytesIO(honest)
    with zipfile.ZipFile(memory, "a") as package:
        package.comment = b"PK\5\6" + b"\0" * 18
    yield "a directory in its comment", REFUSED, memory.getvalue()
    for name, offset, form, value in (
        ("no members", 10, "<H", 0), ("a thousand members", 10, "<H", 1000), ("none on this disk", 8, "<H", 0), ("another disk", 4, "<H", 3),
        ("a directory of 10 bytes", 12, "<I", 10), ("a directory of 4 GB", 12, "<I", 0xFFFFFFF0), ("a directory at 0", 16, "<I", 0),
    ):  # fmt: skip
        yield f"it says {name}", REFUSED, _written_over(honest, _END, offset, form, value)
    for name, offset, form, value in (
        ("a place of its own behind the end", 42, "<I", 0x7FFFFFFF), ("no name", 28, "<H", 0), ("a name of 65535 bytes", 28, "<H", 0xFFFF),
        ("an extra field of 65535 bytes", 30, "<H", 0xFFFF), ("a version of the future", 6, "<H", 99), ("strong encryption", 8, "<H", 0x40),
        ("no packed bytes", 20, "<I", 0), ("4 GB of packed bytes", 20, "<I", 0xFFFFFFFF),
    ):  # fmt: skip
        yield f"run.db has {name}", REFUSED, _written_over(honest, _DIRECTORY, offset, form, value)
    yield "run.db has another name in its header", REFUSED, honest.replace(b"run.db", b"../r.d", 1)
    parts = [Part(name.encode(), data) for name, data in members.items()]
    hidden = build([Part(b"report.html", b"<p>p = 99 %</p>")]).partition(b"PK\1\2")[0]
    yield "a member between two", REFUSED, build([parts[0], replace(parts[1], before=hidden), *parts[2:]])
    yield "a member that the directory leaves out", REFUSED, build(parts, before_directory=hidden)
    yield (
        "a member behind the stream of another",
        REFUSED,
        build([*parts[:-1], replace(parts[-1], tail=hidden)]),
    )


def names_that_look_alike(members: Members, honest: bytes) -> Family:
    """Names that another program, file system or person takes for one of ours."""
    for name in (
        "RUN/tree.json", "run/TREE.JSON", "run.DB", "Run.db", "run/Proofs/P1.ipynb", "run/proofs/P1.IPYNB", "run/proofs/P\uff11.ipynb",
        "run/proofs/\u04201.ipynb", "\ufeffrun.db", "run.db ", "run.db.", "run.db::$DATA", "run/proofs/P1\u2024ipynb", "run/tree.json\u200b",
        "run/tr\u00e9e.json", "run/tre\u0301e.json",
    ):  # fmt: skip
        yield repr(name), REFUSED, pack(members, (name, b"x"))
    for encoding in ("utf-16-le", "utf-16"):
        name = "run/proofs/P2.ipynb".encode(encoding).decode("latin-1")
        yield f"a name in {encoding}", REFUSED, pack(members, (name, members[NOTEBOOK]))
    rest = {name: data for name, data in members.items() if name != _MANIFEST}
    second = struct.pack("<HHBL", 0x7075, 5 + 9, 1, 0) + b"../../.rc"
    yield (
        "a second name in a field",
        REFUSED,
        pack(rest, (info_of(_MANIFEST, extra=second), members[_MANIFEST])),
    )
    yield "a package in a package", REFUSED, pack({"run.zip": honest})
    yield "a package as a database", REFUSED, pack({**members, DATABASE: honest})


def _rewritten(members: Members, kind: str, write: Callable[[str], str]) -> Members:
    """The members with the text of every event of a kind written by hand."""

    def change(db: sqlite3.Connection) -> None:
        for seq, data in db.execute("SELECT seq, data FROM events WHERE kind = ?", (kind,)).fetchall():
            db.execute("UPDATE events SET data = ? WHERE seq = ?", (write(data), seq))

    return with_database(members, change)


def _in_utf_16(database: bytes) -> bytes:
    """The same tables and rows in a database of another text encoding."""
    with closing(opened(database)) as db, closing(sqlite3.connect(":memory:", isolation_level=None)) as other:
        other.execute("PRAGMA encoding = 'UTF-16le'")
        for line in db.iterdump():
            if "sqlite_sequence" not in line:
                other.execute(line)
        other.execute(f"PRAGMA user_version = {db.execute('PRAGMA user_version').fetchone()[0]}")
        return other.serialize()


def odd_texts(members: Members, honest: bytes) -> Family:
    """Numbers, keys and encodings of which readers make different things."""
    for name, text in {
        "1e400": "1e400", "-1e400": "-1e400", "Infinity": "Infinity", "400 digits": "1" + "0" * 400, "5000 digits": "1" * 5000,
        "too many digits": "0.6000000000000000000000001", "half a pair": '"\\ud800"', "an exponent": "5e-1",
    }.items():  # fmt: skip
        yield (
            f"p is {name}",
            REFUSED,
            _rewritten(members, "run.finished", lambda data, text=text: f'{{"p":{text}}}'),
        )
    yield (
        "p twice",
        REFUSED,
        _rewritten(members, "run.finished", lambda data: data.replace("{", '{"p":0.99,', 1)),
    )
    yield "a byte order mark", REFUSED, _rewritten(members, "run.finished", lambda data: "\ufeff" + data)
    yield "a database in UTF-16", REFUSED, {**members, DATABASE: _in_utf_16(members[DATABASE])}
    for file, code in (
        ("run/tree.json", REFUSED),
        (_MANIFEST, REFUSED),
        (NOTEBOOK, REFUSED),
        (JOURNAL, ALTERED),
    ):
        data = members[file]
        for name, changed in {
            "a byte order mark": b"\xef\xbb\xbf" + data, "UTF-16": data.decode().encode("utf-16"),
            "an integer of 5000 digits": data.replace(b"{", b'{"x":' + b"1" * 5000 + b",", 1),
            "infinity": data.replace(b"{", b'{"x":1e999,', 1), "half a pair": data.replace(b"{", b'{"x":"\\ud800",', 1),
        }.items():  # fmt: skip
            yield f"{file} has {name}", code, {**members, file: changed}


def other_times(members: Members, honest: bytes) -> Family:
    """Schemas and instants that are not of this time, and events that are another run's."""
    for version in (999, 2**31 - 1, -5):
        yield f"a schema of version {version}", REFUSED, with_sql(members, f"PRAGMA user_version = {version}")
    for version in (0, -1, 2**40):
        yield f"events of version {version}", REFUSED, with_sql(members, f"UPDATE events SET v = {version}")
    yield "events in reverse", REFUSED, with_sql(members, "UPDATE events SET seq = -seq")
    for cutoff in ("0001-01-01", "2018-06-31", "12018-06-30", "2018-06-30\n", "9" * 5000):
        yield f"a cutoff of {cutoff[:20]!r}", REFUSED, with_event(members, "run.started", cutoff=cutoff)
    for at in ("2018-13-01T00:00:00Z", "2018-06-30", "9" * 5000, "2018-06-30T00:00:00+99:00"):
        changed = with_sql(members, f"UPDATE api_calls SET at_utc = '{at}'")
        yield f"a data call at {at[:20]}", REFUSED, changed
    other = {"tree": "sha256:" + "0" * 64}
    yield "a tree of another run", ALTERED, added(members, "tree.edited", other | {"base_seq": 1})


def conclusions(members: Members, honest: bytes) -> Family:
    """What stands above the proofs and is not what they concluded."""
    for kind, changes in (
        ("leaf.pooled", {"p": 0.9}), ("leaf.pooled", {"trials": [0.9]}), ("leaf.pooled", {"p": 0.9, "trials": [0.9]}), ("leaf.pooled", {"trials": []}),
        ("leaf.pooled", {"key_factor": "another"}), ("leaf.grounded", {"key_factor": "another"}), ("node.synthesized", {"p": 0.9}),
        ("run.finished", {"p": 0.9}), ("node.synthesized", {"rule": {"name": "linear", "intercept": 0.5, "weights": {"P1": 0.1, "P2": 0.1}}}),
    ):  # fmt: skip
        yield f"{kind} {str(changes)[:60]}", ALTERED, with_event(members, kind, **changes)
    (report,) = _sql(
        members, "SELECT json_extract(data, '$.report') FROM events WHERE kind = 'node.synthesized'"
    )
    yield "leaf.pooled with another's report", ALTERED, with_event(members, "leaf.pooled", report=report)
    yield "leaf.grounded with another's report", ALTERED, with_event(members, "leaf.grounded", report=report)


def _sql(members: Members, query: str) -> list[Any]:
    with closing(opened(members[DATABASE])) as db:
        return [row[0] for row in db.execute(query)]


def signatures(members: Members, honest: bytes) -> Family:
    """Signatures of a key that may well be trusted, over something else."""
    key = Ed25519PrivateKey.generate()

    def signed(run_id: str, hashes: dict[str, str]) -> Members:
        with TemporaryDirectory() as folder, closing(Store(Path(folder), durable=False)) as store:
            return {**members, "signature.json": sign_package(store, run_id, hashes, key)}

    yield "over another run", ALTERED, signed("20180101-000000-feed", {})
    yield "over an empty log", ALTERED, signed("20180630-120000-aced", {})
    line, noise = public_key_of(key), b64encode(b"\7" * 64).decode()
    yield "of noise", ALTERED, {**members, "signature.json": _member(1, line, noise)}
    for name, data in {
        "of no version": _member(0, line, noise), "of a later version": _member(2, line, noise), "of two keys": _member(1, f"{line}\n{line}", noise),
        "by a name": _member(1, "alice", noise), "of half its length": _member(1, line, noise[:44]), "that is a list": b"[]", "that is empty": b"",
        "with more in it": _member(1, line, noise, name="alice"), "of 5000 bytes": _member(1, line, noise) + b" " * 5000,
    }.items():  # fmt: skip
        yield name, REFUSED, {**members, "signature.json": data}
    yield "twice", REFUSED, partial(pack, signed("20180630-120000-aced", {}), ("signature.json", b"{}"))


def _member(version: int, key: str, signature: str, **more: str) -> bytes:
    return json.dumps({"version": version, "key": key, "signature": signature, **more}).encode()


FAMILIES = (archive_frames, names_that_look_alike, odd_texts, other_times, conclusions, signatures)
