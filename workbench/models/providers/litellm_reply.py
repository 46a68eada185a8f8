"""Convert LiteLLM's response to a plain reply: text, tool calls, its finish, sound token counts."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from workbench.models.base import Finish, ToolCall, Usage
from workbench.models.providers.mended_replies import whole_counts
from workbench.models.thoughts import well_formed

MALFORMED = "malformed_arguments"

# No model takes or gives as many in one call: a larger count is a fault of the server.
_MOST_TOKENS = 50_000_000
# A call that a server without a tool parser leaves in the text, as Hermes and Qwen templates write it.
# Both take one that is not closed to the end of the text, without a group: no later one is closed either.
_CALL_IN_TEXT = re.compile(r"<tool_call>\s*(\{.*?\})\s*</tool_call>|<tool_call>\s*\{.*\Z", re.DOTALL)
# What `wire_messages` asks a model for that takes no tools.
_CALL_BLOCK = re.compile(
    r"^[ \t]*```[ \t]*tool_call[ \t]*\n(?:(.*?)^[ \t]*```[ \t]*$|.*\Z)", re.DOTALL | re.MULTILINE
)


def text_of(message: Any) -> str:
    """Return the text of a message whose content is a text, a list of parts, or nothing."""
    content = getattr(message, "content", None)
    if isinstance(content, list):
        parts = [part if isinstance(part, dict) else vars(part) for part in content]
        content = "".join(str(part.get("text") or "") for part in parts if part.get("type", "text") == "text")
    return well_formed(content) if isinstance(content, str) else ""


def tool_calls_of(message: Any, text: str) -> tuple[tuple[ToolCall, ...], str]:
    """Extract the tool calls of a message, also from its text; return them and the remaining text."""
    calls = [_call(call) for call in (getattr(message, "tool_calls", None) or ())]
    if calls:
        return _with_own_ids(calls), text
    for pattern in (_CALL_IN_TEXT, _CALL_BLOCK):
        for number, match in enumerate(pattern.finditer(text), 1):
            try:
                data = json.loads(match[1] or "")
            except (ValueError, RecursionError):
                continue
            if isinstance(data, dict) and isinstance(data.get("name"), str):
                arguments = data.get("arguments", data.get("parameters")) or {}
                calls.append(_tool_call(f"text-{number}", data["name"], arguments))
        if calls:
            return tuple(calls), pattern.sub(lambda match: "" if match[1] else match[0], text).strip()
    return (), text


#: Ends that LiteLLM turns into "stop", as their providers write them: the server failed, the text was cut, or taken away.
FAILED_ENDS = frozenset({"error", "ERROR", "insufficient_system_resource", "network_error"})
_CUT = ("model_context_window_exceeded",)
_TAKEN_AWAY = ("MODEL_ARMOR",)


def finish_of(
    choice: Any, text: str, calls: tuple[ToolCall, ...], *, ends: Sequence[str], refused: bool
) -> Finish:
    """Return how a reply ended; ``ends`` are the provider's own words."""
    reason = getattr(choice, "finish_reason", None)
    if reason == "length" or any(end in _CUT for end in ends):
        return "truncated"
    filtered = reason == "content_filter" or any(end in _TAKEN_AWAY for end in ends)
    if calls or text.strip():
        # A filter that cut a reply in the middle leaves its beginning, which is no answer.
        return "filtered" if filtered else "complete"
    if refused:
        return "refused"
    return "filtered" if filtered else "empty"


def refusal_in(message: Any) -> str:
    """Return the words with which a model declined; "" if there are none."""
    fields = getattr(message, "provider_specific_fields", None) or {}
    refusal = getattr(message, "refusal", None) or fields.get("refusal")
    return refusal if isinstance(refusal, str) else ""


def says_something(chunk: Any) -> bool:
    """Whether a chunk of a streamed reply holds a word, a thought or a call."""
    deltas = [choice.delta for choice in chunk.choices]
    names = ("content", "reasoning_content", "tool_calls")
    return any(getattr(delta, name, None) for delta in deltas for name in names)


def thoughts_of(message: Any) -> str:
    """Return the thoughts that a provider sends beside the reply."""
    thoughts = getattr(message, "reasoning_content", None) or getattr(message, "reasoning", None)
    return well_formed(thoughts) if isinstance(thoughts, str) else ""


def signed_thoughts(message: Any) -> list[dict[str, Any]]:
    """Return the thinking blocks that go back with a message: signed or hidden ones."""
    blocks = [dict(block) for block in getattr(message, "thinking_blocks", None) or ()]
    return [block for block in blocks if block.get("signature") or block.get("data")]


def usage_of(response: Any, counts: Mapping[str, Any]) -> Usage:
    """Return the tokens of a response; None where the server's ``counts`` are missing or impossible."""
    if not counts:
        return Usage()  # LiteLLM would count them itself
    usage = getattr(response, "usage", None)
    details = getattr(usage, "prompt_tokens_details", None)
    # as OpenAI writes them, wherever in a stream: LiteLLM overlooks Groq's own place
    if "prompt_tokens" in counts:
        usage = SimpleNamespace(**whole_counts(dict(counts)))
    sent, written = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    # LiteLLM writes zeros where the server sends no usage; no request has no tokens.
    if not sent:
        return Usage()
    cached = _count(details, "cached_tokens")
    return Usage(
        input_tokens=sent, output_tokens=written, cached_tokens=cached if (cached or 0) <= sent else None
    )


def _count(holder: Any, name: str) -> int | None:
    value = getattr(holder, name, None)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST_TOKENS:
        return None
    return value


def _call(call: Any) -> ToolCall:
    """Parse a tool call; arguments that are no JSON object go under one telling key, for the agent to refuse."""
    text = well_formed(call.function.arguments or "{}")
    try:
        arguments = json.loads(text)
    except ValueError:
        arguments = text
    return _tool_call(str(call.id), str(call.function.name), arguments)


def _with_own_ids(calls: list[ToolCall]) -> tuple[ToolCall, ...]:
    """Make the calls' ids unique: a server that repeats an id would refuse to see it again."""
    ids: set[str] = set()
    out = []
    for number, call in enumerate(calls, 1):
        unique = call if call.id not in ids else replace(call, id=f"{call.id}-{number}")
        ids.add(unique.id)
        out.append(unique)
    return tuple(out)


def _tool_call(identity: str, name: str, arguments: Any) -> ToolCall:
    if not isinstance(arguments, dict):
        arguments = {MALFORMED: arguments if isinstance(arguments, str) else json.dumps(arguments)}
    return ToolCall(id=well_formed(identity), name=well_formed(name), arguments=_well_formed_json(arguments))


def _well_formed_json(value: Any) -> Any:
    match value:
        case str():
            return well_formed(value)
        case dict():
            return {well_formed(str(key)): _well_formed_json(item) for key, item in value.items()}
        case list():
            return [_well_formed_json(item) for item in value]
        case _:
            return value
