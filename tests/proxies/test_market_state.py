"""Open or closed at the cutoff: told from when a market opened and when trading ended, never from its state today."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from proxies.errors import NoSuch
from tests.proxies.leaks.desk import Desk
from tests.proxies.worlds import in_loop

T = datetime(2024, 6, 1, 4, tzinfo=UTC)  # the start of 1 June in New York
TELLTALES = ("settled", "finalized", "yes-won", "0.997", "resolved", "deadbeef")


@dataclass(frozen=True)
class Market:
    """A market as it went, with what its exchange's record says today: that of a settled market."""

    listed: datetime
    opened: datetime
    planned: datetime
    ended: datetime

    def state(self, at: datetime) -> str:
        """What a visitor saw at an instant."""
        return "unopened" if at <= self.opened else "open" if at <= self.ended else "closed"

    def kalshi(self) -> dict[str, Any]:
        return {
            "ticker": "T", "title": "t", "open_time": stamp(self.opened), "created_time": stamp(self.listed),
            "close_time": stamp(self.ended), "latest_expiration_time": stamp(self.planned), "status": "finalized",
            "result": "yes-won", "last_price_dollars": "0.997", "settlement_ts": stamp(self.ended), "expiration_value": "deadbeef",
        }  # fmt: skip

    def polymarket(self) -> dict[str, Any]:
        return {
            "id": "1", "question": "q", "createdAt": stamp(self.listed), "startDate": stamp(self.opened),
            "endDate": stamp(self.planned), "closedTime": self.ended.strftime("%Y-%m-%d %H:%M:%S+00"), "closed": True,
            "active": False, "umaResolutionStatus": "resolved", "outcomePrices": '["0.997"]',
        }  # fmt: skip


def stamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def statuses(source: str, market: Market, cutoff: str = "2024-06-01", **changed: Any) -> list[str | None]:
    """The status told for one market by each endpoint that tells of it; nothing of today or of later is told."""
    row = {**getattr(market, source)(), **changed}
    event = {
        "id": "9",
        "title": "e",
        "event_ticker": "E",
        "createdAt": stamp(market.listed),
        "markets": [row],
    }
    asks: dict[str, tuple[dict[str, Any], Any]] = {
        "kalshi/markets": ({"event_ticker": "E"}, {"markets": [row], "cursor": ""}),
        "kalshi/market": ({"ticker": "T"}, {"market": row}),
        "kalshi/events": ({"series_ticker": "S"}, {"events": [event], "cursor": ""}),
        "kalshi/event": ({"event_ticker": "E"}, {"event": event, "markets": [row]}),
        "polymarket/markets": ({}, [row]),
        "polymarket/market": ({"id": "1"}, row),
        "polymarket/events": ({}, [event]),
        "polymarket/event": ({"slug": "s"}, event),
    }
    told = []
    for path, (params, body) in asks.items():
        if path.startswith(source):
            try:
                answer = in_loop(Desk(lambda seen, body=body: body)(path, cutoff=cutoff, **params))
            except NoSuch:
                told.append(None)
                continue
            text = answer.body.decode()
            assert not [
                word for word in (*TELLTALES, "close_time", "closedTime", '"closed":') if word in text
            ], text
            found = [market for market in markets(answer.data)]
            told += [market["status"] for market in found] or [None]
    return told


def markets(value: Any) -> list[dict[str, Any]]:
    """Every market in an answer."""
    if isinstance(value, list):
        return [market for item in value for market in markets(item)]
    if not isinstance(value, dict):
        return []
    mine = [value] if {"ticker", "question"} & value.keys() else []
    return mine + [market for item in value.values() for market in markets(item)]


hours = st.integers(-2000, 2000)


@settings(max_examples=40, deadline=None, derandomize=True, database=None)
@given(st.lists(hours, min_size=4, max_size=4), st.sampled_from(["kalshi", "polymarket"]))
def test_the_state_is_what_a_visitor_saw(offsets: list[int], source: str) -> None:
    listed, opened, ended, planned = (T + timedelta(hours=h, seconds=7) for h in sorted(offsets))
    market = Market(listed=listed, opened=opened, planned=planned, ended=ended)
    told = set(statuses(source, market))
    born = opened if source == "kalshi" else listed
    assert told == ({market.state(T)} if born < T else {None})
