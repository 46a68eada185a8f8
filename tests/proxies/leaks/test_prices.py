"""Case A36: prices are scaled by splits and dividends up to today."""

from typing import Any

import pytest

from proxies.errors import (
    CutoffRefused,
)
from tests.fakes.upstream_fmp import Fmp, Share, weekdays
from tests.proxies.leaks.desk import Desk

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
    text = answer.encoded().decode() + str(answer.meta)
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
