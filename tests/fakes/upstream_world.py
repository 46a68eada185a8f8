"""Every vendor at once: answers for each endpoint of the catalogue, in which each fact bears a hidden label.

A world is made of moments around a cutoff. For each moment the emulator writes a row as that vendor would, and
labels it by *its own* account of when the fact was out (a filing's acceptance, a bar's close, a release day): known
before the cutoff, known after it, or too close to call where a careful broker may leave it out. Labels are tokens
inside the rows. None of this uses the broker's policies, stamps or codecs.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from tests.fakes.upstream import Seen, Sent

NY = ZoneInfo("America/New_York")
DAY = timedelta(days=1)
JUNK = [
    "",
    None,
    "n/a",
    "2024-13-45",
    "01/05/2031",
    "1st Jan 2031",
    "0000-00-00",
    "99999999999999999999",
    [],
    {},
    True,
    -1.5,
]
Fields = dict[str, Any]


@dataclass(frozen=True)
class Fact:
    """One row's stamps, and when it was really out; ``slack`` is how much later a careful broker may believe it."""

    fields: Fields
    known: datetime
    slack: timedelta = timedelta(0)


Writer = Callable[[datetime], Fact]


def ny(moment: datetime) -> datetime:
    return moment.astimezone(NY)


def at(day: date, clock: time, zone: Any = NY) -> datetime:
    return datetime.combine(day, clock, tzinfo=zone).astimezone(UTC)


def day_of(name: str, clock: time = time(16), zone: Any = NY, slack: timedelta = timedelta(0)) -> Writer:
    """A fact stamped with its day, out at a time of that day."""
    return lambda m: Fact({name: ny(m).date().isoformat()}, at(ny(m).date(), clock, zone), slack)


def day_only(name: str, **more: Any) -> Writer:
    """A fact stamped with the day it came out, some time in the evening of that day."""
    return lambda m: Fact({name: ny(m).date().isoformat(), **more}, at(ny(m).date(), time(19)), DAY)


def bar(minutes: int) -> Writer:
    def write(m: datetime) -> Fact:
        start = ny(m).replace(second=0, microsecond=0, minute=0, fold=0)
        true_start = start.replace(tzinfo=None)
        known = true_start.replace(tzinfo=NY, fold=0).astimezone(UTC) + timedelta(minutes=minutes)
        return Fact({"date": true_start.strftime("%Y-%m-%d %H:%M:%S")}, known, timedelta(hours=2))

    return write


def event(
    name: str, form: str = "%Y-%m-%dT%H:%M:%SZ", zone: Any = UTC, slack: timedelta = timedelta(seconds=2)
) -> Writer:
    """A fact stamped with the instant it came out."""

    def write(m: datetime) -> Fact:
        local = m.astimezone(zone).replace(microsecond=0, fold=0)
        back = local.replace(tzinfo=None).replace(tzinfo=zone).astimezone(UTC)
        return Fact(
            {name: local.strftime(form)}, back, max(slack, timedelta(hours=1) if zone is not UTC else slack)
        )

    return write


def filed(name: str, period: str = "date", behind: int = 40) -> Writer:
    """A report of a period that ended weeks before it was accepted."""

    def write(m: datetime) -> Fact:
        stamp = event(name, "%Y-%m-%d %H:%M:%S", NY)(m)
        return Fact(
            {period: (ny(m).date() - timedelta(days=behind)).isoformat(), **stamp.fields},
            stamp.known,
            stamp.slack,
        )

    return write


def lagging(name: str, true_days: int, believed_days: int, **more: Any) -> Writer:
    """A fact stamped with its period's end, out some days later."""

    def write(m: datetime) -> Fact:
        end = ny(m).date() - timedelta(days=true_days)
        return Fact(
            {name: end.isoformat(), **more},
            at(ny(m).date(), time(17)),
            timedelta(days=believed_days - true_days + 2),
        )

    return write


def epoch(name: str, slack: timedelta = timedelta(seconds=2)) -> Writer:
    return lambda m: Fact({name: int(m.timestamp())}, m.replace(microsecond=0), slack)


