"""Yahoo's bars, statement lines and earnings days of one company, whose shares may be split after a cutoff.

Figures of Apple's fiscal year 2019 (Form 10-K of 31 October 2019: income, shares, earnings per share; close of 30 September).
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.fakes.upstream import Seen

INCOME, BASIC, DILUTED, OUTSTANDING = 55_256_000_000, 4_617_834_000, 4_648_913_000, 4_443_236_000
REVENUE, CLOSE, ESTIMATE, ACTUAL = 260_174_000_000, 223.97, 2.84, 3.04
PERIOD_END = "2019-09-30"
SPLIT_DAY = "2020-08-31"


def _epoch(day: str) -> int:
    return int(datetime.fromisoformat(f"{day}T13:30:00").replace(tzinfo=UTC).timestamp())


def company(
    ratio: float = 1.0, *, restates: bool = True, worth: float = 1.0, currency: str = "USD", **lines: Any
) -> Callable[[Seen], Any]:
    """What Yahoo answers when each share has become ``ratio`` shares.

    Parameters
    ----------
    restates : bool
        Whether the lines of statements follow the split, as prices always do.
    worth : float
        The stated market value over shares times price.
    lines : numbers
        Lines that are told otherwise (by name, without the prefix), or left out (None).
    """
    part = ratio if restates else 1.0
    values: dict[str, float | None] = {
        "MarketCap": CLOSE * OUTSTANDING * worth,
        "TotalRevenue": REVENUE,
        "NetIncomeCommonStockholders": INCOME,
        "DilutedNIAvailtoComStockholders": INCOME,
        "BasicAverageShares": BASIC * part,
        "DilutedAverageShares": DILUTED * part,
        "OrdinarySharesNumber": OUTSTANDING * part,
        "ShareIssued": 2 * OUTSTANDING * part,
        "TreasurySharesNumber": OUTSTANDING * part,
        "PreferredSharesNumber": 7,
        # rounded to cents after the split, as vendors do
        "BasicEPS": round(INCOME / (BASIC * part), 2),
        "DilutedEPS": round(INCOME / (DILUTED * part), 2),
        "DividendPerShare": 3.0 / part,
        **lines,
    }

    def answer(seen: Seen) -> Any:
        if "/chart/" in seen.path:
            return _chart(seen, ratio, currency)
        if "timeseries" in seen.path:
            asked = [line for line in seen.query["type"].split(",") if line.startswith("annual")]
            told = [(line, values.get(line.removeprefix("annual"))) for line in asked]
            results = [
                {"meta": {"type": [line]}, "timestamp": [1], line: [_reported(value)]}
                for line, value in told
                if value is not None
            ]
            return {"timeseries": {"result": results, "error": None}}
        call = {"startdatetime": "2019-10-30T20:30:00.000Z", "epsestimate": ESTIMATE / ratio}
        return {"rows": [{**call, "epsactual": ACTUAL / ratio, "epssurprisepct": 7.0}]}

    return answer


def _reported(value: float) -> dict[str, Any]:
    number = {"raw": value, "fmt": f"{value:,}"}
    return {"asOfDate": PERIOD_END, "periodType": "12M", "currencyCode": "USD", "reportedValue": number}


def _chart(seen: Seen, ratio: float, currency: str) -> Any:
    """Weekdays, or Mondays, of the window up to the spring after the period, all at one price; the split where it lies in the window."""
    since, until = int(seen.query["period1"]), int(seen.query["period2"])
    day, last = datetime(2019, 9, 2, tzinfo=UTC), datetime(2020, 2, 28, tzinfo=UTC)
    stamps = []
    while day <= last:
        stamp = _epoch(f"{day:%Y-%m-%d}")
        weekly = seen.query.get("interval") == "1wk"
        if since <= stamp < until and (day.weekday() == 0 if weekly else day.weekday() < 5):
            stamps.append(stamp)
        day += timedelta(days=1)
    price, number = CLOSE / ratio, len(stamps)
    quote = {"close": [price] * number, "volume": [4 * ratio] * number}
    split = {"date": _epoch(SPLIT_DAY), "numerator": ratio, "denominator": 1}
    told = ratio != 1 and since <= split["date"] < until
    result = {
        "meta": {"currency": currency, "instrumentType": "EQUITY", "exchangeTimezoneName": "America/New_York"},
        "timestamp": stamps,
        "indicators": {"quote": [quote], "adjclose": [{"adjclose": [price] * number}]},
        "events": {"splits": {"1": split}} if told else {},
    }  # fmt: skip
    return {"chart": {"result": [result], "error": None}}
