"""Rendered requests of every stage, compared with approved text: a change of wording shows in review.

After a wanted change raise the ``version`` of the prompt file and run once with APPROVE_PROMPTS=1; then read the diff.
"""

import json
import os
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pytest

from proxies.asof.asof_text import as_of
from tests.agents.scripted import CUTOFF, LEAF, ScriptedAsker, fake_session, leaf_task, no_rounds
from tests.agents.test_red_team import argued_tree
from tests.agents.test_synthesizers import CHILDREN, NODE
from tests.agents.test_thoughts import Thinker, ground
from tests.fakes.loop_leaf import AskedModel
from tests.fakes.model_policy import PLAN, analysis_block, cells, conclusion, report_with
from tests.fakes.models import ScriptedModel
from tests.fakes.sandbox import printed, raised
from tests.fakes.small_run import RUN, make_small_run
from tests.prompts import loop_dialogues
from tests.search.conftest import ScriptedReader
from workbench.agents.analyzers.rounds import RoundsAnalyzer
from workbench.agents.base import FRAMINGS, AgentSettings, Brief, Grounding
from workbench.agents.claim_reader import fill_claim
from workbench.agents.context_maker import ContextMaker
from workbench.agents.grounders.notebook_grounder import NotebookGrounder
from workbench.agents.grounders.router import RouterGrounder
from workbench.agents.judges import find_leaks, judge_report, recall_event
from workbench.agents.red_team import counter_case
from workbench.agents.resolver import read_outcome
from workbench.agents.synthesizers import model_synthesizers as synthesizers
from workbench.agents.synthesizers.root_prior import Prior, state_prior
from workbench.agents.topic_sorter import classify_questions
from workbench.conversation.model_answers import model_answer
from workbench.conversation.run_look_ups import RunLookUps
from workbench.engine.access.model_gateway import run_gateway
from workbench.engine.record.fold import load_state
from workbench.models.base import Finish, ModelReply, ModelRequest, NodeRef
from workbench.models.errors import ModelUnavailable
from workbench.prompts import TODAY, PromptSet, load, names, prompt_set
from workbench.propositions import Tree
from workbench.search.base import FoundPage
from workbench.search.engines import Hit
from workbench.search.leaf_web import page_summary
from workbench.search.leak_filter import LeakFilter, Verdicts
from workbench.store import Store
from workbench.views.run_view import view

NODE_REF = NodeRef(id="P1.2", statement="The S&P 500 closes above 2700 on 2018-12-31")
APPROVED = Path(__file__).parent / "approved"
APPROVE = bool(os.environ.get("APPROVE_PROMPTS"))


def shown(request: ModelRequest) -> str:
    """A request as one text, its messages headed by their roles; of its tools those that a prompt describes."""
    parts = [
        f"===== tool {tool.name} =====\n{tool.description}\n"
        for tool in request.tools
        if tool.name in names()
    ]
    for turn in request.messages:
        pictures = f", {len(turn.images)} pictures" if turn.images else ""
        calls = "".join(f"\n[calls {call.name} {json.dumps(call.arguments)}]" for call in turn.tool_calls)
        parts.append(f"===== {turn.role}{pictures} =====\n{turn.content}{calls}\n")
    return "\n".join(parts)


def block_of(reply: str) -> str:
    """A reply without what stands before its block."""
    return reply[reply.index("```json") :]


async def analysis() -> ScriptedAsker:
    ask = ScriptedAsker(
        "Perhaps.", analysis_block({"P0": PLAN["P0"]}) + "\n<END_OF_ANALYSIS>", "<END_OF_ANALYSIS>"
    )
    tree = Tree.root_only("The S&P 500 closes higher on 2018-12-31 than on 2018-06-29")
    await RoundsAnalyzer().analyze(tree, cutoff=CUTOFF, ask=ask, on_round=no_rounds()[1])
    return ask


async def criticism() -> ScriptedAsker:
    """The dialogue of a model that reads the analyzer's propositions."""
    block = analysis_block({"P0": PLAN["P0"]})
    ask = ScriptedAsker(block, '```json\n{"faults": []}\n```', "<END_OF_ANALYSIS>")
    tree = Tree.root_only("The S&P 500 closes higher on 2018-12-31 than on 2018-06-29")
    brief = Brief(asks_critic=True)
    await RoundsAnalyzer().analyze(tree, cutoff=CUTOFF, ask=ask, on_round=no_rounds()[1], brief=brief)
    ask.calls = [call for call in ask.calls if call.stage == "critic"]
    return ask


