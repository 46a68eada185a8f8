"""Cases A50 to A65: the other sources of the first system."""

import re
from typing import Any

import pytest

from proxies.asof.clock import Cutoff
from proxies.catalogue import load_catalogue
from proxies.errors import (
    CutoffRefused,
    ParameterInvalid,
    ParameterNotListed,
)
from tests.proxies.leaks.desk import CUTOFF, Desk
from tests.proxies.two_worlds import read


@pytest.mark.parametrize("ticker", ["../../admin?x=", "A/B", "..", "A#", "A%2e", "AAPL?x=1", "a b", ""])
async def test_a51_a_path_parameter_cannot_climb_out(ticker: str) -> None:
    desk = Desk([])
    with pytest.raises(ParameterInvalid):
        await desk("msd/companies/companies/{ticker}/kpi", ticker=ticker)
    assert desk.seen == []


async def test_a51_what_is_allowed_in_a_path_is_encoded() -> None:
    desk = Desk({"items": []})
    await desk("wikipedia/pageviews", article="AC/DC ?x=1", start="2024-01-01", end="2024-02-01")
    assert "/user/AC%2FDC_%3Fx%3D1/daily/20240101/20240201" in desk.seen[0].path


@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        ("2019-01-01 2019-06-30", "2019-01-01 2019-06-30"),
        ("2024-03-01 2024-12-31", "2024-03-01 2024-05-31"),
        ("now 7-d", "2024-05-24 2024-05-31"),
        ("today 3-m", "2024-02-29 2024-05-31"),
        # weeks: the window ends on the Saturday before
        ("today 12-m", "2023-05-31 2024-05-25"),
        # months: it ends with a whole month
        ("all", "2004-01-01 2024-05-31"),
    ],
)
async def test_a55_every_form_of_window_is_understood(asked: str, sent: str) -> None:
    desk = Desk({"interest_over_time": {"timeline_data": []}})
    await desk("gt/google_trends_overtime", q="a", time=asked)
    assert desk.seen[0].query["time"] == sent


@pytest.mark.parametrize("geo", ["", "US", "DE", "GB-SCT", "US-NY", "US-NY-501", "AU-NSW", "BR-SP"])
async def test_a55_any_well_formed_place_is_asked_for(geo: str) -> None:
    desk = Desk({"interest_over_time": {"timeline_data": []}})
    await desk("gt/google_trends_overtime", q="a", geo=geo, cat=1279)
    assert desk.seen[0].query.get("geo", "") == geo and desk.seen[0].query["cat"] == "1279"


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


async def test_a55_the_tables_name_all_countries_and_the_main_categories() -> None:
    desk = Desk({})
    places = {row["geo_id"]: row["geo_description"] for row in (await desk("gt/google_trends_geo")).data}
    assert (
        sum(len(code) == 2 for code in places) == 249 and sum(code.startswith("US-") for code in places) == 51
    )
    assert places[""] == "Worldwide" and places["NA"] == "Namibia" and places["NO"] == "Norway"
    (shape,) = {
        e.params["geo"].chars for e in load_catalogue() if "geo" in e.params and e.source.name == "gt"
    }
    assert all(re.fullmatch(shape, code) for code in places)
    kinds = (await desk("gt/google_trends_categories")).data
    assert {"category_id": "7", "category_description": "Finance"} in kinds and desk.seen == []


async def test_a56_the_trends_window_ends_the_day_before_in_utc() -> None:
    desk = Desk({"interest_over_time": {"timeline_data": []}})
    await desk("gt/google_trends_overtime", q="a", tz=420, time="2024-05-01 2024-06-01")
    assert desk.seen[0].query["tz"] == "0" and desk.seen[0].query["time"].endswith("2024-05-31")


async def test_a57_pages_as_they_are_now_are_refused() -> None:
    with pytest.raises(CutoffRefused):
        await Desk({})("exa/search/contents", urls=["https://example.org"])


