"""What Kalshi and Polymarket answer in a world."""

from tests.fakes.upstream import Seen, Sent
from tests.fakes.upstream_facts import writer_of
from tests.fakes.upstream_tokens import Tokens


class MarketAnswers(Tokens):
    """Markets, candles, trades."""

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
        rows = [{**row, **now, "ticker": "T"} for row in self.rows(writer, token_field="title")]
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
