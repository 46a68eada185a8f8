"""Long lists judged by their distinct texts: the same rows, the same counts, the same refusals as row by row."""

from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxies.answers import apply_cutoff
from proxies.asof.clock import Cutoff
from proxies.asof.policies import ApiRequest, PolicyContext
from proxies.asof.policies.base import Judge, StampJudge
from proxies.catalogue import load_catalogue

EOD = load_catalogue().resolve("fmp/chart/end-of-day/historical-price-eod/non-split-adjusted")
DAYS = st.dates(date(1750, 1, 1), date(2450, 1, 1)).map(date.isoformat)
TEXTS = DAYS | st.sampled_from(
    ["", "soon", "2023-02-30", "2024-05-31 10:00:00", "2024-05-31T23:00:00Z", "0001-01-01", "9999-12-31"]
)
CUTOFFS = st.integers(-5_500_000_000, 13_700_000_000).map(  # the years 1795 to 2404
    lambda second: Cutoff(instant=datetime.fromtimestamp(second, UTC), text="x")
)
ROWS = st.fixed_dictionaries(
    {"date": TEXTS}, optional={"symbol": st.just("A"), "adjClose": st.floats(), "new": st.none()}
)


def filtered(rows: Any, cutoff: Cutoff) -> Any:
    try:
        request = ApiRequest(endpoint=EOD, params={"symbol": "A"})
        outcome = apply_cutoff(rows, PolicyContext(request=request, cutoff=cutoff))
    except Exception as error:
        return type(error), str(error)
    return repr(outcome.data), outcome.dropped, outcome.undated


@given(
    st.lists(ROWS | st.sampled_from([None, 1, {}, {"date": 5}]), max_size=5) | st.lists(ROWS, max_size=120),
    CUTOFFS,
)
@settings(max_examples=150, deadline=None)
def test_in_bulk_is_row_by_row(rows: list[Any], cutoff: Cutoff) -> None:
    together = filtered(rows, cutoff)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StampJudge, "reasons", Judge.reasons)
        assert filtered(rows, cutoff) == together
