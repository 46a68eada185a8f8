"""Cases A20 to A35 and A37 to A39: Financial Modeling Prep."""

from typing import Any

import pytest

from tests.proxies.leaks.desk import EOD, STATEMENT, Desk, bars
from tests.proxies.two_worlds import read


async def test_a20_an_end_without_a_start_is_clamped() -> None:
    desk = Desk(bars("2024-05-30", "2024-06-03"))
    answer = await desk(EOD, symbol="A", to="2024-12-31")
    assert [row["date"] for row in answer.data] == ["2024-05-30"] and desk.seen[0].query["to"] == "2024-05-31"


async def test_a21_an_end_with_a_time_of_day_is_a_day() -> None:
    desk = Desk(bars("2024-05-30"))
    await desk(EOD, symbol="A", to="2024-05-30 15:00:00")
    assert desk.seen[0].query["to"] == "2024-05-30"


async def test_a22_no_range_an_earlier_range_and_a_later_one() -> None:
    desk = Desk(bars("2024-05-30"))
    assert len((await desk(EOD, symbol="A")).data) == 1
    await desk(EOD, symbol="A", to="2024-03-01")
    assert desk.seen[-1].query == {"symbol": "A", "to": "2024-03-01"}
    later = await desk(EOD, symbol="A", **{"from": "2024-07-01", "to": "2024-08-01"})
    assert later.data == [] and len(desk.seen) == 2


async def test_a23_a_range_past_the_cutoff_is_clamped_not_shifted() -> None:
    desk = Desk(bars("2024-05-30"))
    answer = await desk(EOD, symbol="A", **{"from": "2024-01-01", "to": "2025-01-01"})
    assert (desk.seen[0].query["from"], desk.seen[0].query["to"]) == ("2024-01-01", "2024-05-31")
    assert answer.meta["clamped"] == ["to: 2025-01-01 -> 2024-05-31"]


async def test_a25_a_small_limit_at_an_old_cutoff_still_gets_its_rows() -> None:
    years = list(range(2025, 2000, -1))
    rows = [{"symbol": "A", "date": f"{y}-12-31", "acceptedDate": f"{y + 1}-02-02 16:00:00"} for y in years]
    desk = Desk(lambda seen: rows[: int(seen.query["limit"])])
    answer = await desk(STATEMENT, cutoff="2010-06-01", symbol="A", limit=2)
    assert [row["date"] for row in answer.data] == ["2009-12-31", "2008-12-31"]


async def test_a26_a_quarter_counts_from_its_filing_not_from_its_end() -> None:
    rows = [
        {"symbol": "A", "date": "2024-05-31", "fiscalYear": "2024", "period": "Q2", "acceptedDate": "2024-08-02 18:01:00", "revenue": 2},
        {"symbol": "A", "date": "2024-02-29", "fiscalYear": "2024", "period": "Q1", "acceptedDate": "2024-04-05 18:01:00", "revenue": 1},
        {"symbol": "A", "date": "2023-11-30", "fiscalYear": "2023", "period": "FY", "acceptedDate": "2024-05-31 22:30:00", "revenue": 3},
    ]  # fmt: skip
    answer = await Desk(rows)(STATEMENT, symbol="A", period="quarter")
    assert [row["revenue"] for row in answer.data] == [1, 3]
    # an acceptance in the evening of the cutoff day itself is late
    rows[2]["acceptedDate"] = "2024-06-01 00:00:00"
    assert [row["revenue"] for row in (await Desk(rows)(STATEMENT, symbol="A", period="quarter")).data] == [1]


async def test_a39_a_dividend_counts_from_its_announcement() -> None:
    rows = [
        {"symbol": "A", "date": "2024-08-12", "declarationDate": "2024-05-28", "dividend": 1},
        {"symbol": "A", "date": "2024-08-12", "declarationDate": "2024-06-01", "dividend": 2},
        {"symbol": "A", "date": "2024-05-10", "declarationDate": "", "dividend": 3},
        {"symbol": "A", "date": "2024-06-10", "declarationDate": "", "dividend": 4},
    ]
    assert [row["dividend"] for row in (await Desk(rows)("fmp/dividends", symbol="A")).data] == [1, 3]


@pytest.mark.parametrize(
    "growth", ["fmp/statements/growth/financial-growth", "fmp/statements/ratios/key-metrics"]
)
async def test_a_row_counts_from_its_first_report_whatever_is_amended_later(growth: str) -> None:
    report = {
        "date": "2018-12-31",
        "symbol": "Q",
        "acceptedDate": "2019-02-20 16:10:00",
        "fiscalYear": "2018",
        "period": "FY",
    }
    amended = {**report, "acceptedDate": "2020-03-01 16:10:00"}
    row = {name: report[name] for name in ("symbol", "date", "fiscalYear", "period")}

    async def told(cutoff: str, reports: list[Any]) -> str:
        desk = Desk(
            lambda seen: (
                reports
                if seen.path.endswith("income-statement")
                else [{**row, "revenueGrowth": 0.1, "currentRatio": 2}]
                if growth.endswith(seen.path.rpartition("/")[2])
                else []
            )
        )
        return read(await desk(growth, cutoff, symbol="Q", period="annual"))

    for reports in ([amended, report], [report, amended]):
        assert await told("2019-06-30", reports) == await told("2019-06-30", [report])
        assert (await told("2019-02-20", reports)).startswith("[]")  # the first one was not out either
    assert '"date":"2018-12-31"' in await told("2019-06-30", [amended, report])
