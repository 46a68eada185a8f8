"""How close a run comes to its lower bound, with simulated latency: without kernels, and with real ones.

    python -m benchmarks.engine [--leaves 20,68,360,1075] [--slots 50,200,1000] [--steps 3] [--many 10000]
    python -m benchmarks.engine --kernels [--leaves 20,68]

The bound is the largest of: one leaf's calls in a row; all latency shared out among the slots; the processor seconds of this
process, whose event loop is one thread; and those of the run, kernels too, shared out among the cores that other programs
left (they should leave all: the column ``others`` says). ``plan`` is the
time of the same calls if the engine took none: first come, first served, on so many slots. Nobody who does not know beforehand
how long a call will take is sure to do better, so where the last calls decide (few leaves to a slot) it is the fairer measure.

Latency is lognormal with a median of 0.2 s, drawn from the request. Model, fake provider and engine share one process. A run of
three leaves goes before what is measured, for the imports; how long it takes is said.
"""

import argparse
import asyncio
import heapq
import os
import random
import resource
import tempfile
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import psutil

from benchmarks.arguments import parse
from benchmarks.workers import processor
from tests.fakes.asking_run import Provider, work
from tests.fakes.notebook_run import NotebookProvider, open_notebook_run, work_in_kernels
from workbench.models.base import ModelReply, ModelRequest
from workbench.resources import cores
from workbench.store import Store


class Latent(Provider):
    """Answers after a drawn time, the same for the same request; remembers what it spent waiting, by leaf."""

    def __init__(self) -> None:
        super().__init__()
        self.waited: dict[str, list[float]] = {}

    async def complete(self, request: ModelRequest) -> ModelReply:
        node = request.nodes[0].id
        seconds = random.Random(request.messages[-1].content + node).lognormvariate(-1.609, 0.5)
        self.waited.setdefault(node, []).append(seconds)
        await asyncio.sleep(seconds)
        return self.answer(request)


class LatentNotebook(Latent, NotebookProvider):
    """The same for leaves with a notebook."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One run: seconds, and bytes of its database."""

    wall: float
    own: float
    everybody: float
    others: float
    chains: Sequence[Sequence[float]]
    slots: int
    size: int

    @property
    def bound(self) -> float:
        """Seconds below which this run cannot end."""
        total, left = sum(map(sum, self.chains)), max(0.5, cores() - self.others)
        return max(max(map(sum, self.chains)), total / self.slots, self.own, self.everybody / left)


def plan(chains: Sequence[Sequence[float]], slots: int) -> float:
    """Seconds that chains of calls take on so many slots, first come, first served, if nothing else takes time.

    >>> plan([[1, 1], [2], [1]], 2)
    3.0
    """
    queue, step = deque(range(len(chains))), [0] * len(chains)
    ends: list[tuple[float, int]] = []
    now = 0.0
    while queue or ends:
        while queue and len(ends) < slots:
            chain = queue.popleft()
            heapq.heappush(ends, (now + chains[chain][step[chain]], chain))
        now, chain = heapq.heappop(ends)
        step[chain] += 1
        if step[chain] < len(chains[chain]):
            queue.append(chain)
    return now


async def measure(home: Path, leaves: int, slots: int, steps: int, *, kernels: bool = False) -> Measured:
    """Work on one run in a new home; with kernels every leaf has a notebook of its own, which is verified too."""
    store, provider = Store(home), LatentNotebook() if kernels else Latent()
    run_id = open_notebook_run(store, cells=max(1, steps - 1), concurrency=slots)  # and the conclusion
    if kernels:
        sitting = work_in_kernels(store, run_id, provider, leaves=leaves)
    else:
        sitting = work(store, run_id, provider, leaves=leaves, steps=steps)
    own, everybody, machine = time.process_time(), processor([os.getpid()]), busy()
    begun = time.perf_counter()
    state = await sitting
    wall = time.perf_counter() - begun
    own, everybody = time.process_time() - own, processor([os.getpid()]) - everybody
    machine = busy() - machine
    assert state.finished and len(state.pooled) == leaves and not state.unverified()
    store.close()
    return Measured(
        wall=wall,
        own=own,
        everybody=max(everybody, own),
        others=max(0.0, machine - max(everybody, own)) / wall,
        chains=list(provider.waited.values()),
        slots=slots,
        size=sum(path.stat().st_size for path in home.glob("workbench.db*")),
    )


def busy() -> float:
    """Processor seconds that all processes of the machine have used."""
    times = psutil.cpu_times()
    return float(sum(times) - times.idle - getattr(times, "iowait", 0.0))


def peak() -> float:
    """Most MB that this process has had in memory."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def row(leaves: int, slots: int, steps: int, kernels: bool) -> str:
    """Measure in this process, which is a new one, and return the line of the table."""
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        asyncio.run(measure(Path(folder) / "warm", 3, slots, steps, kernels=kernels))
        first, before = time.perf_counter() - begun, peak()
        run = asyncio.run(measure(Path(folder) / "run", leaves, slots, steps, kernels=kernels))
    planned = max(plan(run.chains, slots), run.bound)
    return (
        f"{leaves:6d} {slots:5d} {run.wall:7.2f} {run.bound:7.2f} {run.wall / run.bound:6.2f} {run.wall / planned:6.2f}"
        f" {1000 * run.own / leaves:8.1f} {1000 * run.everybody / leaves:8.1f} {run.size / leaves / 1000:8.1f}"
        f" {1000 * (peak() - before) / leaves:8.0f} {first:6.2f} {run.others:6.1f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--leaves", help="20,68,360,1075, with kernels 20,68")
    parser.add_argument("--slots", help="50,200,1000, with kernels 50")
    parser.add_argument("--many", type=int, default=10_000, help="leaves of one more row; 0 is none")
    parser.add_argument("--steps", type=int, default=3, help="model calls of a leaf")
    parser.add_argument("--kernels", action="store_true", help="leaves compute in sealed kernels")
    options = parse(parser, leaves="3", slots="2", many=0)
    leaves = options.leaves or ("20,68" if options.kernels else "20,68,360,1075")
    slots = options.slots or ("50" if options.kernels else "50,200,1000")
    pairs = [(count, places) for count in leaves.split(",") for places in slots.split(",")]
    if options.many and not options.kernels:
        pairs.append((str(options.many), "200"))
    print(
        "leaves slots    wall   bound  ratio of plan   own ms   all ms  kB disk    kB RAM  first s others"
        "   (ms, kB of disk and kB of memory a leaf; others: cores that they used)"
    )
    for count, places in pairs:
        # A process a row: what the one before left in memory is not this one's.
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
            print(
                process.submit(row, int(count), int(places), options.steps, options.kernels).result(),
                flush=True,
            )


if __name__ == "__main__":
    main()
