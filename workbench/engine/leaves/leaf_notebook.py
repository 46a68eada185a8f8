"""The notebook of an attempt, opened when a grounder first asks for it; its cells run when one of the few kernel slots is free."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from proxies.fetch.pacing import Places, backoff
from sandbox import Sandbox, SessionSpec
from sandbox.errors import KernelStartFailed
from sandbox.session import Session
from sandbox.types import ApiCaller, CellResult, JournalCell
from workbench.agents.base import ProofSession
from workbench.resources import cores, is_resource_error

#: Memory that an open notebook is counted with: 18 MB idle (measured), more once it holds data.
_NOTEBOOK_MB = 48
#: Share of the free memory that open notebooks may take.
_SHARE = 0.7


def open_notebooks() -> int:
    """Return how many kernels may be open at once by the memory that is free now; at least two."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        free = next(int(line.split()[1]) // 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):  # no Linux: the caller's own limit decides
        return 64
    return max(2, int(free * _SHARE / _NOTEBOOK_MB))


class KernelSlots:
    """Bounds the cells that run at once, and the notebooks that are open at once.

    `running`: Cells at once; one more than there are cores, so that a core is never idle between two cells.
    """

    def __init__(self, running: int | None = None, notebooks: int | None = None) -> None:
        self.notebooks = asyncio.Semaphore(notebooks if notebooks is not None else open_notebooks())
        self._places = Places(running if running is not None else cores() + 1)

    @property
    def running(self) -> int:
        """How many cells run now."""
        return self._places.running

    @asynccontextmanager
    async def run(self, *, last: bool = False) -> AsyncIterator[None]:
        """Hold a slot for the block; first come, first served, but ``last`` lets everybody else go first."""
        await self._places.enter(last=last)
        try:
            yield
        finally:
            self._places.leave()

    @contextmanager
    def away(self) -> Iterator[None]:
        """Give the slot to others while a running cell waits for data, and take it back without waiting.

        For that moment one cell too many may run: a cell whose clock ticks must not queue in the middle of its work.
        """
        self._places.leave()
        try:
            yield
        finally:
            self._places.running += 1


#: Tries at starting a leaf's kernel in one sitting.
_STARTS = 3


@dataclass(slots=True)
class LazyNotebook:
    """``LeafTask.open_notebook``: starts the sealed session when a grounder first asks for it."""

    sandbox: Sandbox
    spec: Callable[[], Awaitable[SessionSpec]]
    from_cell: ApiCaller
    stack: AsyncExitStack
    slots: KernelSlots
    on_cell: Callable[[], Awaitable[None]]
    _session: ProofSession | None = None
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def open(self) -> ProofSession:
        """Return the session, started at the first call; raises ``IsolationUnavailable`` and ``KernelStartFailed``."""
        # A grounder may ask twice at once; without the lock each would start a kernel and one would have no owner.
        async with self._lock:
            if self._session is None:
                spec = await self.spec()
                # Entered on the stack before the session is: released after the kernel is gone.
                await self.stack.enter_async_context(self.slots.notebooks)
                # A start computes, and a resumed session runs its cells again.
                session = await self._start(spec)
                self.stack.push_async_callback(_close_whole, session)
                self._session = _SlottedSession(session, self.slots, self.on_cell)
            return self._session

    async def _start(self, spec: SessionSpec) -> Session:
        """Open the session; a kernel that does not come up, on a machine short of memory or processes, is tried again."""
        for tries in range(1, _STARTS + 1):
            try:
                async with self.slots.run():
                    return await self.sandbox.open(spec, self.from_cell)
            except KernelStartFailed as error:
                if tries == _STARTS or is_resource_error(error):
                    raise
                await asyncio.sleep(backoff(tries, first=0.5, longest=5.0))
        raise AssertionError("the last try returns or raises")


async def _close_whole(session: Session) -> None:
    closing = asyncio.ensure_future(session.close())
    try:
        await asyncio.shield(closing)
    except asyncio.CancelledError:
        await closing
        raise


@dataclass(slots=True)
class _SlottedSession:
    """A session whose cells wait for a kernel slot; the ``ProofSession`` that a grounder gets."""

    session: Session
    slots: KernelSlots
    on_cell: Callable[[], Awaitable[None]]

    @property
    def cells(self) -> Sequence[JournalCell]:
        """Cells on record, oldest first."""
        return self.session.cells

    async def markdown(self, source: str) -> JournalCell:
        """Append a text cell; needs no slot."""
        cell = await self.session.markdown(source)
        await self.on_cell()
        return cell

    async def execute(self, source: str, *, fixes: str | None = None) -> CellResult:
        """Run a code cell when a slot is free; its clock begins then."""
        async with self.slots.run():
            result = await self.session.execute(source, fixes=fixes)
        await self.on_cell()
        return result
