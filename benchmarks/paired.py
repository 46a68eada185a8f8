"""The sandboxes of two checkouts in one run: what a change made of starting a kernel, of a cell, of memory.

Each checkout's sandbox runs in a process of its own with that checkout's own interpreter, and the two work in turn, so
that a busy machine slows both. A ratio is this checkout's figure by the other's: below 1 it is the better.

Run: python -m benchmarks.kernels --against FOLDER [--rounds 5] [--burst 20]
"""

import asyncio
import contextlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

IMPORTS = "import pandas, matplotlib.pyplot"
CELLS = 100  # of one round
UNITS = {
    "ready": "ms",
    "ready, best of five": "ms",
    "processor time of the manager until ready": "ms",
    "at once": "ms",
    "memory of a kernel": "MB",
    "cell": "ms",
    "cell, best of a round": "ms",
    "processor time of a cell, manager": "ms",
    "processor time of a cell, kernel": "ms",
}


class Checkout:
    """One checkout's sandbox at work in a process of its own."""

    def __init__(self, folder: Path) -> None:
        python = folder / ".venv" / "bin" / "python"
        # -P: else this folder, whose files are named like the packages they measure, would come before them
        command = [str(python) if python.exists() else sys.executable, "-P", __file__]
        self._process = subprocess.Popen(
            command, cwd=folder, env={"PYTHONPATH": str(folder)}, stdin=-1, stdout=-1, text=True
        )

    def measure(self, burst: int) -> dict[str, float]:
        """The figures of one round."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{burst}\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"the sandbox of {self._process.args!r} ended: {self._process.wait()}")
        return dict(json.loads(line))

    def end(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


@contextlib.contextmanager
def _at_work(folder: Path) -> Iterator[Checkout]:
    checkout = Checkout(folder)
    try:
        yield checkout
    finally:
        checkout.end()


def compare(ours: Path, other: Path, rounds: int, burst: int) -> None:
    """Print how the sandbox of one checkout does against that of the other."""
    with _at_work(ours) as first, _at_work(other) as second:
        for checkout in (first, second):
            checkout.measure(2)  # fork servers, caches, code paths
        pairs = []
        for number in range(rounds):
            # the second of a pair finds a machine that the first one warmed, or heated: they change places
            if number % 2:
                theirs = second.measure(burst)
                pairs.append((first.measure(burst), theirs))
            else:
                pairs.append((first.measure(burst), second.measure(burst)))
    print(f"{'':44} {'this':>9} {'other':>9}        ratio  (least-greatest of {rounds} rounds)")
    for name, unit in UNITS.items():
        sides = [[figures[name] for figures in side] for side in zip(*pairs, strict=True)]
        ratios = [mine / theirs for mine, theirs in zip(*sides, strict=True)]
        mine, theirs = map(statistics.median, sides)
        title = f"{burst} {name}" if name == "at once" else name
        print(
            f"{title:44} {mine:9.2f} {theirs:9.2f} {unit:3}    {statistics.median(ratios):6.2f}"
            f"  ({min(ratios):.2f}-{max(ratios):.2f})"
        )


# -- what runs in each checkout's process: nothing here may ask for more than both have --


async def _figures(box: Any, folder: Path, burst: int) -> dict[str, float]:
    starts, worked = [], time.process_time()
    for _ in range(5):
        began = time.perf_counter()
        session = await _open(box, folder)
        starts.append(time.perf_counter() - began)
        await session.close()
    worked = time.process_time() - worked
    before = _descendants()
    began = time.perf_counter()
    sessions = await asyncio.gather(*(_open(box, folder) for _ in range(burst)))
    at_once = time.perf_counter() - began
    memory = statistics.median(map(_pss_mb, _descendants() - before))
    await asyncio.gather(*(session.close() for session in sessions))
    before = _descendants()
    session = await _open(box, folder)
    [pid] = _descendants() - before
    for _ in range(10):
        await session.execute("print(1)")
    spent, manager, kernel = [], time.process_time(), _processor_seconds(pid)
    for _ in range(CELLS):
        began = time.perf_counter()
        await session.execute("print(1)")
        spent.append(time.perf_counter() - began)
    manager, kernel = time.process_time() - manager, _processor_seconds(pid) - kernel
    await session.close()
    return {
        "ready": statistics.median(starts) * 1e3,
        "ready, best of five": min(starts) * 1e3,
        "processor time of the manager until ready": worked / 5 * 1e3,
        "at once": at_once * 1e3,
        "memory of a kernel": memory,
        "cell": statistics.median(spent) * 1e3,
        "cell, best of a round": min(spent) * 1e3,
        "processor time of a cell, manager": manager / CELLS * 1e3,
        "processor time of a cell, kernel": kernel / CELLS * 1e3,
    }


async def _open(box: Any, folder: Path) -> Any:
    from sandbox import SessionSpec

    home = Path(tempfile.mkdtemp(dir=folder))
    spec = SessionSpec(name="P1.1.1", journal=home / "j.jsonl", notebook=home / "n.ipynb")
    session = await box.open(spec, _no_api)
    await session.execute(IMPORTS)
    return session


async def _no_api(*_: Any, **__: Any) -> Any:
    raise AssertionError("no cell of this benchmark calls it")


def _descendants() -> set[int]:
    return {process.pid for process in psutil.Process().children(recursive=True)}


def _pss_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("Pss:")).split()[1]) / 1024


def _processor_seconds(pid: int) -> float:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


async def _work(bursts: Iterator[int]) -> None:
    from sandbox import Sandbox

    box = Sandbox(warm=0)
    with tempfile.TemporaryDirectory(prefix="paired-") as folder:
        for burst in bursts:
            print(json.dumps(await _figures(box, Path(folder), burst)), flush=True)
    await box.aclose()


if __name__ == "__main__":
    asyncio.run(_work(map(int, sys.stdin)))
