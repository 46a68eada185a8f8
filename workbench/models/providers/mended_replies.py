"""Repair chat replies to the documented form before LiteLLM reads them.

LiteLLM refuses a whole reply, paid for, because of one odd field, and asks its caller to try again.
"""

import json
from typing import Any

_LARGEST = 32 << 20


def utf8(body: bytes, named: str | None) -> bytes:
    """Convert a body to UTF-8: JSON must be, and some servers send another charset that their header names."""
    try:
        body.decode()
    except UnicodeDecodeError:
        if named in (None, "utf-8") or body[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return body
        try:
            return body.decode(named).encode()
        except (LookupError, UnicodeDecodeError):
            return body
    return body


def mended(body: bytes) -> bytes:
    """Repair a chat reply: content as text, a finish reason, whole counts; anything else stays as it is."""
    if len(body) > _LARGEST:
        return body
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return body
    if not isinstance(answer, dict) or not isinstance(answer.get("choices"), list):
        return body
    # The first one by its own number, wherever it stands; LiteLLM numbers them anew.
    answer["choices"] = sorted(answer["choices"], key=_number_of_choice)
    for choice in answer["choices"]:
        if isinstance(choice, dict) and isinstance(choice.get("message"), dict):
            _mend(choice, choice["message"])
    if isinstance(answer.get("usage"), dict):
        answer["usage"] = whole_counts(answer["usage"])
    answer.setdefault("service_tier", None)  # LiteLLM's door to Groq reads it, and Groq seldom sends it
    return json.dumps(answer).encode()


def _mend(choice: dict[str, Any], message: dict[str, Any]) -> None:
    if choice.get("finish_reason") == "":  # Snowflake
        choice["finish_reason"] = "tool_calls" if message.get("tool_calls") else "stop"
    if not _named(message.get("function_call")):
        message.pop("function_call", None)
    # of a provider's own search or files, in forms that LiteLLM does not know
    message.pop("annotations", None)
    for called in message.get("tool_calls") or ():
        if isinstance(called, dict) and _named(called.get("function")):
            called.pop("custom", None)  # Snowflake: an empty one beside each
    content = message.get("content")
    if isinstance(content, list):
        message["content"] = _text_in(content, "text")
        thoughts = [part.get("thinking") for part in content if isinstance(part, dict)]
        message.setdefault("reasoning_content", "".join(_text_in(part or (), "text") for part in thoughts))
    if isinstance(message.get("reasoning"), str):  # Groq
        message.setdefault("reasoning_content", message["reasoning"])


def _named(call: Any) -> bool:
    return isinstance(call, dict) and bool(call.get("name"))


def _text_in(parts: Any, kind: str) -> str:
    texts = (part for part in parts if isinstance(part, dict) and part.get("type", "text") == kind)
    return "".join(str(part.get("text") or "") for part in texts)


def _number_of_choice(choice: object) -> float:
    number = choice.get("index") if isinstance(choice, dict) else None
    return number if isinstance(number, int) else float("inf")


def whole_counts(usage: dict[str, Any]) -> dict[str, Any]:
    """Round fractional token counts."""
    return {
        key: round(value)
        if isinstance(value, float) and key != "cost"
        else whole_counts(value)
        if isinstance(value, dict)
        else value
        for key, value in usage.items()
    }
