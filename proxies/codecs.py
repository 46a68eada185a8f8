"""Answers whose upstream shape does not have rows: unpacked into rows for the policies, packed again for the caller.

`unpack` runs on the raw answer, `pack` on what the policies let through; both are pure. Under live calls neither is
needed, except where the catalogue promises another shape than the upstream's.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from proxies.clock import NEW_YORK
from proxies.errors import Refused

_BARS = {
    "1m": 60, "2m": 120, "5m": 300, "15m": 900, "30m": 1800, "60m": 3600, "90m": 5400, "1h": 3600,
    "1wk": 7 * 86400, "5d": 7 * 86400, "1mo": 31 * 86400, "3mo": 92 * 86400,
}  # fmt: skip
_META_KEPT = (
    "currency",
    "symbol",
    "exchangeName",
    "instrumentType",
    "timezone",
    "exchangeTimezoneName",
    "dataGranularity",
)
_PRICES = ("open", "high", "low", "close", "volume")


@dataclass(frozen=True, slots=True)
class Codec:
    """The two ways; ``both`` says that the catalogue promises the packed shape for live calls too."""

    unpack: Callable[[Any, Mapping[str, Any]], Any]
    pack: Callable[[Any, Mapping[str, Any]], Any]
    both: bool = False


def _same(value: Any, params: Mapping[str, Any]) -> Any:
    return value


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
            | {n: column[at] for n, column in columns.items()}
            for at, stamp in enumerate(stamps)
        ]
        kept = {name: meta[name] for name in _META_KEPT if name in meta}
        results.append({"meta": kept, "rows": rows, "events": _events(result)})
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
    """Dividends and splits of Yahoo's chart, by kind and time."""
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
    """The rating changes, wherever the summary holds them."""
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


def unpack_docs(payload: Any, params: Mapping[str, Any]) -> Any:
    """DBnomics lists come bare or under ``docs``: one form."""
    out = {}
    for name, value in payload.items():
        if name in ("datasets", "results", "providers"):
            docs = value.get("docs") if isinstance(value, dict) else value
            if isinstance(docs, dict):
                docs = [
                    doc
                    for listed in docs.values()
                    for doc in (listed if isinstance(listed, list) else [listed])
                ]
            out[name] = {"docs": docs or []}
    return out


def unpack_dbnomics(payload: Any, params: Mapping[str, Any]) -> Any:
    """DBnomics series with one row per period, each with the series' frequency."""
    docs = []
    for doc in (payload.get("series") or {}).get("docs") or []:
        starts = doc.get("period_start_day") or []
        columns = {
            name: doc[name]
            for name in ("period", "period_start_day", "value")
            if len(doc.get(name) or ()) == len(starts)
        }
        frequency = str(doc.get("@frequency") or "")
        rows = [
            {"@frequency": frequency} | {name: column[at] for name, column in columns.items()}
            for at in range(len(starts))
        ]
        kept = {
            k: doc[k]
            for k in (
                "@frequency",
                "provider_code",
                "dataset_code",
                "dataset_name",
                "series_code",
                "series_name",
                "dimensions",
            )
            if k in doc
        }
        docs.append({**kept, "rows": rows})
    return {"series": {"docs": docs}}


def pack_dbnomics(data: Any, params: Mapping[str, Any]) -> Any:
    """DBnomics series in the upstream's shape again, with totals of what is in it."""
    docs = []
    for doc in data["series"]["docs"]:
        rows = doc["rows"]
        kept = {k: v for k, v in doc.items() if k != "rows"}
        docs.append(
            kept | {name: [row.get(name) for row in rows] for name in ("period", "period_start_day", "value")}
        )
    return {
        "series": {
            "docs": docs,
            "num_found": len(docs),
            "limit": len(docs),
            "offset": int(params.get("offset") or 0),
        }
    }


def unpack_wiki(payload: Any, params: Mapping[str, Any]) -> Any:
    """The revisions of a page as rows with title, id, time and wikitext."""
    if "rows" in payload:
        return payload
    rows = []
    for page in _pages(payload):
        for revision in page.get("revisions") or []:
            slot = (revision.get("slots") or {}).get("main") or {}
            text = slot.get("content", revision.get("content", slot.get("*")))
            if text is not None:
                rows.append(
                    {
                        "title": page.get("title"),
                        "revid": revision.get("revid"),
                        "timestamp": revision.get("timestamp"),
                        "wikitext": text,
                    }
                )
    return {"rows": rows}


