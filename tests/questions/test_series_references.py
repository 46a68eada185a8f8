"""A claim names any series by its reference: the registry, the canonical sentence, the rows of each source's answer."""

from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxies.settings import ProxySettings
from workbench.questions.claims import Claim
from workbench.questions.errors import ClaimRefused
from workbench.questions.grammar import read_claim
from workbench.questions.series.embedded_series import SERIES
from workbench.questions.series.series_reference import EXAMPLES, SeriesRef, replace_references
from workbench.questions.series.series_registry import series_named, source_of_rows

END, START = date(2026, 12, 31), date(2026, 6, 30)
REFERENCES = (
    *EXAMPLES.values(),
    "yahoo:^GSPC",
    "yahoo:BTC-USD",
    "yahoo:EURUSD=X",
    "yahoo:BRK-B",
    "yahoo:VOD.L",
    "wikipedia:Apple_Inc.",
    "wikipedia:McDonald's",
    "wikipedia:Mercury_(planet)",
    "own:orders/units_sold",
    "dbnomics:BLS/ln/LNS14000000",
)
OTHERS = tuple(reference for reference in REFERENCES if not reference.startswith("embedded"))


@pytest.mark.parametrize("reference", REFERENCES)
def test_a_series_is_named_by_its_reference(reference: str) -> None:
    series = series_named(reference)
    assert series_named(series.id) is series
    assert series.embedded == reference.startswith("embedded")
    for name in series.sources:
        path, params = source_of_rows(name).call(datetime(2026, 11, 1, tzinfo=UTC))
        assert path and all(value not in (None, "") for value in params.values())
        if not path.startswith(("own/", "NAME/")):  # made by whoever adds it
            endpoint = ProxySettings().catalogue().resolve(path)
            assert set(params) <= set(endpoint.params)


def test_embedded_series_are_named_with_and_without_their_source() -> None:
    for key, series in SERIES.items():
        assert series_named(key) is series_named(f"embedded:{key}") is series_named(key.lower()) is series
    assert read_claim("embedded:WTI above 80 on 2018-12-31") == read_claim("WTI above 80 on 2018-12-31")


@pytest.mark.parametrize("text", ["AAPL", "bloomberg:AAPL", "yahoo:", "yahoo:a b", "dbnomics:IMF/WEO", "embedded:GOLD", ""])  # fmt: skip
def test_what_is_no_reference_is_refused_with_examples(text: str) -> None:
    with pytest.raises(ClaimRefused):
        series_named(text)


@pytest.mark.parametrize(
    ("written", "reading"),
    [
        ("yahoo:AAPL closes above 200 on 2026-12-31", "yahoo:AAPL closes above 200 on 2026-12-31"),
        ("Will Yahoo:aapl's close be above $200 at the end of 2026?", "yahoo:AAPL closes above 200 on 2026-12-31"),
        ("Will YFINANCE:AAPL close above 200 on 31 December 2026?", "yahoo:AAPL closes above 200 on 2026-12-31"),
        ("fred:UNRATE is at least 4.5 % in December 2026", "fred:UNRATE is at or above 4.5 on 2026-12-31"),
        ("fred:T10Y2Y is below −0.5 on 2026-12-31", "fred:T10Y2Y is below −0.5 on 2026-12-31"),
        ("wikipedia:Apple_Inc. is higher on 2026-12-31 than on 2026-06-30", "wikipedia:Apple_Inc. is higher on 2026-12-31 than on 2026-06-30"),
        ("yahoo:AAPL outperforms the S&P 500 from 2026-06-30 to 2026-12-31", "yahoo:AAPL outperforms the S&P 500 from 2026-06-30 to 2026-12-31"),
        ("The S&P 500 outperforms yahoo:AAPL in 2018", "The S&P 500 outperforms yahoo:AAPL from 2017-12-31 to 2018-12-31"),
        ("yahoo:aapl outperforms yahoo:msft by 2026-12-31", "yahoo:AAPL outperforms yahoo:MSFT by 2026-12-31"),
        ("the realised volatility of yahoo:BTC-USD through 2026-12-31 is above 40%", "the realised volatility of yahoo:BTC-USD through 2026-12-31 is above 40%"),
        ("yahoo:^GSPC closes 2026 higher", "yahoo:^GSPC closes higher on 2026-12-31 than on 2025-12-31"),
        ("Reference class: yahoo:AAPL touches 300 by 2026-12-31", "Reference class: yahoo:AAPL touches 300 through 2026-12-31"),
        ("own:orders touches 300 by 2026-12-31", "own:orders touches 300 through 2026-12-31"),
        ("Service:store/orders&shop=Berlin is above 300 on 2026-12-31", "service:store/orders&shop=Berlin is above 300 on 2026-12-31"),
    ],
)  # fmt: skip
def test_claims_about_references_read_as_people_write_them(written: str, reading: str) -> None:
    assert read_claim(written).statement == reading


