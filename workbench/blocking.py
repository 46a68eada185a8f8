"""Running asynchronous work to its end from a plain function call, also while an event loop is busy running the caller."""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from contextvars import copy_context
from typing import Any, TypeVar

from workbench.errors import UsageError

T = TypeVar("T")


def run_blocking(work: Coroutine[Any, Any, T]) -> T:
    """Return what a coroutine returns; used by magics and by the plain methods of the Python API.

    The loop is a private one in a thread of its own: in a notebook the kernel's loop is busy with the cell that calls this,
    and it is never patched. Ctrl-C (a notebook's stop button) cancels the work and waits until it has cleaned up.
    """
    started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = Future()
    outcome: Future[T] = Future()

    async def main() -> T:
        task = asyncio.current_task()
        assert task is not None
        started.set_result((asyncio.get_running_loop(), task))
        return await work

    def target() -> None:
        try:
            outcome.set_result(asyncio.run(main()))
        except BaseException as error:  # whatever it is, it is raised again below, in the caller's own thread
            outcome.set_exception(error)

    # In the caller's context: a kernel finds there which cell an output belongs to.
    thread = threading.Thread(target=copy_context().run, args=(target,), name="workbench")
    thread.start()
    try:
        return outcome.result()
    except KeyboardInterrupt:
        # Ctrl-C may come before the loop runs: `started` is waited for, since there is no task to cancel until then.
        if not outcome.done():
            loop, task = started.result()
            loop.call_soon_threadsafe(task.cancel)
        raise
    finally:
        # Also after Ctrl-C: the caller gets control back only when kernels and connections are closed.
        thread.join()


def refuse_running_loop(name: str, instead: str) -> None:
    """Raise ``UsageError`` if an event loop runs here: a blocking call would hold up everything else on it."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:  # the only sign that asyncio gives of there being none
        return
    raise UsageError(f"{name} is for plain scripts and an event loop is running here: write {instead}")
