"""What FRED, Google Trends and DBnomics answer in a world."""

import re
from datetime import UTC, date, time, timedelta

from tests.fakes.upstream import Seen, Sent
from tests.fakes.upstream_facts import DAY, Fact, at, day_only, ny
from tests.fakes.upstream_tokens import SHAPES, Tokens

FRED_KEYS = {
    "category/children": "categories", "category/related": "categories", "category/series": "seriess",
    "category/tags": "tags", "category/related_tags": "tags", "series": "seriess", "series/categories": "categories",
    "series/observations": "observations", "series/search": "seriess", "series/search/tags": "tags",
    "series/search/related_tags": "tags", "series/tags": "tags", "tags": "tags", "related_tags": "tags",
    "tags/series": "seriess", "series/vintagedates": "vintage_dates", "series/release": "releases",
    "release/dates": "release_dates", "releases": "releases", "release/series": "seriess",
}  # fmt: skip


class MacroAnswers(Tokens):
    """Series, vintages, search interest."""

    def _fred(self, rest: str, seen: Seen) -> Sent:
        today = ny(self.cutoff).date()
        if rest == "category":
            return Sent({"categories": [{"id": 1, "name": self.token("early", 0), "parent_id": 0}]})
        key = self.fields[0] if rest == "rows" else FRED_KEYS[rest]
        if rest == "series/vintagedates":
            days = sorted({ny(m).date() for m in self.moments})
            for day in days:
                (self.late if day >= today else self.early if day < today - DAY else set()).add(
                    day.isoformat()
                )
            return Sent(
                self._envelope(
                    {"vintage_dates": [day.isoformat() for day in days] + self.junk, "count": len(days)}
                )
            )
        if rest == "release/dates":
            return Sent(
                self._envelope({key: self.rows(day_only("date"), token_field="release_name"), "count": 7})
            )
        end = seen.query.get("realtime_end", "9999-12-31")
        honest = "early" if end < today.isoformat() else "late"
        name = {"tags": "name", "observations": "value", "seriess": "title"}.get(key, "name")
        now = self.fill(SHAPES["fred/now"], {})
        rows = [{"realtime_start": end, "realtime_end": end, "created": "2001-02-27 10:18:19-06", "date": "2001-01-01", name: self.token(honest, n), **now} for n in range(2)]  # fmt: skip
        after = (today + timedelta(days=len(self.moments) % 5)).isoformat()
        rows.append(
            {
                "realtime_start": after,
                "realtime_end": "9999-12-31",
                "created": f"{after} 10:00:00-06",
                "date": after,
                name: self.later(),
            }
        )
        return Sent(
            self._envelope({"realtime_start": end, "realtime_end": end, "count": 3, "offset": 0, key: rows})
        )

    def _gt(self, rest: str, seen: Seen) -> Sent:
        if seen.query["engine"].endswith("autocomplete"):
            return Sent(
                {
                    "suggestions": [
                        {
                            "id": "1",
                            "title": self.token("early", 0),
                            "type": "Topic",
                            "thumbnail": self.later(),
                        }
                    ]
                }
            )
        kind = seen.query["data_type"]
        first, _, last = seen.query["time"].partition(" ")
        try:
            start, end = date.fromisoformat(first), date.fromisoformat(last)
        except ValueError:  # a window that counts back from today
            start, end = date(2010, 1, 1), date(2040, 1, 1)
        length = (end - start).days
        step = 1 if length <= 269 else 7 if length <= 1890 else 30
        begin = (
            start - timedelta(days=(start.weekday() + 1) % 7)
            if step == 7
            else start.replace(day=1)
            if step == 30
            else start
        )
        stamps = []
        while begin <= end:
            stamps.append(begin)
            begin = (
                (begin + timedelta(days=31)).replace(day=1) if step == 30 else begin + timedelta(days=step)
            )
        over = stamps[-1] + timedelta(days={1: 1, 7: 7, 30: 28}[step])
        # the scale knows the highest point of the window: one bucket past the cutoff taints all
        honest = "late" if at(over, time(0), UTC) > self.cutoff or seen.query.get("tz") != "0" else "early"

        def value(number: int) -> str:
            return self.later() if honest == "late" else self.token(honest, number)

        if kind == "GEO_MAP":
            places = [{"geo": "US", "name": "US", "values": [{"value": value(0)}]}]
            return Sent(self._envelope({"interest_by_region": places}))
        if kind != "TIMESERIES":
            name = "related_queries" if kind == "RELATED_QUERIES" else "related_topics"
            return Sent(self._envelope({name: {"top": [{"query": value(0)}], "rising": []}}))
        rows = [
            {
                "date": "x",
                "timestamp": str(int(at(day, time(0), UTC).timestamp())),
                "values": [{"value": value(n)}],
            }
            for n, day in enumerate(stamps[-20:])
        ]
        return Sent(self._envelope({"interest_over_time": {"timeline_data": rows}}))

    def _dbnomics(self, rest: str, seen: Seen) -> Sent:
        if self.path in ("dbnomics/datasets", "dbnomics/search", "dbnomics/providers"):
            key = {
                "dbnomics/datasets": "datasets",
                "dbnomics/search": "results",
                "dbnomics/providers": "providers",
            }[self.path]
            return Sent(
                self._envelope(
                    {
                        key: {
                            "docs": [
                                {"code": code, "name": self.token("early", n), "indexed_at": self.later()}
                                for n, code in enumerate("AB")
                            ],
                            "num_found": 2,
                        }
                    }
                )
            )
        if self.path == "dbnomics/release":
            month = re.search(r":(\d{4})-(\d{2})", seen.path)
            assert month is not None
            known = at(
                date(int(month[1]) + int(month[2]) // 12, int(month[2]) % 12 + 1, 1) - DAY, time(20), UTC
            )
            row = self.token(self.label(Fact({}, known, 2 * DAY)), 0)
            return Sent(
                self._envelope(
                    {
                        "series": {
                            "docs": [{"series_name": row, "period": ["2001"], "value": [1.0]}],
                            "num_found": 1,
                        }
                    }
                )
            )
        starts, values = [], []
        for number, moment in enumerate(self.moments):
            start = (moment.date() - timedelta(days=60)).replace(day=1)
            end = (start + timedelta(days=32)).replace(day=1) - DAY
            fact = Fact({}, at(end + timedelta(days=30), time(12), UTC), timedelta(days=17))
            starts.append(start.isoformat())
            values.append(self.token(self.label(fact), number))
        doc = {
            "@frequency": "monthly",
            "series_code": "S",
            "series_name": "A series",
            "period": starts,
            "period_start_day": starts,
            "value": values,
            "indexed_at": self.later(),
        }
        wild = {**doc, "@frequency": "tri-annual", "value": [self.later() for _ in starts]}
        return Sent(self._envelope({"series": {"docs": [doc, wild] if starts else [doc], "num_found": 2}}))
