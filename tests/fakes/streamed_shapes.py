"""The same reply in the form of each family of providers: whole, and as the family documents its streams."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import cycle
from typing import Any

from tests.fakes.provider_shapes import anthropic, chat, gemini, ollama, responses

Piece = dict[str, Any]


@dataclass(frozen=True)
class Said:
    """What a model says: thoughts, a text, calls (name, arguments), and whether it is cut off at its length limit."""

    text: str = ""
    thoughts: str = ""
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    cut: bool = False


def pieces(text: str, sizes: list[int]) -> list[str]:
    """A text cut into parts of these sizes, over and over."""
    parts, place, turn = [], 0, cycle(sizes)
    while place < len(text):
        size = next(turn)
        parts.append(text[place : place + size])
        place += size
    return parts


# --- OpenAI's chat


def chat_whole(said: Said) -> Piece:
    message: Piece = {}
    if said.thoughts:
        message["reasoning_content"] = said.thoughts
    if said.calls:
        message["tool_calls"] = [
            {
                "id": f"c{number}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for number, (name, arguments) in enumerate(said.calls)
        ]
    finish = "length" if said.cut else "tool_calls" if said.calls else "stop"
    return chat(said.text or None, finish, **message)


def chat_stream(whole: Piece, sizes: list[int]) -> Iterator[Piece]:
    frame = {"id": whole["id"], "object": "chat.completion.chunk", "created": 1, "model": whole["model"]}
    (choice,) = whole["choices"]
    message = choice["message"]

    def chunk(delta: Piece, finish: str | None = None) -> Piece:
        return {
            **frame,
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}],
            "usage": None,
        }

    yield chunk({"role": "assistant", "content": None if message["content"] is None else ""})
    for part in pieces(message.get("reasoning_content") or "", sizes):
        yield chunk({"reasoning_content": part})
    for part in pieces(message["content"] or "", sizes):
        yield chunk({"content": part})
    for index, call in enumerate(message.get("tool_calls") or ()):
        function = call["function"]
        yield chunk(
            {
                "tool_calls": [
                    {**call, "index": index, "function": {"name": function["name"], "arguments": ""}}
                ]
            }
        )
        for part in pieces(function["arguments"], sizes):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": part}}]})
    yield chunk({}, choice["finish_reason"])
    yield {**frame, "choices": [], "usage": whole["usage"]}


# --- OpenAI's responses


def responses_whole(said: Said) -> Piece:
    items: list[Piece] = []
    if said.thoughts:
        summary = [{"type": "summary_text", "text": said.thoughts}]
        items.append({"type": "reasoning", "id": "r", "summary": summary})
    if said.text:
        content = [{"type": "output_text", "text": said.text, "annotations": []}]
        items.append(
            {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": content}
        )
    items += [
        {
            "type": "function_call",
            "id": f"f{number}",
            "call_id": f"c{number}",
            "name": name,
            "arguments": json.dumps(arguments),
            "status": "completed",
        }
        for number, (name, arguments) in enumerate(said.calls)
    ]
    if said.cut:
        return responses(*items, status="incomplete", incomplete_details={"reason": "max_output_tokens"})
    return responses(*items)


def responses_stream(whole: Piece, sizes: list[int]) -> Iterator[Piece]:
    begun = {**whole, "output": [], "status": "in_progress", "usage": None}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for index, item in enumerate(whole["output"]):
        begun_item = {
            name: type(item[name])() for name in ("arguments", "content", "summary") if name in item
        }
        yield {
            "type": "response.output_item.added",
            "output_index": index,
            "item": {**item, **begun_item, "status": "in_progress"},
        }
        text = item.get("arguments") or "".join(part["text"] for part in item.get("content") or ())
        kind = "function_call_arguments" if item["type"] == "function_call" else "output_text"
        for part in pieces(text, sizes):
            yield {
                "type": f"response.{kind}.delta",
                "item_id": item["id"],
                "output_index": index,
                "delta": part,
            }
        for number, summary in enumerate(item.get("summary") or ()):
            for part in pieces(summary["text"], sizes):
                yield {
                    "type": "response.reasoning_summary_text.delta",
                    "item_id": item["id"],
                    "output_index": index,
                    "summary_index": number,
                    "delta": part,
                }
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": f"response.{whole['status']}", "response": whole}


# --- Anthropic


def anthropic_whole(said: Said) -> Piece:
    blocks: list[Piece] = []
    if said.thoughts:
        blocks.append({"type": "thinking", "thinking": said.thoughts, "signature": "sig"})
    if said.text:
        blocks.append({"type": "text", "text": said.text})
    blocks += [
        {"type": "tool_use", "id": f"c{number}", "name": name, "input": arguments}
        for number, (name, arguments) in enumerate(said.calls)
    ]
    return anthropic(*blocks, stop="max_tokens" if said.cut else "tool_use" if said.calls else "end_turn")


def anthropic_stream(whole: Piece, sizes: list[int]) -> Iterator[Piece]:
    start = {**whole, "content": [], "stop_reason": None, "usage": {**whole["usage"], "output_tokens": 1}}
    yield {"type": "message_start", "message": start}
    yield {"type": "ping"}
    for index, block in enumerate(whole["content"]):
        empty: Piece
        match block["type"]:
            case "text":
                empty = {**block, "text": ""}
                deltas = [{"type": "text_delta", "text": part} for part in pieces(block["text"], sizes)]
            case "thinking":
                empty = {**block, "thinking": "", "signature": ""}
                deltas = [
                    {"type": "thinking_delta", "thinking": part} for part in pieces(block["thinking"], sizes)
                ]
                deltas.append({"type": "signature_delta", "signature": block["signature"]})
            case "redacted_thinking":
                empty, deltas = block, []
            case _:
                empty = {**block, "input": {}}
                text = json.dumps(block["input"]) if block["input"] else ""
                deltas = [
                    {"type": "input_json_delta", "partial_json": part} for part in ["", *pieces(text, sizes)]
                ]
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": whole["stop_reason"]},
        "usage": {"output_tokens": whole["usage"]["output_tokens"]},
    }
    yield {"type": "message_stop"}


# --- Gemini


def gemini_whole(said: Said) -> Piece:
    parts: list[Piece] = []
    if said.thoughts:
        parts.append({"text": said.thoughts, "thought": True})
    if said.text:
        parts.append({"text": said.text})
    parts += [{"functionCall": {"name": name, "args": arguments}} for name, arguments in said.calls]
    return gemini(*parts, finish="MAX_TOKENS" if said.cut else "STOP")


def gemini_stream(whole: Piece, sizes: list[int]) -> Iterator[Piece]:
    (candidate,) = whole["candidates"]
    parts: list[Piece] = []
    for part in candidate["content"]["parts"]:
        if "text" in part:
            parts += [{**part, "text": text} for text in pieces(part["text"], sizes)]
        else:
            parts.append(part)
    counts = whole["usageMetadata"]
    for number, part in enumerate(parts):
        last = {"finishReason": candidate["finishReason"]} if number == len(parts) - 1 else {}
        yield {
            "candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0, **last}],
            "usageMetadata": counts if last else {"promptTokenCount": counts["promptTokenCount"]},
        }


# --- Ollama


def ollama_whole(said: Said) -> Piece:
    message: Piece = {"content": said.text}
    if said.thoughts:
        message["thinking"] = said.thoughts
    if said.calls:
        message["tool_calls"] = [
            {"function": {"name": name, "arguments": arguments}} for name, arguments in said.calls
        ]
    return ollama("length" if said.cut else "stop", **message)


def ollama_stream(whole: Piece, sizes: list[int]) -> Iterator[Piece]:
    frame = {"model": whole["model"], "created_at": whole["created_at"], "done": False}
    message = whole["message"]
    for name in ("thinking", "content"):
        for part in pieces(message.get(name) or "", sizes):
            yield {
                **frame,
                "message": {"role": "assistant", "content": "", **({name: part} if part else {})},
            }
    for call in message.get("tool_calls") or ():
        yield {**frame, "message": {"role": "assistant", "content": "", "tool_calls": [call]}}
    yield {**whole, "message": {"role": "assistant", "content": ""}}


@dataclass(frozen=True)
class Shape:
    """How a family says something whole, and how it streams what it says whole."""

    whole: Callable[[Said], Piece]
    stream: Callable[[Piece, list[int]], Iterator[Piece]]
    kind: str = "text/event-stream"
    named: bool = False
    done: bool = False

    def wire(self, whole: Piece, sizes: list[int]) -> list[bytes]:
        """The stream as it stands on the line, event by event."""
        if self.kind != "text/event-stream":
            return [json.dumps(piece).encode() + b"\n" for piece in self.stream(whole, sizes)]
        lines = [
            (f"event: {piece['type']}\n" if self.named else "") + f"data: {json.dumps(piece)}\n\n"
            for piece in self.stream(whole, sizes)
        ]
        if self.done:
            lines.append("data: [DONE]\n\n")
        return [line.encode() for line in lines]


_CHAT = Shape(chat_whole, chat_stream, done=True)

SHAPES = {
    "openai-chat": _CHAT,
    "openai-responses": Shape(responses_whole, responses_stream, named=True),
    "anthropic": Shape(anthropic_whole, anthropic_stream, named=True),
    "gemini": Shape(gemini_whole, gemini_stream),
    "deepseek": _CHAT,
    "mistral": _CHAT,
    "ollama": Shape(ollama_whole, ollama_stream, kind="application/x-ndjson"),
    "vllm": _CHAT,
    "llama.cpp": _CHAT,
}
