"""The belief agent: BLF's Algorithm 1 step by step, and each of its switches."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxies.asof.clock import Cutoff
from tests.fakes.loop_leaf import AskedModel, MemoryWeb, leaf
from tests.fakes.loop_run import Say, ScriptedModel, believing, block, calls, says
from tests.fakes.upstream import Seen, Sent, Upstream
from workbench.agents.base import AgentSettings, Grounding, GroundingFailure
from workbench.agents.errors import BadSetting
from workbench.agents.evidence.base import Evidence
from workbench.agents.grounders.belief import BeliefGrounder
from workbench.agents.registry import open_grounder
from workbench.errors import UsageError
from workbench.models.base import ModelReply, ModelRequest
from workbench.models.providers.litellm_client import LiteLLMModel


def submit(p: float, belief: float | None = None, **more: Any) -> Say:
    stated = believing(p if belief is None else belief)
    return calls(("submit", {"probability": p, "reasoning": "r", "key_factor": "k", **stated, **more}))


def ever(name: str, argument: str, value: str, **more: Any) -> Say:
    """The same call for ever, each time of something else."""

    def reply(request: ModelRequest) -> ModelReply:
        say = calls((name, {argument: f"{value}{len(request.messages)}", **more}))
        assert callable(say)
        return say(request)

    return reply


async def ran(
    script: Sequence[Say],
    *,
    web: MemoryWeb | None = None,
    task: Mapping[str, Any] | None = None,
    **options: Any,
) -> tuple[Grounding, Evidence, AskedModel, MemoryWeb]:
    web = web or MemoryWeb()
    ask = AskedModel(ScriptedModel({"act": script, "compact": [says("no")]}))
    grounder = BeliefGrounder(options=options, open_web=lambda task: web)
    outcome = await grounder.ground(leaf(ask, **(task or {})))
    assert isinstance(outcome, Grounding), outcome
    assert isinstance(outcome.evidence, Evidence)
    return outcome, outcome.evidence, ask, web


# --- Algorithm 1 on a scripted server -----------------------------------------------------------------------------------

#: BLF, Algorithm 2: a look-up, a search, a summary, and the submission; the belief of each step is the paper's.
PAPER_TRACE = (
    ("open_page", {"page": "https://example.org/question"}, 0.65),
    ("search", {"words": "opposition"}, 0.40),
    ("open_page", {"page": "S2.1"}, 0.35),
    ("submit", {"probability": 0.30, "reasoning": "the evidence is clear", "key_factor": "opposition"}, 0.30),
)


class Server(Upstream):
    """An OpenAI-compatible server that plays a trace, one step for each assistant turn that it is shown."""

    def __init__(self, trace: Sequence[tuple[str, Mapping[str, Any], float]], *, tools: bool = True) -> None:
        self.trace, self.tools = trace, tools
        self.bodies: list[dict[str, Any]] = []
        super().__init__(self._completion)

    def _completion(self, seen: Seen) -> Sent:
        body = seen.body
        if body.get("tools") and not self.tools:
            return Sent({"error": {"message": "tools are not supported by this model"}}, status=400)
        self.bodies.append(body)
        turn = sum(message["role"] == "assistant" for message in body["messages"])
        name, arguments, p = self.trace[min(turn, len(self.trace) - 1)]
        wanted = {**arguments, **believing(p)}
        if "words" in wanted:
            wanted["words"] = f"{wanted['words']} {turn}"
        if self.tools:
            call = {
                "id": f"c{turn}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(wanted)},
            }
            message: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": [call]}
        else:
            text = f"```tool_call\n{json.dumps({'name': name, 'arguments': wanted})}\n```"
            message = {"role": "assistant", "content": text}
        choice = {"index": 0, "finish_reason": "tool_calls" if self.tools else "stop", "message": message}
        usage = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
        return Sent(
            {
                "id": "1",
                "object": "chat.completion",
                "created": 1,
                "model": "x",
                "choices": [choice],
                "usage": usage,
            }
        )


@pytest.mark.parametrize("tools", [True, False], ids=["tool calls", "calls in text"])
async def test_algorithm_1_step_by_step(tools: bool) -> None:
    web = MemoryWeb()
    with Server(PAPER_TRACE, tools=tools) as server:
        ask = AskedModel(LiteLLMModel("openai/x", api_base=server.url))
        grounder = BeliefGrounder(open_web=lambda task: web)
        outcome = await grounder.ground(leaf(ask))
    assert isinstance(outcome, Grounding) and isinstance(outcome.evidence, Evidence)
    # (a_t, b_t) <- LLM(m_{t-1}) once a step; o_t <- Env(a_t) once a step but the last
    assert ask.addresses == [("act", step, 0) for step in range(4)] and len(server.bodies) == 4
    assert web.asked == [
        ("open_page", "https://example.org/question"),
        ("search", "opposition 1"),
        ("open_page", "https://example.org/1"),
    ]
    assert [step.title for step in outcome.evidence.steps] == ["open_page", "search", "open_page", "submit"]
    assert [step.p for step in outcome.evidence.steps] == [0.65, 0.40, 0.35, 0.30]
    assert outcome.belief.p == 0.30 and outcome.trace == {"steps": 4, "failed_cells": 0}
    # m_t = m_{t-1} + (a_t, o_t, b_t): each request begins with the one before it
    for before, after in zip(server.bodies, server.bodies[1:], strict=False):
        assert after["messages"][: len(before["messages"])] == before["messages"]
        assert "updated_belief" in json.dumps(after["messages"][len(before["messages"])])
    statistics = outcome.evidence.statistics
    assert (statistics["steps"], statistics["model calls"], statistics["tool calls"]) == (4, 4, 3)
    assert (statistics["input tokens"], statistics["output tokens"]) == (4000, 400)


async def test_after_t_max_steps_the_last_belief_is_submitted() -> None:
    """Algorithm 1, lines 13 and 14: T calls of the model, T of the environment, b_T.p."""
    trace = [("search", {"words": f"w{n}"}, p) for n, p in enumerate((0.5, 0.4, 0.33))]
    web = MemoryWeb()
    with Server(trace) as server:
        ask = AskedModel(LiteLLMModel("openai/x", api_base=server.url))
        outcome = await BeliefGrounder(options={"steps": 3}, open_web=lambda task: web).ground(leaf(ask))
    assert isinstance(outcome, Grounding) and isinstance(outcome.evidence, Evidence)
    assert len(server.bodies) == 3 and len(web.asked) == 3
    assert outcome.belief.p == 0.33 and outcome.evidence.submission is not None
    assert outcome.evidence.submission.forced == "its 3 steps are used up, so the last belief was taken"
    assert "Not submitted by the model" in outcome.belief.report


# --- switches -----------------------------------------------------------------------------------------------------------


async def test_without_a_belief_state_the_last_step_can_only_submit() -> None:
    """NoBel (BLF, App. J.2): a look-up in its last step would end in the default, whatever was found before."""
    look = ever("search", "words", "w")
    outcome, trace, ask, _ = await ran([look, look, submit(0.3)], belief=False, steps=3)
    assert outcome.belief.p == 0.3 and [request.choice for request in ask.requests] == [
        "auto",
        "auto",
        "submit",
    ]
    assert trace.submission is not None and not trace.submission.forced
    offered = json.dumps([tool.parameters for tool in ask.requests[0].tools])
    assert "updated_belief" not in offered and "updated_belief" not in ask.requests[0].messages[0].content


async def test_every_tool_takes_the_belief_and_a_call_without_one_is_sent_back() -> None:
    bare = calls(("search", {"words": "rates"}))
    _, trace, ask, web = await ran(
        [bare, calls(("search", {"words": "rates", **believing(0.4)})), submit(0.4)]
    )
    assert all("updated_belief" in tool.parameters["required"] for tool in ask.requests[0].tools)
    assert ask.addresses == [("act", 0, 0), ("act", 0, 1), ("act", 1, 0)]
    assert web.asked == [("search", "rates")], "the call without a belief was not run"
    assert [step.p for step in trace.steps] == [0.4, 0.4]


async def test_batch_looks_up_everything_at_once_and_then_answers() -> None:
    together = calls(*(("search", {"words": f"w{n}", **believing(0.5)}) for n in range(4)))
    _, trace, ask, web = await ran([together, submit(0.7)], mode="batch")
    assert len(ask.requests) == 2 and web.at_once == 4
    assert [step.title for step in trace.steps] == ["search", "submit"]
    # A second round of look-ups is not taken.
    stubborn = calls(("search", {"words": "more", **believing(0.5)}))
    _, _, ask, web = await ran([together, stubborn, submit(0.7)], mode="batch")
    assert ask.addresses[-1] == ("act", 1, 1) and ("search", "more") not in web.asked


async def test_zero_shot_asks_once_and_offers_submit_alone() -> None:
    outcome, _, ask, web = await ran([submit(0.8)], mode="zero-shot")
    assert outcome.belief.p == 0.8 and len(ask.requests) == 1 and web.asked == []
    assert [tool.name for tool in ask.requests[0].tools] == ["submit"]
    # the standard prompt is used throughout (App. J.4)
    sequential = (await ran([submit(0.8)]))[2].requests[0].messages[0].content
    assert ask.requests[0].messages[0].content.split("What data")[0] == sequential.split("What data")[0]


@pytest.mark.parametrize(("p", "counts"), [(0.99, 0.95), (0.01, 0.05), (0.5, 0.5)])
async def test_the_clamp_is_applied_once_and_the_raw_value_kept(p: float, counts: float) -> None:
    outcome, trace, _, _ = await ran([submit(p)], clamp=[0.05, 0.95])
    assert outcome.belief.p == counts and trace.submission is not None
    assert (trace.submission.raw, trace.submission.p) == ((p,), counts)
    assert (await ran([submit(p)]))[0].belief.p == p, "no clamp in the product"


async def test_an_intervention_goes_on_in_all_that_follows_and_is_on_record() -> None:
    look = calls(("search", {"words": "rates", **believing(0.4)}))
    seen: list[float] = []

    def after(request: ModelRequest) -> ModelReply:
        seen.append(request.messages[2].tool_calls[0].arguments["updated_belief"]["probability"])
        say = submit(0.85)
        assert callable(say)
        return say(request)

    _, trace, ask, _ = await ran([look, after], intervene={"1": 0.9})
    assert seen == [0.9] and "Your belief: p = 0.9000" in ask.requests[1].messages[-1].content
    assert (trace.steps[0].p, trace.steps[0].stated) == (0.9, 0.4)
    with pytest.raises(UsageError, match="set belief=true"):
        BeliefGrounder(options={"intervene": {"1": 0.9}, "belief": False})


async def test_a_submission_that_differs_from_the_belief_is_remarked_on() -> None:
    outcome, trace, _, _ = await ran([submit(0.8, belief=0.6)])
    assert trace.findings == ("Submitted 0.8 beside a belief of 0.6: they should be the same.",)
    assert trace.findings[0] in outcome.belief.report
    assert (await ran([submit(0.6)]))[1].findings == ()


async def test_several_dates_get_a_probability_each() -> None:
    dates = ["2018-09-30", "2018-12-31"]

    def answer(*values: float) -> Say:
        stated = {"probabilities": list(values), "reasoning": "r", "key_factor": "k", **believing(values[-1])}
        return calls(("submit", stated))

    outcome, trace, ask, _ = await ran([answer(0.9, 0.7)], dates=dates, clamp=[0.05, 0.8])
    assert trace.submission is not None and trace.submission.raw == (0.9, 0.7) and outcome.belief.p == 0.7
    assert all(day in ask.requests[0].messages[1].content for day in dates) and trace.findings == ()
    _, trace, _, _ = await ran([answer(0.6, 0.9)], dates=dates)
    assert trace.findings == ("Surer of the later than of the earlier date at 2018-12-31.",)
    _, _, ask, _ = await ran([answer(0.6), answer(0.6, 0.6)], dates=dates)
    assert ask.addresses == [("act", 0, 0), ("act", 0, 1)]


async def test_clairvoyant_is_an_arm_of_live_runs_only() -> None:
    grounder = BeliefGrounder(options={"clairvoyant": True}, open_web=lambda task: MemoryWeb())
    with pytest.raises(BadSetting, match="--cutoff now"):
        await grounder.ground(leaf(AskedModel(ScriptedModel({"act": [submit(0.5)]}))))
    live = {"cutoff": Cutoff.parse("now")}
    outcome, trace, _, _ = await ran([submit(0.5)], task=live, clairvoyant=True)
    assert trace.findings[0].startswith("Clairvoyant") and "no forecast" in outcome.belief.report


async def test_long_lists_are_merged_by_the_reader_and_say_nothing_new() -> None:
    long = believing(
        0.4, evidence_for=[{"text": f"fact {n} " + "x" * 60, "sources": ["S1.1"]} for n in range(9)]
    )
    merged = {"evidence_for": [{"text": "nine facts", "sources": ["S1.1"]}], "evidence_against": [{"text": "invented", "sources": ["S1.2"]}], "open_questions": []}  # fmt: skip
    script = {
        "act": [
            calls(("search", {"words": "a", **believing(0.5)})),
            calls(("search", {"words": "b", **long})),
            submit(0.4),
        ],
        "compact": [block(merged)],
    }
    model = AskedModel(ScriptedModel(script))
    web = MemoryWeb()
    grounder = BeliefGrounder(options={"compact_over": 300}, open_web=lambda task: web)
    outcome = await grounder.ground(leaf(model))
    assert isinstance(outcome, Grounding) and isinstance(outcome.evidence, Evidence)
    request = next(request for request in model.requests if request.stage == "compact")
    assert request.role == "reader" and model.addresses.count(("compact", 2, 0)) == 1
    belief = outcome.evidence.steps[1].belief
    assert belief is not None and belief.p == 0.4
    assert [piece.text for piece in belief.evidence_for] == ["nine facts"]
    assert belief.evidence_against == (), "a merge that cites what its lists did not is not believed"
    assert "nine facts" in model.requests[-1].messages[-1].content


@pytest.mark.parametrize(
    ("settles", "tools"),
    [
        ("Kalshi's market KXFED", ["search", "open_page", "market_history"]),
        ("FRED series UNRATE in December", ["search", "open_page", "series", "forecast_series"]),
        ("DBnomics", ["open_page", "api_docs", "call_api", "forecast_series"]),
        ("Metaculus", ["search", "open_page"]),
        (
            "the newspapers",
            [
                "search",
                "open_page",
                "api_docs",
                "call_api",
                "series",
                "forecast_series",
                "market_history",
                "cell",
            ],
        ),
    ],
)
async def test_the_source_of_a_question_chooses_the_tools(settles: str, tools: list[str]) -> None:
    _, _, ask, _ = await ran([submit(0.5)], task={"resolves_by": settles})
    assert [tool.name for tool in ask.requests[0].tools] == [*tools, "submit"]


@pytest.mark.parametrize(
    ("limit", "value", "says_so"),
    [
        ("seconds", 2.5, "its 2.5 seconds are used up"),
        ("tokens", 2500, "its 2500 tokens are used up"),
        ("usd", 0.0025, "its 0.0025 US dollars are used up"),
    ],
)
async def test_each_limit_forces_the_belief(limit: str, value: float, says_so: str) -> None:
    look = ever("search", "words", "w", **believing(0.4))
    outcome, trace, ask, _ = await ran([look], **{limit: value})
    assert trace.submission is not None and trace.submission.forced.startswith(says_so)
    assert outcome.belief.p == 0.4 and 1 <= len(ask.requests) < 10


async def test_steps_that_bring_nothing_end_the_loop() -> None:
    blocked = ever("open_page", "page", "https://blocked.org/", **believing(0.4))
    _, trace, ask, _ = await ran([blocked], errors=2)
    assert trace.submission is not None and trace.submission.forced.startswith(
        "2 steps in a row brought nothing"
    )
    same = calls(("search", {"words": "rates", **believing(0.4)}))
    _, trace, ask, web = await ran([same], errors=2)
    assert len(web.asked) == 1 and len(ask.requests) == 3
    assert "answered in step 1" in ask.requests[2].messages[-1].content


@given(st.lists(st.sampled_from([0.3, 0.31, 0.5, 0.7]), min_size=1, max_size=6), st.integers(1, 3))
@settings(max_examples=40, deadline=None)
def test_a_loop_stops_at_the_first_run_of_steps_that_leave_p_where_it_was(
    beliefs: list[float], still: int
) -> None:
    script = [calls(("search", {"words": f"w{n}", **believing(p)})) for n, p in enumerate(beliefs)]
    outcome, trace, ask, _ = asyncio.run(ran([*script, submit(0.9)], still=still))
    flat = [abs(after - before) <= 0.02 for before, after in pairwise(beliefs)]
    stops = (place + 1 + still for place in range(len(flat) - still + 1) if all(flat[place : place + still]))
    end = next(stops, None)
    assert trace.submission is not None and len(ask.requests) == (len(beliefs) + 1 if end is None else end)
    assert outcome.belief.p == (0.9 if end is None else beliefs[end - 1])
    assert bool(trace.submission.forced) == (end is not None)


async def test_a_model_that_never_makes_a_move_is_a_failed_leaf_not_a_half() -> None:
    ask = AskedModel(ScriptedModel({"act": [says("I would rather not say.")]}))
    outcome = await BeliefGrounder(open_web=lambda task: MemoryWeb()).ground(leaf(ask))
    assert isinstance(outcome, GroundingFailure) and not outcome.retryable and outcome.gave_up == (0, 3)
    assert len(ask.requests) == 3
    # a later sitting goes on behind the replies that were no use
    again = AskedModel(ScriptedModel({"act": [submit(0.6)]}))
    outcome = await BeliefGrounder(open_web=lambda task: MemoryWeb()).ground(leaf(again, gave_up=[(0, 3)]))
    assert isinstance(outcome, Grounding) and again.addresses == [("act", 0, 3)]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"mode": "guess"}, "mode of the settings of the belief grounder"),
        ({"clamp": [0.9, 0.1]}, "clamp must be two numbers"),
        ({"steps": 0}, "steps, errors and still of a loop must be at least 1"),
        ({"tools": ["shell"]}, "no tool is called shell"),
        ({"intervene": {"0": 0.5}}, "a step from 1"),
        ({"dates": [str(n) for n in range(9)]}, "at most 8"),
        ({"wings": 2}, "unknown keys: wings"),
        ({"prior": 1.5}, "prior must be in"),
        ({"source": "moon"}, "source is auto or one of"),
        ({"compact_over": 10}, "at least 200"),
    ],
)
def test_a_wrong_setting_is_refused_in_one_line(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UsageError) as refused:
        open_grounder("belief", AgentSettings(), options)
    assert complaint in str(refused.value) and "\n" not in str(refused.value)
