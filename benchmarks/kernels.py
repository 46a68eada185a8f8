"""Sealed, forked kernels against what Jupyter does: ratios within one run; absolute figures depend on the machine.

Whatever is compared is measured in turn, round by round, and each round gives a ratio; the table has their median and, in
brackets, the least and the greatest. A machine that other work keeps busy gives other ratios: many short steps suffer more
from it than one long one. Processor time is the same then, or nearly.

Run: python -m benchmarks.kernels [--rounds 5] [--burst 20]
     python -m benchmarks.kernels --against FOLDER    (this checkout's sandbox beside another's: `benchmarks.paired`)
"""

import argparse
import asyncio
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import nbformat
import zmq
import zmq.asyncio
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning.local_provisioner import LocalProvisioner
from nbclient import NotebookClient

from benchmarks.arguments import parse
from benchmarks.paired import compare
from sandbox import Limits, Sandbox, SessionSpec
from sandbox.kernels.client import KernelClient
from sandbox.kernels.forkserver import ForkServer, close_servers, fork_server
from sandbox.kernels.kernel import Kernel, start_kernel
from sandbox.record.journal import Journal
from sandbox.wire import WireServer

READY = "import pandas, matplotlib.pyplot"
ROWS: list[tuple[str, str, str, str]] = []


class Measure:
    """One row of the table: rounds of (theirs, ours) in seconds or megabytes."""

    def __init__(self, name: str, target: str, unit: str) -> None:
        self.name, self.target, self.unit = name, target, unit
        self.rounds: list[tuple[float, float]] = []

    def add(self, theirs: float, ours: float) -> None:
        """Add a round."""
        self.rounds.append((theirs, ours))

    def show(self) -> None:
        """Put the row into the table."""
        ratios = [theirs / ours for theirs, ours in self.rounds]
        theirs, ours = (statistics.median(side) for side in zip(*self.rounds, strict=True))
        scale = {"ms": 1e3, "us": 1e6}.get(self.unit, 1)
        show(self.name, ratios, self.target, f"{theirs * scale:.3g} / {ours * scale:.3g} {self.unit}")


def show(name: str, ratios: Sequence[float], target: str, detail: str) -> None:
    """Put a row into the table, and say it at once."""
    spread = f"{statistics.median(ratios):.3g} ({min(ratios):.3g}-{max(ratios):.3g})"
    ROWS.append((name, spread, target, detail))
    print(f"  {name}: {spread}, {detail}", file=sys.stderr)


def pss_mb(pids: Sequence[int]) -> float:
    """Memory of the processes together, what they share counted once."""
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/smaps_rollup") as file:
            total += int(next(line for line in file if line.startswith("Pss:")).split()[1])
    return total / 1024


def processor_seconds(pid: int) -> float:
    """Processor time of a process so far, all its threads."""
    spent = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        spent += int((task / "schedstat").read_text().split()[0])
    return spent / 1e9


def pids_of(managers: Sequence[Any]) -> list[int]:
    """Process ids of kernels that Jupyter started."""
    pids = [m.provisioner.pid for m in managers if isinstance(m.provisioner, LocalProvisioner)]
    return [pid for pid in pids if pid is not None]


async def forking() -> int:
    """Process id of the fork server."""
    guard = (await fork_server("namespaces")).pid
    return int(Path(f"/proc/{guard}/task/{guard}/children").read_text().split()[0])


async def cold(*, waits: bool = False) -> tuple[AsyncKernelManager, Any]:
    """A kernel as Jupyter starts it."""
    folder = tempfile.mkdtemp(prefix="cold-")
    manager = AsyncKernelManager(kernel_name="python3", transport="ipc", ip=f"{folder}/s")
    await manager.start_kernel(stdout=-3, stderr=-3)
    return manager, await ready(manager, waits=waits)


async def stock(*, waits: bool = False) -> tuple[AsyncKernelManager, Any]:
    """Our kernel as Jupyter starts it."""
    manager = AsyncKernelManager(kernel_name="analyst")
    await manager.start_kernel()
    return manager, await ready(manager, waits=waits)


