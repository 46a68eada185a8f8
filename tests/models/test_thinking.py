"""Thoughts go back to the provider that signed them, an effort has room, and a refusal about order teaches nothing."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.fakes.loopback import Recorded, serving_json
from tests.fakes.provider_shapes import KEY, TOOL, anthropic
from tests.fakes.streamed_shapes import SHAPES, pieces
from workbench.models.base import Message, ModelReply, ModelRequest, reply_from_json, reply_to_json
from workbench.models.model_options import THINKING, RetrySettings
from workbench.models.providers.litellm_client import LiteLLMModel

SSE = {"Content-Type": "text/event-stream"}
THOUGHT = {"type": "thinking", "thinking": "First the base rate — ja.", "signature": "c2lnbmVk"}
HIDDEN = {"type": "redacted_thinking", "data": "aGlkZGVu"}
ORDER = "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`."


class Wire(Recorded):
    """A provider that can answer as Claude, streamed."""

    def says(self, *blocks: dict[str, Any]) -> None:
        calls = any(block["type"] == "tool_use" for block in blocks)
        whole = anthropic(*blocks, stop="tool_use" if calls else "end_turn")
        lines = SHAPES["anthropic"].wire(whole, [5])
        self.answers.append((200, b"".join(lines), SSE))


@pytest.fixture
def wire() -> Iterator[Wire]:
    fake = Wire()
    with serving_json(fake.answer) as fake.url:
        yield fake


def ask(*turns: Message, effort: str | None = "medium", **more: Any) -> ModelRequest:
    opening = (Message(role="system", content="s"), Message(role="user", content="look"))
    return ModelRequest(
        messages=(*opening, *turns), stage="step", cutoff="2018-06-30", tools=(TOOL,), effort=effort, **more
    )


def after(reply: ModelReply) -> tuple[Message, Message]:
    said = Message(role="assistant", content=reply.text, tool_calls=reply.tool_calls, thinking=reply.thinking)
    return said, Message(role="tool", content="99", tool_call_id=reply.tool_calls[0].id)


def claude(wire: Wire, name: str = "claude-sonnet-4-5") -> LiteLLMModel:
    """A hosted Claude, so that its list entry counts, at the address of the test."""
    return LiteLLMModel(f"anthropic/{name}", api_key=KEY, retries=RetrySettings(attempts=1, timeout=20))


@pytest.fixture(autouse=True)
def hosted(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, path in (("ANTHROPIC", ""), ("OPENROUTER", "/v1")):
        monkeypatch.setenv(f"{name}_API_BASE", wire.url + path)
        monkeypatch.setenv(f"{name}_API_KEY", KEY)


@pytest.mark.parametrize("block", [THOUGHT, HIDDEN])
async def test_claude_gets_its_signed_thoughts_back_word_for_word(wire: Wire, block: dict[str, Any]) -> None:
    wire.says(block, {"type": "tool_use", "id": "c1", "name": "look_up", "input": {"q": "x"}})
    wire.says({"type": "text", "text": "so"})
    model = claude(wire)
    first = await model.complete(ask())
    recorded = reply_from_json(json.loads(json.dumps(reply_to_json(first))))
    assert recorded == first and first.thinking
    last = await model.complete(ask(*after(recorded)))
    turn = next(message for message in wire.bodies[1]["messages"] if message["role"] == "assistant")
    assert turn["content"][0] == block
    assert [part["type"] for part in turn["content"]] == [block["type"], "tool_use"]
    assert wire.bodies[1]["thinking"]["type"] == "enabled" and last.text == "so"


async def test_openrouter_gets_its_reasoning_details_back(wire: Wire) -> None:
    detail = {
        "type": "reasoning.text",
        "text": "First the base rate.",
        "signature": "c2ln",
        "format": "f",
        "index": 0,
    }
    call = {
        "id": "c1",
        "type": "function",
        "function": {"name": "look_up", "arguments": '{"q": "x"}'},
        "index": 0,
    }
    deltas = [
        {"reasoning_details": [{**detail, "text": part, "signature": None}]}
        for part in pieces(detail["text"], [6])
    ]
    deltas += [{"reasoning_details": [{**detail, "text": ""}]}, {"tool_calls": [call]}]
    chunks = [
        {
            "id": "g",
            "created": 1,
            "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": None}],
        }
        for delta in deltas
    ]
    chunks.append(
        {
            "id": "g",
            "created": 1,
            "model": "m",
            "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}],
        }
    )
    chunks.append(
        {
            "id": "g",
            "created": 1,
            "model": "m",
            "choices": [],
            "usage": {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13, "cost": 0.0125},
        }
    )
    lines = b"".join(b"data: %b\n\n" % json.dumps(chunk).encode() for chunk in chunks)
    wire.answers = [(200, b": OPENROUTER PROCESSING\n\n" + lines + b"data: [DONE]\n\n", SSE)] * 2
    model = LiteLLMModel(
        "openrouter/anthropic/claude-sonnet-4.5", retries=RetrySettings(attempts=1, timeout=20)
    )
    first = await model.complete(ask())
    assert first.thinking == (detail,) and first.cost_usd == 0.0125
    await model.complete(ask(*after(first)))
    turn = next(message for message in wire.bodies[1]["messages"] if message["role"] == "assistant")
    assert turn["reasoning_details"] == [detail]


async def test_another_providers_model_is_not_sent_them(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    wire.says(THOUGHT, {"type": "tool_use", "id": "c1", "name": "look_up", "input": {"q": "x"}})
    turns = after(await claude(wire).complete(ask()))
    whole = SHAPES["vllm"].whole
    from tests.fakes.streamed_shapes import Said

    wire.answers = [(200, whole(Said("so")), {})]
    other = LiteLLMModel("hosted_vllm/x", api_base=f"{wire.url}/v1", api_key=KEY)
    await other.complete(ask(*turns, effort=None))
    assert "thinking" not in json.dumps(wire.bodies[-1])


@pytest.mark.parametrize("effort", THINKING)
@pytest.mark.parametrize("limit", [None, 2_000])
async def test_an_effort_has_its_budget_and_the_reply_its_own_room(
    wire: Wire, effort: str, limit: int | None
) -> None:
    wire.says({"type": "text", "text": "so"})
    await claude(wire).complete(ask(effort=effort, max_tokens=limit))
    (body,) = wire.bodies
    assert body["thinking"]["budget_tokens"] == THINKING[effort]
    assert body["max_tokens"] - body["thinking"]["budget_tokens"] >= (limit or 4_096)


async def test_a_refusal_about_the_order_of_thoughts_is_asked_without_once_and_teaches_nothing(
    wire: Wire,
) -> None:
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": ORDER}}
    wire.says(THOUGHT, {"type": "tool_use", "id": "c1", "name": "look_up", "input": {"q": "x"}})
    wire.answers.append((400, error, {}))
    wire.says({"type": "text", "text": "so"})
    wire.says({"type": "text", "text": "again"})
    model = claude(wire)
    turns = after(await model.complete(ask()))
    bare = tuple(replace(turn, thinking=()) for turn in turns)
    assert (await model.complete(ask(*bare))).text == "so"
    assert (await model.complete(ask())).text == "again"
    assert ["thinking" in body for body in wire.bodies] == [True, True, False, True]
    assert model.abilities.refused == set()
