"""An account that is refused, over each family's own wire: its status and body go through LiteLLM and come out as one stop of the run.

The provider's sentence is shown, nothing is asked a second time, and the next model of the chain answers where one is named.
"""

from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.fakes.loopback import Recorded, serving_json
from tests.fakes.provider_shapes import FAMILIES, KEY, chat, request
from workbench.models.errors import AccountRefused, ModelRefused
from workbench.models.model_options import RetrySettings
from workbench.models.providers.litellm_client import LiteLLMModel
from workbench.models.roles import ModelTeam

#: LiteLLM's types of Cohere warn once when they are imported.
pytestmark = pytest.mark.filterwarnings("ignore:Items .* on TypedDict class")

#: What is wrong with the account: the status that most send, the provider's sentence.
FAULTS = {
    "a revoked key": (401, "The key was revoked by its owner"),
    "an empty purse": (402, "Insufficient credits, add more in the console"),
    "no right": (403, "This key may not use the resource"),
    "no such model": (404, "The model of that name does not exist"),
    "a used quota": (429, "You exceeded your current quota, check your plan and billing details: insufficient_quota"),
}  # fmt: skip
ANTHROPIC_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}
GOOGLE_STATUSES = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 402: "FAILED_PRECONDITION", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED"}  # fmt: skip


def openai_body(status: int, words: str) -> dict[str, Any]:
    code = {401: "invalid_api_key", 404: "model_not_found", 429: "insufficient_quota"}.get(status)
    return {"error": {"message": words, "type": "invalid_request_error", "param": None, "code": code}}


def anthropic_body(status: int, words: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": ANTHROPIC_TYPES[status], "message": words}, "request_id": "req_1"}  # fmt: skip


def gemini_body(status: int, words: str) -> dict[str, Any]:
    return {"error": {"code": status, "message": words, "status": GOOGLE_STATUSES[status]}}


def plain_body(status: int, words: str) -> dict[str, Any]:
    return {"message": words}


def ollama_body(status: int, words: str) -> dict[str, Any]:
    return {"error": words}


@dataclass(frozen=True)
class Wire:
    """How one family is asked, and in what body it says an error."""

    model: str
    base: str
    body: Any
    more: dict[str, Any] = field(default_factory=dict)


BODIES = {"anthropic": anthropic_body, "gemini": gemini_body, "mistral": plain_body, "ollama": ollama_body}
WIRES = {
    **{name: Wire(each.model, each.base, BODIES.get(name, openai_body)) for name, each in FAMILIES.items()},
    "cohere": Wire("cohere_chat/command-r", "/v2/chat", plain_body),
    "groq": Wire("groq/llama-3.3-70b-versatile", "/v1", openai_body),
    "xai": Wire("xai/grok-3", "/v1", lambda status, words: {"code": "refused", "error": words}),
    "openrouter": Wire("openrouter/a/b", "/v1", lambda status, words: {"error": {"code": status, "message": words}}),
    "together": Wire("together_ai/a/b", "/v1", openai_body),
}  # fmt: skip


def model(wire: Wire, recorded: Recorded) -> LiteLLMModel:
    retries = RetrySettings(attempts=3, timeout=20, first_wait=0.01, longest_wait=0.02)
    return LiteLLMModel(wire.model, api_base=recorded.url + wire.base, api_key=KEY, retries=retries)


#: Every fault over the wires that differ most, and each other wire with one of them.
ALL_FAULTS = ("openai-chat", "anthropic", "gemini")


@pytest.mark.parametrize(
    ("name", "fault"),
    [(name, fault) for name in WIRES for fault in FAULTS if name in ALL_FAULTS or fault == "an empty purse"],
)
async def test_the_run_stops_once_with_the_providers_sentence(
    name: str, fault: str, recorded: Recorded
) -> None:
    status, words = FAULTS[fault]
    recorded.answers = [(status, WIRES[name].body(status, words), {})] * 3
    with pytest.raises(AccountRefused) as refused:
        await model(WIRES[name], recorded).complete(request())
    assert words in str(refused.value) and KEY not in str(refused.value)
    assert len(recorded.requests) == 1, "asking again buys nothing"


@pytest.mark.parametrize("name", WIRES)
async def test_a_bad_request_is_no_state_of_the_account(name: str, recorded: Recorded) -> None:
    recorded.answers = [(400, WIRES[name].body(400, "temperature: must be below 2"), {})] * 3
    with pytest.raises(ModelRefused) as refused:
        await model(WIRES[name], recorded).complete(request())
    assert not isinstance(refused.value, AccountRefused)


async def test_the_next_model_of_the_chain_answers(recorded: Recorded) -> None:
    name = "anthropic"
    status, words = FAULTS["an empty purse"]
    recorded.answers = [(status, WIRES[name].body(status, words), {})] * 3
    with serving_json(lambda path, body, headers: (200, chat("from the other"), {})) as other:
        second = LiteLLMModel("hosted_vllm/other", api_base=f"{other}/v1", api_key=KEY)
        reply = await ModelTeam(model(WIRES[name], recorded), fallback=[second]).complete(request())
    assert reply.text == "from the other"
    assert words in " ".join(reply.notes), "the note says why the first did not answer"
