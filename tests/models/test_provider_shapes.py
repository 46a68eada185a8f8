"""Each family of providers as it documents itself: the request on the wire through LiteLLM, the reply read right."""

import json
from typing import Any

import pytest

from tests.fakes.loopback import Recorded
from tests.fakes.provider_shapes import FAMILIES, KEY, SCHEMA, TURNS, Family, anthropic, chat, gemini, request
from workbench.models.base import Message, ModelRequest
from workbench.models.model_options import RetrySettings
from workbench.models.providers.litellm_client import LiteLLMModel


def client(family: Family, recorded: Recorded, **options: Any) -> LiteLLMModel:
    retries = RetrySettings(attempts=1, timeout=20)
    return LiteLLMModel(
        family.model, api_base=recorded.url + family.base, api_key=KEY, retries=retries, **options
    )


@pytest.mark.parametrize("name", FAMILIES)
async def test_a_dialogue_goes_out_as_documented_and_a_text_comes_back(name: str, recorded: Recorded) -> None:
    family = FAMILIES[name]
    recorded.answers = [family.text]
    reply = await client(family, recorded).complete(request())
    ((path, body, headers),) = recorded.requests
    assert path == family.path
    wire = json.dumps(body)
    assert "iVBO" in wire or name == "deepseek", "the picture went along"
    for part in ("the system", "look_up", "the answer", "go on", "99"):
        assert part in wire, part
    assert KEY in headers.get("authorization", "") + headers.get("x-api-key", "") + headers.get(
        "x-goog-api-key", ""
    )
    assert KEY not in wire
    assert (reply.text, reply.finish, reply.tool_calls) == ("hi", "complete", ())
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (1000, 5)
    assert reply.usage.cached_tokens == family.cached


@pytest.mark.parametrize("name", FAMILIES)
async def test_a_tool_call_comes_back_as_one(name: str, recorded: Recorded) -> None:
    family = FAMILIES[name]
    recorded.answers = [family.call]
    reply = await client(family, recorded).complete(request())
    (call,) = reply.tool_calls
    assert (call.name, call.arguments, reply.finish) == ("look_up", {"q": "y"}, "complete")


@pytest.mark.parametrize("name", FAMILIES)
async def test_a_reply_that_was_cut_off_says_so(name: str, recorded: Recorded) -> None:
    family = FAMILIES[name]
    recorded.answers = [family.cut]
    assert (await client(family, recorded).complete(request())).finish == "truncated"


@pytest.mark.parametrize(
    ("name", "answer", "finish"),
    [
        ("anthropic", anthropic(stop="refusal"), "filtered"),
        ("gemini", gemini(finish="SAFETY"), "filtered"),
        ("openai-chat", chat(None, refusal="I can't."), "refused"),
        ("openai-chat", chat(None, "content_filter"), "filtered"),
        ("vllm", chat(""), "empty"),
    ],
)
async def test_a_reply_that_was_declined_or_empty_says_so(
    name: str, answer: dict[str, Any], finish: str, recorded: Recorded
) -> None:
    recorded.answers = [answer]
    assert (await client(FAMILIES[name], recorded).complete(request())).finish == finish


@pytest.mark.parametrize("name", [name for name in FAMILIES if name != "ollama"])
async def test_a_schema_is_asked_for_where_it_is_wanted_and_nowhere_else(
    name: str, recorded: Recorded
) -> None:
    family = FAMILIES[name]
    recorded.answers = [family.text, family.text]
    turns = (TURNS[0], Message(role="user", content="conclude"))
    ask = ModelRequest(messages=turns, stage="conclude", cutoff="2018-06-30", reply_schema=SCHEMA)
    await client(family, recorded, reply_form="schema").complete(ask)
    await client(family, recorded, reply_form="text").complete(ask)
    with_schema, without = (json.dumps(body) for _, body, _ in recorded.requests)
    assert "p_true" in with_schema and "As one JSON object." in with_schema
    assert "p_true" not in without and "As one JSON object." not in without
