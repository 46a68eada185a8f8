"""Unpack answers whose upstream shape has no rows into rows for the policies, and pack them again for the caller.

`unpack` runs on the raw answer, `pack` on what the policies let through; both are pure. Under live calls neither is
needed, except where the catalogue promises another shape than the upstream's.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from types import MappingProxyType
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from proxies.asof.clock import NEW_YORK, end_of_day, start_of_day
from proxies.asof.market_hours import DayEnd, day_end_of_kind
from proxies.asof.stamps import month_end
from proxies.errors import Refused
from proxies.json_text import Fields, Row


def _same(value: Any, params: Fields) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class Codec:
    """The functions that turn an answer into rows and back.

    ``live_too`` says that the catalogue promises the packed shape for live calls too, ``single`` that the caller gets one thing.
    ``heads`` are the keys of which the upstream's answer has one, ``[]`` if it is a list: what has none of them is somebody
    else's JSON.
    """

    unpack: Callable[[Any, Fields], Any] = _same
    pack: Callable[[Any, Fields], Any] = _same
    live_too: bool = False
    single: bool = False
    heads: tuple[str, ...] = ()


def pick(row: Fields, names: Sequence[str]) -> Row:
    """Return the named fields that a row has, in the order of the names."""
    return {name: row[name] for name in names if name in row}


def _rows_of_columns(columns: Mapping[str, Sequence[Any]], count: int) -> list[Row]:
    return [{name: column[place] for name, column in columns.items()} for place in range(count)]


# -- Yahoo Finance ----------------------------------------------------------------------------------------------------

# seconds from a bar's start to its end
_BARS = {"1m": 60, "2m": 120, "5m": 300, "15m": 900, "30m": 1800, "60m": 3600, "90m": 5400, "1h": 3600}
# a week's bar counts from the seventh day on, a month's or a quarter's from the calendar's next
_DAYS = {"1wk": 7, "5d": 7}
_MONTHS = {"1mo": 1, "3mo": 3}
# the rest of the meta is of today: the last price, the year's range, the trading hours, the exchange (a share that moved or was
# delisted bears its new one on all its bars)
_CHART_META = ("currency", "symbol", "instrumentType", "timezone", "exchangeTimezoneName", "dataGranularity")
_PRICES = ("open", "high", "low", "close", "volume")
_ACTIONS = ("dividends", "splits")


def _results(payload: Any, name: str) -> list[Any]:
    """Return the results in one of Yahoo's answers, which stand under the answer's own name."""
    return (payload.get(name) or {}).get("result") or []


def _unpack_chart(payload: Any, params: Fields) -> Any:
    """Unpack Yahoo's chart into one row per bar, each with ``known``: the epoch second of its completion."""
    results = []
    for result in _results(payload, "chart"):
        meta, stamps = result.get("meta") or {}, result.get("timestamp") or []
        indicators = result.get("indicators") or {}
        lists = {
            **(indicators.get("quote") or [{}])[0],
            "adjclose": (indicators.get("adjclose") or [{}])[0].get("adjclose"),
        }
        # a window without bars has an empty quote and no stamps at all
        columns = {
            name: lists[name]
            for name in (*_PRICES, "adjclose")
            if lists.get(name) and len(lists[name]) == len(stamps)
        }
        zone = _zone(meta.get("exchangeTimezoneName"))
        end = day_end_of_kind(str(meta.get("instrumentType")), str(params.get("symbol") or ""), zone)
        interval = str(params.get("interval") or meta.get("dataGranularity") or "1d")
        known = [_complete(stamp, interval, zone, end) for stamp in stamps]
        rows = _rows_of_columns({"timestamp": stamps, "known": known, **columns}, len(stamps))
        results.append({"meta": pick(meta, _CHART_META), "rows": rows, "events": _events(result)})
    return {"chart": {"result": results, "error": None}}


def _zone(name: Any) -> ZoneInfo:
    try:
        return ZoneInfo(str(name)) if name else NEW_YORK
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return NEW_YORK


