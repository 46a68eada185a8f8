"""What Yahoo answers in a world."""

from tests.fakes.upstream import Seen, Sent
from tests.fakes.upstream_facts import DAY, OTHER, Fact, Fields, writer_of
from tests.fakes.upstream_tokens import Tokens


class YahooAnswers(Tokens):
    """Charts, events, fundamentals, news."""

    def _yfinance(self, rest: str, seen: Seen) -> Sent:
        if rest.endswith("getcrumb"):
            return Sent(b"crumb1")
        if self.path in ("yfinance/search", "yfinance/lookup") and "/chart/" in seen.path:
            return Sent(
                {"chart": {"result": [{"meta": {**self._first_trade(rest), "shortName": self.later()}}]}}
            )
        if self.path == "yfinance/earnings-dates" and "/chart/" in seen.path:
            return Sent({"chart": {"result": [{"meta": {}, "events": {}}], "error": None}})
        if self.path in ("yfinance/search", "yfinance/lookup"):
            return self.rows_shaped(self._hits_by_name())
        if self.path in ("yfinance/history", "yfinance/actions"):
            return self._chart(seen)
        return self.rows_shaped()

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

    def _chart(self, seen: Seen) -> Sent:
        whole = seen.query.get("events") == "div,splits" and seen.query.get("period2", "").startswith("41")
        days: dict[int, tuple[str, Fact]] = {}
        bars, acts = OTHER["yfinance/history"], OTHER["yfinance/actions"]
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
        dividends = {}
        for number, moment in enumerate(self.moments):
            fact = acts(moment)
            name = self.token("helper" if whole else self.label(fact), 500 + number)
            dividends[str(fact.fields["date"] + number)] = {"date": fact.fields["date"], "amount": name}
        split = int((self.cutoff + 9 * DAY).timestamp())
        adjusted = [9.0 for _ in stamps]
        return self.shaped(
            "yfinance/chart", stamps=stamps, quote=quote, adjusted=adjusted, dividends=dividends, split=split
        )
