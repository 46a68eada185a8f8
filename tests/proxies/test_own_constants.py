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

CATALOGUE = load_catalogue()
KEYS = [source.name for source in CATALOGUE.sources()]


def at(cutoff: str) -> Availability:
    return Availability.of(KEYS, Cutoff.parse(cutoff))


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
