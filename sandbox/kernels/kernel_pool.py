"""Keep kernels in waiting: started, sealed and connected before a session needs them, each for one session only.

A session that claims one binds its `CALL_API` to itself; until then nobody answers it. The pool refills beside the work,
after a pause in the claims, and holds only kernels of one recipe (level, limits, clock, library): that of its first session.
"""

import asyncio
import contextlib
import select
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from sandbox.cleanup import cleanup_on_error
from sandbox.errors import SandboxError
from sandbox.kernels.client import KernelClient
from sandbox.kernels.kernel import Kernel
from sandbox.types import SessionSpec

WARM = 2
_PAUSE = 0.3  # seconds without a claim before the pool is filled again

#: What the kernel is made from; two sessions with the same recipe may use each other's warm kernels.
Recipe = tuple[object, ...]


@dataclass(slots=True)
class ReadyKernel:
    """A kernel and our connection to it."""

    kernel: Kernel
    client: KernelClient

    async def end(self) -> None:
        """Close the connection and end the kernel."""
        await self.client.close()
        await self.kernel.kill()


def recipe(spec: SessionSpec) -> Recipe:
    """Return the part of a specification that is fixed at the fork: a kernel in waiting fits sessions with an equal one."""
    limits = spec.limits
    resources = (limits.cpu_seconds, limits.memory_mb, limits.processes, limits.disk_mb, limits.open_files)
    return spec.isolation, spec.clock, spec.library and spec.library.digest, resources


class WarmPool:
    """At most `size` kernels in waiting, made by `start`."""

    def __init__(self, start: Callable[[SessionSpec], Awaitable[ReadyKernel]], size: int = WARM) -> None:
        self._start = start
        self.size = size
        self._spec: SessionSpec | None = None
        self.waiting: deque[ReadyKernel] = deque()
        self._refill: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._claims = 0
        self._closed = False

    def __len__(self) -> int:
        return len(self.waiting)

    async def claim(self, spec: SessionSpec) -> ReadyKernel:
        """Return a kernel in waiting if it lives and has the right recipe, else start one."""
        loop = asyncio.get_running_loop()
        if self._spec is None:
            self._spec, self._loop = spec, loop
        # the connection of a kernel in waiting belongs to the event loop in which it was made
        if self._loop is not loop or recipe(spec) != recipe(self._spec):
            return await self._start(spec)
        self._claims += 1
        while self.waiting:
            ready = self.waiting.popleft()
            if _is_alive(ready.kernel):
                self.refill()
                return ready
            await ready.end()
        ready = await self._start(spec)
        self.refill()
        return ready

    def refill(self) -> None:
        """Refill the pool in the background."""
        if self._closed or self.size <= len(self.waiting):
            return
        if self._refill is None or self._refill.done():
            self._refill = asyncio.create_task(self._fill(), name="warm-kernels")

    async def wait_filled(self) -> None:
        """Wait for a running refill."""
        if self._refill is not None:
            await self._refill

    async def close(self) -> None:
        """End the kernels in waiting and close the pool."""
        self._closed = True
        # a start under way is not cut short: a kernel could be forked that nobody knows
        await self.wait_filled()
        while self.waiting:
            await self.waiting.popleft().end()

    async def _warmed(self, spec: SessionSpec) -> ReadyKernel:
        ready = await self._start(spec)
        async with cleanup_on_error(ready.end):
            await ready.client.warm_up(spec.limits.start_seconds)
        return ready

    async def _fill(self) -> None:
        assert self._spec is not None
        while not self._closed and len(self.waiting) < self.size:
            claims = self._claims
            # in tenths: `close` waits for this task
            for _ in range(10):
                if not self._closed:
                    await asyncio.sleep(_PAUSE / 10)
            if self._closed:
                return
            if self._claims != claims:
                continue  # sessions are being opened just now; they go first
            with contextlib.suppress(SandboxError, OSError):  # the session that asks next is told why
                self.waiting.append(await self._warmed(self._spec))
                continue
            return


def _is_alive(kernel: Kernel) -> bool:
    """Whether the kernel runs. Its pidfd knows at once; the fork server reports later."""
    if not kernel.process.alive:
        return False
    poll = select.poll()
    poll.register(kernel.process.pidfd, select.POLLIN)
    return not poll.poll(0)
