"""Sealed, forked kernels against what Jupyter does: ratios within one run; absolute figures depend on the machine.

Run: python -m benchmarks.kernels [--rounds 3] [--burst 20]
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
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, ClassVar

import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

from sandbox import Limits, Sandbox, SessionSpec
from sandbox.client import KernelClient
from sandbox.forkserver import close_servers, fork_server
from sandbox.journal import Journal
from sandbox.kernel import Kernel, start_kernel

READY = "import pandas, matplotlib.pyplot"
ROWS: list[tuple[str, float, str, str]] = []


def row(name: str, ratio: float, target: str, detail: str) -> None:
    ROWS.append((name, ratio, target, detail))
    print(f"  {name}: {ratio:.2f} ({detail})", file=sys.stderr)


def median(values: list[float]) -> float:
    return statistics.median(values)


def pss_mb(pids: list[int]) -> float:
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/smaps_rollup") as file:
            total += int(next(line for line in file if line.startswith("Pss:")).split()[1])
    return total / 1024


async def cold() -> tuple[AsyncKernelManager, Any]:
    folder = tempfile.mkdtemp(prefix="cold-")
    manager = AsyncKernelManager(kernel_name="python3", transport="ipc", ip=f"{folder}/s")
    await manager.start_kernel(stdout=-3, stderr=-3)
    return manager, await ready(manager)


async def ready(manager: AsyncKernelManager) -> Any:
    client = manager.client()
    client.start_channels()
    await client.wait_for_ready(timeout=60)
    await client.execute_interactive(READY, timeout=60, output_hook=lambda _: None)
    return client


async def cold_stop(manager: AsyncKernelManager, client: Any) -> float:
    client.stop_channels()
    start = time.perf_counter()
    await manager.shutdown_kernel(now=True)
    spent = time.perf_counter() - start
    shutil.rmtree(Path(str(manager.ip)).parent, ignore_errors=True)
    return spent


async def sealed() -> tuple[Kernel, KernelClient]:
    kernel = await start_kernel(await fork_server("namespaces"), Limits())
    client = KernelClient(kernel.endpoints.info)
    await client.connect(60)
    await run(client, READY)
    return kernel, client


async def run(client: KernelClient, source: str) -> None:
    cell = client.start(source, cap=1_000_000)
    await client.finish(cell)
    assert cell.reply and cell.reply["status"] == "ok", cell.outputs


async def sealed_stop(kernel: Kernel, client: KernelClient) -> float:
    start = time.perf_counter()
    await kernel.kill()
    spent = time.perf_counter() - start
    await client.close()
    return spent


async def stock() -> tuple[AsyncKernelManager, Any]:
    manager = AsyncKernelManager(kernel_name="analyst")
    await manager.start_kernel()
    return manager, await ready(manager)


async def timed(
    start: Callable[[], Awaitable[Any]], stop: Callable[..., Awaitable[float]], rounds: int
) -> Any:
    starts, stops = [], []
    for _ in range(rounds):
        began = time.perf_counter()
        made = await start()
        starts.append(time.perf_counter() - began)
        stops.append(await stop(*made))
    return median(starts), median(stops)


async def starting(rounds: int, burst: int) -> float:
    await sealed_stop(*await sealed())
    cold_start, cold_kill = await timed(cold, cold_stop, rounds)
    seal_start, seal_kill = await timed(sealed, sealed_stop, rounds * 3)
    stock_start, _ = await timed(stock, cold_stop, rounds * 2)
    again, _ = await timed(cold, cold_stop, rounds)
    cold_start = (cold_start + again) / 2
    row(
        "kernel ready, our manager",
        cold_start / seal_start,
        ">= 25",
        f"{cold_start * 1e3:.0f} / {seal_start * 1e3:.0f} ms",
    )
    row(
        "kernel ready, stock manager",
        cold_start / stock_start,
        ">= 10",
        f"{cold_start * 1e3:.0f} / {stock_start * 1e3:.0f} ms",
    )
    row("kill", cold_kill / seal_kill, ">= 10", f"{cold_kill * 1e3:.1f} / {seal_kill * 1e3:.1f} ms")
    kernel, client = await sealed()
    share = (kernel.steps["sealed"] - kernel.steps["forked"]) / seal_start
    row(
        "isolation, share of ready time",
        share,
        "<= 0.10",
        f"{(kernel.steps['sealed'] - kernel.steps['forked']) * 1e3:.1f} ms",
    )
    await sealed_stop(kernel, client)

    began = time.perf_counter()
    many_cold = await asyncio.gather(*(cold() for _ in range(burst)))
    cold_burst = time.perf_counter() - began
    cold_pss = pss_mb([manager.provisioner.pid for manager, _ in many_cold]) if os.geteuid() == 0 else 0.0
    await asyncio.gather(*(cold_stop(*made) for made in many_cold))
    began = time.perf_counter()
    many = await asyncio.gather(*(sealed() for _ in range(burst)))
    seal_burst = time.perf_counter() - began
    seal_pss = pss_mb([kernel.process.pid for kernel, _ in many]) if os.geteuid() == 0 else 0.0
    await asyncio.gather(*(sealed_stop(*made) for made in many))
    row(f"{burst} at once", cold_burst / seal_burst, ">= 20", f"{cold_burst:.1f} / {seal_burst:.2f} s")
    if seal_pss:
        row(f"memory (PSS) of {burst}", cold_pss / seal_pss, ">= 4", f"{cold_pss:.0f} / {seal_pss:.0f} MB")
    return cold_start


async def claiming(cold_start: float, rounds: int) -> None:
    """Until a kernel in waiting has run its first imports; a session's journal is not part of it."""
    box = Sandbox()
    with tempfile.TemporaryDirectory() as folder:
        paths = {"journal": Path(folder) / "j.jsonl", "notebook": Path(folder) / "n.ipynb"}
        spec = SessionSpec(name="P1.1.1", **paths)
        (await box.probe()).require(spec.isolation)
        await (await box.pool.claim(spec)).end()
        spent = []
        for _ in range(rounds):
            await box.pool.full()
            await asyncio.sleep(0.2)
            began = time.perf_counter()
            ready = await box.pool.claim(spec)
            await run(ready.client, READY)
            spent.append(time.perf_counter() - began)
            await ready.end()
        await box.aclose()
    row("warm claim", cold_start / median(spent), ">= 150", f"{median(spent) * 1e3:.1f} ms")


