"""FRED and ALFRED on loopback: real vintages where the data folder has them, made-up ones otherwise.

Behaves like the documented service where the broker depends on it: real-time windows clip the interval in which a
value stood, a window before the first vintage is a 400, a missing or odd key is a 400, `vintage_dates` overrides the
window, metadata under an old window still says things of today.
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

from tests.fakes.upstream import Seen, Sent, Upstream

TODAY = "2026-11-20"
KEY = "abcdefghijklmnopqrstuvwxyz012345"
SYNTHETIC = [
    # series, period, known from, value: the first quarter is revised twice
    ("SYNGDP", "2016-01-01", "2016-04-28", "100.0"),
    ("SYNGDP", "2016-01-01", "2016-05-27", "101.5"),
    ("SYNGDP", "2016-01-01", "2017-07-28", "99.0"),
    ("SYNGDP", "2016-04-01", "2016-07-29", "102.0"),
    ("SYNGDP", "2016-07-01", "2016-10-28", "103.0"),
    ("SYNGDP", "2016-10-01", "2017-01-27", "104.0"),
    ("SYNPAY", "2016-05-01", "2016-06-03", "1000"),
    ("SYNPAY", "2016-06-01", "2016-07-08", "1010"),
    ("SYNPAY", "2016-05-01", "2016-07-08", "995"),
    ("SYNPAY", "2016-07-01", "2016-08-05", "."),
]


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
        for at, (known, value) in enumerate(states):
            last = states[at + 1][0] if at + 1 < len(states) else None
            end = (date.fromisoformat(last) - timedelta(days=1)).isoformat() if last else "9999-12-31"
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
        start, end = (
            q.get("realtime_start", "1776-07-04" if whole else self.today),
            q.get("realtime_end", self.today),
        )
        for day in (start, end):
            if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", day):
                return _bad("Variable realtime_start is not a date.")
        if start > end:
            return _bad("Variable realtime_start can not be later than realtime_end.")
        if end > self.today and end != "9999-12-31":
            return _bad("Variable realtime_end can not be after today.")
        routes = {
            "/series/observations": self._observations,
            "/series": self._series,
            "/series/search": self._search,
            "/release/series": self._search,
            "/category/series": self._search,
            "/series/vintagedates": self._vintages,
            "/series/tags": self._tags,
            "/tags": self._tags,
            "/category/children": self._children,
        }
        route = routes.get(seen.path)
        if route is None:
            return Sent({"error_code": 404, "error_message": "Not Found"}, 404)
        return route(q, start, end)

    def _known(self, series: str, end: str) -> bool:
        return series in self.values and min(v.start for v in self.values[series]) <= end

    def _observations(self, q: dict[str, str], start: str, end: str) -> Sent:
        series = q.get("series_id", "")
        if not self._known(series, end):
            return _bad("The series does not exist in ALFRED but may exist in FRED.")
        if q.get("vintage_dates"):
            start, end = q["vintage_dates"].split(",")[0], q["vintage_dates"].split(",")[-1]
        first, last = q.get("observation_start", "1776-07-04"), q.get("observation_end", "9999-12-31")
        if len({v.start for v in self.values[series] if start <= v.start <= end}) > 2000:
            return _bad(f"Exceeded the maximum number of vintage dates allowed (2000) by series {series}.")
        found = [
            {
                "realtime_start": max(v.start, start),
                "realtime_end": min(v.end, end),
                "date": v.period,
                "value": v.value,
            }
            for v in self.values[series]
            if v.start <= end and v.end >= start and first <= v.period <= last
        ]
        found.sort(key=lambda r: (r["date"], r["realtime_start"]), reverse=q.get("sort_order") == "desc")
        offset, limit = int(q.get("offset", 0)), int(q.get("limit", 100000))
        return Sent(
            {
                "realtime_start": start, "realtime_end": end, "observation_start": first, "observation_end": last,
                "units": "lin", "output_type": 1, "file_type": "json", "order_by": "observation_date",
                "sort_order": q.get("sort_order", "asc"), "count": len(found), "offset": offset, "limit": limit,
                "observations": found[offset : offset + limit],
            }
        )  # fmt: skip

    def _record(self, series: str, start: str, end: str) -> dict[str, Any]:
        values = self.values[series]
        return {
            "id": series, "realtime_start": start, "realtime_end": end, "title": f"Series {series}",
            "observation_start": min(v.period for v in values), "observation_end": max(v.period for v in values),
            "frequency": "Monthly", "frequency_short": "M", "units": "Index", "units_short": "Index",
            "seasonal_adjustment": "Seasonally Adjusted", "seasonal_adjustment_short": "SA",
            "last_updated": f"{self.today} 07:41:03-06", "popularity": 77, "notes": "Notes.",
        }  # fmt: skip

    def _series(self, q: dict[str, str], start: str, end: str) -> Sent:
        series = q.get("series_id", "")
        if not self._known(series, end):
            return _bad("The series does not exist.")
        return Sent(
            {"realtime_start": start, "realtime_end": end, "seriess": [self._record(series, start, end)]}
        )

    def _search(self, q: dict[str, str], start: str, end: str) -> Sent:
        words = q.get("search_text", "").lower()
        found = [
            self._record(s, start, end)
            for s in sorted(self.values)
            if words in s.lower() and self._known(s, end)
        ]
        offset, limit = int(q.get("offset", 0)), int(q.get("limit", 1000))
        return Sent(
            {
                "realtime_start": start, "realtime_end": end, "order_by": "search_rank", "sort_order": "desc",
                "count": len(found), "offset": offset, "limit": limit, "seriess": found[offset : offset + limit],
            }
        )  # fmt: skip

    def _vintages(self, q: dict[str, str], start: str, end: str) -> Sent:
        series = q.get("series_id", "")
        # the bounds default to the whole history here; the server is asked to hand out later days too
        days = sorted({v.start for v in self.values.get(series, [])})
        return Sent(
            {
                "realtime_start": start,
                "realtime_end": end,
                "count": len(days),
                "offset": 0,
                "limit": 10000,
                "vintage_dates": days,
            }
        )

    def _tags(self, q: dict[str, str], start: str, end: str) -> Sent:
        tags = [
            {"name": "old", "group_id": "gen", "notes": "", "created": "2012-02-27 10:18:19-06", "popularity": 60, "series_count": 9},
            {"name": "new", "group_id": "gen", "notes": "", "created": "2024-02-27 10:18:19-06", "popularity": 60, "series_count": 9},
        ]  # fmt: skip
        return Sent(
            {
                "realtime_start": start,
                "realtime_end": end,
                "count": 2,
                "offset": 0,
                "limit": 1000,
                "tags": tags,
            }
        )

    def _children(self, q: dict[str, str], start: str, end: str) -> Sent:
        return Sent({"categories": [{"id": 16, "name": "Exports", "parent_id": 13}]})


def _xml(sent: Sent) -> Sent:
    """The same in the service's other format: the rows as elements, all else as attributes."""
    body: dict[str, Any] = sent.body
    if "error_message" in body:
        fields = {"code": str(body["error_code"]), "message": body["error_message"]}
        return Sent(
            ElementTree.tostring(ElementTree.Element("error", fields)),
            sent.status,
            {"content-type": "text/xml"},
        )
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
