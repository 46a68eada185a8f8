"""How well one sealed kernel can tell, by the time of an answer, that another kernel asked the same path before.

Run with ``python -m benchmarks.cache_timing [--paths 100]``. The upstream answers on loopback, without the tens of milliseconds
of a real network: a real source makes the difference larger. The figure stands in SECURITY.md, and this file stays beside it:
how well it works depends on the machine, which no page can say for the reader's.
"""

import argparse
import asyncio
import random
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.arguments import parse
from proxies.asof.clock import Cutoff
from proxies.broker import open_broker
from proxies.ledger import Address, Answer, MemoryLedger
from proxies.settings import ProxySettings
from sandbox import Sandbox, Session, SessionSpec
from tests.fakes.upstream_fred import KEY, SYNTHETIC, FredUpstream

PATH = "fred/series/observations"
CUTOFF = "2017-06-30"
_CELL = """
import time
for name in {names!r}:
    began = time.perf_counter()
    CALL_API({path!r}, {{"series_id": name}})
    print(time.perf_counter() - began)
"""


async def measure(paths: int) -> tuple[list[float], list[float]]:
    """Return seconds that the second kernel waited for paths that the first had asked, and for paths it had not."""
    names = [f"S{number:03d}" for number in range(paths)]
    rows = [(name, *row[1:]) for name in names for row in SYNTHETIC if row[0] == SYNTHETIC[0][0]]
    asked = set(random.Random(1).sample(names, paths // 2))
    with FredUpstream(rows) as upstream, tempfile.TemporaryDirectory() as folder:
        broker = open_broker(ProxySettings(keys={"fred": KEY}, upstreams={"fred": upstream.url}))
        sandbox = Sandbox()
        try:
            await _timed(sandbox, broker, Path(folder), "P1", sorted(asked))
            times = await _timed(sandbox, broker, Path(folder), "P2", names)
        finally:
            await sandbox.aclose()
            await broker.aclose()
    by_name = dict(zip(names, times, strict=True))
    return [by_name[name] for name in names if name in asked], [
        by_name[name] for name in names if name not in asked
    ]


async def _timed(sandbox: Sandbox, broker: Any, folder: Path, node: str, names: list[str]) -> list[float]:
    data = broker.session(Cutoff.parse(CUTOFF), MemoryLedger())

    async def call(path: str, params: Any, *, cell: int, nth: int) -> Answer:
        place = Address(run="r", node=node, trial=1, attempt=1, stage="cell", step=cell, retry=nth)
        answer: Answer = await data.call(path, params, place)
        return answer

    spec = SessionSpec(
        name=f"{node}.1.1", journal=folder / f"{node}.jsonl", notebook=folder / f"{node}.ipynb",
        isolation=(await sandbox.probe()).level,
    )  # fmt: skip
    session: Session = await sandbox.open(spec, call)
    try:
        done = await session.execute(_CELL.format(names=names, path=PATH))
    finally:
        await session.close()
    if done.status != "ok":
        raise SystemExit(f"the cell ended with {done.status}: {done.error}")
    text = "".join(output["text"] for output in done.outputs if output.get("name") == "stdout")
    return [float(line) for line in text.split()]


def main() -> None:
    """Print how far the two kinds of answers are apart."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--paths", type=int, default=100)
    hits, misses = asyncio.run(measure(parse(parser, paths=4).paths))
    pairs = [(hit < miss) + 0.5 * (hit == miss) for hit in hits for miss in misses]
    cuts = sorted([*hits, *misses])
    best = max(
        (sum(hit <= cut for hit in hits) + sum(miss > cut for miss in misses)) / len(cuts) for cut in cuts
    )
    print(f"asked before  n {len(hits)}  median {1000 * sorted(hits)[len(hits) // 2]:.2f} ms")
    print(f"not asked     n {len(misses)}  median {1000 * sorted(misses)[len(misses) // 2]:.2f} ms")
    print(
        f"told apart by one look: area under the curve {sum(pairs) / len(pairs):.3f}, best rule right {best:.1%}"
    )


if __name__ == "__main__":
    main()
