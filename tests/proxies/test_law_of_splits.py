"""The law for later splits: no endpoint whose figures a vendor rescales tells of one."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from proxies.asof import readjust, row_filter
from proxies.catalogue import Endpoint
from tests.fakes.upstream import Seen
from tests.proxies.leaks.desk import Desk
from tests.proxies.two_worlds import read
from tests.proxies.worlds import (
    ASKED,
    in_loop,
)

pytestmark = pytest.mark.usefixtures("one_loop")


CUT = "2020-01-02"
SCALED = [e for e in ASKED if e.as_of.adjust not in ("", "drop", "state")]


def company(ratio: float, *, cents: bool = False) -> Callable[[Seen], Any]:
    """Both vendors after a split of ``ratio`` for one, half a year after the cutoff; figures rounded after it, or left alone."""

    def rounded(value: float) -> float:
        return round(value, 2) if cents else value

    price, volume, shares = rounded(64.0 / ratio), 6400 * ratio, 1_000_000 * ratio
    split = {
        "date": int(datetime(2020, 8, 31, 13, 30, tzinfo=UTC).timestamp()),
        "numerator": ratio,
        "denominator": 1,
    }

    def fmp(seen: Seen, tail: str) -> Any:
        period = {"symbol": "AAPL", "date": "2019-09-28", "fiscalYear": "2019", "period": "FY"}
        day = (
            "2019-12-31 10:00:00"
            if "historical-chart" in seen.path
            else "2019-12-31 00:00:00"
            if "technical" in seen.path
            else "2019-12-31"
        )
        if tail == "non-split-adjusted":
            return [{"date": "2019-12-31", "adjClose": 64.0, "volume": 6400}]
        if tail == "dividend-adjusted":
            before = {"date": "2019-12-30", "adjClose": rounded(61.07 * 0.75 / ratio), "volume": volume}
            traded = rounded(price * 0.75)
            return [{"date": "2019-12-31", "adjClose": traded, "adjOpen": traded, "volume": volume}, before]
        if "historical-" in seen.path or "technical" in seen.path:
            named = dict.fromkeys(
                (
                    "open",
                    "high",
                    "low",
                    "close",
                    "price",
                    "vwap",
                    "sma",
                    "ema",
                    "wma",
                    "dema",
                    "tema",
                    "standardDeviation",
                ),
                price,
            )
            return [{"date": day, **named, "volume": volume, "rsi": 55.0, "williams": -20.0, "adx": 30.0}]
        if tail == "splits":
            return [{"date": "2020-08-31", "numerator": ratio, "denominator": 1}] if ratio != 1 else []
        per_share = dict.fromkeys(
            (
                "revenuePerShare",
                "bookValuePerShare",
                "dividendPerShare",
                "grahamNumber",
                "ownersEarningsPerShare",
                "stockPrice",
            ),
            price,
        )
        counts = {
            "numberOfShares": shares,
            "weightedAverageShsOut": shares,
            "weightedAverageShsOutDil": shares,
        }
        return [
            {**period, "acceptedDate": "2019-10-30 18:12:36", "netIncome": 8_000_000, "eps": rounded(8 / ratio), "epsDiluted": rounded((7.25 if cents else 8) / ratio),
             "marketCapitalization": 64_000_000, "currentRatio": 1.5, **per_share, **counts}
        ]  # fmt: skip

    def yahoo(seen: Seen) -> Any:
        if "/chart/" in seen.path:
            days = ((6, 24), (12, 30), (12, 31))
            stamps = [int(datetime(2019, month, day, 14, 30, tzinfo=UTC).timestamp()) for month, day in days]
            quote = {"close": [price] * 3, "open": [price] * 3, "volume": [volume] * 3}
            events = {
                "dividends": {"1": {"date": stamps[1], "amount": rounded(0.5 / ratio)}},
                "splits": {"2": split} if ratio != 1 else {},
            }
            indicators = {"quote": [quote], "adjclose": [{"adjclose": [rounded(price * 0.75)] * 3}]}
            meta = {"instrumentType": "EQUITY", "exchangeTimezoneName": "America/New_York"}
            return {
                "chart": {
                    "result": [
                        {"meta": meta, "timestamp": stamps, "indicators": indicators, "events": events}
                    ],
                    "error": None,
                }
            }
        if "timeseries" in seen.path:
            lines = {
                "annualDilutedEPS": rounded(8 / ratio),
                "annualOrdinarySharesNumber": shares,
                "annualMarketCap": 64_000_000,
            }
            rows_of = [
                {
                    "meta": {},
                    name: [{"asOfDate": "2019-06-30", "periodType": "12M", "reportedValue": {"raw": value}}],
                }
                for name, value in lines.items()
            ]
            return {"timeseries": {"result": rows_of, "error": None}}
        return {
            "rows": [
                {
                    "startdatetime": "2019-10-30T20:30:00.000Z",
                    "epsestimate": rounded(7 / ratio),
                    "epsactual": rounded(8 / ratio),
                }
            ]
        }

    return lambda seen: yahoo(seen) if "/yfinance/" in seen.path else fmp(seen, seen.path.rpartition("/")[2])


def asked_of(endpoint: Endpoint) -> dict[str, Any]:
    params = {**endpoint.example, "symbol": "AAPL"}
    params |= {name: "2019-12-01" for name in ("from",) if name in params} | {
        name: "2020-12-31" for name in ("to",) if name in params
    }
    if "period1" in params:
        params |= {"period1": 1546300800, "period2": 1609459200}
    if "type" in params:
        params["type"] = "annualDilutedEPS"
    return params


def split_tells(endpoint: Endpoint, ratio: float, *, cents: bool = False) -> bool:
    told = [
        read(in_loop(Desk(company(r, cents=cents))(endpoint.path, CUT, **asked_of(endpoint))))
        for r in (1, ratio)
    ]  # type: ignore[arg-type]
    assert not told[0].startswith("[]"), "there is something to tell"
    assert endpoint.as_of.adjust != "lines" or '"raw":8.0' in told[0], "the line has its value"
    return told[0] != told[1]


@pytest.mark.parametrize("endpoint", SCALED, ids=lambda e: e.path)
def test_a_later_split_changes_no_byte(endpoint: Endpoint) -> None:
    assert not any(split_tells(endpoint, ratio) for ratio in (2, 4, 10, 0.5, 1.281, 1.046, 1.004))


@pytest.mark.parametrize("endpoint", SCALED, ids=lambda e: e.path)
def test_without_the_readjustment_a_later_split_is_told(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    if endpoint.path.rpartition("/")[2] in ("rsi", "williams", "adx"):
        pytest.skip("an oscillator has no scale; its bars are held by the neighbours' test")
    monkeypatch.setattr(row_filter, "adjuster", lambda context: readjust.unchanged)
    assert split_tells(endpoint, 4)
