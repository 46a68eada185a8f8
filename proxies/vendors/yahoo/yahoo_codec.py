"""Unpack and pack Yahoo's shapes: charts, events, fundamentals, grades, earnings and look-ups."""

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from proxies.asof.clock import NEW_YORK, end_of_day, start_of_day
from proxies.asof.market_hours import DayEnd, day_end_of_kind
from proxies.asof.stamps import month_end
from proxies.json_text import Fields, Row

# seconds from a bar's start to its end
_BARS = {"1m": 60, "2m": 120, "5m": 300, "15m": 900, "30m": 1800, "60m": 3600, "90m": 5400, "1h": 3600}
# a week's bar counts from the seventh day on, a month's or a quarter's from the calendar's next
_DAYS = {"1wk": 7, "5d": 7}
_MONTHS = {"1mo": 1, "3mo": 3}
# the rest of the meta is of today: the last price, the year's range, the trading hours, the exchange (a share that moved or was
# delisted bears its new one on all its bars)
_META_FIELDS = (
    "currency",
    "symbol",
    "instrumentType",
    "timezone",
    "exchangeTimezoneName",
    "dataGranularity",
)
_PRICES = ("open", "high", "low", "close", "volume")


def unpack_chart(payload: Any, params: Fields) -> Any:
    """Unpack Yahoo's chart into one row per bar, each with ``known``: the epoch second of its completion."""
    results = []
    for result in (payload.get("chart") or {}).get("result") or []:
        meta = result.get("meta") or {}
        stamps = result.get("timestamp") or []
        quote = ((result.get("indicators") or {}).get("quote") or [{}])[0]
        adjusted = ((result.get("indicators") or {}).get("adjclose") or [{}])[0].get("adjclose")
        # a window without bars has an empty quote and no stamps at all
        columns = {n: quote[n] for n in _PRICES if quote.get(n) and len(quote[n]) == len(stamps)}
        if adjusted and len(adjusted) == len(stamps):
            columns["adjclose"] = adjusted
        zone = _zone(meta.get("exchangeTimezoneName"))
        end = day_end_of_kind(str(meta.get("instrumentType")), str(params.get("symbol") or ""), zone)
        interval = str(params.get("interval") or meta.get("dataGranularity") or "1d")
        rows = [
            {"timestamp": stamp, "known": _complete(stamp, interval, zone, end)}
            | {n: column[place] for n, column in columns.items()}
            for place, stamp in enumerate(stamps)
        ]
        meta_shown = {name: meta[name] for name in _META_FIELDS if name in meta}
        results.append({"meta": meta_shown, "rows": rows, "events": _events(result)})
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
        kind: dict(events[kind])
        for kind in ("dividends", "splits", "capitalGains")
        if isinstance(events.get(kind), dict)
    }


def pack_chart(data: Any, params: Fields) -> Any:
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
        events = {kind: listed for kind, listed in (result.get("events") or {}).items() if listed}
        if events:
            packed["events"] = events
        results.append(packed)
    return {"chart": {"result": results, "error": None}}


def unpack_actions(payload: Any, params: Fields) -> Any:
    """Return dividends and splits out of Yahoo's chart: an object by kind, each an object of events by time."""
    out: Row = {"dividends": {}, "splits": {}}
    if "chart" not in payload:
        return {kind: payload.get(kind) or {} for kind in out}
    for result in (payload.get("chart") or {}).get("result") or []:
        for kind, events in _events(result).items():
            if kind in out:
                out[kind].update(events)
    return out


def pack_actions(data: Any, params: Fields) -> Any:
    """Return dividends and splits, each an object, also where there are none."""
    return {kind: data.get(kind) or {} for kind in ("dividends", "splits")}


def unpack_fundamentals(payload: Any, params: Fields) -> Any:
    """Return Yahoo's time series with the values of each line as rows."""
    results = []
    for result in (payload.get("timeseries") or {}).get("result") or []:
        for name, values in result.items():
            if name not in ("meta", "timestamp") and isinstance(values, list):
                rows = [{"line": name, **value} for value in values if isinstance(value, dict)]
                meta = result.get("meta") or {}
                results.append(
                    {
                        "meta": {k: meta[k] for k in ("symbol", "type") if k in meta},
                        "name": name,
                        "rows": rows,
                    }
                )
    return {"timeseries": {"result": results, "error": None}}


def pack_fundamentals(data: Any, params: Fields) -> Any:
    """Pack the time series in Yahoo's shape."""
    results = []
    for result in data["timeseries"]["result"]:
        rows = result["rows"]
        stamps = [
            int(datetime.fromisoformat(row["asOfDate"]).replace(tzinfo=UTC).timestamp()) for row in rows
        ]
        results.append({"meta": result["meta"], "timestamp": stamps, result["name"]: rows})
    return {"timeseries": {"result": results, "error": None}}


def unpack_grades(payload: Any, params: Fields) -> Any:
    """Return the rating changes as rows; the summary holds them at one of two depths."""
    for result in (payload.get("quoteSummary") or {}).get("result") or []:
        payload = result
    payload = payload.get("upgradeDowngradeHistory") or payload
    return {"history": payload.get("history") or []}


def unpack_earnings(payload: Any, params: Fields) -> Any:
    """Return Yahoo's table of earnings days as rows."""
    if isinstance(payload, list):
        return payload
    if "rows" in payload and isinstance(payload["rows"], list):
        return payload["rows"]
    rows = []
    for result in (payload.get("finance") or {}).get("result") or []:
        for document in result.get("documents") or []:
            names = [column.get("id") for column in document.get("columns") or []]
            rows += [dict(zip(names, values, strict=False)) for values in document.get("rows") or []]
    return rows


def unpack_news(payload: Any, params: Fields) -> Any:
    """Return news items as rows."""
    if isinstance(payload, list):
        return payload
    stream = ((payload.get("data") or {}).get("tickerStream") or {}).get("stream") or []
    return [{"content": item["content"]} for item in stream if isinstance(item, dict) and "content" in item]


def unpack_lookup(payload: Any, params: Fields) -> Any:
    """Return documents of a symbol look-up as rows."""
    documents = list(payload.get("documents") or [])
    for result in (payload.get("finance") or {}).get("result") or []:
        documents += result.get("documents") or []
    return {"documents": documents}
