"""fredapi and yfinance in the sealed kernel, against the real clients run outside on what was known at the cutoff."""

import json
import math
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import fredapi
import pytest
import yfinance
import yfinance.data

from proxies.asof.clock import Cutoff
from proxies.broker import open_broker
from proxies.ledger import Address, MemoryLedger
from proxies.settings import ProxySettings
from sandbox import CellResult, Limits, Sandbox, SessionSpec
from sandbox.kernels.forkserver import close_servers
from tests.fakes.upstream_fred import KEY, SYNTHETIC, FredUpstream, frbny
from tests.fakes.upstream_yahoo import YahooUpstream, made_up

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:yfinance")

CUTOFF = "2017-03-15"
LAST_DAY = date(2017, 3, 14)
# runs on both sides, so that what is compared is the whole object: values, kinds, index, columns
DESCRIBE = """
def described(x):
    import json
    import pandas as pd
    if isinstance(x, list):
        return {"list": [str(item) for item in x]}
    table = x.to_frame("value") if isinstance(x, pd.Series) else x
    cells = [[v if isinstance(v, (int, float)) and not isinstance(v, bool) else str(v) for v in row]
             for row in table.astype(object).to_numpy().tolist()]
    return json.loads(json.dumps({
        "kind": type(x).__name__, "index": [str(i) for i in table.index], "index_kind": str(table.index.dtype),
        "name": str(table.index.name), "columns": [str(c) for c in table.columns],
        "kinds": [str(k) for k in table.dtypes], "cells": cells}))
"""
# warnings are errors, but for what yfinance itself does to pandas
STRICT = """
import warnings
warnings.simplefilter('error')
warnings.filterwarnings('ignore', category=DeprecationWarning, module='yfinance')
"""
_outside: dict[str, Any] = {}
exec(DESCRIBE, _outside)
described: Callable[[Any], Any] = _outside["described"]

STOCKS = {
    "ACME": made_up(
        date(2015, 1, 5), date(2019, 12, 31), level=400.0,
        splits={date(2016, 6, 6): (2, 1), date(2018, 7, 2): (4, 1), date(2019, 2, 4): (1, 10)},
        dividends={date(2016, 2, 10): 1.5, date(2016, 8, 10): 0.8, date(2017, 5, 10): 0.9, date(2019, 5, 9): 2.5},
    ),
    "QUIET": made_up(date(2016, 1, 4), date(2019, 12, 31), level=50.0, splits={}, dividends={}),
}  # fmt: skip


class Kernel:
    """One sealed kernel with a broker behind it."""

    def __init__(self, session: Any, ledger: MemoryLedger) -> None:
        self.session, self.ledger = session, ledger

    async def run(self, source: str) -> CellResult:
        return await self.session.execute(STRICT + source)

    async def told(self, expression: str) -> Any:
        result = await self.run(f"{DESCRIBE}\nprint('TOLD', json.dumps(described({expression})))")
        assert result.status == "ok", result.text()
        text = "".join(
            o["text"] for o in result.outputs if o["output_type"] == "stream" and o["name"] == "stdout"
        )
        return json.loads(text.rpartition("TOLD ")[2])


@pytest.fixture(scope="session", autouse=True)
def _no_server_left() -> Iterator[None]:
    yield
    close_servers()


@pytest.fixture
async def kernel_of(tmp_path: Path) -> AsyncIterator[Callable[..., Any]]:
    box, brokers = Sandbox(), []

    async def make(cutoff: str | None, **upstreams: str) -> Kernel:
        if "namespaces" not in (await box.probe()).available:
            pytest.skip("no sealed kernel can be made here")
        broker = open_broker(ProxySettings(keys={"fred": KEY}, upstreams=upstreams))
        brokers.append(broker)
        ledger = MemoryLedger()
        asked = broker.session(Cutoff.parse(cutoff) if cutoff else None, ledger)

        async def call(path: str, params: Mapping[str, Any], *, cell: int, nth: int) -> Any:
            address = Address(run="r", node="P1", trial=1, attempt=1, stage="cell", step=cell, retry=nth)
            return await asked.call(path, params, address)

        name = f"P{len(brokers)}.1.1"
        spec = SessionSpec(
            name=name, journal=tmp_path / f"{name}.jsonl", notebook=tmp_path / f"{name}.ipynb",
            limits=Limits(), title="clients", metadata={},
        )  # fmt: skip
        kernel = Kernel(await box.open(spec, call), ledger)
        assert (await kernel.run("import json")).status == "ok"
        return kernel

    yield make
    await box.aclose()
    for broker in brokers:
        await broker.aclose()


