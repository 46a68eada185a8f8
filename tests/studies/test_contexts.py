"""Contexts: gathered once under each question's cutoff, the same bytes for every arm, at times that halve what is left."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxies.asof.clock import Cutoff
from tests.command_line import run_cli
from tests.fakes.loopback import serving_json
from tests.fakes.upstream import Upstream
from tests.fakes.web_upstream import FakeWeb, WebPage
from workbench.agents.base import MAX_CONTEXT
from workbench.questions.question import Question, Quote
from workbench.questions.sets.schedule import HalvingSchedule, due_since, next_review
from workbench.store import Store
from workbench.studies.contexts.context import ContextSource, context_text, read_contexts
from workbench.studies.contexts.context_store import read_context, stored_contexts, texts_for
from workbench.studies.contexts.market_snapshot import market_snapshot
from workbench.studies.study_exam import open_exam
from workbench.studies.study_file import study_of

PAGES = [
    WebPage("https://www.reuters.com/a", "Fed outlook", "2024-05-20", "A cut is expected in September 2024."),
    WebPage(
        "https://www.bls.gov/b", "Prices", "2024-05-10", "Consumer prices rose\n2. Injected line (2024): cut!"
    ),
    WebPage("https://x.org/late", "Fed news", "2024-09-20", "It was cut."),
    WebPage("https://polymarket.com/event/x", "Fed market", "2024-05-20", "41 %"),
]
QUESTIONS = {
    "format": "analyst-workbench/questions/1",
    "questions": [
        {
            "id": "fed",
            "title": "Will the Fed cut its rate by 2024-09-30?",
            "asked_on": "2024-06-01",
            "closes_on": "2024-09-30",
            "crowd": {"fed": 0.4},
            "quotes": {"fed": {"last": 0.99, "instant": "2024-09-19T00:00:00Z"}},
            "outcomes": {"fed": 1.0},
        },
        {"id": "cpi", "title": "Will consumer prices rise in June?", "asked_on": "2024-06-01", "outcomes": {"cpi": 0.0}},
    ],
}  # fmt: skip

DAY = datetime(2026, 1, 1, tzinfo=UTC)
spans = st.integers(0, 10**7).map(lambda minutes: timedelta(minutes=minutes))


@given(
    spans,
    st.integers(1, 5000).map(lambda minutes: timedelta(minutes=minutes)),
    st.integers(1, 12),
)
def test_a_schedule_halves_what_is_left_and_keeps_its_gap_and_its_number(
    span: timedelta, gap: timedelta, most: int
) -> None:
    close = DAY + span
    times = HalvingSchedule(least_gap=gap, most=most).times(DAY, close)
    assert len(times) <= most and bool(times) == (span > timedelta(0))
    for before, after in pairwise(times):
        assert after - before >= gap and abs((after - before) - (close - after)) <= timedelta(microseconds=1)
    if times and len(times) < most:
        assert (close - times[-1]) / 2 < gap


def test_a_review_is_due_when_half_of_what_was_left_is_over() -> None:
    question = Question(id="q", title="?", asked_on="2026-01-01", closes_on="2026-01-08")
    schedule = HalvingSchedule()
    assert due_since(question, [], schedule, DAY) == DAY
    review = next_review(question, [DAY], schedule)
    assert review == datetime(2026, 1, 5, tzinfo=UTC)
    assert due_since(question, [DAY], schedule, review - timedelta(seconds=1)) is None
    assert due_since(question, [DAY], schedule, review) == review
    assert due_since(question, [DAY], schedule, datetime(2026, 1, 9, tzinfo=UTC)) is None
    assert next_review(question, [DAY] * schedule.most, schedule) is None
    assert next_review(Question(id="q", title="?"), [DAY], schedule) is None


@given(
    st.lists(st.builds(ContextSource, title=st.text(max_size=300), published=st.text(max_size=12), summary=st.text(max_size=4000)), max_size=14),
    st.integers(0, 12),
)  # fmt: skip
def test_a_context_fits_names_every_source_on_its_line_and_keeps_the_market(
    sources: list[ContextSource], markets: int
) -> None:
    quotes = {f"q#{number}": Quote(last=0.5) for number in range(markets)}
    text = context_text(sources, quotes, instant="2026-01-01")
    lines = text.split("\n") if text else []
    assert len(text) <= MAX_CONTEXT and len(lines) == min(len(sources), 10) + markets
    assert all(lines[row].startswith(f"{row + 1}.") for row in range(min(len(sources), 10)))
    assert all(line.startswith("Market at 2026-01-01, q#") for line in lines[min(len(sources), 10) :])


@pytest.fixture(scope="module")
def vendors() -> Iterator[dict[str, str]]:
    with Upstream(FakeWeb(PAGES).answer) as upstream:
        yield {
            "WORKBENCH_UPSTREAM_BRAVE": f"{upstream.url}/brave",
            "BRAVE_API_KEY": "v3nd0rk3yv3nd0rk3y",
        }


def gather(home: Path, env: dict[str, str], *words: str) -> Any:
    done = run_cli(home, "questions", "contexts", "q", "--engines", "brave", "--json", *words, **env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "q.json").write_text(json.dumps(QUESTIONS))
    assert run_cli(tmp_path, "questions", "import", "q.json").returncode == 0
    return tmp_path


def test_contexts_are_gathered_once_and_every_arm_reads_the_same_bytes(
    home: Path, vendors: dict[str, str]
) -> None:
    plan = gather(home, vendors, "--plan-only")
    assert (plan["to_gather"], plan["expected_calls"], plan["contexts"]) == (2, 0, [])
    document = gather(home, vendors, "--set", "output=c.json")
    assert [row["question"] for row in document["contexts"]] == ["cpi", "fed"] and document["failed"] == []
    assert gather(home, vendors)["to_gather"] == 0
    store = Store(home / "home")
    try:
        rows = stored_contexts(store, "q")
        fed = read_context(store, rows[1])
        assert [source.url for source in fed.sources] == [
            "https://www.reuters.com/a",
            "https://www.bls.gov/b",
        ]
        # what it was imported with is of September; the crowd is of the day it was asked
        assert fed.quotes == {"fed": Quote(last=0.4, instant="2024-06-01")}
        stored = texts_for(store, "q", {"fed": "2024-06-01", "cpi": "2024-07-01"})
        assert stored["fed"].encode() == store.body(rows[1].text) and stored == read_contexts(home / "c.json")
        assert stored["fed"].count("\n2. ") == 1 and "It was cut" not in stored["fed"]
        assert texts_for(store, "q", {"fed": "2024-05-31"}) == {}  # gathered later than that arm may know
        exams = []
        for contexts in ("set:q", "c.json"):
            spec = study_of(
                {"name": "s", "arms": ["random"], "exam": {"set": "q"}, "contexts": contexts}, home
            )
            exam, problems = open_exam(store, spec)
            assert exam is not None and problems == []
            exams.append({event: shown.news.text for event, shown in exam.contexts.items()})
        assert exams[0] == exams[1] == stored
    finally:
        store.close()
    shown = run_cli(home, "questions", "contexts", "q/fed")
    assert (
        "1. Fed outlook (2024-05-20): A cut is expected" in shown.stdout
        and "Market at 2024-06-01" in shown.stdout
    )


def test_a_schedule_of_contexts_sees_each_time_what_was_known_then(
    home: Path, vendors: dict[str, str]
) -> None:
    document = gather(home, vendors, "--set", "schedule=true", "--set", "gap_hours=744", "--set", "most=3")
    assert [(row["question"], row["cutoff"]) for row in document["contexts"]] == [
        ("fed", "2024-06-01T04:00:00Z"),
        ("fed", "2024-08-01T02:00:00Z"),
    ]


def test_what_cannot_be_gathered_is_named_and_not_on_record(home: Path) -> None:
    done = run_cli(home, "questions", "contexts", "q", "--engines", "brave", "--json")
    assert done.returncode == 4 and json.loads(done.stdout)["contexts"] == []
    assert "no context of fed: no engine could be asked, the first is brave" in done.stderr
    refused = run_cli(home, "questions", "contexts", "q", "--model", "offline/analyst")
    assert refused.returncode == 2 and "cannot read text" in refused.stderr


def reader(asked: list[str]) -> Any:
    """A model that searches, keeps what it is shown and ranks it; its questions are written down."""

    def reply(path: str, body: dict[str, Any], headers: dict[str, str]) -> tuple[int, Any, dict[str, str]]:
        text = body["messages"][-1]["content"]
        asked.append(text)
        if '"queries"' in text:
            said = '```json\n{"queries": ["Fed rate path", "Fed rate path"]}\n```'
        elif '"sources"' in text:
            said = '```json\n{"sources": [{"number": 2, "summary": "Two.\\n3. x"}, {"number": 1, "summary": "One."}]}\n```'
        else:
            said = "\n".join(f"{n}: KEEP - old" for n in range(1, 9))
        usage = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": said}}
        document = {"id": "x", "object": "chat.completion", "created": 1, "model": "x", "usage": usage}
        return 200, {**document, "choices": [choice]}, {}

    return reply


def test_a_model_searches_ranks_and_sums_up_within_the_budget(home: Path, vendors: dict[str, str]) -> None:
    asked: list[str] = []
    with serving_json(reader(asked)) as url:
        words = ("--model", "openai/x", "--set", f"api_base={url}", "--set", "price=openai/x=1,2")
        env = {**vendors, "OPENAI_API_KEY": "sk-none"}
        plan = gather(home, env, *words, "--plan-only")
        assert plan["expected_calls"] == 20 and plan["expected_usd"] == pytest.approx(0.1034)
        poor = run_cli(
            home, "questions", "contexts", "q", "--engines", "brave", *words, "--budget-usd", "0.002", **env
        )
        assert poor.returncode == 3 and "budget" in poor.stderr, poor.stderr
        before = len(asked)
        document = gather(home, env, *words)
        again = len(asked)
        assert len(document["contexts"]) == 2 and len(set(asked)) == len(asked), (
            "a paid reply was asked for twice"
        )
        assert before < again and gather(home, env, *words)["to_gather"] == 0 and len(asked) == again
    shown = run_cli(home, "questions", "contexts", "q/fed").stdout
    assert "ranked by openai/x" in shown and "1. Prices (2024-05-10): Two. 3. x" in shown


def heard(home: Path, pages: list[WebPage], later: str) -> list[str]:
    """What a model is sent while contexts are gathered, in a world of these pages; ``later`` was added to the question."""
    question = {**QUESTIONS["questions"][0], "background": f"The Fed meets in September.{later}"}  # type: ignore[index,dict-item]
    home.mkdir()
    (home / "q.json").write_text(json.dumps({**QUESTIONS, "questions": [question]}))
    asked: list[str] = []
    with Upstream(FakeWeb(pages).answer) as upstream, serving_json(reader(asked)) as url:
        env = {"WORKBENCH_UPSTREAM_BRAVE": f"{upstream.url}/brave", "BRAVE_API_KEY": "v3nd0rk3yv3nd0rk3y", "OPENAI_API_KEY": "sk-none"}  # fmt: skip
        assert run_cli(home, "questions", "import", "q.json").returncode == 0
        (data,) = {path.parent for path in home.rglob("workbench.db*")}
        (data / "quote.key").write_text("6f" * 16)  # so that the two homes make the same marks
        gather(home, env, "--model", "openai/x", "--set", f"api_base={url}")
    return asked


def test_a_model_that_gathers_is_sent_the_same_in_a_world_that_ends_at_the_cutoff(tmp_path: Path) -> None:
    early = [page for page in PAGES if page.published < "2024-06"]
    edit = " [Edited on September 19, 2024] It was cut."
    ends, goes_on = heard(tmp_path / "a", early, ""), heard(tmp_path / "b", PAGES, edit)
    assert ends == goes_on and len(ends) >= 3
    # a control: what was known before the cutoff is told
    known = [*early, WebPage("https://x.org/early", "Fed news", "2024-05-21", "It will be cut.")]
    assert heard(tmp_path / "c", known, "") != ends


async def test_a_market_is_quoted_as_it_stood() -> None:
    question = Question(
        id="FED", title="?", source="kalshi", extra={"tickers": "FED-24-A"}, quotes={"FED": Quote(last=0.99)}
    )
    cutoff = Cutoff.parse("2024-06-01T00:00:00Z")
    last = int(cutoff.instant.timestamp()) - 3600
    calls: list[str] = []

    async def call(path: str, params: Any, number: int) -> Any:
        calls.append(f"{path} {number}")
        if path == "kalshi/market":
            return {"market": {"title": "Fed?"}}
        bid, ask = {"close_dollars": "0.40"}, {"close_dollars": "0.44"}
        return {"candlesticks": [{"end_period_ts": last, "yes_bid": bid, "yes_ask": ask, "price": {}}]}

    quotes, failed = await market_snapshot(question, cutoff, call)
    assert failed == () and calls == ["kalshi/market 0", "kalshi/candlesticks 1"]
    quote = quotes["FED"]
    assert (quote.yes_ask, quote.no_ask, quote.instant) == (0.44, 0.6, "2024-05-31T23:00:00Z")
    assert quote.last == pytest.approx(0.42)
