"""Ratios of the broker beside the plain thing: cached answers, many askers at once, filtering, large answers.

Run: ``python -m benchmarks.proxies [--rounds 7]``. Prints one table; nothing is kept, no network but loopback.
"""

import argparse
import asyncio
import contextlib
import json
import shutil
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import httpx
import orjson
import pandas as pd

from benchmarks.arguments import parse
from proxies.answers import apply_cutoff
from proxies.asof.clock import Cutoff
from proxies.asof.policies import ApiRequest, PolicyContext
from proxies.broker import Broker, BrokerSession, open_broker
from proxies.catalogue import load_catalogue
from proxies.ledger import Address, Answer, MemoryLedger
from proxies.settings import ProxySettings
from sandbox import Limits
from sandbox.kernels.view import kernel_folder
from sandbox.wire import WireServer
from tests.fakes.upstream import Sent, Upstream
from workbench.store.database import Store
from workbench.store.ledgers import ApiLedger

EOD = "fmp/chart/end-of-day/historical-price-eod/non-split-adjusted"
CUTOFF = Cutoff.parse("2024-06-01")
LIMITS = Limits(api_bytes=1 << 40, api_calls=10**9)


def bars(count: int) -> list[dict[str, Any]]:
    days = pd.bdate_range(end="2024-12-31", periods=min(count, 8000)).strftime("%Y-%m-%d")
    return [
        {"symbol": "A", "date": days[n % len(days)], "adjOpen": 1.5, "adjHigh": 2.5, "adjLow": 0.5, "adjClose": n / 7, "volume": n}
        for n in range(count)
    ]  # fmt: skip


def row(name: str, ours: float, theirs: float, unit: str, *, beside: str) -> None:
    print(
        f"{name:<52} {ours:>10.3f} {unit:<6} {beside:<38} {theirs:>10.3f} {unit:<6} ratio {ours / theirs:>6.2f}"
    )


async def seconds(work: Callable[[], Awaitable[Any]], count: int) -> float:
    began = time.perf_counter()
    for _ in range(count):
        await work()
    return (time.perf_counter() - began) / count


class PlainCache:
    """What one would write without thinking: httpx and a dict."""

    def __init__(self, url: str) -> None:
        self._url, self._kept = url, dict[str, Any]()
        self._client = httpx.AsyncClient()

    async def get(self, symbol: str) -> Any:
        if symbol not in self._kept:
            reply = await self._client.get(self._url, params={"symbol": symbol})
            self._kept[symbol] = reply.content
        return orjson.loads(self._kept[symbol])

    async def aclose(self) -> None:
        await self._client.aclose()


def place(node: str, number: int) -> Address:
    return Address(run="r", node=node, trial=1, attempt=1, stage="cell", step=0, retry=number)


def asker(broker: Broker) -> Callable[[str], Awaitable[Any]]:
    session, number = broker.session(CUTOFF, MemoryLedger()), iter(range(10**9))

    async def ask(symbol: str) -> Any:
        return await session.call(EOD, {"symbol": symbol}, place("P1", next(number)))

    return ask


async def cached(broker: Broker, plain: PlainCache) -> None:
    ask = asker(broker)
    await ask("A")
    await plain.get("A")
    ours = await seconds(lambda: ask("A"), 3000)
    theirs = await seconds(lambda: plain.get("A"), 3000)
    row("cached answer of 250 rows", ours * 1e3, theirs * 1e3, "ms", beside="httpx with a dict, parsed")
    print(f"{'':<52} {1 / ours:>10.0f} answers a second from the raw cache, with ledger row and meta")


