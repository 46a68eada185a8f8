"""Convert a request's messages and tools to LiteLLM's, in a form that the model at hand can read.

A model without pictures gets their captions, one without tools gets them described in text and calls them in a block, one
that takes a JSON schema gets a line that says so. The request that is hashed and stored stays the same.
"""

import base64
import copy
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from workbench.models.base import Message, ModelRequest, ReplySchema, ToolSpec
from workbench.models.providers.abilities import NAMED, NONE, REQUIRED, Abilities

_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")
_CACHE = {"type": "ephemeral"}
_NO_TOOLS = """

Tools in text. This model is reached without tool calls. To call a tool that is spoken of above, send nothing but

```tool_call
{"name": "the tool", "arguments": {}}
```

and the answer comes back as a message. The tools:

"""


def wire_messages(request: ModelRequest, abilities: Abilities) -> list[dict[str, Any]]:
    """Convert the messages of a request to LiteLLM's."""
    messages = list(request.messages)
    in_text = bool(request.tools) and not abilities.calls_tools
    # A call that a model wrote where no tool is on offer is shown as it was written: Anthropic refuses calls without tools.
    if not abilities.calls_tools or not request.tools:
        messages = [_in_text(message) for message in messages]
    if in_text:
        described = "\n".join(
            json.dumps({"name": tool.name, "description": tool.description, "parameters": tool.parameters})
            for tool in request.tools
        )
        messages[0] = replace(messages[0], content=messages[0].content + _NO_TOOLS + described)
    if request.reply_schema is not None and abilities.asks_schema(request):
        last = max((n for n, message in enumerate(messages) if message.role == "user"), default=None)
        if last is not None:
            schema, content = request.reply_schema, messages[last].content
            before, form, after = (
                content.rpartition(schema.text_form) if schema.text_form else (content, "", "")
            )
            # What stands behind the last block of a text form says what the fields mean, in either form.
            fields = form.rpartition("```\n")[2].strip()
            content = f"{before}{fields}\n\n{schema.note}{after}" if form else f"{content}\n\n{schema.note}"
            messages[last] = replace(messages[last], content=content)
    turns = _in_turn(messages)
    wired = [_message(message, images=abilities.shows_images) for message in turns]
    for message, turn in zip(turns, wired, strict=True):
        if message.thinking and abilities.thinks_in:
            turn[abilities.thinks_in] = copy.deepcopy(list(message.thinking))
    return wired


def mark_for_cache(messages: list[dict[str, Any]], *, ends: bool) -> None:
    """Set Anthropic's cache marks on a request's messages: the text before a mark is cached and read again.

    On the system message (and the tools before it), which every leaf of a run begins with; on the turn that the request before
    ended with, to read what it wrote; on the last turn, for the next request, unless the dialogue ends with this one. A mark finds what was
    written up to twenty parts before it, hence the middle one. Four are allowed.
    """
    turns = [message for message in messages if message["role"] in ("user", "tool")]
    marked = [message for message in messages[:1] if message["role"] == "system"]
    for message in [*marked, *(turns[-2:-1] if ends else turns[-2:])]:
        if message["role"] == "tool":
            message["cache_control"] = dict(_CACHE)  # LiteLLM puts it on the answer's own part
        elif isinstance(message["content"], list):
            message["content"][-1]["cache_control"] = dict(_CACHE)
        else:
            message["content"] = [{"type": "text", "text": message["content"], "cache_control": dict(_CACHE)}]


def mark_samples(messages: list[dict[str, Any]], own: str) -> None:
    """Set Anthropic's cache mark where a question's samples begin to differ: before what this one alone says."""
    turn = next(message for message in messages if message["role"] == "user")
    parts = (
        turn["content"] if isinstance(turn["content"], list) else [{"type": "text", "text": turn["content"]}]
    )
    first, *rest = parts
    tail = [{"type": "text", "text": own}] if own else []
    shared = {"type": "text", "text": first["text"].removesuffix(own), "cache_control": dict(_CACHE)}
    turn["content"] = [shared, *tail, *rest]


def cache_key(request: ModelRequest) -> str:
    """Name a dialogue, equally in all its requests and in all samples of a question: a provider keeps equal names on one machine."""
    opening = "\0".join(message.content for message in request.messages[:2]).removesuffix(request.own or "")
    return hashlib.sha256(opening.encode("utf-8", "replace")).hexdigest()[:32]


def wire_tool(tool: ToolSpec) -> dict[str, Any]:
    """Convert a tool to LiteLLM's."""
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            # LiteLLM rewrites schemas in place for Gemini; the request's own is hashed again with the next one.
            "parameters": copy.deepcopy(tool.parameters),
        },
    }


def wire_choice(request: ModelRequest, abilities: Abilities) -> tuple[list[ToolSpec], Any]:
    """Return the tools on offer and their ``tool_choice``; None leaves the choice to the model.

    A tool that must be called is named, so that all tools stay where a provider's cache begins; where the named form is refused, it
    alone is on offer and a call is required; where that is refused too, the prompt alone asks for it.
    """
    tools = list(request.tools)
    if request.choice == "auto":
        return tools, None
    if request.choice == "none":
        return tools, None if NONE in abilities.refused else "none"
    if abilities.names_tools and NAMED not in abilities.refused:
        return tools, {"type": "function", "function": {"name": request.choice}}
    if REQUIRED not in abilities.refused:
        return [tool for tool in tools if tool.name == request.choice], "required"
    return tools, None


def wire_schema(schema: ReplySchema) -> dict[str, Any]:
    """Convert a reply's schema to LiteLLM's."""
    return {
        "type": "json_schema",
        "json_schema": {"name": schema.name, "schema": copy.deepcopy(schema.schema), "strict": True},
    }


def _in_text(message: Message) -> Message:
    if message.role == "tool":
        return Message(role="user", content=f"The tool answers:\n\n{message.content}")
    if message.tool_calls:
        blocks = "\n".join(
            f"```tool_call\n{json.dumps({'name': call.name, 'arguments': call.arguments})}\n```"
            for call in message.tool_calls
        )
        return replace(message, content=f"{message.content}\n{blocks}".strip(), tool_calls=())
    return message


def _in_turn(messages: Sequence[Message]) -> list[Message]:
    joined: list[Message] = []
    for message in messages:
        if joined and message.role == "user" == joined[-1].role:
            before = joined.pop()
            message = replace(
                message,
                content=f"{before.content}\n\n{message.content}",
                images=before.images + message.images,
                captions=before.captions + message.captions,
            )
        joined.append(message)
    return joined


def _message(message: Message, *, images: bool) -> dict[str, Any]:
    content: Any = message.content
    if message.images and images:
        content = [{"type": "text", "text": message.content}]
        content += [
            {
                "type": "image_url",
                "image_url": {"url": "data:image/png;base64," + base64.b64encode(image).decode()},
            }
            for image in message.images
        ]
    elif message.images:
        captions = message.captions or tuple("a figure" for _ in message.images)
        lines = "\n".join(f"- {caption}" for caption in captions)
        content = (
            f"{message.content}\n\nFigures that were drawn, in words, because this model takes no pictures (print the"
            f" numbers that you need):\n{lines}"
        )
    turn: dict[str, Any] = {"role": message.role, "content": content}
    if message.tool_calls:
        # OpenAI's format has null, not an empty text, for a turn that only calls tools.
        turn["content"] = content or None
        turn["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "name": _NOT_IN_NAMES.sub("_", call.name)[:64] or "tool",
                    "arguments": json.dumps(call.arguments),
                },
            }
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        turn["tool_call_id"] = message.tool_call_id
    return turn
