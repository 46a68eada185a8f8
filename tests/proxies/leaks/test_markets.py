"""Prediction markets (A11)."""

from typing import Any

import pytest

from proxies.errors import ParameterInvalid, SourceRejected
from tests.fakes.upstream import Seen, Sent
from tests.proxies.leaks.desk import Desk


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


async def test_a11_a_list_without_a_choice_and_a_cursor_of_no_earlier_answer_are_refused() -> None:
    for asked in ({}, {"event_ticker": "E", "cursor": "eyJsYXN0IjoiRkVELTI2SkFOIn0="}):
        with pytest.raises(ParameterInvalid):
            await Desk(Tiers([], []))("kalshi/markets", "2024-01-15", **asked)


async def test_a11_an_archive_that_ignores_the_choice_is_an_error_and_no_list() -> None:
    other = [strike("GDP-24Q1-T2", event_ticker="GDP-24Q1")]
    with pytest.raises(SourceRejected):
        await Desk(Tiers([], other))("kalshi/markets", "2024-01-15", event_ticker="FED-24JAN")
