"""The fake OpenAI server against the real agents: every stage is recognised and answered in the fixed formats."""

import asyncio
import json
import re
from typing import Any

import httpx
import pytest

from tests.agents.scripted import CUTOFF, Call, check_request, fake_session, no_rounds
from tests.fakes.leaf import make_leaf_task
from tests.fakes.model_policy import Policy
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.provider_rules import body_of
from tests.fakes.sandbox import FakeSession, printed, raised
from workbench.agents.base import Grounding, GroundingFailure
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
