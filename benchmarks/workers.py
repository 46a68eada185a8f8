"""What a leaf costs: processor, bytes and messages, in one process and on a cluster of two workers.

    python -m benchmarks.workers [--trials 20] [--notebook-trials 2]

Five leaves with so many trials each are grounded by a scripted grounder (three model calls, three data calls, no kernel),
then by the notebook grounder (sealed kernels). docs/use/many-machines.md has the figures and what follows from them.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psutil

from benchmarks.arguments import parse
from proxies.asof.clock import Cutoff
from tests.fakes.cluster import cluster
from tests.fakes.upstream import Sent, Upstream
from workbench.engine.assembly import open_engine
from workbench.engine.new_run import new_run
from workbench.engine.run_settings import RunSettings, with_preset
from workbench.engine.worker_place import worker_place
from workbench.reports.note_page import write_report
from workbench.store import ApiLedger, ModelLedger, Store
from workbench.workers import calls
from workbench.workers import worker_pool as pool_module
from workbench.workers.worker_choice import workers_at

PACKAGE = Path(__file__).parents[1] / "tests" / "stranger_package"
DEMO = "The S&P 500 closes higher on 2018-12-31 than on 2018-06-29"
DAYS = [{"day": "2018-06-01", "price": 10.0}, {"day": "2018-06-28", "price": 12.0}]


def processor(pids: Iterable[int]) -> float:
    """Processor seconds of these processes with all that they started, also of what has ended."""
    total = 0.0
    for pid in pids:
        try:
            tree = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
        except psutil.NoSuchProcess:
            continue
        for process in tree:
            try:
                total += float(sum(process.cpu_times()[:4]))  # user, system, and those of children that ended
            except psutil.NoSuchProcess:
                continue
    return total


def memory(pids: Iterable[int]) -> float:
    """MB that these processes have for themselves, without what they share."""
    return float(sum(psutil.Process(pid).memory_full_info().uss for pid in pids)) / 1e6


class Traffic:
    """Counts the owner's messages and their bytes."""

    def __init__(self) -> None:
        self.messages = self.size = 0
        pack, unpack = calls.pack, calls.unpack

        def counted_pack(value: Any) -> bytes:
            data = pack(value)
            self.count(data)
            return data

        def counted_unpack(data: bytes) -> Any:
            self.count(data)
            return unpack(data)

        patch.object(pool_module, "pack", counted_pack).start()
        patch.object(pool_module, "unpack", counted_unpack).start()

    def count(self, data: bytes) -> None:
        self.messages += 1
        self.size += len(data)


async def measure(
    name: str, home: Path, settings: RunSettings, environ: dict[str, str], traffic: Traffic, *, processes: dict[str, list[int]],
    workers: str | None = None, statement: str = "The small claim comes true",
) -> None:  # fmt: skip
    store = Store(home)
    async with open_engine(
        store,
        settings,
        environ=environ,
        workers=workers_at(worker_place(workers)),
        note=write_report,
        say=print,
    ) as engine:
        run_id = new_run(store, statement, Cutoff.parse("2018-06-30"), settings)
        before = {part: processor(pids) for part, pids in processes.items()}
        messages, size, begun = traffic.messages, traffic.size, time.perf_counter()
        state = await engine.work(run_id)
        wall = time.perf_counter() - begun
        leaves = sum(1 for trial in state.trials.values() if trial.belief is not None)
        cpu = {part: (processor(pids) - before[part]) / leaves for part, pids in processes.items()}
        held = {part: memory(pids) for part, pids in processes.items()}
    calls = ModelLedger(store).count(run_id) / leaves, ApiLedger(store).count(run_id) / leaves
    store.close()
    database = sum(path.stat().st_size for path in home.glob("workbench.db*"))
    files = sum(path.stat().st_size for path in (home / "runs" / run_id).rglob("*") if path.is_file())
    print(
        f"{name:18s} {leaves:4d} leaves {wall:7.1f} s | ms of processor a leaf:",
        ", ".join(f"{part} {1000 * value:.0f}" for part, value in cpu.items()),
        f"| kB a leaf: database {database / leaves / 1000:.1f}, files {files / leaves / 1000:.1f},"
        f" wire {(traffic.size - size) / leaves / 1000:.1f} in {(traffic.messages - messages) / leaves:.0f} messages"
        f" | model calls {calls[0]:.1f}, data calls {calls[1]:.1f} | MB:",
        ", ".join(f"{part} {value:.0f}" for part, value in held.items()),
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--notebook-trials", type=int, default=2)
    parser.add_argument("--demo", action="store_true", help="the demo's nine leaves instead, in this process")
    options = parse(parser, trials=1, notebook_trials=1)
    if options.demo:
        with tempfile.TemporaryDirectory() as folder:
            for name in ("(demo)", "demo"):
                asyncio.run(
                    measure(
                        name, Path(folder) / name, with_preset("product"), {}, Traffic(),
                        processes={"owner": [os.getpid()]}, statement=DEMO,
                    )
                )  # fmt: skip
        return
    sys.path.insert(0, str(PACKAGE))
    parts: dict[str, Any] = {
        "model": "stranger/priced", "analyzer": "stranger-fan", "rule": "stranger-geometric", "concurrency": 50
    }  # fmt: skip
    traffic, own = Traffic(), {"owner": [os.getpid()]}
    with tempfile.TemporaryDirectory() as folder, Upstream(lambda seen: Sent(DAYS)) as upstream:
        place = Path(folder)
        sources = {"WORKBENCH_UPSTREAM_STRANGER": upstream.url}
        (place / "cluster").mkdir()
        with cluster(place / "cluster", workers=2, paths=[PACKAGE], **sources) as running:
            pids = [process.pid for process in running.processes]
            spread = own | {"scheduler": pids[:1], "workers": pids[1:]}
            for grounder, trials in (
                ("stranger-steps", options.trials),
                ("notebook", options.notebook_trials),
            ):
                settings = with_preset("product", **parts, grounder=grounder, trials=trials)
                # Once before it counts: imports, the fork server, the catalogue's text.
                for where, processes in ((None, own), (running.where, spread)):
                    label = f"{grounder.removeprefix('stranger-')}, {'cluster' if where else 'alone'}"
                    for warm in (True, False):
                        chosen = replace(settings, trials=1) if warm else settings
                        home = place / f"{grounder}-{bool(where)}-{warm}"
                        asyncio.run(
                            measure(
                                f"({label})" if warm else label, home, chosen, sources, traffic,
                                processes=processes, workers=where,
                            )
                        )  # fmt: skip


if __name__ == "__main__":
    main()
