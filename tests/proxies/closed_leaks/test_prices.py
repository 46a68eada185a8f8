"""A share asked for by another name, and figures per share after a later split (A2, A3)."""

import asyncio
from collections.abc import Callable
from typing import Any

from tests.fakes.upstream import Seen
from tests.proxies.leaks.desk import Desk

STATEMENTS = "fmp/statements/financial-statements/income-statement"


# -- A3: prices, amounts per share and share counts on one scale --------------------------------------------

SHARES, INCOME, PRICE = 4_617_834_000, 55_256_000_000, 293.65


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
                    "numberOfShares": SHARES * part,
                    "marketCapitalization": 218.8 * SHARES * worth,
                }
            ]
        if tail == "ratios":
            return [{**period, "bookValuePerShare": 19.6 / part, "grossProfitMargin": 0.378}]
        if tail == "key-metrics":
            return [{**period, "grahamNumber": 72.4 / part, "currentRatio": 1.54}]
        if tail == "owner-earnings":
            return [{**period, "ownersEarningsPerShare": 12.24 / part, "ownersEarnings": 1.0}]
        count = SHARES * part
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
    assert before == {"price over earnings": PRICE / 11.97, "market value": PRICE * SHARES}
    assert cell(company(4)) == before and cell(company(20)) == before and cell(company(0.5)) == before


async def test_a3_a_row_whose_shares_do_not_fit_price_and_value_loses_the_field() -> None:
    for ratio in (1, 4):
        (row,) = (await Desk(company(ratio, worth=30))(STATEMENTS, "2020-01-02", symbol="AAPL")).data
        assert row["netIncome"] == INCOME
        assert not {"eps", "epsDiluted", "weightedAverageShsOut", "weightedAverageShsOutDil"} & row.keys()
