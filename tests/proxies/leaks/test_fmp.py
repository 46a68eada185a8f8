"""Cases A20 to A35 and A37 to A39: Financial Modeling Prep."""

from typing import Any

import pytest

from proxies.catalogue import load_catalogue
from proxies.errors import (
    CutoffRefused,
    UnknownPath,
)
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


async def test_a24_dates_are_sent_only_where_the_endpoint_takes_them() -> None:
    desk = Desk([])
    await desk("fmp/statements/financial-statements/balance-sheet-statement", symbol="A")
    assert desk.seen[0].query == {"symbol": "A", "limit": "1000"}


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


@pytest.mark.parametrize(
    "path",
    [e.path for e in load_catalogue() if e.as_of.policy == "publication_join" and "date" in e.fields],
)
async def test_a26_what_has_no_filing_date_takes_the_reports_or_a_lag(path: str) -> None:
    rows = [
        {"symbol": "A", "date": "2024-05-31", "fiscalYear": "2024", "period": "Q2"},
        {"symbol": "A", "date": "2024-02-29", "fiscalYear": "2024", "period": "Q1"},
        {"symbol": "A", "date": "2024-03-10", "fiscalYear": "2023", "period": "Q4"},
        {"symbol": "A", "date": "2022-03-31", "fiscalYear": "2021", "period": "Q3"},
    ]
    reports = [
        {**rows[0], "acceptedDate": "2024-08-02 16:00:00"},
        {**rows[1], "acceptedDate": "2024-04-05 16:00:00"},
        # accepted before the period ended: no match, the lag of 60 days holds and has not passed
        {**rows[2], "acceptedDate": "2024-01-01 10:00:00"},
    ]
    answer = await Desk(lambda seen: reports if seen.path.endswith("income-statement") else rows)(
        path, symbol="A"
    )
    days = [row["date"] for row in answer.data]
    assert days == ["2024-02-29", "2022-03-31"], "one by its report, one by the lag"


async def test_a27_a_fiscal_year_alone_is_not_the_first_of_january() -> None:
    rows = [
        {"symbol": "A", "fiscalYear": 2024, "ESGRiskRating": "B"},
        {"symbol": "A", "fiscalYear": 2022, "ESGRiskRating": "A"},
    ]
    answer = await Desk(rows)("fmp/esg-ratings", symbol="A")
    assert [row["fiscalYear"] for row in answer.data] == [2022]
    dates = [
        {"symbol": "A", "fiscalYear": 2024, "period": "FY"},
        {"symbol": "A", "fiscalYear": 2021, "period": "FY"},
    ]
    desk = Desk(lambda seen: [] if seen.path.endswith("income-statement") else dates)
    assert [row["fiscalYear"] for row in (await desk("fmp/financial-reports-dates", symbol="A")).data] == [
        2021
    ]


async def test_a28_insider_totals_count_from_the_end_of_their_quarter() -> None:
    rows = [{"symbol": "A", "year": 2024, "quarter": q} for q in (4, 3, 2, 1)]
    answer = await Desk(rows)("fmp/insider-trading/statistics", symbol="A")
    assert [row["quarter"] for row in answer.data] == [1]


async def test_a29_a_years_mean_pay_counts_from_the_proxies_of_the_next_year() -> None:
    rows = [{"industryTitle": "X", "year": year, "averageCompensation": 1} for year in (2024, 2023, 2022)]
    answer = await Desk(rows)("fmp/executive-compensation-benchmark", year="2024")
    assert [row["year"] for row in answer.data] == [2022]


async def test_a30_quarter_ends_of_13f_and_portfolio_dates_count_from_their_due_day() -> None:
    rows = [
        {"date": "2024-06-30", "dateReported": "2024-03-31"},
        {"date": "2024-03-31", "dateReported": "2024-04-30"},
    ]
    for path, params in {
        "fmp/institutional-ownership/dates": {"cik": "1"},
        "fmp/institutional-ownership/symbol-positions-summary": {
            "symbol": "A",
            "year": "2024",
            "quarter": "1",
        },
    }.items():
        assert [r["date"] for r in (await Desk(rows)(path, **params)).data] == ["2024-03-31"]
        assert (await Desk(rows)(path, cutoff="2024-05-20", **params)).data == []
    answer = await Desk(rows)("fmp/funds/disclosure-dates", cutoff="2024-06-06", symbol="A")
    assert [row["date"] for row in answer.data] == ["2024-03-31"]


