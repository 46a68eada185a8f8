"""Counts, names on the way to the rows, and how much risk a session allows (A1, A14, A15)."""

import asyncio
from typing import Any

import pytest

from proxies.errors import (
    CutoffRefused,
)
from tests.proxies.closed_leaks.yahoo import at, chart
from tests.proxies.leaks.desk import Desk
from tests.proxies.two_worlds import read

STATEMENTS = "fmp/statements/financial-statements/income-statement"


async def test_a1_how_many_rows_come_later_is_told_nowhere() -> None:
    old = {"symbol": "N", "date": "2021-07-20", "numerator": 4, "denominator": 1}
    new = {"symbol": "N", "date": "2024-06-10", "numerator": 10, "denominator": 1}
    told = [read(await Desk(rows)("fmp/splits", "2024-05-04", symbol="N")) for rows in ([old], [new, old])]
    assert told[0] == told[1] and "2021-07-20" in told[0]


@pytest.mark.parametrize(
    ("path", "asked", "body"),
    [
        ("brave/web", {"q": "x"}, {"web": {"results": [], "total": 12345, "late": "token"}}),
        ("gt/google_trends_overtime", {"q": "x", "time": "2023-11-01 2024-01-01"}, {"interest_over_time": {"averages": ["token"], "timeline_data": []}}),
        ("dbnomics/release", {"provider": "I", "dataset": "W", "release": "2019-10", "series": "s"}, {"series": {"docs": [{"series_code": "s"}], "num_found": 7, "late": "token"}}),
        ("msd/companies/companies-post", {"tickers": ["A", "B"]}, {"companies": [{"company": {"ticker": "A", "name": "token"}, "late": "token", "metrics": [{"name": "m", "late": "token", "values": [{"x": "2020-03-31", "y": 1}]}]}]}),
    ],
)  # fmt: skip
async def test_a14_nothing_unlisted_passes_anywhere_on_the_way_to_the_rows(
    path: str, asked: dict[str, Any], body: Any
) -> None:
    answer = await Desk(body)(path, **asked)
    text = answer.encoded().decode()
    assert "token" not in text and "12345" not in text and '"num_found":7' not in text


@pytest.mark.parametrize(
    ("path", "asked", "none", "late"),
    [
        ("brave/web", {"q": "x"}, {"type": "search"}, {"type": "search", "web": {"results": [{"url": "u", "title": "t", "page_age": "2025-01-01T00:00:00"}]}}),
        ("brave/news", {"q": "x"}, {"type": "search"}, {"type": "search", "results": [{"url": "u", "title": "t", "page_age": "2025-01-01T00:00:00"}]}),
    ],
)  # fmt: skip
async def test_a14_a_section_that_the_vendor_leaves_out_reads_like_one_whose_rows_are_all_late(
    path: str, asked: dict[str, Any], none: Any, late: Any
) -> None:
    told = [read(await Desk(body)(path, **asked)) for body in (none, late)]
    assert told[0] == told[1] and '"results":[]' in told[0]


@pytest.mark.parametrize("quote", [{}, {"close": []}])
async def test_a14_a_window_without_bars_reads_like_one_whose_bars_are_all_late(
    quote: dict[str, Any],
) -> None:
    asked = {"symbol": "X", "period1": 0, "period2": 1_900_000_000}
    none = chart("America/New_York", "EQUITY")
    none["chart"]["result"][0] |= {"timestamp": None, "indicators": {"quote": [quote], "adjclose": [{}]}}
    late = chart("America/New_York", "EQUITY", "2024-03-21T09:30-04:00")
    told = [read(await Desk(body)("yfinance/history", "2023-01-01", **asked)) for body in (none, late)]
    assert told[0] == told[1]


async def test_a14_a_kind_of_event_that_comes_later_is_not_named() -> None:
    told = []
    for events in ({}, {"dividends": {"1": {"date": at("2024-03-21T13:30:00+00:00"), "amount": 1.0}}}):
        body = chart("America/New_York", "EQUITY", "2023-03-21T09:30-04:00")
        body["chart"]["result"][0]["events"] = events
        told.append(
            read(
                await Desk(body)(
                    "yfinance/history", "2023-06-01", symbol="X", period1=0, period2=1_900_000_000
                )
            )
        )
    assert told[0] == told[1] and "timestamp" in told[0]


async def test_a15_how_much_risk_is_allowed_is_a_choice_of_four() -> None:
    rows = [
        {
            "symbol": "A",
            "date": "2020-01-02",
            "acceptedDate": "2020-01-02 10:00:00",
            "ipoDate": "1999-01-01",
            "marketCap": 1,
        }
    ]
    allowed = {
        "fmp/historical-market-capitalization": {"high"}, "fmp/profile": {"high"},
        STATEMENTS: {"high", "medium"},
        "fmp/commitment-of-traders/commitment-of-traders-analysis": {"high", "medium", "low"},
    }  # fmt: skip
    for path, levels in allowed.items():
        for most in ("none", "low", "medium", "high"):
            if most in levels:
                await Desk(rows)(path, symbol="A", most=most)
            else:
                with pytest.raises(CutoffRefused, match=f"at most {most}"):
                    await Desk(rows)(path, symbol="A", most=most)
    with pytest.raises(CutoffRefused, match="at most medium"):
        await Desk(rows)("fmp/profile", symbol="A", strict=True)
    with pytest.raises(CutoffRefused, match="at most low"):
        await Desk(rows)(STATEMENTS, symbol="A", strict=True, most="low")
    assert (await Desk(rows)("fmp/profile", "now", symbol="A", most="none")).data


async def test_a15_a_session_with_a_limit_does_not_share_the_answer_of_one_without() -> None:
    rows = [{"symbol": "A", "ipoDate": "1999-01-01"}]
    desk = Desk(rows)
    lax, tight = await asyncio.gather(
        desk("fmp/profile", symbol="A"), desk("fmp/profile", symbol="A", strict=True), return_exceptions=True
    )
    assert not isinstance(lax, BaseException) and lax.data and isinstance(tight, CutoffRefused)


async def test_a15_the_unsure_share_count_behind_market_values_is_said_in_the_answer() -> None:
    answer = await Desk([])("fmp/historical-market-capitalization", symbol="A")
    assert answer.meta["residual"] == "high" and any("share count" in note for note in answer.meta["notes"])