def same(ours: Any, theirs: Any) -> None:
    """Equal, with room for the last digits of numbers that were divided and multiplied again."""
    assert {k: v for k, v in ours.items() if k != "cells"} == {
        k: v for k, v in theirs.items() if k != "cells"
    }
    for mine, other in zip(ours.get("cells", ()), theirs.get("cells", ()), strict=True):
        for a, b in zip(mine, other, strict=True):
            if isinstance(a, float) and isinstance(b, float):
                assert math.isclose(a, b, rel_tol=1e-8) or (math.isnan(a) and math.isnan(b))
            else:
                assert a == b


# --- fredapi -----------------------------------------------------------------------------------------------------

CALLS = [
    "get_series('SYNGDP')",
    "get_series('SYNGDP', observation_start='2016-04-01')",
    "get_series('SYNGDP', '2016-02-01', '2016-08-01')",
    "get_series('SYNGDP', realtime_start='2016-05-01', realtime_end='2016-05-01')",
    "get_series_latest_release('SYNPAY')",
    "get_series_first_release('SYNGDP')",
    "get_series_all_releases('SYNPAY')",
    "get_series_all_releases('SYNGDP', realtime_start='2016-05-01', realtime_end='2016-06-30')",
    "get_series_as_of_date('SYNGDP', '2016-05-20')",
    "get_series_vintage_dates('SYNGDP')",
]


def real_fred(upstream: FredUpstream) -> fredapi.Fred:
    fred = fredapi.Fred(api_key=KEY)
    fred.root_url = upstream.url
    return fred


@pytest.mark.long
async def test_fredapi_in_the_kernel_equals_the_real_one_outside(kernel_of: Callable[..., Any]) -> None:
    known = [row for row in SYNTHETIC if row[2] <= LAST_DAY.isoformat()]
    with FredUpstream() as all_of_it, FredUpstream(known, today=LAST_DAY.isoformat()) as till_then:
        kernel, real = await kernel_of(CUTOFF, fred=all_of_it.url), real_fred(till_then)
        assert (await kernel.run("from fredapi import Fred\nfred = Fred()")).status == "ok"
        for call in CALLS:
            same(await kernel.told(f"fred.{call}"), described(eval(f"real.{call}", {"real": real})))
        # what FRED says of today is left out in the kernel
        dropped = ["last_updated", "popularity", "observation_end", "notes"]
        info = real.get_series_info("SYNGDP").drop(dropped).sort_index()
        same(await kernel.told("fred.get_series_info('SYNGDP').sort_index()"), described(info))
        ours = await kernel.told(f"fred.search('syn').drop(columns={dropped!r})")
        same(ours, described(real.search("syn").drop(columns=dropped)))
        assert len(ours["cells"]) == 2
        for call in ("search_by_release(151)", "search_by_category(32145, order_by='series_id')"):
            theirs = eval(f"real.{call}", {"real": real}).drop(columns=dropped)
            same(await kernel.told(f"fred.{call}.drop(columns={dropped!r})"), described(theirs))
        assert (await kernel.told("fred.search('syn', limit=1)"))["index"] == ["SYNGDP"]


async def test_a_frame_in_the_kernel_holds_the_rows(kernel_of: Callable[..., Any]) -> None:
    with FredUpstream() as upstream:
        kernel = await kernel_of(CUTOFF, fred=upstream.url)
        source = """
import pandas as pd
asked = 'fred/series/observations', {'series_id': 'SYNPAY'}
rows = pd.DataFrame(CALL_API(*asked)['observations'])
for name in ('date', 'realtime_start', 'realtime_end'):
    rows[name] = pd.to_datetime(rows[name], format='ISO8601')
rows['value'] = pd.to_numeric(rows['value'], errors='coerce')
pd.testing.assert_frame_equal(CALL_API.frame(*asked), rows)
print(len(rows), CALL_API.meta['policy'])
"""
        result = await kernel.run(source)
        assert result.status == "ok", result.text()
        assert result.text().endswith("3 vintage")
        nothing = await kernel.run(
            "print(CALL_API.frame('fred/series/search', {'search_text': 'zzz'}).shape)"
        )
        assert "(0, 0)" in nothing.text()


@pytest.mark.realdata
async def test_real_vintages_through_fredapi(kernel_of: Callable[..., Any], test_data: Path) -> None:
    rows = frbny(test_data)
    cutoff = date(2016, 10, 29)
    last = (cutoff - timedelta(days=1)).isoformat()
    known = [row for row in rows if row[2] <= last]
    with FredUpstream(rows) as all_of_it, FredUpstream(known, today=last) as till_then:
        kernel, real = await kernel_of(cutoff.isoformat(), fred=all_of_it.url), real_fred(till_then)
        await kernel.run("from fredapi import Fred\nfred = Fred('x')")
        for series in ("GDPC1", "PAYEMS"):
            for name in ("get_series", "get_series_all_releases", "get_series_first_release"):
                theirs = getattr(real, name)(series)
                same(await kernel.told(f"fred.{name}('{series}')"), described(theirs))
        assert real.get_series("GDPC1")["2016-09-01"] == 16702.1


