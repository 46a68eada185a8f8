"""Bring Kalshi's answers of both tiers into one form.

Settled markets move to an archive, whose candles bear the same figures under other names than those of the live tier
(``open`` beside ``open_dollars``, ``volume`` beside ``volume_fp``). Who reads the form of a candle would read that its
market has settled. So prices are dollars and counts are contracts, both as text, under the live tier's names, and nothing
else stands in a candle.
"""

from decimal import Decimal, InvalidOperation
from typing import Any

from proxies.json_text import Fields

_OFFER = ("open", "low", "high", "close")
_TRADED = (*_OFFER, "mean", "previous")
#: What stands in every market: a tier may leave out what is empty.
_MARKET = (
    "ticker", "event_ticker", "title", "open_time", "created_time", "rules_primary", "rules_secondary",
    "can_close_early", "strike_type", "floor_strike", "cap_strike", "latest_expiration_time", "close_time",
)  # fmt: skip


def unpack_kalshi(payload: Any, params: Fields) -> Any:
    """Bring an answer's candles, trades and markets into the one form; all else stays."""
    out = dict(payload)
    for name, change in (
        ("candlesticks", _candle),
        ("trades", _trade),
        ("markets", _whole_market),
        ("events", _event),
    ):
        if isinstance(out.get(name), list):
            out[name] = [change(row) for row in out[name]]
    if isinstance(out.get("market_candlesticks"), list):
        out["market_candlesticks"] = [
            [_candle(row) for row in rows] if isinstance(rows, list) else rows
            for rows in out["market_candlesticks"]
        ]
    if "market" in out:
        out["market"] = _whole_market(out["market"])
    if "event" in out:
        out["event"] = _event(out["event"])
    return out


def _event(row: Any) -> Any:
    if not isinstance(row, dict) or not isinstance(row.get("markets"), list):
        return row
    return {**row, "markets": [_whole_market(market) for market in row["markets"]]}


def _whole_market(row: Any) -> Any:
    if not isinstance(row, dict):
        return row
    if isinstance(row.get("candlesticks"), list):
        # the candles of one market among several
        return {**row, "candlesticks": [_candle(candle) for candle in row["candlesticks"]]}
    filled = {name: value for name, value in row.items() if value != ""}
    return {**dict.fromkeys(_MARKET), **filled}


def _candle(row: Any) -> Any:
    if not isinstance(row, dict):
        return row
    return {
        "end_period_ts": row.get("end_period_ts"),
        "yes_bid": _prices(row.get("yes_bid"), _OFFER),
        "yes_ask": _prices(row.get("yes_ask"), _OFFER),
        "price": _prices(row.get("price"), _TRADED),
        "volume_fp": _contracts(row, "volume"),
        "open_interest_fp": _contracts(row, "open_interest"),
    }


def _trade(row: Any) -> Any:
    if not isinstance(row, dict):
        return row
    return {
        **{name: row.get(name) for name in ("trade_id", "ticker", "created_time", "taker_side")},
        "yes_price_dollars": _dollars_text(row, "yes_price"),
        "no_price_dollars": _dollars_text(row, "no_price"),
        "count_fp": _contracts(row, "count"),
    }


def _prices(value: Any, names: tuple[str, ...]) -> dict[str, str | None]:
    row = value if isinstance(value, dict) else {}
    return {f"{name}_dollars": _dollars_text(row, name) for name in names}


def _dollars_text(row: Fields, name: str) -> str | None:
    value = row.get(f"{name}_dollars")
    if value is None:
        value = row.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            value = Decimal(value) / 100
    return _decimal_text(value, 4)


def _contracts(row: Fields, name: str) -> str | None:
    value = row.get(f"{name}_fp")
    return _decimal_text(row.get(name) if value is None else value, 2)


def _decimal_text(value: Any, places: int) -> str | None:
    """Write a number with at least so many decimals; anything else stays."""
    if value is None or isinstance(value, (bool, list, dict)):
        return None
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return str(value)
    if not number.is_finite():
        return None
    exponent = number.normalize().as_tuple().exponent
    return f"{number:.{max(places, -exponent if isinstance(exponent, int) else 0)}f}"
