"""FRED and ALFRED on loopback: real vintages where the data folder has them, made-up ones otherwise.

Behaves like the documented service where the broker depends on it: real-time windows clip the interval in which a
value stood, a window before the first vintage is a 400, a missing or odd key is a 400, `vintage_dates` overrides the
window, metadata under an old window still says things of today. The forms of its answers are data
(``upstream/answers.json``).
"""

import csv
import gzip
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from tests.fakes.upstream import SHAPES, Seen, Sent, Upstream, fill

TODAY = "2026-11-20"
KEY = "abcdefghijklmnopqrstuvwxyz012345"
#: Series, period, known from, value: the first quarter is revised twice.
SYNTHETIC = [(series, period, known, value) for series, period, known, value in SHAPES["fred/synthetic"]]
_FIRST, _LAST = "1776-07-04", "9999-12-31"


@dataclass(frozen=True, slots=True)
class Value:
    period: str
    start: str
    end: str
    value: str


def intervals(rows: Iterable[tuple[str, str, str, str]]) -> dict[str, list[Value]]:
    """When each value of each series stood, from (series, period, known from, value) rows."""
    by: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for series, period, known, value in rows:
        by[series, period].append((known, value))
    out: dict[str, list[Value]] = defaultdict(list)
    for (series, period), states in sorted(by.items()):
        # of two states that came on one day the one told last stood
        states.sort(key=lambda state: state[0])
        ends = [(date.fromisoformat(known) - timedelta(days=1)).isoformat() for known, _ in states[1:]]
        for (known, value), end in zip(states, [*ends, _LAST], strict=True):
            out[series].append(Value(period, known, end, value))
    return dict(out)


def frbny(folder: Path) -> list[tuple[str, str, str, str]]:
    """The real vintages of the New York Fed's nowcasting files."""
    with gzip.open(folder / "series" / "frbny_vintages_2016_2017.csv.gz", "rt", encoding="utf-8") as lines:
        return [(r["series_id"], r["period"], r["known_from"], r["value"]) for r in csv.DictReader(lines)]


class FredUpstream(Upstream):
    """The emulator; ``rows`` are (series, period, known from, value)."""

    def __init__(self, rows: Iterable[tuple[str, str, str, str]] = SYNTHETIC, *, today: str = TODAY) -> None:
        super().__init__(self._answer)
        self.values = intervals(rows)
        self.today = today

    def _answer(self, seen: Seen) -> Sent:
        q = seen.query
        if q.get("api_key") != KEY:
            return _bad("The value for variable api_key is not registered.")
        sent = self._routed(seen, q)
        return sent if q.get("file_type") == "json" else _xml(sent)

    def _routed(self, seen: Seen, q: dict[str, str]) -> Sent:
        whole = seen.path in ("/series/vintagedates", "/release/dates")
        start = q.get("realtime_start", _FIRST if whole else self.today)
        end = q.get("realtime_end", self.today)
        if not all(re.fullmatch(r"\d{4}-\d{2}-\d{2}", day) for day in (start, end)):
            return _bad("Variable realtime_start is not a date.")
        if start > end:
            return _bad("Variable realtime_start can not be later than realtime_end.")
        if end > self.today and end != _LAST:
            return _bad("Variable realtime_end can not be after today.")
        series, window = q.get("series_id", ""), {"start": start, "end": end}
        match seen.path:
            case "/series/observations":
                return self._observations(q, start, end)
            case "/series" if not self._known(series, end):
                return _bad("The series does not exist.")
            case "/series":
                return Sent(
                    fill(SHAPES["fredapi/series"], {**window, "rows": [self._record(series, start, end)]})
                )
            case "/series/search" | "/release/series" | "/category/series":
                words = q.get("search_text", "").lower()
                names = [
                    name for name in sorted(self.values) if words in name.lower() and self._known(name, end)
                ]
                found = [self._record(name, start, end) for name in names]
                return Sent(fill(SHAPES["fredapi/search"], {**window, **_page(q, found, 1000)}))
            case "/series/vintagedates":
                # the bounds default to the whole history here; the server is asked to hand out later days too
                days = sorted({v.start for v in self.values.get(series, [])})
                return Sent(fill(SHAPES["fredapi/vintages"], {**window, "rows": days, "count": len(days)}))
            case "/series/tags" | "/tags":
                return Sent(fill(SHAPES["fredapi/tags"], window))
            case "/category/children":
                return Sent(SHAPES["fredapi/children"])
        return Sent({"error_code": 404, "error_message": "Not Found"}, 404)

    def _known(self, series: str, end: str) -> bool:
        return series in self.values and min(v.start for v in self.values[series]) <= end

    def _observations(self, q: dict[str, str], start: str, end: str) -> Sent:
        series = q.get("series_id", "")
        if not self._known(series, end):
            return _bad("The series does not exist in ALFRED but may exist in FRED.")
        if q.get("vintage_dates"):
            start, end = q["vintage_dates"].split(",")[0], q["vintage_dates"].split(",")[-1]
        first, last = q.get("observation_start", _FIRST), q.get("observation_end", _LAST)
        if len({v.start for v in self.values[series] if start <= v.start <= end}) > 2000:
            return _bad(f"Exceeded the maximum number of vintage dates allowed (2000) by series {series}.")
        found = [
            {"realtime_start": max(v.start, start), "realtime_end": min(v.end, end), "date": v.period, "value": v.value}
            for v in self.values[series]
            if v.start <= end and v.end >= start and first <= v.period <= last
        ]  # fmt: skip
        order = q.get("sort_order", "asc")
        found.sort(key=lambda r: (r["date"], r["realtime_start"]), reverse=order == "desc")
        holes = {
            "start": start,
            "end": end,
            "first": first,
            "last": last,
            "order": order,
            **_page(q, found, 100000),
        }
        return Sent(fill(SHAPES["fredapi/observations"], holes))

    def _record(self, series: str, start: str, end: str) -> Any:
        periods = [v.period for v in self.values[series]]
        holes = {"id": series, "title": f"Series {series}", "first": min(periods), "last": max(periods)}
        updated = f"{self.today} 07:41:03-06"
        return fill(SHAPES["fredapi/record"], {**holes, "start": start, "end": end, "updated": updated})


def _page(q: dict[str, str], found: list[Any], most: int) -> dict[str, Any]:
    offset, limit = int(q.get("offset", 0)), int(q.get("limit", most))
    return {"count": len(found), "offset": offset, "limit": limit, "rows": found[offset : offset + limit]}


def _xml(sent: Sent) -> Sent:
    """The same in the service's other format: the rows as elements, all else as attributes."""
    body: dict[str, Any] = sent.body
    if "error_message" in body:
        root = ElementTree.Element(
            "error", {"code": str(body["error_code"]), "message": body["error_message"]}
        )
        return Sent(ElementTree.tostring(root), sent.status, {"content-type": "text/xml"})
    [(name, rows)] = [(name, value) for name, value in body.items() if isinstance(value, list)]
    root = ElementTree.Element(name, {k: str(v) for k, v in body.items() if k != name})
    for row in rows:
        child = ElementTree.SubElement(root, name[:-1])
        if isinstance(row, dict):
            child.attrib.update({k: str(v) for k, v in row.items()})
        else:
            child.text = row
    return Sent(ElementTree.tostring(root, encoding="utf-8"), 200, {"content-type": "text/xml"})


def _bad(message: str) -> Sent:
    return Sent({"error_code": 400, "error_message": f"Bad Request.  {message}"}, 400)
