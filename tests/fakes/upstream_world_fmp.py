"""What Financial Modeling Prep and Main Street Data answer in a world."""

from collections.abc import Iterable
from datetime import date, datetime, timedelta

from tests.fakes.upstream import Seen, Sent
from tests.fakes.upstream_facts import DAY, Fact, Fields, day_only, ny, writer_of
from tests.fakes.upstream_tokens import Tokens

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


FOUND = frozenset(
    {
        *(f"fmp/search/search-{kind}" for kind in ("symbol", "name", "cik", "cusip", "isin")),
        "fmp/sec-filings/industry-classification/industry-classification-search",
        "fmp/etf-&-mutual-funds/fund-disclosures/funds/disclosure-holders-search",
    }
)


class FmpAnswers(Tokens):
    """Prices, filings, calendars, lists; companies' own figures."""

    def _fmp(self, rest: str, seen: Seen) -> Sent:
        if int(seen.query.get("page", 0)) > 0:
            return Sent([])
        if rest == "income-statement" and not self.path.endswith("/income-statement"):
            return Sent(self._reports())
        helping = not self.path.endswith(rest) or seen.query.get("from", "1950-01-01") != "1950-01-01"
        if rest.startswith("historical-price-eod/") and helping:
            day = (ny(self.cutoff).date() - 3 * DAY).isoformat()
            return Sent([{"date": day, "close": 10.0, "price": 10.0, "adjClose": 10.0}])
        if rest.startswith("historical-chart/") and seen.query.get("from") not in (
            "1950-01-01",
            seen.query.get("to"),
        ):
            return Sent(self._bars_before(seen.query["to"], rest.rpartition("/")[2]))
        if rest == "splits" and not self.path.endswith(rest):
            return Sent([])
        if self.path in JOINED:
            return Sent(self._joined())
        if "/constituents/" in self.path:
            return Sent(self._changes() if rest.startswith("historical-") else self._members())
        writer = writer_of(self.path)
        if self.path in FOUND:
            return Sent(self._found() if self.path.endswith(rest) else self._first_days(seen.query["symbol"]))
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
        if self.path.endswith("-list"):
            rows = [{"symbol": f"S{n}", **row} for n, row in enumerate(rows)]
        if self.path.endswith("-snapshot"):
            rows = [row for row in rows if row.get("date") == seen.query["date"]]
            self.early &= {str(row.get(name)) for row in rows}
        return Sent(rows)

    def _bars_before(self, last: str, grain: str) -> list[Fields]:
        """Two days of trading in one answer, the last of them given."""
        step = {"1min": 1, "5min": 5}.get(grain, 15)
        days = [date.fromisoformat(last), date.fromisoformat(last) - DAY]
        return [
            {"date": f"{day} {m // 60:02}:{m % 60:02}:00", "close": 1.0}
            for day in days
            for m in range(570, 690, step)
        ]

    def _found(self) -> list[Fields]:
        """What a search finds: at each moment one more was listed, under names of today; the day stands elsewhere."""
        writer, name = writer_of(self.path), self.token_field()
        assert writer is not None
        return [
            {"symbol": f"S{n}", name: self.token(self.label(writer(m)), n), "name": self.later(), "sicCode": self.later()}
            for n, m in enumerate(self.moments)
        ]  # fmt: skip

    def _first_days(self, symbol: str) -> list[Fields]:
        writer = writer_of(self.path)
        assert writer is not None
        return [
            {"symbol": symbol, "companyName": self.later(), **writer(m).fields}
            for n, m in enumerate(self.moments)
            if symbol in (f"S{n}", f"earlyx{n:04d}z", f"latex{n:04d}z", f"greyx{n:04d}z")
        ]

    def _members(self) -> list[Fields]:
        """An index's list of today: at each moment one company joined, and its sector is that of today."""
        rows = []
        for number, moment in enumerate(self.moments):
            fact = day_only("dateFirstAdded")(moment)
            rows.append({"symbol": self.token(self.label(fact), number), "name": self.later(), **fact.fields, "sector": self.later()})  # fmt: skip
        # whose joining is on no record may be told by nobody, whatever day stands beside its name
        unrecorded = [
            {"symbol": self.later(), "name": self.later(), "dateFirstAdded": day}
            for day in (*self.junk, "1957-03-04")
        ]
        return [*rows, *unrecorded]

    def _changes(self) -> list[Fields]:
        """An index's changes; whoever left had joined on no record."""
        rows = []
        for number, moment in enumerate(self.moments):
            fact = day_only("date")(moment)
            left = {"removedTicker": self.later(), "removedSecurity": self.later()}
            rows.append(
                {
                    **fact.fields,
                    "symbol": self.token(self.label(fact), number),
                    "reason": self.later(),
                    **left,
                }
            )
        rows += [{"date": bad, "symbol": self.later(), "removedTicker": f"B{n}", "removedSecurity": self.later()} for n, bad in enumerate(self.junk)]  # fmt: skip
        return rows

    def _now_only(self) -> list[Fields]:
        """A list without dates: kept fields are timeless, what else the vendor sends is of today."""
        name = self.token_field()
        return [
            {
                **dict.fromkeys(self.fields, f"S{n}"),
                name: self.token("early", n),
                "price": self.later(),
                "marketCap": self.later(),
            }
            for n in range(3)
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
        values = [{"x": row["date"], "y": row["symbol"], "surprise": self.later()} for row in self._joined()]
        metrics = [{"name": "units", "values": values}]
        if rest == "companies":
            return Sent(self._envelope({"companies": [{"company": {"ticker": "X"}, "metrics": metrics}]}))
        return Sent(self._envelope({"company": {"ticker": "X"}, "metrics": metrics}))