async def calling(rounds: int) -> None:
    import zmq
    import zmq.asyncio

    from sandbox.wire import WireServer

    payload = [{"date": "2018-01-02", "value": 1.5}] * 5

    class Answer:
        data = payload
        meta: ClassVar[dict[str, Any]] = {}

    async def api(path: str, params: Any, *, cell: int, nth: int) -> Answer:
        return Answer()

    kernel, client = await sealed()
    wire = asyncio.create_task(WireServer(kernel.api, api, Limits(api_calls=10**6)).run())
    measure = (
        "import time, json\nt = time.perf_counter()\nfor _ in range(2000): CALL_API('x', {'a': 1})\n"
        "spent = (time.perf_counter() - t) / 2000\nprint(spent)"
    )
    cell = client.start(measure, cap=1000)
    await client.finish(cell)
    ours = float(cell.outputs[0]["text"])
    wire.cancel()
    await sealed_stop(kernel, client)

    folder = tempfile.mkdtemp(prefix="zmq-")
    context = zmq.asyncio.Context()
    router = context.socket(zmq.ROUTER)
    router.bind(f"ipc://{folder}/r")

    async def answer() -> None:
        while True:
            identity, body = await router.recv_multipart()
            request = json.loads(body)
            await router.send_multipart(
                [identity, json.dumps({"id": request["id"], "data": payload, "meta": {}}).encode()]
            )

    task = asyncio.create_task(answer())
    program = f"""
import json, time, zmq
s = zmq.Context().socket(zmq.DEALER); s.connect("ipc://{folder}/r")
for n in (200, 2000):
    t = time.perf_counter()
    for i in range(n):
        s.send(json.dumps({{"id": i, "path": "x", "params": {{"a": 1}}}}).encode()); json.loads(s.recv())
    spent = (time.perf_counter() - t) / n
print(spent)
"""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdout=-1)
    theirs = float((await process.communicate())[0])
    task.cancel()
    router.close()
    context.term()
    shutil.rmtree(folder)
    row(
        "CALL_API of 200 B against DEALER/ROUTER",
        theirs / ours,
        ">= 1.5",
        f"{theirs * 1e6:.0f} / {ours * 1e6:.0f} us",
    )


async def running(cells: int) -> None:
    kernel, client = await sealed()
    for _ in range(20):
        await run(client, "1 + 1")
    began = time.perf_counter()
    for _ in range(cells):
        await run(client, "1 + 1")
    ours = (time.perf_counter() - began) / cells
    await sealed_stop(kernel, client)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 + 1") for _ in range(cells + 20)])
    runner = NotebookClient(notebook, kernel_name="python3")
    async with runner.async_setup_kernel():
        for index in range(20):
            await runner.async_execute_cell(notebook.cells[index], index)
        began = time.perf_counter()
        for index in range(20, cells + 20):
            await runner.async_execute_cell(notebook.cells[index], index)
        theirs = (time.perf_counter() - began) / cells
    row("a cell, against nbclient", theirs / ours, ">= 1", f"{theirs * 1e3:.1f} / {ours * 1e3:.1f} ms")


def saving(cells: int = 200) -> None:
    image = "A" * 133_000  # 100 kB in base64
    with tempfile.TemporaryDirectory() as folder:
        notebook = nbformat.v4.new_notebook()
        began = time.perf_counter()
        for _ in range(cells):
            output = nbformat.v4.new_output("display_data", data={"image/png": image})
            notebook.cells.append(nbformat.v4.new_code_cell("plot()", outputs=[output]))
            nbformat.write(notebook, f"{folder}/n.ipynb")
        theirs = time.perf_counter() - began
        journal = Journal(Path(folder) / "j.jsonl")
        began = time.perf_counter()
        for number in range(cells):
            outputs = [{"output_type": "display_data", "data": {"image/png": image}, "metadata": {}}]
            journal.append("code", sync=False, id=f"cell-{number}", source="plot()", fixes=None)
            journal.append("result", id=f"cell-{number}", result={"outputs": outputs})
        ours = time.perf_counter() - began
        journal.close()
    row(
        f"saving {cells} image cells",
        theirs / ours,
        ">= 100",
        f"{theirs:.1f} s / {ours * 1e3:.0f} ms, a sync a cell",
    )


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--burst", type=int, default=20)
    options = parser.parse_args()
    server = await fork_server("namespaces")
    boot = server.up.result()["ready_s"]
    cold_start = await starting(options.rounds, options.burst)
    await claiming(cold_start, options.rounds * 3)
    await calling(options.rounds)
    await running(200)
    await asyncio.to_thread(saving)
    print(f"fork server: up in {boot:.1f} s, once per process\n")
    print(f"| {'measure':44} | ratio | target  | figures |\n|{'-' * 46}|-------|---------|---------|")
    for name, ratio, target, detail in ROWS:
        print(f"| {name:44} | {ratio:5.2f} | {target:7} | {detail} |")
    close_servers()


if __name__ == "__main__":
    asyncio.run(main())
