"""What providers refuse of a chat request, and what no model of theirs can answer: one set of rules for all scripted models.

A scripted server answers a request that breaks a rule with 400 and the words of :func:`fault`; an in-process model refuses it
likewise. Before a scripted reply goes out, :func:`possible` makes of it what a model does that a provider holds to the request: one
that may call nothing answers in prose, one that must call a tool calls it, and one held to a strict schema writes what the schema
allows. Arguments that are no JSON are a behaviour of models and pass, but where the tool's own schema is strict.

The rules are those of OpenAI's chat format, of Anthropic and of strict chat templates (vLLM, Mistral) that our requests can meet.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import jsonschema

from workbench.models.base import ModelReply, ModelRequest, ToolCall
from workbench.models.errors import ModelRefused
from workbench.models.providers.abilities import Abilities
from workbench.models.providers.litellm_messages import wire_choice, wire_messages, wire_schema, wire_tool

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_REASONS = re.compile(r"(openai/)?(o\d|gpt-5)")
_FENCED = re.compile(r"```(?:json)?\n(.*?)```", re.DOTALL)
#: Keys of a schema that strict modes do not take.
_NOT_STRICT = {"allOf", "not", "if", "then", "else", "dependentRequired", "patternProperties", "uniqueItems", "default", "oneOf"}  # fmt: skip
#: OpenAI's limit on a tool's description.
_LONGEST_DESCRIPTION = 1024

Message = Mapping[str, Any]
#: A provider's own rule beside those of all: its words of refusal, or None.
Rule = Callable[[Mapping[str, Any]], str | None]


class ImpossibleScript(AssertionError):
    """A script wants of a model what its provider makes impossible."""


def fault(body: Mapping[str, Any]) -> str | None:
    """The words with which a provider refuses a request; None where it takes it."""
    return next(_faults(body), None)


def _faults(body: Mapping[str, Any]) -> Iterator[str]:
    yield from _message_faults(body.get("messages") or ())
    yield from _tool_faults(body)
    yield from _parameter_faults(body)
    if "response_format" in body:
        yield from _format_faults(body["response_format"])


# --- messages ------------------------------------------------------------------------------------------------------------


def _message_faults(messages: Any) -> Iterator[str]:
    if not messages:
        yield "Invalid 'messages': empty array. Expected an array with minimum length 1"
        return
    before = ""
    open_calls: list[str] = []
    for place, message in enumerate(messages):
        where, role = f"messages[{place}]", message["role"]
        if open_calls and role != "tool":
            yield (
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each"
                f" 'tool_call_id'. The following tool_call_ids did not have response messages: {open_calls}"
            )
        if role == "tool":
            if message.get("tool_call_id") not in open_calls:
                yield f"{where}: messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
            else:
                open_calls.remove(message["tool_call_id"])
        elif role == "system":
            if place:
                yield f"{where}: System message must be at the beginning"
        elif role not in ("user", "assistant"):
            yield f"Invalid value: '{role}'. Supported values are: 'system', 'assistant', 'user' and 'tool'"
        elif role == before or (role == "assistant" and before in ("", "system")):
            yield f"{where}: Conversation roles must alternate user/assistant/user/assistant/..."
        yield from _content_faults(message, where)
        for call in message.get("tool_calls") or ():
            open_calls.append(call["id"])
        if len(set(open_calls)) < len(open_calls):
            yield f"{where}: `tool_use` ids must be unique"
        before = role
    if open_calls:
        yield f"The following tool_call_ids did not have response messages: {open_calls}"
    elif before not in ("user", "tool"):
        yield "Expected last role User or Tool for serving but got " + before


def _content_faults(message: Message, where: str) -> Iterator[str]:
    content, calls = message.get("content"), message.get("tool_calls") or ()
    parts = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
    empty = not any(part["type"] != "text" or part["text"].strip() for part in parts)
    if empty and not calls and message["role"] != "tool":
        yield f"{where}: all messages must have non-empty content"
    for call in calls:
        if not _NAME.fullmatch(call["function"]["name"]):
            yield (
                f"Invalid '{where}.tool_calls[0].function.name': string does not match pattern. Expected a string that"
                " matches the pattern '^[a-zA-Z0-9_-]+$'"
            )
        if not isinstance(_json(call["function"]["arguments"]), dict):
            yield f"{where}: tool_use.input: Input should be a valid dictionary"


# --- tools ---------------------------------------------------------------------------------------------------------------


def _tool_faults(body: Mapping[str, Any]) -> Iterator[str]:
    tools, choice = body.get("tools"), body.get("tool_choice")
    names = [tool["function"]["name"] for tool in tools or ()]
    if tools is not None and not tools:
        yield "Invalid 'tools': empty array. Expected an array with minimum length 1"
    if len(set(names)) < len(names):
        yield "tools: Tool names must be unique."
    for tool in tools or ():
        function = tool["function"]
        if not _NAME.fullmatch(function["name"]):
            yield f"Invalid 'tools[0].function.name': '{function['name']}' does not match '^[a-zA-Z0-9_-]+$'"
        if len(function.get("description") or "") > _LONGEST_DESCRIPTION:
            yield f"Invalid 'tools[0].function.description': string too long, at most {_LONGEST_DESCRIPTION}"
        if function["parameters"].get("type") != "object":
            yield f"Invalid schema for function '{function['name']}': schema must be of type 'object'"
        if function.get("strict"):
            yield from _strict_faults(function["parameters"], f"function '{function['name']}'")
    called = any(message.get("tool_calls") for message in body.get("messages") or ())
    if called and not tools:
        yield "Requests which include tool calls in messages must define tools"
    if choice is None:
        return
    if not tools:
        yield "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified."
    elif isinstance(choice, Mapping):
        if choice.get("type") != "function" or set(choice) != {"type", "function"}:
            yield f"Invalid value for 'tool_choice': {choice}"
        elif choice["function"].get("name") not in names:
            yield f"Invalid value for 'tool_choice': tool {choice['function'].get('name')!r} is not one of 'tools'"
    elif choice not in ("auto", "none", "required"):
        yield f"Invalid value: '{choice}'. Supported values are: 'none', 'auto', and 'required' for 'tool_choice'."


# --- everything else -----------------------------------------------------------------------------------------------------

_KNOWN = {
    "model", "messages", "tools", "tool_choice", "parallel_tool_calls", "temperature", "top_p", "max_tokens",
    "max_completion_tokens", "response_format", "reasoning_effort", "stream", "stream_options", "prompt_cache_key", "n",
    "stop", "seed", "user",
}  # fmt: skip


def _parameter_faults(body: Mapping[str, Any]) -> Iterator[str]:
    if unknown := sorted(set(body) - _KNOWN):
        yield f"Unrecognized request argument supplied: {unknown[0]}"
    temperature = body.get("temperature")
    if temperature is not None and not 0 <= temperature <= 2:
        yield f"Invalid 'temperature': {temperature}. Expected a value between 0 and 2"
    for name in ("max_tokens", "max_completion_tokens"):
        if name in body and not (isinstance(body[name], int) and body[name] >= 1):
            yield f"Invalid '{name}': integer below minimum value. Expected a value >= 1"
    if _REASONS.match(str(body.get("model"))):
        if "max_tokens" in body:
            yield "Unsupported parameter: 'max_tokens' is not supported with this model."
        if temperature not in (None, 1):
            yield "Unsupported value: 'temperature' does not support values other than 1 with this model."


def _format_faults(wanted: Mapping[str, Any]) -> Iterator[str]:
    if wanted.get("type") != "json_schema":
        return
    named = wanted["json_schema"]
    if not _NAME.fullmatch(named["name"]):
        yield "Invalid 'response_format.json_schema.name'"
    if named["schema"].get("type") != "object":
        yield "Invalid schema for response_format: schema must be of type 'object'"
    if named.get("strict"):
        yield from _strict_faults(named["schema"], f"response_format '{named['name']}'")


def _strict_faults(schema: Any, where: str) -> Iterator[str]:
    """What strict modes refuse of a schema."""
    if isinstance(schema, list):
        for item in schema:
            yield from _strict_faults(item, where)
    if not isinstance(schema, Mapping):
        return
    if refused := sorted(_NOT_STRICT & set(schema)):
        yield f"Invalid schema for {where}: '{refused[0]}' is not permitted"
    if schema.get("type") == "object":
        properties = schema.get("properties", {})
        if schema.get("additionalProperties") is not False:
            yield f"Invalid schema for {where}: 'additionalProperties' is required to be supplied and to be false"
        if sorted(schema.get("required", ())) != sorted(properties):
            yield f"Invalid schema for {where}: 'required' must list every key in properties"
        for value in properties.values():
            yield from _strict_faults(value, where)
    for key in ("items", "anyOf"):
        yield from _strict_faults(schema.get(key), where)


# --- what a model can answer ---------------------------------------------------------------------------------------------


def possible(body: Mapping[str, Any], message: Message) -> dict[str, Any]:
    """The scripted message as a model can send it that is held to this request.

    Raises
    ------
    ImpossibleScript
        It breaks a strict schema.
    """
    calls = list(message.get("tool_calls") or ())
    tools = {tool["function"]["name"]: tool["function"] for tool in body.get("tools") or ()}
    choice = body.get("tool_choice")
    if choice == "none" or not tools:
        return _in_words(message, calls) if calls else _held_to_format(body, message)
    if choice not in (None, "auto"):
        named = choice["function"]["name"] if isinstance(choice, Mapping) else None
        calls = [call for call in calls if call["function"]["name"] == (named or call["function"]["name"])]
        calls = [call for call in calls if call["function"]["name"] in tools] or [
            {"id": "call_forced", "type": "function", "function": {"name": named or next(iter(tools)), "arguments": "{}"}}
        ]  # fmt: skip
        message = {**message, "tool_calls": calls}
    for call in calls:
        function = tools.get(call["function"]["name"], {})
        if function.get("strict"):
            _conforms(call["function"]["arguments"], function["parameters"])
    return dict(message) if calls else _held_to_format(body, message)


def finish_reason(body: Mapping[str, Any], message: Message) -> str:
    """How OpenAI ends a reply: a call of the tool that was named ends with "stop"."""
    named = isinstance(body.get("tool_choice"), Mapping)
    return "tool_calls" if message.get("tool_calls") and not named else "stop"


def _in_words(message: Message, calls: list[Any]) -> dict[str, Any]:
    """What a model says that wants to call a tool and may not."""
    wish = f"I would call {' and '.join(call['function']['name'] for call in calls)} now, with what I know."
    said = f"{message.get('content') or ''}\n{wish}".strip()
    return {**{key: value for key, value in message.items() if key != "tool_calls"}, "content": said}


def _held_to_format(body: Mapping[str, Any], message: Message) -> dict[str, Any]:
    wanted = (body.get("response_format") or {}).get("json_schema", {})
    text = message.get("content")
    if not wanted.get("strict") or not isinstance(text, str) or not text.strip():
        return dict(message)
    fenced = _FENCED.search(text)
    inner = fenced[1] if fenced else text
    _conforms(inner, wanted["schema"])
    return {**message, "content": inner}


def _conforms(text: str, schema: Mapping[str, Any]) -> None:
    try:
        jsonschema.validate(_json(text), schema)
    except jsonschema.ValidationError as error:
        raise ImpossibleScript(f"no model writes this under its strict schema: {error.message}") from None


def _json(text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return None


# --- in-process models ---------------------------------------------------------------------------------------------------


def body_of(request: ModelRequest) -> dict[str, Any]:
    """A request as a provider gets it that takes everything; it is not asked for by schema, which scripts do not speak."""
    abilities = Abilities()
    body: dict[str, Any] = {"model": "x", "messages": wire_messages(request, abilities)}
    if request.tools:
        tools, choice = wire_choice(request, abilities)
        body["tools"] = [wire_tool(tool) for tool in tools]
        if choice is not None:
            body["tool_choice"] = choice
    if request.reply_schema is not None and (
        wrong := next(_format_faults(wire_schema(request.reply_schema)), None)
    ):
        raise ModelRefused(f"400: {wrong}")
    return body


def strictly(request: ModelRequest, reply: ModelReply) -> ModelReply:
    """The scripted reply of an in-process model as a provider's could be; raises `ModelRefused` as a provider refuses."""
    body = body_of(request)
    if (wrong := fault(body)) is not None:
        raise ModelRefused(f"400: {wrong}")
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": json.dumps(call.arguments)}}
        for call in reply.tool_calls
    ]  # fmt: skip
    # Where no tool is on offer a call is one that the client read in the model's text.
    if reply.finish != "complete" or not request.tools:
        return reply
    message = possible(
        body, {"role": "assistant", "content": reply.text, **({"tool_calls": calls} if calls else {})}
    )
    held = tuple(
        ToolCall(
            id=call["id"], name=call["function"]["name"], arguments=json.loads(call["function"]["arguments"])
        )
        for call in message.get("tool_calls") or ()
    )
    return replace(reply, text=message["content"] or "", tool_calls=held)