def insider_totals(m: datetime) -> Fact:
    quarter = (ny(m).month - 1) // 3
    year = ny(m).year
    end = (
        date(year, 10, 1) if quarter == 2 else date(year + (quarter == 3), (3 * quarter + 3) % 12 + 1, 1)
    ) - DAY
    return Fact({"year": year, "quarter": quarter + 1}, at(end, time(23)), timedelta(days=12))


def fiscal_year(name: str) -> Writer:
    """Known in the middle of the year after."""
    return lambda m: Fact(
        {name: str(ny(m).year)}, at(date(ny(m).year + 1, 4, 15), time(12)), timedelta(days=90)
    )


def month_tally(m: datetime) -> Fact:
    first = ny(m).date().replace(day=1)
    return Fact({"date": first.isoformat()}, at(first + timedelta(days=27), time(20)), timedelta(days=6))


NOW_ONLY: Writer | None = None
FMP: list[tuple[str, Writer | None]] = [
    (r"crypto/end-of-day", day_of("date", time(23, 59, 59), UTC, timedelta(hours=10))),
    (r"(commodity|forex)/end-of-day", day_of("date", time(17))),
    (r"historical-price-eod|market-cap|market-performance", day_of("date")),
    (r"treasury-rates", day_of("date", time(18))),
    (r"historical-chart/1min", bar(1)),
    (r"historical-chart/5min", bar(5)),
    (r"historical-chart/15min", bar(15)),
    (r"historical-chart/30min", bar(30)),
    (r"historical-chart/1hour", bar(60)),
    (r"historical-chart/4hour", bar(240)),
    (r"technical-indicators", lambda m: Fact({"date": f"{ny(m).date()} 00:00:00"}, at(ny(m).date(), time(16)), DAY)),
    (r"economic-calendar", event("date", "%Y-%m-%d %H:%M:%S", UTC, timedelta(hours=6))),
    (r"historical-employee-count", filed("acceptanceTime", "periodOfReport")),
    (r"(income|balance-sheet|cash-flow)-statement(-ttm)?$", filed("acceptedDate")),
    (r"governance-executive|institutional-ownership/extract$|mergers|esg-disclosures|funds/disclosure$|beneficial", filed("acceptedDate")),
    (r"dividends/dividends", lambda m: Fact({"date": (ny(m).date() + timedelta(days=20)).isoformat(), **day_only("declarationDate")(m).fields}, at(ny(m).date(), time(19)), DAY)),
    (r"senate", day_only("disclosureDate")),
    (r"insider-trading/(latest|search)|extract-analytics/holder", day_only("filingDate")),
    (r"earning-call-transcript", day_only("date")),
    (r"historical-constituents", day_only("date")),
    (r"/news/", event("publishedDate", "%Y-%m-%d %H:%M:%S", NY)),
    (r"cryptocurrency-list", day_only("icoDate")),
    (r"company/profile|sec-profile", day_only("ipoDate")),
    (r"etf/info", day_only("inceptionDate")),
    (r"commitment-of-traders-analysis", lagging("date", 3, 4)),
    (r"form-13f", lagging("date", 45, 46)),
    (r"disclosure-dates", lagging("date", 60, 65)),
    (r"disclosure-holders-latest", lagging("dateReported", 60, 65)),
    (r"grades-historical", month_tally),
    (r"insider-trading/statistics", insider_totals),
    (r"executive-compensation-benchmark", fiscal_year("year")),
    (r"esg-ratings", fiscal_year("fiscalYear")),
    (r".", NOW_ONLY),
]  # fmt: skip
OTHER: dict[str, Writer | None] = {
    "kalshi/markets": event("open_time"),
    "kalshi/market": event("open_time"),
    "kalshi/events": event("open_time"),
    "kalshi/event": event("open_time"),
    "kalshi/candlesticks": epoch("end_period_ts"),
    "kalshi/historical-candlesticks": epoch("end_period_ts"),
    "kalshi/event-candlesticks": epoch("end_period_ts"),
    "kalshi/batch-candlesticks": epoch("end_period_ts"),
    "kalshi/trades": event("created_time", "%Y-%m-%dT%H:%M:%S.123456Z"),
    "polymarket/markets": event("createdAt"),
    "polymarket/market": event("createdAt"),
    "polymarket/events": event("createdAt"),
    "polymarket/event": event("createdAt"),
    "polymarket/search": event("createdAt"),
    "polymarket/prices-history": epoch("t"),
    "polymarket/batch-prices-history": epoch("t"),
    "polymarket/trades": epoch("timestamp"),
    "wikipedia/page": event("timestamp"),
    "wikipedia/sections": event("timestamp"),
    "wikipedia/revisions": event("timestamp"),
    "wikipedia/search": event("timestamp"),
    "wikipedia/pageviews": lambda m: Fact(
        {"timestamp": m.strftime("%Y%m%d00")}, at(m.date() + DAY, time(12), UTC), 2 * DAY
    ),
    "yfinance/history": lambda m: Fact(
        {"timestamp": int(at(ny(m).date(), time(9, 30)).timestamp())}, at(ny(m).date(), time(16))
    ),
    "yfinance/actions": lambda m: Fact(
        {"date": int(at(ny(m).date(), time(9, 30)).timestamp())}, at(ny(m).date(), time(9, 30)), DAY
    ),
    "yfinance/fundamentals": lagging("asOfDate", 35, 60, periodType="3M"),
    "yfinance/upgrades-downgrades": epoch("epochGradeDate"),
    "yfinance/earnings-dates": event("startdatetime", "%Y-%m-%dT%H:%M:%S.000Z", UTC, DAY),
    "yfinance/news": event("pubDate"),
    "dbnomics/release": lambda m: Fact({}, m),
    "exa/search/search": event("publishedDate", "%Y-%m-%dT%H:%M:%S.000Z"),
    "exa/search/findsimilar": event("publishedDate", "%Y-%m-%dT%H:%M:%S.000Z"),
    "brave/web": event("page_age", "%Y-%m-%dT%H:%M:%S", UTC, timedelta(hours=6)),
    "brave/news": event("page_age", "%Y-%m-%dT%H:%M:%S", UTC, timedelta(hours=6)),
    "fred/releases/release/dates": day_only("date"),
}


