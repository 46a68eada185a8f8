"""Yahoo's share counts and amounts per share beside price and market value: one scale, whatever split came later (A3)."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.upstream import Seen, Sent
from tests.fakes.upstream_yahoo_company import (
    BASIC,
    CLOSE,
    DILUTED,
    INCOME,
    OUTSTANDING,
    REVENUE,
    company,
)
from tests.proxies.leaks.desk import Desk
from tests.proxies.two_worlds import read
from tests.proxies.worlds import in_loop

CUTOFF = "2020-03-01"
SHARES = (
    "BasicAverageShares", "DilutedAverageShares", "OrdinarySharesNumber", "ShareIssued", "TreasurySharesNumber",
)  # fmt: skip
PER_SHARE = ("BasicEPS", "DilutedEPS", "DividendPerShare")
MONEY = ("TotalRevenue", "MarketCap", "PreferredSharesNumber")

CELL = """
window = {"symbol": "AAPL", "period1": 1546300800, "period2": 1609459200}
chart = CALL_API("yfinance/history", window)["chart"]["result"][0]
close = chart["indicators"]["quote"][0]["close"][-1]
names = ["annualDilutedEPS", "annualOrdinarySharesNumber", "annualDilutedAverageShares", "annualMarketCap"]
lines = CALL_API("yfinance/fundamentals", {**window, "type": ",".join(names)})
figure = {}
for result in lines["timeseries"]["result"]:
    (name,) = [name for name in result if name in names]
    figure[name.removeprefix("annual")] = result[name][0]["reportedValue"]["raw"]
