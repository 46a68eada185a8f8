"""A thousand idle kernels open at once: memory, descriptors, processes and seconds of a kernel, and what a cell costs among them.

    python -m benchmarks.idle_kernels [--kernels 1000] [--first 20] [--most-gib 20]

A few are opened first. Where this machine has fewer descriptors, processes or less free memory than so many would take by that
measure, only as many are opened as it holds, and the line says what was short: nothing else on the machine should suffer.
"""

import argparse
import asyncio
import resource
import statistics
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from benchmarks.arguments import parse
from sandbox import Sandbox, Session, SessionSpec
from workbench.resources import cores

#: Share of what is free that the kernels may take: others work on this machine.
_SHARE = 0.8
_IMPORTS = "import pandas, matplotlib.pyplot; print(6 * 7)"


@dataclass(frozen=True, kw_only=True)
class Use:
    """What this process and all that it started hold: MB (shared pages counted once), descriptors of this one, processes."""

    mb: float
    descriptors: int
    processes: int

    @classmethod
    def now(cls) -> "Use":
        """Look at this process and its descendants."""
        family = [psutil.Process(), *psutil.Process().children(recursive=True)]
        return cls(
            mb=sum(_pss_mb(process.pid) for process in family),
            descriptors=len(list(Path("/proc/self/fd").iterdir())),
            processes=len(family),
        )


def _pss_mb(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:  # ended meanwhile
        return 0.0
    return int(next(line for line in lines if line.startswith("Pss:")).split()[1]) / 1024


def room(before: Use, each: Mapping[str, float], most_mb: float) -> dict[str, int]:
    """How many kernels there is room for, by what each takes and what is free."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    processes = [int(Path("/proc/sys/kernel/pid_max").read_text()) - len(psutil.pids())]
    if (limit := resource.getrlimit(resource.RLIMIT_NPROC)[0]) != resource.RLIM_INFINITY:
        processes.append(limit)
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        for place in (Path(f"/sys/fs/cgroup{line.split(':')[2]}"), Path("/sys/fs/cgroup")):
            text = (place / "pids.max").read_text().strip() if (place / "pids.max").is_file() else "max"
            if text != "max":
                processes.append(int(text))
    free = min(most_mb, psutil.virtual_memory().available / 2**20 * _SHARE)
    return {
        "descriptors": int((soft - before.descriptors) * _SHARE / max(1.0, each["descriptors"])),
        "processes": int((min(processes) - before.processes) * _SHARE / max(1.0, each["processes"])),
        "memory": int(free / max(0.1, each["mb"])),
    }


async def _no_data(*_: Any, **__: Any) -> Any:
    raise AssertionError("no cell of this benchmark calls it")


class Idle:
    """Kernels that have run one cell and wait."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.box = Sandbox(warm=0)
        self.sessions: list[Session] = []
        self._starting = asyncio.Semaphore(cores() + 1)

    async def open(self, level: str, count: int) -> None:
        """Open so many more."""

        async def one(number: int) -> None:
            name = f"P{number + 1}.1.1"
            spec = SessionSpec(
                name=name,
                journal=self.folder / f"{name}.jsonl",
                notebook=self.folder / f"{name}.ipynb",
                isolation=level,
            )
            async with self._starting:
                session = await self.box.open(spec, _no_data)
                self.sessions.append(session)
                result = await session.execute(_IMPORTS)
            assert result.text().strip() == "42", result

        first = len(self.sessions)
        async with asyncio.TaskGroup() as group:
            for number in range(first, first + count):
                group.create_task(one(number))


async def measure(kernels: int, first: int, most_gib: float) -> None:
    with tempfile.TemporaryDirectory(prefix="idle-") as folder:
        idle = Idle(Path(folder))
        try:
            level = await idle.box.level()
            await idle.open(level, 2)  # fork server, caches
            begin = Use.now()
            began = time.perf_counter()
            await idle.open(level, first)
            each = _each(begin, Use.now(), first)
            print(_line(level, first, each, time.perf_counter() - began), flush=True)
            fits = room(begin, each, most_gib * 1024)
            short = min(fits, key=lambda name: fits[name])
            count = min(kernels, fits[short])
            if count < kernels:
                print(
                    f"skipped: {kernels} kernels; too little of {short}, there is room for {count}",
                    flush=True,
                )
            began = time.perf_counter()
            await idle.open(level, max(0, count - first))
            seconds, use = time.perf_counter() - began, Use.now()
            print(_line(level, count, _each(begin, use, count), seconds), flush=True)
            print(f"all together {use.mb / 1024:.2f} GiB; a cell in each of ten: {await _cell(idle):.1f} ms")
            assert all(not session.closed for session in idle.sessions)
            if use.mb > most_gib * 1024:
                raise SystemExit(
                    f"{count} idle kernels take {use.mb / 1024:.2f} GiB, allowed are {most_gib:g}"
                )
        finally:
            await idle.box.aclose()


async def _cell(idle: Idle) -> float:
    times = []
    for session in idle.sessions[:: max(1, len(idle.sessions) // 10)]:
        began = time.perf_counter()
        assert (await session.execute("print(6 * 7)")).text().strip() == "42"
        times.append(1000 * (time.perf_counter() - began))
    return statistics.median(times)


def _each(before: Use, after: Use, count: int) -> dict[str, float]:
    return {name: (getattr(after, name) - getattr(before, name)) / count for name in Use.__dataclass_fields__}


def _line(level: str, count: int, each: Mapping[str, float], seconds: float) -> str:
    return (
        f"{count:5d} idle at {level}: each {each['mb']:.1f} MB, {each['descriptors']:.1f} descriptors,"
        f" {each['processes']:.1f} processes; the last came up in {seconds:.1f} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", type=int, default=1000)
    parser.add_argument("--first", type=int, default=20)
    parser.add_argument("--most-gib", type=float, default=20.0)
    options = parse(parser, kernels=3, first=1)
    asyncio.run(measure(options.kernels, options.first, options.most_gib))


if __name__ == "__main__":
    main()