def writer_of(path: str) -> Writer | None:
    if path.startswith("fmp/"):
        return next(writer for pattern, writer in FMP if re.search(pattern, path))
    return OTHER.get(path)


@dataclass
class World:
    """One state of all vendors around a cutoff.

    ``moments`` are when facts come out; ``early`` and ``late`` collect the tokens handed out, by what they are.
    """

    cutoff: datetime
    moments: list[datetime]
    junk: list[Any] = field(default_factory=list)
    early: set[str] = field(default_factory=set)
    late: set[str] = field(default_factory=set)
    path: str = ""
    fields: tuple[str, ...] = ()
    open_rows: bool = False
    snapshot: bool = False
    seen: list[Seen] = field(default_factory=list)
    _made: dict[tuple[str, int], str] = field(default_factory=dict)

    # -- tokens ---------------------------------------------------------------------------------------------

    def token(self, kind: str, number: int) -> str:
        text = f"{kind}x{number:04d}z"
        if kind == "late":
            self.late.add(text)
        elif kind == "early":
            self.early.add(text)
        return text

    def label(self, fact: Fact) -> str:
        if fact.known > self.cutoff:
            return "late"
        return "early" if fact.known + fact.slack < self.cutoff else "grey"

    def later(self) -> str:
        """A token of something that is only known today."""
        return self.token("late", 9000 + len(self.late))

    # -- rows -----------------------------------------------------------------------------------------------

    def rows(self, writer: Writer, *, token_field: str) -> list[Fields]:
        """Rows of all moments, then rows whose date is missing or broken, which nobody can vouch for."""
        out = []
        for number, moment in enumerate(self.moments):
            fact = writer(moment)
            row = {**fact.fields, token_field: self.token(self.label(fact), number)}
            out.append(row if self.open_rows else {**row, "surprise": self.later()})
        if self.moments:
            stamps = [
                name
                for name in writer(self.moments[0]).fields
                if name not in ("periodType", "quarter", "period")
            ]
            for bad in self.junk:
                out.append({**{name: bad for name in stamps}, token_field: self.later()})
        return out

    def token_field(self, *stamps: str) -> str:
        avoid = {
            *stamps,
            "date",
            "symbol",
            "cik",
            "fiscalYear",
            "period",
            "year",
            "quarter",
            "acceptedDate",
            "filingDate",
        }
        avoid |= {
            "periodOfReport",
            "acceptanceTime",
            "title",
            "text",
            "declarationDate",
            "publishedDate",
            "disclosureDate",
        }
        avoid |= {"ipoDate", "inceptionDate", "icoDate", "dateReported", "isEtf"}
        plain = next((name for name in reversed(self.fields) if name not in avoid), None)
        return plain or next(name for name in ("year", "fiscalYear", "symbol") if name in self.fields)

    # -- answers --------------------------------------------------------------------------------------------

    def answer(self, seen: Seen) -> Sent:
        self.seen.append(seen)
        if self.snapshot:
            return Sent({"token": self.later(), "results": [{"title": self.later()}], "book": self.later()})
        if self.path in SINGLE:
            self.moments = self.moments[:1]
        _, source, rest = (seen.path + "/").split("/", 2)
        return getattr(self, f"_{source}")(rest.rstrip("/"), seen)

    def _envelope(self, payload: Fields) -> Fields:
        return {**payload, "surprise_rows": [{"token": self.later()}]}

    def _fmp(self, rest: str, seen: Seen) -> Sent:
        if int(seen.query.get("page", 0)) > 0:
            return Sent([])
        if rest == "income-statement" and not self.path.endswith("/income-statement"):
            return Sent(self._reports())
        helping = not self.path.endswith(rest) or seen.query.get("from", "1950-01-01") != "1950-01-01"
        if rest.startswith("historical-price-eod/") and helping:
            day = (ny(self.cutoff).date() - 3 * DAY).isoformat()
            return Sent([{"date": day, "close": 10.0, "price": 10.0, "adjClose": 10.0}])
        if self.path in JOINED:
            return Sent(self._joined())
        writer = writer_of(self.path)
        if writer is None:
            return Sent(self._now_only())
        name = self.token_field()
        rows = self.rows(writer, token_field=name)
        if "company/profile" in self.path or "sec-profile" in self.path or "etf/info" in self.path:
            rows = [row for row in rows if isinstance(next(iter(row.values())), str) and row.get("surprise")]
            rows = [
                {**row, "ceo": self.later(), "description": self.later(), "updatedAt": self.later()}
                for row in rows
            ]
        if self.path.endswith("-snapshot"):
            rows = [row for row in rows if row.get("date") == seen.query["date"]]
            self.early &= {str(row.get(name)) for row in rows}
        return Sent(rows)

    def _now_only(self) -> list[Fields]:
        """A list without dates: kept fields are timeless, what else the vendor sends is of today."""
        name = self.token_field()
        return [
            {name: self.token("early", n), "price": self.later(), "marketCap": self.later()} for n in range(3)
        ]

    def _periods(self) -> Iterable[tuple[int, datetime, date]]:
        ends: set[date] = set()
        for number, moment in enumerate(self.moments):
            end = ny(moment).date() - timedelta(days=35)
            # two reports of nearly one period are one report
            if all(abs((end - other).days) > 40 for other in ends):
                ends.add(end)
                yield number, moment, end

    def _reports(self) -> list[Fields]:
        return [
            {
                "symbol": "X", "date": end.isoformat(), "fiscalYear": str(1900 + n), "period": "Q1",
                "acceptedDate": ny(moment).strftime("%Y-%m-%d %H:%M:%S"),
            }
            for n, moment, end in self._periods()
            if n % 3 or "msd" in self.path
        ]  # fmt: skip

    def _joined(self) -> list[Fields]:
        name = (
            next(
                n
                for n in reversed((*self.fields, "symbol"))
                if n
                not in ("date", "fiscalYear", "period", "symbol", "linkXlsx", "linkJson", "x", "valueType")
            )
            if len(self.fields) > 3
            else "symbol"
        )
        out = []
        for number, moment, end in self._periods():
            matched = (number % 3 or "msd" in self.path) and not self.path.endswith("-post")
            fact = Fact(
                {}, moment.replace(microsecond=0), timedelta(hours=2) if matched else timedelta(days=70 + 366)
            )
            row = {"symbol": "X", "date": end.isoformat(), "fiscalYear": str(1900 + number), "period": "Q1"}
            if self.path.endswith("financial-reports-dates") and not matched:
                row["fiscalYear"] = str(end.year)
            out.append({**row, name: self.token(self.label(fact), number), "surprise": self.later()})
        out += [{"date": bad, "fiscalYear": bad, "period": "Q1", name: self.later()} for bad in self.junk]
        return out

    def _msd(self, rest: str, seen: Seen) -> Sent:
        if rest == "companies" and seen.method == "GET":
            return Sent([self.token("early", n) for n in range(3)])
        if rest.endswith("/kpi"):
            return Sent([{"label": self.token("early", 1), "columnName": "a", "price": self.later()}])
        values = [{"x": row["date"], "y": row["symbol"], "surprise": self.later()} for row in self._joined()]
        metrics = [{"name": "units", "values": values}]
        if rest == "companies":
            return Sent(self._envelope({"companies": [{"company": {"ticker": "X"}, "metrics": metrics}]}))
        return Sent(self._envelope({"company": {"ticker": "X"}, "metrics": metrics}))

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
        now = {
            "last_updated": self.later(),
            "popularity": self.later(),
            "observation_end": self.later(),
            "series_count": self.later(),
        }
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
        if kind == "GEO_MAP":
            places = [{"geo": "US", "name": "US", "values": [{"value": self.token(honest, 0)}]}]
            return Sent(self._envelope({"interest_by_region": places}))
        if kind != "TIMESERIES":
            name = "related_queries" if kind == "RELATED_QUERIES" else "related_topics"
            return Sent(self._envelope({name: {"top": [{"query": self.token(honest, 0)}], "rising": []}}))
        rows = [
            {
                "date": "x",
                "timestamp": str(int(at(day, time(0), UTC).timestamp())),
                "values": [{"value": self.token(honest, n)}],
            }
            for n, day in enumerate(stamps[-20:])
        ]
        return Sent(self._envelope({"interest_over_time": {"timeline_data": rows}}))

    def _exa(self, rest: str, seen: Seen) -> Sent:
        return Sent(
            {
                **self._envelope({"results": self._hits("publishedDate", "text")}),
                "autopromptString": self.later(),
            }
        )

    def _brave(self, rest: str, seen: Seen) -> Sent:
        hits = self._hits("page_age", "description")
        if rest.startswith("news"):
            return Sent(self._envelope({"results": hits}))
        return Sent(
            {
                **self._envelope({"web": {"results": hits}}),
                "infobox": self.later(),
                "summarizer": {"key": self.later()},
            }
        )

    def _hits(self, stamp: str, text: str) -> list[Fields]:
        writer = writer_of(self.path)
        assert writer is not None
        hits = [
            {
                "title": "A page",
                "summary": self.later(),
                "age": self.later(),
                "extras": {"links": [self.later()]},
                **row,
            }
            for row in self.rows(writer, token_field="url")
        ]
        ahead = ny(self.cutoff).date() + timedelta(days=1 + len(self.moments))
        old = writer(self.cutoff - timedelta(days=500))
        told = [ahead.isoformat(), ahead.strftime("%B %-d, %Y"), ahead.strftime("%-d %b %Y")]
        hits += [
            {**old.fields, "title": "Old page", "url": self.later(), text: f"As of {words} it rose."}
            for words in told
        ]
        return hits

    def _kalshi(self, rest: str, seen: Seen) -> Sent:
        writer = writer_of(self.path)
        now = {
            "status": self.later(),
            "result": self.later(),
            "close_time": self.later(),
            "last_price_dollars": self.later(),
        }
        if self.path == "kalshi/series":
            return Sent(
                {"series": {"ticker": "FED", "title": self.token("early", 0), "volume": self.later()}}
            )
        assert writer is not None
        if "candlesticks" in self.path:
            rows = self.rows(writer, token_field="volume_fp")
            if self.path == "kalshi/event-candlesticks":
                only_late = {"end_period_ts": int(self.cutoff.timestamp()) + 5, "volume_fp": self.later()}
                return Sent(
                    self._envelope(
                        {
                            "market_tickers": ["A", self.later()],
                            "market_candlesticks": [rows, [only_late]],
                            "adjusted_end_ts": 1,
                        }
                    )
                )
            if self.path == "kalshi/batch-candlesticks":
                return Sent(
                    self._envelope(
                        {
                            "markets": [
                                {
                                    "market_ticker": "A",
                                    "candlesticks": rows,
                                    **({} if self.open_rows else now),
                                }
                            ]
                        }
                    )
                )
            return Sent(self._envelope({"ticker": "A", "candlesticks": rows}))
        if self.path == "kalshi/trades":
            return Sent(self._envelope({"trades": self.rows(writer, token_field="trade_id"), "cursor": ""}))
        rows = [{**row, **now} for row in self.rows(writer, token_field="title")]
        if self.path == "kalshi/markets":
            return Sent(self._envelope({"markets": rows, "cursor": ""}))
        if self.path == "kalshi/market":
            return Sent({"market": rows[0]})
        if self.path == "kalshi/events":
            unborn = [{"open_time": "2999-01-01T00:00:00Z", "title": self.later()}]
            return Sent(
                self._envelope(
                    {
                        "events": [
                            {"event_ticker": "E", "markets": rows, "status": self.later()},
                            {"event_ticker": self.later(), "markets": unborn},
                            {"event_ticker": self.later()},
                        ],
                        "cursor": "",
                    }
                )
            )
        return Sent(self._envelope({"event": {"event_ticker": "E", "markets": rows, **now}, "markets": rows}))

    def _polymarket(self, rest: str, seen: Seen) -> Sent:
        writer = writer_of(self.path)
        now = {
            "outcomePrices": self.later(),
            "closed": self.later(),
            "volumeNum": self.later(),
            "updatedAt": self.later(),
        }
        if int(seen.query.get("offset", 0)) > 0:
            return Sent([])
        if self.path == "polymarket/tags":
            return Sent([{"id": "1", "label": self.token("early", 0), "updatedAt": self.later()}])
        assert writer is not None
        if self.path == "polymarket/trades":
            return Sent(self.rows(writer, token_field="outcome"))
        if self.path == "polymarket/prices-history":
            return Sent(self._envelope({"history": self.rows(writer, token_field="p")}))
        if self.path == "polymarket/batch-prices-history":
            return Sent(self._envelope({"history": {"1": self.rows(writer, token_field="p"), "2": []}}))
        rows = [
            {**row, **now}
            for row in self.rows(
                writer, token_field="title" if "event" in self.path or "search" in self.path else "question"
            )
        ]
        if self.path == "polymarket/events":
            inner = [{**row, "question": row["title"]} for row in rows]
            return Sent(
                [*rows, {"createdAt": "2000-01-01T00:00:00Z", "title": "old", "markets": inner, **now}]
            )
        if self.path == "polymarket/search":
            return Sent(self._envelope({"events": rows}))
        if self.path == "polymarket/event":
            return Sent({**rows[0], "markets": [{**row, "question": row["title"]} for row in rows[:1]]})
        return Sent(rows if self.path == "polymarket/markets" else rows[0])

    def _wikipedia(self, rest: str, seen: Seen) -> Sent:
        writer = event("timestamp")
        if rest.startswith("wikimedia"):
            made = writer_of(self.path)
            assert made is not None
            return Sent(self._envelope({"items": self.rows(made, token_field="views")}))
        if self.path == "wikipedia/search":
            if seen.query.get("list") == "search":
                hits = [
                    {"pageid": n, "title": self.token(self.label(writer(m)), n), "snippet": self.later()}
                    for n, m in enumerate(self.moments)
                ]
                return Sent({"query": {"search": hits}})
            number = int(seen.query["pageids"])
            return Sent(
                {"query": {"pages": [{"pageid": number, "revisions": [writer(self.moments[number]).fields]}]}}
            )
        if self.path == "wikipedia/revisions":
            return Sent(
                {"query": {"pages": [{"title": "T", "revisions": self.rows(writer, token_field="comment")}]}}
            )
        # the newest revision up to rvstart, as the service does; one that ignores it is a hostile answer
        facts = sorted((writer(m) for m in self.moments), key=lambda fact: fact.known)
        wanted = (
            datetime.fromisoformat(seen.query["rvstart"])
            if "rvstart" in seen.query
            else datetime.max.replace(tzinfo=UTC)
        )
        standing = [fact for fact in facts if fact.known <= wanted]
        if not standing:
            return Sent({"query": {"pages": [{"title": "T", "missing": True}]}})
        fact = standing[-1]
        text = f"Lead.\n== {self.token(self.label(fact), 0)} ==\nText."
        return Sent(
            {
                "query": {
                    "pages": [
                        {
                            "title": "T",
                            "touched": self.later(),
                            "revisions": [{"revid": 1, **fact.fields, "slots": {"main": {"content": text}}}],
                        }
                    ]
                }
            }
        )

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
                                {"code": "A", "name": self.token("early", 0), "indexed_at": self.later()}
                            ],
                            "num_found": 1,
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
            "period": starts,
            "period_start_day": starts,
            "value": values,
            "indexed_at": self.later(),
        }
        wild = {**doc, "@frequency": "tri-annual", "value": [self.later() for _ in starts]}
        return Sent(self._envelope({"series": {"docs": [doc, wild] if starts else [doc], "num_found": 2}}))

    def _yfinance(self, rest: str, seen: Seen) -> Sent:
        if rest.endswith("getcrumb"):
            return Sent(b"crumb1")
        writer = writer_of(self.path)
        if self.path == "yfinance/search":
            return Sent(
                self._envelope(
                    {
                        "quotes": [
                            {"symbol": "A", "shortname": self.token("early", 0), "score": self.later()}
                        ],
                        "news": [{"title": self.later()}],
                    }
                )
            )
        if self.path == "yfinance/lookup":
            return Sent(
                {
                    "finance": {
                        "result": [
                            {
                                "documents": [
                                    {
                                        "symbol": "A",
                                        "shortName": self.token("early", 0),
                                        "regularMarketPrice": self.later(),
                                    }
                                ]
                            }
                        ]
                    }
                }
            )
        assert writer is not None
        if self.path in ("yfinance/history", "yfinance/actions"):
            return Sent(self._chart(writer, seen))
        if self.path == "yfinance/fundamentals":
            rows = [{**row, "currencyCode": "USD"} for row in self.rows(writer, token_field="dataId")]
            return Sent(
                {
                    "timeseries": {
                        "result": [
                            {
                                "meta": {"type": ["x"]},
                                "timestamp": [1] * len(rows),
                                "quarterlyTotalRevenue": rows,
                            }
                        ],
                        "error": None,
                    }
                }
            )
        if self.path == "yfinance/upgrades-downgrades":
            rows = [
                {**row, "currentPriceTarget": self.later()} for row in self.rows(writer, token_field="firm")
            ]
            return Sent(
                {"quoteSummary": {"result": [{"upgradeDowngradeHistory": {"history": rows}}], "error": None}}
            )
        if self.path == "yfinance/earnings-dates":
            rows = self.rows(writer, token_field="epsactual")
            columns = ["startdatetime", "epsactual", "surprise"]
            return Sent(
                {
                    "finance": {
                        "result": [
                            {
                                "documents": [
                                    {
                                        "columns": [{"id": c} for c in columns],
                                        "rows": [[row.get(c) for c in columns] for row in rows],
                                    }
                                ]
                            }
                        ]
                    }
                }
            )
        rows = [{"content": {**row, "title": row["title"]}} for row in self.rows(writer, token_field="title")]
        return Sent({"data": {"tickerStream": {"stream": rows}}})

    def _chart(self, writer: Writer, seen: Seen) -> Fields:
        whole = seen.query.get("events") == "div,splits" and seen.query.get("period2", "").startswith("41")
        days: dict[int, tuple[str, Fact]] = {}
        bars = OTHER["yfinance/history"]
        assert bars is not None
        for number, moment in enumerate(self.moments):
            fact = bars(moment)
            if fact.fields["timestamp"] in days:
                continue
            days[fact.fields["timestamp"]] = (
                self.token("helper" if self.path.endswith("actions") else self.label(fact), number),
                fact,
            )
        stamps = sorted(days)
        quote = {
            "open": [days[s][0] for s in stamps],
            "close": [10.0 for _ in stamps],
            "volume": [5 for _ in stamps],
            "high": [1],
            "surprise": [self.later() for _ in stamps],
        }
        acts = OTHER["yfinance/actions"]
        assert acts is not None
        dividends = {}
        for number, moment in enumerate(self.moments):
            fact = acts(moment)
            name = self.token("helper" if whole else self.label(fact), 500 + number)
            dividends[str(fact.fields["date"] + number)] = {"date": fact.fields["date"], "amount": name}
        splits = {
            "1": {
                "date": int((self.cutoff + 9 * DAY).timestamp()),
                "numerator": 4,
                "denominator": 1,
                "splitRatio": self.later(),
            }
        }
        return {
            "chart": {
                "result": [
                    {
                        "meta": {
                            "currency": "USD",
                            "exchangeTimezoneName": "America/New_York",
                            "regularMarketPrice": self.later(),
                        },
                        "timestamp": stamps,
                        "indicators": {"quote": [quote], "adjclose": [{"adjclose": [9.0 for _ in stamps]}]},
                        "events": {"dividends": dividends, "splits": splits},
                    }
                ],
                "error": None,
            }
        }


