"""The parts of the agent loop: quoting, calls, beliefs, submissions, data texts, and work side by side."""

import asyncio
import json
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxies.asof.clock import Cutoff
from tests.fakes.loop_leaf import AskedModel, MemoryWeb, leaf
from tests.fakes.loop_run import HOSTILE, ScriptedModel, block, calls, says
from workbench.agents.base import Grounding
from workbench.agents.conversation import Conversation
from workbench.agents.errors import MalformedReply
from workbench.agents.evidence.base import Evidence
from workbench.agents.grounders.deep_research import DeepResearchGrounder
from workbench.agents.grounders.loop_parts import grounding_of, uncited
from workbench.agents.grounders.search_grounder import SearchGrounder
from workbench.agents.loop.belief_state import (
    BeliefEvidence,
    BeliefState,
    belief_schema,
    merged_lists,
    read_belief,
)
from workbench.agents.loop.data_tools import market_request, text_again, text_of_answer, text_of_series
from workbench.agents.loop.moves import read_move
from workbench.agents.loop.submission import clamped, read_submission, submit_spec
from workbench.agents.loop.tool_box import ToolPlace, argument_fault, together
from workbench.errors import UsageError
from workbench.models.base import ModelReply, ModelRequest, ToolCall
from workbench.quoting import BAR, one_line, quote, visible

# --- limits -----------------------------------------------------------------------------------------------------------------


async def test_a_cache_is_spared_until_a_reply_is_unusable() -> None:
    """A turn that asks otherwise than those before goes without its choice at first, so that a provider's cache is read."""
    said = iter(["yes", "no", "yes"])
    requests: list[ModelRequest] = []

    async def ask(request: ModelRequest, *, stage: str, step: int, retry: int) -> ModelReply:
        requests.append(request)
        return ModelReply(text=next(said), model="m")

    def parse(text: str) -> str:
        if text != "yes":
            raise MalformedReply("no yes")
        return text

    task = leaf(ask)
    dialogue = Conversation(
        ask, "s", about="", nodes=(task.node,), cutoff=task.cutoff, settings=task.settings
    )
    for stage, choice in (("a", "auto"), ("b", "none")):
        await dialogue.exchange(stage, "?", parse, reply_format="yes", choice=choice)
    assert [(request.choice, request.spare_cache) for request in requests] == [
        ("auto", False), ("none", True), ("none", False),
    ]  # fmt: skip


# --- foreign text ---------------------------------------------------------------------------------------------------------


@given(st.text(max_size=400), st.integers(1, 300))
def test_quoted_text_is_bars_and_visible_letters_alone(text: str, most: int) -> None:
    shown = quote(text, most).text
    lines = shown.split("\n")
    note = [line for line in lines if line.endswith("more characters are left out)")]
    assert all(line.startswith(BAR.rstrip()) for line in lines if line not in note) and len(note) <= 1
    assert all(
        letter in "\n\t" or unicodedata.category(letter) not in {"Cc", "Cf", "Co", "Cs"} for letter in shown
    )
    assert sum(len(line.removeprefix(BAR)) for line in lines if line not in note) <= most


@given(st.text(max_size=200))
def test_what_is_visible_stays_as_it_is(text: str) -> None:
    assert visible(visible(text)) == visible(text)
    assert "\n" not in one_line(text)


def test_orders_in_a_page_are_named_and_an_honest_page_has_none() -> None:
    assert len(quote(HOSTILE, 5000).marks) == 5
    honest = (
        "The committee said on Tuesday that it will report its decision in September. Analysts at three banks answer that"
        " inflation of 2.1% leaves room. The user of such figures should keep the rules of the survey in mind: no previous"
        " release was revised by more than 0.3 points."
    )
    assert quote(honest, 5000).marks == ()


# --- calls ------------------------------------------------------------------------------------------------------------------


def move(reply: ModelReply, **more: Any) -> Any:
    wanted = {"end": "submit", "only_end": False, "belief": False, "known": (), "names": ("search",), **more}
    return read_move(reply, **wanted)


def text(source: str) -> ModelReply:
    return ModelReply(text=source, model="x")


