"""A share asked for by another name, and figures per share after a later split (A2, A3)."""

import asyncio
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from proxies.catalogue.loader import CatalogueText, load_sources
from proxies.errors import (
    CatalogueError,
    CutoffRefused,
    ParameterInvalid,
)
from tests.fakes.upstream import Seen
from tests.fakes.upstream_fmp import Fmp, Share, weekdays
from tests.proxies.leaks.desk import Desk
from tests.proxies.two_worlds import read

STATEMENTS = "fmp/statements/financial-statements/income-statement"
FULL = "fmp/{}/end-of-day/historical-price-eod/full"
KINDS = ("chart", "indexes", "commodity", "crypto", "forex")
DAYS = weekdays("2024-04-01", "2024-07-31")
SPLIT = Share(
    {day: 887.0 if day < "2024-06-10" else 88.7 for day in DAYS},
    {"2021-07-20": (4, 1), "2024-06-10": (10, 1)},
)
PLAIN = Share({day: 887.0 for day in DAYS if day < "2024-05-04"}, {"2021-07-20": (4, 1)})


@pytest.mark.parametrize("kind", KINDS)
async def test_a2_a_share_asked_for_as_something_else_is_told_in_the_shares_of_then(kind: str) -> None:
    told = []
    for share in (PLAIN, SPLIT):
        answer = await Desk(Fmp({"NVDA": share}))(
            FULL.format(kind), "2024-05-04", symbol="NVDA", **{"from": "2024-05-01"}
        )
        told.append(read(answer))
        assert [row["close"] for row in answer.data] == [887.0] * 3
    assert told[0] == told[1]


@pytest.mark.parametrize(
    "group", ["chart/intraday", "indexes/intraday", "commodity/interval", "crypto/interval", "forex/interval"]
)
async def test_a2_bars_of_minutes_have_the_same_scale_by_every_name(group: str) -> None:
    bars = [
        {"date": "2024-05-03 15:00:00", "open": 88.7, "low": 88.7, "high": 88.7, "close": 88.7, "volume": 50}
    ]
    vendor = Fmp({"NVDA": SPLIT})
    answer = await Desk(lambda seen: bars if "historical-chart" in seen.path else vendor(seen))(
        f"fmp/{group}/historical-chart/5min", "2024-05-04", symbol="NVDA"
    )
    assert answer.data[0]["close"] == 887.0


@pytest.mark.parametrize("symbol", ["^GSPC", "GCUSD", "BTCUSD", "EURUSD", "ZCUSX"])
async def test_a2_what_never_splits_is_told_as_it_is_without_a_look(symbol: str) -> None:
    desk = Desk(Fmp({symbol: Share({"2024-05-03": 5000.5})}))
    (row,) = (await desk(FULL.format("indexes"), "2024-05-06", symbol=symbol)).data
    assert row["close"] == 5000.5 and len(desk.seen) == 1


@pytest.mark.parametrize("symbol", ["NVDA,AAPL", "NVDA?x=1", "NV DA", "../quote"])
async def test_a2_one_symbol_is_asked_for_at_a_time(symbol: str) -> None:
    with pytest.raises(ParameterInvalid):
        await Desk(Fmp({}))(FULL.format("forex"), "2024-05-04", symbol=symbol)


def test_a2_two_rows_with_one_upstream_call_have_one_policy() -> None:
    row: dict[str, Any] = {"path": "s/a", "call": "GET a", "about": "A.", "rows": "[]"}
    stamped = {"policy": "filter_rows", "residual": "low", "stamp": {"field": "d"}}

    def load(second: dict[str, Any], **more: Any) -> None:
        rows = [{**row, "as_of": stamped}, {**row, "path": "s/b", "as_of": second, **more}]
        doc = {"source": "s", "title": "S", "about": "S.", "hosts": {"a": "http://a"}, "endpoints": rows}
        load_sources([CatalogueText(name="s.yaml", text=orjson.dumps(doc).decode())])

    load(stamped)
    weaker = {"policy": "static", "residual": "low"}
    load(weaker, fixed={"kind": "other"})
    load(weaker, call="GET b")
    for more in ({}, {"call": "GET a/"}):
        with pytest.raises(CatalogueError, match="s/b and s/a are one upstream call"):
            load(weaker, **more)


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


@pytest.mark.parametrize("restates", [True, False])
@pytest.mark.parametrize(
    "path", [STATEMENTS, "fmp/enterprise-values", "fmp/ratios", "fmp/key-metrics", "fmp/owner-earnings"]
)
async def test_a3_a_later_split_changes_no_byte_of_a_statement(path: str, restates: bool) -> None:
    told = [
        read(await Desk(company(ratio, restates=restates))(path, "2020-01-02", symbol="AAPL", limit=5))
        for ratio in (1, 4, 10)
    ]
    assert told == [told[0]] * 3
    assert any(figure in told[0] for figure in ("11.97", "218.8", "19.6", "72.4", "12.24"))


async def test_a3_a_row_whose_shares_do_not_fit_price_and_value_loses_the_field() -> None:
    for ratio in (1, 4):
        (row,) = (await Desk(company(ratio, worth=30))(STATEMENTS, "2020-01-02", symbol="AAPL")).data
        assert row["netIncome"] == INCOME
        assert not {"eps", "epsDiluted", "weightedAverageShsOut", "weightedAverageShsOutDil"} & row.keys()


async def test_a3_without_a_scale_a_statement_is_told_without_its_shares() -> None:
    def unpriced(seen: Seen) -> Any:
        return [] if "historical-price-eod" in seen.path or seen.path.endswith("splits") else company(1)(seen)

    (row,) = (await Desk(unpriced)(STATEMENTS, "2020-01-02", symbol="AAPL")).data
    assert row["netIncome"] == INCOME and "eps" not in row


async def test_a3_whether_prices_are_told_at_all_does_not_depend_on_a_later_split() -> None:
    """Without bars as traded the list of splits is used: only entries from before the cutoff show that the vendor keeps one."""
    told = []
    for splits in ({}, {"2024-06-10": (10, 1)}):
        share = Share({day: 887.0 for day in DAYS}, splits)
        with pytest.raises(CutoffRefused) as caught:
            await Desk(Fmp({"N": share}, as_traded=False))(FULL.format("chart"), "2024-05-04", symbol="N")
        told.append(caught.value.reason)
    assert told[0] == told[1]
    answer = await Desk(Fmp({"N": SPLIT}, as_traded=False))(FULL.format("chart"), "2024-05-04", symbol="N")
    assert {row["close"] for row in answer.data} == {887.0}
