"""When a figure, a bar or a report was out (A8, A9, A10), to the day and the tick."""

from datetime import datetime
from typing import Any

import pytest

from proxies.errors import (
    SourceError,
)
from tests.fakes.upstream import Sent
from tests.fakes.upstream_fmp import Fmp, Share
from tests.proxies.leaks.desk import Desk

FULL = "fmp/{}/end-of-day/historical-price-eod/full"


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp())


def chart(zone: str, kind: str, *stamps: str) -> dict[str, Any]:
    meta = {"exchangeTimezoneName": zone, "instrumentType": kind}
    quote = {"close": [float(n) for n in range(len(stamps))]}
    result = {"meta": meta, "timestamp": [at(text) for text in stamps], "indicators": {"quote": [quote]}}
    return {"chart": {"result": [result], "error": None}}


async def test_a8_core_cpi_is_not_told_before_its_release() -> None:
    async def last(cutoff: str) -> str:
        answer = await Desk({})(
            "embedded/series/observations", cutoff, series_id="CORE_CPI", start="2013-01-01"
        )
        return str(answer.data[-1]["date"])

    # published on 26 February and 24 March 2015 (USDL-15-0281, USDL-15-0477)
    assert await last("2015-02-20") < "2015-01-01" and await last("2015-03-20") < "2015-02-01"
    assert await last("2015-04-16") == "2015-02-01"


async def test_a8_positions_of_a_shutdown_wait_for_sixty_days() -> None:
    async def told(day: str, cutoff: str) -> int:
        rows = [
            {"symbol": "KC", "date": day, "netPostion": 1},
            {"symbol": "KC", "date": f"{day} 00:00:00", "netPostion": 2},
        ]
        return len((await Desk(rows)("fmp/commitment-of-traders-analysis", cutoff, symbol="KC")).data)

    assert await told("2018-12-31", "2019-01-12") == 0 and await told("2018-12-31", "2019-03-02") == 2
    assert await told("2019-06-04", "2019-06-11") == 0 and await told("2019-06-04", "2019-06-12") == 2


# -- A9: when a bar is complete -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("symbol", "zone", "kind", "start", "before", "after"),
    [
        ("BTC-USD", "UTC", "CRYPTOCURRENCY", "2024-01-10T00:00+00:00", "2024-01-10T23:59:59Z", "2024-01-11T00:00:00Z"),
        ("EURUSD=X", "Europe/London", "CURRENCY", "2024-01-10T00:00+00:00", "2024-01-10T22:30:00Z", "2024-01-11T00:00:00Z"),
        ("SAP.DE", "Europe/Berlin", "EQUITY", "2024-01-10T09:00+01:00", "2024-01-10T17:35+01:00", "2024-01-10T17:40+01:00"),
        ("VOD.L", "Europe/London", "EQUITY", "2024-01-10T08:00+00:00", "2024-01-10T16:35:00Z", "2024-01-10T16:40:00Z"),
        ("CL=F", "America/New_York", "FUTURE", "2024-01-10T00:00-05:00", "2024-01-10T16:59-05:00", "2024-01-10T17:00-05:00"),
        ("^VIX", "America/Chicago", "INDEX", "2024-01-10T08:30-06:00", "2024-01-10T16:14-05:00", "2024-01-10T16:15-05:00"),
        ("AAPL", "America/New_York", "EQUITY", "2024-01-10T09:30-05:00", "2024-01-10T15:59:59-05:00", "2024-01-10T16:00-05:00"),
        ("VFIAX", "America/New_York", "MUTUALFUND", "2024-01-10T09:30-05:00", "2024-01-10T19:00-05:00", "2024-01-11T00:00-05:00"),
        ("WHAT", "Asia/Dhaka", "SOMETHING", "2024-01-10T10:00+06:00", "2024-01-10T23:00+06:00", "2024-01-11T00:00+06:00"),
        # a day on which the clock changes has 23 hours
        ("BTC-EUR", "America/New_York", "CURRENCY", "2024-03-10T00:00-05:00", "2024-03-10T23:59-04:00", "2024-03-11T00:00-04:00"),
    ],
)  # fmt: skip
async def test_a9_a_days_bar_is_complete_at_its_markets_close(
    symbol: str, zone: str, kind: str, start: str, before: str, after: str
) -> None:
    async def bars(cutoff: str) -> int:
        asked = {"symbol": symbol, "period1": at(start) - 864000, "period2": at(start) + 864000}
        results = (await Desk(chart(zone, kind, start))("yfinance/history", cutoff, **asked)).data["chart"][
            "result"
        ]
        return sum(len(result["timestamp"]) for result in results)

    assert (await bars(before), await bars(after)) == (0, 1)