# one thing is asked for, and is refused when it came later
SINGLE = frozenset({"kalshi/market", "polymarket/market", "polymarket/event"})
JOINED = frozenset(
    f"fmp/statements/{tail}"
    for tail in (
        "ratios/key-metrics", "ratios/ratios", "analysis/owner-earnings", "analysis/enterprise-values",
        "growth/income-statement-growth", "growth/balance-sheet-statement-growth", "growth/cash-flow-statement-growth",
        "growth/financial-growth", "formats/financial-reports-dates", "segmentation/revenue-product-segmentation",
        "segmentation/revenue-geographic-segmentation", "as-reported/income-statement-as-reported",
        "as-reported/balance-sheet-statement-as-reported", "as-reported/cash-flow-statement-as-reported",
    )
)  # fmt: skip
FRED_KEYS = {
    "category/children": "categories", "category/related": "categories", "category/series": "seriess",
    "category/tags": "tags", "category/related_tags": "tags", "series": "seriess", "series/categories": "categories",
    "series/observations": "observations", "series/search": "seriess", "series/search/tags": "tags",
    "series/search/related_tags": "tags", "series/tags": "tags", "tags": "tags", "related_tags": "tags",
    "tags/series": "seriess", "series/vintagedates": "vintage_dates", "series/release": "releases",
    "release/dates": "release_dates", "releases": "releases", "release/series": "seriess",
}  # fmt: skip