async def proof() -> ScriptedAsker:
    ask = ScriptedAsker(
        cells(("markdown", "# Plan"), ("python", "closes[-1]")),
        cells(("python", "closes = load()\ncloses[-1]")),
        "<TERMINATE_NOTEBOOK>",
        conclusion(0.6, "P1.2"),
    )
    session = fake_session(
        raised("NameError", "name 'closes' is not defined"), printed("2718.37", image=True)
    )
    await NotebookGrounder().ground(leaf_task(ask, session))
    return ask


async def proof_with_mishaps() -> ScriptedAsker:
    def ended(finish: Finish, text: str = "") -> ModelReply:
        return ModelReply(text=text, model="scripted", finish=finish)

    ask = ScriptedAsker(
        ended("empty"),
        ended("truncated", "<python_cell>\nclos"),
        "es[-1]\n</python_cell>",
        ended("refused"),
        "<TERMINATE_NOTEBOOK>",
        ended("truncated", "<think>on and on"),
        "I would rather not.",
        "I would rather not.",
        conclusion(0.6, "P1.2"),
    )
    task = leaf_task(ask, fake_session(printed("2718.37")), max_exception_retry=9, extra_ask_share=None)
    await NotebookGrounder().ground(task)
    return ask


async def long_proof() -> ScriptedAsker:
    ask = ScriptedAsker(cells(("python", "closes[-1]")), conclusion(0.6, "P1.2"))
    await NotebookGrounder().ground(leaf_task(ask, fake_session(printed("2718.37")), max_proof_steps=1))
    return ask


def framed(framing: str) -> Callable[[], Awaitable[ScriptedAsker]]:
    """A proof as one of several trials, whose conclusion comes once with a slip and then as a block alone."""

    async def run() -> ScriptedAsker:
        ask = ScriptedAsker(
            cells(("python", "closes[-1]")),
            conclusion(0.6, "P1.2").replace("0.6", "6.0"),
            block_of(conclusion(0.6, "P1.2")),
        )
        task = leaf_task(ask, fake_session(printed("2718.37")), max_proof_steps=1)
        grounding = await NotebookGrounder().ground(replace(task, framing=framing))
        assert isinstance(grounding, Grounding) and grounding.belief.report.startswith("Report on")
        return ask

    return run


async def told_of_calls() -> ScriptedAsker:
    """A proof whose siblings have read something."""
    ask = ScriptedAsker(cells(("python", "closes[-1]")), conclusion(0.6, "P1.2"))
    calls = (
        'embedded/series/observations {"series_id":"SP500","start":"2017-01-01"}: 376 rows, 2017-01-03 to 2018-06-29',
        'embedded/series/observations {"series_id":"VIX"}: 7172 rows, 1990-01-02 to 2018-06-29',
    )
    task = leaf_task(ask, fake_session(printed("2718.37")), max_proof_steps=1)
    await NotebookGrounder().ground(replace(task, known_calls=calls))
    return ask


def synthesis(agent: type[synthesizers.RuleSynthesizer]) -> Callable[[], Awaitable[ScriptedAsker]]:
    async def run() -> ScriptedAsker:
        ask = ScriptedAsker(ModelUnavailable("only the request is wanted"))
        with pytest.raises(ModelUnavailable):
            await agent(AgentSettings()).synthesize(NODE, CHILDREN, cutoff=CUTOFF, ask=ask)
        return ask

    return run


PRIOR = Prior(p=0.05, n=40, cases="Cuts of rates within half a year.", report="Few were made.")


async def prior() -> ScriptedAsker:
    ask = ScriptedAsker('Few were.\n\n```json\n{"p_true": 0.05, "n": 40, "key_factor": "Cuts."}\n```')
    stated = await state_prior(NODE_REF, cutoff=CUTOFF, ask=ask, settings=AgentSettings())
    assert (stated.p, stated.n, stated.cases, stated.report) == (0.05, 40, "Cuts.", "Few were.")
    return ask


async def far_from_the_prior() -> ScriptedAsker:
    reply = report_with(
        {"beta": {"beta_0": 0, "P1.1": 0.8, "P1.2": 0.2}, "p_true": 0.71, "key_factor": "k"}, "P1"
    )
    ask = ScriptedAsker(reply, reply)
    _, belief = await synthesizers.LinearSynthesizer().synthesize(
        NODE, CHILDREN, cutoff=CUTOFF, ask=ask, prior=PRIOR
    )
    assert belief.p == pytest.approx(0.71) and "stands by it" in belief.report
    assert '{"prior": 0.05, "n": 40, "cases": "Cuts of rates within half a year."}' in belief.report
    return ask


