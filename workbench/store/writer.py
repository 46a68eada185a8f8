"""Write to the store in a thread, in batches: writes that a run's tasks put side by side are one transaction.

A commit costs as much as twenty events, and it may wait for the disk. So a run hands its writes over and goes on; a task that
depends on a write being on disk waits for it. The rule of a run is: **what was paid for is on disk before anything uses it, and
the record of a call is on disk before the call is sent.** Writes are committed in the order they were put, so either of the two
brings everything before it along. A kill may lose the newest events that follow from those on disk; a resumed run comes to them
again without asking anybody. A disk without room ends the sitting: nothing is put any more but replies that are paid for. They
are written in the room that was set aside for them while they were asked for, so that no reply is bought twice.
"""

import asyncio
import os
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from workbench.resources import is_resource_error, resource_line
from workbench.store.database import Store
from workbench.store.errors import StoreFull

Write = Callable[[Store], Any]
Then = Callable[[Any], None]

#: Callbacks between two pauses for the loop's other tasks; a batch may have a thousand.
_CALLBACKS = 16


class BatchWriter:
    """Writes to a store from a thread of its own; made for one sitting of a run, by its ``Recorder``.

    `store`: The writer opens the same database a second time: a reader of ``store`` never waits for a batch.
    """

    def __init__(self, store: Store) -> None:
        self._store = store.twin()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="log")
        self._queue: list[tuple[Write, Then | None]] = []
        self._queued: asyncio.Future[None] | None = None  # done when what is queued is on disk
        self._under_way: asyncio.Future[None] | None = None
        self._task: asyncio.Task[None] | None = None
        self._error: BaseException | None = None
        self.full = False  # the error is one of room
        self._aside = tempfile.TemporaryFile(dir=store.home)  # noqa: SIM115  (closed where room is needed, or at the end)
        self._aside_bytes = self._expected = 0

    def expect(self, size: int) -> None:
        """Set room aside for a reply of at most so many bytes, or for as much less; raises ``StoreFull`` where there is none."""
        self._expected += size
        if self.full or self._expected <= self._aside_bytes:
            return
        try:
            os.posix_fallocate(self._aside.fileno(), self._aside_bytes, self._expected - self._aside_bytes)
        except OSError as error:
            self._expected -= size
            if not is_resource_error(error):
                raise
            full = StoreFull(f"a reply of the model would find no room: {resource_line(error)}")
            self._run_out(full)
            raise full from error
        self._aside_bytes = self._expected

    def put(self, write: Write, *, then: Then | None = None, paid: bool = False) -> None:
        """Hand over a write; it is called in the thread with a store, in one transaction with others.

        ``then`` is called in the event loop with what the write returned, after the commit; it must not raise. Raises what
        an earlier batch failed with: after that nothing is written any more, or a later event would stand without the one
        before it. What is ``paid`` for is taken all the same where only room was wanting.
        """
        if self._error is not None and not (paid and self.full):
            raise self._error
        loop = asyncio.get_running_loop()
        self._queue.append((write, then))
        if self._queued is None:
            self._queued = loop.create_future()
        if self._task is None:
            self._task = loop.create_task(self._work(), name="log")

    async def committed(self) -> None:
        """Return when everything that was put so far is on disk; raises what its batch failed with (``StoreFull``)."""
        waiting = self._queued or self._under_way
        if waiting is not None:
            await asyncio.shield(
                waiting
            )  # many wait for one batch; a cancelled one must not cancel it for the others
        if self._error is not None:
            raise self._error

    async def drained(self) -> None:
        """Return when all is on disk and every ``then`` was called; raises what a batch failed with."""
        while self._task is not None:
            await asyncio.shield(self._task)
        if self._error is not None:
            raise self._error

    async def aclose(self) -> None:
        """Write the rest and end the thread; its failures were raised before, or are by ``drained``."""
        while self._task is not None:
            await asyncio.shield(self._task)
        if self._queue:  # there may be room by now
            await self._work()
        self._thread.shutdown()
        self._store.close()
        self._aside.close()

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        batch: list[tuple[Write, Then | None]] = []
        try:
            while self._queue:
                batch, self._queue = self._queue, []
                self._under_way, self._queued = self._queued, None
                try:
                    results = await loop.run_in_executor(
                        self._thread, self._commit, [write for write, _ in batch]
                    )
                except Exception as error:
                    if not (isinstance(error, StoreFull) or is_resource_error(error)):
                        raise
                    self._queue[:0] = batch
                    again = not self.full
                    self._run_out(error)
                    self._release()  # who waits is told that asking is over, whether or not the batch finds room now
                    if again:
                        continue
                    return
                self._release()
                for place, ((_, then), result) in enumerate(zip(batch, results, strict=True), 1):
                    if then is not None:
                        then(result)
                    if place % _CALLBACKS == 0:
                        await asyncio.sleep(0)
        except (
            BaseException
        ) as error:  # also a bug: whoever waits must hear of it, and nothing may be written after it
            self._error, self.full = error, False
            self._queue.clear()
        finally:
            self._task = None
            self._release()
            self._under_way, self._queued = self._queued, None
            self._release()

    def _run_out(self, error: BaseException) -> None:
        """Refuse everything but paid writes, and give them the room that was set aside."""
        if self._error is None:
            self._error, self.full = error, True
            self._aside.close()

    def _release(self) -> None:
        if self._under_way is not None and not self._under_way.done():
            self._under_way.set_result(None)
        self._under_way = None

    def _commit(self, writes: list[Write]) -> list[Any]:
        with self._store.transaction():
            return [write(self._store) for write in writes]