async def kernels(broker: Broker, plain: PlainCache) -> None:
    async def run(ask: Callable[[str], Awaitable[Any]]) -> list[float]:
        times: list[float] = []

        async def kernel(number: int) -> None:
            for call in range(30):
                began = time.perf_counter()
                await ask(f"K{(number * 7 + call) % 50}")
                times.append(time.perf_counter() - began)

        await asyncio.gather(*(kernel(number) for number in range(20)))
        return times

    ours, theirs = await run(asker(broker)), await run(plain.get)
    for name, at in (("median", 50), ("95th percentile", 95)):
        mine, other = (statistics.quantiles(times, n=100)[at - 1] * 1e3 for times in (ours, theirs))
        row(f"latency of 20 kernels at once, {name}", mine, other, "ms", beside="httpx with a dict, parsed")


def filtering() -> None:
    rows = bars(100_000)
    endpoint = load_catalogue().resolve(EOD)
    ask = ApiRequest(endpoint=endpoint, params={"symbol": "A"})

    def ours() -> int:
        return len(apply_cutoff(rows, PolicyContext(request=ask, cutoff=CUTOFF)).data)

    def frame() -> int:
        made = pd.DataFrame(rows)
        return int((pd.to_datetime(made["date"]) < pd.Timestamp("2024-06-01")).sum())

    made = pd.DataFrame(rows)

    def mask() -> int:
        return int((pd.to_datetime(made["date"]) < pd.Timestamp("2024-06-01")).sum())

    assert ours() == frame() == mask()

    def best(work: Callable[[], int]) -> float:
        times = []
        for _ in range(5):
            began = time.perf_counter()
            work()
            times.append(time.perf_counter() - began)
        return min(times) * 1e3

    row("filter 100,000 rows", best(ours), best(frame), "ms", beside="pandas frame of the rows and mask")
    row("filter 100,000 rows", best(ours), best(mask), "ms", beside="pandas mask alone, frame ready")


# -- large answers ------------------------------------------------------------------------------------------------


class Ticker:
    """The longest time the loop kept a one-millisecond sleep waiting beyond its millisecond."""

    def __init__(self) -> None:
        self.longest = 0.0
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "Ticker":
        self._task = asyncio.create_task(self._tick())
        await asyncio.sleep(0.005)
        self.longest = 0.0
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._task is not None
        await asyncio.sleep(0.002)
        self._task.cancel()

    async def _tick(self) -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.001)
            self.longest = max(self.longest, (time.perf_counter() - began - 0.001) * 1e3)


async def stalls(broker: Broker, body: bytes, rounds: int, store: Store) -> None:
    """The longest stall of the loop while a 5 MB answer is fetched, clamped, hashed and recorded."""
    session = broker.session(CUTOFF, ApiLedger(store))
    endpoint = load_catalogue().resolve(EOD)
    found: dict[str, list[float]] = {"ours": [], "plain": [], "dumps": [], "idle": []}
    taken = []
    for number in range(rounds):
        async with Ticker() as ticker:
            began = time.perf_counter()
            answer = await session.call(EOD, {"symbol": f"STALL{number}"}, place("stall", number))
            taken.append((time.perf_counter() - began) * 1e3)
        found["ours"].append(ticker.longest)
        async with Ticker() as ticker:
            ask = ApiRequest(endpoint=endpoint, params={"symbol": "A"})
            told = apply_cutoff(json.loads(body), PolicyContext(request=ask, cutoff=CUTOFF))
            json.dumps(told.data)
        found["plain"].append(ticker.longest)
        async with Ticker() as ticker:
            json.dumps(answer.data)
        found["dumps"].append(ticker.longest)
        async with Ticker() as ticker:
            await asyncio.sleep(taken[-1] / 1e3)
        found["idle"].append(ticker.longest)
    ours, plain, dumps, idle = (statistics.median(times) for times in found.values())
    name = f"longest stall of the loop, first {len(body) / 1e6:.1f} MB answer"
    row(name, ours, dumps, "ms", beside="json.dumps of it in the loop")
    row(name, ours, plain, "ms", beside="json.loads, clamp, dumps in the loop")
    print(
        f"{'':<52} worst of {rounds}: {max(found['ours']):.1f} ms; of an idle loop as long: median {idle:.1f}, "
        f"worst {max(found['idle']):.1f} ms; the answer took {statistics.median(taken):.0f} ms"
    )


