"""Real values through the emulated vendors: what comes out at a cutoff is what the files say was known, to the digit."""

import csv
import gzip
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest

from proxies.broker import Broker
from proxies.errors import CutoffRefused
from tests.fakes.upstream_fred import KEY, FredUpstream
from tests.fakes.upstream_yahoo import NY, Stock, YahooUpstream
from tests.proxies.conftest import asker

pytestmark = pytest.mark.realdata
LATEST = date(2026, 11, 20)
Vintages = tuple[list[tuple[str, str, str, str]], dict[str, dict[str, list[tuple[str, str]]]]]


@pytest.fixture(scope="module")
def states(test_data: Path) -> Vintages:
    """The messy vintages, read once: the rows, and what stood when by series and period."""
    rows = datahub(test_data)
    history: dict[str, dict[str, list[tuple[str, str]]]] = defaultdict(lambda: defaultdict(list))
    for series, period, known, value in sorted(rows, key=lambda row: row[2]):
        history[series][period].append((known, value))
    return rows, history


@pytest.fixture(scope="module")
def stocks(test_data: Path) -> dict[str, Stock]:
    files = {
        "VIX": "vix_daily.csv", "WTI": "wti_daily.csv", "BRENT": "brent_daily.csv", "HENRY": "henry_hub_daily.csv"
    }  # fmt: skip
    return {symbol: daily(test_data, file) for symbol, file in files.items()}


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
    cutoff: str, states: Vintages, broker_of: Callable[..., Broker]
) -> None:
    rows, history = states
    last = (date.fromisoformat(cutoff) - timedelta(days=1)).isoformat()
    with FredUpstream(rows) as upstream:
        ask = asker(broker_of(keys={"fred": KEY}, upstreams={"fred": upstream.url}), cutoff)
        for series, periods in history.items():
            expected = {}
            for period, stood in periods.items():
                at = bisect_right([known for known, _ in stood], last)
                if at and period <= last:
                    expected[period] = stood[at - 1][1]
            if not expected:
                with pytest.raises(CutoffRefused):
                    await ask("fred/series/observations", series_id=series)
                continue
            told = await ask("fred/series/observations", series_id=series)
            assert {r["date"]: r["value"] for r in told.data["observations"]} == expected


@pytest.mark.parametrize("cutoff", ["2008-10-11", "2018-06-30", "2020-04-21", "2024-01-03"])
async def test_daily_prices_end_before_the_cutoff_and_are_exact(
    cutoff: str, stocks: dict[str, Stock], broker_of: Callable[..., Broker]
) -> None:
    end = date.fromisoformat(cutoff)
    first = end - timedelta(days=400)
    # what lies further off than two years is asked for by nobody here
    near = {
        symbol: replace(
            stock, days=[row for row in stock.days if first - timedelta(60) < row[0] < end + timedelta(700)]
        )
        for symbol, stock in stocks.items()
    }
    with YahooUpstream(near, LATEST) as upstream:
        ask = asker(broker_of(upstreams={"yfinance": upstream.url}), cutoff)
        for symbol, stock in near.items():
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