async def ready(manager: AsyncKernelManager, *, waits: bool) -> Any:
    """Until the imports are answered; ``waits`` calls first what ends with 0.2 s of silence, `wait_for_ready`."""
    client = manager.client()
    client.start_channels()
    if waits:
        await client.wait_for_ready(timeout=60)
    request = client.execute(READY)
    while True:
        reply = await client.get_shell_msg(timeout=60)
        if reply["parent_header"].get("msg_id") == request:
            assert reply["content"]["status"] == "ok", reply["content"]
            return client


async def lasting(start: Awaitable[tuple[AsyncKernelManager, Any]]) -> float:
    """Seconds until a kernel that Jupyter starts is ready; it is ended then."""
    began = time.perf_counter()
    started = await start
    spent = time.perf_counter() - began
    await jupyter_stop(*started)
    return spent


async def jupyter_stop(manager: AsyncKernelManager, client: Any) -> float:
    """Seconds that the end of a kernel took."""
    client.stop_channels()
    start = time.perf_counter()
    await manager.shutdown_kernel(now=True)
    spent = time.perf_counter() - start
    if manager.kernel_name != "analyst":
        shutil.rmtree(Path(str(manager.ip)).parent, ignore_errors=True)
    return spent


async def sealed() -> tuple[Kernel, KernelClient]:
    """Our kernel as our manager starts it."""
    kernel = await start_kernel(await fork_server("namespaces"), Limits())
    client = KernelClient(kernel.endpoints.info)
    await client.connect(60)
    await run(client, READY)
    return kernel, client


async def run(client: KernelClient, source: str) -> None:
    """Run one cell, which must succeed."""
    cell = client.start(source, max_shown=1_000_000)
    await client.finish(cell)
    assert cell.reply and cell.reply["status"] == "ok", cell.outputs


async def sealed_stop(kernel: Kernel, client: KernelClient) -> float:
    """Seconds that the end of our kernel took."""
    start = time.perf_counter()
    await kernel.kill()
    spent = time.perf_counter() - start
    await client.close()
    return spent


async def starting(rounds: int) -> None:
    """One kernel until it has imported pandas and pyplot, and its end."""
    ours = Measure("kernel ready, our manager", ">= 25", "ms")
    theirs = Measure("kernel ready, stock manager", ">= 10", "ms")
    waited = Measure("the same, both by wait_for_ready", "-", "ms")
    kill = Measure("kill", ">= 10", "ms")
    work = Measure("processor time until ready", "-", "ms")
    shares, seals = [], []
    await sealed_stop(*await sealed())
    await jupyter_stop(*await stock())
    server = await forking()
    for _ in range(rounds):
        began = time.perf_counter()
        started = await cold()
        cold_start = time.perf_counter() - began
        cold_work = sum(map(processor_seconds, pids_of([started[0]])))
        cold_kill = await jupyter_stop(*started)
        starts, kills, works = [], [], []
        for _ in range(5):
            before = processor_seconds(server)
            began = time.perf_counter()
            kernel, client = await sealed()
            starts.append(time.perf_counter() - began)
            works.append(processor_seconds(kernel.process.pid) + processor_seconds(server) - before)
            seals.append(kernel.steps["sealed"] - kernel.steps["forked"])
            shares.append(seals[-1] / starts[-1])
            kills.append(await sealed_stop(kernel, client))
        theirs.add(cold_start, await lasting(stock()))
        waited.add(await lasting(cold(waits=True)), await lasting(stock(waits=True)))
        ours.add(cold_start, statistics.median(starts))
        kill.add(cold_kill, statistics.median(kills))
        work.add(cold_work, statistics.median(works))
    for measure in (ours, work, theirs, waited, kill):
        measure.show()
    show(
        "isolation, share of ready time", shares, "<= 0.10", f"{statistics.median(seals) * 1e3:.1f} ms of it"
    )


