"""Events of Kalshi and Polymarket with their nested markets, as the two venues document them.

Numbers come in three forms (cents, dollars as text, shares of 1); all become dollars per share of 1. Kalshi counts volume in
contracts of one dollar at most, which is read as dollars; Polymarket states dollars.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from workbench.questions.formats.base import (
    LeftOut,
    QuestionFile,
    collect,
    criteria_of,
    day_of,
    field,
    named,
    number_of,
    text_of,
)
from workbench.questions.question import Question, Quote, event_id

#: What prices of one market may be off from 1, and from where on a settled one has come out: the last trades stand in them.
_SUM, _SURE = 0.03, 0.99
_ODD = "one of its markets has another shape"
VOID = "annulled: its venue paid every side the same"


def kalshi_events(document: Any) -> list[Any] | None:
    """Kalshi's events in a JSON value (events or markets, one, a list, or an answer of its API), None if there are none."""
    entries = _entries(document)
    if not any(isinstance(entry, dict) and "event_ticker" in entry for entry in entries):
        return None
    events: dict[str, Any] = {}
    for place, entry in enumerate(entries):
        if isinstance(entry, dict) and "ticker" in entry and "event_ticker" in entry:
            own = {"event_ticker": entry["event_ticker"], "title": entry.get("title"), "markets": []}
            events.setdefault(str(entry["event_ticker"]), own)["markets"].append(entry)
        else:
            events[f"entry {place}"] = entry
    return list(events.values())


def polymarket_events(document: Any) -> list[Any] | None:
    """Polymarket's events in a JSON value, likewise; a market that comes without its event is one of its own."""
    entries = [
        {**entry, "title": entry["question"], "markets": [entry]} if _is_market(entry) else entry
        for entry in _entries(document)
    ]
    shaped = any(isinstance(e, dict) and "slug" in e and isinstance(e.get("markets"), list) for e in entries)
    return entries if shaped else None


def _entries(document: Any) -> list[Any]:
    if not isinstance(document, dict):
        return document if isinstance(document, list) else []
    if isinstance(document.get("event"), dict):
        return [{"markets": document.get("markets", []), **document["event"]}]
    if isinstance(document.get("market"), dict):
        return [document["market"]]
    listed = next(
        (document[key] for key in ("events", "markets") if isinstance(document.get(key), list)), None
    )
    own = "event_ticker" in document or "slug" in document
    return [document] if listed is None or own else listed


def _is_market(entry: Any) -> bool:
    return (
        isinstance(entry, dict)
        and isinstance(entry.get("question"), str)
        and {"slug", "outcomes"} <= set(entry)
    )


def read_kalshi(events: Sequence[Any]) -> QuestionFile:
    """An event becomes a choice among its markets, or a binary question if it has one market."""
    return collect(named(events, "event_ticker"), _kalshi)


def read_polymarket(events: Sequence[Any]) -> QuestionFile:
    """An event becomes a choice among its markets, or a binary question if it has one market of Yes and No."""
    return collect(named(events, "slug"), _polymarket)


#: How a market came out (None: still open; of a market that is not of Yes and No the place of what won), or why it is no option.
_Result = float | LeftOut | None


def _sorted_out(
    event: Mapping[str, Any], name: str, judge: Callable[[Mapping[str, Any], str], _Result]
) -> tuple[list[Mapping[str, Any]], list[float | None], list[LeftOut]]:
    """The markets of an event that are options, how each came out, and those that are none."""
    markets, results, left_out = [], [], []
    for market in event["markets"]:
        result = judge(market, name) if isinstance(market, dict) else LeftOut(name, _ODD)
        if isinstance(result, LeftOut):
            left_out.append(result)
        else:
            markets.append(market)
            results.append(result)
    return markets, results, left_out