# --- yfinance ----------------------------------------------------------------------------------------------------

HISTORIES = [
    "start='2016-01-04', end='2016-12-30'",
    "start='2016-01-04', end='2016-12-30', auto_adjust=False",
    "start='2017-02-01', end='2017-03-15', actions=False",
    "start='2016-05-01', end='2016-07-01', back_adjust=True, auto_adjust=False, rounding=True",
    "period='1mo'",
    "period='5d'",
    "period='1d'",
    "period='6mo'",
    "period='1y', auto_adjust=False",
    "period='2y'",
    "period='ytd'",
    "period='1mo', end='2016-12-30'",
    "start='2017-03-06', end='2017-03-10', interval='1h'",
    "start='2017-03-06', end='2017-03-10', interval='30m'",
]


@pytest.fixture
def real_yahoo(monkeypatch: pytest.MonkeyPatch) -> Callable[[YahooUpstream], Any]:
    def set_up(upstream: YahooUpstream) -> Any:
        for module in (yfinance.base, yfinance.scrapers.history):
            monkeypatch.setattr(module, "_BASE_URL_", upstream.url)
        client = yfinance.data.YfData
        monkeypatch.setattr(client, "_get_cookie_and_crumb", lambda self, timeout=30: (None, "basic"))
        monkeypatch.setattr(client, "cache_get", client.get)
        monkeypatch.setattr(yfinance.cache, "get_tz_cache", yfinance.cache._TzCacheDummy)
        return yfinance

    return set_up


@pytest.mark.long
async def test_yfinance_in_the_kernel_equals_the_real_one_outside(
    kernel_of: Callable[..., Any], real_yahoo: Callable[..., Any]
) -> None:
    with YahooUpstream(STOCKS, date(2026, 11, 20)) as today, YahooUpstream(STOCKS, LAST_DAY) as then:
        kernel, real = await kernel_of(CUTOFF, yfinance=today.url), real_yahoo(then)
        ready = await kernel.run("import yfinance as yf\nacme = yf.Ticker('ACME')")
        assert ready.status == "ok", ready.text()
        acme = real.Ticker("ACME")
        for call in HISTORIES:
            theirs = described(eval(f"acme.history({call})", {"acme": acme}))
            assert theirs["cells"], call
            same(await kernel.told(f"acme.history({call})"), theirs)
        for both in ("period='3mo'", "start='2016-11-01', end='2017-02-01', group_by='ticker'"):
            ask = f"yf.download(['ACME', 'QUIET'], {both}, progress=False).sort_index(axis=1)"
            same(await kernel.told(ask), described(eval(ask, {"yf": real})))
        same(await kernel.told("yf.download('QUIET', period='5d', progress=False)"),
             described(real.download("QUIET", period="5d", progress=False)))  # fmt: skip
        for name in ("dividends", "splits", "actions"):
            ours = await kernel.told(f"yf.Ticker('ACME').{name}")
            assert ours["cells"] and max(ours["index"]) < "2017-03-15"
            same(ours, described(getattr(real.Ticker("ACME"), name)))


async def test_nothing_after_the_cutoff_is_in_a_history(kernel_of: Callable[..., Any]) -> None:
    with YahooUpstream(STOCKS, date(2026, 11, 20)) as upstream:
        kernel = await kernel_of(CUTOFF, yfinance=upstream.url)
        await kernel.run("import yfinance as yf")
        for call in ("period='max'", "start='2017-01-03'", "start='2017-01-03', end='2019-01-01'"):
            told = await kernel.told(f"yf.Ticker('ACME').history({call}, auto_adjust=False)")
            assert told["index"][-1].startswith("2017-03-14")
            close = dict(zip(told["index"], told["cells"], strict=True))[told["index"][-1]]
            traded = next(row for row in STOCKS["ACME"].days if row[0] == LAST_DAY)
            assert close[told["columns"].index("Close")] == pytest.approx(traded[4])
        late = await kernel.run("print(len(yf.Ticker('ACME').history(start='2018-01-01', end='2018-06-01')))")
        assert late.status == "ok" and "0" in late.text()


async def test_a_cell_asks_the_same_when_it_is_run_again(kernel_of: Callable[..., Any]) -> None:
    with YahooUpstream(STOCKS, date(2026, 11, 20)) as upstream:
        kernel = await kernel_of(CUTOFF, yfinance=upstream.url)
        await kernel.run("import yfinance as yf")
        cell = "yf.Ticker('ACME').history(period='max'); yf.download('ACME QUIET', start='2017-01-03', progress=False); 0"
        asked = []
        for _ in range(2):
            assert (await kernel.run(cell)).status == "ok"
            last = max(address.step for address in kernel.ledger.rows)
            asked.append([(r.path, r.asked) for a, r in sorted(kernel.ledger.rows.items()) if a.step == last])
        assert asked[0] == asked[1] and asked[0]
