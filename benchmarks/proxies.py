"""Ratios of the broker beside the plain thing: cached answers, many askers at once, filtering, large answers.

Run: ``python -m benchmarks.proxies``. Prints one table; nothing is written, no network but loopback.
"""

import asyncio
import importlib.util
import socket
import statistics
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import httpx
import orjson
import pandas as pd

from proxies.broker import Broker, open_broker
from proxies.catalogue import load_catalogue
from proxies.clock import Cutoff
from proxies.ledger import Address, Answer, MemoryLedger
from proxies.pipeline import settle
from proxies.policies import Ask, Found
from proxies.settings import ProxySettings
from sandbox import Limits
from sandbox.view import kernel_folder
from sandbox.wire import WireServer
from tests.fakes.upstream import Sent, Upstream

EOD = "fmp/chart/end-of-day/historical-price-eod/non-split-adjusted"
CUTOFF = Cutoff.parse("2024-06-01")
LIMITS = Limits(api_bytes=1 << 40)


def bars(count: int) -> list[dict[str, Any]]:
    days = pd.bdate_range(end="2024-12-31", periods=min(count, 8000)).strftime("%Y-%m-%d")
    return [
        {"symbol": "A", "date": days[n % len(days)], "adjOpen": 1.5, "adjHigh": 2.5, "adjLow": 0.5, "adjClose": n / 7, "volume": n}
        for n in range(count)
    ]  # fmt: skip


def row(name: str, ours: float, theirs: float, unit: str, *, beside: str) -> None:
    print(
        f"{name:<46} {ours:>10.3f} {unit:<6} {beside:<34} {theirs:>10.3f} {unit:<6} ratio {ours / theirs:>7.2f}"
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


def asker(broker: Broker) -> Callable[[str], Awaitable[Any]]:
    session, number = broker.session(CUTOFF, MemoryLedger()), iter(range(10**9))

    async def ask(symbol: str) -> Any:
        address = Address(run="r", node="P1", trial=1, attempt=1, stage="cell", step=0, retry=next(number))
        return await session.call(EOD, {"symbol": symbol}, address)

    return ask


async def cached(broker: Broker, plain: PlainCache) -> None:
    ask = asker(broker)
    await ask("A")
    await plain.get("A")
    ours = await seconds(lambda: ask("A"), 3000)
    theirs = await seconds(lambda: plain.get("A"), 3000)
    row("cached answer of 250 rows", ours * 1e3, theirs * 1e3, "ms", beside="httpx with a dict, parsed")
    print(f"{'':<46} {1 / ours:>10.0f} answers a second from memory, with ledger row and meta")


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
        cut = [statistics.quantiles(times, n=100)[at - 1] * 1e3 for times in (ours, theirs)]
        row(f"latency of 20 kernels at once, {name}", *cut, "ms", beside="httpx with a dict, parsed")


def filtering() -> None:
    rows = bars(100_000)
    endpoint = load_catalogue().resolve(EOD)
    ask = Ask(endpoint=endpoint, params={"symbol": "A"})

    def ours() -> int:
        return len(settle(ask, CUTOFF, rows, Found()).data)

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


async def large(broker: Broker, upstream: Upstream) -> None:
    rows = bars(45_000)
    body = orjson.dumps(rows)
    upstream.handler = lambda seen: Sent(body)
    ask = asker(broker)
    gaps: list[float] = []

    async def tick() -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.001)
            gaps.append(time.perf_counter() - began)

    ticker = asyncio.create_task(tick())
    began = time.perf_counter()
    answer = await ask("BIG")
    first = time.perf_counter() - began
    ticker.cancel()
    print(
        f"a {len(answer.encoded()) / 1e6:.1f} MB answer, first time: {first * 1e3:.0f} ms; longest gap of the loop {max(gaps) * 1e3:.0f} ms"
    )
    again = await seconds(lambda: ask("BIG"), 50)
    bytes_ready = await seconds(lambda: asyncio.sleep(0, answer.encoded()), 50)
    dumped = await seconds(lambda: asyncio.sleep(0, orjson.dumps(answer.data)), 20)
    print(f"{'the same again, from memory':<46} {again * 1e3:>10.3f} ms")
    row("its bytes for the wire (kept)", bytes_ready * 1e3, dumped * 1e3, "ms", beside="encoded each time")


def frames() -> None:
    """A 5 MB answer, from the broker's hands to a DataFrame in a kernel, over the real wire."""
    rows = bars(45_000)
    answer = Answer(data=rows, meta={}, body=orjson.dumps(rows))

    async def told(path: str, params: Mapping[str, Any], *, cell: int, nth: int) -> Answer:
        return answer

    ours, theirs = socket.socketpair()
    loop = asyncio.new_event_loop()
    server = threading.Thread(target=loop.run_until_complete, args=(WireServer(ours, told, LIMITS).run(),))
    server.start()
    spec = importlib.util.spec_from_file_location("call_api", kernel_folder() / "call_api.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    call = module.CallApi(theirs.detach())

    def of_rows() -> pd.DataFrame:
        made = pd.DataFrame(call(EOD, {}))
        made["date"] = pd.to_datetime(made["date"], format="ISO8601")
        return made

    def of_columns() -> pd.DataFrame:
        return call.frame(EOD, {})

    of_rows()
    began = time.perf_counter()
    first_frame = of_columns()
    first = (time.perf_counter() - began) * 1e3
    pd.testing.assert_frame_equal(of_rows(), first_frame)
    times: dict[str, list[float]] = {"rows": [], "columns": []}
    for _ in range(9):  # in turns, so that a busy machine slows both
        for name, work in (("rows", of_rows), ("columns", of_columns)):
            began = time.perf_counter()
            work()
            times[name].append((time.perf_counter() - began) * 1e3)
    call._socket.close()
    server.join()
    loop.close()
    quick, slow = statistics.median(times["columns"]), statistics.median(times["rows"])
    name = f"a {len(answer.encoded()) / 1e6:.1f} MB answer as a frame"
    row(name, quick, slow, "ms", beside="CALL_API's JSON rows, then a frame")
    print(
        f"{'':<46} {slow / quick:>10.1f} times as fast; {slow / first:.1f} times when the columns are made first"
    )


async def main() -> None:
    small = orjson.dumps(bars(250))
    with Upstream(lambda seen: Sent(small)) as upstream:
        broker = open_broker(ProxySettings(keys={"fmp": "k"}, upstreams={"fmp": upstream.url}))
        # the vendor's own pace would be measured otherwise
        broker._sources["fmp"]._courier._gate = asyncio.Semaphore(16)  # type: ignore[attr-defined]
        plain = PlainCache(f"{upstream.url}/historical-price-eod/non-split-adjusted")
        try:
            await cached(broker, plain)
            await kernels(broker, plain)
            filtering()
            await large(broker, upstream)
        finally:
            await plain.aclose()
            await broker.aclose()


if __name__ == "__main__":
    asyncio.run(main())
    frames()