async def bursts(rounds: int, burst: int) -> None:
    """Many kernels at once, and their memory."""
    speed = Measure(f"{burst} at once", ">= 20", "s")
    memory = Measure(f"memory (PSS) of {burst}", ">= 4", "MB")
    for _ in range(rounds):
        began = time.perf_counter()
        many_cold = await asyncio.gather(*(cold() for _ in range(burst)))
        cold_burst = time.perf_counter() - began
        cold_pss = pss_mb(pids_of([manager for manager, _ in many_cold]))
        await asyncio.gather(*(jupyter_stop(*started) for started in many_cold))
        began = time.perf_counter()
        many = await asyncio.gather(*(sealed() for _ in range(burst)))
        speed.add(cold_burst, time.perf_counter() - began)
        if os.geteuid() == 0:  # a sealed kernel tells nobody else
            memory.add(cold_pss, pss_mb([kernel.process.pid for kernel, _ in many]))
        await asyncio.gather(*(sealed_stop(*started) for started in many))
    speed.show()
    if memory.rounds:
        memory.show()


async def claiming(rounds: int) -> None:
    """Until a kernel in waiting has run its first imports; a session's journal is not part of it."""
    measure = Measure("warm claim", ">= 150", "ms")
    box = Sandbox()
    with tempfile.TemporaryDirectory() as folder:
        spec = SessionSpec(name="P1.1.1", journal=Path(folder) / "j.jsonl", notebook=Path(folder) / "n.ipynb")
        (await box.probe()).require(spec.isolation)
        await (await box.pool.claim(spec)).end()
        for _ in range(rounds):
            cold_start = await lasting(cold())
            spent = []
            for _ in range(3):
                await box.pool.wait_filled()
                await asyncio.sleep(0.2)
                began = time.perf_counter()
                claimed = await box.pool.claim(spec)
                await run(claimed.client, READY)
                spent.append(time.perf_counter() - began)
                await claimed.end()
            measure.add(cold_start, statistics.median(spent))
        await box.aclose()
    measure.show()


PAYLOAD = [{"date": "2018-01-02", "value": 1.5}] * 5
CALLS = """
import time
for count in (200, 2000):
    begun = time.perf_counter()
    for _ in range(count): CALL_API('x', {'a': 1})
    spent = (time.perf_counter() - begun) / count
print(spent)
"""
DEALER = """
import json, sys, time, zmq
s = zmq.Context().socket(zmq.DEALER); s.connect(sys.argv[1])
for count in (200, 2000):
    begun = time.perf_counter()
    for i in range(count):
        s.send(json.dumps({"id": i, "path": "x", "params": {"a": 1}}).encode()); json.loads(s.recv())
    spent = (time.perf_counter() - begun) / count
print(spent)
"""


class _Answer:
    data = PAYLOAD
    meta: ClassVar[dict[str, Any]] = {}


async def _api(path: str, params: Any, *, cell: int, nth: int) -> _Answer:
    return _Answer()


async def calling(rounds: int) -> None:
    """One CALL_API from a cell and its answer, against ZMQ with the same JSON."""
    measure = Measure("CALL_API of 200 B against DEALER/ROUTER", ">= 1.5", "us")
    kernel, client = await sealed()
    wire = asyncio.create_task(WireServer(kernel.api, _api, Limits(api_calls=10**6)).run())
    with tempfile.TemporaryDirectory(prefix="zmq-") as folder:
        context = zmq.asyncio.Context()
        router = context.socket(zmq.ROUTER)
        router.bind(f"ipc://{folder}/r")

        async def answer() -> None:
            while True:
                identity, body = await router.recv_multipart()
                reply = {"id": json.loads(body)["id"], "data": PAYLOAD, "meta": {}}
                await router.send_multipart([identity, json.dumps(reply).encode()])

        task = asyncio.create_task(answer())
        for _ in range(rounds):
            cell = client.start(CALLS, max_shown=1000)
            await client.finish(cell)
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-c", DEALER, f"ipc://{folder}/r", stdout=-1
            )
            measure.add(float((await process.communicate())[0]), float(cell.outputs[0]["text"]))
        task.cancel()
        router.close()
        context.term()
    wire.cancel()
    await sealed_stop(kernel, client)
    measure.show()


def empty_notebook(cells: int) -> Any:
    """A notebook of so many equal cells."""
    v4: Any = nbformat.v4
    return v4.new_notebook(cells=[v4.new_code_cell("1 + 1") for _ in range(cells)])


