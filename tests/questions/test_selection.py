"""Events of Kalshi and Polymarket with nested markets: imported, filtered, every count explained event by event."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from workbench.questions.formats.format_registry import FORMATS
from workbench.questions.question import Question, QuestionError
from workbench.questions.sets.selection import RULES, SelectionRules, select
from workbench.questions.venue_calls import fetch_events


def market(ticker: str, **fields: Any) -> dict[str, Any]:
    base = {
        "ticker": ticker,
        "yes_sub_title": ticker,
        "close_time": "2024-11-05T15:00:00Z",
        "volume": 400_000,
        "yes_ask_dollars": "0.6300",
        "no_ask_dollars": "0.4200",
        "result": "",
        "rules_primary": "If it happens, Yes.",
    }
    return {**base, **fields}


def event(ticker: str, *markets: dict[str, Any], **fields: Any) -> dict[str, Any]:
    base = {
        "event_ticker": ticker,
        "series_ticker": ticker.partition("-")[0],
        "title": f"What of {ticker}?",
        "category": "Economics",
        "mutually_exclusive": True,
        "markets": list(markets),
    }
    return {**base, **fields}


EVENTS = [
    event(
        "FED-24NOV",
        market("CUT", result="yes", yes_ask=80, yes_ask_dollars=None, no_ask_dollars="0.25"),
        market("HOLD", result="no", volume=200_000),
    ),
    event("CPI-24OCT", market("A"), market("B", yes_ask_dollars="0.30", no_ask_dollars="0.75")),
    event("OLD-23", market("A", close_time="2023-01-01T00:00:00Z")),
    event("THIN-24", market("A", volume=10)),
    event("WIDE-24", *[market(f"M{n}", volume=200_000) for n in range(6)]),
    event("NBA-24", market("A", volume=900_000), title="Who will win the cup?"),
    event("FLAT-24", market("A"), market("B")),
    event("NONE-24"),
]


def read() -> tuple[Question, ...]:
    reading = FORMATS["kalshi"](json.dumps({"events": EVENTS, "cursor": ""}))
    assert reading.left_out == (("NONE-24", "an event without markets"),)
    return reading.questions


def test_nested_markets_become_options_with_quotes_and_results() -> None:
    fed = read()[0]
    assert fed.kind == "options" and fed.options == ("CUT", "HOLD") and fed.volume == 600_000
    assert fed.outcomes == {"FED-24NOV#CUT": 1.0, "FED-24NOV#HOLD": 0.0}
    assert fed.quotes["FED-24NOV#CUT"].yes_ask == 0.8 and fed.quotes[
        "FED-24NOV#HOLD"
    ].implied == pytest.approx(0.6)
    single = next(question for question in read() if question.id == "OLD-23")
    assert single.kind == "binary" and list(single.quotes) == ["OLD-23"]


def test_every_filter_of_paper_a_is_explained_event_by_event() -> None:
    selection = select(read(), RULES["analytica-paper"])
    assert [question.id for question in selection.questions] == ["FED-24NOV", "CPI-24OCT"]
    assert {verdict.event: verdict.filter for verdict in selection.verdicts if verdict.filter} == {
        "OLD-23": "dates",
        "THIN-24": "volume",
        "WIDE-24": "markets",
        "NBA-24": "words",
        "FLAT-24": "distinguishable",
    }
    reasons = {verdict.event: verdict.reason for verdict in selection.verdicts}
    assert reasons["WIDE-24"] == "6 markets, at most 5 are asked"
    assert reasons["OLD-23"] == "closes 2023-01-01, 2024-06-02 to 2025-04-30 is asked"
    assert [tuple(count) for count in selection.counts] == [
        ("dates", 7, 1),
        ("volume", 6, 1),
        ("markets", 5, 1),
        ("words", 4, 1),
        ("distinguishable", 3, 1),
    ]
    assert len(selection.verdicts) == len(read())


def test_recurrence_diversity_and_popularity_take_the_most_traded() -> None:
    def plain(name: str, volume: float, series: str, category: str) -> Question:
        return Question(id=name, title=name, volume=volume, category=category, extra={"series": series})

    entries = [
        plain("a", 10, "S", "x"),
        plain("b", 30, "S", "x"),
        plain("c", 20, "T", "x"),
        plain("d", 40, "U", "x"),
        plain("e", 1, "V", "y"),
        plain("f", 5, "W", "z"),
    ]
    selection = select(entries, SelectionRules(per_series=1, per_category=2, size=3))
    assert [question.id for question in selection.questions] == ["b", "d", "f"]
    assert {v.event: (v.filter, v.reason) for v in selection.verdicts if v.filter} == {
        "a": ("recurrence", "number 2 of 2 of S, 1 are taken"),
        "c": ("diversity", "number 3 of 3 of x, 2 are taken"),
        "e": ("popularity", "number 4 of 4 of all events, 3 are taken"),
    }
    assert select(list(reversed(entries)), SelectionRules(size=3)).questions[0].id in {"b", "c", "d"}


def test_rules_that_contradict_themselves_are_refused() -> None:
    with pytest.raises(QuestionError, match="both open and settled"):
        select([], SelectionRules(resolved=True, unresolved=True))


class Venue:
    """Answers pages of events as the broker hands them on."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []

    async def __call__(self, path: str, params: Mapping[str, Any]) -> Any:
        self.calls.append((path, dict(params)))
        if path == "kalshi/events":
            page = EVENTS[2:] if params.get("cursor") else EVENTS[:2]
            return {"events": page, "cursor": "" if params.get("cursor") else "next"}
        rows = [
            {
                "slug": "s",
                "title": "Rain?",
                "volume": "1200.5",
                "tags": [{"label": "Weather"}],
                "markets": [
                    {
                        "id": "1",
                        "question": "Rain?",
                        "outcomes": '["Yes", "No"]',
                        "outcomePrices": '["1", "0"]',
                        "closed": True,
                        "bestAsk": 0.4,
                        "bestBid": 0.38,
                        "endDate": "2026-01-01T00:00:00Z",
                    }
                ],
            }
        ]
        return rows


def test_pages_are_followed_to_their_end() -> None:
    venue = Venue()
    reading = asyncio.run(fetch_events(venue, "kalshi", series=["FED"]))
    assert len(reading.questions) == 7 and [params.get("cursor") for _, params in venue.calls] == [
        None,
        "next",
    ]
    assert all(
        params["series_ticker"] == "FED" and params["with_nested_markets"] for _, params in venue.calls
    )


def test_polymarket_texts_become_numbers() -> None:
    reading = asyncio.run(fetch_events(Venue(), "polymarket"))
    question = reading.questions[0]
    assert question.volume == 1200.5 and question.outcomes == {"s": 1.0} and question.category == "Weather"
    assert question.quotes["s"].no_ask == pytest.approx(0.62)


def test_an_unknown_venue_is_refused() -> None:
    with pytest.raises(QuestionError, match="one of kalshi, polymarket"):
        asyncio.run(fetch_events(Venue(), "casino"))
