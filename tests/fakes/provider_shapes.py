"""How each family of providers is asked and answers, as its documentation says: requests' paths, replies in JSON."""

from dataclasses import dataclass
from typing import Any

from workbench.models.base import Message, ModelRequest, ReplySchema, ToolCall, ToolSpec

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
        "openai/responses/gpt-4.1", "/v1", "/v1/responses",
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
        "gemini/gemini-2.5-pro", "", "/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
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
