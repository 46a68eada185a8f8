"""The fake OpenAI server against the real agents: every stage is recognised and answered in the fixed formats."""

import asyncio
import json
import re
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.agents.scripted import CUTOFF, Call, check_request, fake_session, no_rounds
from tests.fakes.leaf import make_leaf_task
from tests.fakes.model_policy import PLAN, Policy, understand
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.provider_rules import body_of
from tests.fakes.sandbox import FakeSession, printed, raised
from workbench.agents.base import FRAMINGS, Grounding, GroundingFailure
from workbench.agents.registry import open_analyzer, open_grounder, open_synthesizer
from workbench.models.base import ModelReply, ModelRequest, NodeRef, ToolCall
from workbench.propositions import Tree
from workbench.synthesis import evaluate

ROOT = "The S&P 500 closes higher on 2018-12-31 than on 2018-06-29"


class HttpAsker:
    """The least that speaks the protocol: one POST, and once more after a 429 or 5xx."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.calls: list[Call] = []

    async def __call__(self, request: ModelRequest, *, stage: str, step: int, retry: int) -> ModelReply:
        call = Call(request, stage, step, retry)
        check_request(call)
        self.calls.append(call)
        async with httpx.AsyncClient(trust_env=False, timeout=20) as client:
            for _ in range(3):
                response = await client.post(
                    f"{self.url}/chat/completions",
                    json=body_of(request),
                    headers={"Authorization": "Bearer k"},
                )
                if response.status_code not in (429, 500):
                    break
        response.raise_for_status()
        message = response.json()["choices"][0]["message"]
        calls = tuple(
            ToolCall(
                id=one["id"], name=one["function"]["name"], arguments=json.loads(one["function"]["arguments"])
            )
            for one in message.get("tool_calls") or ()
        )
        return ModelReply(text=message["content"] or "", model="x", tool_calls=calls)


class PretendSession(FakeSession):
    """Results follow from the source, as a kernel's would: an undefined name fails, a plot gives a picture."""

    async def execute(self, source: str, *, fixes: str | None = None) -> Any:
        if match := re.search(r"undefined_name|still_undefined", source):
            self.script.append(raised("NameError", f"name '{match[0]}' is not defined"))
        elif source.startswith("raise "):
            self.script.append(raised("RuntimeError", "broken"))
        else:
            self.script.append(printed("ok", image="plt" in source))
        return await super().execute(source, fixes=fixes)


async def ground_all(tree: Tree, ask: Any) -> dict[str, Grounding | GroundingFailure]:
    async def one(leaf: str) -> Grounding | GroundingFailure:
        empty = fake_session()
        task = make_leaf_task(
            NodeRef(id=leaf, statement=tree[leaf].statement),
            cutoff=CUTOFF,
            ask=ask,
            session=PretendSession(empty.spec, empty.call_api, []),
        )
        return await open_grounder().ground(task)

    results = await asyncio.gather(*map(one, tree.leaves()))
    return dict(zip(tree.leaves(), results, strict=True))


async def run(policy: Policy, rule: str = "linear") -> tuple[Tree, OpenAIServer, HttpAsker]:
    with OpenAIServer(policy) as server:
        ask = HttpAsker(server.url)
        tree = await open_analyzer().analyze(
            Tree.root_only(ROOT), cutoff=CUTOFF, ask=ask, on_round=no_rounds()[1]
        )
        for leaf, result in (await ground_all(tree, ask)).items():
            assert isinstance(result, Grounding), result
            tree = tree.with_belief(leaf, result.belief)
        synthesizer = open_synthesizer(rule)
        for node in reversed(tree.inner()):
            made, belief = await synthesizer.synthesize(
                tree[node], tree.children(node), cutoff=CUTOFF, ask=ask
            )
            tree = tree.with_rule(node, made, belief)
        return tree, server, ask


async def test_the_main_job_with_every_kind_of_trouble() -> None:
    policy = Policy(
        p={"P1.1": 0.8, "P3": 0.3},
        steps=3,
        fails_once={"P1.1"},
        reads_docs={"P2"},
        malformed={"analyze", "linear", "conclude P3"},
        faults={"step P2": [429], "linear": [500]},
    )
    tree, server, _ = await run(policy)
    assert tree.leaves() == ("P1.1", "P1.2", "P2", "P3")
    assert tree["P1.1"].p == 0.8
    inner = 0.1 + 0.45 * (0.8 + 0.6)
    assert tree["P1"].p == pytest.approx(inner)
    assert tree["P0"].p == pytest.approx(0.1 + 0.3 * inner - 0.1 / 3 * 0.6 + 0.3 * 0.3)
    assert evaluate(tree).values["P0"] == pytest.approx(tree["P0"].p)
    assert [status for status, _ in server.turned_away] == [429, 500]
    assert len(server.by_stage("debug", "P1.1")) == 2
    assert sum(asked.again for asked in server.by_stage("analyze")) == 3
    assert sum(asked.again for asked in server.by_stage("linear")) == 2
    assert sum(asked.again for asked in server.by_stage("conclude")) == 1
    tools = [turn["role"] for asked in server.by_stage("step", "P2") for turn in asked.messages]
    assert "tool" in tools
    assert {asked.cutoff for asked in server.asked} == {"2018-06-30"}
    assert {asked.authorization for asked in server.asked} == {"Bearer k"}
    keys = [asked.key() for asked in server.asked]
    assert len(keys) == len(set(keys)), "a request came twice"
    assert server.unread == []


