"""Every vendor at once: answers for each endpoint of the catalogue, in which each fact bears a hidden label.

A world is made of moments around a cutoff. For each moment the emulator writes a row as that vendor would, and
labels it by *its own* account of when the fact was out (tests/fakes/upstream_facts.py): known before the cutoff, known
after it, or too close to call where a careful broker may leave it out. Labels are tokens inside the rows. The shapes of
the answers are data (``upstream/answers.json``); here is what hangs on the request. None of this uses the broker's
policies, stamps or codecs.
"""

import contextlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from email.utils import format_datetime
from typing import Any

from tests.fakes.upstream import SHAPES, Seen, Sent
from tests.fakes.upstream_facts import DAY, OTHER, Fact, Fields, at, day_only, event, ny, writer_of
from tests.fakes.upstream_tokens import Tokens

JUNK: list[Any] = [
    "", None, "n/a", "2024-13-45", "01/05/2031", "1st Jan 2031", "0000-00-00", "99999999999999999999", [], {}, True, -1.5,
]  # fmt: skip
# one thing is asked for, and is refused when it came later
SINGLE = ("kalshi/market", "polymarket/market", "polymarket/event")
#: Endpoints by what they answer, and the key under which FRED puts its rows.
_PATHS: dict[str, Any] = SHAPES["paths"]