@pytest.mark.parametrize(
    "source",
    [
        '```json\n{"name": "search", "arguments": {"words": "rates"}}\n```',
        'I will look.\n\n{"tool": "search", "parameters": {"words": "rates"}}',
        '<think>{"name": "submit"}</think>```json\n[{"name": "search", "arguments": {"words": "rates"}}]\n```',
    ],
)
def test_calls_in_text_are_read(source: str) -> None:
    (call,) = move(text(source)).calls
    assert (call.id, call.name, call.arguments) == (None, "search", {"words": "rates"})


def test_the_arguments_of_an_answer_alone_are_an_answer() -> None:
    (call,) = move(text('```json\n{"probability": 0.3, "reasoning": "r", "key_factor": "k"}\n```')).calls
    assert call.name == "submit" and call.arguments["probability"] == 0.3


def tool_reply(*names: str, **arguments: Any) -> ModelReply:
    made = tuple(ToolCall(id=str(n), name=name, arguments=arguments) for n, name in enumerate(names))
    return ModelReply(text="", model="x", tool_calls=made)


@pytest.mark.parametrize(
    ("reply", "more", "reason"),
    [
        (text("I think it is likely."), {}, "it calls no tool; call one of search, submit"),
        (tool_reply("submit", "search"), {}, "submit came with other calls"),
        (tool_reply("search"), {"only_end": True}, "nothing but submit"),
        (tool_reply(*["search"] * 11), {}, "at most 10"),
        (tool_reply("search", malformed_arguments="{"), {}, "no JSON object"),
        (tool_reply("search"), {"belief": True}, "every tool call needs"),
        (tool_reply("search", updated_belief={"probability": 62}), {"belief": True}, "between 0 and 1"),
        (
            tool_reply("search", updated_belief={"probability": "NaN"}),
            {"belief": True},
            "a number from 0 to 1",
        ),
    ],
)
def test_what_is_no_move_goes_back_with_the_reason(
    reply: ModelReply, more: dict[str, Any], reason: str
) -> None:
    with pytest.raises(MalformedReply, match=reason):
        move(reply, **more)


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({"probability": 0.5, "reasoning": "r", "key_factor": "k"}, ""),
        ({"probability": 0.5, "reasoning": "r"}, "it needs key_factor"),
        ({"probability": "0.5", "reasoning": "r", "key_factor": "k"}, "probability must be of type number"),
        ({"probability": True, "reasoning": "r", "key_factor": "k"}, "probability must be of type number"),
        (
            {"words": "x"},
            "it takes probability, reasoning, cases, base_rate, if_nothing_changes, yes_if, no_if, would_change_my_mind, key_factor, not words",
        ),
    ],
)
def test_arguments_are_checked_before_a_tool_is_called(arguments: dict[str, Any], fault: str) -> None:
    assert argument_fault(submit_spec(()), arguments) == fault


# --- beliefs and submissions --------------------------------------------------------------------------------------------------

PROBABILITIES = st.floats(0, 1)


@given(PROBABILITIES, st.tuples(PROBABILITIES, PROBABILITIES).filter(lambda ends: ends[0] < ends[1]))
def test_a_clamp_moves_only_what_lies_outside(p: float, clamp: tuple[float, float]) -> None:
    low, high = clamp
    assert low <= clamped(p, clamp) <= high
    assert clamped(p, clamp) == (p if low <= p <= high else (low if p < low else high))


@given(PROBABILITIES)
def test_a_submission_keeps_the_raw_value(p: float) -> None:
    answer = {"probability": p, "reasoning": "r", "key_factor": "k"}
    submission = read_submission(answer, dates=(), clamp=(0.05, 0.95), stated_belief=p)
    assert submission.raw == (p,) and submission.gap == 0 and 0.05 <= submission.p <= 0.95


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["text", "sources", "probability", "claim"]), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@given(st.dictionaries(st.sampled_from(list(belief_schema()["properties"])), JSON))
def test_whatever_a_model_sends_is_a_belief_or_a_complaint(value: dict[str, Any]) -> None:
    try:
        belief = read_belief(value, {"S1.1"})
    except MalformedReply:
        return
    assert 0 <= belief.state.p <= 1
    cited = {
        one for piece in (*belief.state.evidence_for, *belief.state.evidence_against) for one in piece.sources
    }
    assert cited <= {"S1.1"}


