"""Writes of side-by-side tasks reach the disk in the order they were put, in few commits, and none after one that failed."""

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from workbench.store import Store, StoreFull
from workbench.store import events as ev
from workbench.store.writer import BatchWriter

# A stream beside the runs: unlike one of those it needs no event that begins it.
RUN = "study:s"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(tmp_path)
    yield opened
    opened.close()


def waiting(number: int) -> ev.NodeWaiting:
    return ev.NodeWaiting(node="P0", reason=str(number))


def on_disk(home: Path) -> list[int]:
    """What another process reads."""
    with closing(Store(home)) as other:
        rows = other.query("SELECT data FROM events ORDER BY seq")
    return [int(str(row["data"]).split('"')[-2]) for row in rows]


async def put(writer: BatchWriter, number: int, then: Any = None) -> None:
    writer.put(lambda store: store.append(RUN, waiting(number)), then=then)


def test_a_write_is_on_disk_with_all_before_it_when_its_wait_ends(store: Store, tmp_path: Path) -> None:
    async def work() -> None:
        writer = BatchWriter(store)
        for number in range(5):
            await put(writer, number)
        await writer.committed()
        assert on_disk(tmp_path) == list(range(5))
        await put(writer, 5)
        await writer.aclose()
        assert on_disk(tmp_path) == list(range(6))

    asyncio.run(work())


def test_tasks_side_by_side_share_commits_and_keep_their_order(store: Store, tmp_path: Path) -> None:
    commits = 0

    class Counting(sqlite3.Connection):
        def execute(self, sql: str, *arguments: Any) -> sqlite3.Cursor:
            nonlocal commits
            commits += sql == "COMMIT"
            return super().execute(sql, *arguments)

    async def work() -> None:
        with patch("sqlite3.connect", partial(sqlite3.connect, factory=Counting)):
            writer = BatchWriter(store)
        shown: list[int] = []

        async def task(number: int) -> None:
            await put(writer, number, shown.append)
            await writer.committed()

        await asyncio.gather(*(task(number) for number in range(200)))
        await writer.drained()
        assert shown == sorted(shown) and len(shown) == 200
        await writer.aclose()

    asyncio.run(work())
    assert on_disk(tmp_path) == list(range(200))
    assert 1 <= commits <= 20


def test_nothing_is_written_after_a_batch_that_failed(store: Store, tmp_path: Path) -> None:
    def full(_store: Store) -> None:
        raise StoreFull("the disk is full")

    async def work() -> None:
        writer = BatchWriter(store)
        await put(writer, 0)
        await writer.committed()
        writer.put(full)
        await put(writer, 1)  # of the same batch: all or none
        with pytest.raises(StoreFull):
            await writer.committed()
        with pytest.raises(StoreFull):
            await put(writer, 2)
        with pytest.raises(StoreFull):
            await writer.drained()
        await writer.aclose()

    asyncio.run(work())
    assert on_disk(tmp_path) == [0]


def test_a_cancelled_wait_cancels_no_write(store: Store, tmp_path: Path) -> None:
    async def work() -> None:
        writer = BatchWriter(store)
        await put(writer, 0)
        task = asyncio.ensure_future(writer.committed())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await writer.aclose()

    asyncio.run(work())
    assert on_disk(tmp_path) == [0]


def test_a_reader_waits_for_no_batch(store: Store) -> None:
    async def work() -> None:
        writer = BatchWriter(store)
        begun, go_on = asyncio.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()

        def slow(other: Store) -> None:
            other.append(RUN, waiting(0))
            loop.call_soon_threadsafe(begun.set)
            asyncio.run_coroutine_threadsafe(go_on.wait(), loop).result()

        writer.put(slow)
        await begun.wait()
        assert store.streams("study") == []  # at once, in the middle of the batch
        go_on.set()
        await writer.committed()
        assert store.streams("study") == ["s"]
        await writer.aclose()

    asyncio.run(work())