@dataclass
class World(Tokens):
    """One state of all vendors around a cutoff.

    ``moments`` are when facts come out; ``early`` and ``late`` collect the tokens handed out, by what they are.
    """

    def answer(self, seen: Seen) -> Sent:
        self.seen.append(seen)
        if self.snapshot:
            return Sent(self.shaped("snapshot"))
        if self.path in SINGLE:
            self.moments = self.moments[:1]
        _, source, rest = (seen.path + "/").split("/", 2)
        body = getattr(self, f"_{source}", self._recorded)(rest.rstrip("/"), seen)
        return body if isinstance(body, Sent) else Sent(body)

    def _recorded(self, rest: str, seen: Seen) -> Any:
        """The answer of a vendor without habits of its own."""
        return self.rows_shaped()

    # -- Financial Modeling Prep and Main Street Data: prices, filings, calendars, lists; companies' own figures

    def _fmp(self, rest: str, seen: Seen) -> Any:
        asked = self.path.endswith(rest)  # for itself, not to help another endpoint
        first = seen.query.get("from", "1950-01-01")
        if int(seen.query.get("page", 0)) > 0 or (rest == "splits" and not asked):
            return []
        if rest == "income-statement" and not self.path.endswith("/income-statement"):
            return self._reports()
        if rest.startswith("historical-price-eod/") and (not asked or first != "1950-01-01"):
            return self.each("fmp/close", [{"date": (ny(self.cutoff).date() - 3 * DAY).isoformat()}])
        bars = rest.startswith("historical-chart/")
        if bars and seen.query.get("from") not in ("1950-01-01", seen.query.get("to")):
            return self._bars_before(seen.query["to"], rest.rpartition("/")[2])
        if self.path in _PATHS["joined"]:
            return self._joined()
        if "/constituents/" in self.path:
            return self._changes() if rest.startswith("historical-") else self._members()
        name = self.token_field()
        if self.path in _PATHS["found"]:
            return self._found(name) if asked else self._first_days(seen.query["symbol"])
        if writer_of(self.path) is None:
            # a list without dates: kept fields are timeless, what else the vendor sends is of today
            timeless = [
                {**dict.fromkeys(self.fields, f"S{n}"), name: self.token("early", n)} for n in range(3)
            ]
            return self.each("fmp/now-only", timeless)
        rows = self.rows(self.writer, token_field=name)
        if re.search("company/profile|sec-profile|etf/info", self.path):
            rows = [row for row in rows if isinstance(next(iter(row.values())), str) and row.get("surprise")]
            rows = self.each("fmp/profile", rows)
        if self.path.endswith("-list"):
            rows = [{"symbol": f"S{n}", **row} for n, row in enumerate(rows)]
        if self.path.endswith("-snapshot"):
            rows = [row for row in rows if row.get("date") == seen.query["date"]]
            self.early &= {str(row.get(name)) for row in rows}
        return rows

    def _bars_before(self, last: str, grain: str) -> list[Fields]:
        """Two days of trading in one answer, the last of them given."""
        step = {"1min": 1, "5min": 5}.get(grain, 15)
        days = [date.fromisoformat(last), date.fromisoformat(last) - DAY]
        minutes = range(570, 690, step)
        return [{"date": f"{day} {m // 60:02}:{m % 60:02}:00", "close": 1.0} for day in days for m in minutes]

    def _found(self, name: str) -> Any:
        """What a search finds: at each moment one more was listed, under names of today; the day stands elsewhere."""
        return self.each("fmp/found", [{name: token} for _, token in self.facts()])

    def _first_days(self, symbol: str) -> Any:
        names = [
            (f"S{n}", *(f"{kind}x{n:04d}z" for kind in ("early", "late", "grey")))
            for n in range(len(self.moments))
        ]
        days = [
            self.writer(m).fields for m, known in zip(self.moments, names, strict=True) if symbol in known
        ]
        return self.each("fmp/first-day", days, symbol=symbol)

    def _members(self) -> Any:
        """An index's list of today: at each moment one company joined, and its sector is that of today."""
        joined = [{"symbol": token, **fact.fields} for fact, token in self.facts(day_only("dateFirstAdded"))]
        # whose joining is on no record may be told by nobody, whatever day stands beside its name
        unrecorded = [{"dateFirstAdded": day} for day in (*self.junk, "1957-03-04")]
        return [*self.each("fmp/member", joined), *self.each("fmp/unrecorded-member", unrecorded)]

    def _changes(self) -> Any:
        """An index's changes; whoever left had joined on no record."""
        joined = [{"symbol": token, **fact.fields} for fact, token in self.facts(day_only("date"))]
        undated = self.each("fmp/undated-change", [{"date": bad} for bad in self.junk])
        return [*self.each("fmp/change", joined), *undated]

    def _periods(self) -> Iterable[tuple[int, datetime, date]]:
        ends: set[date] = set()
        for number, moment in enumerate(self.moments):
            end = ny(moment).date() - timedelta(days=35)
            # two reports of nearly one period are one report
            if all(abs((end - other).days) > 40 for other in ends):
                ends.add(end)
                yield number, moment, end

    def _reports(self) -> Any:
        rows = [
            {"date": end.isoformat(), "fiscalYear": str(1900 + n), "acceptedDate": ny(moment).strftime("%Y-%m-%d %H:%M:%S")}
            for n, moment, end in self._periods()
            if n % 3 or "msd" in self.path
        ]  # fmt: skip
        return self.each("fmp/period", rows)

    def _joined(self) -> list[Fields]:
        of_periods = ("date", "fiscalYear", "period", "symbol", "linkXlsx", "linkJson", "x", "valueType")
        plain = [n for n in (*self.fields, "symbol") if n not in of_periods] if len(self.fields) > 3 else []
        name = plain[-1] if plain else "symbol"
        rows = []
        for number, moment, end in self._periods():
            matched = (number % 3 or "msd" in self.path) and not self.path.endswith("-post")
            slack = timedelta(hours=2) if matched else timedelta(days=70 + 366)
            year = (
                end.year if self.path.endswith("financial-reports-dates") and not matched else 1900 + number
            )
            token = self.token(self.label(Fact({}, moment.replace(microsecond=0), slack)), number)
            rows.append(
                {"date": end.isoformat(), "fiscalYear": str(year), "surprise": self.later(), name: token}
            )
        undated = [{"date": bad, "fiscalYear": bad, "period": "Q1", name: self.later()} for bad in self.junk]
        return [*self.each("fmp/period", rows), *undated]

    def _msd(self, rest: str, seen: Seen) -> Any:
        values = self.each("msd/value", [{"x": row["date"], "y": row["symbol"]} for row in self._joined()])
        return self.shaped("msd/companies" if rest == "companies" else "msd/company", values=values)

    # -- FRED, Google Trends and DBnomics: series, vintages, search interest

    def _fred(self, rest: str, seen: Seen) -> Any:
        today = ny(self.cutoff).date()
        if rest == "category":
            return {"categories": [{"id": 1, "name": self.token("early", 0), "parent_id": 0}]}
        key = self.fields[0] if rest == "rows" else _PATHS["fred"][rest]
        if rest == "series/vintagedates":
            days = sorted({ny(m).date() for m in self.moments})
            self.late |= {day.isoformat() for day in days if day >= today}
            self.early |= {day.isoformat() for day in days if day < today - DAY}
            texts = [day.isoformat() for day in days]
            return self.shaped("fred/vintages", days=texts + self.junk, count=len(days))
        if rest == "release/dates":
            rows = self.rows(day_only("date"), token_field="release_name")
            return self.shaped("fred/releases", key={key: rows})
        end = seen.query.get("realtime_end", "9999-12-31")
        honest = "early" if end < today.isoformat() else "late"
        name = {"tags": "name", "observations": "value", "seriess": "title"}.get(key, "name")
        rows = self.each("fred/row", [{name: self.token(honest, n)} for n in range(2)], end=end)
        after = (today + timedelta(days=len(self.moments) % 5)).isoformat()
        rows += self.each(
            "fred/later-row", [{name: self.later()}], after=after, created=f"{after} 10:00:00-06"
        )
        return self.shaped("fred/rows", end=end, key={key: rows})

    def _gt(self, rest: str, seen: Seen) -> Any:
        if seen.query["engine"].endswith("autocomplete"):
            return self.shaped("gt/autocomplete", title=self.token("early", 0))
        kind = seen.query["data_type"]
        first, _, last = seen.query["time"].partition(" ")
        try:
            start, end = date.fromisoformat(first), date.fromisoformat(last)
        except ValueError:  # a window that counts back from today
            start, end = date(2010, 1, 1), date(2040, 1, 1)
        length = (end - start).days
        step = 1 if length <= 269 else 7 if length <= 1890 else 30
        if step == 7:
            start -= timedelta(days=(start.weekday() + 1) % 7)
        elif step == 30:
            start = start.replace(day=1)
        stamps = []
        while start <= end:
            stamps.append(start)
            start = (
                (start + timedelta(days=31)).replace(day=1) if step == 30 else start + timedelta(days=step)
            )
        over = stamps[-1] + timedelta(days={1: 1, 7: 7, 30: 28}[step])
        # the scale knows the highest point of the window: one bucket past the cutoff taints all
        late = at(over, time(0), UTC) > self.cutoff or seen.query.get("tz") != "0"
        shown = stamps[-20:] if kind == "TIMESERIES" else stamps[:1]
        values = [self.later() if late else self.token("early", n) for n in range(len(shown))]
        if kind != "TIMESERIES":
            return self.shaped(f"gt/{kind}", value=values[0])
        moments = [str(int(at(day, time(0), UTC).timestamp())) for day in shown]
        rows = [{"timestamp": m, "values": [{"value": v}]} for m, v in zip(moments, values, strict=True)]
        return self.shaped("gt/TIMESERIES", rows=[{"date": "x", **row} for row in rows])

    def _dbnomics(self, rest: str, seen: Seen) -> Any:
        if self.path in ("dbnomics/datasets", "dbnomics/search", "dbnomics/providers"):
            docs = self.each(
                "dbnomics/doc",
                [{"code": code, "name": self.token("early", n)} for n, code in enumerate("AB")],
            )
            return self.shaped(self.path, docs=docs)
        if self.path == "dbnomics/release":
            month = re.search(r":(\d{4})-(\d{2})", seen.path)
            assert month is not None
            after = date(int(month[1]) + int(month[2]) // 12, int(month[2]) % 12 + 1, 1)
            fact = Fact({}, at(after - DAY, time(20), UTC), 2 * DAY)
            return self.shaped(self.path, name=self.token(self.label(fact), 0))
        starts, values = [], []
        for number, moment in enumerate(self.moments):
            start = (moment.date() - timedelta(days=60)).replace(day=1)
            end = (start + timedelta(days=32)).replace(day=1) - DAY
            fact = Fact({}, at(end + timedelta(days=30), time(12), UTC), timedelta(days=17))
            starts.append(start.isoformat())
            values.append(self.token(self.label(fact), number))
        series = [("monthly", values), ("tri-annual", [self.later() for _ in starts])]
        rows = [
            {"@frequency": frequency, "value": told} for frequency, told in series if starts or told is values
        ]
        return self.shaped("dbnomics/series", docs=self.each("dbnomics/one-series", rows, starts=starts))

    # -- search engines, Wikipedia and the Wayback Machine: results, pages, edits

    def _hits(self, rest: str, seen: Seen) -> Any:
        """Hits of a search engine: one for each moment, and old pages that speak of later days as past."""
        shape, body = SHAPES[self.path], self.rows_shaped()
        ahead = ny(self.cutoff).date() + timedelta(days=1 + len(self.moments))
        old = {
            **self.writer(self.cutoff - timedelta(days=500)).fields,
            "title": "Old page",
            shape["token"]: "u",
        }
        inner = body.get("web", body)
        for words in (ahead.isoformat(), ahead.strftime("%B %-d, %Y"), ahead.strftime("%-d %b %Y")):
            text = f"As of {words} it rose to {self.later()}."
            inner["organic" if "organic" in inner else "results"].append({**old, shape["text"]: text})
        return body

    _exa = _brave = _tavily = _searxng = _hits

    def _serper(self, rest: str, seen: Seen) -> Any:
        body = self._hits(rest, seen)
        # as Google writes days; one that counts from today is no date
        for hit in body["organic"]:
            if isinstance(hit["date"], str) and re.fullmatch(r"\d{4}-\d\d-\d\d", hit["date"]):
                with contextlib.suppress(ValueError):
                    hit["date"] = datetime.fromisoformat(hit["date"]).strftime("%b %-d, %Y")
        body["organic"] += self.each("serper/recent", [{}])
        return body

    def _gdelt(self, rest: str, seen: Seen) -> Any:
        body = self.rows_shaped()
        return body if body["articles"] else {}

    def _wayback(self, rest: str, seen: Seen) -> Any:
        if rest.startswith("cdx"):
            rows = self.rows(self.writer, token_field="original")
            names = ["timestamp", "original", "surprise"]
            return [names, *([row.get(name) for name in names] for row in rows)] if rows else []
        # the newest copy up to the day that was asked for; a second without a copy leads to the nearest one
        wanted = rest.split("/")[1].removesuffix("id_")
        facts = sorted(map(self.writer, self.moments), key=lambda fact: fact.known)
        standing = [fact for fact in facts if fact.fields["timestamp"][: len(wanted)] <= wanted]
        if not standing:
            return Sent(b"Hrm. The Wayback Machine has not archived that URL.", 404)
        moment = datetime.strptime(standing[-1].fields["timestamp"], "%Y%m%d%H%M%S").replace(tzinfo=UTC)
        copied = {"memento-datetime": format_datetime(moment, usegmt=True), "x-archive-src": self.later()}
        text = f"<p>{self.token(self.label(standing[-1]), 0)}</p>"
        return Sent(text.encode(), headers={"content-type": "text/html; charset=utf-8", **copied})

    def _wikipedia(self, rest: str, seen: Seen) -> Any:
        saved = event("timestamp")
        if rest.startswith("wikimedia"):
            return self.shaped("wikipedia/pageviews", rows=self.rows(self.writer, token_field="views"))
        if self.path == "wikipedia/search":
            if seen.query.get("list") == "search":
                return self.shaped(
                    "wikipedia/hits",
                    rows=self.each("wikipedia/hit", [{"title": t} for _, t in self.facts(saved)]),
                )
            number = int(seen.query["pageids"])
            page: Fields = {"pageid": number, "revisions": [saved(self.moments[number]).fields]}
        elif self.path == "wikipedia/revisions":
            page = {"title": "T", "revisions": self.rows(saved, token_field="comment")}
        else:
            # the newest revision up to rvstart, as the service does; one that ignores it is a hostile answer
            until = datetime.fromisoformat(seen.query.get("rvstart", "9999-12-31T00:00:00Z"))
            facts = sorted(map(saved, self.moments), key=lambda fact: fact.known)
            standing = [fact for fact in facts if fact.known <= until]
            if standing:
                text = f"Lead.\n== {self.token(self.label(standing[-1]), 0)} ==\nText."
                [page] = self.each("wikipedia/article", [standing[-1].fields], text=text)
            else:
                page = {"title": "T", "missing": True}
        return {"query": {"pages": [page]}}

    # -- Kalshi and Polymarket: markets, candles, trades

    def _kalshi(self, rest: str, seen: Seen) -> Any:
        archive = rest.startswith("historical/")
        # settled markets move to the archive, and the live tier knows them no more
        here = archive == (self.ended is not None or self.door == "archive")
        if "candlesticks" in self.path:
            return self._candlesticks(rest, archive=archive, here=here)
        if self.path == "kalshi/trades":
            rows = self.each("kalshi/trade", self.rows(self.writer, token_field="trade_id") if here else [])
            return self.shaped(
                "kalshi/trades", rows=[archived_trade(row) for row in rows] if archive else rows
            )
        # an exchange brings the end of trading forward when the outcome is out
        closes = self.ended or self.cutoff + timedelta(days=900)
        now = self.shaped("kalshi/now") | {"close_time": closes.strftime("%Y-%m-%dT%H:%M:%SZ")}
        series = seen.query.get("series_ticker")
        names = {
            "event": seen.query.get("event_ticker") or (f"{series}-E" if series else rest.rpartition("/")[2])
        }
        rows = self.each("kalshi/market", self.rows(self.writer, token_field="title"), now=now, **names)
        rows = [archived_market(row) for row in rows] if archive else rows
        if self.path == "kalshi/market" and not rest.endswith("markets"):
            return {"market": rows[0]} if here else Sent({"error": {"code": "not_found"}}, 404)
        # the archive's list serves the markets of events too
        kind = (
            "markets" if rest.endswith("markets") else "events" if self.path == "kalshi/events" else "event"
        )
        return self.shaped(f"kalshi/list-{kind}", rows=rows if here else [], now=now, **names)

    def _candlesticks(self, rest: str, *, archive: bool, here: bool) -> Any:
        rows = self.each("kalshi/candle", self.rows(self.writer, token_field="volume_fp") if here else [])
        rows = [archived(row) for row in rows] if archive else rows
        ticker = "A" if self.path == "kalshi/event-candlesticks" else "FED-24JAN-T5.25"
        if archive and rest.endswith("/markets"):
            return {"markets": [{"ticker": ticker}] if here else [], "cursor": ""}
        if archive or self.path == "kalshi/candlesticks":
            return self.shaped("kalshi/candles", ticker=ticker, rows=rows)
        if self.path == "kalshi/event-candlesticks":
            only_late = {"end_period_ts": int(self.cutoff.timestamp()) + 5, "volume_fp": self.later()}
            pairs = ({ticker: rows} if here else {}) | {self.later(): [only_late]}
            return self.shaped("kalshi/candles-of-event", names=list(pairs), rows=list(pairs.values()))
        now = {} if self.open_rows else self.shaped("kalshi/now")
        row = {"market_ticker": ticker, "candlesticks": rows, **now}
        return self.shaped("kalshi/candles-of-markets", rows=[row] if here else [])

    def _polymarket(self, rest: str, seen: Seen) -> Any:
        if int(seen.query.get("offset", 0)) > 0:
            return []
        ended = {"closedTime": self.ended.strftime("%Y-%m-%d %H:%M:%S+00")} if self.ended else {}
        now = self.shaped("polymarket/now") | ended
        body = self.rows_shaped(now=now)
        if self.path in ("polymarket/market", "polymarket/event"):
            first = body[0]
            event = self.path == "polymarket/event"
            return first | ({"markets": [{**first, "question": first["title"]}]} if event else {})
        if self.path == "polymarket/events":
            inner = [{**row, "question": row["title"]} for row in body]
            body += self.each("polymarket/old", [{"markets": inner}], now=now)
        return body

    # -- EDGAR: filings, reported figures, hits of the full-text search

    def _sec(self, rest: str, seen: Seen) -> Any:
        if self.path != "sec/submissions":
            return self.rows_shaped()
        rows = self.each("sec/filing", self.rows(self.writer, token_field="primaryDocument"))
        # what was filed since pushes older filings into files of their own
        old = rows[: {"recent": 0, "file": len(rows)}.get(self.door, len(self.moments) // 2)]
        if rest.endswith("-submissions-001.json"):
            # older files have no columns for what was not asked then
            return {name: column for name, column in _columns(old).items() if name != "act"}
        files = self.each("sec/file", [{"filingCount": len(old)}] if old else [])
        return self.shaped("sec/filings", recent=_columns(rows[len(old) :]), files=files)

    # -- Yahoo: charts, events, fundamentals, news

    def _yfinance(self, rest: str, seen: Seen) -> Any:
        if rest.endswith("getcrumb"):
            return Sent(b"crumb1")
        by_name = self.path in ("yfinance/search", "yfinance/lookup")
        if by_name and "/chart/" in seen.path:
            number = int("".join(c for c in rest.rpartition("/")[2] if c.isdigit()))
            return self.shaped("yfinance/first-trade", first=self.writer(self.moments[number]).fields)
        if self.path == "yfinance/earnings-dates" and "/chart/" in seen.path:
            return self.shaped("yfinance/no-events")
        if by_name:  # at each moment one more began to trade
            return self.rows_shaped([{"symbol": token} for _, token in self.facts()])
        if self.path in ("yfinance/history", "yfinance/actions"):
            return self._chart(seen)
        return self.rows_shaped()

    def _chart(self, seen: Seen) -> Any:
        whole = seen.query.get("events") == "div,splits" and seen.query.get("period2", "").startswith("41")
        opens: dict[int, str] = {}
        dividends = {}
        for number, moment in enumerate(self.moments):
            bar, act = OTHER["yfinance/history"](moment), OTHER["yfinance/actions"](moment)
            if bar.fields["timestamp"] not in opens:
                kind = "helper" if self.path.endswith("actions") else self.label(bar)
                opens[bar.fields["timestamp"]] = self.token(kind, number)
            paid = self.token("helper" if whole else self.label(act), 500 + number)
            dividends[str(act.fields["date"] + number)] = {"date": act.fields["date"], "amount": paid}
        stamps = sorted(opens)
        quote = {
            "open": [opens[stamp] for stamp in stamps], "close": [10.0] * len(stamps), "volume": [5] * len(stamps),
            # of another length than the stamps, in every world: its values belong to no bar
            "high": [1] * (len(stamps) + 3), "surprise": [self.later() for _ in stamps],
        }  # fmt: skip
        split = int((self.cutoff + 9 * DAY).timestamp())
        adjusted = [9.0] * len(stamps)
        return self.shaped(
            "yfinance/chart", stamps=stamps, quote=quote, adjusted=adjusted, dividends=dividends, split=split
        )


def _columns(rows: list[Fields]) -> Fields:
    names = dict.fromkeys(name for row in rows for name in row)
    return {"accessionNumber": []} | {name: [row.get(name) for row in rows] for name in names}


def archived(candle: Fields) -> Fields:
    """A candle as the archive writes it: the same figures, under names without the suffixes."""
    return {
        name.removesuffix("_fp").removesuffix("_dollars"): archived(value)
        if isinstance(value, dict)
        else value
        for name, value in candle.items()
    }


def archived_trade(trade: Fields) -> Fields:
    """A trade as the archive writes it: prices in cents, contracts as a number."""
    out: Fields = {}
    for name, value in trade.items():
        if name.endswith("_dollars"):
            value = round(100 * float(value))
        elif name.endswith("_fp"):
            value = int(float(value))
        out[name.removesuffix("_dollars").removesuffix("_fp")] = value
    return out


def archived_market(market: Fields) -> Fields:
    """A market as the archive writes it: without what is empty, with its settlement."""
    return {name: value for name, value in market.items() if value != ""} | {
        "settlement_value_dollars": "1.0000"
    }
