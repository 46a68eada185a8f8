"""What no filter can see: the closed list of undated changes, by the catalogue, as docs/endpoints.md prints it."""

from typing import Any

import pytest

from proxies.catalogue import Endpoint, load_catalogue
from proxies.errors import CutoffRefused
from tests.fakes.upstream import Seen
from tests.proxies.leaks.desk import Desk
from tests.proxies.two_worlds import read
from tests.proxies.worlds import (
    ASKED,
)


def goes_by_ticker(endpoint: Endpoint) -> bool:
    """Whether shares and funds are asked for, or told, by ticker; futures traders' positions go by contract, SEC EDGAR by number."""
    if endpoint.source.name not in ("fmp", "yfinance", "msd") or "commitment-of-traders" in endpoint.path:
        return False
    bears = {"symbol", "removedTicker"} & set(endpoint.fields) and endpoint.as_of.policy != "static"
    return bool({"symbol", "symbols", "ticker"} & set(endpoint.params) or bears)


@pytest.mark.parametrize("endpoint", ASKED, ids=lambda e: e.path)
def test_an_endpoint_names_the_undated_changes_that_its_guards_cannot_see(endpoint: Endpoint) -> None:
    as_of = endpoint.as_of
    assert not as_of.open_to or as_of.residual in ("medium", "high")
    for sign, change in (
        ("restated" in as_of.guards, "restated"),
        ("survivorship" in as_of.guards, "removed"),
        ("content_check" in as_of.guards, "restated"),
        (as_of.adjust not in ("", "drop", "state"), "rescaled"),
        (as_of.policy == "static", "added"),
        (as_of.first is not None, "renamed"),
    ):
        assert not sign or change in as_of.open_to, change
    # a list that is open to new names of all kinds is open to new tickers
    assert not goes_by_ticker(endpoint) or {"ticker", "renamed"} & set(as_of.open_to)


async def test_an_undated_change_of_an_endpoint_on_the_list_shows_and_the_list_says_so() -> None:
    """The list is honest: what stands on it really cannot be seen, one example of each kind that can be made here."""

    async def differ(path: str, one: Any, other: Any, **params: Any) -> bool:
        told = [read(await Desk(body)(path, "2024-06-01", **params)) for body in (one, other)]
        return told[0] != told[1]

    row = {"symbol": "A", "date": "2023-12-31", "acceptedDate": "2024-02-01 10:00:00", "totalAssets": 5}
    balance = "fmp/statements/financial-statements/balance-sheet-statement"
    assert await differ(balance, [row], [{**row, "totalAssets": 6}], symbol="A")
    lists = [{"symbol": "X"}]
    assert await differ("fmp/index-list", lists, [*lists, {"symbol": "Y"}])
    hit = {"title": "t", "url": "u", "publishedDate": "2024-01-01T00:00:00Z", "text": "Old."}
    assert await differ("exa/search/search", {"results": [hit]}, {"results": []}, query="q")
    for path, change in (
        (balance, "restated"),
        ("fmp/index-list", "added"),
        ("exa/search/search", "removed"),
    ):
        assert change in load_catalogue().resolve(path).as_of.open_to


TRANSCRIPTS = "fmp/earnings-transcripts/earning-call-transcript-dates"


def renaming(new: str | None) -> Any:
    """A vendor that keeps a company under one ticker, FB, or under the one that it got later, for all its history."""

    def answer(seen: Seen) -> Any:
        kept = seen.query.get("symbol") == (new or "FB")
        return [{"quarter": 1, "fiscalYear": 2021, "date": "2021-04-28"}] if kept else []

    return answer


async def test_a_ticker_that_was_given_later_answers_for_the_time_before_and_the_list_says_so() -> None:
    """The list of renamings that FMP keeps goes back some months only, so that it cannot tell when a ticker was given."""
    told = {
        (symbol, new): (await Desk(renaming(new))(TRANSCRIPTS, "2021-06-30", symbol=symbol)).data
        for symbol in ("FB", "META")
        for new in (None, "META")
    }
    assert bool(told["FB", None]) and not told["META", None]  # before the company was renamed
    assert bool(told["META", "META"]) and not told["FB", "META"]  # and after
    listed = load_catalogue().resolve(TRANSCRIPTS).as_of
    assert "ticker" in listed.open_to and listed.residual == "medium"
    with pytest.raises(CutoffRefused, match="residual"):
        await Desk(renaming(None))(TRANSCRIPTS, "2021-06-30", most="low", symbol="FB")


async def test_companies_are_the_same_by_any_ticker_where_they_are_asked_for_by_number() -> None:
    for endpoint in ASKED:
        if endpoint.source.name == "sec":
            assert not goes_by_ticker(endpoint) and "ticker" not in endpoint.as_of.open_to
