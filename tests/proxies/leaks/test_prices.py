"""Case A36: prices are scaled by splits and dividends up to today."""

from typing import Any

import pytest

from proxies.errors import (
    CutoffRefused,
)
from tests.fakes.upstream import Seen
from tests.proxies.leaks.desk import Desk


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
