"""Puts messages into a queue of a Dask scheduler, those that wait for an earlier put together as one item."""

import asyncio
from typing import Any

#: A message that is larger is not sent, and not taken.
MAX_MESSAGE = 64_000_000
#: Bytes of messages in one item; one larger message is an item by itself.
_ITEM = 8_000_000


class Outbox:
    """One queue to write to; its items are lists of (lease, message). Each `put` of Dask is two calls of the scheduler."""

    def __init__(self, queue: Any) -> None:
        self._queue = queue
        self._waiting: list[tuple[str, bytes, asyncio.Future[None]]] = []
        self._task: asyncio.Task[None] | None = None

    async def put(self, lease: str, message: bytes) -> None:
        """Return when the scheduler has the message; raises what Dask raises, and ``ValueError`` for one that is too large."""
        if len(message) > MAX_MESSAGE:
            raise ValueError(
                f"a message of {len(message) / 1e6:.0f} MB, at most {MAX_MESSAGE / 1e6:.0f} are sent"
            )
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((lease, message, done))
        if self._task is None:
            self._task = asyncio.ensure_future(self._flush())
        await done

    def close(self) -> None:
        """Release the queue."""
        self._queue.close()

    async def _flush(self) -> None:
        try:
            while self._waiting:
                size = 0
                batch: list[tuple[str, bytes, asyncio.Future[None]]] = []
                while self._waiting and (not batch or size + len(self._waiting[0][1]) <= _ITEM):
                    batch.append(self._waiting.pop(0))
                    size += len(batch[-1][1])
                error: BaseException | None = None
                try:
                    await self._queue.put([[lease, message] for lease, message, _ in batch])
                except Exception as raised:  # of Dask: whoever waits is told
                    error = raised
                for _, _, done in batch:
                    if not done.done():
                        done.set_result(None) if error is None else done.set_exception(error)
        finally:
            self._task = None
