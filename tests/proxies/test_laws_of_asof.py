"""Laws of small parts of the clock that no vendor's answer in the suite reaches: each fails if its line is turned round."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxies.asof import guards
from proxies.asof.clock import Cutoff
from proxies.asof.policies import ApiRequest, AskAgain, PolicyContext, first_days
from proxies.asof.policies.lags import PUBLICATION_LAG, lag_of
from proxies.asof.policies.trends import WINDOW_END
from proxies.catalogue import load_catalogue
from proxies.catalogue.schema import Nested
from proxies.errors import CutoffRefused

CATALOGUE = load_catalogue()


@given(st.dictionaries(st.sampled_from(["FY", "Q", "monthly", "daily"]), st.integers(1, 400), min_size=1))
def test_a_period_of_an_unknown_kind_waits_the_longest_lag(lags: dict[str, int]) -> None:
    assert lag_of(lags, "fortnightly") == max(lags.values())
    assert all(lag_of(lags, kind) == days for kind, days in lags.items())


@given(rows=st.integers(0, 20), offset=st.integers(0, 500), stated=st.integers(0, 9999))
def test_a_total_counts_the_rows_that_are_told_and_those_before_the_page(
    rows: int, offset: int, stated: int
) -> None:
    endpoint = next(e for e in CATALOGUE if "offset" in e.recount.values())
    (total, base), *_ = [pair for pair in endpoint.recount.items() if pair[1] == "offset"]
    key = (endpoint.rows or "").removesuffix("[]")
    told = guards.recount({total: stated, base: offset, key: [{}] * rows}, endpoint)
    assert told[total] == rows + offset


@given(text=st.text(min_size=1), kept=st.booleans())
def test_a_text_in_the_place_of_an_object_is_left_out(text: str, kept: bool) -> None:
    shape = guards.shape_of((Nested(rows="price", keep=("close",)),))
    row: dict[str, Any] = {"name": "n", "price": {"close": 1, "note": text} if kept else text}
    rest = {"other": [1, {"deep": text}]}
    assert guards.inside({**row, **rest}, shape) == {
        "name": "n",
        "other": [1],
        **({"price": {"close": 1}} if kept else {}),
    }


@pytest.mark.parametrize("overrun", [-3, -1, 0, 1, 3])
def test_a_bucket_of_a_trend_counts_when_it_has_ended(overrun: int) -> None:
    """Buckets of a week: one that begins before the cutoff and ends after it is asked for again without it."""
    endpoint = next(e for e in CATALOGUE if e.as_of.policy == "window_end" and e.as_of.stamp)
    cutoff = Cutoff.parse("2024-06-01")
    request = ApiRequest(endpoint=endpoint, params={endpoint.as_of.window.text: "2024-01-01 2024-05-31"})  # type: ignore[union-attr]
    judge = WINDOW_END.judge(PolicyContext(request=request, cutoff=cutoff, sent=dict(request.params)))
    last = datetime(2024, 6, 1, 4, tzinfo=UTC) - timedelta(days=7) + timedelta(hours=overrun)
    rows = [
        {endpoint.as_of.stamp.field: str(int((last - timedelta(days=7 * n)).timestamp()))} for n in (2, 1, 0)
    ]  # type: ignore[union-attr]
    if overrun > 0:
        with pytest.raises(AskAgain):
            list(map(judge.reason, rows))
    else:
        assert list(map(judge.reason, rows)) == [None] * 3


@given(
    end=st.one_of(
        st.dates(date(2001, 1, 1), date(2001, 12, 31)),
        st.sampled_from([date(2001, 1, 2), date(2001, 12, 28), date(2001, 12, 31)]),
    ),
    years=st.sets(st.integers(2010, 2017), min_size=1, max_size=3),
    off=st.one_of(st.integers(-8, 8), st.integers(40, 320)),
)
def test_a_quarter_that_ends_a_fiscal_year_waits_as_long_as_the_year(
    end: date, years: set[int], off: int
) -> None:
    """Wherever in the year that is: a calendar of weeks that ends a year on 2 January ends another on 28 December."""
    endpoint = CATALOGUE.resolve("yfinance/fundamentals")
    line = [{"asOfDate": end.replace(year=year).isoformat()} for year in sorted(years)]
    ends = {"timeseries": {"result": [{"annualTotalAssets": line}]}}
    params = {"symbol": "A", "type": "quarterlyTotalRevenue", "period1": 0, "period2": 1577750400}
    request = ApiRequest(endpoint=endpoint, params=params)
    lags = {"FY": 100, "Q": 60}
    assert endpoint.as_of.lag_days == lags
    day = end.replace(year=2018) + timedelta(days=off)
    wait = lags["FY" if abs(off) <= 8 else "Q"]
    for late, told in ((wait, True), (wait - 1, False)):
        at = Cutoff.parse((day + timedelta(days=late + 1)).isoformat())
        judge = PUBLICATION_LAG.judge(
            PolicyContext(request=request, cutoff=at, sent=params, lookups={"year_ends": ends})
        )
        assert (judge.reason({"asOfDate": day.isoformat(), "periodType": "3M"}) is None) == told


@given(
    hits=st.integers(first_days.MOST_HITS - 1, first_days.MOST_HITS + 2),
    early=st.sets(st.integers(0, first_days.MOST_HITS + 1), max_size=1),
)
def test_a_search_is_refused_where_only_hits_that_nobody_dated_could_be_of_then(
    hits: int, early: set[int]
) -> None:
    endpoint, cutoff = CATALOGUE.resolve("fmp/search/search-name"), Cutoff.parse("2019-12-31")
    request = ApiRequest(endpoint=endpoint, params={"query": "a"})
    first = ["2015-01-02" if n in early else "2022-01-03" for n in range(first_days.MOST_HITS)]
    lookups = {f"first:S{n}": [{"symbol": f"S{n}", "ipoDate": day}] for n, day in enumerate(first)}
    payload = [{"symbol": f"S{n}", "name": "x"} for n in range(hits)]

    def look() -> None:
        context = PolicyContext(request=request, cutoff=cutoff, sent={"query": "a"}, lookups=lookups)
        first_days.require_first_days(context, payload)

    if hits > first_days.MOST_HITS and not early & {*range(first_days.MOST_HITS)}:
        with pytest.raises(CutoffRefused, match="narrower words"):
            look()
    else:
        look()