async def test_requests_name_only_what_their_stage_may_see() -> None:
    tree, server, _ = await run(Policy())
    statements = {node: tree[node].statement for node in tree.ids()}
    for asked in server.asked:
        named = {node for node, statement in statements.items() if statement in asked.everything}
        if asked.stage in ("step", "debug", "conclude"):
            assert named == {asked.node}
        elif asked.stage == "linear":
            assert named == {asked.node, *tree[asked.node].children}


async def test_a_leaf_that_never_works_fails_alone() -> None:
    with OpenAIServer(Policy(never_works={"P2"})) as server:
        ask = HttpAsker(server.url)
        tree = Tree.root_only(ROOT)
        for parent, children in PLAN.items():
            tree = tree.expand(parent, {child: statement for child, (statement, _) in children.items()})
        results = await ground_all(tree, ask)
    bad = [leaf for leaf, result in results.items() if isinstance(result, GroundingFailure)]
    assert bad == ["P2"]
    assert len(server.by_stage("debug", "P2")) == 5
    assert server.by_stage("conclude", "P2") == []


@pytest.mark.long
@pytest.mark.parametrize("rule", ["vanilla", "logic", "noisy-or"])
async def test_other_rules_are_answered_too(rule: str) -> None:
    tree, server, _ = await run(Policy(), rule)
    assert tree["P0"].rule is not None and tree["P0"].rule.name == rule
    assert [asked.again for asked in server.by_stage(rule)] == [False, False]


async def test_replies_can_be_held_and_delayed() -> None:
    gate = threading.Event()
    with OpenAIServer(Policy(hold={"conclude P2": gate}, delay=0.01)) as server:
        ask = HttpAsker(server.url)
        tree = Tree.root_only(ROOT).expand("P0", {"P1": "a first statement", "P2": "a second statement"})
        running = asyncio.create_task(ground_all(tree, ask))
        while not server.by_stage("conclude", "P1"):
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        assert not running.done()
        assert server.by_stage("conclude", "P2") == []
        gate.set()
        results = await running
    assert all(isinstance(result, Grounding) for result in results.values())


async def test_what_it_cannot_read_is_an_error_and_kept() -> None:
    with OpenAIServer() as server:
        async with httpx.AsyncClient(trust_env=False, base_url=server.url) as client:
            bad = await client.post(
                "/chat/completions", json={"messages": [{"role": "user", "content": "hi"}]}
            )
            lost = await client.post("/embeddings", json={})
            models = await client.get("/models")
    assert (bad.status_code, lost.status_code, models.status_code) == (400, 404, 200)
    assert len(server.unread) == 1


#: Dialogues of a run; questions about finished work, and the router's, are answered by servers of their own tests.
_ELSEWHERE = {
    "judge", "leaks", "recall", "routing", "red_team", "question_about_a_run", "leak_filter", "page_summary",
    "context_ranking", "context_searches", "synthesizer_searches", "topics",
    "belief_loop", "merged_belief", "paper_belief", "search_to_the_limit", "research_lead", "research_part",
}  # fmt: skip
APPROVED = sorted(
    path
    for path in (Path(__file__).parents[1] / "prompts" / "approved").glob("*.txt")
    if path.stem not in _ELSEWHERE
)


def last_turns(path: Path) -> Sequence[dict[str, str]]:
    parts = re.split(r"^===== (\w+)(?:, \d+ pictures)? =====\n", path.read_text(encoding="utf-8"), flags=re.M)
    return [
        {"role": role, "content": content} for role, content in zip(parts[1::2], parts[2::2], strict=True)
    ]


@pytest.mark.parametrize("path", APPROVED, ids=lambda path: path.stem)
def test_stages_are_told_apart_by_their_tags(path: Path) -> None:
    expected = {
        "analysis": ("analyze", "P0"),
        "criticism": ("critic", "P0"),
        "proof": ("conclude", "P1.2"),
        "proof_at_the_step_limit": ("conclude", "P1.2"),
        "proof_with_mishaps": ("conclude", "P1.2"),
        "proof_told_of_calls": ("conclude", "P1.2"),
        **{f"proof_{framing}": ("conclude", "P1.2") for framing in FRAMINGS},
        "linear": ("linear", "P1"),
        "second_look": ("linear", "P1"),
        "second_look_far_from_the_prior": ("linear", "P1"),
        "prior": ("conclude", "P1.2"),
        "analysis_per_node": ("analyze", "P0"),
        "all_needed": ("logic", "P1"),
        "vanilla": ("vanilla", "P1"),
        "logic": ("logic", "P1"),
        "noisy_or": ("noisy-or", "P1"),
        "thought_propose": ("thoughts", "P1"),
        "thought_query": ("query", "P1"),
        "thought_propose_after_a_search": ("thoughts", "P1"),
        "thought_value": ("value", "P1"),
        "thought_merge": ("thoughts", "P1"),
        "thought_conclude": ("conclude", "P1"),
        "zero_shot_brief": ("outcomes", "P1"),
        "zero_shot_choice": ("outcomes", "P1"),
        "zero_shot_percentiles": ("percentiles", "P1"),
        "zero_shot_recall": ("conclude", "P1"),
        "zero_shot_variant": ("conclude", "P1"),
        "zero_shot_opposite": ("conclude", "P1"),
        "zero_shot_halawi": ("conclude", "P1"),
        "synthesizer_looks_up": ("vanilla", "P1"),
        "zero_shot_vote": ("vote", "P1"),
        "zero_shot_aggregate": ("conclude", "P1"),
    }
    asked = understand({"messages": list(last_turns(path))})
    assert (asked.stage, asked.node) == expected[path.stem]
