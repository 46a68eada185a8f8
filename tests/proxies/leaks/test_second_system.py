"""Cases B1 to B13: the second system."""

from typing import Any

import pytest

from proxies.errors import (
    CutoffRefused,
    ParameterInvalid,
    Refused,
)
from tests.proxies.leaks.desk import EOD, Desk, bars


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


@pytest.mark.parametrize(
    "date", ["12/31/2030", "01/01/2099", "1st Jan 2030", "2024-6-1", "20300101", "next week"]
)
async def test_b3_a_loose_date_is_refused_rather_than_compared_as_text(date: str) -> None:
    desk = Desk(bars("2024-05-30"))
    with pytest.raises(ParameterInvalid):
        await desk(EOD, symbol="A", to=date)
    assert desk.seen == []


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


async def test_b12_a_required_parameter_cannot_be_empty() -> None:
    for symbol in ("", "  ", None):
        with pytest.raises(Refused):
            await Desk([])(EOD, symbol=symbol)


async def test_b13_naive_stamps_are_read_in_new_york_or_later() -> None:
    rows = [
        {"publishedDate": "2024-05-31 23:30:00", "title": "e1"},
        {"publishedDate": "2024-06-01 00:30:00", "title": "e2"},
    ]
    answer = await Desk([{**row, "firm": "f"} for row in rows])("fmp/news/general-latest")
    assert [row["title"] for row in answer.data] == ["e1"]
