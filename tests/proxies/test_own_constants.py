"""What we wrote down ourselves (topics, tickers, examples, names of countries) begins on a day too, and is not told before it."""

from datetime import date

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from proxies.asof.asof_text import as_of
from proxies.asof.clock import Cutoff
from proxies.catalogue import Availability, load_catalogue
from proxies.catalogue.docs import api_doc, api_map, api_search
from proxies.errors import UnknownPath
from tests.proxies.leaks.desk import Desk

CATALOGUE = load_catalogue()
KEYS = [source.name for source in CATALOGUE.sources()]


def at(cutoff: str) -> Availability:
    return Availability.of(KEYS, Cutoff.parse(cutoff))


@pytest.mark.parametrize(
    ("words", "ticker", "before", "after"),
    [
        ("coinbase share price", "COIN", "2015-06-01", "2021-06-01"),
        ("facebook share price", "META", "2019-06-01", "2023-01-01"),
        ("spotify share price", "SPOT", "2018-04-03", "2018-04-05"),
        ("solana price", "SOL-USD", "2019-01-01", "2021-01-01"),
        ("overnight repo rate", "SOFR", "2017-01-01", "2019-01-01"),
    ],
)
def test_what_began_later_is_not_offered(words: str, ticker: str, before: str, after: str) -> None:
    assert f'"{ticker}"' not in api_search(CATALOGUE, words, at(before))
    for setting in (at(after), at("live"), None):
        assert f'"{ticker}"' in api_search(CATALOGUE, words, setting)


@settings(max_examples=10)
@given(day=st.dates(date(1950, 1, 1), date(2026, 1, 1)))
@example(day=date(2016, 1, 4))
def test_nothing_of_the_catalogue_tells_an_agent_of_later_than_its_cutoff(day: date) -> None:
    """The rule that the audit of prompts uses finds nothing in what we write ourselves, and no source is offered before its first row."""
    setting = at(day.isoformat())
    begun = [e for e in CATALOGUE if setting.knows(e.since)]
    overview = api_map(CATALOGUE, setting)
    texts = [overview, *(api_doc(CATALOGUE, [e.path], setting) for e in begun)]
    assert not [
        piece.text
        for text in texts
        for piece in as_of(text, Cutoff.parse(day.isoformat()), kind="record").cut
    ]
    for source in CATALOGUE.sources():
        offered = any(e.source.name == source.name for e in begun)
        assert (f"`{source.name}/`" in overview or f"{source.name}/ (" in overview) == offered


@pytest.mark.parametrize(
    ("source", "before", "after"),
    [
        ("gdelt", "2016-12-31", "2017-01-03"),
        ("polymarket", "2019-05-01", "2023-05-01"),
        ("wayback", "1995-01-01", "1997-01-01"),
    ],
)
def test_a_source_is_offered_from_its_first_row_on(source: str, before: str, after: str) -> None:
    path = next(e.path for e in CATALOGUE if e.source.name == source)
    for day in (before, after):
        offered = (
            f"`{source}/`" in api_map(CATALOGUE, at(day)),
            bool(not at(day).obstacle(CATALOGUE.resolve(path))),
        )
        assert offered == (day == after,) * 2
        assert (
            f"`{source}/" in api_search(CATALOGUE, f"{source} news articles markets web pages", at(day))
        ) <= (day == after)
    with pytest.raises(UnknownPath):
        api_doc(CATALOGUE, [path], at(before))


@pytest.mark.parametrize(
    ("code", "before", "after", "day"),
    [
        ("MK", "Macedonia", "North Macedonia", "2019-02-12"),
        ("SZ", "Swaziland", "Eswatini", "2018-04-19"),
        ("CZ", "Czech Republic", "Czechia", "2016-07-05"),
    ],
)
async def test_a_country_bears_its_name_of_then(code: str, before: str, after: str, day: str) -> None:
    async def name(cutoff: str) -> str:
        rows = (await Desk({})("gt/google_trends_geo", cutoff)).data
        assert all(row.keys() == {"geo_id", "geo_description"} for row in rows)
        [found] = [row["geo_description"] for row in rows if row["geo_id"] == code]
        return str(found)

    assert await name("2012-01-01") == await name(day) == before
    assert await name("2024-01-01") == await name("live") == after
