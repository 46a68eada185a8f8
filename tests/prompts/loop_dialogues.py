"""The dialogues of the agent loop for the approved texts: each prompt of the loop stands in one of them."""

from typing import Any

from tests.agents.test_synthesizers import CHILDREN, NODE
from tests.fakes.loop_leaf import AskedModel, MemoryWeb, leaf
from tests.fakes.loop_run import ScriptedModel, believing, block, calls, says
from workbench.agents.grounders.belief import BeliefGrounder
from workbench.agents.grounders.deep_research import DeepResearchGrounder
from workbench.agents.grounders.search_grounder import SearchGrounder
from workbench.agents.synthesizers.model_synthesizers import VanillaSynthesizer
from workbench.agents.synthesizers.synthesis_look_up import LookUpSettings, look_up
from workbench.models.base import ModelRequest

ANSWER = 'It waits.\n\n```json\n{"p_true": 0.6, "key_factor": "k"}\n```'
LOOK = ("search", {"words": "committee June"})


async def belief_loop() -> list[ModelRequest]:
    """A belief that grows too long and is merged; an unusable move in between."""
    long = [{"text": f"fact {n} of the minutes, in some detail", "sources": ["S1.1"]} for n in range(8)]
    script = {
        "act": [
            calls(("search", {"words": "committee June", **believing(0.5)})),
            says("I believe it is likely."),
            calls(("search", {"words": "minutes", **believing(0.6, evidence_for=long)})),
            calls(("submit", {"probability": 0.6, "reasoning": "r", "key_factor": "k", **believing(0.6)})),
        ],
        "compact": [block({"evidence_for": [{"text": "eight facts", "sources": ["S1.1"]}]})],
    }
    options = {
        "compact_over": 200,
        "tools": ["search", "open_page", "call_api", "forecast_series"],
        "prior": 0.4,
    }
    return await _asked(script, BeliefGrounder(options=options, open_web=lambda task: MemoryWeb()))


async def merged_belief() -> list[ModelRequest]:
    """The reader's request in the dialogue above."""
    return [request for request in await belief_loop() if request.stage == "compact"]


async def paper_belief() -> list[ModelRequest]:
    """A belief that begins at one half, as in paper B's arms of a study."""
    answer = {"probability": 0.6, "reasoning": "r", "key_factor": "k", **believing(0.6)}
    options = {"start": "even", "errors": None, "tools": ["search"]}
    script = {"act": [calls(("search", {"words": "minutes", **believing(0.5)})), calls(("submit", answer))]}
    return await _asked(script, BeliefGrounder(options=options, open_web=lambda task: MemoryWeb()))


async def search_to_the_limit() -> list[ModelRequest]:
    """A search that is asked for its answer at the limit of its steps."""
    answer = {"probability": 0.6, "reasoning": "r [S1.1]", "key_factor": "k"}
    script = {"act": [calls(LOOK), calls(("submit", answer))]}
    return await _asked(script, SearchGrounder(options={"steps": 1}, open_web=lambda task: MemoryWeb()))


def _research() -> dict[str, Any]:
    notes = {"notes": [{"text": "It waits.", "sources": ["Q1S1.1"]}]}
    return {
        "lead": [
            block({"plan": "One thing decides it.", "questions": ["What does the committee say?"]}),
            block({"plan": "Nothing is missing.", "questions": []}),
            says('It waits.\n\n```json\n{"p_true": 0.6, "key_factor": "k"}\n```'),
        ],
        "sub1": [calls(LOOK), calls(("hand_in", notes))],
    }


async def research_lead() -> list[ModelRequest]:
    """Plan, gaps and report."""
    grounder = DeepResearchGrounder(open_web=lambda task: MemoryWeb())
    return [request for request in await _asked(_research(), grounder) if request.stage != "sub1"]


async def research_part() -> list[ModelRequest]:
    """One sub-question."""
    grounder = DeepResearchGrounder(open_web=lambda task: MemoryWeb())
    return [request for request in await _asked(_research(), grounder) if request.stage == "sub1"]


async def synthesizer_looks_up() -> list[ModelRequest]:
    """What a synthesizer looks up, and how it is shown that when it weighs."""
    notes = {"notes": [{"text": "It waits.", "sources": ["S1.1"]}]}
    ask = AskedModel(
        ScriptedModel({"lookup": [calls(LOOK), calls(("hand_in", notes))], "vanilla": [says(ANSWER)]})
    )
    task = leaf(ask)
    own = LookUpSettings(tools=("search",))
    looked_up = await look_up(own, task, NODE, CHILDREN, open_web=lambda task: MemoryWeb())
    synthesizer = VanillaSynthesizer()
    await synthesizer.synthesize(NODE, CHILDREN, cutoff=task.cutoff, ask=ask, looked_up=looked_up)
    return ask.requests


async def synthesizer_searches() -> list[ModelRequest]:
    """The look-up alone."""
    return [request for request in await synthesizer_looks_up() if request.stage == "lookup"]


async def _asked(script: Any, grounder: Any) -> list[ModelRequest]:
    ask = AskedModel(ScriptedModel(script))
    await grounder.ground(leaf(ask))
    return ask.requests
