"""The search for data: what analysts ask leads to what answers it."""

import csv
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from proxies.asof.clock import Cutoff
from proxies.broker import Broker
from proxies.catalogue import Availability, everything, load_catalogue
from proxies.catalogue.endpoint_search import Match, Search, search_of
from proxies.errors import ParameterInvalid, Refused, UnknownPath
from proxies.ledger import Address, MemoryLedger
from proxies.request import check

CATALOGUE = load_catalogue()
SEARCH: Search = search_of(CATALOGUE)
SETTINGS = {"key-free": Availability(), "all keys": everything(CATALOGUE)}
#: Sources that are searched on: an answer to many questions, so the figures without them are published too.
SEARCHED = frozenset(
    {"fred/series/series/search", "dbnomics/search", "polymarket/search", "wikipedia/search", "kalshi/events",
     "kalshi/markets", "yfinance/search"}
)  # fmt: skip
QUESTIONS = Path(__file__).parent / "questions"


def questions(half: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = yaml.safe_load((QUESTIONS / f"{half}.yaml").read_text(encoding="utf-8"))
    return rows


def usable(accepted: str, setting: Availability) -> bool:
    source, series, _ = accepted.partition("#")
    if series:
        return not any(setting.source_obstacle(info) for info in CATALOGUE.sources() if info.name == source)
    return not setting.obstacle(CATALOGUE.resolve(accepted))


def names(match: Match) -> str:
    return f"{match.endpoint.source.name}#{match.id}" if match.id else match.endpoint.path


def hits(half: str, setting: Availability, *, leave_out: frozenset[str] = frozenset()) -> tuple[int, int]:
    """Questions with an accepted answer among the first five, and all that have one in this setting."""
    hit = asked = 0
    for question in questions(half):
        accepted = {a for a in question["accept"] if usable(a, setting)} - leave_out
        if accepted:
            asked += 1
            first = [match for match in SEARCH.find(question["ask"], setting) if not match.obstacle][:5]
            hit += any(names(match) in accepted for match in first)
    return hit, asked


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("half", ["held_out", "tuning"])
def test_an_answer_stands_among_the_first_five_of_nine_questions_in_ten(half: str, setting: str) -> None:
    for left_out, questions_at_least, least in ((frozenset(), 70, 0.9), (SEARCHED, 55, 0.75)):
        hit, asked = hits(half, SETTINGS[setting], leave_out=left_out)
        assert asked >= questions_at_least and hit / asked >= least


@pytest.mark.realdata
@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_questions_of_strangers_lead_to_their_source_or_to_one_that_is_searched_on(
    setting: Availability, test_data: Path
) -> None:
    events = test_data / "forecastbench" / "events.csv.gz"
    with gzip.open(events, "rt", encoding="utf-8", newline="") as lines:
        rows = {row["question_key"]: row for row in csv.DictReader(lines)}
    macro, web = {"fred/series/series/search", "dbnomics/search"}, {"polymarket/search", "wikipedia/search"}
    right = {
        "fred": macro, "dbnomics": macro | {"dbnomics#meteofrance/TEMPERATURE"}, "yfinance": {"yfinance/history"},
        "wikipedia": {"wikipedia/search", "wikipedia/page"},
        **dict.fromkeys(("polymarket", "manifold", "metaculus", "infer"), web | {"kalshi/events"}),
    }  # fmt: skip
    hit = asked = 0
    for row in rows.values():
        if row["source"] not in right:  # ACLED's events are in no source
            continue
        accepted = right[row["source"]] | {f"{row['source']}#{row['source_question_id']}"}
        question = row["question"].splitlines()[0]
        first = [match for match in SEARCH.find(question, setting) if not match.obstacle][:5]
        asked += 1
        hit += any(names(match) in accepted for match in first)
    assert asked > 300 and hit / asked >= 0.95, f"{hit} of {asked}"


def test_every_topic_leads_to_calls_that_the_broker_takes() -> None:
    live = Cutoff.parse("now")
    places = [(item, place) for item in SEARCH.items for place in item.places]
    assert sum(bool(place.id) for _, place in places) > 400
    for item, place in places:
        assert item.about.endswith((".", ")")), item.about
        if place.params:
            given = {**place.endpoint.example, **place.params}
            words = {place.words: "unemployment"} if place.words else {}
            check(place.endpoint, {**given, **words}, live)


def test_a_ticker_that_no_list_holds_is_taken_from_the_question() -> None:
    matches = SEARCH.find("Will SPGI's market close price be higher?", SETTINGS["key-free"])
    assert ("yfinance/history", {"symbol": "SPGI"}) in [
        (m.endpoint.path, dict(m.params)) for m in matches[:5]
    ]
    for question in ("Will NASA land on Mars?", "WILL THE PRICE RISE?"):
        first = SEARCH.find(question, SETTINGS["key-free"])[:5]
        assert not any(
            m.endpoint.path == "yfinance/history" and m.id in ("NASA", "WILL", "RISE") for m in first
        )


# -- out of a cell ----------------------------------------------------------------------------------------------------


def place(step: int = 0) -> Address:
    return Address(run="r", node="P1", trial=1, attempt=1, stage="cell", step=step, retry=0)


async def test_a_cell_searches_and_reads_without_a_cutoff_and_gets_the_same_again_from_the_ledger(
    broker_of: Callable[..., Broker],
) -> None:
    ledger = MemoryLedger()
    session = broker_of().session(None, ledger)
    found = await session.call("catalogue/search", {"words": "unemployment rate"}, place())
    assert "needs FRED_API_KEY" in found.data and "LNS14000000" in found.data
    page = await session.call("catalogue/doc", {"paths": ["embedded/series/observations"]}, place(1))
    assert page.data.startswith("## embedded/series/observations")
    # another key, and the recorded text all the same: the cell was run with the other
    again = broker_of(keys={"fred": "k"}).session(None, ledger)
    assert (await again.call("catalogue/search", {"words": "unemployment rate"}, place())).data == found.data


@pytest.mark.parametrize(
    ("path", "params", "error"),
    [
        ("catalogue/search", {}, ParameterInvalid),
        ("catalogue/search", {"words": ["a"]}, ParameterInvalid),
        ("catalogue/search", {"words": "a" * 501}, ParameterInvalid),
        ("catalogue/search", {"words": "a", "more": 1}, ParameterInvalid),
        ("catalogue/doc", {"paths": "embedded/series/list"}, ParameterInvalid),
        ("catalogue/doc", {"paths": []}, ParameterInvalid),
        ("catalogue/doc", {"paths": ["no/such"]}, UnknownPath),
        ("catalogue/other", {}, Refused),
    ],
)
async def test_a_cell_that_reads_the_catalogue_wrongly_is_refused(
    broker_of: Callable[..., Broker], path: str, params: dict[str, Any], error: type[Refused]
) -> None:
    with pytest.raises(error):
        await broker_of().session(Cutoff.parse("2018-06-30"), MemoryLedger()).call(path, params, place())
