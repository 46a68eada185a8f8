"""The right to run a cell: about as many as cores. A grounding that waits for a model or for data holds none.

Model calls have slots of their own (``proxies.fetch.pacing.Pace``): a thousand leaves may wait for replies while two compute.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from proxies.fetch.pacing import Places

#: Memory that an open notebook is counted with: 18 MB idle (measured), more once it holds data.
_NOTEBOOK_MB = 48
#: Share of the free memory that open notebooks may take.
_SHARE = 0.7


def cores() -> int:
    """Return how many cores this process may use."""
    return max(1, len(os.sched_getaffinity(0)))


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

    Parameters
    ----------
    running : int, optional
        Cells at once; one more than there are cores, so that a core is never idle between two cells.
    notebooks : int, optional
        Open kernels at once; by default as many as fit into memory.
    """

    def __init__(self, running: int | None = None, notebooks: int | None = None) -> None:
        self.notebooks = asyncio.Semaphore(notebooks if notebooks is not None else open_notebooks())
        self._places = Places(running if running is not None else cores() + 1)

    @property
    def running(self) -> int:
        """How many cells run now."""
        return self._places.running

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Hold a slot for the block; first come, first served."""
        await self._places.enter()
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