async def analysis_per_node() -> ScriptedAsker:
    block = analysis_block({"P0": PLAN["P0"]}).replace('"causality"', '"combine": "all needed", "causality"')
    ask = ScriptedAsker(block, "<END_OF_ANALYSIS>")
    tree = Tree.root_only("The S&P 500 closes higher on 2018-12-31 than on 2018-06-29")
    grown = await RoundsAnalyzer().analyze(
        tree, cutoff=CUTOFF, ask=ask, on_round=no_rounds()[1], brief=Brief(combines=True)
    )
    assert grown.root.combine == "all" and "combine" not in grown["P1"].statement
    return ask


async def all_needed() -> ScriptedAsker:
    """The linear rule gives way to AND where the analyzer says that all children are needed."""
    ask = ScriptedAsker(ModelUnavailable("only the request is wanted"))
    with pytest.raises(ModelUnavailable):
        await synthesizers.LinearSynthesizer().synthesize(
            replace(NODE, combine="all"), CHILDREN, cutoff=CUTOFF, ask=ask
        )
    assert [call.stage for call in ask.calls] == ["logic"]
    return ask


async def second_look() -> ScriptedAsker:
    great = {"beta_0": 0.3, "P1.1": 0.3, "P1.2": 0.2}
    reply = report_with({"beta": great, "p_true": 0.8, "key_factor": "growth"}, "P1")
    ask = ScriptedAsker(reply, reply)
    await synthesizers.LinearSynthesizer().synthesize(NODE, CHILDREN, cutoff=CUTOFF, ask=ask)
    return ask


async def routing() -> ScriptedAsker:
    """The one question of the router, where its rules leave two grounders."""
    ask = ScriptedAsker(ModelUnavailable("only the request is wanted"))
    grounder = RouterGrounder(AgentSettings(), {"among": ["notebook", "market"]})
    with pytest.raises(ModelUnavailable):
        await grounder.ask_model(leaf_task(ask, fake_session()))
    return ask


def thinking(name: str, kind: str, **options: Any) -> Callable[[], Awaitable[Any]]:
    """The last request of a kind that a thinking grounder makes."""

    async def run() -> Thinker:
        ask = Thinker()
        ask.votes = [("yes", 0.9)] * 10
        ask.outcomes = {"Sun": 0.4, "Rain": 0.6} if options.get("exclusive") else {}
        await ground(name, ask, **options)
        ask.calls = [call for call in ask.calls if call.stage.startswith(kind)]
        return ask

    return run


def asked_about_finished_work(
    question: Callable[[ScriptedAsker], Awaitable[object]],
) -> Callable[[], Awaitable[ScriptedAsker]]:
    async def run() -> ScriptedAsker:
        ask = ScriptedAsker(ModelUnavailable("only the request is wanted"))
        with pytest.raises(ModelUnavailable):
            await question(ask)
        return ask

    return run


async def against() -> ScriptedAsker:
    reply = 'It may not.\n\n```json\n{"key_point": "growth is late", "leaves": {"P2": 0.2}}\n```'
    ask = ScriptedAsker(reply)
    await counter_case(argued_tree(), cutoff=CUTOFF, ask=ask, settings=AgentSettings())
    return ask


_ABOUT: dict[str, Any] = {"cutoff": CUTOFF, "settings": AgentSettings()}


async def leak_filter() -> ScriptedReader:
    """The request that asks whether search results are of later."""
    ask = ScriptedReader("1: KEEP - it looks ahead\n2: DROP - it tells the outcome")
    hits = [
        Hit(url="https://x.org/a", title="Outlook", published="2018-06-01", text="It may rise.", engines=("exa",)),
        Hit(url="https://x.org/b", title="It rose", published="2018-06-01", text="It rose to 3000.", engines=("exa",)),
    ]  # fmt: skip
    reader = LeakFilter(ask, node=NODE_REF, cutoff=CUTOFF, verdicts=Verdicts())
    assert [verdict.keep for verdict in await reader.judge(hits, step=0, retry=0)] == [True, False]
    return ask


async def summary_of_a_page() -> ScriptedReader:
    ask = ScriptedReader("It may rise.")
    await page_summary("Outlook: it may rise.", node=NODE_REF, cutoff=CUTOFF, ask=ask, step=0, retry=0)
    return ask


