"""Cases B1 to B13: the second system."""

from collections.abc import Callable
from typing import Any

import pytest

from proxies.asof.clock import Cutoff
from proxies.catalogue import load_catalogue
from proxies.errors import (
    CutoffRefused,
    ParameterInvalid,
    ParameterNotListed,
    Refused,
)
from tests.fakes.upstream import Seen
from tests.proxies.leaks.desk import EOD, Desk, Handler, bars


async def test_b1_when_every_result_goes_the_answer_is_empty_not_unfiltered() -> None:
    desk = Desk({"results": [{"title": "a", "url": "u", "publishedDate": "2025-01-01"}]})
    answer = await desk("exa/search/search", query="q")
    assert answer.data == {"results": []} and "rows_dropped" not in answer.meta
    assert [row.rows_dropped for row in desk.ledger.rows.values()] == [1]


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


async def test_b4_a_macro_value_is_of_its_vintage() -> None:
    desk = Desk({"observations": []})
    await desk(
        "fred/series/observations", cutoff="2024-05-15", series_id="CPIAUCSL", observation_end="2024-12-01"
    )
    assert desk.seen[0].query["realtime_end"] == desk.seen[0].query["observation_end"] == "2024-05-14"


def yahoo(*, later_split: bool) -> Handler:
    def vendor(seen: Seen) -> Any:
        days = {"2024-05-30": 100.0, "2024-05-31": 104.0, "2024-06-03": 110.0}
        scale = 0.25 if later_split else 1.0
        stamps = [int(Cutoff.parse(f"{day}T09:30-04:00").instant.timestamp()) for day in days]
        events: dict[str, Any] = {
            "dividends": {
                "1": {"date": stamps[0], "amount": 0.8 * scale},
                "2": {"date": stamps[2], "amount": 9.0},
            }
        }
        if later_split:
            events["splits"] = {
                "3": {"date": stamps[2] + 864000, "numerator": 4, "denominator": 1, "splitRatio": "4:1"}
            }
        closes = [price * scale for price in days.values()]
        quote = {
            "close": closes,
            "open": closes,
            "high": closes,
            "low": closes,
            "volume": [int(100 / scale)] * 3,
        }
        meta = {"currency": "USD", "exchangeTimezoneName": "America/New_York", "regularMarketPrice": 999.0}
        indicators = {"quote": [quote], "adjclose": [{"adjclose": [c * 0.97 for c in closes]}]}
        return {
            "chart": {
                "result": [{"meta": meta, "timestamp": stamps, "events": events, "indicators": indicators}],
                "error": None,
            }
        }

    return vendor


async def test_b5_yahoo_levels_are_those_of_the_cutoff() -> None:
    asked = {"symbol": "A", "period1": "2024-05-01", "period2": "2024-12-31"}
    plain, split = [
        await Desk(yahoo(later_split=later))("yfinance/history", **asked) for later in (False, True)
    ]
    (result,) = split.data["chart"]["result"]
    assert result["indicators"]["quote"][0]["close"] == [100.0, 104.0]
    assert result["indicators"]["quote"][0]["volume"] == [100, 100]
    assert result["indicators"]["adjclose"][0]["adjclose"] == [100.0, 104.0]
    assert [event["amount"] for event in result["events"]["dividends"].values()] == [0.8]
    assert "999" not in split.encoded().decode() and not result["events"].get("splits")
    assert plain.encoded() == split.encoded().replace(b',"splits":{}', b"")


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


