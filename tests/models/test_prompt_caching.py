"""What is sent so that a provider can serve the beginning of a dialogue from its cache, and what that saves."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from benchmarks.tokens import BEFORE, PRICES, measure
from workbench.models.base import Message, ModelRequest, ReplySchema, ToolSpec
from workbench.models.providers.abilities import NONE, Abilities
from workbench.models.providers.litellm_client import LiteLLMModel
from workbench.models.providers.litellm_messages import mark_for_cache, wire_messages

TOOL = ToolSpec(name="retrieve_api_doc", description="docs", parameters={"type": "object", "properties": {}})
SCHEMA = ReplySchema(name="conclusion", schema={"type": "object"}, note="As one JSON object.")
TURNS = (
    Message(role="system", content="You are an analyst."),
    Message(role="user", content="Ground P1."),
    Message(role="assistant", content="cells"),
    Message(role="user", content="Outputs.", images=(b"png",)),
)


def request(*, tools: Sequence[ToolSpec] = (TOOL,), **more: Any) -> ModelRequest:
    return ModelRequest(messages=TURNS, stage="step", cutoff="2018-06-30", tools=tuple(tools), **more)


def sent(name: str, asked: ModelRequest, **options: Any) -> dict[str, Any]:
    """What the client hands to LiteLLM."""
    arguments, _ = LiteLLMModel(name, api_key="k", **options).arguments(asked)
    return arguments


def marked(messages: Sequence[dict[str, Any]]) -> list[int]:
    """Places of the messages with a cache mark."""
    return [place for place, message in enumerate(messages) if "cache_control" in str(message)]


@pytest.mark.parametrize("family", ["anthropic", "openai"])
def test_a_leaf_of_twelve_steps_is_served_from_the_cache(family: str) -> None:
    tally = measure(family)
    _, _, dollars = BEFORE[family]
    assert tally.share >= 0.85
    # OpenAI caches by itself, so there the same must come out, but for the bars before all that a cell printed (7 %)
    least = {"anthropic": 3.0, "openai": 0.92}[family]
    assert dollars / tally.dollars(PRICES[family]) >= least


def test_anthropic_gets_marks_on_the_system_message_and_the_last_two_turns() -> None:
    body = sent("anthropic/claude-sonnet-4-5", request())
    assert marked(body["messages"]) == [0, 1, 3]
    assert body["messages"][3]["content"][-1]["cache_control"] == {"type": "ephemeral"}
    assert "prompt_cache_key" not in body
    # nothing comes after a conclusion that could read what its end would write
    assert marked(sent("anthropic/claude-sonnet-4-5", request(choice="none"))["messages"]) == [0, 1]
    # a synthesis is one request: a mark would only cost
    assert marked(sent("anthropic/claude-sonnet-4-5", request(choice="none", tools=()))["messages"]) == []


NEWS = "What was gathered: " + "officials met again. " * 400


def sample(own: str) -> ModelRequest:
    """One of a question's samples: all but its ``own`` words are those of every sample."""
    turns = (Message(role="system", content="Rules."), Message(role="user", content=f"{NEWS}{own}"))
    return ModelRequest(messages=turns, stage="answer-1", cutoff="now", choice="none", own=own)


@pytest.mark.parametrize("own", ["", "\n\nFor this forecast argue No first."])
@pytest.mark.parametrize(
    "name", ["anthropic/claude-sonnet-4-5", "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0"]
)
def test_samples_of_a_question_share_every_byte_up_to_the_mark(name: str, own: str) -> None:
    def parts(request: ModelRequest) -> list[Any]:
        system, user = sent(name, request)["messages"]
        return [system, *user["content"]]

    plain, other = parts(sample("")), parts(sample(own))
    marked_at = [place for place, part in enumerate(other) if "cache_control" in part]
    assert marked_at == [1] and other[1]["text"] == NEWS
    assert plain[:2] == other[:2] and "".join(part["text"] for part in other[1:]) == NEWS + own
    # what is stored, and found again on resume, is the same with a mark and without
    assert sample(own).canonical_hash(name) == replace(sample(own), own=None).canonical_hash(name)


