"""Yahoo's price charts on loopback, as far as they are the same for everybody: bars, dividends, splits, no login.

The market is told as it was traded. What the service answers depends on its ``today``: bars up to then, prices divided
by every split up to then, adjclose scaled by every dividend up to then, which is how later events get into earlier
prices.
"""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from math import prod
from typing import Any
from zoneinfo import ZoneInfo

from dateutil.relativedelta import relativedelta

from tests.fakes.upstream import SHAPES, Seen, Sent, Upstream, fill

NY = ZoneInfo("America/New_York")
_STEPS = {"1h": 60, "60m": 60, "30m": 30, "15m": 15}


@dataclass(frozen=True)
class Stock:
    """One stock as it was traded: (day, open, high, low, close, volume), splits {day: (up, down)}, dividends per share."""

    days: list[tuple[date, float, float, float, float, int]]
    splits: Mapping[date, tuple[int, int]]
    dividends: Mapping[date, float]
    kind: str = "EQUITY"

    def until(self, today: date) -> "Stock":
        """What had happened by the end of a day."""
        return Stock(
            [row for row in self.days if row[0] <= today],
            {day: ratio for day, ratio in self.splits.items() if day <= today},
            {day: paid for day, paid in self.dividends.items() if day <= today},
            self.kind,
        )

    def shares_since(self, day: date) -> float:
        """How many shares one share of a day has become."""
        return prod(up / down for at, (up, down) in self.splits.items() if at > day)

    def kept_since(self, day: date) -> float:
        """What the dividends after a day left of its price, each over the close before it."""
        return prod(1 - paid / self._before(at)[4] for at, paid in self.dividends.items() if at > day)

    def _before(self, day: date) -> tuple[date, float, float, float, float, int]:
        return self.days[bisect_left(self.days, day, key=lambda row: row[0]) - 1]


def made_up(first: date, last: date, *, level: float, splits: Mapping[date, tuple[int, int]], dividends: Mapping[date, float]) -> Stock:  # fmt: skip
    """A stock whose traded price falls by the ratio at every split and swings a little in between."""
    days: list[tuple[date, float, float, float, float, int]] = []
    day, price = first, level
    while day <= last:
        if day in splits:
            price *= splits[day][1] / splits[day][0]
        if day.weekday() < 5:
            number = len(days)
            close = round(price * (1 + 0.01 * ((number * 7) % 11 - 5)), 2)
            around = (round(close * 0.99, 2), round(close * 1.02, 2), round(close * 0.97, 2))
            days.append((day, *around, close, 1000 * (1000 + number)))
        day += timedelta(days=1)
    return Stock(days, splits, dividends)


def _opening(day: date) -> int:
    return int(datetime.combine(day, time(9, 30), NY).timestamp())


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
            return Sent(fill(SHAPES["yahoo/no-path"], {"path": path}), 404)
        symbol = path.rpartition("/")[2]
        if symbol not in self.stocks:
            return Sent(SHAPES["yahoo/no-symbol"], 404)
        return Sent(self._chart(symbol, self.stocks[symbol].until(self.today), seen.query))

    def _window(self, stock: Stock, query: Mapping[str, str]) -> tuple[float, float]:
        if "range" not in query:
            return float(query["period1"]), float(query["period2"])
        span = query["range"]
        if span == "ytd":
            first = date(self.today.year, 1, 1)
        elif span == "max":
            first = stock.days[0][0]
        elif span.endswith("d"):
            first = stock.days[-int(span[:-1])][0]
        else:
            name = "months" if span.endswith("mo") else "years"
            first = self.today - relativedelta(**{name: int(span.removesuffix("mo").removesuffix("y"))})
        midnights = (datetime.combine(day, time(0), NY) for day in (first, self.today + timedelta(days=1)))
        start, end = (midnight.timestamp() for midnight in midnights)
        return start, end

    def _chart(self, symbol: str, stock: Stock, query: Mapping[str, str]) -> Any:
        interval = query.get("interval", "1d")
        step = _STEPS.get(interval)
        start, end = self._window(stock, query)
        stamps: list[int] = []
        adjusted: list[float] = []
        periods: list[Any] = []
        quote: dict[str, list[float]] = {n: [] for n in ("open", "high", "low", "close", "volume")}
        for day, *prices, volume in stock.days:
            opening, by_split, by_dividend = _opening(day), stock.shares_since(day), stock.kept_since(day)
            starts = [opening] if step is None else [opening + 60 * step * n for n in range(390 // step)]
            inside = [stamp for stamp in starts if start <= stamp < end]
            for stamp in inside:
                stamps.append(stamp)
                for name, price in zip(("open", "high", "low", "close"), prices, strict=True):
                    quote[name].append(price / by_split)
                quote["volume"].append(int(volume * by_split))
                adjusted.append(prices[3] / by_split * by_dividend)
            if inside:
                periods.append([fill(SHAPES["yahoo/period"], {"start": opening, "end": opening + 23400})])
        events: dict[str, Any] = {}
        for kind, days in (("dividends", stock.dividends), ("splits", stock.splits)):
            for day in days:
                if start <= (stamp := _opening(day)) < end:
                    events.setdefault(kind, {})[str(stamp)] = {"date": stamp, **_event(stock, kind, day)}
        holes = {"symbol": symbol, "kind": stock.kind, "interval": interval, "price": stock.days[-1][4]}
        bars = {"tradingPeriods": periods} if step else {}
        close = {} if step else {"adjclose": [{"adjclose": adjusted}]}
        told = {"events": events} if events and "events" in query else {}
        more = {"stamps": stamps, "quote": quote, "bars": bars, "close": close, "events": told}
        return fill(SHAPES["yahoo/chart"], {**holes, **more})


def _event(stock: Stock, kind: str, day: date) -> dict[str, Any]:
    if kind == "dividends":
        return {"amount": stock.dividends[day] / stock.shares_since(day)}
    up, down = stock.splits[day]
    return {"numerator": up, "denominator": down, "splitRatio": f"{up}:{down}"}