async def test_a31_positions_of_tuesday_count_a_week_later_when_they_are_surely_out() -> None:
    rows = [{"symbol": "ES", "date": "2024-05-28"}, {"symbol": "ES", "date": "2024-05-21"}]
    path = "fmp/commitment-of-traders-analysis"
    assert [r["date"] for r in (await Desk(rows)(path, cutoff="2024-05-31", symbol="ES")).data] == [
        "2024-05-21"
    ]
    assert len((await Desk(rows)(path, cutoff="2024-06-05", symbol="ES")).data) == 2


async def test_a32_macro_by_period_start_is_refused_for_the_vintages() -> None:
    with pytest.raises(CutoffRefused, match="fred/series/series/observations"):
        await Desk([])("fmp/economic-indicators", name="GDP")


async def test_a33_esg_scores_count_from_their_filing() -> None:
    rows = [
        {"date": "2024-04-30", "acceptedDate": "2024-07-01"},
        {"date": "2023-12-31", "acceptedDate": "2024-03-01"},
    ]
    assert [r["date"] for r in (await Desk(rows)("fmp/esg-disclosures", symbol="A")).data] == ["2023-12-31"]


async def test_a34_present_portfolios_are_refused_and_present_fields_stripped() -> None:
    for path in ("fmp/etf/country-weightings", "fmp/etf/sector-weightings", "fmp/etf/asset-exposure"):
        with pytest.raises(CutoffRefused):
            await Desk([{"symbol": "A"}])(path, symbol="A")
    row = {
        "symbol": "A", "companyName": "Apple", "ceo": "new", "fullTimeEmployees": 1, "isActivelyTrading": False,
        "description": "d", "ipoDate": "1980-12-12", "price": 3, "noOfTranscripts": 9, "circulatingSupply": 1,
        "tradeMonth": "Z", "holdingsCount": 5, "sectorsList": [], "employees": 1, "registrantName": "Apple",
        "icoDate": "2009-01-03", "name": "n", "inceptionDate": "1993-01-22",
    }  # fmt: skip
    gone = {"ceo", "fullTimeEmployees", "isActivelyTrading", "description", "price", "noOfTranscripts"}
    gone |= {"circulatingSupply", "tradeMonth", "holdingsCount", "sectorsList", "employees"}
    for path, params in {
        "fmp/profile": {"symbol": "A"}, "fmp/profile-cik": {"cik": "1"}, "fmp/sec-profile": {"symbol": "A"},
        "fmp/etf/info": {"symbol": "A"}, "fmp/cryptocurrency-list": {},
        "fmp/commodities-list": {},
    }.items():  # fmt: skip
        (kept,) = (await Desk([row])(path, **params)).data
        assert not gone & set(kept) and kept["symbol"] == "A"


async def test_a35_index_bars_of_five_minutes_are_filtered() -> None:
    rows = [{"date": "2025-01-02 10:00:00", "close": 1}, {"date": "2024-05-31 10:00:00", "close": 2}]
    answer = await Desk(rows)("fmp/indexes/intraday/historical-chart/5min", symbol="^GSPC")
    assert [row["close"] for row in answer.data] == [2]


def test_a37_stock_bars_of_every_interval_are_there() -> None:
    catalogue = load_catalogue()
    for interval in ("1min", "5min", "15min", "30min", "1hour", "4hour"):
        assert f"fmp/chart/intraday/historical-chart/{interval}" in catalogue
    with pytest.raises(UnknownPath, match="names 5 endpoints"):
        catalogue.resolve("fmp/historical-chart/1min")


async def test_a38_a_months_tally_counts_when_the_month_is_over() -> None:
    rows = [
        {"symbol": "A", "date": "2024-05-01", "analystRatingsStrongBuy": 7},
        {"symbol": "A", "date": "2024-04-01", "analystRatingsStrongBuy": 6},
    ]
    answer = await Desk(rows)("fmp/grades-historical", cutoff="2024-05-20", symbol="A")
    assert answer.data == [rows[1]]


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