def _complete(stamp: Any, interval: str, zone: ZoneInfo, end: DayEnd) -> float | None:
    """Return when a bar was complete: a day's at its market's close, a shorter one after its length, a longer one by the calendar.

    A bar whose last day is the market's is over with that day: a month's when its last day is, whatever the market.
    """
    if isinstance(stamp, bool) or not isinstance(stamp, (int, float)):
        return None
    if interval in _BARS:
        return stamp + _BARS[interval]
    start = datetime.fromtimestamp(stamp, tz=UTC).astimezone(zone)
    if interval in _DAYS:
        # by the calendar and not by hours: a week in which the clock changes has 167 or 169
        return start_of_day(start.date() + timedelta(days=_DAYS[interval]), zone).timestamp()
    if interval in _MONTHS:
        ahead = start.month - 1 + _MONTHS[interval] - 1
        last = month_end(start.year + ahead // 12, ahead % 12 + 1)
        return None if last is None else end_of_day(last, zone).timestamp()
    if end.close is None:
        return end_of_day(start.date(), end.zone).timestamp()
    start = start.astimezone(end.zone)
    close = start.replace(hour=end.close[0], minute=end.close[1], second=0, microsecond=0)
    # a bar that starts after its market's close belongs to a session of the next day
    return (
        close.timestamp() if start < close else end_of_day(start.date() + timedelta(days=1), zone).timestamp()
    )


def _events(result: Fields) -> Row:
    events = result.get("events") or {}
    return {
        kind: dict(events[kind]) for kind in (*_ACTIONS, "capitalGains") if isinstance(events.get(kind), dict)
    }


def _pack_chart(data: Any, params: Fields) -> Any:
    """Pack the chart in Yahoo's shape: parallel lists under indicators."""
    results = []
    for result in data["chart"]["result"]:
        rows = result["rows"]
        quote = {name: [row.get(name) for row in rows] for name in _PRICES if not rows or name in rows[0]}
        indicators: Row = {"quote": [quote]}
        if rows and "adjclose" in rows[0]:
            indicators["adjclose"] = [{"adjclose": [row.get("adjclose") for row in rows]}]
        packed = {
            "meta": result["meta"],
            "timestamp": [row["timestamp"] for row in rows],
            "indicators": indicators,
        }
        # a kind of which nothing is left goes: without later events the vendor would not name it
        if events := {kind: listed for kind, listed in (result.get("events") or {}).items() if listed}:
            packed["events"] = events
        results.append(packed)
    return {"chart": {"result": results, "error": None}}


def _unpack_actions(payload: Any, params: Fields) -> Any:
    """Return dividends and splits out of Yahoo's chart: an object by kind, each an object of events by time."""
    parts = [_events(result) for result in _results(payload, "chart")] if "chart" in payload else [payload]
    return {
        kind: {key: event for part in parts for key, event in (part.get(kind) or {}).items()}
        for kind in _ACTIONS
    }


def _pack_actions(data: Any, params: Fields) -> Any:
    """Return dividends and splits, each an object, also where there are none."""
    return {kind: data.get(kind) or {} for kind in _ACTIONS}


def _unpack_fundamentals(payload: Any, params: Fields) -> Any:
    """Return Yahoo's time series with the values of each line as rows."""
    results = [
        {
            "meta": pick(result.get("meta") or {}, ("symbol", "type")),
            "name": name,
            "rows": [{"line": name, **value} for value in values if isinstance(value, dict)],
        }
        for result in _results(payload, "timeseries")
        for name, values in result.items()
        if name not in ("meta", "timestamp") and isinstance(values, list)
    ]
    return {"timeseries": {"result": results, "error": None}}


def _pack_fundamentals(data: Any, params: Fields) -> Any:
    """Pack the time series in Yahoo's shape."""
    results = []
    for result in data["timeseries"]["result"]:
        rows = result["rows"]
        stamps = [
            int(datetime.fromisoformat(row["asOfDate"]).replace(tzinfo=UTC).timestamp()) for row in rows
        ]
        results.append({"meta": result["meta"], "timestamp": stamps, result["name"]: rows})
    return {"timeseries": {"result": results, "error": None}}


def _unpack_grades(payload: Any, params: Fields) -> Any:
    """Return the rating changes as rows; the summary holds them at one of two depths."""
    payload = (_results(payload, "quoteSummary") or [payload])[-1]
    payload = payload.get("upgradeDowngradeHistory") or payload
    return {"history": payload.get("history") or []}


def _unpack_earnings(payload: Any, params: Fields) -> Any:
    """Return Yahoo's table of earnings days as rows."""
    if isinstance(payload, list):
        return payload
    if isinstance(payload.get("rows"), list):
        return payload["rows"]
    return [
        dict(zip([column.get("id") for column in document.get("columns") or []], values, strict=False))
        for result in _results(payload, "finance")
        for document in result.get("documents") or []
        for values in document.get("rows") or []
    ]


def _unpack_news(payload: Any, params: Fields) -> Any:
    """Return news items as rows."""
    if isinstance(payload, list):
        return payload
    stream = ((payload.get("data") or {}).get("tickerStream") or {}).get("stream") or []
    return [{"content": item["content"]} for item in stream if isinstance(item, dict) and "content" in item]


def _unpack_lookup(payload: Any, params: Fields) -> Any:
    """Return documents of a symbol look-up as rows."""
    holders = (payload, *_results(payload, "finance"))
    return {"documents": [document for holder in holders for document in holder.get("documents") or []]}


# -- DBnomics ---------------------------------------------------------------------------------------------------------

_DBNOMICS_LISTS = ("datasets", "results", "providers")
_PERIODS = ("period", "period_start_day", "value")
_SERIES = ("@frequency", "provider_code", "dataset_code", "dataset_name", "series_code", "series_name", "dimensions")  # fmt: skip


def _unpack_docs(payload: Any, params: Fields) -> Any:
    """Bring DBnomics' lists into one form: upstream they are bare, under ``docs``, or an object of lists."""
    out = {}
    for name, value in pick(payload, _DBNOMICS_LISTS).items():
        docs = value.get("docs") if isinstance(value, dict) else value
        if isinstance(docs, dict):
            lists = (listed if isinstance(listed, list) else [listed] for listed in docs.values())
            docs = [doc for listed in lists for doc in listed]
        out[name] = {"docs": docs or []}
    return out


def _unpack_dbnomics(payload: Any, params: Fields) -> Any:
    """Unpack DBnomics series into one row per period, each with the series' frequency."""
    docs = []
    for doc in (payload.get("series") or {}).get("docs") or []:
        count = len(doc.get("period_start_day") or [])
        columns = {name: doc.get(name) or () for name in _PERIODS if len(doc.get(name) or ()) == count}
        frequency = [str(doc.get("@frequency") or "")] * count
        rows = _rows_of_columns({"@frequency": frequency, **columns}, count)
        docs.append({**pick(doc, _SERIES), "rows": rows})
    return {"series": {"docs": docs}}


def _pack_dbnomics(data: Any, params: Fields) -> Any:
    """Pack DBnomics series in the upstream's shape, with recomputed totals."""
    docs = []
    for doc in data["series"]["docs"]:
        described = {name: value for name, value in doc.items() if name != "rows"}
        docs.append(described | {name: [row.get(name) for row in doc["rows"]] for name in _PERIODS})
    totals = {"num_found": len(docs), "limit": len(docs), "offset": int(params.get("offset") or 0)}
    return {"series": {"docs": docs, **totals}}


# -- Kalshi -----------------------------------------------------------------------------------------------------------
#
# Settled markets move to an archive, whose candles bear the same figures under other names than those of the live tier (``open``
# beside ``open_dollars``, ``volume`` beside ``volume_fp``). Who reads the form of a candle would read that its market has settled. So
# prices are dollars and counts are contracts, both as text, under the live tier's names, and nothing else stands in a candle.

_OFFER = ("open", "low", "high", "close")
#: What stands in every market: a tier may leave out what is empty.
_MARKET = (
    "ticker", "event_ticker", "title", "open_time", "created_time", "rules_primary", "rules_secondary",
    "can_close_early", "strike_type", "floor_strike", "cap_strike", "latest_expiration_time", "close_time",
)  # fmt: skip


def _unpack_kalshi(payload: Any, params: Fields) -> Any:
    """Bring an answer's candles, trades and markets into the one form; all else stays."""
    return {name: _in_one_form(name, value) for name, value in payload.items()}


def _in_one_form(name: str, value: Any) -> Any:
    change = _KALSHI_FORMS.get(name)
    if change is None:
        return value
    if isinstance(value, list):  # of several markets the candles are a list of lists
        return [_in_one_form(name, item) for item in value]
    return change(value) if isinstance(value, dict) else value


def _event(row: Row) -> Row:
    return {**row, "markets": _in_one_form("markets", row["markets"])} if "markets" in row else row


def _whole_market(row: Row) -> Row:
    if "candlesticks" in row:
        # the candles of one market among several
        return {**row, "candlesticks": _in_one_form("candlesticks", row["candlesticks"])}
    return {**dict.fromkeys(_MARKET), **{name: value for name, value in row.items() if value != ""}}


def _candle(row: Row) -> Row:
    return {
        "end_period_ts": row.get("end_period_ts"),
        "yes_bid": _prices(row.get("yes_bid"), _OFFER),
        "yes_ask": _prices(row.get("yes_ask"), _OFFER),
        "price": _prices(row.get("price"), (*_OFFER, "mean", "previous")),
        "volume_fp": _contracts(row, "volume"),
        "open_interest_fp": _contracts(row, "open_interest"),
    }


def _trade(row: Row) -> Row:
    return {
        **{name: row.get(name) for name in ("trade_id", "ticker", "created_time", "taker_side")},
        **_prices(row, ("yes_price", "no_price")),
        "count_fp": _contracts(row, "count"),
    }


_KALSHI_FORMS: Mapping[str, Callable[[Row], Row]] = {
    "candlesticks": _candle,
    "market_candlesticks": _candle,
    "trades": _trade,
    "market": _whole_market,
    "markets": _whole_market,
    "event": _event,
    "events": _event,
}


def _prices(value: Any, names: tuple[str, ...]) -> Row:
    row = value if isinstance(value, dict) else {}
    return {f"{name}_dollars": _dollars_text(row, name) for name in names}


def _dollars_text(row: Fields, name: str) -> str | None:
    value = row.get(f"{name}_dollars")
    if value is None:
        value = row.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            value = Decimal(value) / 100
    return _decimal_text(value, 4)


def _contracts(row: Fields, name: str) -> str | None:
    value = row.get(f"{name}_fp")
    return _decimal_text(row.get(name) if value is None else value, 2)


def _decimal_text(value: Any, places: int) -> str | None:
    """Write a number with at least so many decimals; anything else stays."""
    if value is None or isinstance(value, (bool, list, dict)):
        return None
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return str(value)
    if not number.is_finite():
        return None
    exponent = number.normalize().as_tuple().exponent
    return f"{number:.{max(places, -exponent if isinstance(exponent, int) else 0)}f}"


# -- Wikipedia --------------------------------------------------------------------------------------------------------

_HEADING = re.compile(r"^(={2,6})\s*(.+?)\s*\1\s*$", re.MULTILINE)


def wiki_pages(payload: Any) -> list[Row]:
    """Return the pages in an answer of MediaWiki: an object by page id in its formatversion 1, a list in 2."""
    pages = (payload.get("query") or {}).get("pages") or [] if isinstance(payload, dict) else []
    return [page for page in (pages.values() if isinstance(pages, dict) else pages) if isinstance(page, dict)]


def wiki_text(revision: Fields) -> Any:
    """Return the wikitext of a revision; None if the answer does not hold it."""
    slot = (revision.get("slots") or {}).get("main") or {}
    return slot.get("content", revision.get("content", slot.get("*")))


def _unpack_wiki(payload: Any, params: Fields) -> Any:
    """Return the revisions of a page as rows with title, id, time and wikitext."""
    if "rows" in payload:
        return payload
    rows = [
        {
            "title": page.get("title"),
            "revid": revision.get("revid"),
            "timestamp": revision.get("timestamp"),
            "wikitext": text,
        }
        for page in wiki_pages(payload)
        for revision in page.get("revisions") or []
        if (text := wiki_text(revision)) is not None
    ]
    return {"rows": rows}


def _pack_page(data: Any, params: Fields) -> Any:
    """Return one page, or one of its sections.

    Raises `Refused`: No revision, or no such heading: the same words whether the page came later or never.
    """
    if not data["rows"]:
        raise Refused("wikipedia has no page of this title as of the cutoff: check the title")
    row, section = data["rows"][0], params.get("section")
    if not section:
        return row
    text = _section(row["wikitext"], str(section))
    if text is None:
        headings = ", ".join(title for _, title in headings_of(row["wikitext"])) or "none"
        raise Refused(f"the page has no section {section!r}: its headings are {headings[:300]}")
    return {**row, "wikitext": text}


def headings_of(wikitext: str) -> list[tuple[int, str]]:
    r"""Return level and title of each heading of a wikitext.

    >>> headings_of("a\n== B ==\n=== C ===")
    [(2, 'B'), (3, 'C')]
    """
    return [(len(match[1]), match[2]) for match in _HEADING.finditer(wikitext)]


def _section(wikitext: str, title: str) -> str | None:
    start, level = None, 0
    for match in _HEADING.finditer(wikitext):
        if start is None and match[2].strip().lower() == title.strip().lower():
            start, level = match.start(), len(match[1])
        elif start is not None and len(match[1]) <= level:
            return wikitext[start : match.start()].strip()
    return None if start is None else wikitext[start:].strip()


def _pack_sections(data: Any, params: Fields) -> Any:
    """Return the headings of the page as a list."""
    row = _pack_page(data, {})
    return [{"level": level, "title": title} for level, title in headings_of(row["wikitext"])]


def _unpack_revisions(payload: Any, params: Fields) -> Any:
    """Return the edits of a page."""
    if "revisions" in payload:
        return {"revisions": payload["revisions"]}
    return {"revisions": [row for page in wiki_pages(payload) for row in page.get("revisions") or []]}


def _unpack_search(payload: Any, params: Fields) -> Any:
    """Unpack search hits, each with the day of its page's first revision if the source found it."""
    query = payload.get("query") if isinstance(payload.get("query"), dict) else payload
    return {"search": (query or {}).get("search") or []}


# -- lists that are put together ---------------------------------------------------------------------------------------


def _pack_tags(data: Any, params: Fields) -> Any:
    """Return the requested part of FRED's tags of then, by name or in the requested order.

    FRED's own order is by how many series bear a tag today.
    """
    key = str(params.get("order_by") or "name")
    rows = sorted(data["tags"], key=lambda row: str(row.get("name")))
    rows.sort(key=lambda row: str(row.get(key)), reverse=params.get("sort_order") == "desc")
    first = int(params.get("offset") or 0)
    described = {"order_by": key, "sort_order": params.get("sort_order") or "asc"}
    described |= pick(params, ("offset", "limit"))
    envelope = {name: described.get(name, item) for name, item in data.items()}
    return {**envelope, "tags": rows[first : first + int(params.get("limit") or len(rows))]}


def _pack_members(data: Any, params: Fields) -> Any:
    """Pack the members of an index by ticker. Ended spells are left out: only the policy needs them."""
    # a live answer has the names too; under a cutoff the catalogue lets the ticker and the day of joining through alone
    rows = [pick(row, ("symbol", "name", "dateAdded")) for row in data if row.get("until") is None]
    return sorted(rows, key=lambda row: str(row["symbol"]))


def _pack_places(data: Any, params: Fields) -> Any:
    """Return codes and names; live without the names that ended."""
    return [pick(row, ("geo_id", "geo_description")) for row in data if row.get("until") is None]


CODECS: Mapping[str, Codec] = MappingProxyType(
    {
        "": Codec(),
        "chart": Codec(_unpack_chart, _pack_chart, heads=("chart",)),
        "actions": Codec(_unpack_actions, _pack_actions, live_too=True, heads=("chart", *_ACTIONS)),
        "fundamentals": Codec(_unpack_fundamentals, _pack_fundamentals, heads=("timeseries",)),
        "grades": Codec(
            _unpack_grades, live_too=True, heads=("quoteSummary", "upgradeDowngradeHistory", "history")
        ),
        "earnings": Codec(_unpack_earnings, live_too=True, heads=("finance", "rows", "[]")),
        "news": Codec(_unpack_news, live_too=True, heads=("data", "[]")),
        "lookup": Codec(_unpack_lookup, live_too=True, heads=("finance", "documents")),
        "doc_list": Codec(_unpack_docs, live_too=True, heads=_DBNOMICS_LISTS),
        "dbnomics": Codec(_unpack_dbnomics, _pack_dbnomics, heads=("series",)),
        "kalshi": Codec(_unpack_kalshi, live_too=True),
        "places": Codec(pack=_pack_places, live_too=True, heads=("[]",)),
        "tags": Codec(pack=_pack_tags, heads=("tags",)),
        "members": Codec(pack=_pack_members, live_too=True, heads=("[]",)),
        "wiki_page": Codec(_unpack_wiki, _pack_page, live_too=True, single=True, heads=("query",)),
        "wiki_sections": Codec(_unpack_wiki, _pack_sections, live_too=True, single=True, heads=("query",)),
        "wiki_revisions": Codec(_unpack_revisions, live_too=True, heads=("query",)),
        "wiki_search": Codec(_unpack_search, live_too=True, heads=("query",)),
    }
)