KERNEL = """
import importlib.util, json, sys, time
spec = importlib.util.spec_from_file_location("call_api", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
call = module.CallApi(int(sys.argv[2]))
import pandas

def rows(path, params):
    made = pandas.DataFrame(call(path, params))
    made["date"] = pandas.to_datetime(made["date"], format="ISO8601")
    return made

def small(path, params):
    for _ in range(1000):
        call(path, params)

for line in sys.stdin:
    name, path, params, check = json.loads(line)
    work = {"rows": rows, "frame": call.frame, "small": small}[name]
    began, used = time.perf_counter(), time.process_time()
    made = work(path, params)
    spent, used = (time.perf_counter() - began) * 1e3, (time.process_time() - used) * 1e3
    if check:
        pandas.testing.assert_frame_equal(rows(path, params), call.frame(path, params))
    print(spent, used, flush=True)
"""


class KernelEnd:
    """The kernel's end of the wire in a process of its own, as in a kernel; the broker's end in this loop."""

    def __init__(self, session: BrokerSession) -> None:
        self._session = session
        self._number = iter(range(10**9))

    async def told(self, path: str, params: Mapping[str, Any], *, cell: int, nth: int) -> Answer:
        return await self._session.call(path, params, place("kernel", next(self._number)))

    @contextlib.asynccontextmanager
    async def opened(self) -> "AsyncIterator[KernelEnd]":
        ours, theirs = socket.socketpair()
        served = asyncio.create_task(WireServer(ours, self.told, LIMITS).run())
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", KERNEL, str(kernel_folder() / "call_api.py"), str(theirs.fileno()),
            stdin=-1, stdout=-1, stderr=-3, pass_fds=(theirs.fileno(),),
        )  # fmt: skip
        theirs.close()
        try:
            yield self
        finally:
            assert self._process.stdin is not None
            self._process.stdin.close()
            await self._process.wait()
            await served

    async def __call__(
        self, name: str, params: Mapping[str, Any], *, check: bool = False, path: str = EOD
    ) -> tuple[float, float]:
        """Milliseconds that passed in the kernel, and milliseconds of processor time at both ends."""
        began = time.process_time()
        spent, used = await asked(self._process, json.dumps([name, path, params, check]))
        return spent, used + (time.process_time() - began) * 1e3


async def asked(process: asyncio.subprocess.Process, line: str) -> list[float]:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(line.encode() + b"\n")
    return [float(word) for word in (await process.stdout.readline()).split()]


async def frames(broker: Broker, store: Store, rounds: int) -> None:
    """What a cell waits for a 5 MB answer as a frame: asked first by anybody, and asked again."""
    times: dict[str, list[float]] = {}
    async with KernelEnd(broker.session(CUTOFF, ApiLedger(store))).opened() as kernel:
        await kernel("frame", {"symbol": "WARM"}, check=True)
        for number in range(rounds):
            for name in ("first", "repeated"):
                spent, _ = await kernel("frame", {"symbol": f"F{number}"})
                times.setdefault(name, []).append(spent)
    for name, spans in times.items():
        print(f"a 5.2 MB answer as a frame, {name} ask {'':<14} {min(spans):>10.0f} ms, best of {rounds}")


# -- small calls --------------------------------------------------------------------------------------------------


