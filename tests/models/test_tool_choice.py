"""What may be called of the tools, as each family of providers is told it, and what is done where one refuses to be told so."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.fakes.loopback import serving_json
from tests.fakes.provider_shapes import FAMILIES, KEY, TOOL, request
from workbench.models.base import ModelReply, ModelRequest, ToolSpec
from workbench.models.errors import ModelRefused
from workbench.models.model_options import RetrySettings
from workbench.models.providers.litellm_client import LiteLLMModel

SUBMIT = ToolSpec(name="submit", description="d", parameters={"type": "object", "properties": {}})
BY_NAME = {"type": "function", "function": {"name": "submit"}}
#: What goes over the wire for a tool by its name, for "none", and how many tools are on offer beside the name.
ON_THE_WIRE: dict[str, tuple[Any, Any, int]] = {
    "openai-chat": (BY_NAME, "none", 2),
    "openai-responses": ({"type": "function", "name": "submit"}, "none", 2),
    "anthropic": ({"type": "tool", "name": "submit"}, None, 2),
    "gemini": ({"functionCallingConfig": {"mode": "ANY", "allowed_function_names": ["submit"]}}, {"functionCallingConfig": {"mode": "NONE"}}, 2),
    "deepseek": (BY_NAME, "none", 2),
    "mistral": ("any", "none", 1),  # LiteLLM drops a name here, so that the tool goes alone
    "ollama": (None, None, 1),  # it takes no choice at all
    "vllm": (BY_NAME, "none", 2),
    "llama.cpp": (BY_NAME, "none", 2),
}  # fmt: skip


class Provider:
    """Answers as one family does, and refuses a choice in the words that ``refuses`` finds for it; keeps what it took."""

    def __init__(self, name: str, refuses: Callable[[Any], Any] = lambda choice: None) -> None:
        self.family, self.refuses = FAMILIES[name], refuses
        self.taken: list[dict[str, Any]] = []
        self.refused: list[Any] = []

    def answer(self, path: str, body: dict[str, Any], headers: Any) -> tuple[int, Any, dict[str, str]]:
        if error := self.refuses(choice_of(body)):
            self.refused.append(choice_of(body))
            return (
                400,
                error
                if isinstance(error, dict)
                else {"error": {"message": error, "type": "invalid_request_error"}},
                {},
            )
        self.taken.append(body)
        return 200, self.family.text, {}

    async def ask(self, *asked: ModelRequest) -> list[ModelReply]:
        with serving_json(self.answer) as url:
            model = LiteLLMModel(
                self.family.model, api_base=url + self.family.base, api_key=KEY, retries=RetrySettings(attempts=1, timeout=20)
            )  # fmt: skip
            return [await model.complete(each) for each in asked]


def choice_of(body: dict[str, Any]) -> Any:
    return body.get("tool_choice", body.get("toolConfig"))


def asked(choice: str = "submit") -> ModelRequest:
    return replace(request(choice=choice), tools=(TOOL, SUBMIT))


@pytest.mark.parametrize("name", FAMILIES)
async def test_a_tool_that_must_be_called_is_named_as_each_family_documents_it(name: str) -> None:
    provider = Provider(name)
    await provider.ask(asked(), asked("none"), asked("auto"))
    named, closed, free = provider.taken
    by_name, none, tools = ON_THE_WIRE[name]
    assert (choice_of(named), choice_of(closed), choice_of(free)) == (by_name, none, None)
    assert (json.dumps(named["tools"]).count('"name"'), "submit" in json.dumps(named["tools"])) == (
        tools,
        True,
    )
    assert json.dumps(closed["tools"]) == json.dumps(free["tools"])


REFUSALS = {
    "deepseek": "deepseek-reasoner does not support this tool_choice",
    "anthropic": "Thinking may not be enabled when tool_choice forces tool use.",
    "gemini": "Function calling config is set without function_declarations: tool_config is not supported",
    # OpenAI names the field beside its words, which leave it out
    "openai-chat": {"error": {"message": "Invalid value: 'x'. Supported values are: 'auto'.", "type": "invalid_request_error", "param": "tool_choice"}},
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
async def test_a_name_that_is_refused_becomes_required_with_that_tool_alone_and_then_the_prompt_alone(
    name: str,
) -> None:
    def is_named(choice: Any) -> Any:
        return REFUSALS[name] if choice and "submit" in json.dumps(choice) else None

    provider = Provider(name, is_named)
    replies = await provider.ask(asked(), asked(), asked("auto"))
    assert len(provider.refused) == 1, "the lesson is learned once for all requests of the client"
    for body in provider.taken[:2]:
        assert choice_of(body) and "submit" not in json.dumps(choice_of(body))
        assert json.dumps(body["tools"]).count('"name"') == 1
    assert json.dumps(provider.taken[2]["tools"]).count('"name"') == 2
    assert all("tool_choice by name left out" in " ".join(reply.notes) for reply in replies)
    assert not any("answered at attempt" in note for reply in replies for note in reply.notes)

    provider = Provider(name, lambda choice: REFUSALS[name] if choice else None)
    await provider.ask(asked(), asked())
    assert len(provider.refused) == 2 and len(provider.taken) == 2
    assert [choice_of(body) for body in provider.taken] == [None, None]
    assert all(json.dumps(body["tools"]).count('"name"') == 2 for body in provider.taken)


async def test_none_that_is_refused_is_left_out_from_then_on_and_the_tools_stay() -> None:
    def no_none(choice: Any) -> Any:
        return (
            "tool_choice 'none' is not supported" if choice == "none" and len(provider.refused) < 3 else None
        )

    provider = Provider("openai-chat", no_none)
    await provider.ask(asked("none"), asked("none"), asked())
    assert provider.refused == ["none"]
    assert [choice_of(body) for body in provider.taken] == [None, None, BY_NAME]
    assert all(json.dumps(body["tools"]).count('"name"') == 2 for body in provider.taken)


@pytest.mark.parametrize(
    "words",
    [
        "messages.1: `tool_use` ids must be unique",
        "Invalid schema for function 'submit': schema must be of type 'object'",
        # pydantic hands back what it was sent, choice and all
        "[{'type': 'missing', 'loc': ('body', 'model'), 'msg': 'Field required', 'input': {'tool_choice': 'x', 'tools': []}}]",
        "1 validation error for Request invalid value [type=missing, input_value={'tool_choice': 'x'}, input_type=dict]",
    ],
)
async def test_another_400_teaches_nothing_of_the_choice(words: str) -> None:
    provider = Provider("llama.cpp", lambda choice: words)
    with pytest.raises(ModelRefused):
        await provider.ask(asked())
    assert len(provider.refused) == 1