def test_evidence_may_cite_in_brackets() -> None:
    read = read_belief(
        {"probability": "40 %", "evidence_for": ["It waits [S1.2], W3 says"], "evidence_against": ["no"]},
        {"S1.2"},
    )
    assert read.state.p == 0.4 and read.state.evidence_for[0].sources == ("S1.2",)
    assert read.unknown_ids == ("W3",) and read.uncited == 1


def test_a_merge_that_is_no_shorter_is_not_taken() -> None:
    state = BeliefState(evidence_for=(BeliefEvidence(text="a fact", sources=("S1.1",)),))
    longer = {"evidence_for": [{"text": "a fact, and more", "sources": ["S1.1"]}], "evidence_against": []}
    with pytest.raises(MalformedReply, match="no shorter"):
        merged_lists(state, longer, {"S1.1"})


# --- data -----------------------------------------------------------------------------------------------------------------------


@given(st.lists(st.fixed_dictionaries({"n": st.integers(0, 10**9)}), max_size=60), st.integers(50, 400))
def test_long_answers_keep_their_newest_rows_and_say_what_is_left_out(rows: list[Any], most: int) -> None:
    shown = text_of_answer(rows, most).split("\n")
    if rows:
        left = [line for line in shown if line.endswith("left out)")]
        kept = [line for line in shown if line not in left]
        assert len(kept) + (int(left[0].strip("(").split()[0]) if left else 0) == len(rows)
        assert json.loads(kept[-1]) == rows[-1] or left


def test_figures_of_a_series_by_hand() -> None:
    """Values 1, 3, 2, 6: changes 2, -1, 4; mean 5/3, standard deviation sqrt(19/3) = 2.51661."""
    rows = [{"date": f"2018-01-0{n}", "value": value} for n, value in enumerate((1, 3, ".", 2, 6), 1)]
    lines = text_of_series(rows, "embedded", 2).split("\n")
    assert lines[0] == "values 4 from 2018-01-01 to 2018-01-05; least 1, greatest 6, last 6"
    assert lines[1] == "changes: mean 1.66667, standard deviation 2.51661, share of rises 0.6667"
    assert lines[2:] == ["1 rows without a number", "date,value", "2018-01-04,2", "2018-01-05,6"]
    assert text_of_series({"observations": rows}, "fred", 1).endswith("2018-01-05,6")
    assert text_of_series("nonsense", "fred", 1) == "no values"


def test_a_market_is_asked_for_its_last_sixty_days() -> None:
    last = Cutoff.parse("2018-06-30").last_visible_day
    path, params = market_request({"venue": "polymarket", "market": "123"}, last)
    assert path == "polymarket/prices-history" and params["endTs"] - params["startTs"] == 61 * 86_400
    # 2018-06-30T00:00:00Z
    assert params["endTs"] == 1_530_316_800
    assert market_request({"venue": "kalshi", "market": "A"}, last) == ("", {})
    assert market_request({"venue": "kalshi", "market": "A", "series": "B"}, last)[1]["series_ticker"] == "B"


def test_only_data_tools_write_their_text_again() -> None:
    from proxies.ledger import Answer

    answer = Answer(data=[{"a": 1}], meta={"content_hash": "sha256:1", "as_of": "2018-06-29"})
    place = ToolPlace(1, 1)
    assert text_again("search", {}, "x", answer, place) is None
    assert (
        text_again("call_api", {"path": "x"}, "x", answer, place)
        == '[D1] x, as known at 2018-06-29\n| {"a": 1}'
    )


def test_no_two_calls_of_a_leaf_share_a_place() -> None:
    places = [
        ToolPlace(step, number, track)
        for step in range(1, 40)
        for number in range(1, 11)
        for track in range(6)
    ]
    assert len({place.address for place in places}) == len(places)
    assert len({place.id("S", 1) for place in places}) == len(places)


# --- side by side -------------------------------------------------------------------------------------------------------------------


async def test_the_first_error_ends_the_others_and_is_raised_as_it_is() -> None:
    ended: list[str] = []

    async def waits() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("others")

    async def fails() -> None:
        await asyncio.sleep(0)
        raise UsageError("no budget")

    with pytest.raises(UsageError, match="no budget"):
        await together([waits(), fails(), waits()])
    assert ended == ["others", "others"]


# --- search and deep research -------------------------------------------------------------------------------------------------------

ANSWER = calls(("submit", {"probability": 0.3, "reasoning": "r", "key_factor": "k"}))


