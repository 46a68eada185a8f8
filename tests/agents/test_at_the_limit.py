"""Every grounder to its end at its limit, over HTTP, with a model that is held to the request as a provider holds it.

The model looks things up as long as it may call what it likes, so that only the turn that must end a loop ends it.
"""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from tests.agents.grounded_runs import Ran, differences
from tests.agents.grounder_cases import CASES
from tests.fakes.asking_run import NoSandbox
from tests.fakes.loop_run import LEAF, BrokerWeb, ExaOnLoopback, open_run, work
from tests.fakes.model_policy import Asked, Policy
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.persona_run import proofs_count_as_verified
from tests.fakes.pretend_sandbox import PretendSandbox
from workbench.agents.grounders.belief import BeliefGrounder
from workbench.engine.record.fold import load_state
from workbench.errors import ProviderError
from workbench.models.providers import litellm_client
from workbench.models.providers.litellm_client import LiteLLMModel
from workbench.store import Store


def arm(**options: Any) -> Callable[[], BeliefGrounder]:
    return lambda: BeliefGrounder(options=options, open_web=BrokerWeb)


#: Arms of the belief grounder beside the registered grounders: how each is made, and whether it names a tool at its end.
ARMS = {
    "belief, zero-shot": arm(mode="zero-shot"),
    "belief, batch": arm(mode="batch"),
    "no belief, batch": arm(mode="batch", belief=False),
}
MAKERS = {**{name: case.make for name, case in CASES.items()}, **ARMS}
#: The end of a loop that its model does not end, and of a notebook; the others end by themselves or ask no model.
ENDS: dict[str, Any] = {
    **dict.fromkeys(("search", "auto", *ARMS), "submit"), "deep_research": "hand_in", "notebook": "none",
}  # fmt: skip
BY_NAME = {end: {"type": "function", "function": {"name": end}} for end in ("submit", "hand_in")}


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(Policy(restless=True, steps=99, p={LEAF: 0.62})) as running:
        yield running


async def at_its_limit(home: Path, name: str, server: OpenAIServer) -> Ran:
    case = CASES.get(name)
    cells = case is not None and case.cells
    model = LiteLLMModel("openai/x", api_base=server.url)
    with ExaOnLoopback() as web:
        store = Store(home, durable=False)
        run_id = open_run(store)
        with contextlib.ExitStack() as around:
            around.enter_context(contextlib.suppress(ProviderError))
            if cells:
                around.enter_context(proofs_count_as_verified())
            box = PretendSandbox() if cells else NoSandbox()
            statement = case.statement if case else ""
            await work(store, run_id, model, MAKERS[name](), web, sandbox=box, statement=statement)  # type: ignore[arg-type]
    return Ran(store, load_state(store, run_id), model, web)  # type: ignore[arg-type]


def choices(server: OpenAIServer) -> list[Any]:
    return [asked.body["tool_choice"] for asked in server.asked if "tool_choice" in asked.body]


@pytest.mark.parametrize("name", MAKERS)
async def test_a_grounder_comes_to_its_end_with_a_provider_that_holds_to_the_request(
    name: str, tmp_path: Path, server: OpenAIServer
) -> None:
    ran = await at_its_limit(tmp_path, name, server)
    assert 0 < ran.p < 1 and not server.refused and not server.unread
    end = ENDS.get(name)
    # once for each loop, and never a further ask: the model is held to it
    assert set(map(str, choices(server))) == ({str(BY_NAME.get(end, end))} if end else set())
    assert not any(asked.again for asked in server.asked)
    if name != "notebook":
        assert await differences(ran) == []
    ran.store.close()


@pytest.mark.parametrize("name", ["search", "belief, zero-shot", "no belief, batch"])
async def test_a_choice_of_none_would_leave_a_loop_without_an_end(
    name: str, tmp_path: Path, server: OpenAIServer
) -> None:
    def old(request: Any, abilities: Any) -> Any:
        return list(request.tools), None if request.choice == "auto" else "none"

    with patch.object(litellm_client, "wire_choice", old):
        ran = await at_its_limit(tmp_path, name, server)
    trial = ran.state.trial(LEAF, 1)
    assert trial.belief is None and "it calls no tool" in str(trial.failure)
    ran.store.close()


async def test_a_last_turn_without_a_usable_reply_submits_the_last_belief(
    tmp_path: Path, server: OpenAIServer
) -> None:
    """BLF, Algorithm 1: what was believed after the last step, without another call."""
    server.policy = Broken(p={LEAF: 0.62})
    ran = await at_its_limit(tmp_path, "belief, batch", server)
    assert ran.p == 0.62 and "so the last belief was taken" in ran.report
    submission = ran.trace.submission
    assert submission is not None and "no JSON object" in submission.forced
    assert len(server.asked) == 1 + 3  # the look-ups; the answer and its two further asks
    assert await differences(ran) == []
    ran.store.close()


async def test_a_belief_does_not_stand_in_where_the_loop_could_have_gone_on(
    tmp_path: Path, server: OpenAIServer
) -> None:
    """A model that falls silent before its limit has failed; what it believed so far is no answer."""
    server.policy = Silent(restless=True, p={LEAF: 0.62})
    ran = await at_its_limit(tmp_path, "belief", server)
    trial = ran.state.trial(LEAF, 1)
    assert trial.belief is None and "calls no tool" in str(trial.failure)
    assert choices(server) == []  # the turn that must end was not reached
    ran.store.close()


class Silent(Policy):
    """It looks something up once, and says nothing usable from then on."""

    def answer(self, asked: Asked) -> dict[str, Any]:
        looked = any(message["role"] == "tool" for message in asked.body["messages"])
        return {"role": "assistant", "content": "Well."} if looked else super().answer(asked)


class Broken(Policy):
    """Its calls of ``submit`` have arguments that are no JSON."""

    def answer(self, asked: Asked) -> dict[str, Any]:
        message = super().answer(asked)
        for call in message.get("tool_calls") or ():
            if call["function"]["name"] == "submit":
                call["function"]["arguments"] = '{"probability": 0.'
        return message


async def test_a_provider_without_a_choice_of_tools_is_asked_by_the_prompt_alone(
    tmp_path: Path, server: OpenAIServer
) -> None:
    """Its refusals cost no further ask and no reply twice."""
    server.policy = replace(server.policy, restless=False)
    server.rule = lambda body: "tool_choice is not supported" if "tool_choice" in body else None
    ran = await at_its_limit(tmp_path, "belief, batch", server)
    assert ran.p == 0.62 and len(server.asked) == 2 and len(server.refused) == 2
    assert ran.trace.submission is not None and not ran.trace.submission.forced
    ran.store.close()
