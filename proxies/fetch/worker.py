"""Read large answers in a process beside the broker, so that the broker's event loop never waits for one.

Parsing and encoding JSON hold the interpreter's lock from end to end, whatever thread they run in: only another process
gets them off the loop. It gets raw bytes and the request, never a key.

loky's `ProcessPoolExecutor` has the interface of the one in `concurrent.futures`, and two things that one lacks: a worker
does not run the caller's ``__main__`` again, and its environment can be set.
"""

import asyncio
import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor
from typing import Any, TypeVar

from proxies.asof.policies.base import AskAgain
from proxies.errors import ProxyError, SourceRejected, SourceUnavailable

T = TypeVar("T")
log = logging.getLogger(__name__)

#: Bytes from which an answer is read in the worker. Below, no step of it takes the loop 15 ms.
LARGE = 1_000_000
# what the worker holds at once is up to ten times this, as Python values
MOST_BYTES = 192_000_000
SECONDS = 120.0
_ENVIRONMENT = frozenset(
    {"PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "LANG", "LC_ALL", "SYSTEMROOT", "PYTHONPATH"}
)


def process_pool(workers: int) -> Any:
    """Return loky's executor with processes that get no key, end with their parent, and ignore Ctrl-C.

    Past forecasts are made in one too (``workbench.backtests``).
    """
    # imported late: it takes 60 ms, and most brokers never read a large answer
    from loky import ProcessPoolExecutor

    # an empty text takes the place of every variable that could hold a key; PYTHONSAFEPATH keeps the current folder,
    # which may be somebody else's, off the worker's import path
    empty = {name: "" for name in os.environ if name not in _ENVIRONMENT}
    return ProcessPoolExecutor(
        max_workers=workers,
        # one thread each: two workers whose linear algebra starts two threads wait for one another
        env={**empty, "PYTHONSAFEPATH": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        initializer=_prepare,
        initargs=(os.getpid(),),
    )


class CannotStart(Exception):
    """No worker can be started on this machine; the caller uses a thread instead."""


class Worker:
    """One worker process, started by the first job, replaced when it breaks, ended by `aclose`."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._executor: Any = None
        self._unusable = False

    async def run(self, function: Callable[..., T], *args: Any, size: int) -> T:
        """Run ``function(*args)`` in the worker, one job at a time to bound memory.

        Raises `SourceRejected`: The job is too large. Raises `SourceUnavailable`: The worker ended, or took too long: the next job gets a
        new one. Raises `CannotStart`: There can be no worker.
        """
        if size > MOST_BYTES:
            raise SourceRejected(
                f"the answer has {size // 1_000_000} MB in all, too many to read: ask for less"
            )
        async with self._turn:
            try:
                if self._executor is None:
                    self._executor = await asyncio.to_thread(self._start)
                future = await asyncio.to_thread(self._executor.submit, _run, function, args)
                # a caller that is cancelled leaves the job to its end: to stop it the process would have to be killed
                return await asyncio.wait_for(asyncio.wrap_future(future), SECONDS)
            except (BrokenExecutor, TimeoutError) as error:
                log.warning("the process that reads large answers is gone (%s)", type(error).__name__)
                await self._end()
                raise SourceUnavailable(
                    "the process that reads large answers ended before it was done: ask again, or for less"
                ) from None

    def _start(self) -> Any:
        if self._unusable:
            raise CannotStart
        executor = None
        try:
            executor = process_pool(1)
            # a first job at once: a machine on which no worker can live shows it here, and not in a caller's job
            executor.submit(os.getpid).result(timeout=60)
        except (
            OSError,
            RuntimeError,
            TimeoutError,
        ) as error:  # no memory, no /dev/shm, a worker that ends at once
            log.warning("no process for large answers (%s): they are read in the broker's own", error)
            self._unusable = True
            if executor is not None:
                executor.shutdown(wait=False, kill_workers=True)
            raise CannotStart from None
        return executor

    async def _end(self) -> None:
        executor, self._executor = self._executor, None
        if executor is not None:
            await asyncio.to_thread(executor.shutdown, wait=True, kill_workers=True)

    async def aclose(self) -> None:
        """End the worker, which keeps nothing."""
        self._unusable = True
        await self._end()


def _prepare(parent: int) -> None:
    """Set the worker up: Ctrl-C is for the broker, and a killed broker leaves no orphan."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    # asked once a second: an orphan gets another parent, and a signal at the parent's death is not to be had everywhere
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(0)


def _run(function: Callable[..., T], args: tuple[Any, ...]) -> T:
    try:
        return function(*args)
    except (ProxyError, AskAgain):
        raise
    except Exception as error:  # the worker goes on: it is this answer that failed
        raise SourceUnavailable(
            f"a large answer could not be read ({type(error).__name__}): ask for less"
        ) from None