async def test_a_search_at_its_limit_is_asked_for_its_answer_and_nothing_else() -> None:
    web = MemoryWeb()
    ask = AskedModel(ScriptedModel({"act": [calls(("search", {"words": "a"})), ANSWER]}))
    outcome = await SearchGrounder(options={"steps": 1}, open_web=lambda task: web).ground(leaf(ask))
    assert isinstance(outcome, Grounding) and outcome.belief.p == 0.3
    assert [step for _, step, _ in ask.addresses] == [0, 1]
    assert "its 1 steps are used up. Call `submit` now" in ask.requests[1].messages[-1].content
    assert "Asked for the answer before it came by itself: its 1 steps are used up." in outcome.belief.report
    assert ask.requests[0].tools == ask.requests[1].tools, "a provider's cache begins with the tools"


PLAN = {"plan": "p", "questions": ["one", "two", "three"]}
NOTES = calls(("hand_in", {"notes": [{"text": "a note", "sources": ["Q1S1.1", "Q9S9.9"]}]}))
REPORT = says('It waits.\n\n```json\n{"p_true": 0.4, "key_factor": "k"}\n```')


async def researched(**script: Any) -> tuple[Any, AskedModel, MemoryWeb]:
    web = MemoryWeb()
    look = [calls(("search", {"words": "a"})), NOTES]
    ask = AskedModel(ScriptedModel({"lead": [block(PLAN), block({"plan": "", "questions": []}), REPORT], "sub1": look, "sub2": look, "sub3": look, **script}))  # fmt: skip
    return await DeepResearchGrounder(open_web=lambda task: web).ground(leaf(ask)), ask, web


async def test_questions_are_worked_on_side_by_side_and_each_in_its_own_dialogue() -> None:
    outcome, ask, web = await researched()
    assert isinstance(outcome, Grounding) and outcome.belief.p == 0.4 and web.at_once == 3
    assert sorted(stage for stage, _, _ in ask.addresses) == sorted(
        ["lead", "lead", "conclude", *(f"sub{n}" for n in (1, 2, 3) for _ in range(2))]
    )
    parts = [request for request in ask.requests if request.stage == "sub2"]
    assert all(
        "two" in request.messages[1].content and "three" not in request.messages[1].content
        for request in parts
    )
    gaps = next(request for request in ask.requests if request.stage == "lead" and len(request.messages) > 2)
    assert "a note [Q1S1.1 2018-06-01]" in gaps.messages[-1].content, "an id that nobody gave out is left out"


async def test_a_question_without_notes_weakens_the_report_and_does_not_end_it() -> None:
    outcome, ask, _ = await researched(sub2=[says("I would rather not.")])
    assert isinstance(outcome, Grounding) and isinstance(outcome.evidence, Evidence)
    assert any(finding.startswith("No notes on question 2") for finding in outcome.evidence.findings)
    gaps = next(request for request in ask.requests if request.stage == "lead" and len(request.messages) > 2)
    assert "(no notes:" in gaps.messages[-1].content


def test_research_has_no_notebook_and_bounded_questions() -> None:
    with pytest.raises(UsageError, match="runs no code"):
        DeepResearchGrounder(options={"tools": ["cell"]})
    with pytest.raises(UsageError, match="questions are 1 to 10"):
        DeepResearchGrounder(options={"questions": 11})


def test_cases_of_a_submission_are_counted_again_and_their_sources_looked_up() -> None:
    cases = [{"case": "Cut of 2019", "source": "[S1.1]", "came_true": True}, {"case": "None of 2015", "source": "S9.9", "came_true": False}]  # fmt: skip
    arguments = {"probability": 0.4, "reasoning": "So.", "cases": cases, "base_rate": 0.9, "no_if": "A war."}
    said = read_submission(arguments, dates=(), clamp=(0, 1), stated_belief=None)
    assert uncited(said, {"S1.1"}) == ["Counts cases from S9.9, which nothing showed."]
    grounding = grounding_of(Evidence(submission=said), said)
    assert [item.check for item in grounding.findings] == ["counted cases", "far from base rate"]
    assert "1 of 2 came true" in grounding.belief.report and "A war." in grounding.belief.report
    bare = read_submission({"probability": 0.4}, dates=(), clamp=(0, 1), stated_belief=None)
    assert (bare.reasoning, dict(bare.numbers), uncited(bare, ())) == ("", {}, [])