async def running(rounds: int, cells: int = 50) -> None:
    """A small cell on a kernel that runs, and its outputs."""
    measure = Measure("a cell, against nbclient", ">= 1", "ms")
    work = Measure("processor time of a cell, both ends", "-", "ms")
    kernel, client = await sealed()
    notebook = empty_notebook(20 + rounds * cells)
    runner = NotebookClient(notebook, kernel_name="python3")
    async with runner.async_setup_kernel():
        for index in range(20):
            await runner.async_execute_cell(notebook.cells[index], index)
            await run(client, "1 + 1")
        [pid] = pids_of([runner.km])
        for number in range(rounds):
            before = processor_seconds(pid) + time.process_time()
            began = time.perf_counter()
            for index in range(20 + number * cells, 20 + (number + 1) * cells):
                await runner.async_execute_cell(notebook.cells[index], index)
            theirs = time.perf_counter() - began
            their_work = processor_seconds(pid) + time.process_time() - before
            before = processor_seconds(kernel.process.pid) + time.process_time()
            began = time.perf_counter()
            for _ in range(cells):
                await run(client, "1 + 1")
            measure.add(theirs / cells, (time.perf_counter() - began) / cells)
            our_work = processor_seconds(kernel.process.pid) + time.process_time() - before
            work.add(their_work / cells, our_work / cells)
    await sealed_stop(kernel, client)
    measure.show()
    work.show()


def saving(rounds: int, cells: int = 200) -> None:
    """Cells with an image each: the notebook rewritten after each, against the journal with a sync after each."""
    measure = Measure(f"saving {cells} image cells, a sync a cell", ">= 100", "ms")
    image = "A" * 133_000  # 100 kB in base64
    format: Any = nbformat
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            notebook = empty_notebook(0)
            began = time.perf_counter()
            for _ in range(cells):
                output = format.v4.new_output("display_data", data={"image/png": image})
                notebook.cells.append(format.v4.new_code_cell("plot()", outputs=[output]))
                format.write(notebook, f"{folder}/n.ipynb")
            theirs = time.perf_counter() - began
            journal = Journal(Path(folder) / "j.jsonl")
            began = time.perf_counter()
            for number in range(cells):
                outputs = [{"output_type": "display_data", "data": {"image/png": image}, "metadata": {}}]
                journal.append("code", sync=False, id=f"cell-{number}", source="plot()", fixes=None)
                journal.append("result", id=f"cell-{number}", result={"outputs": outputs})
            measure.add(theirs, time.perf_counter() - began)
            journal.close()
    measure.show()


def boots(rounds: int) -> str:
    """How long fork servers take to come up, one after the other."""
    spent = []
    for _ in range(rounds):
        server = ForkServer(level="namespaces")
        spent.append(server.up.result(120)["ready_s"])
        server.close()
    return f"{statistics.median(spent):.1f} s ({min(spent):.1f}-{max(spent):.1f})"


async def main() -> None:
    """Measure everything and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--burst", type=int, default=20)
    parser.add_argument("--against", type=Path, metavar="FOLDER", help="another checkout, with its .venv")
    options = parse(parser, rounds=1, burst=2)
    if options.against is not None:
        ours = Path(__file__).resolve().parent.parent
        await asyncio.to_thread(compare, ours, options.against.resolve(), options.rounds, options.burst)
        return
    boot = await asyncio.to_thread(boots, 3)
    await starting(options.rounds)
    await bursts(max(2, options.rounds // 2), options.burst)
    await claiming(options.rounds)
    await calling(options.rounds)
    await running(options.rounds * 2)
    await asyncio.to_thread(saving, max(2, options.rounds // 2))
    print(f"fork server: up in {boot}, once per process\n")
    print(
        f"| {'measure':41} | {'ratio':20} | target  | theirs / ours |\n|{'-' * 43}|{'-' * 22}|---------|---|"
    )
    for name, ratio, target, detail in ROWS:
        print(f"| {name:41} | {ratio:20} | {target:7} | {detail} |")
    close_servers()


if __name__ == "__main__":
    asyncio.run(main())