async def test_exa_is_asked_for_the_text_that_it_stored_and_for_no_page_of_now() -> None:
    desk = Desk({"results": []})
    await desk("exa/search/search", query="q")
    assert desk.seen[0].body["contents"] == {"livecrawl": "never", "text": {"maxCharacters": 6000}}
    for asked in ({"livecrawl": "always"}, {"maxAgeHours": 0}, {"contents": {"livecrawl": "always"}}):
        with pytest.raises(ParameterNotListed):
            await desk("exa/search/search", query="q", **asked)


async def test_a58_late_and_undated_results_and_generated_text_go() -> None:
    hits = [
        {"title": "late", "url": "u1", "publishedDate": "2030-01-01T00:00:00.000Z"},
        {"title": "undated", "url": "u2"},
        {"title": "null", "url": "u3", "publishedDate": None},
        {"title": "told", "url": "u4", "publishedDate": "2024-01-01", "text": "Updated: on 3 July 2024 it won."},
        {"title": "good", "url": "u5", "publishedDate": "2024-01-01T00:00:00.000Z", "text": "In March 2024 it rose.", "summary": "s", "subpages": [], "extras": {}},
    ]  # fmt: skip
    answer = await Desk({"results": hits, "autopromptString": "x"})("exa/search/search", query="q")
    shown = {k: hits[4][k] for k in ("title", "url", "publishedDate", "text")}
    assert answer.data == {"results": [{**shown, "highlights": None}]}
    for name in ("summaryQuery", "livecrawl", "subpages"):
        with pytest.raises(ParameterNotListed):
            await Desk({})("exa/search/search", query="q", **{name: "x"})


async def test_a61_an_end_past_the_cutoff_leaves_the_start_alone() -> None:
    desk = Desk({"results": []})
    await desk("exa/search/search", query="q", startPublishedDate="2023-01-01", endPublishedDate="2030-01-01")
    assert desk.seen[0].body["startPublishedDate"] == "2023-01-01T00:00:00.000Z"
    assert desk.seen[0].body["endPublishedDate"] == "2024-06-01T04:00:00.000Z"


async def test_a64_stamps_do_not_depend_on_the_machines_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    rows = [{"timestamp": int(Cutoff.parse(CUTOFF).instant.timestamp()) + d, "price": d} for d in (-1, 1)]
    for zone in ("Asia/Tokyo", "America/Los_Angeles"):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        try:
            assert [r["price"] for r in (await Desk(rows)("polymarket/trades", market="0x1")).data] == [-1]
        finally:
            monkeypatch.undo()
            time.tzset()


async def test_a65_text_that_holds_json_stays_text() -> None:
    market = {
        "id": "1",
        "createdAt": "2024-01-01T00:00:00Z",
        "outcomes": "__import__('os').abort()",
        "outcomePrices": "[1]",
    }
    answer = await Desk([market])("polymarket/markets")
    assert answer.data == [{k: market[k] for k in ("id", "createdAt", "outcomes")}]


UNDATED = {
    "brave/web": ("q", lambda hits: {"type": "search", "web": {"results": hits}}),
    "exa/search/search": ("query", lambda hits: {"results": hits}),
    "tavily/search": ("query", lambda hits: {"results": hits}),
    "serper/search": ("q", lambda hits: {"organic": hits}),
    "searxng/search": ("q", lambda hits: {"results": hits}),
}


@pytest.mark.parametrize("path", sorted(UNDATED))
async def test_hits_without_a_date_that_were_written_later_change_no_byte(path: str) -> None:
    """How many of them a search finds follows from what was written since; so does the share of hits that bear a date."""
    name, body = UNDATED[path]
    dated = {
        "title": "t",
        "url": "u",
        "link": "u",
        "publishedDate": "2019-05-01T00:00:00.000Z",
        "page_age": "2019-05-01T00:00:00",
    }
    dated |= {
        "date": "2019-05-01",
        "published_date": "Wed, 01 May 2019 00:00:00 GMT",
        "text": "Old.",
        "snippet": "Old.",
    }
    told = []
    for more in (0, 1, 30):
        hits = [dated, *({"title": "t", "url": f"z{n}", "link": f"z{n}"} for n in range(more))]
        told.append(read(await Desk(body(hits))(path, "2019-06-30", **{name: "x"})))
    assert told == [told[0]] * 3 and '"undated":null' in told[0] and '"u"' in told[0]