(day,) = CALL_API("yfinance/earnings-dates", {"symbol": "AAPL"})
result = {
    "price over earnings": close / figure["DilutedEPS"],
    "price over the quarter's earnings": close / day["epsactual"],
    "market value": close * figure["OrdinarySharesNumber"],
    "stated over computed": figure["MarketCap"] / (close * figure["OrdinarySharesNumber"]),
}
"""


def lines_of(vendor: Callable[[Seen], Any], *names: str, cutoff: str = CUTOFF) -> dict[str, float | None]:
    """The values of some annual lines as of a cutoff, None for a row without one."""
    asked = {
        "type": ",".join(f"annual{name}" for name in names),
        "period1": 1546300800,
        "period2": 1609459200,
    }
    answer: Any = in_loop(Desk(vendor)("yfinance/fundamentals", cutoff, symbol="AAPL", **asked))  # type: ignore[arg-type]
    out: dict[str, float | None] = {}
    for result in answer.data["timeseries"]["result"]:
        for name, rows in result.items():
            if name.startswith("annual"):
                out[name.removeprefix("annual")] = (rows[0].get("reportedValue") or {}).get("raw")
    return out


def test_a3_yahoos_price_over_earnings_and_market_value_are_equal_before_and_after_a_later_split() -> None:
    def cell(vendor: Callable[[Seen], Any]) -> dict[str, float]:
        def call_api(path: str, params: dict[str, Any]) -> Any:
            return asyncio.run(Desk(vendor)(path, CUTOFF, **params)).data

        names: dict[str, Any] = {"CALL_API": call_api}
        exec(CELL, names)
        result: dict[str, float] = names["result"]
        return result

    before = cell(company(1))
    # 55,256 million over 4,648.913 million diluted shares are 11.89 (Form 10-K for fiscal 2019)
    assert before["price over earnings"] == CLOSE / 11.89
    assert before["market value"] == CLOSE * OUTSTANDING and before["stated over computed"] == 1
    for ratio in (4, 20, 0.5):
        assert cell(company(ratio)) == before and cell(company(ratio, restates=False)) == before


@given(st.sampled_from([2, 3, 4, 7, 10, 20, 0.5, 0.1]), st.booleans(), st.sampled_from([1.0, 1.2, 300.0]))
def test_a3_a_later_split_changes_no_byte_of_yahoos_lines(ratio: float, restates: bool, worth: float) -> None:
    asked = {"type": ",".join(f"annual{name}" for name in (*SHARES, *PER_SHARE, *MONEY))}
    asked |= {"symbol": "AAPL", "period1": "1546300800", "period2": "1609459200"}
    worlds = company(1, worth=worth), company(ratio, restates=restates, worth=worth)
    told = [read(in_loop(Desk(world)("yfinance/fundamentals", CUTOFF, **asked))) for world in worlds]  # type: ignore[arg-type]
    assert told[0] == told[1] and f"{REVENUE}" in told[0]


def test_a3_a_misfit_of_about_the_ratio_of_the_later_split_reads_like_figures_as_filed() -> None:
    """A known limit: shares 30 times too few and not restated at a split in 20 cannot be told from one another."""
    told = [lines_of(company(ratio, worth=30), "OrdinarySharesNumber") for ratio in (1, 4, 20)]
    assert [value["OrdinarySharesNumber"] for value in told] == [None, None, 20 * OUTSTANDING]


@pytest.mark.parametrize("restates", [True, False])
def test_a3_yahoos_lines_are_those_that_were_filed(restates: bool) -> None:
    told = lines_of(company(4, restates=restates), *SHARES, *PER_SHARE, *MONEY)
    assert [told[name] for name in SHARES] == [BASIC, DILUTED, OUTSTANDING, 2 * OUTSTANDING, OUTSTANDING]
    assert [told[name] for name in PER_SHARE] == [11.97, 11.89, 3.0]
    assert told["PreferredSharesNumber"] == 7


@pytest.mark.parametrize("ratio", [1, 4])
@pytest.mark.parametrize(
    "odd",
    [{"worth": 30}, {"worth": 1 / 30}, {"MarketCap": None}, {"MarketCap": 0}, {"currency": "TWD"}],
    ids=["too dear", "too cheap", "no value", "nothing", "another currency"],
)
def test_a3_a_line_whose_shares_do_not_fit_price_and_market_value_loses_its_value(
    ratio: float, odd: dict[str, Any]
) -> None:
    told = lines_of(company(ratio, **odd), *SHARES, *PER_SHARE, "TotalRevenue")
    assert told.pop("TotalRevenue") == REVENUE
    assert set(told) == {*SHARES, *PER_SHARE} and set(told.values()) == {None}


def test_a3_a_price_in_pence_is_held_against_a_value_in_pounds() -> None:
    def in_pence(seen: Seen) -> Any:
        body = company(4, currency="GBp")(seen)
        if "/chart/" in seen.path:
            (quote,) = body["chart"]["result"][0]["indicators"]["quote"]
            quote["close"] = [100 * close for close in quote["close"]]
        for result in body.get("timeseries", {}).get("result", ()):
            for row in result.get("annualMarketCap", ()):
                row["currencyCode"] = "GBP"
        return body

    assert lines_of(in_pence, "OrdinarySharesNumber", "DilutedEPS") == {
        "OrdinarySharesNumber": OUTSTANDING,
        "DilutedEPS": 11.89,
    }


def test_a3_a_loss_and_no_earnings_follow_their_shares() -> None:
    for ratio in (1, 4):
        loss = round(-INCOME / (DILUTED * ratio), 2)
        lines: dict[str, Any] = {
            "DilutedNIAvailtoComStockholders": -INCOME,
            "DilutedEPS": loss,
            "BasicEPS": 0.0,
        }
        told = lines_of(company(ratio, **lines), "DilutedEPS", "BasicEPS")
        assert told == {"DilutedEPS": -11.89, "BasicEPS": 0.0}


@pytest.mark.parametrize("lost", ["/chart/", "timeseries"])
def test_a3_a_comparison_that_cannot_be_made_is_an_error_and_no_answer(lost: str) -> None:
    def broken(seen: Seen) -> Any:
        compares = "MarketCap" in seen.query.get("type", "") or seen.query.get("interval") == "1wk"
        return Sent(b"<html>", 200) if compares and lost in seen.path else company(1)(seen)

    with pytest.raises(Exception, match="yfinance"):
        lines_of(broken, "DilutedEPS")


@pytest.mark.parametrize("moved", ["NMS", "PNK"])
async def test_a_share_that_moves_to_another_exchange_or_is_delisted_later_changes_no_byte(
    moved: str,
) -> None:
    def answer(exchange: str) -> Any:
        meta = {
            "symbol": "Q",
            "currency": "USD",
            "exchangeName": exchange,
            "instrumentType": "EQUITY",
            "exchangeTimezoneName": "America/New_York",
            "dataGranularity": "1d",
        }
        stamp = 1646317800  # 3 March 2022, 9:30 in New York
        quote = {name: [300.0] for name in ("open", "high", "low", "close")} | {"volume": [5]}
        return {
            "chart": {
                "result": [
                    {
                        "meta": meta,
                        "timestamp": [stamp],
                        "indicators": {"quote": [quote], "adjclose": [{"adjclose": [300.0]}]},
                    }
                ],
                "error": None,
            }
        }

    asked = {"symbol": "Q", "period1": 1646092800, "period2": 1646438400, "interval": "1d"}
    told = [
        read(await Desk(answer(name))("yfinance/history", "2022-03-03T16:10-05:00", **asked))
        for name in ("NYQ", moved)
    ]
    assert told[0] == told[1] and "300.0" in told[0]
