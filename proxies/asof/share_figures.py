"""Convert per-share amounts and share counts to the shares of the cutoff, undoing later splits.

Vendors restate them at every split, as they do prices. Undoing it for prices alone made price over earnings wrong by the ratio
of the split, and told the split. Money amounts and ratios stay as they are. Whether a row is restated is not taken on trust:
its shares times the price of its day must be its market value, or else the row loses these fields.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import log
from typing import Any, TypeGuard

from proxies.asof.policies.base import ApiRequest
from proxies.asof.rows import Change
from proxies.json_text import Fields, Row

VALUES = "fmp/statements/analysis/enterprise-values"
# a period's average count may lie this far from the count at its end; splits below this ratio cannot be told from that
_NEAR = log(1.6)
#: An amount per share, and what it is the quotient of: vendors round it to cents after the split, which the quotient undoes.
_QUOTIENTS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "eps": (("bottomLineNetIncome", "netIncome"), "weightedAverageShsOut"),
    "epsDiluted": (("bottomLineNetIncome", "netIncome"), "weightedAverageShsOutDil"),
}
_CENT = 0.0051


@dataclass(frozen=True, slots=True)
class MarketValue:
    """A company's value on the last day of a period, in the vendor's shares of today."""

    price: float
    shares: float
    worth: float


def share_scaler(request: ApiRequest, factor: float | None, values: Any) -> Change:
    """Return a function that converts a statement's row to the shares of the cutoff; without a factor these fields go."""
    as_of = request.endpoint.as_of
    named = {*as_of.per_share, *as_of.share_counts}
    holds_values = request.endpoint.path == VALUES
    by_day = {} if holds_values else _by_day(values)

    def change(row: Any) -> Any:
        if not isinstance(row, dict):
            return row
        value = _market_value(row) if holds_values else by_day.get(str(row.get("date"))[:10])
        count = next((row[name] for name in as_of.share_counts if is_number(row.get(name))), None)
        chosen = divisor_of_count(value, count, factor)
        out = {name: item for name, item in row.items() if name not in named}
        if chosen is None or factor is None:
            return out
        # the price in a table of values is rescaled with the vendor's bars, whatever happened to its share counts
        changed = _in_shares_of_then(
            row, as_of.per_share, as_of.share_counts, chosen, factor if holds_values else chosen
        )
        return {name: changed.get(name, item) for name, item in row.items() if name in out or name in changed}

    return change


def _in_shares_of_then(
    row: Fields, per_share: tuple[str, ...], counts: tuple[str, ...], shares: float, amounts: float
) -> Row:
    out: Row = {}
    for name in counts:
        if is_number(row.get(name)):
            out[name] = round(row[name] / shares)
    for name in per_share:
        if is_number(row.get(name)):
            out[name] = _quotient(row, name, out) if _is_quotient(row, name) else rounded(row[name] * amounts)
    return out


def _is_quotient(row: Fields, name: str) -> bool:
    money, count = _parts(row, name)
    return bool(count) and money is not None and is_rounded_quotient(row[name], money, count)  # type: ignore[arg-type]


def is_rounded_quotient(amount: float, money: float, count: float) -> bool:
    """Whether an amount per share is money over a count, to the cent."""
    return abs(money / count - amount) <= _CENT


def _parts(row: Fields, name: str) -> tuple[float | None, float | None]:
    moneys, count = _QUOTIENTS.get(name, ((), ""))
    money = next((row[item] for item in moneys if is_number(row.get(item))), None)
    return money, row[count] if is_number(row.get(count)) and row[count] > 0 else None


def _quotient(row: Fields, name: str, scaled: Fields) -> float:
    money, _ = _parts(row, name)
    assert money is not None, "asked for only then"
    return float(round(money / scaled[_QUOTIENTS[name][1]], 2))


def rounded(value: float) -> float:
    """Round a figure to eight digits: a product with a split's ratio would reveal the split by its last digits."""
    return float(f"{value:.8g}")


def divisor_of_count(value: MarketValue | None, count: Any, factor: float | None) -> float | None:
    """Return the divisor of the share count: the factor if the row is restated, 1 if as filed, None if neither fits."""
    if value is None or factor is None:
        return None
    shares = count if count is not None else value.shares
    if shares <= 0:
        return None
    ratio = log(shares * value.price / value.worth)
    if abs(ratio) <= _NEAR:
        return factor
    return 1.0 if abs(ratio + log(factor)) <= _NEAR else None


def _by_day(values: Any) -> dict[str, MarketValue]:
    by_day: dict[str, MarketValue] = {}
    for row in values if isinstance(values, list) else ():
        value = _market_value(row) if isinstance(row, dict) else None
        if value is not None:
            by_day[str(row.get("date"))[:10]] = value
    return by_day


def _market_value(row: Fields) -> MarketValue | None:
    parts = [row.get(name) for name in ("stockPrice", "numberOfShares", "marketCapitalization")]
    if not all(is_number(part) and part > 0 for part in parts):
        return None
    return MarketValue(*(float(part) for part in parts))  # type: ignore[arg-type]


def scaled_fields(row: Any, names: tuple[str, ...], factor: float | None) -> Any:
    """Multiply some amounts per share of a row, or remove them if the factor is unknown."""
    if not isinstance(row, dict):
        return row
    out = {}
    for name, item in row.items():
        if name not in names:
            out[name] = item
        elif factor is not None and (item is None or is_number(item)):
            out[name] = None if item is None else rounded(item * factor)
    return out


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a JSON value is a number; true and false are none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)
