"""Events of Kalshi and Polymarket with their nested markets, as the two venues document them.

Numbers come in three forms (cents, dollars as text, shares of 1); all become dollars per share of 1. Kalshi counts volume in
contracts of one dollar at most, which is read as dollars; Polymarket states dollars.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.questions.formats.base import (
    QuestionFile,
    collect,
    criteria_of,
    day_of,
    field,
    number_of,
    text_of,
)
from workbench.questions.question import Question, Quote, event_id


def kalshi_events(document: Any) -> list[Mapping[str, Any]] | None:
    """Kalshi's events in a JSON value (one event, a list, or the answer of its API), None if there are none."""
    if isinstance(document, dict) and isinstance(document.get("events"), list):
        document = document["events"]
    elif isinstance(document, dict) and isinstance(document.get("event"), dict):
        document = [{"markets": document.get("markets", []), **document["event"]}]
    if isinstance(document, list) and document and all(isinstance(each, dict) for each in document):
        return document if "event_ticker" in document[0] else None
    return None


def polymarket_events(document: Any) -> list[Mapping[str, Any]] | None:
    """Polymarket's events in a JSON value, None if there are none."""
    events = document.get("events") if isinstance(document, dict) else document
    if isinstance(events, list) and events and all(isinstance(each, dict) for each in events):
        markets = events[0].get("markets")
        if "slug" in events[0] and isinstance(markets, list):
            return events
    return None


def read_kalshi(events: Sequence[Mapping[str, Any]]) -> QuestionFile:
    """An event becomes a choice among its markets, or a binary question if it has one market."""
    return collect(((str(event.get("event_ticker")), event) for event in events), _kalshi)


def _kalshi(event: Mapping[str, Any]) -> Question | str:
    markets = event.get("markets") or []
    if not markets:
        return "an event without markets"
    name = str(event["event_ticker"])
    labels = _labels(
        [text_of(field(m, "yes_sub_title", "subtitle", "title")) or str(m["ticker"]) for m in markets]
    )
    results = [{"yes": 1.0, "no": 0.0}.get(text_of(m.get("result")).lower()) for m in markets]
    volumes = [volume for m in markets if (volume := number_of(field(m, "volume_fp", "volume"))) is not None]
    rules = [text_of(m.get("rules_primary")) for m in markets]
    return _choice(
        name,
        title=" ".join(filter(None, (text_of(event.get("title")), text_of(event.get("sub_title"))))),
        labels=labels,
        exclusive=event.get("mutually_exclusive") is True,
        results=results,
        quotes=[_kalshi_quote(market) for market in markets],
        source="kalshi",
        category=text_of(event.get("category")),
        **criteria_of(*dict.fromkeys(rules), gap="\n"),
        closes_on=max(
            (day_of(field(m, "close_time", "latest_expiration_time")) for m in markets), default=""
        ),
        volume=sum(volumes) if volumes else None,
        extra={
            "series": text_of(event.get("series_ticker")) or name.partition("-")[0],
            "tickers": "|".join(str(market["ticker"]) for market in markets),
            "liquidity": _sum_text(field(m, "liquidity_dollars", "liquidity") for m in markets),
        },
    )


def _kalshi_quote(market: Mapping[str, Any]) -> Quote:
    def price(name: str) -> float | None:
        dollars = number_of(market.get(f"{name}_dollars"))
        cents = number_of(market.get(name))
        value = dollars if dollars is not None else None if cents is None else cents / 100
        return value if value is not None and 0 <= value <= 1 else None

    return Quote(yes_ask=price("yes_ask"), no_ask=price("no_ask"), last=price("last_price"))


def read_polymarket(events: Sequence[Mapping[str, Any]]) -> QuestionFile:
    """An event becomes a choice among its markets, or a binary question if it has one market of Yes and No."""
    return collect(((str(event.get("slug")), event) for event in events), _polymarket)


