"""What Kalshi and Polymarket answer in a world."""

from datetime import timedelta
from typing import Any

from tests.fakes.upstream import Seen, Sent
from tests.fakes.upstream_facts import writer_of
from tests.fakes.upstream_tokens import SHAPES, Tokens

#: A candle's prices as the live tier writes them.
PRICES = {
    "yes_bid": {f"{name}_dollars": "0.4000" for name in ("open", "low", "high", "close")},
    "yes_ask": {f"{name}_dollars": "0.4300" for name in ("open", "low", "high", "close")},
    "price": {f"{name}_dollars": "0.4150" for name in ("open", "low", "high", "close", "mean", "previous")},
}


def archived(candle: dict[str, Any]) -> dict[str, Any]:
    """A candle as the archive writes it: the same figures, under names without the suffixes."""
    out: dict[str, Any] = {}
    for name, value in candle.items():
        inner = isinstance(value, dict)
        out[name.removesuffix("_fp")] = (
            {k.removesuffix("_dollars"): v for k, v in value.items()} if inner else value
        )
    return out


def archived_trade(trade: dict[str, Any]) -> dict[str, Any]:
    """A trade as the archive writes it: prices in cents, contracts as a number."""
    out: dict[str, Any] = {}
    for name, value in trade.items():
        plain = name.removesuffix("_dollars").removesuffix("_fp")
        out[plain] = (
            round(100 * float(value))
            if name.endswith("_dollars")
            else int(float(value))
            if plain != name
            else value
        )
    return out


def archived_market(market: dict[str, Any]) -> dict[str, Any]:
    """A market as the archive writes it: without what is empty, with its settlement."""
    return {name: value for name, value in market.items() if value != ""} | {
        "settlement_value_dollars": "1.0000"
    }


class MarketAnswers(Tokens):
    """Markets, candles, trades."""

    def _kalshi(self, rest: str, seen: Seen) -> Sent:
        writer = writer_of(self.path)
        now = self.fill(SHAPES["kalshi/now"], {})
        assert writer is not None
        archive = rest.startswith("historical/")
        # settled markets move to the archive, and the live tier knows them no more
        here = archive == (self.ended is not None or self.door == "archive")
        if "candlesticks" in self.path:
            rows = self.rows(writer, token_field="volume_fp") if here else []
            rows = [{**row, **PRICES} for row in rows]
            rows = [archived(row) for row in rows] if archive else rows
            ticker = "A" if self.path == "kalshi/event-candlesticks" else "FED-24JAN-T5.25"
            if archive and rest.endswith("/markets"):
                return Sent({"markets": [{"ticker": ticker}] if here else [], "cursor": ""})
            if archive or self.path == "kalshi/candlesticks":
                return Sent(self._envelope({"ticker": ticker, "candlesticks": rows}))
            if self.path == "kalshi/event-candlesticks":
                only_late = {"end_period_ts": int(self.cutoff.timestamp()) + 5, "volume_fp": self.later()}
                pairs: dict[str, Any] = {ticker: rows} if here else {}
                pairs[self.later()] = [only_late]
                return Sent(
                    self._envelope(
                        {
                            "market_tickers": list(pairs),
                            "market_candlesticks": list(pairs.values()),
                            "adjusted_end_ts": 1,
                        }
                    )
                )
            row = {"market_ticker": ticker, "candlesticks": rows, **({} if self.open_rows else now)}
            return Sent(self._envelope({"markets": [row] if here else []}))
        if self.path == "kalshi/trades":
            rows = self.rows(writer, token_field="trade_id") if here else []
            rows = [
                {**row, "yes_price_dollars": "0.4000", "no_price_dollars": "0.6000", "count_fp": "10.00"}
                for row in rows
            ]
            rows = [archived_trade(row) for row in rows] if archive else rows
            return Sent(self._envelope({"trades": rows, "cursor": ""}))
        # an exchange brings the end of trading forward when the outcome is out
        closes = self.ended or self.cutoff + timedelta(days=900)
        now["close_time"] = closes.strftime("%Y-%m-%dT%H:%M:%SZ")
        series = seen.query.get("series_ticker")
        event = seen.query.get("event_ticker") or (f"{series}-E" if series else rest.rpartition("/")[2])
        rows = [
            {**row, **now, "ticker": f"T{n}", "event_ticker": event, "subtitle": ""}
            for n, row in enumerate(self.rows(writer, token_field="title"))
        ]
        rows = [archived_market(row) for row in rows] if archive else rows
        if rest.endswith("markets"):
            # the archive's list serves the markets of events too
            return Sent(self._envelope({"markets": rows if here else [], "cursor": ""}))
        if self.path == "kalshi/market":
            return Sent({"market": rows[0]}) if here else Sent({"error": {"code": "not_found"}}, 404)
        rows = rows if here else []
        if self.path == "kalshi/events":
            unborn = [{"open_time": "2999-01-01T00:00:00Z", "title": self.later()}]
            return Sent(
                self._envelope(
                    {
                        "events": [
                            {"event_ticker": event, "markets": rows, "status": self.later()},
                            {"event_ticker": self.later(), "markets": unborn},
                            {"event_ticker": self.later()},
                        ],
                        "cursor": "",
                    }
                )
            )
        return Sent(
            self._envelope({"event": {"event_ticker": event, "markets": rows, **now}, "markets": rows})
        )

    def _polymarket(self, rest: str, seen: Seen) -> Sent:
        if int(seen.query.get("offset", 0)) > 0:
            return Sent([])
        ended = {"closedTime": self.ended.strftime("%Y-%m-%d %H:%M:%S+00")} if self.ended else {}
        now = {**self.fill(SHAPES["polymarket/now"], {}), **ended}
        sent = self.rows_shaped(now=now)
        if self.path == "polymarket/market":
            return Sent(sent.body[0])
        if self.path == "polymarket/event":
            first = sent.body[0]
            return Sent({**first, "markets": [{**first, "question": first["title"]}]})
        if self.path == "polymarket/events":
            inner = [{**row, "question": row["title"]} for row in sent.body]
            sent.body.append({"createdAt": "2000-01-01T00:00:00Z", "title": "old", "markets": inner, **now})
        return sent
