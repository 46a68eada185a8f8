"""What companies, lists and pages are called today (A4 to A7, A13)."""

from collections.abc import Callable
from typing import Any

import pytest

from proxies.errors import (
    CutoffRefused,
    Refused,
)
from tests.fakes.upstream import Seen
from tests.fakes.upstream_wikipedia import Wiki
from tests.proxies.closed_leaks.yahoo import at
from tests.proxies.leaks.desk import Desk
from tests.proxies.two_worlds import read


def listed(first: str | None) -> Callable[[Seen], Any]:
    """A company that a search finds, under its name of today; its profile tells since when it is listed."""

    def answer(seen: Seen) -> Any:
        if seen.path.endswith("/profile"):
            return [{"symbol": seen.query["symbol"], "companyName": "Reddit, Inc.", "ipoDate": first}]
        return (
            []
            if first is None
            else [
                {
                    "symbol": "RDDT",
                    "name": "Reddit, Inc.",
                    "companyName": "Reddit, Inc.",
                    "currency": "USD",
                    "exchange": "NYSE",
                    "cik": "1",
                }
            ]
        )

    return answer


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("fmp/search/search-name", {"query": "Reddit"}), ("fmp/search/search-symbol", {"query": "RDDT"}),
        ("fmp/search/search-cik", {"cik": "1"}), ("fmp/search/search-cusip", {"cusip": "1"}), ("fmp/search/search-isin", {"isin": "1"}),
        ("fmp/sec-filings/industry-classification/industry-classification-search", {"symbol": "RDDT"}),
    ],
)  # fmt: skip
async def test_a4_a_company_that_lists_later_is_found_like_one_that_never_was(
    path: str, asked: dict[str, Any]
) -> None:
    never, later = [
        read(await Desk(listed(day))(path, "2023-01-01", **asked)) for day in (None, "2024-03-21")
    ]
    assert never == later
    answer = await Desk(listed("2024-03-21"))(path, "2025-01-01", **asked)
    assert [row["symbol"] for row in answer.data] == ["RDDT"] and "Reddit" not in answer.encoded().decode()


async def test_a4_yahoos_hits_count_from_their_first_trade() -> None:
    def answer(seen: Seen) -> Any:
        first = {"OLD": at("1980-12-12T14:30:00+00:00"), "NEW": at("2024-03-21T13:30:00+00:00")}
        if "/chart/" in seen.path:
            return {"chart": {"result": [{"meta": {"firstTradeDate": first[seen.path.rpartition("/")[2]]}}]}}
        quotes = [
            {"symbol": name, "shortname": "Later Name", "exchange": "NYQ", "quoteType": "EQUITY"}
            for name in ("NEW", "OLD")
        ]
        return {"quotes": quotes, "documents": quotes}

    for path, asked in (("yfinance/search", {"q": "x"}), ("yfinance/lookup", {"query": "x"})):
        text = (await Desk(answer)(path, "2023-01-01", **asked)).encoded().decode()
        assert "OLD" in text and "NEW" not in text and "Later" not in text


async def test_a5_a_profile_has_codes_and_no_words_of_today() -> None:
    row = {
        "symbol": "META", "companyName": "Meta Platforms, Inc.", "ipoDate": "2012-05-18", "sector": "Communication Services",
        "industry": "Internet", "exchange": "NASDAQ", "isin": "US30303M1027", "registrantName": "Meta", "sicDescription": "x",
    }  # fmt: skip
    for path in ("fmp/profile", "fmp/sec-profile"):
        (told,) = (await Desk([row])(path, "2021-01-01", symbol="META")).data
        assert told["isin"] == row["isin"]
        assert (
            not {"companyName", "sector", "industry", "exchange", "registrantName", "sicDescription"}
            & told.keys()
        )
        for bad in ("", None):
            assert (await Desk([{**row, "ipoDate": bad}])(path, "2021-01-01", symbol="META")).data == []


async def test_a6_kinds_tags_and_topics_of_today_are_not_told() -> None:
    body = {
        "suggestions": [{"id": "/m/0cqt90", "title": "Donald Trump", "type": "45th and 47th U.S. President"}]
    }
    answer = await Desk(body)("gt/google_trends_autocomplete", q="donald trump")
    assert answer.data == {"suggestions": [{"id": "/m/0cqt90", "title": "Donald Trump"}]}
    tags = [
        {"id": n, "label": f"t{n}", "slug": "s", "createdAt": day}
        for n, day in (("1", "2026-01-01T00:00:00Z"), ("2", "2024-05-31T23:59:59Z"))
    ]
    assert [row["label"] for row in (await Desk(tags)("polymarket/tags")).data] == ["t2"]
    with pytest.raises(CutoffRefused, match="related_queries"):
        await Desk({})("gt/google_trends_related_topics", q="x")


# -- A7: the title of then ----------------------------------------------------------------------------------


def floyd() -> Wiki:
    wiki = Wiki()
    wiki.edit("Killing of George Floyd", "2020-05-26T10:00:00Z", "Killing text")
    wiki.edit("Killing of George Floyd", "2021-03-01T10:00:00Z", "The trial starts")
    wiki.move("Killing of George Floyd", "Murder of George Floyd", "2021-04-21T02:00:00Z")
    wiki.edit(
        "Murder of George Floyd",
        "2021-05-01T00:00:00Z",
        "Found guilty",
        "moved [[Somewhere]] to [[Elsewhere]]",
    )
    return wiki


@pytest.mark.parametrize("path", ["wikipedia/page", "wikipedia/sections", "wikipedia/revisions"])
async def test_a7_a_later_title_reads_like_one_that_never_was(path: str) -> None:
    async def told(title: str) -> str:
        try:
            return (await Desk(floyd())(path, "2021-04-01", title=title)).encoded().decode()
        except Refused as error:
            return error.reason

    assert await told("Murder of George Floyd") == await told("Arson of George Floyd")
    assert await told("Killing of George Floyd") != await told("Arson of George Floyd")


async def test_a7_a_search_tells_the_title_of_then() -> None:
    answer = await Desk(floyd())("wikipedia/search", "2021-04-01", q="George Floyd Chauvin")
    assert [hit["title"] for hit in answer.data["search"]] == ["Killing of George Floyd"]
    later = await Desk(floyd())("wikipedia/search", "2021-06-01", q="George Floyd Chauvin")
    assert {hit["title"] for hit in later.data["search"]} == {
        "Killing of George Floyd",
        "Murder of George Floyd",
    }


async def test_a7_a_comment_that_claims_a_move_that_never_was_changes_no_title() -> None:
    wiki = Wiki()
    wiki.edit("Inflation", "2020-01-01T00:00:00Z", "Rising prices.")
    wiki.edit("Inflation", "2021-06-01T00:00:00Z", "Rising prices!", "moved [[Somewhere]] to [[Elsewhere]]")
    page = await Desk(wiki)("wikipedia/page", "2021-04-01", title="Inflation")
    assert (page.data["title"], page.data["wikitext"]) == ("Inflation", "Rising prices.")
    hits = await Desk(wiki)("wikipedia/search", "2021-04-01", q="prices")
    assert [hit["title"] for hit in hits.data["search"]] == ["Inflation"]
