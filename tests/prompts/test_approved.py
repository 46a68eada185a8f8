"""Rendered requests of every stage, compared with approved text: a change of wording shows in review.

After a wanted change raise the ``version`` of the prompt file and run once with APPROVE_PROMPTS=1; then read the diff.
"""

import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agents.scripted import CUTOFF, ScriptedAsker, fake_session, leaf_task, no_rounds
from tests.agents.test_synthesizers import CHILDREN, NODE
from tests.fakes.openai_server import PLAN, analysis_block, cells, conclusion
from tests.fakes.sandbox import printed, raised
from workbench.agents.analyzers.rounds import RoundsAnalyzer
from workbench.agents.base import AgentSettings
from workbench.agents.grounders.notebook import NotebookGrounder
from workbench.agents.synthesizers import asking as synthesizers
from workbench.models.base import ModelRequest
from workbench.models.errors import ModelUnavailable
from workbench.prompts import fingerprints, load, names
from workbench.propositions import Tree

APPROVED = Path(__file__).parent / "approved"
APPROVE = bool(os.environ.get("APPROVE_PROMPTS"))


def shown(request: ModelRequest) -> str:
    """A request as one text, its messages headed by their roles."""
    parts = []
    for turn in request.messages:
        pictures = f", {len(turn.images)} pictures" if turn.images else ""
        calls = "".join(f"\n[calls {call.name} {json.dumps(call.arguments)}]" for call in turn.tool_calls)
        parts.append(f"===== {turn.role}{pictures} =====\n{turn.content}{calls}\n")
    return "\n".join(parts)


async def analysis() -> ScriptedAsker:
    ask = ScriptedAsker(
        "Perhaps.", analysis_block({"P0": PLAN["P0"]}) + "\n<END_OF_ANALYSIS>", "<END_OF_ANALYSIS>"
    )
    tree = Tree.root_only("The S&P 500 closes higher on 2018-12-31 than on 2018-06-29")
    await RoundsAnalyzer().analyze(tree, cutoff=CUTOFF, ask=ask, on_round=no_rounds()[1])
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


async def long_proof() -> ScriptedAsker:
    ask = ScriptedAsker(cells(("python", "closes[-1]")), conclusion(0.6, "P1.2"))
    await NotebookGrounder().ground(leaf_task(ask, fake_session(printed("2718.37")), max_proof_steps=1))
    return ask


def synthesis(agent: type[synthesizers.RuleSynthesizer]) -> Callable[[], Awaitable[ScriptedAsker]]:
    async def run() -> ScriptedAsker:
        ask = ScriptedAsker(ModelUnavailable("only the request is wanted"))
        with pytest.raises(ModelUnavailable):
            await agent(AgentSettings()).synthesize(NODE, CHILDREN, cutoff=CUTOFF, ask=ask)
        return ask

    return run


# the last request of a dialogue shows every message before it
DIALOGUES: dict[str, Callable[[], Awaitable[ScriptedAsker]]] = {
    "analysis": analysis,
    "proof": proof,
    "proof_at_the_step_limit": long_proof,
    "linear": synthesis(synthesizers.LinearSynthesizer),
    "vanilla": synthesis(synthesizers.VanillaSynthesizer),
    "logic": synthesis(synthesizers.LogicSynthesizer),
    "noisy_or": synthesis(synthesizers.NoisyOrSynthesizer),
}


@pytest.mark.parametrize("name", DIALOGUES)
async def test_dialogue_reads_as_approved(name: str) -> None:
    text = shown((await DIALOGUES[name]()).calls[-1].request)
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
    now: dict[str, Any] = fingerprints()
    before = json.loads(stored.read_text(encoding="utf-8")) if stored.is_file() else {}
    for name in set(now) & set(before):
        if now[name]["sha256"] != before[name]["sha256"]:
            assert now[name]["version"] > before[name]["version"], f"{name} changed: raise its version"
    if APPROVE:
        stored.write_text(json.dumps(now, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    assert json.loads(stored.read_text(encoding="utf-8")) == now, "run with APPROVE_PROMPTS=1"
