"""Kalshi's two tiers in their documented forms: whichever of them answers, an agent reads the same bytes."""

from typing import Any

import pytest

from tests.fakes.upstream import Seen, Sent
from tests.fakes.upstream_world import archived, archived_market, archived_trade
from tests.proxies.leaks.desk import Desk
from tests.proxies.two_worlds import read

DAY, START = 86400, 1704067200  # 2024-01-01
WINDOW = {"start_ts": START, "end_ts": START + 9 * DAY, "period_interval": 1440}
NONE = Sent({"error": {"code": "not_found"}}, 404)
ASKED: dict[str, dict[str, Any]] = {
    "kalshi/candlesticks": {"series_ticker": "FED", "ticker": "FED-T1", **WINDOW},
    "kalshi/event-candlesticks": {"series_ticker": "FED", "ticker": "FED", **WINDOW},
    "kalshi/batch-candlesticks": {"market_tickers": "FED-T1", **WINDOW},
    "kalshi/trades": {"ticker": "FED-T1"},
    "kalshi/market": {"ticker": "FED-T1"},
    "kalshi/markets": {"series_ticker": "FED"},
    "kalshi/events": {"series_ticker": "FED"},
    "kalshi/event": {"event_ticker": "FED"},
}


def candle(day: int, *, traded: bool = True) -> dict[str, Any]:
    """A candle of the live tier; without a trade its prices are null."""
    offer = {f"{name}_dollars": "0.4000" for name in ("open", "low", "high", "close")}
    names = ("open", "low", "high", "close", "mean", "previous")
    return {
        "end_period_ts": START + day * DAY, "yes_bid": offer, "yes_ask": {**offer, "close_dollars": "0.4350"},
        "price": {f"{name}_dollars": "0.415000" if traded else None for name in names},
        "volume_fp": "10.00" if traded else "0.00", "open_interest_fp": "55.50",
    }  # fmt: skip


def cents(row: dict[str, Any]) -> dict[str, Any]:
    """A candle as the live tier wrote it with its earlier names beside the new ones."""
    out: dict[str, Any] = {"volume": 10, "open_interest": 55}
    for name, value in row.items():
        out[name] = value
        if isinstance(value, dict):
            plain = {k.removesuffix("_dollars"): None if v is None else 40 for k, v in value.items()}
            out[name] = {**value, **plain, "min": 40, "max_dollars": "0.4"}
    return out


CANDLES = [candle(2), candle(3, traded=False)]
MARKET = {
    "ticker": "FED-T1", "event_ticker": "FED", "title": "t", "open_time": "2023-12-01T00:00:00Z", "close_time": "2030-01-01T00:00:00Z",
    "created_time": "2023-11-01T00:00:00Z", "rules_primary": "r", "rules_secondary": "", "subtitle": "",
}  # fmt: skip
TRADE = {"trade_id": "a", "ticker": "FED-T1", "created_time": "2024-01-02T00:00:00Z", "taker_side": "yes", "yes_price_dollars": "0.4000", "no_price_dollars": "0.6000", "count_fp": "10.00"}  # fmt: skip
OLD_TRADE = archived_trade(TRADE) | {"price": 0.4}
OLD_MARKET = archived_market(MARKET) | {"result": "yes"}


def kalshi(*, settled: bool, early: bool = False) -> Any:
    """The exchange with one market: live, or settled and in the archive."""
    live = [cents(row) for row in CANDLES] if early else CANDLES

    def answer(seen: Seen) -> Any:
        path = seen.path.split("kalshi/")[-1]
        if "historical/" in path:
            if not settled:
                return NONE if "FED-T1" in path else {"markets": [], "trades": [], "cursor": ""}
            if "candlesticks" in path:
                return {"ticker": "FED-T1", "candlesticks": [archived(row) for row in CANDLES]}
            if path.endswith("trades"):
                return {"trades": [OLD_TRADE], "cursor": ""}
            return {"market": OLD_MARKET} if "FED-T1" in path else {"markets": [OLD_MARKET], "cursor": ""}
        if "events/" in path and "candlesticks" in path:
            return {
                "market_tickers": [] if settled else ["FED-T1"],
                "market_candlesticks": [] if settled else [live],
            }
        if path.endswith("markets/candlesticks"):
            return {"markets": [] if settled else [{"market_ticker": "FED-T1", "candlesticks": live}]}
        if "candlesticks" in path:
            return NONE if settled else {"ticker": "FED-T1", "candlesticks": live}
        if path.endswith("trades"):
            return {"trades": [] if settled else [TRADE], "cursor": ""}
        listed = [] if settled else [MARKET]
        if path.endswith("events"):
            return {
                "events": [{"event_ticker": "FED", "series_ticker": "FED", "markets": listed}],
                "cursor": "",
            }
        if "events/" in path:
            return {"event": {"event_ticker": "FED", "markets": listed}}
        if path.endswith("markets"):
            return {"markets": listed, "cursor": ""}
        return NONE if settled else {"market": MARKET}

    return answer


async def told(path: str, **worlds: Any) -> str:
    desk = Desk(kalshi(**worlds))
    try:
        return read(await desk(path, "2024-01-05", **ASKED[path]))
    finally:
        await desk.broker.aclose()


@pytest.mark.parametrize("path", ASKED)
async def test_live_or_archived_an_agent_reads_the_same(path: str) -> None:
    one, other, early = [
        await told(path, settled=False),
        await told(path, settled=True),
        await told(path, settled=False, early=True),
    ]
    assert one == other == early and "FED-T1" in one
    assert "candle" not in path or ('"close_dollars":"0.4350"' in one and '"open_interest_fp":"55.50"' in one)


@pytest.mark.parametrize("later", [0, 130])
async def test_however_many_markets_of_later_the_archive_holds_a_series_is_read(later: int) -> None:
    """The archive takes no time: its pages of later markets, newest first, count towards no limit."""
    market = {"event_ticker": "S-E", "title": "t", "rules_primary": "r"}
    pages = [{**market, "ticker": f"S-L{n}", "created_time": "2025-01-01T00:00:00Z"} for n in range(later)]
    early = "2023-01-01T00:00:00Z"
    pages.append({**market, "ticker": "S-E1", "created_time": early, "open_time": early})

    def answer(seen: Seen) -> Any:
        if "historical" not in seen.path:
            return {"markets": [], "cursor": ""}
        place = int(seen.query.get("cursor") or 0)
        return {"markets": [pages[place]], "cursor": str(place + 1) if place + 1 < len(pages) else ""}

    desk = Desk(answer)
    told = await desk("kalshi/markets", "2024-01-05", series_ticker="S")
    await desk.broker.aclose()
    assert [row["ticker"] for row in told.data["markets"]] == ["S-E1"]