def _polymarket(event: Mapping[str, Any]) -> Question | str:
    markets = event.get("markets") or []
    if not markets:
        return "an event without markets"
    other = [
        m for m in markets if [text.lower() for text in _list_in_text(m.get("outcomes"))] != ["yes", "no"]
    ]
    if other and len(markets) > 1:
        return f"{len(other)} of its {len(markets)} markets are not of Yes and No"
    if other:
        return _own_outcomes(event, other[0])
    volumes = [volume for m in markets if (volume := number_of(field(m, "volumeNum", "volume"))) is not None]
    return _choice(
        str(event["slug"]),
        title=text_of(event.get("title")) or text_of(markets[0].get("question")),
        labels=_labels(
            [text_of(field(m, "groupItemTitle", "question")) or str(m.get("id")) for m in markets]
        ),
        exclusive=event.get("negRisk") is True or any(m.get("negRisk") is True for m in markets),
        results=[_settled(market) for market in markets],
        quotes=[_polymarket_quote(market) for market in markets],
        source="polymarket",
        category=_tag(event),
        criteria=text_of(event.get("description")),
        closes_on=max((day_of(field(m, "endDate", "closedTime")) for m in markets), default=""),
        volume=number_of(event.get("volume")) if event.get("volume") else sum(volumes) if volumes else None,
        extra={
            "series": text_of(event.get("seriesSlug")) or str(event["slug"]),
            "tickers": "|".join(str(market.get("id")) for market in markets),
            "liquidity": _sum_text([event.get("liquidity")]),
        },
    )


def _own_outcomes(event: Mapping[str, Any], market: Mapping[str, Any]) -> Question:
    labels = _list_in_text(market.get("outcomes"))
    prices = [number_of(price) for price in _list_in_text(market.get("outcomePrices"))] or [None] * len(
        labels
    )
    ended = market.get("closed") is True
    return _choice(
        str(event["slug"]),
        title=text_of(event.get("title")) or text_of(market.get("question")),
        labels=labels,
        exclusive=True,
        results=[price if ended and price in (0.0, 1.0) else None for price in prices],
        quotes=[Quote(last=price) for price in prices],
        source="polymarket",
        category=_tag(event),
        criteria=text_of(event.get("description")),
        closes_on=day_of(field(market, "endDate", "closedTime")),
        volume=number_of(field(market, "volumeNum", "volume")),
        extra={
            "series": text_of(event.get("seriesSlug")) or str(event["slug"]),
            "liquidity": "",
            "tickers": "",
        },
    )


def _polymarket_quote(market: Mapping[str, Any]) -> Quote:
    ask, bid = number_of(market.get("bestAsk")), number_of(market.get("bestBid"))
    prices = [number_of(price) for price in _list_in_text(market.get("outcomePrices"))]
    # A No share is bought at one minus what is bid for Yes.
    return Quote(
        yes_ask=ask if ask is not None and 0 <= ask <= 1 else None,
        no_ask=1 - bid if bid is not None and 0 <= bid <= 1 else None,
        last=prices[0] if prices and prices[0] is not None and 0 <= prices[0] <= 1 else None,
    )


def _settled(market: Mapping[str, Any]) -> float | None:
    if market.get("closed") is not True:
        return None
    prices = [number_of(price) for price in _list_in_text(market.get("outcomePrices"))]
    return prices[0] if prices and prices[0] in (0.0, 1.0) else None


def _choice(
    name: str,
    *,
    labels: Sequence[str],
    results: Sequence[float | None],
    quotes: Sequence[Quote],
    **fields: Any,
) -> Question:
    """A choice among labels, or a binary question for a single one."""
    single = len(labels) == 1
    ids = [name if single else event_id(name, label) for label in labels]
    shape: dict[str, Any] = {"kind": "binary"} if single else {"kind": "options", "options": tuple(labels)}
    return Question(
        id=name,
        source_id=name,
        question_type="market",
        outcomes={own: result for own, result in zip(ids, results, strict=True) if result is not None},
        quotes={own: quote for own, quote in zip(ids, quotes, strict=True) if quote != Quote()},
        **shape,
        **{**fields, "extra": {key: text for key, text in fields["extra"].items() if text}},
    )


def _labels(names: Sequence[str]) -> list[str]:
    """Names made unique, since an option may stand once only."""
    seen: dict[str, int] = {}
    labels = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        labels.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return labels


def _list_in_text(value: Any) -> list[str]:
    # Polymarket writes lists as JSON inside a text.
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return []
    return [str(each) for each in value] if isinstance(value, list) else []


def _tag(event: Mapping[str, Any]) -> str:
    tags = event.get("tags") or []
    return text_of(event.get("category")) or (
        text_of(tags[0].get("label")) if tags and isinstance(tags[0], dict) else ""
    )


def _sum_text(values: Any) -> str:
    numbers = [number for value in values if (number := number_of(value)) is not None]
    return f"{sum(numbers):.12g}" if numbers else ""
