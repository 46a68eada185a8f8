"""Laws of small parts of the clock that no vendor's answer in the suite reaches: each fails if its line is turned round."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxies.asof.clock import Cutoff
from proxies.asof.policies import ApiRequest, PolicyContext, first_days
from proxies.asof.policies.periods import by_lag, lag_of
from proxies.catalogue import load_catalogue
from proxies.errors import CutoffRefused

CATALOGUE = load_catalogue()


@given(st.dictionaries(st.sampled_from(["FY", "Q", "monthly", "daily"]), st.integers(1, 400), min_size=1))
def test_a_period_of_an_unknown_kind_waits_the_longest_lag(lags: dict[str, int]) -> None:
    assert lag_of(lags, "fortnightly") == max(lags.values())
    assert all(lag_of(lags, kind) == days for kind, days in lags.items())


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
        judge = by_lag(PolicyContext(request=request, cutoff=at, sent=params, lookups={"year_ends": ends}))
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