async def topics_of_questions() -> ScriptedReader:
    ask = ScriptedReader('```json\n{"topics": {"1": "economics", "2": "other"}}\n```')
    await classify_questions(["A rate cut?", "Rain?"], ["economics", "other"], cutoff=CUTOFF, ask=ask)
    return ask


async def outcome_by_pages() -> ScriptedReader:
    quotes = '[{"page": 1, "quote": "It rose by four points on Friday."}]'
    ask = ScriptedReader(f'```json\n{{"came_to": "yes", "quotes": {quotes}, "reasons": "Point one."}}\n```')
    page = FoundPage(
        id="S1.1", url="https://x.org/a", title="Close", published="2018-06-01", text="It rose by four points on Friday."
    )  # fmt: skip
    await read_outcome(
        as_of(NODE_REF.statement, CUTOFF), "yes or no", [page], fits=lambda _: "", cutoff=CUTOFF, ask=ask
    )
    return ask


async def claim_of_a_text() -> ScriptedReader:
    ask = ScriptedReader('```json\n{"series": null}\n```')
    await fill_claim("Shares calm down by 2018-12-31", CUTOFF, ask, "openai/x")
    return ask


async def context_searches() -> ScriptedReader:
    ask = ScriptedReader('```json\n{"queries": ["S&P 500 outlook"]}\n```')
    await ContextMaker(as_of(NODE_REF.statement, CUTOFF), CUTOFF, ask).queries(4)
    return ask


async def context_ranking() -> ScriptedReader:
    ask = ScriptedReader('```json\n{"sources": [{"number": 1, "summary": "It may rise."}]}\n```')
    page = FoundPage(
        id="S1.1", url="https://x.org/a", title="Outlook", published="2018-06-01", text="It may rise."
    )
    await ContextMaker(as_of(NODE_REF.statement, CUTOFF), CUTOFF, ask).rank([page], 10)
    return ask


async def question_about_a_run() -> SimpleNamespace:
    look = '```json\n{"look_up": "sensitivity", "arguments": {}}\n```'
    answer = '```json\n{"answer": "By both.", "cites": [{"node": "P0"}]}\n```'
    model = ScriptedModel([look, answer])
    with TemporaryDirectory() as folder:
        make_small_run(Path(folder))
        with closing(Store(Path(folder))) as store:
            state = load_state(store, RUN)
            look_ups = RunLookUps(store, view(store, RUN))
            await model_answer(store, state, run_gateway(store, state, model), look_ups, "What carries it?")
    return SimpleNamespace(calls=[SimpleNamespace(request=model.requests[-1])])


# the last request of a dialogue shows every message before it
DIALOGUES: dict[str, Callable[[], Awaitable[Any]]] = {
    "leak_filter": leak_filter,
    "page_summary": summary_of_a_page,
    "context_searches": context_searches,
    "topics": topics_of_questions,
    "resolve": outcome_by_pages,
    "claim_of_a_text": claim_of_a_text,
    "context_ranking": context_ranking,
    "analysis": analysis,
    "criticism": criticism,
    "proof": proof,
    "proof_at_the_step_limit": long_proof,
    "proof_with_mishaps": proof_with_mishaps,
    "proof_told_of_calls": told_of_calls,
    **{f"proof_{framing}": framed(framing) for framing in FRAMINGS},
    "linear": synthesis(synthesizers.LinearSynthesizer),
    "routing": routing,
    "judge": asked_about_finished_work(
        lambda ask: judge_report(LEAF, "It is likely.", 0.7, ask=ask, **_ABOUT)
    ),
    "recall": asked_about_finished_work(lambda ask: recall_event(LEAF, ask=ask, **_ABOUT)),
    "leaks": asked_about_finished_work(lambda ask: find_leaks(LEAF, ["One.", "Two."], ask=ask, **_ABOUT)),
    "second_look": second_look,
    "prior": prior,
    "second_look_far_from_the_prior": far_from_the_prior,
    "analysis_per_node": analysis_per_node,
    "all_needed": all_needed,
    "vanilla": synthesis(synthesizers.VanillaSynthesizer),
    "logic": synthesis(synthesizers.LogicSynthesizer),
    "noisy_or": synthesis(synthesizers.NoisyOrSynthesizer),
    "thought_propose": thinking("tree-of-thoughts", "propose"),
    "thought_query": thinking("tree-of-thoughts", "query", search=True),
    "thought_propose_after_a_search": thinking("graph-of-thoughts", "propose", search=True),
    "thought_value": thinking("tree-of-thoughts", "value"),
    "thought_merge": thinking("graph-of-thoughts", "merge"),
    "thought_conclude": thinking("tree-of-thoughts", "answer"),
    "zero_shot_brief": thinking("zero-shot", "outcomes", form="brief"),
    "zero_shot_choice": thinking(
        "zero-shot",
        "outcomes",
        event=f"{LEAF.statement}, or not?",
        outcomes=["Sun", "Rain"],
        leaf="Sun",
        exclusive=True,
    ),
    "zero_shot_percentiles": thinking(
        "zero-shot",
        "percentiles",
        event=f"{LEAF.statement} How many millimetres?",
        number={
            "low": 0,
            "high": 100,
            "open_low": False,
            "open_high": True,
            "zero_point": None,
            "unit": "mm",
            "side": "above",
            "dates": False,
            "level": 20,
        },
    ),
    "zero_shot_halawi": thinking("zero-shot", "answer", form="halawi"),
    "zero_shot_recall": thinking("zero-shot", "answer", form="recall"),
    "zero_shot_variant": thinking("zero-shot", "variant", elicit="ensemble"),
    "zero_shot_opposite": thinking("zero-shot", "opposite", elicit="both-directions"),
    "zero_shot_vote": thinking("zero-shot", "vote", elicit="votes"),
    "zero_shot_aggregate": thinking("zero-shot", "aggregate", elicit="aggregate", count=2),
    "red_team": against,
    "question_about_a_run": question_about_a_run,
}