@st.composite
def claims(draw: st.DrawFn) -> Claim:
    series = draw(st.sampled_from(OTHERS))
    pattern = draw(st.sampled_from(["compare", "level", "range", "change", "touch", "relative"]))
    side = draw(st.sampled_from(["above", "below"]))
    level = draw(st.integers(1, 10**6)) / 100
    fields: dict[str, Any] = {
        "compare": {"start": START, "strict": draw(st.booleans())},
        "level": {"level": level, "strict": draw(st.booleans())},
        "range": {"level": level, "upper": round(level + 1, 2), "strict": False},
        "change": {"start": START, "level": min(level, 99) * (1 if side == "above" else -1), "strict": False},
        "touch": {"level": level, "strict": False, "never": draw(st.booleans())},
        "relative": {"start": START, "other": draw(st.sampled_from([o for o in OTHERS if o != series]))},
    }[pattern]
    if pattern == "range":
        side = "above"
    return Claim(pattern=pattern, series=series_named(series).id, end=END, side=side, **fields)


@given(claims())
def test_the_canonical_sentence_reads_back_to_the_same_claim(claim: Claim) -> None:
    assert read_claim(claim.statement) == claim
    alone = replace(claim, reference=True, notes=())
    assert read_claim(alone.statement) == alone


def test_a_claim_with_what_its_rows_told_is_the_same_claim() -> None:
    claim = read_claim("fred:UNRATE is above 4 on 2026-12-31")
    seen = replace(claim, observed=replace(claim.about, frequency="monthly", kind="yield"))
    assert seen.about.monthly and not claim.about.monthly
    assert seen == claim and hash(seen) == hash(claim) and seen.statement == claim.statement  # fmt: skip


def test_text_that_only_looks_like_a_reference_is_left_alone() -> None:
    for text in ("See http://yahoo:80/x", "the ratio 3:2", "note: yahoo is a company", "myown:thing"):
        assert replace_references(text) == (text, [])


DAY = 1_767_225_600  # 2026-01-01T00:00Z
ANSWERS: dict[str, Any] = {
    "fred": {"observations": [{"date": "2026-01-01", "value": "4.1"}, {"date": "2026-02-01", "value": "."}]},
    "yfinance": {
        "chart": {
            "result": [
                {
                    "meta": {"gmtoffset": -18000},
                    "timestamp": [DAY + 14 * 3600 + 1800, DAY + 86400 + 14 * 3600],
                    "indicators": {"quote": [{"close": [4.1, None]}]},
                }
            ]
        }
    },
    "dbnomics": {"series": {"docs": [{"period_start_day": ["2026-01-01", "2026-02-01"], "value": [4.1, "NA"]}]}},
    "fmp": [{"date": "2026-01-01", "price": 4.1, "volume": 3}],
    "kalshi": {"candlesticks": [{"end_period_ts": DAY + 86400, "price": {"close_dollars": "4.1"}}]},
    "polymarket": {"history": [{"t": DAY + 7200, "p": 4.1}, {"t": DAY + 3600, "p": 0.3}]},
    "wikipedia": {"items": [{"timestamp": "2026010100", "views": 4.1}]},
    "own": [{"date": "2026-01-01", "value": 4.1}, {"date": "2026-01-02", "value": None}],
    "service": [{"date": "2026-01-01", "value": 4.1}, {"date": "2026-01-02", "value": None}],
    "embedded": [{"date": "2026-01-01", "value": 4.1}],
}  # fmt: skip


@pytest.mark.parametrize("source", list(EXAMPLES))
def test_the_rows_of_each_source_come_out_alike(source: Any) -> None:
    ref = SeriesRef(source=source, id="X")
    assert ref.rows(ANSWERS[source]) == [{"date": "2026-01-01", "value": 4.1}]
    with pytest.raises(ClaimRefused, match="no value"):
        ref.rows(ANSWERS[source], through=date(2025, 12, 31))
    for broken in ({}, [], None, {"error": "x"}, [{}], "text"):
        with pytest.raises(ClaimRefused):
            ref.rows(broken)


def test_a_symbol_that_yahoo_does_not_have_has_no_value() -> None:
    with pytest.raises(ClaimRefused, match="no value of yfinance/NONE is visible"):
        SeriesRef(source="yfinance", id="NONE").rows({"chart": {"result": [], "error": None}})


def test_a_day_without_a_trade_has_the_middle_of_bid_and_ask() -> None:
    candle = {"end_period_ts": DAY + 86400, "price": {"close_dollars": None}, "yes_bid": {"close_dollars": "0.4"}, "yes_ask": {"close_dollars": "0.6"}}  # fmt: skip
    assert SeriesRef(source="kalshi", id="X-1").rows({"candlesticks": [candle]}) == [
        {"date": "2026-01-01", "value": 0.5}
    ]


@pytest.mark.parametrize("value", ["1e308", "-Infinity", "1e101"])
def test_an_answer_with_a_number_that_no_sum_can_hold_is_refused_with_its_day(value: str) -> None:
    rows = [{"date": "2018-05-01", "value": "1e99"}, {"date": "2018-06-01", "value": value}]
    fred = SeriesRef(source="fred", id="UNRATE")
    assert fred.rows({"observations": rows[:1]}) == [{"date": "2018-05-01", "value": 1e99}]
    with pytest.raises(ClaimRefused, match="2018-06-01 is no figure"):
        fred.rows({"observations": rows})
