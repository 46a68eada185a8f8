"""What docs/trust/cutoff.md lists as what no filter can see, each shown: a limit that went, or that is worse than told, fails here."""

from datetime import timedelta
from typing import Any

import pytest

from proxies.catalogue import load_catalogue
from tests.fakes.upstream_yahoo_company import company
from tests.proxies.closed_leaks.test_yahoo_shares import lines_of
from tests.proxies.leaks.desk import STATEMENT, Desk
from tests.proxies.test_market_state import Market, T, stamp, statuses

MEMBERS = "fmp/indexes/constituents/sp500-constituent"
LINES = {"symbol": "AAPL", "type": "annualTotalRevenue", "period1": 1546300800, "period2": 1609459200}


@pytest.mark.parametrize(
    ("path", "vendor", "params"),
    [
        (STATEMENT, [{"symbol": "A", "date": "2019-09-28", "acceptedDate": "2019-10-30 18:12:36", "revenue": 5}], {"symbol": "A"}),
        ("yfinance/fundamentals", company(), LINES),
    ],
)  # fmt: skip
async def test_an_answer_that_may_be_restated_says_so(path: str, vendor: Any, params: dict[str, Any]) -> None:
    answer = await Desk(vendor)(path, "2020-03-01", **params)
    assert any("restated" in note for note in answer.meta["notes"]) and answer.data


async def test_a_text_that_was_edited_without_naming_a_day_is_told_and_one_that_names_it_is_cut() -> None:
    async def told(text: str) -> str:
        hit = {"title": "t", "url": "u", "publishedDate": "2024-01-01T00:00:00Z", "text": f"Old. {text}"}
        return str((await Desk({"results": [hit]})("exa/search/search", "2024-06-01", query="q")).data)

    assert "The merger failed." in await told("The merger failed.")
    assert "failed" not in await told("The merger failed on 3 July 2024.")


async def test_an_amount_rounded_to_cents_after_a_later_split_is_a_multiple_of_its_ratio() -> None:
    def rounding(ratio: float) -> Any:
        def answer(seen: Any) -> Any:
            body = company(ratio)(seen)
            for row in body.get("rows", ()):
                row["epsestimate"] = round(2.85 / ratio, 2)
            return body

        return answer

    told = [
        (await Desk(rounding(ratio))("yfinance/earnings-dates", "2020-03-01", symbol="AAPL")).data[0]
        for ratio in (1, 4)
    ]
    assert [row["epsestimate"] for row in told] == [2.85, 2.84]
    assert "rescaled" in load_catalogue().resolve("yfinance/earnings-dates").as_of.open_to


async def test_earnings_days_bear_no_shares_and_are_believed_to_be_restated() -> None:
    """In both forms of a vendor: one that restates them tells nothing, one that does not would tell the split."""

    def vendor(ratio: float, *, restates: bool) -> Any:
        rows = company(ratio if restates else 1)
        return lambda seen: company(ratio)(seen) if "/chart/" in seen.path else rows(seen)

    async def actual(ratio: float, *, restates: bool) -> Any:
        desk = Desk(vendor(ratio, restates=restates))
        return (await desk("yfinance/earnings-dates", "2020-03-01", symbol="AAPL")).data[0]["epsactual"]

    assert [await actual(ratio, restates=True) for ratio in (1, 4)] == [3.04, 3.04]
    assert await actual(4, restates=False) == 12.16


async def test_a_company_that_left_an_index_under_a_name_the_record_does_not_link_is_missing() -> None:
    added, left = {"date": "2013-12-23", "symbol": "FB"}, {"date": "2025-01-15", "removedTicker": "META"}

    async def told(*record: dict[str, str]) -> set[str]:
        def vendor(seen: Any) -> Any:
            return list(record) if "historical" in seen.path else [{"symbol": "OLD"}]

        answer = await Desk(vendor)(MEMBERS, cutoff="2021-06-01")
        return {row["symbol"] for row in answer.data}

    before = {"date": "2001-01-02", "symbol": "OLD"}
    assert await told(before, {**added, "symbol": "META"}, left) == {"OLD", "META"}
    assert await told(before, added, left) == {"OLD"}


async def test_a_copy_that_was_withdrawn_reads_as_never_made() -> None:
    head = ["timestamp", "original", "statuscode"]
    kept = [head, ["20240110000000", "https://example.com/", "200"]]
    told = [
        (await Desk(listed)("wayback/captures", url="https://example.com/")).data
        for listed in (kept, [head], [])
    ]
    assert [len(rows) for rows in told] == [1, 0, 0]
    for path in ("wayback/captures", "wayback/page"):
        assert "removed" in load_catalogue().resolve(path).as_of.open_to


def test_a_market_whose_end_was_set_back_before_its_halt_reads_closed_in_its_last_hours() -> None:
    day, hour = timedelta(days=1), timedelta(hours=1)
    market = Market(listed=T - 9 * day, opened=T - 8 * day, planned=T + 90 * day, ended=T + 5 * hour)
    assert set(statuses("kalshi", market)) == {"open"}
    assert set(statuses("kalshi", market, close_time=stamp(T - hour))) == {"closed"}


def test_searches_that_rank_by_what_is_known_today_are_on_the_list() -> None:
    ranked = {e.path for e in load_catalogue() if "ranked" in e.as_of.open_to}
    searches = {e.path for e in load_catalogue() if e.as_of.policy == "search_date_filter"}
    # GDELT lists by date
    assert (
        searches - {"gdelt/documents"} <= ranked
        and {"fred/series/series/search", "fmp/search/search-name"} <= ranked
    )


@pytest.mark.parametrize("ratio", [1.5, 4])
def test_figures_as_filed_are_told_from_restated_ones_only_beyond_a_ratio_of_1_6(ratio: float) -> None:
    told = [
        lines_of(company(one, restates=False), "OrdinarySharesNumber")["OrdinarySharesNumber"]
        for one in (1, ratio)
    ]
    assert (told[0] == told[1]) == (ratio > 1.6)
