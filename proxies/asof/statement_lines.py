"""Convert lines of Yahoo's statements to the shares of the cutoff, by comparison with price and market value.

That Yahoo restated a line at a later split is not taken on trust. Shares times the close of the period's last week must be the
market value that Yahoo states for that day; so must income over earnings per share times the close. A value that fits neither in
shares of today nor as filed, or for which there is no market value, is left out, whether a split came or not.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

from proxies.asof.clock import Cutoff, parse_day
from proxies.asof.policies.base import ApiRequest, Lookup
from proxies.asof.rows import Change
from proxies.asof.share_figures import MarketValue, divisor_of_count, is_number, is_rounded_quotient, rounded
from proxies.json_text import Fields, Row

CHART = "yfinance/history"
LINES = "yfinance/fundamentals"
_LINE = re.compile(r"(annual|quarterly|trailing)(\w+)\Z")
_PER_SHARE = re.compile(
    r"EPS|PerShare|^(?:Basic|Diluted)(?:Continuous|Discontinuous|Extraordinary|Accounting)"
)
# preferred shares do not split with ordinary ones
_SHARES = re.compile(r"AverageShares$|^(?:Ordinary|Treasury)SharesNumber$|^ShareIssued$")
#: Counts that are no count of the shares outstanding: they are of the scale of the one that is, on the same balance sheet.
_BESIDE = frozenset({"ShareIssued", "TreasurySharesNumber"})
_OUTSTANDING = "OrdinarySharesNumber"
_BASIC, _DILUTED = "BasicAverageShares", "DilutedAverageShares"
#: Earnings per share, and the income and the shares whose quotient they are.
_QUOTIENTS: Mapping[str, tuple[str, str]] = {
    "BasicEPS": ("NetIncomeCommonStockholders", _BASIC),
    "DilutedEPS": ("DilutedNIAvailtoComStockholders", _DILUTED),
}
_WORTH = "MarketCap"
_LOOKED_UP = (_WORTH, _OUTSTANDING, _BASIC, _DILUTED, *(money for money, _ in _QUOTIENTS.values()))
# market values stand under the year's or the quarter's line, whichever was asked for
_PERIODS = ("annual", "quarterly")
#: Quotes in hundredths of the currency in which the market value is stated.
_HUNDREDTHS = {"GBp": "GBP", "GBX": "GBP", "ZAc": "ZAR", "ILA": "ILS"}
# a week's bar bears the day of its Monday; holidays and halts
_NO_OLDER = timedelta(days=14)


def kind_of_line(line: Any) -> str:
    """Return whether a line of Yahoo's statements is an amount ``per share``, a count of ``shares``, or neither ("")."""
    match = _LINE.match(line) if isinstance(line, str) else None
    if match is None:
        return ""
    if _PER_SHARE.search(match[2]):
        return "per share"
    return "shares" if _SHARES.search(match[2]) else ""


def line_lookups(request: ApiRequest, cutoff: Cutoff) -> tuple[Lookup, ...]:
    """Return the lookups to compare lines with: market values, share counts and incomes by period, weekly closes."""
    lines = str(request.params["type"]).split(",")
    prefixes = dict.fromkeys((*_PERIODS, *(match[1] for line in lines if (match := _LINE.match(line)))))
    day = cutoff.last_visible_day
    until = int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp())
    since = int(request.params["period1"]) // 86400 * 86400 - int(_NO_OLDER.total_seconds())
    names = ",".join(f"{prefix}{name}" for prefix in prefixes for name in _LOOKED_UP)
    window = {"symbol": request.params["symbol"], "period1": max(since, 0), "period2": until}
    if window["period1"] >= until:
        return ()
    return (
        Lookup(name="worth", path=LINES, params={**window, "type": names}, needed=True),
        Lookup(name="closes", path=CHART, params={**window, "interval": "1wk"}, needed=True),
    )


def line_scaler(lookups: Fields, factor: float | None) -> Change:
    """Return a function from a row of one line to the row in the shares of the cutoff, without its value where that cannot be known."""
    periods = _Periods(lookups.get("worth"), lookups.get("closes"))

    def change(row: Any) -> Any:
        if not isinstance(row, dict) or not kind_of_line(row.get("line")):
            return row
        reported = row.get("reportedValue")
        new = None if factor is None else _scaled(row, periods, factor)
        out = {name: item for name, item in row.items() if name != "reportedValue"}
        if new is None:
            return out
        # the vendor's own text of the number is of the other scale
        return {**out, "reportedValue": {"raw": new} if isinstance(reported, dict) else new}

    return change


