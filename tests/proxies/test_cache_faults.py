"""A cache of answers that is damaged, full, or somebody else's costs a request, and never an answer that came."""

import errno
import os
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from proxies.broker import Broker
from proxies.errors import NotJson
from proxies.fetch import cache as raw_cache
from tests.fakes.upstream import Sent, Upstream
from tests.fakes.vendors import KEY
from tests.proxies.conftest import asker

EOD = "fmp/chart/end-of-day/historical-price-eod/non-split-adjusted"
ROWS = [{"symbol": "A", "date": "2024-05-01", "adjClose": 1.5}]


@pytest.fixture
def vendor() -> Iterator[Upstream]:
    with Upstream(lambda seen: Sent(orjson.dumps(ROWS))) as upstream:
        yield upstream


@pytest.fixture
def ask_anew(vendor: Upstream, broker_of: Callable[..., Broker], tmp_path: Path) -> Callable[[], Any]:
    """Asks through a broker that has nothing in its memory."""

    async def ask() -> list[Any]:
        made = {
            "keys": {"fmp": KEY},
            "upstreams": {"fmp": vendor.url},
            "cache_path": tmp_path / "c" / "raw.db",
        }
        return list((await asker(broker_of(**made), "2024-06-01")(EOD, symbol="A")).data)

    return ask


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("body", b"not packed"),
        ("body", "a text"),
        ("body", None),
        ("fetched_at", "now"),
        ("fetched_at", "2026-01-01"),
        ("fetched_at", None),
        ("used_at", "?"),
    ],
)
async def test_a_row_by_hand_is_fetched_anew(
    ask_anew: Callable[[], Any], vendor: Upstream, tmp_path: Path, column: str, value: object
) -> None:
    rows = await ask_anew()
    assert len(rows) == 1 and await ask_anew() == rows and len(vendor.seen) == 1, "an honest row is used"
    with sqlite3.connect(tmp_path / "c" / "raw.db") as db:
        db.execute("CREATE TABLE loose AS SELECT * FROM raw")
        db.execute("DROP TABLE raw")
        db.execute("ALTER TABLE loose RENAME TO raw")
        db.execute(f"UPDATE raw SET {column} = ?", (value,))
    assert await ask_anew() == rows
    assert len(vendor.seen) == (1 if column == "used_at" else 2)


async def test_a_body_that_is_no_json_is_said_once_and_fetched_anew(
    ask_anew: Callable[[], Any], vendor: Upstream, tmp_path: Path
) -> None:
    rows = await ask_anew()
    with sqlite3.connect(tmp_path / "c" / "raw.db") as db:
        db.execute("UPDATE raw SET body = ?", (zlib.compress(b"{{"),))
    with pytest.raises(NotJson):
        await ask_anew()
    assert await ask_anew() == rows and len(vendor.seen) == 2


def _junk(place: Path) -> None:
    (place / "raw.db").write_bytes(b"SQLite format 3\0" + os.urandom(8000))


def _text(place: Path) -> None:
    (place / "raw.db").write_text("no database at all")


def _folder(place: Path) -> None:
    (place / "raw.db").mkdir()


def _other_table(place: Path) -> None:
    with sqlite3.connect(place / "raw.db") as db:
        db.execute("CREATE TABLE raw (name TEXT, used_at TEXT)")


@pytest.mark.parametrize("spoil", [_junk, _text, _folder, _other_table])
async def test_a_file_that_is_no_cache_leaves_every_answer(
    ask_anew: Callable[[], Any], vendor: Upstream, tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    (tmp_path / "c").mkdir()
    spoil(tmp_path / "c")
    assert len(await ask_anew()) == 1 == len(vendor.seen)


class _FullDisk(sqlite3.Connection):
    """A database whose disk takes nothing more."""

    def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
        if sql.startswith(("INSERT", "UPDATE", "DELETE")):
            raise sqlite3.OperationalError("database or disk is full")
        return super().execute(sql, *parameters)


async def test_an_answer_that_came_is_given_though_the_disk_of_the_cache_is_full(
    ask_anew: Callable[[], Any], vendor: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = sqlite3.connect
    with monkeypatch.context() as full:
        full.setattr(
            sqlite3,
            "connect",
            lambda *place, **options: connect(*place, **options, factory=_FullDisk),
        )
        assert len(await ask_anew()) == 1
    with monkeypatch.context() as full:

        def no_space(*place: object) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

        full.setattr(raw_cache, "open_private", no_space)
        assert len(await ask_anew()) == 1
    assert len(vendor.seen) == 2
    assert await ask_anew() and await ask_anew() and len(vendor.seen) == 3, "with space it caches again"