@pytest.mark.parametrize(
    ("interval", "stamps", "before", "after"),
    [
        ("1mo", ("2024-02-01T00:00-05:00",), "2024-02-29T20:00-05:00", "2024-03-01"),
        ("3mo", ("2024-01-01T00:00-05:00",), "2024-03-31", "2024-04-01"),
        ("1wk", ("2024-03-04T00:00-05:00",), "2024-03-10T23:00-04:00", "2024-03-11"),
    ],
)
async def test_a9_long_bars_end_with_the_calendar(
    interval: str, stamps: tuple[str, ...], before: str, after: str
) -> None:
    async def bars(cutoff: str) -> int:
        asked = {"symbol": "X", "period1": 0, "period2": 1_900_000_000, "interval": interval}
        results = (
            await Desk(chart("America/New_York", "EQUITY", *stamps))("yfinance/history", cutoff, **asked)
        ).data["chart"]["result"]
        return sum(len(result["timestamp"]) for result in results)

    assert (await bars(before), await bars(after)) == (0, 1)


@pytest.mark.parametrize(
    ("symbol", "before", "after"),
    [
        ("AAPL", "2024-01-10T15:59:59-05:00", "2024-01-10T16:00-05:00"),
        ("BRK-B", "2024-01-10T15:59:59-05:00", "2024-01-10T16:00-05:00"),
        ("VFIAX", "2024-01-10T18:30-05:00", "2024-01-11"),
        ("SAP.DE", "2024-01-10T17:39+01:00", "2024-01-10T17:40+01:00"),
        ("^VIX", "2024-01-10T16:14-05:00", "2024-01-10T16:15-05:00"),
        ("GCUSD", "2024-01-10T23:59:59Z", "2024-01-11T00:00:00Z"),
        ("EURUSD", "2024-01-10T23:59:59Z", "2024-01-11T00:00:00Z"),
    ],
)
async def test_a9_fmps_bars_too_are_complete_at_their_markets_close(
    symbol: str, before: str, after: str
) -> None:
    vendor = Fmp({symbol: Share({"2024-01-09": 5.0, "2024-01-10": 5.0})})
    told = [await Desk(vendor)(FULL.format("forex"), cutoff, symbol=symbol) for cutoff in (before, after)]
    assert [len(answer.data) for answer in told] == [1, 2]


# -- A10: looked, or could not look -------------------------------------------------------------------------

METRICS = [
    {"symbol": "SMCI", "date": "2024-06-30", "fiscalYear": "2024", "period": "FY", "currentRatio": 3.8}
]


def joined(report: Any) -> Desk:
    return Desk(
        lambda seen: (
            report
            if seen.path.endswith("income-statement")
            else METRICS
            if seen.path.endswith("key-metrics")
            else []
        )
    )


@pytest.mark.parametrize(
    "failure",
    [Sent({}, 403), Sent({}, 404), Sent(b"<html>", 200), Sent(b"<html>", 302), Sent({"Error Message": "Special Endpoint"}, 200), Sent({}, 500)],
    ids=["plan", "not found", "html", "moved", "complaint", "down"],
)  # fmt: skip
async def test_a10_a_look_up_that_failed_is_an_error_and_no_reason_for_a_lag(failure: Sent) -> None:
    desk = joined(failure)
    with pytest.raises(SourceError):
        await desk("fmp/key-metrics", "2024-12-01", symbol="SMCI", period="annual")
    assert not desk.ledger.rows, "a failure is not recorded: the same call may work later"