async def test_b7_a_page_ends_with_the_last_edit_before_the_cutoff() -> None:
    desk = Desk(
        lambda seen: {
            "query": {
                "pages": [
                    {
                        "title": "T",
                        "revisions": [
                            {
                                "revid": 7,
                                "timestamp": "2024-05-31T23:00:00Z",
                                "slots": {"main": {"content": "old"}},
                            }
                        ],
                    }
                ]
            }
        }
    )
    answer = await desk("wikipedia/page", title="T")
    # the log of moves is asked first
    assert desk.seen[1].query["rvstart"] == "2024-06-01T03:59:59Z" and desk.seen[1].query["rvdir"] == "older"
    assert answer.data["wikitext"] == "old"
    late = Desk(
        {
            "query": {
                "pages": [
                    {
                        "title": "T",
                        "revisions": [
                            {
                                "revid": 8,
                                "timestamp": "2024-06-01T05:00:00Z",
                                "slots": {"main": {"content": "new"}},
                            }
                        ],
                    }
                ]
            }
        }
    )
    none = Desk({"query": {"pages": [{"title": "T", "missing": True}]}})
    words = set()
    for desk in (late, none):
        with pytest.raises(Refused) as caught:
            await desk("wikipedia/page", title="T")
        words.add(caught.value.reason)
    assert len(words) == 1, "a page edited or made later and one that never was read the same"


async def test_b8_market_state_of_today_is_stripped_and_not_asked_by() -> None:
    event = {"id": "1", "title": "t", "createdAt": "2024-01-01T00:00:00Z", "closed": True, "volume": 5, "markets": [{"id": "2", "createdAt": "2024-07-01T00:00:00Z", "question": "later"}, {"id": "3", "createdAt": "2024-01-01T00:00:00Z", "question": "q", "outcomePrices": "[1, 0]", "closed": True}]}  # fmt: skip
    (row,) = (await Desk([event])("polymarket/events")).data
    assert (
        row["markets"]
        == [{"id": "3", "createdAt": "2024-01-01T00:00:00Z", "question": "q", "status": "open"}]
        and "closed" not in row
    )
    for name in ("closed", "active", "order"):
        with pytest.raises((ParameterNotListed, ParameterInvalid), match=name):
            await Desk([])("polymarket/markets", **{name: "true"})


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("exa/search/search", lambda hits: {"results": hits}),
        ("brave/web", lambda hits: {"web": {"results": hits}}),
        ("brave/news", lambda hits: {"results": hits}),
    ],
)
async def test_b9_of_a_rejected_page_not_even_the_title_is_told(
    path: str, body: Callable[[Any], Any]
) -> None:
    """A page that speaks of later goes with its title, address and text; it is counted, nothing more.

    Rejecting by rule is what applies today. Reading a page by its address, with a verdict by a model, is a later issue:
    until then nothing reads an address at all (A57, A62).
    """
    texts = ("text", "publishedDate") if path.startswith("exa") else ("description", "page_age")

    def hit(title: str, text: str) -> dict[str, Any]:
        return {
            "title": title,
            "url": f"https://e.org/{title}",
            texts[0]: text,
            texts[1]: "2024-01-02T00:00:00",
        }

    hits = [hit("telltale", "On 5 November 2024 they won."), hit("plain", "In January 2024 they led.")]
    example = load_catalogue().resolve(path).example
    desk = Desk(body(hits))
    answer = await desk(path, **example)
    text = answer.encoded().decode()
    assert "plain" in text and "telltale" not in text + str(answer.meta) and "November" not in text
    [row] = desk.ledger.rows.values()
    assert row.dropped_why == {"the page speaks of a later day as past, or its address is dated later": 1}


async def test_b10_generated_answers_are_refused() -> None:
    for path, params in {
        "brave/summarizer": {"key": "k"},
        "brave/llm-context": {"q": "q"},
        "brave/suggest": {"q": "q"},
    }.items():
        with pytest.raises(CutoffRefused):
            await Desk({})(path, **params)


async def test_b11_a_result_of_the_cutoff_day_goes() -> None:
    hits = [
        {"title": d, "url": "u", "publishedDate": d}
        for d in ("2024-06-01", "2024-06-01T04:00:00.000Z", "2024-05-31")
    ]
    answer = await Desk({"results": hits})("exa/search/search", query="q")
    assert [hit["title"] for hit in answer.data["results"]] == ["2024-05-31"]


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
