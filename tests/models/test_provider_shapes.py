"""Each family of providers as it documents itself: the request on the wire through LiteLLM, the reply read right."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.fakes.loopback import serving_json
from workbench.models.base import Message, ModelRequest, ReplySchema, ToolCall, ToolSpec
from workbench.models.litellm_client import LiteLLMModel
from workbench.models.registry import RetrySettings

KEY = "sk-test-123456"
TOOL = ToolSpec(
    name="look_up", description="d", parameters={"type": "object", "properties": {"q": {"type": "string"}}}
)
SCHEMA = ReplySchema(
    name="conclusion",
    schema={
        "type": "object",
        "properties": {"p_true": {"type": "number"}},
        "required": ["p_true"],
        "additionalProperties": False,
    },
    note="As one JSON object.",
)
TURNS = (
    Message(role="system", content="the system"),
    Message(role="user", content="look", images=(b"\x89PNG",), captions=("figure of cell 1",)),
    Message(
        role="assistant", content="", tool_calls=(ToolCall(id="c1", name="look_up", arguments={"q": "x"}),)
    ),
    Message(role="tool", content="the answer", tool_call_id="c1"),
    Message(role="user", content="go on"),
)


def request(**more: Any) -> ModelRequest:
    return ModelRequest(
        messages=TURNS, stage="step", cutoff="2018-06-30", tools=(TOOL,), max_tokens=99, **more
    )


def chat(
    text: str | None = "hi", finish: str = "stop", *, usage: Any = None, **message: Any
) -> dict[str, Any]:
    counted = {"prompt_tokens": 1000, "completion_tokens": 5, "total_tokens": 1005}
    return {
        "id": "x", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text, **message}}],
        "usage": {**counted, **(usage or {"prompt_tokens_details": {"cached_tokens": 400}})},
    }  # fmt: skip


def anthropic(*blocks: dict[str, Any], stop: str = "end_turn") -> dict[str, Any]:
    usage = {
        "input_tokens": 600,
        "output_tokens": 5,
        "cache_read_input_tokens": 400,
        "cache_creation_input_tokens": 0,
    }
    return {
        "id": "m", "type": "message", "role": "assistant", "model": "claude",
        "content": list(blocks), "stop_reason": stop, "usage": usage,
    }  # fmt: skip


def gemini(*parts: dict[str, Any], finish: str = "STOP") -> dict[str, Any]:
    counts = {
        "promptTokenCount": 1000,
        "candidatesTokenCount": 5,
        "totalTokenCount": 1005,
        "cachedContentTokenCount": 400,
    }
    content = {"role": "model", "parts": list(parts)}
    return {"candidates": [{"content": content, "finishReason": finish, "index": 0}], "usageMetadata": counts}


def ollama(finish: str = "stop", **message: Any) -> dict[str, Any]:
    return {
        "model": "llama3", "created_at": "2026-01-01T00:00:00Z", "done": True, "done_reason": finish,
        "message": {"role": "assistant", "content": "hi", **message}, "prompt_eval_count": 1000, "eval_count": 5,
    }  # fmt: skip


def responses(*items: dict[str, Any], status: str = "completed", **more: Any) -> dict[str, Any]:
    usage = {
        "input_tokens": 1000, "output_tokens": 5, "total_tokens": 1005,
        "input_tokens_details": {"cached_tokens": 400}, "output_tokens_details": {"reasoning_tokens": 2},
    }  # fmt: skip
    return {
        "id": "resp_1", "object": "response", "created_at": 1, "status": status, "model": "gpt-5-pro",
        "output": list(items), "usage": usage, "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], **more,
    }  # fmt: skip


SAID = {
    "type": "message", "id": "m", "role": "assistant", "status": "completed",
    "content": [{"type": "output_text", "text": "hi", "annotations": []}],
}  # fmt: skip
CALL = {"id": "c9", "type": "function", "function": {"name": "look_up", "arguments": '{"q": "y"}'}}


@dataclass(frozen=True)
class Family:
    """How one family is asked, and how it answers: a text, a tool call, a reply cut off at its limit."""

    model: str
    base: str
    path: str
    text: dict[str, Any]
    call: dict[str, Any]
    cut: dict[str, Any]
    cached: int | None = 400


OPENAI_CHAT = (chat(), chat(None, "tool_calls", tool_calls=[CALL]), chat("hal", "length"))
FAMILIES = {
    "openai-chat": Family("openai/gpt-4o", "/v1", "/v1/chat/completions", *OPENAI_CHAT),
    "openai-responses": Family(
        "openai/gpt-5-pro", "/v1", "/v1/responses",
        responses({"type": "reasoning", "id": "r", "summary": []}, SAID),
        responses({"type": "function_call", "id": "f", "call_id": "c9", "name": "look_up", "arguments": '{"q": "y"}', "status": "completed"}),
        responses(SAID, status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
    ),
    "anthropic": Family(
        "anthropic/claude-sonnet-4-5", "", "/v1/messages",
        anthropic({"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "hi"}),
        anthropic({"type": "tool_use", "id": "c9", "name": "look_up", "input": {"q": "y"}}, stop="tool_use"),
        anthropic({"type": "text", "text": "hal"}, stop="max_tokens"),
    ),
    "gemini": Family(
        "gemini/gemini-2.5-pro", "", "/models/gemini-2.5-pro:generateContent",
        gemini({"text": "thinking", "thought": True}, {"text": "hi"}),
        gemini({"functionCall": {"name": "look_up", "args": {"q": "y"}}}),
        gemini({"text": "hal"}, finish="MAX_TOKENS"),
    ),
    "deepseek": Family(
        "deepseek/deepseek-chat", "/v1", "/v1/chat/completions",
        chat(usage={"prompt_cache_hit_tokens": 400, "prompt_cache_miss_tokens": 600}, reasoning_content="hm"),
        *OPENAI_CHAT[1:],
    ),
    "mistral": Family("mistral/mistral-large-latest", "/v1", "/v1/chat/completions", *OPENAI_CHAT),
    "ollama": Family(
        "ollama_chat/llama3", "", "/api/chat",
        ollama(), ollama(content="", tool_calls=[{"function": {"name": "look_up", "arguments": {"q": "y"}}}]), ollama("length"),
        cached=None,
    ),
    "vllm": Family("hosted_vllm/x", "/v1", "/v1/chat/completions", *OPENAI_CHAT),
    "llama.cpp": Family("openai/x", "/v1", "/v1/chat/completions", *OPENAI_CHAT),
}  # fmt: skip


class Server:
    """Answers from a list and keeps path, body and headers of each request."""

    def __init__(self) -> None:
        self.answers: list[dict[str, Any]] = []
        self.requests: list[tuple[str, dict[str, Any], dict[str, str]]] = []
        self.url = ""

    def answer(
        self, path: str, body: dict[str, Any], headers: dict[str, str]
    ) -> tuple[int, Any, dict[str, str]]:
        self.requests.append((path, body, headers))
        return 200, self.answers.pop(0), {}


@pytest.fixture
def server() -> Iterator[Server]:
    fake = Server()
    with serving_json(fake.answer) as fake.url:
        yield fake


def client(family: Family, server: Server, **options: Any) -> LiteLLMModel:
    retries = RetrySettings(attempts=1, timeout=20)
    return LiteLLMModel(
        family.model, api_base=server.url + family.base, api_key=KEY, retries=retries, **options
    )


@pytest.mark.parametrize("name", FAMILIES)
async def test_a_dialogue_goes_out_as_documented_and_a_text_comes_back(name: str, server: Server) -> None:
    family = FAMILIES[name]
    server.answers = [family.text]
    reply = await client(family, server).complete(request())
    ((path, body, headers),) = server.requests
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
async def test_a_tool_call_comes_back_as_one(name: str, server: Server) -> None:
    family = FAMILIES[name]
    server.answers = [family.call]
    reply = await client(family, server).complete(request())
    (call,) = reply.tool_calls
    assert (call.name, call.arguments, reply.finish) == ("look_up", {"q": "y"}, "complete")


@pytest.mark.parametrize("name", FAMILIES)
async def test_a_reply_that_was_cut_off_says_so(name: str, server: Server) -> None:
    family = FAMILIES[name]
    server.answers = [family.cut]
    assert (await client(family, server).complete(request())).finish == "truncated"


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
    name: str, answer: dict[str, Any], finish: str, server: Server
) -> None:
    server.answers = [answer]
    assert (await client(FAMILIES[name], server).complete(request())).finish == finish


@pytest.mark.parametrize("name", [name for name in FAMILIES if name != "ollama"])
async def test_a_schema_is_asked_for_where_it_is_wanted_and_nowhere_else(name: str, server: Server) -> None:
    family = FAMILIES[name]
    server.answers = [family.text, family.text]
    turns = (TURNS[0], Message(role="user", content="conclude"))
    ask = ModelRequest(messages=turns, stage="conclude", cutoff="2018-06-30", reply_schema=SCHEMA)
    await client(family, server, reply_form="schema").complete(ask)
    await client(family, server, reply_form="text").complete(ask)
    with_schema, without = (json.dumps(body) for _, body, _ in server.requests)
    assert "p_true" in with_schema and "As one JSON object." in with_schema
    assert "p_true" not in without and "As one JSON object." not in without
