"""Prediction markets (A11)."""

from typing import Any

import pytest

from proxies.errors import ParameterInvalid, SourceRejected
from tests.fakes.upstream import Seen, Sent
from tests.proxies.leaks.desk import Desk
from tests.proxies.two_worlds import read


def strike(name: str, opened: str = "2023-09-01T00:00:00Z", **more: Any) -> dict[str, Any]:
    return {
        "ticker": name, "event_ticker": "FED-24JAN", "title": name, "open_time": opened, "close_time": "2024-01-31T18:59:00Z",
        "status": "finalized", "result": "yes", "latest_expiration_time": "2024-02-07T15:00:00Z", **more,
    }  # fmt: skip


class Tiers:
    """Kalshi with a live tier and an archive, in pages of two."""

    def __init__(self, live: list[dict[str, Any]], old: list[dict[str, Any]], *, event: bool = True) -> None:
        self.live, self.old, self.event = live, old, event

    def __call__(self, seen: Seen) -> Any:
        path = seen.path.partition("/kalshi/")[2]
        if path.startswith("events/"):
            return (
                {"event": {"event_ticker": "FED-24JAN", "title": "e", "markets": self.live}}
                if self.event
                else Sent({"error": {"code": "not_found"}}, 404)
            )
        if path == "events":
            return {
                "events": [
                    {"event_ticker": "FED-24JAN", "series_ticker": "FED", "title": "e", "markets": self.live}
                ],
                "cursor": "",
            }
        rows = self.old if path.startswith("historical/") else self.live
        start = int(seen.query.get("cursor", 0))
        name = "trades" if path.endswith("trades") else "markets"
        return {name: rows[start : start + 2], "cursor": str(start + 2) if start + 2 < len(rows) else ""}


async def test_a11_live_and_archived_strikes_come_together() -> None:
    strikes = [strike(f"FED-24JAN-T5.{n}") for n in range(5)]
    for cut in range(6):
        desk = Desk(Tiers(strikes[:cut], strikes[cut:], event=cut > 0))
        listed = await desk("kalshi/markets", "2024-01-15", event_ticker="FED-24JAN")
        assert [row["ticker"] for row in listed.data["markets"]] == [row["ticker"] for row in strikes]
        event = await desk("kalshi/event", "2024-01-15", event_ticker="FED-24JAN")
        assert [row["ticker"] for row in event.data["event"]["markets"]] == [row["ticker"] for row in strikes]
        events = await desk("kalshi/events", "2024-01-15", series_ticker="FED")
        assert [len(row["markets"]) for row in events.data["events"]] == [5]


async def test_a11_pages_full_of_later_markets_are_passed_over_and_do_not_show() -> None:
    old = [strike(f"FED-24JAN-T{n}") for n in range(5)]
    told = []
    for later in (0, 3, 30):
        new = [
            strike(f"FED-26JAN-T{n}", "2025-09-01T00:00:00Z", event_ticker="FED-26JAN") for n in range(later)
        ]
        desk = Desk(Tiers(new, old))
        first = await desk("kalshi/markets", "2024-01-15", series_ticker="FED", limit=3)
        second = await desk(
            "kalshi/markets", "2024-01-15", series_ticker="FED", limit=3, cursor=first.data["cursor"]
        )
        told.append(read(first) + read(second))
        assert [len(answer.data["markets"]) for answer in (first, second)] == [3, 2] and second.data[
            "cursor"
        ] == ""
    assert told == [told[0]] * 3


async def test_a11_trades_of_both_tiers_come_together() -> None:
    trades = [
        {"trade_id": f"t{n}", "ticker": "T", "created_time": f"2024-01-0{n + 1}T00:00:00Z"} for n in range(6)
    ]
    for cut in range(7):
        answer = await Desk(Tiers(trades[cut:][::-1], trades[:cut][::-1]))(
            "kalshi/trades", "2024-01-15", ticker="T", limit=10
        )
        assert [row["trade_id"] for row in answer.data["trades"]] == [f"t{n}" for n in range(6)]


async def test_a11_a_list_without_a_choice_and_a_cursor_of_no_earlier_answer_are_refused() -> None:
    for asked in ({}, {"event_ticker": "E", "cursor": "eyJsYXN0IjoiRkVELTI2SkFOIn0="}):
        with pytest.raises(ParameterInvalid):
            await Desk(Tiers([], []))("kalshi/markets", "2024-01-15", **asked)


async def test_a11_an_archive_that_ignores_the_choice_is_an_error_and_no_list() -> None:
    other = [strike("GDP-24Q1-T2", event_ticker="GDP-24Q1")]
    with pytest.raises(SourceRejected):
        await Desk(Tiers([], other))("kalshi/markets", "2024-01-15", event_ticker="FED-24JAN")


@pytest.mark.parametrize("title", ["e", "f"])
async def test_a1_undated_markets_inside_an_event_are_counted_and_only_those_of_an_event_that_is_told(
    title: str,
) -> None:
    undated = {"ticker": "U", "open_time": "soon", "title": "u", "event_ticker": "FED-24JAN"}
    markets = [undated] if title == "f" else [undated, strike("FED-24JAN-T1")]
    answer = await Desk(Tiers(markets, []))("kalshi/events", "2024-01-15", series_ticker="FED")
    told = (len(answer.data["events"]), answer.meta["undated"])
    assert told == ((1, 1) if title == "e" else (0, 0))
