"""Long lists judged by their distinct texts: the same rows, the same counts, the same refusals as row by row."""

from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxies.answers import apply_cutoff
from proxies.asof.clock import Cutoff
from proxies.asof.policies import ApiRequest, PolicyContext
from proxies.asof.policies.base import Judge, StampJudge, _last_day, by_stamp
from proxies.asof.row_filter import RowFilter
from proxies.asof.stamps import Stamp, known_from
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
        outcome = apply_cutoff(
            ApiRequest(endpoint=EOD, params={"symbol": "A"}), cutoff, rows, PolicyContext()
        )
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
        patch.setattr(RowFilter, "_only_judges", lambda self: False)
        assert filtered(rows, cutoff) == together


def test_a_long_list_is_judged_in_bulk_and_an_odd_row_sends_it_the_slow_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = [{"date": str(date(2024, 1, 1) + timedelta(n)), "adjClose": n} for n in range(300)]
    slow: list[int] = []

    def noted(self: Judge, rows: Any) -> Any:
        slow.append(len(rows))
        return list(map(self.reason, rows))

    monkeypatch.setattr(Judge, "reasons", noted)

    def judge() -> Judge:
        return by_stamp(ApiRequest(endpoint=EOD, params={}), Cutoff.parse("2024-06-01"))

    assert sum(reason is not None for reason in judge().reasons(rows)) == 148 and slow == []
    for odd in (None, {}, {"date": 1}):
        assert len(judge().reasons([*rows, odd])) == 301 and slow.pop() == 301


@given(
    st.sampled_from(["instant", "end", "day", "month", "15min", "1day", "1week", "1month"]),
    st.sampled_from(["America/New_York", "UTC", "Asia/Tokyo", "Pacific/Apia", "Europe/London"]),
    st.none() | st.tuples(st.integers(0, 23), st.integers(0, 59)),
    st.integers(0, 400),
    CUTOFFS,
)
@settings(max_examples=150, deadline=None)
def test_the_last_known_day_is_a_border(
    grain: str, zone: str, close: tuple[int, int] | None, plus: int, cutoff: Cutoff
) -> None:
    stamp = Stamp(zone=ZoneInfo(zone), grain=grain, close=close, close_zone=ZoneInfo(zone), plus_days=plus)
    last = _last_day(stamp, cutoff)
    for days in (-4000, -33, -2, -1, 0, 1, 2, 33, 4000):
        day = last + timedelta(days)
        if date(1800, 1, 1) <= day <= date(2400, 1, 1):
            known = known_from(day.isoformat(), stamp)
            assert known is not None and cutoff.admits(known) == (days <= 0)
