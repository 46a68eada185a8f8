"""Outcomes from the web: proposed with quoted, dated pages; taken without a person only where code finds two independent sources."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.command_line import run_cli, run_json
from tests.fakes.model_policy import Asked, Policy
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.upstream import Upstream
from tests.fakes.web_upstream import FakeWeb, WebPage
from workbench.questions.formats.format_registry import OWN
from workbench.questions.question import Question
from workbench.questions.sets.proposals import Source, faults_of, independent
from workbench.search.urls import registrable_domain

TODAY = datetime.now(UTC).date()
CLOSED, ASKED = (TODAY - timedelta(days=3)).isoformat(), (TODAY - timedelta(days=40)).isoformat()
WHEN = (TODAY - timedelta(days=4)).isoformat()
QUESTIONS: list[dict[str, Any]] = [
    {"id": "cut", "title": "Will the bank of Atlantis cut its rate?", "asked_on": ASKED, "closes_on": CLOSED, "criteria": "By its own notice. An emergency cut does not count."},
    {"id": "won", "title": "Which party leads in Atlantis?", "kind": "options", "options": ["Blue", "Red"], "asked_on": ASKED, "closes_on": CLOSED},
    {"id": "fish", "title": "How many fish are landed?", "kind": "numeric", "low": 0, "high": 900, "unit": "tons", "asked_on": ASKED, "closes_on": CLOSED},
    {"id": "later", "title": "Does it rain tomorrow?", "asked_on": ASKED, "closes_on": (TODAY + timedelta(days=9)).isoformat()},
]  # fmt: skip
SAYS = {
    "cut": "The bank of Atlantis cut its rate by a quarter point on Thursday.",
    "won": "Red leads the new parliament of Atlantis with 61 of 110 seats.",
    "fish": "Boats landed 412.5 tons of fish in the season, the ministry wrote.",
}
ANSWERS = {"cut": "yes", "won": "Red", "fish": "412.5"}


def article(name: str, outlet: str) -> str:
    """A page of an outlet in its own words around the sentence."""
    own = " ".join(
        f"{word} of {outlet.replace('.', ' ')}" for word in ("editors", "views", "letters", "maps")
    )
    return f"{own}. {SAYS[name]} More {own} on {name}."


@dataclass
class Judge:
    """A model that answers as told and quotes the page of every number it is shown that holds its sentence, or what it makes up."""

    invents: bool = False
    asked: list[str] = field(default_factory=list)

    def __call__(self, asked: Asked) -> dict[str, Any]:
        self.asked.append(asked.last)
        title = next(row["title"] for row in QUESTIONS if row["title"] in asked.last)
        name = next(row["id"] for row in QUESTIONS if row["title"] == title)
        pages = re.findall(r"\[begin page (\d+) #\w+\]\n(.*?)\n\[end page", asked.last, re.DOTALL)
        quotes = [
            {"page": int(number), "quote": "It is certain beyond any doubt at all." if self.invents else SAYS[name]}
            for number, text in pages
            if SAYS[name][:30] in text
        ]  # fmt: skip
        return {
            "came_to": ANSWERS[name] if quotes else "open",
            "quotes": quotes,
            "reasons": "By the criteria.",
        }


def two_each(day: str = WHEN, first: str = "reuters.com", second: str = "bbc.co.uk") -> list[WebPage]:
    return [
        WebPage(f"https://www.{host}/{name}", f"{host} on {name}", day, article(name, host))
        for name in SAYS
        for host in (first, second)
    ]


@contextmanager
def desk(
    home: Path, pages: list[WebPage], judge: Judge, questions: list[dict[str, Any]] = QUESTIONS
) -> Iterator[Any]:
    """A function that runs ``questions resolve s`` with more words, over this web and model."""
    (home / "q.json").write_text(json.dumps({"format": OWN, "questions": questions}))
    run_json(home, "questions", "import", "q.json", "--as", "s")
    with Upstream(FakeWeb(pages).answer) as web, OpenAIServer(Policy(resolve=judge)) as server:
        environ = {"WORKBENCH_UPSTREAM_BRAVE": f"{web.url}/brave", "WORKBENCH_UPSTREAM_WAYBACK": f"{web.url}/wayback", "BRAVE_API_KEY": "v3nd0rk3yv3nd0rk3y", "OPENAI_API_KEY": "none"}  # fmt: skip
        model = ("--model", "openai/x", "--set", f"api_base={server.url}", "--set", "engines=brave")

        def resolve(*words: str, reads: bool = True) -> Any:
            return run_json(home, "questions", "resolve", "s", *words, *(model if reads else ()), **environ)

        yield resolve


def outcomes(home: Path) -> dict[str, float]:
    events = [
        event
        for name in ("cut", "won", "fish")
        for event in run_json(home, "questions", "show", f"s/{name}")["events"]
    ]
    return {event["id"]: event["outcome"] for event in events if event["outcome"] is not None}


def test_what_is_proposed_is_no_outcome_until_it_is_taken_and_then_has_the_day_of_the_second_source(
    tmp_path: Path,
) -> None:
    judge = Judge()
    with desk(tmp_path, two_each(), judge) as resolve:
        done = resolve()
        proposed = {row["question"]: row for row in done["proposed"]}
        assert {name: row["answer"] for name, row in proposed.items()} == ANSWERS
        assert not any(row["lacking"] for row in proposed.values()) and not outcomes(tmp_path)
        assert {source["published"] for row in proposed.values() for source in row["sources"]} == {WHEN}
        assert len(judge.asked) == 3, "the question that is open yet is not looked into"
        assert all(f"Today is {TODAY:%Y}" in text for text in judge.asked)
        assert any("An emergency cut does not count." in text for text in judge.asked)
        taken = resolve("--accept", reads=False)
        assert taken["recorded"] > 0 and len(judge.asked) == 3
        came = outcomes(tmp_path)
        assert (came["cut"], came["won#Red"], came["won#Blue"]) == (1.0, 1.0, 0.0)
        assert run_json(tmp_path, "questions", "show", "s/cut")["question"]["resolved_on"] == WHEN
        assert run_json(tmp_path, "questions", "show", "s/fish")["question"]["values"] == {"fish": 412.5}
        assert not resolve()["proposed"] and len(judge.asked) == 3


def test_a_question_of_several_days_is_answered_day_by_day(tmp_path: Path) -> None:
    days = [(TODAY - timedelta(days=back)).isoformat() for back in (20, 3)] + [
        (TODAY + timedelta(days=20)).isoformat()
    ]
    asked = {**QUESTIONS[0], "horizons": days, "closes_on": ""}
    judge = Judge()
    with desk(tmp_path, two_each(), judge, [asked]) as resolve:
        done = resolve("--accept")
        # the day that has not come is not looked into
        assert {row["question"] for row in done["proposed"]} == {f"cut@{day}" for day in days[:2]}
        assert len(judge.asked) == 2 and all(
            any(f"(by {day})" in text for text in judge.asked) for day in days[:2]
        )
        events = {
            row["id"]: row["outcome"] for row in run_json(tmp_path, "questions", "show", "s/cut")["events"]
        }
        assert events == {f"cut@{days[0]}": 1.0, f"cut@{days[1]}": 1.0, f"cut@{days[2]}": None}
        assert done["recorded"] == 2 and not resolve("--accept")["recorded"] and len(judge.asked) == 2
        # one that is named need not wait
        resolve("cut", "--set", f"horizon={days[2]}")
        assert len(judge.asked) == 3


@pytest.mark.parametrize(
    ("pages", "invents", "says"),
    [
        (two_each()[::2], False, "1 of 2 independent"),
        (two_each(second="uk.reuters.com"), False, "1 of 2 independent"),
        (two_each(day=(TODAY - timedelta(days=60)).isoformat()), False, "0 of 2 independent"),
        (two_each(), True, "0 of 2 independent"),
        ([WebPage(page.url, page.title, page.published, article(page.url.rpartition("/")[2], "the wire")) for page in two_each()], False, "1 of 2 independent"),
    ],
    ids=["one source", "one owner", "from before", "invented", "one text"],
)  # fmt: skip
def test_a_model_that_is_sure_is_not_enough(
    tmp_path: Path, pages: list[WebPage], invents: bool, says: str
) -> None:
    with desk(tmp_path, pages, Judge(invents=invents)) as resolve:
        done = resolve("--accept")
        assert done["proposed"] and {row["lacking"][: len(says)] for row in done["proposed"]} == {says}
        assert done["recorded"] == 0 and not outcomes(tmp_path)
        assert (
            run_cli(tmp_path, "questions", "resolve", "s", "cut", "no").returncode == 0
        )  # a person may, whatever is proposed
        assert outcomes(tmp_path) == {"cut": 0.0}


def test_what_no_page_settles_stays_open_and_is_looked_into_again(tmp_path: Path) -> None:
    judge = Judge()
    with desk(tmp_path, [], judge) as resolve:
        assert {row["answer"] for row in resolve("--accept")["proposed"]} == {""}
        resolve()
        assert not outcomes(tmp_path)


WORDS = st.lists(
    st.sampled_from(["rain", "rate", "bank", "cut", "seven", "hold", "notice", "vote"]),
    min_size=4,
    max_size=40,
)


@given(WORDS, st.data())
def test_a_quotation_counts_only_if_its_words_stand_on_the_page_in_a_row(
    words: list[str], data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(words) - 4))
    quote = words[start : data.draw(st.integers(start + 4, len(words)))]
    asked = Question(id="q", title="Rain?", asked_on="2026-01-01")
    page = Source(
        url="https://a.org/x",
        title="",
        published="2026-02-01",
        quote=" ".join(quote),
        text="  ".join(words).upper(),
    )
    assert faults_of(asked, "yes", page, date(2026, 3, 1)) == []
    other = data.draw(st.permutations(quote))
    moved = Source(url=page.url, title="", published="2026-02-01", quote=" ".join(other), text=page.text)
    stands = f" {' '.join(other)} " in f" {' '.join(words)} "
    assert bool(faults_of(asked, "yes", moved, date(2026, 3, 1))) is not stands


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("edition.cnn.com", "cnn.com", True),
        ("news.bbc.co.uk", "www.bbc.co.uk", True),
        ("bbc.co.uk", "itv.co.uk", False),
        ("asahi.city.kobe.jp", "other.city.kobe.jp", True),
        ("smith.github.io", "jones.github.io", False),
        ("first.gov.in", "second.gov.in", False),
    ],
)
def test_an_owner_is_who_registered_a_name(one: str, other: str, same: bool) -> None:
    owners = [registrable_domain(f"https://{host}/page") for host in (one, other)]
    assert all(owners) and (owners[0] == owners[1]) is same


@pytest.mark.parametrize("host", ["co.uk", "10.0.0.1", "[::1]", "localhost", "github.io"])
def test_what_nobody_registered_has_no_owner(host: str) -> None:
    assert registrable_domain(f"https://{host}/page") == ""


@given(st.lists(st.tuples(st.sampled_from(["a.org", "x.a.org", "b.co.uk", "n.b.co.uk", "c.com"]), WORDS), max_size=6))  # fmt: skip
def test_independent_sources_have_owners_and_texts_of_their_own(pages: list[tuple[str, list[str]]]) -> None:
    sources = [Source(url=f"https://{host}/p", title="", published="2026-01-01", quote="", text=" ".join(text)) for host, text in pages]  # fmt: skip
    kept = independent(sources)
    domains = [registrable_domain(each.url) for each in kept]
    assert len(set(domains)) == len(domains) and len({each.text for each in kept}) == len(kept)
    assert independent(kept) == kept and bool(kept) == bool(sources)