def _pages(payload: Any) -> list[Any]:
    pages = (payload.get("query") or {}).get("pages") or []
    return list(pages.values()) if isinstance(pages, dict) else list(pages)


def pack_page(data: Any, params: Mapping[str, Any]) -> Any:
    """One page, or one of its sections.

    Raises
    ------
    Refused
        No revision, or no such heading: the same words whether the page came later or never.
    """
    rows = data["rows"]
    if not rows:
        raise Refused("wikipedia has no page of this title as of the cutoff: check the title")
    row = rows[0]
    wanted = params.get("section")
    if wanted:
        text = _section(row["wikitext"], str(wanted))
        if text is None:
            headings = ", ".join(title for _, title in headings_of(row["wikitext"])) or "none"
            raise Refused(f"the page has no section {wanted!r}: its headings are {headings[:300]}")
        row = {**row, "wikitext": text}
    return row


_HEADING = re.compile(r"^(={2,6})\s*(.+?)\s*\1\s*$", re.MULTILINE)


def headings_of(wikitext: str) -> list[tuple[int, str]]:
    r"""Level and title of each heading of a wikitext.

    Examples
    --------
    >>> headings_of("a\n== B ==\n=== C ===")
    [(2, 'B'), (3, 'C')]
    """
    return [(len(found[1]), found[2]) for found in _HEADING.finditer(wikitext)]


def _section(wikitext: str, title: str) -> str | None:
    start, level = None, 0
    for found in _HEADING.finditer(wikitext):
        if start is None and found[2].strip().lower() == title.strip().lower():
            start, level = found.start(), len(found[1])
        elif start is not None and len(found[1]) <= level:
            return wikitext[start : found.start()].strip()
    return None if start is None else wikitext[start:].strip()


def pack_sections(data: Any, params: Mapping[str, Any]) -> Any:
    """The headings of the page as a list."""
    row = pack_page(data, {})
    return [{"level": level, "title": title} for level, title in headings_of(row["wikitext"])]


def unpack_revisions(payload: Any, params: Mapping[str, Any]) -> Any:
    """The edits of a page."""
    if "revisions" in payload:
        return {"revisions": payload["revisions"]}
    return {"revisions": [row for page in _pages(payload) for row in page.get("revisions") or []]}


def unpack_search(payload: Any, params: Mapping[str, Any]) -> Any:
    """Hits of a search; each bears the day its page was first saved, where the source found it."""
    query = payload.get("query") if isinstance(payload.get("query"), dict) else payload
    return {"search": (query or {}).get("search") or []}


def pack_members(data: Any, params: Mapping[str, Any]) -> Any:
    """The members of an index, by ticker; those that left are for the policy alone."""
    kept = [
        {name: row.get(name) for name in ("symbol", "name", "dateAdded")}
        for row in data
        if row.get("until") is None
    ]
    return sorted(kept, key=lambda row: str(row["symbol"]))


CODECS: Mapping[str, Codec] = MappingProxyType(
    {
        "": Codec(_same, _same),
        "chart": Codec(unpack_chart, pack_chart),
        "actions": Codec(unpack_actions, _same, both=True),
        "fundamentals": Codec(unpack_fundamentals, pack_fundamentals),
        "grades": Codec(unpack_grades, _same, both=True),
        "earnings": Codec(unpack_earnings, _same, both=True),
        "news": Codec(unpack_news, _same, both=True),
        "lookup": Codec(unpack_lookup, _same, both=True),
        "doc_list": Codec(unpack_docs, _same, both=True),
        "dbnomics": Codec(unpack_dbnomics, pack_dbnomics),
        "members": Codec(_same, pack_members, both=True),
        "wiki_page": Codec(unpack_wiki, pack_page, both=True),
        "wiki_sections": Codec(unpack_wiki, pack_sections, both=True),
        "wiki_revisions": Codec(unpack_revisions, _same, both=True),
        "wiki_search": Codec(unpack_search, _same, both=True),
    }
)
