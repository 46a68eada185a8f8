"""What Yahoo answers in a world."""

from tests.fakes.upstream import Seen, Sent
from tests.fakes.upstream_facts import DAY, OTHER, Fact, Fields, Writer, writer_of
from tests.fakes.upstream_tokens import Tokens


class YahooAnswers(Tokens):
    """Charts, events, fundamentals, news."""

    def _yfinance(self, rest: str, seen: Seen) -> Sent:
        if rest.endswith("getcrumb"):
            return Sent(b"crumb1")
        writer = writer_of(self.path)
        if self.path in ("yfinance/search", "yfinance/lookup") and "/chart/" in seen.path:
            return Sent(
                {"chart": {"result": [{"meta": {**self._first_trade(rest), "shortName": self.later()}}]}}
            )
        if self.path == "yfinance/earnings-dates" and "/chart/" in seen.path:
            return Sent({"chart": {"result": [{"meta": {}, "events": {}}], "error": None}})
        if self.path == "yfinance/search":
            return Sent(
                self._envelope(
                    {
                        "quotes": [
                            {**hit, "shortname": self.later(), "score": self.later()}
                            for hit in self._hits_by_name()
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
                                    {**hit, "shortName": self.later(), "regularMarketPrice": self.later()}
                                    for hit in self._hits_by_name()
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
            rows = self.rows(writer, token_field="epssurprisepct")
            columns = ["startdatetime", "epssurprisepct", "surprise"]
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

    def _hits_by_name(self) -> list[Fields]:
        """At each moment one more began to trade."""
        writer = writer_of(self.path)
        assert writer is not None
        return [{"symbol": self.token(self.label(writer(m)), n)} for n, m in enumerate(self.moments)]

    def _first_trade(self, rest: str) -> Fields:
        writer = writer_of(self.path)
        assert writer is not None
        number = int("".join(c for c in rest.rpartition("/")[2] if c.isdigit()))
        return writer(self.moments[number]).fields

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
            # of another length than the stamps, in every world: its values belong to no bar
            "high": [1] * (len(stamps) + 3),
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
                            "instrumentType": "EQUITY",
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
