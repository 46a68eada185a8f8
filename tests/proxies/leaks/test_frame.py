"""Cases A1 to A11, the frame around all sources; A20 to A35 and A50 to A65, single sources; B2, a policy that errs."""

import asyncio
import logging
from typing import Any

import orjson
import pytest

from proxies.asof.clock import Cutoff
from proxies.catalogue import load_catalogue
from proxies.errors import CutoffRefused, NoCutoff, ParameterInvalid, ParameterNotListed, Refused, SourceError
from tests.fakes.upstream import Sent
from tests.proxies.leaks.desk import EOD, STATEMENT, Desk, bars
from tests.proxies.worlds import KEY


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


async def test_a4_parameters_that_are_not_listed_are_refused_and_not_sent() -> None:
    desk = Desk({"observations": []})
    for name in ("vintage_dates", "output_type", "apikey", "api_key", "realtimestart"):
        with pytest.raises(ParameterNotListed):
            await desk("fred/series/observations", series_id="GDP", **{name: "2030-01-01"})
    assert desk.seen == []


async def test_a6_one_clock_for_all_sources() -> None:
    async def sent(path: str, body: Any, **params: Any) -> str:
        desk = Desk(body)
        await desk(path, **params)
        return orjson.dumps([desk.seen[0].query, desk.seen[0].body]).decode()

    assert '"to":"2024-05-31"' in await sent(EOD, [], symbol="A", **{"from": "2024-01-01"})
    assert '"realtime_end":"2024-05-31"' in await sent(
        "fred/series/observations", {"observations": []}, series_id="A"
    )
    assert "2024-05-31" in await sent(
        "gt/google_trends_overtime", {"interest_over_time": {}}, q="a", time="today 3-m"
    )
    assert '"endPublishedDate":"2024-06-01T04:00:00.000Z"' in await sent(
        "exa/search/search", {"results": []}, query="a"
    )
    assert "1990-01-01to2024-05-31" in await sent("brave/web", {"type": "search"}, q="a")


async def test_a7_a_row_with_a_broken_or_missing_date_goes_and_its_neighbours_stay() -> None:
    rows = [
        *bars("2024-05-01"),
        {"symbol": "A", "date": ""},
        {"symbol": "A"},
        {"symbol": "A", "date": "05/02/2024"},
    ]
    desk = Desk(rows)
    answer = await desk(EOD, symbol="A")
    assert [row["date"] for row in answer.data] == ["2024-05-01"] and answer.meta["undated"] == 3
    assert [row.dropped_why for row in desk.ledger.rows.values()] == [{"no readable date": 3}]


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
        return answer.body.decode() + str(answer.meta["notes"])

    for status in (400, 401, 404, 418, 500):
        for text in (await told(EOD, status, symbol="A"), await told("kalshi/market", status, ticker="A")):
            assert "delisted" not in text and "://" not in text
    # a list that is empty at the cutoff and a name that never was look the same
    later = await Desk(bars("2025-01-02"))(EOD, symbol="A")
    never = await Desk([])(EOD, symbol="A")
    assert (
        (later.data, later.meta["notes"])
        == (never.data, never.meta["notes"])
        == ([], ["no rows: check the parameters"])
    )


def test_a11_every_source_has_a_timeout_and_a_bound_on_calls_at_once() -> None:
    for source in load_catalogue().sources():
        assert 0 < source.limits.timeout <= 60 and 1 <= source.limits.together <= 8
        assert source.name == "embedded" or source.limits.per_minute or source.limits.per_second


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


@pytest.mark.parametrize("ticker", ["../../admin?x=", "A/B", "..", "A#", "A%2e", "AAPL?x=1", "a b", ""])
async def test_a51_a_path_parameter_cannot_climb_out(ticker: str) -> None:
    desk = Desk([])
    with pytest.raises(ParameterInvalid):
        await desk("msd/companies/companies/{ticker}/kpi", ticker=ticker)
    assert desk.seen == []


@pytest.mark.parametrize(
    "wrong", [{"geo": "us"}, {"geo": "USA"}, {"geo": "US-"}, {"geo": "US&geo=X"}, {"geo": "New York"}, {"cat": -1}, {"cat": "news"}, {"cat": 100000}]
)  # fmt: skip
async def test_a55_what_is_no_place_or_category_is_refused_before_a_search_is_spent(
    wrong: dict[str, Any],
) -> None:
    desk = Desk({"interest_over_time": {"timeline_data": []}})
    with pytest.raises(ParameterInvalid, match=next(iter(wrong))):
        await desk("gt/google_trends_overtime", q="a", **wrong)
    assert desk.seen == []


async def test_b2_a_policy_that_errs_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    from types import MappingProxyType

    from proxies.asof import policies
    from proxies.asof.policies import POLICIES, Policy

    def broken(*args: Any) -> Any:
        raise ZeroDivisionError

    whole = POLICIES["filter_rows"]
    for policy in (Policy(prepare=broken, judge=whole.judge), Policy(prepare=whole.prepare, judge=broken)):
        monkeypatch.setattr(policies, "POLICIES", MappingProxyType({**POLICIES, "filter_rows": policy}))
        with pytest.raises(CutoffRefused):
            await Desk([{"timestamp": 1, "price": 1}])("polymarket/trades", market="0x1")
