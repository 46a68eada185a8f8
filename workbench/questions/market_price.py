"""Which prediction market a text names, how its price is asked for, and what the price was at the cutoff.

A market has to be named by its id or page (``kalshi/FED-24JAN-T5.25``, ``polymarket/253591``): two questions in like words may resolve in
different ways, and the price of the wrong one would pass for evidence.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import orjson

from workbench.questions.errors import ClaimRefused
from workbench.questions.series.series_reference import CallOfData

Venue = Literal["kalshi", "polymarket"]

#: A price older than this says nothing of the cutoff any more.
FRESH_DAYS = 14
#: How far back prices are asked for: what a proof shows of them.
HISTORY_DAYS = 60
_PLACES: tuple[tuple[Venue, str], ...] = (
    (
        "kalshi",
        r"(?:https?://)?(?:www\.)?kalshi\.com/markets/(?:[a-z0-9-]+/)*?([a-z0-9]+(?:-[a-z0-9.]+)+)(?=$|[\s?#),;])",
    ),
    ("kalshi", r"\bkalshi(?:/|: ?)([A-Z0-9]+(?:-[A-Z0-9.]+)+)"),
    ("polymarket", r"\bpolymarket(?:/|: ?)(\d{1,12})\b"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketRef:
    """A market by its venue and the venue's own id."""

    venue: Venue
    id: str

    def __str__(self) -> str:
        return f"{self.venue}/{self.id}"

    def price_call(self, cutoff: datetime, market: Mapping[str, Any]) -> CallOfData:
        """Return path and parameters of the market's prices in the sixty days before a cutoff (UTC).

        ``market`` is the answer of `rules_call`; Polymarket's prices are filed under the token of the first outcome.
        """
        start = int((cutoff - timedelta(days=HISTORY_DAYS)).timestamp())
        end = int(cutoff.timestamp())
        if self.venue == "kalshi":
            series = self.id.partition("-")[0]
            place = {"series_ticker": series, "ticker": self.id, "period_interval": 1440}
            return "kalshi/candlesticks", {**place, "start_ts": start, "end_ts": end}
        return "polymarket/prices-history", {
            "market": _token_of_yes(self, market),
            "startTs": start,
            "endTs": end,
            "fidelity": 720,
        }

    def rules_call(self) -> CallOfData:
        """Return path and parameters of the market itself: its question and its rules."""
        if self.venue == "kalshi":
            return "kalshi/market", {"ticker": self.id}
        return "polymarket/market", {"id": self.id}


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketPrice:
    """What a market said before the cutoff: a probability in (0, 1), of an instant in UTC; ``question`` in the market's own words.

    ``history`` are its prices up to that one, oldest first, each with its second since 1970.
    """

    p: float
    quoted: datetime
    question: str
    history: tuple[tuple[int, float], ...] = ()


def find_markets(text: str) -> list[MarketRef]:
    """Return the markets that a text names, each once.

    >>> [str(ref) for ref in find_markets("as KALSHI: FED-24JAN-T5.25 and polymarket/253591 have it")]
    ['kalshi/FED-24JAN-T5.25', 'polymarket/253591']
    """
    refs = [
        MarketRef(venue=venue, id=match[1].rstrip(".").upper() if venue == "kalshi" else match[1])
        for venue, pattern in _PLACES
        for match in re.finditer(pattern, text, re.IGNORECASE)
    ]
    return list(dict.fromkeys(refs))


def _token_of_yes(ref: MarketRef, market: Mapping[str, Any]) -> str:
    try:
        outcomes = _listed(market["outcomes"])
        tokens = _listed(market["clobTokenIds"])
        if [str(outcome).casefold() for outcome in outcomes] != ["yes", "no"] or len(tokens) != 2:
            raise ValueError("its outcomes are not Yes and No")
    except (KeyError, TypeError, ValueError) as error:
        raise ClaimRefused(f"{ref} is no market of one yes-or-no question ({error!s:.80})") from None
    return str(tokens[0])


def _listed(value: Any) -> list[Any]:
    items = orjson.loads(value) if isinstance(value, str) else value
    if not isinstance(items, list):
        raise ValueError("no list")
    return items


def read_price(ref: MarketRef, market: Mapping[str, Any], prices: Any, cutoff: datetime) -> MarketPrice:
    """Return the last price before a cutoff, from the answers of ``rules_call`` and ``price_call``.

    Kalshi's is the middle of the closing bid and ask, its last trade where a side is empty; Polymarket's the last point of the price path.

    Raises `ClaimRefused`: No price in the two weeks before the cutoff, or an answer of another shape.
    """
    try:
        if ref.venue == "kalshi":
            rows = [(int(row["end_period_ts"]), _kalshi(row)) for row in prices["candlesticks"]]
            question = str(market["market"]["title"])
        else:
            rows = [(int(row["t"]), float(row["p"])) for row in prices["history"]]
            question = str(market["question"])
    except (KeyError, TypeError, ValueError) as error:
        raise ClaimRefused(
            f"the answer for {ref} is not built as its venue builds prices: {error!r:.80}"
        ) from None
    past = sorted(
        (second, p) for second, p in rows if p is not None and 0 < p < 1 and second <= cutoff.timestamp()
    )
    if not past or past[-1][0] <= cutoff.timestamp() - FRESH_DAYS * 86400:
        raise ClaimRefused(f"{ref} has no price in the {FRESH_DAYS} days before the cutoff")
    second, p = past[-1]
    return MarketPrice(
        p=p, quoted=datetime.fromtimestamp(second, tz=UTC), question=question, history=tuple(past)
    )


def _kalshi(row: Mapping[str, Any]) -> float | None:
    bid, ask = candle_close(row.get("yes_bid")), candle_close(row.get("yes_ask"))
    if bid is not None and ask is not None and 0 < bid <= ask < 1:
        return (bid + ask) / 2
    return candle_close(row.get("price"))


def candle_close(candle: Any) -> float | None:
    """Return the closing price of a Kalshi candle in dollars; None without one."""
    if not isinstance(candle, Mapping):
        return None
    if candle.get("close_dollars") is not None:
        return float(candle["close_dollars"])
    return None if candle.get("close") is None else float(candle["close"]) / 100
