"""`Sandbox`, the entrance: it probes the machine, opens sessions and closes them all."""

import asyncio
import contextlib
import threading

from sandbox.cleanup import cleanup_on_error
from sandbox.errors import KernelStartFailed, SandboxError
from sandbox.kernels.client import KernelClient
from sandbox.kernels.forkserver import ForkServer, fork_server
from sandbox.kernels.kernel import Endpoints, start_kernel
from sandbox.kernels.kernel_pool import WARM, ReadyKernel, WarmPool
from sandbox.kernels.probe import probed
from sandbox.session import Session
from sandbox.types import ApiCaller, IsolationReport, SessionSpec

_PROBING = threading.Lock()


class Sandbox:
    """Opens sessions at one isolation level; one per process is enough.

    `isolation` is the level asked for by name; None means the best sealed one that works here, see `level`.

    >>> async def demo(spec, call_api):
    ...     box = Sandbox()
    ...     session = await box.open(spec, call_api)
    ...     try:
    ...         print((await session.execute("1 + 1")).text())
    ...     finally:
    ...         await box.aclose()
    """

    def __init__(
        self, *, isolation: str | None = None, packages: tuple[str, ...] = (), warm: int = WARM
    ) -> None:
        self.isolation = isolation
        self.packages = packages
        self._sessions: set[Session] = set()
        self.pool = WarmPool(self._start, warm)
        self._warming: asyncio.Task[None] | None = None

    def warm(self) -> None:
        """Start what the first kernel needs (1 to 3 s) in the background, while a plan is made.

        What fails here fails again, and is raised, when a session is opened.
        """
        if self._warming is None:
            self._warming = asyncio.get_running_loop().create_task(self._start_server())

    async def _start_server(self) -> None:
        with contextlib.suppress(SandboxError):
            await fork_server(await self.level(), packages=self.packages)

    async def probe(self) -> IsolationReport:
        """Return the isolation levels that work on this machine, tried at the first call in this process."""
        return await asyncio.to_thread(_probed_once)

    async def level(self) -> str:
        """Return the level for sessions of this sandbox; raises `IsolationUnavailable`.

        Whoever makes a `SessionSpec` asks this, so that no record of a run decides it.
        """
        return (await self.probe()).choose(self.isolation)

    async def open(self, spec: SessionSpec, call_api: ApiCaller) -> Session:
        """Open a session, or resume the one whose journal exists; the caller closes it.

        Raises `IsolationUnavailable`: This machine refuses the level; no kernel was started. Raises `KernelStartFailed, JournalBroken`.
        """
        (await self.probe()).require(spec.isolation)
        session = Session(spec, call_api, self.pool.claim)
        self._sessions = {opened for opened in self._sessions if not opened.closed}
        self._sessions.add(session)
        async with cleanup_on_error(session.close):
            await session.start()
        return session

    async def aclose(self) -> None:
        """Close every session and the kernels in waiting, then raise the first failure."""
        sessions, self._sessions = self._sessions, set()
        # exceptions are collected: one session that cannot be closed must not leave the others' kernels running
        ended = await asyncio.gather(*(session.close() for session in sessions), return_exceptions=True)
        await self.pool.close()
        if self._warming is not None:  # not cancelled: others may wait for the same server
            await self._warming
        for failure in ended:
            if failure is not None:
                raise failure

    async def _start(self, spec: SessionSpec) -> ReadyKernel:
        server = await fork_server(spec.isolation, packages=self.packages)
        try:
            return await _start_on(server, spec)
        except KernelStartFailed:
            if not server.dead:
                raise
        # it died under our request; another one is started in its place
        server = await fork_server(spec.isolation, packages=self.packages)
        return await _start_on(server, spec)


def _probed_once() -> IsolationReport:
    """Return the report of this process; concurrent threads try the machine once."""
    with _PROBING:
        return probed()


async def _start_on(server: ForkServer, spec: SessionSpec) -> ReadyKernel:
    endpoints = Endpoints.make()
    # its sockets listen already: the connection is made while the kernel is
    client = KernelClient(endpoints.info)
    async with cleanup_on_error(client.close):
        kernel = await start_kernel(
            server, spec.limits, endpoints=endpoints, clock=spec.clock, library=spec.library, lossless=True
        )
        async with cleanup_on_error(kernel.kill):
            await client.connect(spec.limits.start_seconds)
    return ReadyKernel(kernel, client)