def test_samples_of_a_question_have_one_cache_key() -> None:
    keys = {sent("openai/gpt-5", sample(own))["prompt_cache_key"] for own in ("", " Argue No first.")}
    assert len(keys) == 1
    assert "prompt_cache_key" not in sent("openai/gpt-5", replace(sample(""), own=None))


def test_an_answer_of_a_tool_is_marked_where_litellm_looks() -> None:
    messages = [{"role": "system", "content": "s"}, {"role": "tool", "content": "docs", "tool_call_id": "1"}]
    mark_for_cache(messages, ends=False)
    assert messages[1]["cache_control"] == {"type": "ephemeral"} and messages[1]["content"] == "docs"


def test_a_choice_of_tools_changes_nothing_that_a_cache_begins_with() -> None:
    assert "tool_choice" not in sent("openai/gpt-5", request())
    closed = sent("openai/gpt-5", request(choice="none"))
    named = sent("openai/gpt-5", request(choice=TOOL.name))
    assert closed["tool_choice"] == "none"
    assert named["tool_choice"] == {"type": "function", "function": {"name": TOOL.name}}
    assert closed["tools"] == named["tools"] == sent("openai/gpt-5", request())["tools"]


def test_anthropic_is_given_a_choice_only_where_it_has_nothing_cached_or_a_reply_was_unusable() -> None:
    claude = "anthropic/claude-sonnet-4-5"
    # it reads all messages anew when the choice changes
    assert "tool_choice" not in sent(claude, request(choice=TOOL.name, spare_cache=True))
    assert sent(claude, request(choice=TOOL.name))["tool_choice"]["function"]["name"] == TOOL.name
    assert "tool_choice" not in sent(claude, request(choice="none"))
    assert sent(claude, request(choice="none"))["tools"]
    # elsewhere a choice costs no cache, and is given at once
    assert "tool_choice" in sent("openai/gpt-5", request(choice=TOOL.name, spare_cache=True))


def test_a_dialogue_has_one_cache_key_where_the_provider_takes_one() -> None:
    first = sent("openai/gpt-5", request())["prompt_cache_key"]
    assert first == sent("openai/gpt-5", request(choice="none"))["prompt_cache_key"] and len(first) == 32
    # a server of one's own may refuse a field that it does not know
    assert "prompt_cache_key" not in sent("deepseek/deepseek-chat", request())


def test_a_schema_that_comes_late_is_left_for_the_second_ask_where_it_would_cost_the_cache() -> None:
    late = request(choice="none", reply_schema=SCHEMA, spare_cache=True)
    again = request(choice="none", reply_schema=SCHEMA)
    caching = Abilities(schema=True, caches=True)
    assert not caching.asks_schema(late) and caching.asks_schema(again)
    assert SCHEMA.note not in str(wire_messages(late, caching))
    assert SCHEMA.note in str(wire_messages(again, caching))
    assert Abilities(schema=True, caches=False).asks_schema(late)
    assert "response_format" not in sent("openai/gpt-5", late)
    assert "response_format" in sent("openai/gpt-5", again)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ("cache_control: Extra inputs are not permitted", "cache_control"),
        ("Unknown parameter: 'prompt_cache_key'", "prompt_cache_key"),
        ("tool_choice 'none' is not supported", NONE),
    ],
)
def test_what_a_server_refuses_is_left_out_from_then_on(words: str, part: str) -> None:
    abilities = Abilities()
    assert abilities.learn(words, {"tools", part}) == part
    assert abilities.calls_tools
    model = LiteLLMModel("anthropic/claude-sonnet-4-5", api_key="k")
    model.abilities.refused.add("cache_control")
    assert marked(model.arguments(request())[0]["messages"]) == []