def _scaled(row: Fields, periods: "_Periods", factor: float) -> float | None:
    raw, match, day = _raw(row), _LINE.match(row["line"]), parse_day(str(row.get("asOfDate")))
    if raw is None or match is None or day is None:
        return None
    prefix, name = match[1], match[2]
    value = periods.value(day)

    def divisor(count: Any) -> float | None:
        return divisor_of_count(value, count, factor) if is_number(count) else None

    if kind_of_line(row["line"]) == "shares":
        count = periods.first((_OUTSTANDING,), prefix, day) if name in _BESIDE else raw
        divided_by = divisor(count)
        return None if divided_by is None else round(raw / divided_by)
    order = (_DILUTED, _BASIC) if "Diluted" in name else (_BASIC, _DILUTED)
    scale = divisor(periods.first((*order, _OUTSTANDING), prefix, day))
    money_name, count_name = _QUOTIENTS.get(name, ("", ""))
    money, shares = periods.line(prefix, money_name, day), periods.line(prefix, count_name, day)
    if money and raw and money / raw > 0:
        # what these earnings were divided by, for a vendor that restated the one line and not the other
        scale = divisor(money / raw)
    of_shares = divisor(shares)
    if money is not None and shares and of_shares and scale and is_rounded_quotient(raw, money, shares):
        return float(round(money / round(shares / of_shares), 2))
    return None if scale is None else rounded(raw * scale)


class _Periods:
    """Lines by period, and a company's market value at each period's end, from raw answers."""

    def __init__(self, worth: Any, closes: Any) -> None:
        self._lines: dict[tuple[str, date], float] = {}
        self._currencies: dict[date, str] = {}
        for line, row in _statement_rows(worth):
            day, raw = parse_day(str(row.get("asOfDate"))), _raw(row)
            if day is not None and raw is not None:
                self._lines[line, day] = raw
                if line.endswith(_WORTH):
                    self._currencies[day] = str(row.get("currencyCode") or "")
        self._closes, self._currency = _closes(closes)

    def line(self, prefix: str, name: str, day: date) -> float | None:
        return self._lines.get((f"{prefix}{name}", day))

    def first(self, names: tuple[str, ...], prefix: str, day: date) -> float | None:
        """Return the first of some recorded lines for a day, of the year or quarter if the line's own period has none."""
        values = (self.line(period, name, day) for name in names for period in (prefix, *_PERIODS))
        return next((value for value in values if value), None)

    def value(self, day: date) -> MarketValue | None:
        """Return market value and price in the vendor's shares of today; None if missing or in unlike currencies."""
        worth = self.first((_WORTH,), _PERIODS[0], day)
        close = next((close for start, close in self._closes if start <= day <= start + _NO_OLDER), None)
        if worth is None or close is None or worth <= 0:
            return None
        reported, quoted = self._currencies.get(day, ""), _HUNDREDTHS.get(self._currency, self._currency)
        if reported and quoted and reported != quoted:
            return None
        price = close / 100 if self._currency in _HUNDREDTHS else close
        return MarketValue(price=price, shares=worth / price, worth=worth)


def _statement_rows(payload: Any) -> Iterator[tuple[str, Row]]:
    results = (payload.get("timeseries") or {}).get("result") if isinstance(payload, dict) else None
    for result in results if isinstance(results, list) else ():
        for line, values in result.items() if isinstance(result, dict) else ():
            if kind_of_line(line) or _LINE.match(line):
                yield from (
                    (line, row) for row in values if isinstance(values, list) and isinstance(row, dict)
                )


def _raw(row: Fields) -> float | None:
    reported = row.get("reportedValue")
    raw = reported.get("raw") if isinstance(reported, dict) else reported
    return raw if is_number(raw) else None


def _closes(payload: Any) -> tuple[list[tuple[date, float]], str]:
    results = (payload.get("chart") or {}).get("result") if isinstance(payload, dict) else None
    if not results or not isinstance(results[0], dict):
        return [], ""
    result = results[0]
    closes = ((((result.get("indicators") or {}).get("quote")) or [{}])[0]).get("close") or []
    days = [
        (datetime.fromtimestamp(stamp, tz=UTC).date(), float(close))
        for stamp, close in zip(result.get("timestamp") or [], closes, strict=False)
        if is_number(stamp) and is_number(close) and close > 0
    ]
    return sorted(days, reverse=True), str((result.get("meta") or {}).get("currency") or "")
