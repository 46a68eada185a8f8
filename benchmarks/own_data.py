"""A window of ten million rows of one's own: the broker's DuckDB over the Parquet copy beside pandas.

    python -m benchmarks.own_data [--rows 10000000] [--smoke]

Prints the first query and the median of later ones in milliseconds, through a broker session with a cutoff as a cell asks, and pandas
reading the same window of the same file with its own filter, and with the table held in memory.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.arguments import parse
from proxies.asof.clock import Cutoff
from proxies.broker import open_broker
from proxies.ledger import Address, MemoryLedger
from proxies.settings import ProxySettings
from proxies.vendors.own.own_manifest import DATE, KNOWN, own_folder, rows_path
from workbench.sources.new_source import SourceRequest, new_source
from workbench.sources.own_store import store_source


async def measure(rows: int, home: Path, repeats: int = 9) -> dict[str, float]:
    """Store so many minutes of a walk and ask for windows of a day; milliseconds by what answered."""
    at = pd.date_range("2000-01-01", periods=rows, freq="min", tz="UTC")
    walk = np.random.default_rng(1).standard_normal(rows).cumsum()
    request = SourceRequest(name="ticks", date="at", lag="1min", zone="UTC")
    frame = pd.DataFrame({"at": at, "price": walk})
    manifest = store_source(home, new_source(request, frame, origin="a walk", now=datetime.now(UTC)))
    starts = [at[int(share * rows)].floor("D") for share in np.linspace(0.1, 0.8, repeats + 1)]
    broker = open_broker(ProxySettings(own_folder=own_folder(home)))
    session = broker.session(Cutoff.parse(at[int(0.95 * rows)].isoformat()), MemoryLedger())
    asked, worked = [], []
    for step, start in enumerate(starts):
        params: dict[str, Any] = {"column": "price", "start": start.isoformat(), "end": (start + pd.Timedelta(1, unit="D")).isoformat()}  # fmt: skip
        begin, busy = time.perf_counter(), time.process_time()
        address = Address(run="bench", node="-", trial=0, attempt=0, stage="call", step=step, retry=0)
        answer = await session.call("own/ticks/rows", params, address)
        asked.append(1000 * (time.perf_counter() - begin))
        worked.append(1000 * (time.process_time() - busy))
        assert len(answer.data) > 1000
    await broker.aclose()
    path = rows_path(own_folder(home), "ticks", manifest.version)
    read, held = [], []
    cutoff = pd.Timestamp(at[int(0.95 * rows)]).tz_localize(None)
    whole = pd.read_parquet(path)
    for start in starts[1:4]:
        low, high = start.tz_localize(None), start.tz_localize(None) + pd.Timedelta(1, unit="D")
        begin = time.perf_counter()
        pd.read_parquet(path, filters=[(DATE, ">=", low), (DATE, "<=", high), (KNOWN, "<=", cutoff)])
        read.append(1000 * (time.perf_counter() - begin))
        begin = time.perf_counter()
        whole[(whole[DATE] >= low) & (whole[DATE] <= high) & (whole[KNOWN] <= cutoff)]
        held.append(1000 * (time.perf_counter() - begin))
    return {
        "first": asked[0],
        "later": statistics.median(asked[1:]),
        "of the processor": statistics.median(worked[1:]),
        "pandas reading": statistics.median(read),
        "pandas in memory": statistics.median(held),
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    options = parse(parser, rows=100_000)
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(measure(options.rows, Path(folder)))
    print(f"a day's window of {options.rows:,} rows, milliseconds")
    for name, value in found.items():
        print(f"  {name:17} {value:8.1f}")


if __name__ == "__main__":
    main()
