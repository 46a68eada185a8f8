"""Prices are scaled by splits and dividends up to today (A36), and figures per share by splits (A3)."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from proxies.errors import CutoffRefused
from tests.fakes.upstream import Seen
from tests.fakes.upstream_fmp import Fmp, Share, weekdays
from tests.proxies.leaks.desk import STATEMENT, Desk

DAYS = weekdays("2021-01-04", "2025-06-30")


SHARE = Share(
    {d: 1200.0 for d in DAYS if d < "2024-06-10"} | {d: 120.0 for d in DAYS if d >= "2024-06-10"},
    {"2021-07-20": (4, 1), "2024-06-10": (10, 1)},
)
FULL = "fmp/chart/end-of-day/historical-price-eod/full"


async def test_a36_where_no_traded_price_is_on_record_the_list_of_splits_undoes_the_later_one() -> None:
    desk = Desk(Fmp({"N": SHARE}, as_traded=False))
    answer = await desk(FULL, symbol="N")
    days = [row["date"] for row in answer.data]
    assert max(days) == "2024-05-31" and [row["close"] for row in answer.data] == [
        SHARE.as_known(day, "2024-06-01") for day in days
    ]
    # what the broker read of later stays inside: no word of the split, its day or its ratio
    text = answer.body.decode() + str(answer.meta)
    assert "2024-06-10" not in text and "numerator" not in text
    # a year on the split is known, and the same days are told in the shares of then
    later = await Desk(Fmp({"N": SHARE}, as_traded=False))(FULL, cutoff="2025-01-02", symbol="N")
    assert {row["close"] for row in later.data if row["date"] > "2021-07-20"} == {120.0}


@pytest.mark.parametrize(
    "share",
    [
        # no list; a list that cannot be read; a split so near the newest bar that it may or may not be in the prices
        Share(SHARE.closes),
        Share(SHARE.closes, {"2024-06-10": ("ten", 1)}),
        Share(SHARE.closes, {"2024-06-10": (0, 1)}),
        Share(SHARE.closes, announced={"2025-07-02": (5, 1)}),
        Share(SHARE.closes, announced={"2025-06-27": (5, 1)}),
        Share(SHARE.closes, announced={"2026-02-02": (5, 1)}),
    ],
    ids=["none", "words", "zero", "tomorrow", "just now", "announced"],
)
async def test_a36_a_list_of_splits_that_settles_nothing_is_refused(share: Share) -> None:
    class Told(Fmp):
        def _daily(self, tail: str, share: Share) -> list[dict[str, Any]]:
            return [{"date": day, "price": 1.0, "close": 1.0} for day in share.closes]

    with pytest.raises(CutoffRefused, match="prices as traded"):
        await Desk(Told({"N": share}, as_traded=False))(FULL, symbol="N")


async def test_a36_bars_cut_off_at_the_new_end_do_not_hide_a_later_split() -> None:
    """A vendor that gives the oldest rows of a long window must not pass for one whose present is long ago."""
    vendor = Fmp({"N": SHARE}, as_traded=False, most=30, keeps="oldest")
    with pytest.raises(CutoffRefused, match="prices as traded"):
        await Desk(vendor)(FULL, cutoff="2023-01-03", symbol="N", **{"from": "2022-12-01"})
    whole = await Desk(Fmp({"N": SHARE}, as_traded=False))(
        FULL, cutoff="2023-01-03", symbol="N", **{"from": "2022-12-01"}
    )
    assert {row["close"] for row in whole.data} == {1200.0}


# -- A3: prices, amounts per share and share counts on one scale --------------------------------------------

OUTSTANDING, INCOME, PRICE = 4_617_834_000, 55_256_000_000, 293.65


def company(ratio: float, *, restates: bool = True, worth: float = 1.0) -> Callable[[Seen], Any]:
    """A vendor whose company's shares were split after the cutoff, each into ``ratio``; prices are rescaled in every case."""
    part = ratio if restates else 1.0

    def answer(seen: Seen) -> Any:
        tail = seen.path.rpartition("/")[2]
        period = {"symbol": "AAPL", "date": "2019-09-28", "fiscalYear": "2019", "period": "FY"}
        if tail in ("full", "light"):
            price = PRICE / ratio
            return [{"symbol": "AAPL", "date": "2019-12-31", "close": price, "price": price, "volume": 4}]
        if tail == "non-split-adjusted":
            return [{"symbol": "AAPL", "date": "2019-12-31", "adjClose": PRICE, "volume": 1}]
        if tail == "enterprise-values":
            price = 218.8 / ratio
            return [
                {
                    **period,
                    "stockPrice": price,
                    "numberOfShares": OUTSTANDING * part,
                    "marketCapitalization": 218.8 * OUTSTANDING * worth,
                }
            ]
        if tail == "ratios":
            return [{**period, "bookValuePerShare": 19.6 / part, "grossProfitMargin": 0.378}]
        if tail == "key-metrics":
            return [{**period, "grahamNumber": 72.4 / part, "currentRatio": 1.54}]
        if tail == "owner-earnings":
            return [{**period, "ownersEarningsPerShare": 12.24 / part, "ownersEarnings": 1.0}]
        count = OUTSTANDING * part
        return [
            {
                **period, "acceptedDate": "2019-10-30 18:12:36", "netIncome": INCOME, "eps": round(INCOME / count, 2),
                "epsDiluted": round(INCOME / count, 2), "weightedAverageShsOut": count, "weightedAverageShsOutDil": count,
            }
        ]  # fmt: skip

    return answer


CELL = """
bar = CALL_API("fmp/chart/end-of-day/historical-price-eod/full", {"symbol": "AAPL", "from": "2019-12-30"})[0]
report = CALL_API("fmp/statements/financial-statements/income-statement", {"symbol": "AAPL", "period": "annual", "limit": 1})[0]
result = {"price over earnings": bar["close"] / report["eps"], "market value": bar["close"] * report["weightedAverageShsOut"]}
"""


def test_a3_price_over_earnings_and_market_value_of_a_cell_are_equal_before_and_after_a_later_split() -> None:
    def cell(vendor: Callable[[Seen], Any]) -> dict[str, float]:
        def call_api(path: str, params: dict[str, Any]) -> Any:
            return asyncio.run(Desk(vendor)(path, "2020-01-02", **params)).data

        names: dict[str, Any] = {"CALL_API": call_api}
        exec(CELL, names)
        result: dict[str, float] = names["result"]
        return result

    before = cell(company(1))
    assert before == {"price over earnings": PRICE / 11.97, "market value": PRICE * OUTSTANDING}
    assert cell(company(4)) == before and cell(company(20)) == before and cell(company(0.5)) == before


async def test_a3_a_row_whose_shares_do_not_fit_price_and_value_loses_the_field() -> None:
    for ratio in (1, 4):
        (row,) = (await Desk(company(ratio, worth=30))(STATEMENT, "2020-01-02", symbol="AAPL")).data
        assert row["netIncome"] == INCOME
        assert not {"eps", "epsDiluted", "weightedAverageShsOut", "weightedAverageShsOutDil"} & row.keys()
