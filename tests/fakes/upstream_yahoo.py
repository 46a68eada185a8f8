"""Yahoo's price charts on loopback, as far as they are the same for everybody: bars, dividends, splits, no login.

The market is told as it was traded. What the service answers depends on its ``today``: bars up to then, prices divided
by every split up to then, adjclose scaled by every dividend up to then, which is how later events get into earlier
prices.
"""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from dateutil.relativedelta import relativedelta

from tests.fakes.upstream import Seen, Sent, Upstream

NY = ZoneInfo("America/New_York")
_STEPS = {"1h": 60, "60m": 60, "30m": 30, "15m": 15}


@dataclass(frozen=True)
class Stock:
    """One stock as it was traded: (day, open, high, low, close, volume), splits {day: (up, down)}, dividends per share."""

    days: list[tuple[date, float, float, float, float, int]]
    splits: Mapping[date, tuple[int, int]]
    dividends: Mapping[date, float]
    kind: str = "EQUITY"


def made_up(first: date, last: date, *, level: float, splits: Mapping[date, tuple[int, int]], dividends: Mapping[date, float]) -> Stock:  # fmt: skip
    """A stock whose traded price falls by the ratio at every split and swings a little in between."""
    days, day, number = [], first, 0
    price = level
    while day <= last:
        if day in splits:
            price *= splits[day][1] / splits[day][0]
        if day.weekday() < 5:
            close = round(price * (1 + 0.01 * ((number * 7) % 11 - 5)), 2)
            days.append(
                (
                    day,
                    round(close * 0.99, 2),
                    round(close * 1.02, 2),
                    round(close * 0.97, 2),
                    close,
                    1000 * (1000 + number),
                )
            )
            number += 1
        day += timedelta(days=1)
    return Stock(days, splits, dividends)


class YahooUpstream(Upstream):
    """The emulator; with a broker it is asked below ``/query2``, by a plain client at its root."""

    def __init__(self, stocks: Mapping[str, Stock], today: date, *, per_client: int | None = None) -> None:
        super().__init__(self._answer)
        self.stocks, self.today, self.per_client = stocks, today, per_client

    def _answer(self, seen: Seen) -> Sent:
        path = seen.path.removeprefix("/query2")
        if self.per_client is not None and len(self.seen) > self.per_client:
            return Sent(b"Too Many Requests\r\n", 429, {"content-type": "text/plain"})
        if not path.startswith("/v8/finance/chart/"):
            return Sent(
                {"finance": {"result": None, "error": {"code": "Not Found", "description": path}}}, 404
            )
        stock = self.stocks.get(path.rpartition("/")[2])
        if stock is None:
            trouble = {"code": "Not Found", "description": "No data found, symbol may be delisted"}
            return Sent({"chart": {"result": None, "error": trouble}}, 404)
        return Sent(self._chart(path.rpartition("/")[2], stock, seen.query))

    def _window(self, stock: Stock, query: Mapping[str, str]) -> tuple[float, float]:
        if "range" not in query:
            return float(query["period1"]), float(query["period2"])
        span = query["range"]
        until = datetime.combine(self.today + timedelta(days=1), time(0), NY).timestamp()
        if span == "ytd":
            first = date(self.today.year, 1, 1)
        elif span.endswith("d"):
            known = [row[0] for row in stock.days if row[0] <= self.today]
            first = known[-int(span[:-1])]
        elif span == "max":
            first = stock.days[0][0]
        else:
            name = "months" if span.endswith("mo") else "years"
            first = self.today - relativedelta(**{name: int(span.removesuffix("mo").removesuffix("y"))})
        return datetime.combine(first, time(0), NY).timestamp(), until

    def _chart(self, symbol: str, stock: Stock, query: Mapping[str, str]) -> dict[str, Any]:
        interval = query.get("interval", "1d")
        start, end = self._window(stock, query)
        splits = {day: ratio for day, ratio in stock.splits.items() if day <= self.today}
        dividends = {day: paid for day, paid in stock.dividends.items() if day <= self.today}
        closes = {row[0]: row[4] for row in stock.days}
        order = sorted(closes)
        stamps: list[int] = []
        quote: dict[str, list[float]] = {n: [] for n in ("open", "high", "low", "close", "volume")}
        adjusted: list[float] = []
        periods: list[list[dict[str, Any]]] = []
        for day, opened, high, low, close, volume in stock.days:
            if day > self.today:
                break
            by_split = 1.0
            for at, (up, down) in splits.items():
                by_split *= up / down if at > day else 1
            by_dividend = 1.0
            for at, paid in dividends.items():
                if at > day:
                    before = closes[order[bisect_left(order, at) - 1]]
                    by_dividend *= 1 - paid / before
            bell = datetime.combine(day, time(9, 30), NY)
            step = _STEPS.get(interval)
            starts = (
                [bell] if step is None else [bell + timedelta(minutes=step * n) for n in range(390 // step)]
            )
            inside = [int(s.timestamp()) for s in starts if start <= s.timestamp() < end]
            for stamp in inside:
                stamps.append(stamp)
                for name, value in (("open", opened), ("high", high), ("low", low), ("close", close)):
                    quote[name].append(value / by_split)
                quote["volume"].append(int(volume * by_split))
                adjusted.append(close / by_split * by_dividend)
            if inside:
                periods.append(
                    [{"timezone": "EST", "gmtoffset": -18000, "start": int(bell.timestamp()), "end": int(bell.timestamp()) + 23400}]
                )  # fmt: skip
        result: dict[str, Any] = {
            "meta": {
                "currency": "USD", "symbol": symbol, "exchangeName": "NMS", "instrumentType": stock.kind,
                "exchangeTimezoneName": "America/New_York", "timezone": "EST", "gmtoffset": -18000, "priceHint": 2,
                "regularMarketPrice": closes[max(d for d in order if d <= self.today)], "dataGranularity": interval,
                "validRanges": ["1d", "5d", "1mo", "3mo", "6mo", "1y", "2y", "5y", "10y", "ytd", "max"],
            },
            "timestamp": stamps,
            "indicators": {"quote": [quote]},
        }  # fmt: skip
        if interval not in _STEPS:
            result["indicators"]["adjclose"] = [{"adjclose": adjusted}]
        else:
            result["meta"]["tradingPeriods"] = periods
        events: dict[str, Any] = {}
        for day, paid in dividends.items():
            stamp = int(datetime.combine(day, time(9, 30), NY).timestamp())
            if start <= stamp < end:
                later = 1.0
                for at, (up, down) in splits.items():
                    later *= up / down if at > day else 1
                events.setdefault("dividends", {})[str(stamp)] = {"amount": paid / later, "date": stamp}
        for day, (up, down) in splits.items():
            stamp = int(datetime.combine(day, time(9, 30), NY).timestamp())
            if start <= stamp < end:
                split = {"date": stamp, "numerator": up, "denominator": down, "splitRatio": f"{up}:{down}"}
                events.setdefault("splits", {})[str(stamp)] = split
        if events and "events" in query:
            result["events"] = events
        return {"chart": {"result": [result], "error": None}}