async def small_calls(broker: Broker, store: Store, rounds: int) -> None:
    """A cached answer of 200 B, a call at a time: time that passed and processor time of both ends, best of all rounds."""
    import zmq
    import zmq.asyncio

    payload = [{"symbol": "A", "date": f"2024-05-0{day}", "adjClose": 1.5} for day in range(1, 5)]
    folder = tempfile.mkdtemp(prefix="zmq-")
    router = zmq.asyncio.Context.instance().socket(zmq.ROUTER)
    router.bind(f"ipc://{folder}/r")

    async def answer() -> None:
        while True:
            identity, body = await router.recv_multipart()
            told = {"id": json.loads(body)["id"], "data": payload, "meta": {}}
            await router.send_multipart([identity, json.dumps(told).encode()])

    program = f"""
import json, sys, time, zmq
s = zmq.Context().socket(zmq.DEALER); s.connect("ipc://{folder}/r")
for line in sys.stdin:
    began, used = time.perf_counter(), time.process_time()
    for i in range(1000):
        s.send(json.dumps({{"id": i, "path": "x", "params": {{"symbol": "A"}}}}).encode()); json.loads(s.recv())
    print((time.perf_counter() - began) * 1e3, (time.process_time() - used) * 1e3, flush=True)
"""
    task = asyncio.create_task(answer())
    dealer = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdin=-1, stdout=-1)

    async def theirs() -> tuple[float, float]:
        began = time.process_time()
        spent, used = await asked(dealer, "")
        return spent, used + (time.process_time() - began) * 1e3

    bare = Bare(payload)
    memory = KernelEnd(broker.session(CUTOFF, MemoryLedger()))
    whole = KernelEnd(broker.session(CUTOFF, ApiLedger(store)))
    works: dict[str, Callable[[], Awaitable[tuple[float, float]]]] = {
        "the wire alone": lambda: bare("small", {"symbol": "SMALL"}),
        "broker, ledger in memory": lambda: memory("small", {"symbol": "SMALL"}),
        "broker, ledger in SQLite": lambda: whole("small", {"symbol": "SMALL"}),
        "": theirs,
    }
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in works}
    async with bare.opened(), memory.opened(), whole.opened():
        for number in range(rounds + 1):  # in turns, so that a busy machine slows all
            for name, work in works.items():
                times[name] += [await work()][: 1 if number else 0]
    assert dealer.stdin is not None
    dealer.stdin.close()
    await dealer.wait()
    task.cancel()
    router.close()
    shutil.rmtree(folder)
    for at, unit in enumerate(("us", "us cpu")):
        other = min(taken[at] for taken in times[""])
        for name in works:
            if name:
                ours = min(taken[at] for taken in times[name])
                row(f"CALL_API of 200 B: {name}", ours, other, unit, beside="ZMQ DEALER/ROUTER, no broker")


class Bare(KernelEnd):
    """No broker behind the wire."""

    def __init__(self, payload: Any) -> None:
        self._answer = Answer(data=payload, meta={}, body=orjson.dumps(payload))

    async def told(self, path: str, params: Mapping[str, Any], *, cell: int, nth: int) -> Answer:
        return self._answer


async def no_wait(seconds: float) -> None:
    """Sleep for the transport's pace: not at all."""


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parse(parser, rounds=1).rounds
    small, big = orjson.dumps(bars(250)), orjson.dumps(bars(45_000))
    few = orjson.dumps([{"symbol": "A", "date": f"2024-05-0{day}", "adjClose": 1.5} for day in range(1, 5)])
    with (
        Upstream(lambda seen: Sent(few if seen.query.get("symbol") == "SMALL" else small)) as upstream,
        tempfile.TemporaryDirectory() as folder,
    ):
        settings = ProxySettings(
            keys={"fmp": "k"},
            upstreams={"fmp": upstream.url},
            cache_path=Path(folder) / "raw.db",
            sleep=no_wait,  # the pace kept for the vendor would be measured otherwise
        )
        broker = open_broker(settings)
        plain = PlainCache(f"{upstream.url}/historical-price-eod/non-split-adjusted")
        store = Store(Path(folder))
        try:
            await cached(broker, plain)
            await kernels(broker, plain)
            filtering()
            await small_calls(broker, store, rounds)
            upstream.handler = lambda seen: Sent(big)
            await stalls(broker, big, rounds, store)
            await frames(broker, store, rounds)
        finally:
            await plain.aclose()
            await broker.aclose()
            store.close()


if __name__ == "__main__":
    asyncio.run(main())
