"""Do simultaneous equal work once."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class SingleFlight(Generic[T]):
    """Runs one task per key: whoever asks for a key during its task gets the same result.

    The broker uses one for answers and one for raw answers, so that twenty kernels with one question are one request.
    Nothing is remembered once the task has ended.
    """

    def __init__(self) -> None:
        self._running: dict[Hashable, asyncio.Task[T]] = {}

    async def run(self, key: Hashable, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return the result of ``work()``, or of the equal work that is running; errors are shared too."""
        task = self._running.get(key)
        if task is None:
            task = self._running[key] = asyncio.create_task(work())
            task.add_done_callback(lambda ended: self._forget(key, ended))
        # a caller that is cancelled must not cancel the others' work
        return await asyncio.shield(task)

    def _forget(self, key: Hashable, task: asyncio.Task[T]) -> None:
        # a failure is not remembered either: the next caller asks anew
        self._running.pop(key, None)
        if not task.cancelled():
            task.exception()  # read here, so that asyncio does not complain when every caller was cancelled

    async def aclose(self) -> None:
        """Cancel what is running and wait for its end."""
        running = list(self._running.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
