"""Finding endpoints, and the documentation made from their rows."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxies.asof.clock import Cutoff
from proxies.asof.policies import POLICIES, ApiRequest
from proxies.catalogue import (
    Availability,
    Endpoint,
    api_doc,
    api_map,
    api_matches,
    api_search,
    everything,
    load_catalogue,
)
from proxies.catalogue.docs import MOST_MATCHES, MOST_PATHS
from proxies.errors import ParameterInvalid, ProxyError, UnknownPath
from proxies.request import check

CATALOGUE = load_catalogue()
LIVE = Cutoff.parse("now")


@pytest.mark.parametrize(
    ("short", "path"),
    [
        ("fred/series/observations", "fred/series/series/observations"),
        ("fred/series", "fred/series/series"),
        ("fred/tags", "fred/tags/tags"),
        ("fmp/income-statement", "fmp/statements/financial-statements/income-statement"),
        ("FMP/Income-Statement/", "fmp/statements/financial-statements/income-statement"),
        ("gt/google_trends_overtime", "gt/google-trends/google_trends_overtime"),
        ("fmp/insider-trading/latest", "fmp/insider-trades/latest/insider-trading/latest"),
        ("kalshi/candlesticks", "kalshi/candlesticks"),
        ("embedded/series/observations", "embedded/series/observations"),
    ],
)
def test_short_forms_name_their_endpoint(short: str, path: str) -> None:
    assert CATALOGUE.resolve(short).path == path


def test_a_short_form_that_several_share_lists_them() -> None:
    with pytest.raises(UnknownPath, match="fmp/crypto/end-of-day/historical-price-eod/light"):
        CATALOGUE.resolve("fmp/historical-price-eod/light")


def test_no_words_list_everything_and_nonsense_leads_to_sources_that_can_be_searched() -> None:
    assert len(api_matches(CATALOGUE)) == len(CATALOGUE) == 251
    matches = api_matches(CATALOGUE, "xyzzyq")
    assert matches and all(match.searches and "xyzzyq" in match.params.values() for match in matches)


def test_every_example_is_a_request_that_fits_and_stands_in_the_page() -> None:
    for endpoint in CATALOGUE:
        fitted = check(endpoint, endpoint.example, LIVE)
        page = api_doc(CATALOGUE, [endpoint.path])
        assert f"CALL_API('{endpoint.path}'" in page and endpoint.about in page
        code = re.findall(r"```python\n(.*?)\n```", page, re.DOTALL)[0]
        called: dict[str, object] = {"CALL_API": lambda path, params: (path, params)}
        exec(code, called)
        assert called["data"] == (endpoint.path, endpoint.example)
        assert set(fitted) == set(endpoint.example), endpoint.path
        assert len(endpoint.about) < 140 and endpoint.about.endswith((".", ")"))


def test_pages_come_for_one_to_twenty_five_paths() -> None:
    paths = CATALOGUE.paths()
    assert api_doc(CATALOGUE, paths[:MOST_PATHS]).count("## ") == MOST_PATHS
    for many in ([], paths[: MOST_PATHS + 1]):
        with pytest.raises(ParameterInvalid):
            api_doc(CATALOGUE, many)
    with pytest.raises(UnknownPath):
        api_doc(CATALOGUE, ["fmp/nothing-like-it"])


def test_a_search_is_short_whatever_is_asked() -> None:
    for words in ("a", "price", "the", "company market data series", "e" * 200):
        text = api_search(CATALOGUE, words)
        assert text.count("\n- `") < MOST_MATCHES and len(text) < 4500
    for words in ("", " ", "?!"):
        with pytest.raises(ParameterInvalid):
            api_search(CATALOGUE, words)


def test_the_map_shows_what_works_and_names_the_rest_in_one_line() -> None:
    text = api_map(CATALOGUE, Availability(keyed=frozenset({"fred"})))
    *lines, last = text.splitlines()
    assert [name for name in ("fred", "embedded", "wikipedia") if any(f"`{name}/`" in line for line in lines)]
    assert not any(f"`{name}/`" in text for name in ("fmp", "brave"))
    assert "fmp/ (needs FMP_API_KEY)" in last and "FRED_API_KEY" not in text
    assert "SP500, NASDAQ, VIX" in text


def test_endpoints_of_the_present_are_counted_only_where_no_cutoff_is_set() -> None:
    dated, live = (everything(CATALOGUE, live=live) for live in (False, True))
    refused = sum(endpoint.as_of.policy == "snapshot_refused" for endpoint in CATALOGUE)
    assert refused and f"{len(CATALOGUE) - refused} endpoints" in api_map(CATALOGUE, dated)
    assert f"{len(CATALOGUE)} endpoints" in api_map(CATALOGUE, live)


def test_without_a_network_the_embedded_source_is_left_and_strict_drops_what_cannot_be_dated() -> None:
    keys = [source.name for source in CATALOGUE.sources()]
    alone = Availability.of(keys, Cutoff.parse("2018-06-30"), network=False)
    assert {each.source.name for each in CATALOGUE if not alone.obstacle(each)} == {"embedded"}
    strict = Availability.of(keys, Cutoff.parse("2018-06-30"), most="medium")
    assert strict.obstacle(CATALOGUE.resolve("dbnomics/series")) == "refused: more residual risk than medium"
    assert not strict.obstacle(CATALOGUE.resolve("dbnomics/release"))


def test_the_map_is_short_and_names_every_source() -> None:
    text = api_map(CATALOGUE)
    assert all(f"`{source.name}/`" in text for source in CATALOGUE.sources())
    assert len(text) < 3500, "about four characters make a token: a few hundred tokens"


@given(
    st.sampled_from([e for e in CATALOGUE if e.as_of.window]),
    st.dates(),
    st.dates(),
    st.sampled_from(["2018-06-30", "2023-01-02T12:00Z"]),
)
def test_clamping_twice_changes_nothing_and_no_date_passes_the_cutoff(
    endpoint: Endpoint, first: object, last: object, when: str
) -> None:
    cutoff = Cutoff.parse(when)
    window = endpoint.as_of.window
    assert window is not None
    params = (
        dict(endpoint.example)
        | dict.fromkeys(window.start, str(first))
        | dict.fromkeys(window.end, str(last))
    )
    try:
        asked = check(endpoint, params, cutoff)
        prepare = POLICIES[endpoint.as_of.policy].prepare
        plan = prepare(ApiRequest(endpoint=endpoint, params=asked), cutoff)
        again = prepare(ApiRequest(endpoint=endpoint, params=dict(plan.params)), cutoff)
    except ProxyError:
        return
    if plan.empty:
        return
    assert dict(again.params) == dict(plan.params) and again.clamped == ()
    end = cutoff.instant.timestamp()
    for name in (*window.start, *window.end, window.at):
        value = plan.params.get(name)
        if isinstance(value, int):
            assert value <= end
        elif value:
            assert str(value)[:10] <= max(
                cutoff.last_moment_day.isoformat(),
                cutoff.instant.date().isoformat() if window.unit == "instant" else "",
            )


@pytest.mark.parametrize(
    ("wrong", "instead"),
    [
        ("fmp/quote", "historical-price-eod/light"), ("fmp/analyst-estimates", "yfinance/upgrades-downgrades"), ("fmp/delisted-companies", "no dated form"),
        ("fmp/earnings-calendar", "yfinance/earnings-dates"), ("sec/filings", "sec/submissions"), ("gdelt/doc", "gdelt/documents"),
        ("/FMP/Quote/", "historical-price-eod/light"), ("fmp/key_metrics", "fmp/statements/ratios/key-metrics"),
    ],
)  # fmt: skip
def test_a_known_path_that_is_not_offered_says_what_to_ask_for(wrong: str, instead: str) -> None:
    with pytest.raises(UnknownPath, match=instead):
        CATALOGUE.resolve(wrong)
