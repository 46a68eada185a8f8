"""Packages that two programs read as two different things, and records in forms that export never writes.

Families of the corpus in `hostile_packages`, which names and counts them.
"""

import json
import sqlite3
import struct
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import closing
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
    ROWS,
    Members,
    info_of,
    opened,
    pack,
    with_database,
    with_event,
)
from workbench.packages.signature import sign_package
from workbench.signing_keys import public_key_of
from workbench.store import Store

Family = Iterator[tuple[str, int, Any]]

_MANIFEST = "run/manifest.json"


def names_that_look_alike(members: Members, honest: bytes) -> Family:
    """Names that another program, file system or person takes for one of ours."""
    for name in ROWS["look_alikes"]:
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


def _stating(p: str) -> Callable[[str], str]:
    return lambda data: f'{{"p":{p}}}'


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
            _rewritten(members, "run.finished", _stating(text)),
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


def conclusions(members: Members, honest: bytes) -> Family:
    """A report above the proofs that another conclusion wrote."""
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


FAMILIES = (names_that_look_alike, odd_texts, conclusions, signatures)