def _kalshi(event: Mapping[str, Any]) -> list[Question | LeftOut] | str:
    if not event.get("markets"):
        return "an event without markets"
    name = str(event["event_ticker"])
    markets, results, left_out = _sorted_out(event, name, _kalshi_result)
    if not markets:
        return [*left_out]
    labels = _labels(
        [text_of(field(m, "yes_sub_title", "subtitle", "title")) or str(m["ticker"]) for m in markets]
    )
    rules = [text_of(m.get("rules_primary")) for m in markets]
    # behind a dash, where what was written later is cut by itself
    title = " - ".join(filter(None, (text_of(event.get("title")), text_of(event.get("sub_title")))))
    question = _choice(
        name,
        title=f"{title} - {labels[0]}" if len(markets) == 1 < len(event["markets"]) else title,
        labels=labels,
        exclusive=event.get("mutually_exclusive") is True,
        results=results,
        quotes=[_kalshi_quote(market) for market in markets],
        source="kalshi",
        category=text_of(event.get("category")),
        **criteria_of(*dict.fromkeys(rules), gap="\n"),
        closes_on=_last_day(markets, "close_time", "latest_expiration_time"),
        volume=_sum_of(field(m, "volume_fp", "volume") for m in markets),
        extra={
            "series": text_of(event.get("series_ticker")) or name.partition("-")[0],
            "tickers": "|".join(str(market["ticker"]) for market in markets),
            "liquidity": _text(_sum_of(field(m, "liquidity_dollars", "liquidity") for m in markets)),
        },
    )
    return [question, *left_out]


def _kalshi_result(market: Mapping[str, Any], event: str) -> _Result:
    if not market.get("ticker"):
        return LeftOut(event, _ODD)
    result = text_of(market.get("result")).lower()
    if result in ("yes", "no", ""):
        return None if not result else float(result == "yes")
    paid = number_of(field(market, "settlement_value_dollars", "settlement_value"))
    share = f" ({paid:g} a contract)" if paid is not None else ""
    why = f"settled as {result!r:.30}{share}, neither yes nor no"
    return LeftOut(str(market["ticker"]), "annulled: the market is void" if result == "void" else why)


def _kalshi_quote(market: Mapping[str, Any]) -> Quote:
    def price(name: str) -> float | None:
        dollars, cents = number_of(market.get(f"{name}_dollars")), number_of(market.get(name))
        return _share(cents / 100 if dollars is None and cents is not None else dollars)

    return Quote(yes_ask=price("yes_ask"), no_ask=price("no_ask"), last=price("last_price"))


def _polymarket(event: Mapping[str, Any]) -> list[Question | LeftOut] | str:
    if not event.get("markets"):
        return "an event without markets"
    slug, several = str(event["slug"]), len(event["markets"]) > 1

    def judge(market: Mapping[str, Any], slug: str) -> _Result:
        odd = "a market that is not of Yes and No" if several and _yes_place(market) is None else ""
        result = odd or _why_none(market) or _came_out(market)
        return LeftOut(f"{slug}/{_label(market)}", result) if isinstance(result, str) else result

    markets, results, left_out = _sorted_out(event, slug, judge)
    if not markets:
        return [*left_out]
    first = markets[0]
    sides = _yes_place(first) is None  # one market alone, whose sides are the options
    labels = _list_in_text(first.get("outcomes")) if sides else _labels([_label(m) for m in markets])
    quotes = [_polymarket_quote(market) for market in markets]
    if sides:
        won = results[0]
        prices: Sequence[float | None] = _prices(first) or [None] * len(labels)
        results = [None if won is None else float(place == won) for place in range(len(labels))]
        quotes = [Quote(last=price) for price in prices]
    title = text_of(event.get("title")) or text_of(first.get("question"))
    if len(markets) == 1 and several:
        title = text_of(first.get("question")) or f"{title} - {labels[0]}"
    planned = _last_day(markets, "endDate", "closedTime")
    all_closed = all(m.get("closed") is True and m.get("closedTime") for m in markets)
    ended = _last_day(markets, "closedTime") if all_closed else ""
    question = _choice(
        slug,
        title=title,
        labels=labels,
        exclusive=sides or any(entry.get("negRisk") is True for entry in (event, *markets)),
        results=results,
        quotes=quotes,
        source="polymarket",
        category=_tag(event),
        criteria=text_of(event.get("description")),
        closes_on=ended or planned,
        # what is asked goes on naming the planned end: a market is closed early once it is known how it comes out
        horizons=(planned,) if ended and planned and ended != planned else (),
        resolved_on="" if None in results else ended,
        volume=_sum_of(
            [event["volume"]] if event.get("volume") else (field(m, "volumeNum", "volume") for m in markets)
        ),
        extra={
            "series": text_of(event.get("seriesSlug")) or slug,
            "tickers": "" if sides else "|".join(str(market.get("id")) for market in markets),
            "liquidity": "" if sides else _text(_sum_of([event.get("liquidity")])),
        },
    )
    return [question, *left_out]


