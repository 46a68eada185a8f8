"""The leaks found in two earlier systems, one test each, named after the audit's cases (A1..A65, B1..B13).

Each feeds the leaking input and sees it absent or refused, with a legitimate neighbour present. Cases that are about
the sandbox, the agent or prompts (A1, A2 in the kernel, A62, B1, B9, B10, B12) are tested in those rooms; what the
broker owes to them is tested here.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from proxies.broker import Broker, open_broker
from proxies.catalogue import load_catalogue
from proxies.clock import Cutoff
from proxies.errors import (
    CutoffRefused,
    NoCutoff,
    ParameterInvalid,
    ParameterNotListed,
    Refused,
    SourceError,
    UnknownPath,
)
from proxies.ledger import Address, Answer, MemoryLedger
from tests.fakes.upstream import Seen, Sent
from tests.proxies.worlds import KEY, WorldWire, settings

CUTOFF = "2024-06-01"
Handler = Callable[[Seen], Any]
EOD = "fmp/chart/end-of-day/historical-price-eod/non-split-adjusted"
STATEMENT = "fmp/statements/financial-statements/income-statement"


class Desk:
    """A broker over one handler; keeps what was sent."""

    def __init__(self, handler: Handler | Any) -> None:
        self.seen: list[Seen] = []
        self.ledger = MemoryLedger()
        self._count = 0

        def answer(seen: Seen) -> Sent:
            self.seen.append(seen)
            body = handler(seen) if callable(handler) else handler
            return body if isinstance(body, Sent) else Sent(body)

        self.broker: Broker = open_broker(settings("http://desk"), wire=lambda info: WorldWire(answer))

    async def __call__(
        self, path: str, cutoff: str | None = CUTOFF, *, strict: bool = False, **params: Any
    ) -> Answer:
        self._count += 1
        address = Address(run="r", node="P1", trial=1, attempt=1, stage="cell", step=0, retry=self._count)
        session = self.broker.session(Cutoff.parse(cutoff) if cutoff else None, self.ledger, strict=strict)
        return await session.call(path, params, address)


def bars(*days: str) -> list[dict[str, Any]]:
    return [{"symbol": "AAPL", "date": day, "adjClose": 10.0, "volume": 5} for day in days]


# -- the frame -------------------------------------------------------------------------------------------------------


async def test_a1_answers_errors_ledger_and_logs_hold_no_key(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    desk = Desk(lambda seen: Sent({"Error Message": f"bad apikey={KEY}"}, 403))
    with pytest.raises(SourceError) as caught:
        await desk(EOD, symbol="AAPL")
    assert KEY not in str(caught.value) + caplog.text + repr(desk.ledger.rows) + repr(desk.broker.settings)


async def test_a2_a_session_without_a_cutoff_is_refused_and_a_pinned_one_only_moves_back() -> None:
    desk = Desk(bars("2024-05-01"))
    with pytest.raises(NoCutoff):
        await desk(EOD, cutoff=None, symbol="AAPL")
    assert desk.seen == []
    session = desk.broker.session(Cutoff.parse("2024-06-01"), desk.ledger)
    session.pin(Cutoff.parse("2024-05-01"))
    for later in ("2024-05-02", "now"):
        with pytest.raises(CutoffRefused):
            session.pin(Cutoff.parse(later))
    assert session.cutoff == Cutoff.parse("2024-05-01")


async def test_a3_the_callers_params_stay_as_they_were() -> None:
    desk = Desk(bars("2024-05-01"))
    params = {"symbol": "AAPL", "to": "2030-01-01"}
    session = desk.broker.session(Cutoff.parse(CUTOFF), desk.ledger)
    await session.call(
        EOD, params, Address(run="r", node="P1", trial=1, attempt=1, stage="cell", step=0, retry=0)
    )
    assert params == {"symbol": "AAPL", "to": "2030-01-01"}


async def test_a4_parameters_that_are_not_listed_are_refused_and_not_sent() -> None:
    desk = Desk({"observations": []})
    for name in ("vintage_dates", "output_type", "apikey", "api_key", "realtimestart"):
        with pytest.raises(ParameterNotListed):
            await desk("fred/series/observations", series_id="GDP", **{name: "2030-01-01"})
    assert desk.seen == []


async def test_a5_the_raw_cache_serves_other_cutoffs_filtered_and_knows_no_key() -> None:
    desk = Desk(lambda seen: [{"symbol": "A", "date": "2024-03-31", "acceptedDate": "2024-05-02 16:30:00"}])
    later = await desk(STATEMENT, symbol="A")
    earlier = await desk(STATEMENT, cutoff="2024-05-01", symbol="A")
    assert len(later.data) == 1 and earlier.data == []
    assert len(desk.seen) == 1


async def test_a6_one_clock_for_all_sources() -> None:
    async def sent(path: str, body: Any, **params: Any) -> str:
        desk = Desk(body)
        await desk(path, **params)
        return orjson.dumps([desk.seen[0].query, desk.seen[0].body]).decode()

    assert '"to":"2024-05-31"' in await sent(EOD, [], symbol="A", **{"from": "2024-01-01"})
    assert '"realtime_end":"2024-05-31"' in await sent(
        "fred/series/observations", {"observations": []}, series_id="A"
    )
    assert "2024-05-31" in await sent("gt/google_trends_overtime", {}, q="a", time="today 3-m")
    assert '"endPublishedDate":"2024-06-01T04:00:00.000Z"' in await sent("exa/search/search", {}, query="a")
    assert "1990-01-01to2024-05-31" in await sent("brave/web", {}, q="a")


async def test_a7_a_row_with_a_broken_or_missing_date_goes_and_its_neighbours_stay() -> None:
    rows = [
        *bars("2024-05-01"),
        {"symbol": "A", "date": ""},
        {"symbol": "A"},
        {"symbol": "A", "date": "05/02/2024"},
    ]
    answer = await Desk(rows)(EOD, symbol="A")
    assert [row["date"] for row in answer.data] == ["2024-05-01"]
    assert answer.meta["dropped_why"] == {"no readable date": 3}


async def test_a8_rows_deep_in_an_answer_are_filtered_by_their_own_field() -> None:
    values = [{"x": "2023-12-31", "y": 1}, {"x": "2024-05-30", "y": 2, "date": "2001-01-01"}]
    desk = Desk(
        lambda seen: (
            {"company": {}, "metrics": [{"name": "m", "values": values}]} if "msd" in seen.path else []
        )
    )
    answer = await desk("msd/companies/companies/{ticker}", ticker="AAPL")
    assert [value["y"] for value in answer.data["metrics"][0]["values"]] == [1]


async def test_a9_parallel_sessions_keep_their_own_cutoffs() -> None:
    desk = Desk(lambda seen: bars("2022-05-02", "2023-05-01", "2024-05-01"))
    answers = await asyncio.gather(
        *(desk(EOD, cutoff=f"{2022 + n % 3}-06-01", symbol="A") for n in range(30))
    )
    assert [len(answer.data) for answer in answers] == [1 + n % 3 for n in range(30)]


async def test_a10_errors_show_no_address_and_no_text_of_the_vendor() -> None:
    async def told(path: str, status: int, **params: Any) -> str:
        try:
            answer = await Desk(lambda seen: Sent({"message": "delisted in 2025"}, status))(path, **params)
        except (Refused, SourceError) as error:
            return str(error)
        return answer.encoded().decode() + str(answer.meta["notes"])

    for status in (400, 401, 404, 418, 500):
        for text in (await told(EOD, status, symbol="A"), await told("kalshi/market", status, ticker="A")):
            assert "delisted" not in text and "://" not in text
    # a list that is empty at the cutoff and a name that never was look the same
    later = await Desk(bars("2025-01-02"))(EOD, symbol="A")
    never = await Desk(lambda seen: Sent({}, 404))(EOD, symbol="A")
    assert (
        (later.data, later.meta["notes"])
        == (never.data, never.meta["notes"])
        == ([], ["no rows: check the parameters"])
    )


def test_a11_every_source_has_a_timeout_and_a_bound_on_calls_at_once() -> None:
    for source in load_catalogue().sources():
        assert 0 < source.limits.timeout <= 60 and 1 <= source.limits.together <= 8
        assert source.name == "embedded" or source.limits.per_minute or source.limits.per_second


# -- Financial Modeling Prep ------------------------------------------------------------------------------------------


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
    await desk(STATEMENT, symbol="A")
    assert desk.seen[0].query == {"symbol": "A"}


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
        assert (await Desk(rows)(path, cutoff="2024-05-14", **params)).data == []
    answer = await Desk(rows)("fmp/funds/disclosure-holders-latest", cutoff="2024-06-06", symbol="A")
    assert [row["dateReported"] for row in answer.data] == ["2024-03-31"]


async def test_a31_positions_of_tuesday_count_from_their_publication_on_friday() -> None:
    rows = [{"symbol": "ES", "date": "2024-05-28"}, {"symbol": "ES", "date": "2024-05-21"}]
    path = "fmp/commitment-of-traders-analysis"
    assert [r["date"] for r in (await Desk(rows)(path, cutoff="2024-05-31", symbol="ES")).data] == [
        "2024-05-21"
    ]
    assert len((await Desk(rows)(path, cutoff="2024-06-02", symbol="ES")).data) == 2


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
        "fmp/etf/info": {"symbol": "A"}, "fmp/earnings-transcript-list": {}, "fmp/cryptocurrency-list": {},
        "fmp/commodities-list": {},
    }.items():  # fmt: skip
        (kept,) = (await Desk([row])(path, **params)).data
        assert not gone & set(kept) and kept["symbol"] == "A"


async def test_a35_index_bars_of_five_minutes_are_filtered() -> None:
    rows = [{"date": "2025-01-02 10:00:00", "close": 1}, {"date": "2024-05-31 10:00:00", "close": 2}]
    answer = await Desk(rows)("fmp/indexes/intraday/historical-chart/5min", symbol="^GSPC")
    assert [row["close"] for row in answer.data] == [2]


@pytest.mark.parametrize(
    "path", ["fmp/chart/end-of-day/historical-price-eod/full", "fmp/chart/intraday/historical-chart/1hour"]
)
async def test_a36_a_split_after_the_cutoff_is_invisible(path: str) -> None:
    def vendor(seen: Seen) -> Any:
        # ten for one after the cutoff: the vendor's old bars read a tenth
        raw, level = seen.path.endswith("non-split-adjusted"), 1200.0
        if raw:
            return [
                {"symbol": "N", "date": d, "adjClose": level, "volume": 100}
                for d in ("2024-05-30", "2024-05-31")
            ]
        hour = "" if "eod" in seen.path else " 10:00:00"
        return [
            {
                "symbol": "N",
                "date": f"{d}{hour}",
                "open": 119.0,
                "close": 120.0,
                "price": 120.0,
                "volume": 1000,
            }
            for d in ("2024-05-30", "2024-05-31", "2024-06-10")
        ]

    rows = (await Desk(vendor)(path, symbol="N")).data
    assert [(row["open"], row["close"], row["volume"]) for row in rows] == [(1190.0, 1200.0, 100)] * 2


async def test_a36_indicators_follow_the_scale_and_oscillators_have_none() -> None:
    def vendor(seen: Seen) -> Any:
        if "historical-price-eod" in seen.path:
            close = 1200.0 if seen.path.endswith("non-split-adjusted") else 120.0
            return [{"date": "2024-05-31", "price": close, "adjClose": close}]
        return [{"date": "2024-05-30 00:00:00", "close": 120.0, "sma": 110.0, "rsi": 55.0}]

    asked: dict[str, Any] = {"symbol": "N", "periodLength": 10, "timeframe": "1day"}
    assert (await Desk(vendor)("fmp/technical-indicators/sma", **asked)).data[0]["sma"] == 1100.0
    assert (await Desk(vendor)("fmp/technical-indicators/rsi", **asked)).data[0]["rsi"] == 55.0


async def test_a36_dividend_adjusted_bars_meet_the_traded_price_on_the_last_day() -> None:
    def vendor(seen: Seen) -> Any:
        factor = 1.0 if seen.path.endswith("non-split-adjusted") else 0.9
        return [
            {"date": d, "adjClose": p * factor}
            for d, p in (("2024-05-30", 100.0), ("2024-05-31", 110.0), ("2024-06-04", 120.0))
        ]

    rows = (await Desk(vendor)("fmp/historical-price-eod/dividend-adjusted", symbol="N")).data
    assert [row["adjClose"] for row in rows] == [100.0, 110.0]


async def test_a36_without_an_as_traded_price_beside_it_nothing_is_told() -> None:
    def vendor(seen: Seen) -> Any:
        return (
            []
            if seen.path.endswith("non-split-adjusted")
            else [{"date": "2024-05-31", "close": 1.0, "price": 1.0}]
        )

    with pytest.raises(CutoffRefused, match="as-traded"):
        await Desk(vendor)("fmp/chart/end-of-day/historical-price-eod/full", symbol="N")


async def test_a36_amounts_rescaled_later_are_dropped_from_dividends() -> None:
    rows = [
        {
            "symbol": "A",
            "date": "2024-05-10",
            "declarationDate": "2024-05-02",
            "dividend": 0.25,
            "adjDividend": 0.025,
            "yield": 0.5,
        }
    ]
    (row,) = (await Desk(rows)("fmp/dividends", symbol="A")).data
    assert row["dividend"] == 0.25 and not {"adjDividend", "yield"} & set(row)


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


# -- other sources ----------------------------------------------------------------------------------------------------


async def test_a50_operating_metrics_have_a_cutoff() -> None:
    values = [{"x": "2030-03-31", "y": 2}, {"x": "2023-12-31", "y": 1}]
    bodies = {
        "msd/companies/companies/{ticker}": ({"ticker": "AAPL"}, {"metrics": [{"values": values}]}),
        "msd/companies/companies-post": (
            {"tickers": ["AAPL"]},
            {"companies": [{"metrics": [{"values": values}]}]},
        ),
    }
    for path, (params, body) in bodies.items():
        answer = await Desk(lambda seen, body=body: body if "msd" in seen.path else [])(path, **params)
        assert b'"y":1' in answer.encoded() and b'"y":2' not in answer.encoded()


@pytest.mark.parametrize("ticker", ["../../admin?x=", "A/B", "..", "A#", "A%2e", "AAPL?x=1", "a b", ""])
async def test_a51_a_path_parameter_cannot_climb_out(ticker: str) -> None:
    desk = Desk([])
    with pytest.raises(ParameterInvalid):
        await desk("msd/companies/companies/{ticker}/kpi", ticker=ticker)
    assert desk.seen == []


async def test_a51_what_is_allowed_in_a_path_is_encoded() -> None:
    desk = Desk({"items": []})
    await desk("wikipedia/pageviews", article="AC/DC ?x=1", start="2024-01-01", end="2024-02-01")
    assert "/user/AC%2FDC_%3Fx%3D1/daily/20240101/20240201" in desk.seen[0].path


async def test_a52_any_real_time_window_is_pulled_back_not_broken() -> None:
    desk = Desk({"observations": []})
    for asked in (
        {"realtime_end": "2030-01-01"},
        {"realtime_start": "2030-01-01"},
        {"realtime_start": "2030-01-01", "realtime_end": "2031-01-01"},
    ):
        await desk("fred/series/observations", series_id="GDP", **asked)
        assert desk.seen[-1].query["realtime_start"] == desk.seen[-1].query["realtime_end"] == "2024-05-31"


async def test_a53_the_vintage_is_the_day_before() -> None:
    desk = Desk(
        {
            "observations": [
                {"date": "2024-04-01", "realtime_start": "2024-06-01", "value": "9"},
                {"date": "2024-03-01", "realtime_start": "2024-05-31", "value": "8"},
            ]
        }
    )
    answer = await desk("fred/series/observations", series_id="GDP")
    assert [row["value"] for row in answer.data["observations"]] == ["8"]


async def test_a54_series_metadata_of_today_is_stripped() -> None:
    row = {
        "id": "A",
        "title": "t",
        "last_updated": "2025-01-01",
        "popularity": 3,
        "observation_end": "2025-01-01",
    }
    answer = await Desk({"seriess": [row]})("fred/series", series_id="A")
    assert answer.data["seriess"] == [{"id": "A", "title": "t"}]


@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        ("2019-01-01 2019-06-30", "2019-01-01 2019-06-30"),
        ("2024-03-01 2024-12-31", "2024-03-01 2024-05-31"),
        ("now 7-d", "2024-05-24 2024-05-31"),
        ("today 3-m", "2024-02-29 2024-05-31"),
        # weeks: the window ends on the Saturday before
        ("today 12-m", "2023-05-31 2024-05-25"),
        # months: it ends with a whole month
        ("all", "2004-01-01 2024-05-31"),
    ],
)
async def test_a55_every_form_of_window_is_understood(asked: str, sent: str) -> None:
    desk = Desk({"interest_over_time": {"timeline_data": []}})
    await desk("gt/google_trends_overtime", q="a", time=asked)
    assert desk.seen[0].query["time"] == sent


async def test_a56_the_trends_window_ends_the_day_before_in_utc() -> None:
    desk = Desk({"interest_over_time": {"timeline_data": []}})
    await desk("gt/google_trends_overtime", q="a", tz=420, time="2024-05-01 2024-06-01")
    assert desk.seen[0].query["tz"] == "0" and desk.seen[0].query["time"].endswith("2024-05-31")


async def test_a57_pages_as_they_are_now_are_refused() -> None:
    with pytest.raises(CutoffRefused):
        await Desk({})("exa/search/contents", urls=["https://example.org"])


async def test_a58_late_and_undated_results_and_generated_text_go() -> None:
    hits = [
        {"title": "late", "url": "u1", "publishedDate": "2030-01-01T00:00:00.000Z"},
        {"title": "undated", "url": "u2"},
        {"title": "null", "url": "u3", "publishedDate": None},
        {"title": "told", "url": "u4", "publishedDate": "2024-01-01", "text": "Updated: on 3 July 2024 it won."},
        {"title": "good", "url": "u5", "publishedDate": "2024-01-01T00:00:00.000Z", "text": "In March 2024 it rose.", "summary": "s", "subpages": [], "extras": {}},
    ]  # fmt: skip
    answer = await Desk({"results": hits, "autopromptString": "x"})("exa/search/search", query="q")
    assert answer.data == {"results": [{k: hits[4][k] for k in ("title", "url", "publishedDate", "text")}]}
    for name in ("summaryQuery", "livecrawl", "subpages"):
        with pytest.raises(ParameterNotListed):
            await Desk({})("exa/search/search", query="q", **{name: "x"})


async def test_a59_a_search_cached_live_does_not_serve_a_cutoff() -> None:
    desk = Desk({"results": [{"title": "late", "url": "u", "publishedDate": "2025-01-01"}]})
    assert len((await desk("exa/search/search", cutoff="now", query="q")).data["results"]) == 1
    answer = await desk("exa/search/search", query="q")
    assert answer.data["results"] == [] and desk.seen[-1].body["endPublishedDate"].startswith("2024-06-01")


async def test_a60_a_search_needs_no_dates_and_takes_them_in_any_iso_form() -> None:
    desk = Desk({"results": []})
    await desk(
        "exa/search/search",
        query="q",
        startPublishedDate="2023-01-01",
        endPublishedDate="2023-06-01T00:00:00Z",
    )
    assert desk.seen[0].body["startPublishedDate"] == "2023-01-01T00:00:00.000Z"
    assert desk.seen[0].body["endCrawlDate"] == "2024-06-01T04:00:00.000Z"


async def test_a61_an_end_past_the_cutoff_leaves_the_start_alone() -> None:
    desk = Desk({"results": []})
    await desk("exa/search/search", query="q", startPublishedDate="2023-01-01", endPublishedDate="2030-01-01")
    assert desk.seen[0].body["startPublishedDate"] == "2023-01-01T00:00:00.000Z"
    assert desk.seen[0].body["endPublishedDate"] == "2024-06-01T04:00:00.000Z"


async def test_a63_candles_of_the_cutoff_day_and_what_settlement_wrote_are_out() -> None:
    at = int(Cutoff.parse(CUTOFF).instant.timestamp())
    candles = [
        {"end_period_ts": at + 86400, "volume": 3},
        {"end_period_ts": at, "volume": 2},
        {"end_period_ts": at + 1, "volume": 1},
    ]
    asked = {"start_ts": at - 9 * 86400, "end_ts": at + 86400, "period_interval": 1440}
    desk = Desk({"ticker": "T", "candlesticks": candles})
    answer = await desk("kalshi/candlesticks", series_ticker="S", ticker="T", **asked)
    assert [c["volume"] for c in answer.data["candlesticks"]] == [2] and desk.seen[0].query["end_ts"] == str(
        at
    )
    market = {
        "ticker": "T", "title": "t", "open_time": "2024-05-01T00:00:00Z", "close_time": "2024-06-20T00:00:00Z",
        "status": "settled", "result": "yes", "expiration_value": "5", "last_price_dollars": "0.99", "rules_primary": "r",
    }  # fmt: skip
    answer = await Desk({"market": market})("kalshi/market", ticker="T")
    assert answer.data["market"] == {k: market[k] for k in ("ticker", "title", "open_time", "rules_primary")}
    empty = await Desk({"ticker": "T", "candlesticks": []})(
        "kalshi/candlesticks", series_ticker="S", ticker="T", **asked
    )
    assert empty.data["candlesticks"] == [], "a market without trades has no price, not the price 0"


async def test_a64_stamps_do_not_depend_on_the_machines_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    rows = [{"timestamp": int(Cutoff.parse(CUTOFF).instant.timestamp()) + d, "price": d} for d in (-1, 1)]
    for zone in ("Asia/Tokyo", "America/Los_Angeles"):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        try:
            assert [r["price"] for r in (await Desk(rows)("polymarket/trades", market="0x1")).data] == [-1]
        finally:
            monkeypatch.undo()
            time.tzset()


async def test_a65_text_that_holds_json_stays_text() -> None:
    market = {
        "id": "1",
        "createdAt": "2024-01-01T00:00:00Z",
        "outcomes": "__import__('os').abort()",
        "outcomePrices": "[1]",
    }
    answer = await Desk([market])("polymarket/markets")
    assert answer.data == [{k: market[k] for k in ("id", "createdAt", "outcomes")}]


# -- the second system ------------------------------------------------------------------------------------------------


async def test_b1_when_every_result_goes_the_answer_is_empty_not_unfiltered() -> None:
    answer = await Desk({"results": [{"title": "a", "url": "u", "publishedDate": "2025-01-01"}]})(
        "exa/search/search", query="q"
    )
    assert answer.data == {"results": []} and answer.meta["rows_dropped"] == 1


async def test_b2_a_policy_that_errs_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    from types import MappingProxyType

    from proxies import pipeline
    from proxies.policies import POLICIES, Policy

    def broken(*args: Any) -> Any:
        raise ZeroDivisionError

    whole = POLICIES["filter_rows"]
    for policy in (Policy(prepare=broken, judge=whole.judge), Policy(prepare=whole.prepare, judge=broken)):
        monkeypatch.setattr(pipeline, "POLICIES", MappingProxyType({**POLICIES, "filter_rows": policy}))
        with pytest.raises(CutoffRefused):
            await Desk([{"timestamp": 1, "price": 1}])("polymarket/trades", market="0x1")


@pytest.mark.parametrize(
    "date", ["12/31/2030", "01/01/2099", "1st Jan 2030", "2024-6-1", "20300101", "next week"]
)
async def test_b3_a_loose_date_is_refused_rather_than_compared_as_text(date: str) -> None:
    desk = Desk(bars("2024-05-30"))
    with pytest.raises(ParameterInvalid):
        await desk(EOD, symbol="A", to=date)
    assert desk.seen == []


async def test_b4_a_macro_value_is_of_its_vintage() -> None:
    desk = Desk({"observations": []})
    await desk(
        "fred/series/observations", cutoff="2024-05-15", series_id="CPIAUCSL", observation_end="2024-12-01"
    )
    assert desk.seen[0].query["realtime_end"] == desk.seen[0].query["observation_end"] == "2024-05-14"


def yahoo(*, later_split: bool) -> Handler:
    def vendor(seen: Seen) -> Any:
        days = {"2024-05-30": 100.0, "2024-05-31": 104.0, "2024-06-03": 110.0}
        scale = 0.25 if later_split else 1.0
        stamps = [int(Cutoff.parse(f"{day}T09:30-04:00").instant.timestamp()) for day in days]
        events: dict[str, Any] = {
            "dividends": {
                "1": {"date": stamps[0], "amount": 0.8 * scale},
                "2": {"date": stamps[2], "amount": 9.0},
            }
        }
        if later_split:
            events["splits"] = {
                "3": {"date": stamps[2] + 864000, "numerator": 4, "denominator": 1, "splitRatio": "4:1"}
            }
        closes = [price * scale for price in days.values()]
        quote = {
            "close": closes,
            "open": closes,
            "high": closes,
            "low": closes,
            "volume": [int(100 / scale)] * 3,
        }
        meta = {"currency": "USD", "exchangeTimezoneName": "America/New_York", "regularMarketPrice": 999.0}
        indicators = {"quote": [quote], "adjclose": [{"adjclose": [c * 0.97 for c in closes]}]}
        return {
            "chart": {
                "result": [{"meta": meta, "timestamp": stamps, "events": events, "indicators": indicators}],
                "error": None,
            }
        }

    return vendor


async def test_b5_yahoo_levels_are_those_of_the_cutoff() -> None:
    asked = {"symbol": "A", "period1": "2024-05-01", "period2": "2024-12-31"}
    plain, split = [
        await Desk(yahoo(later_split=later))("yfinance/history", **asked) for later in (False, True)
    ]
    (result,) = split.data["chart"]["result"]
    assert result["indicators"]["quote"][0]["close"] == [100.0, 104.0]
    assert result["indicators"]["quote"][0]["volume"] == [100, 100]
    assert result["indicators"]["adjclose"][0]["adjclose"] == [100.0, 104.0]
    assert [event["amount"] for event in result["events"]["dividends"].values()] == [0.8]
    assert "999" not in split.encoded().decode() and not result["events"].get("splits")
    assert plain.encoded() == split.encoded().replace(b',"splits":{}', b"")


async def test_b6_a_yearly_value_is_not_known_when_its_year_begins() -> None:
    doc = {
        "@frequency": "annual",
        "series_code": "S",
        "period": ["2022", "2024"],
        "period_start_day": ["2022-01-01", "2024-01-01"],
        "value": [1.0, 2.0],
    }
    answer = await Desk({"series": {"docs": [doc], "num_found": 1}})(
        "dbnomics/series", provider="A", dataset="B", series="C"
    )
    assert answer.data["series"]["docs"][0]["value"] == [1.0]
    with pytest.raises(CutoffRefused):
        await Desk({})("dbnomics/series", strict=True, provider="A", dataset="B", series="C")


async def test_b7_a_page_ends_with_the_last_edit_before_the_cutoff() -> None:
    desk = Desk(
        lambda seen: {
            "query": {
                "pages": [
                    {
                        "title": "T",
                        "revisions": [
                            {
                                "revid": 7,
                                "timestamp": "2024-05-31T23:00:00Z",
                                "slots": {"main": {"content": "old"}},
                            }
                        ],
                    }
                ]
            }
        }
    )
    answer = await desk("wikipedia/page", title="T")
    assert desk.seen[0].query["rvstart"] == "2024-06-01T03:59:59Z" and desk.seen[0].query["rvdir"] == "older"
    assert answer.data["wikitext"] == "old"
    late = Desk(
        {
            "query": {
                "pages": [
                    {
                        "title": "T",
                        "revisions": [
                            {
                                "revid": 8,
                                "timestamp": "2024-06-01T05:00:00Z",
                                "slots": {"main": {"content": "new"}},
                            }
                        ],
                    }
                ]
            }
        }
    )
    none = Desk({"query": {"pages": [{"title": "T", "missing": True}]}})
    words = set()
    for desk in (late, none):
        with pytest.raises(Refused) as caught:
            await desk("wikipedia/page", title="T")
        words.add(caught.value.reason)
    assert len(words) == 1, "a page edited or made later and one that never was read the same"


async def test_b8_market_state_of_today_is_stripped_and_not_asked_by() -> None:
    event = {"id": "1", "title": "t", "createdAt": "2024-01-01T00:00:00Z", "closed": True, "volume": 5, "markets": [{"id": "2", "createdAt": "2024-07-01T00:00:00Z", "question": "later"}, {"id": "3", "createdAt": "2024-01-01T00:00:00Z", "question": "q", "outcomePrices": "[1, 0]", "closed": True}]}  # fmt: skip
    (row,) = (await Desk([event])("polymarket/events")).data
    assert (
        row["markets"] == [{"id": "3", "createdAt": "2024-01-01T00:00:00Z", "question": "q"}]
        and "closed" not in row
    )
    for name in ("closed", "active", "order"):
        with pytest.raises(ParameterNotListed, match=name):
            await Desk([])("polymarket/markets", **{name: "true"})


async def test_b10_generated_answers_are_refused() -> None:
    for path, params in {
        "brave/summarizer": {"key": "k"},
        "brave/llm-context": {"q": "q"},
        "brave/suggest": {"q": "q"},
    }.items():
        with pytest.raises(CutoffRefused):
            await Desk({})(path, **params)


async def test_b11_a_result_of_the_cutoff_day_goes() -> None:
    hits = [
        {"title": d, "url": "u", "publishedDate": d}
        for d in ("2024-06-01", "2024-06-01T04:00:00.000Z", "2024-05-31")
    ]
    answer = await Desk({"results": hits})("exa/search/search", query="q")
    assert [hit["title"] for hit in answer.data["results"]] == ["2024-05-31"]


async def test_b12_a_required_parameter_cannot_be_empty() -> None:
    for symbol in ("", "  ", None):
        with pytest.raises(Refused):
            await Desk([])(EOD, symbol=symbol)


async def test_b13_naive_stamps_are_read_in_new_york_or_later() -> None:
    rows = [{"date": "2024-05-31 23:30:00", "event": "e1"}, {"date": "2024-06-01 00:30:00", "event": "e2"}]
    answer = await Desk(rows)("fmp/economic-calendar")
    assert [row["event"] for row in answer.data] == ["e1"]
