"""What a cell that floods its owner with messages costs the manager and the neighbours: memory, and time of their cells.

A neighbour runs a small cell again and again, with the flood and without it in turn; a ratio is of two medians of one round,
the table has the median of the rounds with the least and the greatest. A flooding kernel also takes a processor, as any busy
cell does: the second column is the same with a loop that sends nothing, in turn with the others. The last column says how
often the flooding cell ran and what stopped it: a flood that ended at once would have cost nobody anything.

Run: python -m benchmarks.floods [--rounds 5] [--level namespaces]
"""

import argparse
import asyncio
import contextlib
import os
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sandbox import Limits, Sandbox, Session, SessionSpec
from sandbox.kernels.forkserver import close_servers
from tests.sandbox.floods import FLOODS, RAW, RAW_FLOODS

SMALL = "sum(range(300_000))"
BUSY = "import time\nend = time.time() + 3\nwhile time.time() < end: pass"
# Code of a hostile cell: it goes on calling after each refusal, whatever it is refused with.
CALLS = "import time\nend = time.time() + 3\nwhile time.time() < end:\n    try: CALL_API('x', {'q': 'z' * 60_000})\n    except Exception: pass"


class _Answer:
    data: Any = "x" * 100_000
    meta: Mapping[str, Any] = {}


async def _api(path: str, params: Any, *, cell: int, nth: int) -> _Answer:
    return _Answer()


def memory_mb() -> float:
    """Resident memory of this process, the manager."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


async def small_cells(session: Session, seconds: float) -> list[float]:
    """Times of a small cell, run again and again."""
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        began = time.perf_counter()
        result = await session.execute(SMALL)
        assert result.status == "ok", result.text()
        times.append(time.perf_counter() - began)
        await asyncio.sleep(0.01)
    return times


class Bench:
    """A neighbour, and cells that run beside it in kernels of their own."""

    def __init__(self, sandbox: Sandbox, folder: Path, level: str) -> None:
        self.sandbox, self.folder, self.level = sandbox, folder, level
        self.count, self.peak = 0, 0.0
        self.ends: Counter[str] = Counter()

    async def open(self, limits: Limits) -> Session:
        """A session."""
        self.count += 1
        name = f"P{self.count}.1.1"
        paths = {"journal": self.folder / f"{name}.jsonl", "notebook": self.folder / f"{name}.ipynb"}
        spec = SessionSpec(name=name, **paths, isolation=self.level, limits=limits)
        return await self.sandbox.open(spec, _api)

    async def beside(self, neighbour: Session, cell: str | None) -> float:
        """Median time of the neighbour's cell while `cell` runs beside it."""
        if cell is None:
            return statistics.median(await small_cells(neighbour, 2))
        session = await self.open(Limits(cell_seconds=60, output_bytes=100_000, journal_bytes=100_000))
        await session.execute("1")
        over = False

        async def again() -> None:
            while not over:
                result = await session.execute(cell)
                self.ends[result.limit or result.status] += 1

        running = asyncio.create_task(again())
        looking = asyncio.create_task(self._look())
        await asyncio.sleep(0.5)
        times = await small_cells(neighbour, 2)
        over = True
        await session.interrupt()
        await running
        looking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await looking
        await session.close()
        return statistics.median(times)

    async def _look(self) -> None:
        while True:
            self.peak = max(self.peak, memory_mb())
            await asyncio.sleep(0.02)


async def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--level", default="namespaces")
    chosen = parser.parse_args()
    floods = {name: RAW.format(parts=parts) for name, (parts, _) in RAW_FLOODS.items()}
    floods |= FLOODS | {"data calls": CALLS}
    print(
        "| flood | neighbour's cell, against none | a busy loop, against none | manager, MB at most | ends of the flood |\n| --- | --- | --- | --- | --- |"
    )
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        Path(name).chmod(0o755)
        sandbox = Sandbox(warm=0)
        bench = Bench(sandbox, Path(name), chosen.level)
        neighbour = await bench.open(Limits(output_bytes=1 << 30))
        await small_cells(neighbour, 1)
        for flood, cell in floods.items():
            bench.peak, flooded, busy, ends = 0.0, [], [], Counter[str]()
            for _ in range(chosen.rounds):
                quiet = await bench.beside(neighbour, None)
                bench.ends.clear()
                flooded.append(await bench.beside(neighbour, cell) / quiet)
                ends.update(bench.ends)
                busy.append(await bench.beside(neighbour, BUSY) / quiet)
            both = (f"{statistics.median(r):.2f} ({min(r):.2f}-{max(r):.2f})" for r in (flooded, busy))
            how = ", ".join(f"{end} {count}" for end, count in ends.most_common())
            print(f"| {flood} | {' | '.join(both)} | {bench.peak:.0f} | {how} |", flush=True)
        await sandbox.aclose()
    close_servers()


if __name__ == "__main__":
    asyncio.run(main())