def _label(market: Mapping[str, Any]) -> str:
    return text_of(field(market, "groupItemTitle", "question")) or str(market.get("id"))


def _yes_place(market: Mapping[str, Any]) -> int | None:
    """Where Yes stands in a market of Yes and No, None for another; a note in brackets belongs to neither."""
    sides = [text.partition("(")[0].strip().lower() for text in _list_in_text(market.get("outcomes"))]
    return sides.index("yes") if sorted(sides) == ["no", "yes"] else None


def _prices(market: Mapping[str, Any]) -> list[float]:
    """A market's prices, none unless they are shares of one dollar."""
    prices = [number_of(price) for price in _list_in_text(market.get("outcomePrices"))]
    known = [price for price in prices if price is not None and 0 <= price <= 1]
    return known if known and len(known) == len(prices) and abs(sum(known) - 1) <= _SUM else []


def _why_none(market: Mapping[str, Any]) -> str:
    """Why a market is no option: a venue keeps places free for names that may come."""
    if market.get("closed") is True or _list_in_text(market.get("outcomePrices")):
        return ""
    free = market.get("negRiskOther") is True or market.get("active") is False
    return "a place that is kept free, without a price" if free else ""


def _came_out(market: Mapping[str, Any]) -> float | str | None:
    """How a market came out: 1 or 0 of Yes and No, else the place of what won; why it is void; None while that is open."""
    prices, status = _prices(market), text_of(market.get("umaResolutionStatus")).lower()
    if market.get("closed") is not True or status not in ("", "resolved"):
        return None
    if not prices:
        return "settled, and its prices do not say how" if status else None
    # a market of before the status had a name is settled once its prices are all or nothing
    if max(prices) < (_SURE if status else 1):
        if not status:
            return None
        if max(prices) - min(prices) < 0.002:
            return VOID
        return f"settled in parts ({', '.join(f'{price:g}' for price in prices)}), not as one outcome"
    yes, won = _yes_place(market), prices.index(max(prices))
    return float(won) if yes is None else float(won == yes)


def _polymarket_quote(market: Mapping[str, Any]) -> Quote:
    bid, prices = _share(number_of(market.get("bestBid"))), _prices(market)
    # A No share is bought at one minus what is bid for Yes.
    return Quote(
        yes_ask=_share(number_of(market.get("bestAsk"))),
        no_ask=None if bid is None else 1 - bid,
        last=prices[_yes_place(market) or 0] if prices else None,
    )


def _share(price: float | None) -> float | None:
    """A price where it is one of a share of a dollar, else None."""
    return price if price is not None and 0 <= price <= 1 else None


def _choice(
    name: str,
    *,
    labels: Sequence[str],
    results: Sequence[float | None],
    quotes: Sequence[Quote],
    **fields: Any,
) -> Question:
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


def _last_day(markets: Sequence[Mapping[str, Any]], *names: str) -> str:
    return max(day_of(field(market, *names)) for market in markets)


def _sum_of(values: Iterable[Any]) -> float | None:
    numbers = [number for value in values if (number := number_of(value)) is not None]
    return sum(numbers) if numbers else None


def _text(number: float | None) -> str:
    return "" if number is None else f"{number:.12g}"
