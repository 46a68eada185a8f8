"""Real values through the emulated vendors: what comes out at a cutoff is what the files say was known, to the digit."""

import csv
import gzip
from bisect import bisect_right
from calendar import monthrange
from collections import defaultdict
from collections.abc import Callable
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest

from proxies.broker import Broker
from proxies.errors import CutoffRefused
from tests.fakes.upstream import Seen, Sent, Upstream
from tests.fakes.upstream_fred import KEY, FredUpstream
from tests.fakes.upstream_yahoo import NY, Stock, YahooUpstream
from tests.proxies.conftest import asker

pytestmark = pytest.mark.realdata
LATEST = date(2026, 11, 20)


def datahub(folder: Path) -> list[tuple[str, str, str, str]]:
    """Vintages replayed from the history of public data files: messier than a statistics office's own."""
    with gzip.open(folder / "series" / "datahub_git_vintages.csv.gz", "rt", encoding="utf-8") as lines:
        return [
            (r["series_id"].replace(":", "_"), r["period"], r["known_from"], r["value"])
            for r in csv.DictReader(lines)
        ]


def table(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / "series" / name).open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def daily(folder: Path, name: str) -> Stock:
    """A daily series as Yahoo would list it: no dividends, no splits."""
    days = []
    for row in table(folder, name):
        row = {key.upper(): value for key, value in row.items()}
        text = row.get("CLOSE") or row.get("PRICE")
        if not text:
            continue  # a day without a price
        close = float(text)
        prices = [float(row.get(n) or close) for n in ("OPEN", "HIGH", "LOW")]
        days.append((date.fromisoformat(row["DATE"]), *prices, close, 0))
    return Stock([d for d in days if d[0].weekday() < 5], {}, {}, kind="INDEX")  # type: ignore[misc]


@pytest.mark.parametrize("cutoff", ["2014-03-01", "2016-07-15", "2019-01-02", "2025-03-01", "2026-05-20"])
async def test_messy_vintages_are_told_as_they_stood(
    cutoff: str, test_data: Path, broker_of: Callable[..., Broker]
) -> None:
    rows = datahub(test_data)
    history: dict[str, dict[str, list[tuple[str, str]]]] = defaultdict(lambda: defaultdict(list))
    for series, period, known, value in sorted(rows, key=lambda row: row[2]):
        history[series][period].append((known, value))
    last = (date.fromisoformat(cutoff) - timedelta(days=1)).isoformat()
    with FredUpstream(rows) as upstream:
        ask = asker(broker_of(keys={"fred": KEY}, upstreams={"fred": upstream.url}), cutoff)
        for series, periods in history.items():
            expected = {}
            for period, states in periods.items():
                at = bisect_right([known for known, _ in states], last)
                if at and period <= last:
                    expected[period] = states[at - 1][1]
            if not expected:
                with pytest.raises(CutoffRefused):
                    await ask("fred/series/observations", series_id=series)
                continue
            told = await ask("fred/series/observations", series_id=series)
            assert {r["date"]: r["value"] for r in told.data["observations"]} == expected


@pytest.mark.parametrize("cutoff", ["2008-10-11", "2018-06-30", "2020-04-21", "2024-01-03"])
async def test_daily_prices_end_before_the_cutoff_and_are_exact(
    cutoff: str, test_data: Path, broker_of: Callable[..., Broker]
) -> None:
    files = {
        "VIX": "vix_daily.csv", "WTI": "wti_daily.csv", "BRENT": "brent_daily.csv", "HENRY": "henry_hub_daily.csv"
    }  # fmt: skip
    stocks = {symbol: daily(test_data, file) for symbol, file in files.items()}
    end = date.fromisoformat(cutoff)
    first = end - timedelta(days=400)
    with YahooUpstream(stocks, LATEST) as upstream:
        ask = asker(broker_of(upstreams={"yfinance": upstream.url}), cutoff)
        for symbol, stock in stocks.items():
            told = await ask(
                "yfinance/history", symbol=symbol, period1=first.isoformat(), period2="2026-10-01"
            )
            result = told.data["chart"]["result"][0]
            known = [row for row in stock.days if first <= row[0] < end]
            quote = result["indicators"]["quote"][0]
            assert quote["close"] == [row[4] for row in known] and quote["high"] == [row[2] for row in known]
            days = [datetime.fromtimestamp(stamp, tz=NY).date() for stamp in result["timestamp"]]
            assert len(days) == len(known) and max(days) < end
    if cutoff == "2020-04-21":
        assert (
            stocks["WTI"].days[bisect_right([r[0] for r in stocks["WTI"].days], date(2020, 4, 20)) - 1][4] < 0
        )


@pytest.mark.parametrize("cutoff", ["2018-06-12", "2018-08-30", "2023-01-05"])
async def test_a_month_is_told_once_it_was_published(
    cutoff: str, test_data: Path, broker_of: Callable[..., Broker]
) -> None:
    rows = [
        (r["Date"], float(r["Index"])) for r in table(test_data, "cpi_us_monthly.csv") if r["Date"] > "2000"
    ]
    document = {
        "@frequency": "monthly", "provider_code": "BLS", "dataset_code": "cu", "series_code": "S",
        "period": [day[:7] for day, _ in rows], "period_start_day": [day for day, _ in rows],
        "value": [value for _, value in rows], "indexed_at": "2026-11-20T00:00:00Z",
    }  # fmt: skip

    def answer(seen: Seen) -> Sent:
        return Sent({"series": {"docs": [document], "num_found": 1, "limit": 1000, "offset": 0}})

    with Upstream(answer) as upstream:
        ask = asker(broker_of(upstreams={"dbnomics": upstream.url}), cutoff)
        told = await ask("dbnomics/series", provider="BLS", dataset="cu", series="S", observations=1)
    [series] = told.data["series"]["docs"]
    known = dict(zip(series["period_start_day"], series["value"], strict=True))
    assert known.items() <= dict(rows).items() and "indexed_at" not in series
    for day, _ in rows:
        start = date.fromisoformat(day)
        end = start.replace(day=monthrange(start.year, start.month)[1])
        # the office publishes between the tenth and the twentieth day of the next month
        if end + timedelta(days=9) >= date.fromisoformat(cutoff):
            assert day not in known
        if end + timedelta(days=62) < date.fromisoformat(cutoff):
            assert day in known