LOOPS: dict[str, Callable[[], Awaitable[list[ModelRequest]]]] = {
    "belief_loop": loop_dialogues.belief_loop,
    "merged_belief": loop_dialogues.merged_belief,
    "paper_belief": loop_dialogues.paper_belief,
    "search_to_the_limit": loop_dialogues.search_to_the_limit,
    "research_lead": loop_dialogues.research_lead,
    "research_part": loop_dialogues.research_part,
    "synthesizer_looks_up": loop_dialogues.synthesizer_looks_up,
    "synthesizer_searches": loop_dialogues.synthesizer_searches,
}


@pytest.mark.parametrize("name", [*DIALOGUES, *LOOPS])
async def test_dialogue_reads_as_approved(name: str) -> None:
    last = (await LOOPS[name]())[-1] if name in LOOPS else (await DIALOGUES[name]()).calls[-1].request
    text = shown(last)
    stored = APPROVED / f"{name}.txt"
    if APPROVE:
        stored.parent.mkdir(exist_ok=True)
        stored.write_text(text, encoding="utf-8")
    assert stored.is_file(), f"nothing approved for {name}: run with APPROVE_PROMPTS=1 and read the result"
    assert text == stored.read_text(encoding="utf-8")


async def test_every_prompt_is_part_of_an_approved_dialogue() -> None:
    approved = "\n".join(path.read_text(encoding="utf-8") for path in APPROVED.glob("*.txt"))
    for name in names():
        body = load(name).body
        for hole in load(name).inputs:
            body = body.replace(f"{{{{{hole}}}}}", "\n")
        for line in filter(str.strip, body.splitlines()):
            assert line in approved, f"a line of prompt {name} is in no approved dialogue: {line}"


def test_a_changed_prompt_has_a_new_version() -> None:
    stored = APPROVED / "versions.json"
    now: dict[str, Any] = TODAY.fingerprints()
    before = json.loads(stored.read_text(encoding="utf-8")) if stored.is_file() else {}
    for name in set(now) & set(before):
        if now[name]["sha256"] != before[name]["sha256"]:
            assert now[name]["version"] > before[name]["version"], f"{name} changed: raise its version"
    if APPROVE:
        stored.write_text(json.dumps(now, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    assert json.loads(stored.read_text(encoding="utf-8")) == now, "run with APPROVE_PROMPTS=1"


class NoPrompts:
    """Stands where today's prompts do, for agents that lost those of their run."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} of today's prompts, and not of the run's")


@pytest.mark.parametrize("name", [*DIALOGUES, *LOOPS])
async def test_every_agent_renders_from_the_prompts_of_its_run(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in (AskedModel, ScriptedAsker, ScriptedReader, Thinker):
        monkeypatch.setattr(kind, "prompts", PromptSet(), raising=False)
    monkeypatch.setattr(prompt_set, "TODAY", NoPrompts())
    await (LOOPS[name] if name in LOOPS else DIALOGUES[name])()
