"""Cases A50 to A65: the other sources of the first system."""

from typing import Any

import pytest

from proxies.errors import (
    ParameterInvalid,
)
from tests.proxies.leaks.desk import Desk


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
