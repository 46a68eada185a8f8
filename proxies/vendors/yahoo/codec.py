"""Yahoo's shapes: charts, events, fundamentals, tables of grades, earnings and look-ups."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from proxies.asof.clock import NEW_YORK

# seconds from a bar's start to its end. Where lengths differ it is the longest: a bar may count late, never early
_BARS = {
    "1m": 60, "2m": 120, "5m": 300, "15m": 900, "30m": 1800, "60m": 3600, "90m": 5400, "1h": 3600,
    "1wk": 7 * 86400, "5d": 7 * 86400, "1mo": 31 * 86400, "3mo": 92 * 86400,
}  # fmt: skip
# the rest of the meta is of today: the last price, the year's range, the trading hours
_META_FIELDS = (
    "currency",
    "symbol",
    "exchangeName",
    "instrumentType",
    "timezone",
    "exchangeTimezoneName",
    "dataGranularity",
)
_PRICES = ("open", "high", "low", "close", "volume")


def unpack_chart(payload: Any, params: Mapping[str, Any]) -> Any:
    """Yahoo's chart with one row per bar, each with ``known``: the epoch second at which the bar was complete."""
    results = []
    for result in (payload.get("chart") or {}).get("result") or []:
        meta = result.get("meta") or {}
        stamps = result.get("timestamp") or []
        quote = ((result.get("indicators") or {}).get("quote") or [{}])[0]
        adjusted = ((result.get("indicators") or {}).get("adjclose") or [{}])[0].get("adjclose")
        columns = {name: quote[name] for name in _PRICES if len(quote.get(name) or ()) == len(stamps)}
        if adjusted is not None and len(adjusted) == len(stamps):
            columns["adjclose"] = adjusted
        zone = _zone(meta.get("exchangeTimezoneName"))
        interval = str(params.get("interval") or meta.get("dataGranularity") or "1d")
        rows = [
            {"timestamp": stamp, "known": _complete(stamp, interval, zone)}
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


def _complete(stamp: Any, interval: str, zone: ZoneInfo) -> float | None:
    """When a bar was complete: a daily one at 16:00 of its exchange's day, a shorter one at start plus length."""
    if isinstance(stamp, bool) or not isinstance(stamp, (int, float)):
        return None
    if interval in _BARS:
        return stamp + _BARS[interval]
    start = datetime.fromtimestamp(stamp, tz=UTC).astimezone(zone)
    close = start.replace(hour=16, minute=0, second=0, microsecond=0)
    if start >= close:
        # a bar that starts after four in the afternoon (other markets): a whole day
        close = start + timedelta(days=1)
    return close.timestamp()


def _events(result: Mapping[str, Any]) -> dict[str, Any]:
    events = result.get("events") or {}
    return {
        kind: dict(events[kind])
        for kind in ("dividends", "splits", "capitalGains")
        if isinstance(events.get(kind), dict)
    }


def pack_chart(data: Any, params: Mapping[str, Any]) -> Any:
    """The chart in Yahoo's shape again: parallel lists under indicators."""
    results = []
    for result in data["chart"]["result"]:
        rows = result["rows"]
        quote = {name: [row.get(name) for row in rows] for name in _PRICES if not rows or name in rows[0]}
        indicators: dict[str, Any] = {"quote": [quote]}
        if rows and "adjclose" in rows[0]:
            indicators["adjclose"] = [{"adjclose": [row.get("adjclose") for row in rows]}]
        packed = {
            "meta": result["meta"],
            "timestamp": [row["timestamp"] for row in rows],
            "indicators": indicators,
        }
        if result["events"]:
            packed["events"] = result["events"]
        results.append(packed)
    return {"chart": {"result": results, "error": None}}


def unpack_actions(payload: Any, params: Mapping[str, Any]) -> Any:
    """Dividends and splits out of Yahoo's chart: an object by kind, each an object of events by time."""
    out: dict[str, Any] = {"dividends": {}, "splits": {}}
    if "chart" not in payload:
        return {kind: payload.get(kind) or {} for kind in out}
    for result in (payload.get("chart") or {}).get("result") or []:
        for kind, events in _events(result).items():
            if kind in out:
                out[kind].update(events)
    return out


def unpack_fundamentals(payload: Any, params: Mapping[str, Any]) -> Any:
    """Yahoo's time series with the values of each line as rows."""
    results = []
    for result in (payload.get("timeseries") or {}).get("result") or []:
        for name, values in result.items():
            if name not in ("meta", "timestamp") and isinstance(values, list):
                rows = [value for value in values if isinstance(value, dict)]
                meta = result.get("meta") or {}
                results.append(
                    {
                        "meta": {k: meta[k] for k in ("symbol", "type") if k in meta},
                        "name": name,
                        "rows": rows,
                    }
                )
    return {"timeseries": {"result": results, "error": None}}


def pack_fundamentals(data: Any, params: Mapping[str, Any]) -> Any:
    """The time series in Yahoo's shape again."""
    results = []
    for result in data["timeseries"]["result"]:
        rows = result["rows"]
        stamps = [
            int(datetime.fromisoformat(row["asOfDate"]).replace(tzinfo=UTC).timestamp()) for row in rows
        ]
        results.append({"meta": result["meta"], "timestamp": stamps, result["name"]: rows})
    return {"timeseries": {"result": results, "error": None}}


def unpack_grades(payload: Any, params: Mapping[str, Any]) -> Any:
    """The rating changes as rows; the summary holds them at one of two depths."""
    for result in (payload.get("quoteSummary") or {}).get("result") or []:
        payload = result
    payload = payload.get("upgradeDowngradeHistory") or payload
    return {"history": payload.get("history") or []}


def unpack_earnings(payload: Any, params: Mapping[str, Any]) -> Any:
    """Yahoo's table of earnings days as rows."""
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


def unpack_news(payload: Any, params: Mapping[str, Any]) -> Any:
    """News items as rows."""
    if isinstance(payload, list):
        return payload
    stream = ((payload.get("data") or {}).get("tickerStream") or {}).get("stream") or []
    return [{"content": item["content"]} for item in stream if isinstance(item, dict) and "content" in item]


def unpack_lookup(payload: Any, params: Mapping[str, Any]) -> Any:
    """Documents of a symbol look-up as rows."""
    documents = list(payload.get("documents") or [])
    for result in (payload.get("finance") or {}).get("result") or []:
        documents += result.get("documents") or []
    return {"documents": documents}
