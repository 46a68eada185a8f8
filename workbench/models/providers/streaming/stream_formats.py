"""How each family of providers streams: OpenAI's chat and Responses formats, Anthropic, Gemini, Ollama."""

import json
from dataclasses import dataclass, field
from typing import Any

import httpx

from workbench.models.providers.litellm_reply import MALFORMED
from workbench.models.providers.streaming.stream_assembly import Assembly, Family, joined

#: Fields of a message that are said once and not in parts.
_SAID_ONCE = ("role",)


@dataclass(slots=True)
class ChatAssembly(Assembly):
    """A chat completion out of its pieces."""

    frame: dict[str, Any] = field(default_factory=dict)
    choices: dict[int, dict[str, Any]] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether the server said so, or gave a reason for the end of every choice."""
        ended = bool(self.choices) and all(choice["finish_reason"] for choice in self.choices.values())
        return self.done or ended

    def add(self, piece: dict[str, Any]) -> None:
        """Take in one ``chat.completion.chunk``."""
        if error := piece.get("error"):
            code = error.get("code") if isinstance(error, dict) else None
            self.fail({"error": error}, code)
            return
        for name, value in piece.items():
            # Counts and whatever else stands outside the choices come whole, the last word last.
            if name not in ("choices", "object") and value is not None:
                self.frame[name] = value
        for part in piece.get("choices") or ():
            self._add_choice(part)

    def _add_choice(self, part: dict[str, Any]) -> None:
        choice = self.choices.setdefault(
            part.get("index") or 0,
            {"finish_reason": None, "message": {"role": "assistant", "content": None}},
        )
        for name, value in part.items():
            if name not in ("delta", "message", "index") and value is not None:
                choice[name] = value
        message = choice["message"]
        # A server may send a whole message instead of a piece.
        for name, value in (part.get("delta") or part.get("message") or {}).items():
            if name == "tool_calls":
                for place, call in enumerate(value or ()):
                    _add_call(message.setdefault("tool_calls", {}), call, place)
            elif name in _SAID_ONCE:
                message[name] = value or message.get(name)
            elif value is not None:
                message[name] = _joined_parts(joined(message.get(name), value))
            self.begun = self.begun or (name not in _SAID_ONCE and bool(value))

    def body(self) -> dict[str, Any]:
        """Return the completion."""
        choices = []
        for index, choice in sorted(self.choices.items()):
            message = dict(choice["message"])
            if "tool_calls" in message:
                message["tool_calls"] = [call for _, call in sorted(message["tool_calls"].items())]
            choices.append({"index": index, **choice, "message": message})
        return {"created": 0, "id": "", **self.frame, "object": "chat.completion", "choices": choices}


def _joined_parts(content: Any) -> Any:
    """The parts of a content that is a list, neighbours of one kind (text, or Mistral's thoughts) made one."""
    if not isinstance(content, list):
        return content
    parts: list[Any] = []
    for part in content:
        before = parts[-1] if parts else None
        if isinstance(part, dict) and isinstance(before, dict) and part.get("type") == before.get("type"):
            if before.get("type") == "text":
                parts[-1] = {**before, **part, "text": f"{before.get('text', '')}{part.get('text', '')}"}
                continue
            if before.get("type") == "thinking":
                thoughts = [*(before.get("thinking") or ()), *(part.get("thinking") or ())]
                parts[-1] = {**before, **part, "thinking": _joined_parts(thoughts)}
                continue
        parts.append(part)
    return parts


def _add_call(calls: dict[int, dict[str, Any]], piece: dict[str, Any], place: int) -> None:
    index = piece.get("index")
    call = calls.setdefault(
        place if index is None else index,
        {"id": "", "type": "function", "function": {"name": "", "arguments": ""}},
    )
    for name, value in piece.items():
        if name not in ("index", "function") and value:
            call[name] = value
    function = piece.get("function") or {}
    call["function"]["name"] = function.get("name") or call["function"]["name"]
    call["function"]["arguments"] += function.get("arguments") or ""


CHAT = Family(
    path="/chat/completions",
    assembly=ChatAssembly,
    counted={"stream_options": {"include_usage": True}},
)


#: Which field of a block a delta makes longer.
_GROWS = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
}
_STATUS = {
    "invalid_request_error": 400, "authentication_error": 401, "billing_error": 402, "permission_error": 403,
    "not_found_error": 404, "request_too_large": 413, "rate_limit_error": 429, "api_error": 500,
    "timeout_error": 504, "overloaded_error": 529,
}  # fmt: skip


@dataclass(slots=True)
class AnthropicAssembly(Assembly):
    """A message out of its events."""

    message: dict[str, Any] = field(default_factory=dict)
    blocks: dict[int, dict[str, Any]] = field(default_factory=dict)
    #: The JSON of each tool call so far, by block.
    inputs: dict[int, str] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether the message has a reason for its end."""
        return self.done or bool(self.message.get("stop_reason"))

    def add(self, piece: dict[str, Any]) -> None:
        """Take in one event."""
        index = piece.get("index") or 0
        match piece.get("type"):
            case "message_start":
                self.message = dict(piece.get("message") or {})
            case "content_block_start":
                self.blocks[index] = dict(piece.get("content_block") or {})
                self.begun = True
            case "content_block_delta":
                self._grow(index, piece.get("delta") or {})
            case "message_delta":
                self.message.update(piece.get("delta") or {})
                # The counts are of the whole message, and those of its beginning stand where none comes anew.
                counts = {
                    name: value for name, value in (piece.get("usage") or {}).items() if value is not None
                }
                self.message["usage"] = {**(self.message.get("usage") or {}), **counts}
            case "message_stop":
                self.done = True
            case "error":
                self.fail(piece, _STATUS.get(str((piece.get("error") or {}).get("type")), 500))

    def _grow(self, index: int, delta: dict[str, Any]) -> None:
        block = self.blocks.setdefault(index, {"type": "text", "text": ""})
        kind = delta.get("type")
        if kind == "input_json_delta":
            self.inputs[index] = self.inputs.get(index, "") + (delta.get("partial_json") or "")
        elif kind == "citations_delta":
            block["citations"] = [*(block.get("citations") or ()), delta.get("citation")]
        elif name := _GROWS.get(str(kind)):
            block[name] = joined(block.get(name), delta.get(name))

    def body(self) -> dict[str, Any]:
        """Return the message."""
        content = [
            {**block, "input": _read_input(self.inputs[index])} if self.inputs.get(index) else block
            for index, block in sorted(self.blocks.items())
        ]
        return {**self.message, "content": content}


def _read_input(text: str) -> Any:
    """The arguments of a tool call; what is no JSON, as where the reply was cut off, is for the agent to refuse."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return {MALFORMED: text}


ANTHROPIC = Family(path="/messages", assembly=AnthropicAssembly, pings=True)


_PLAIN, _STREAMED = ":generateContent", ":streamGenerateContent"


@dataclass(slots=True)
class GeminiAssembly(Assembly):
    """An answer out of the answers that it is sent in."""

    frame: dict[str, Any] = field(default_factory=dict)
    candidates: dict[int, dict[str, Any]] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether each candidate has a reason for its end, or the prompt was blocked."""
        ended = bool(self.candidates) and all(
            candidate.get("finishReason") for candidate in self.candidates.values()
        )
        return self.done or ended or bool((self.frame.get("promptFeedback") or {}).get("blockReason"))

    def add(self, piece: dict[str, Any]) -> None:
        """Take in one event."""
        if error := piece.get("error"):
            self.fail({"error": error}, error.get("code") if isinstance(error, dict) else None)
            return
        self.frame.update({name: value for name, value in piece.items() if name != "candidates"})
        for part in piece.get("candidates") or ():
            candidate = self.candidates.setdefault(part.get("index") or 0, {})
            content = part.get("content") or {}
            candidate.update({name: value for name, value in part.items() if name != "content"})
            if content or "content" in part:
                whole = candidate.setdefault("content", {"parts": []})
                whole.update({name: value for name, value in content.items() if name != "parts"})
                for words in content.get("parts") or ():
                    _add_part(whole["parts"], words)
                    self.begun = True

    def body(self) -> dict[str, Any]:
        """Return the answer."""
        if not self.candidates:
            return self.frame
        return {**self.frame, "candidates": [candidate for _, candidate in sorted(self.candidates.items())]}


def _add_part(parts: list[dict[str, Any]], part: dict[str, Any]) -> None:
    """Put a part behind the others; a text goes on in the part before where that is a text of the same kind."""
    before = parts[-1] if parts else {}
    if "text" in part and "text" in before and bool(part.get("thought")) == bool(before.get("thought")):
        parts[-1] = {**before, **part, "text": before["text"] + part["text"]}
    else:
        parts.append(part)


def _streamed_url(url: httpx.URL) -> httpx.URL:
    path = url.path.removesuffix(_PLAIN) + _STREAMED
    return url.copy_with(path=path).copy_merge_params({"alt": "sse"})


GEMINI = Family(path=_PLAIN, assembly=GeminiAssembly, marks={}, url=_streamed_url)


@dataclass(slots=True)
class OllamaAssembly(Assembly):
    """An answer out of its lines."""

    frame: dict[str, Any] = field(default_factory=dict)
    message: dict[str, Any] = field(default_factory=dict)

    def add_line(self, line: str) -> None:
        """Take in one line."""
        if line.strip():
            self.add_json(line)

    def add(self, piece: dict[str, Any]) -> None:
        """Take in the object of a line."""
        if piece.get("error"):
            self.fail({"error": piece["error"]}, 500)
            return
        for name, value in (piece.get("message") or {}).items():
            self.message[name] = value if name == "role" else joined(self.message.get(name), value)
            self.begun = self.begun or (name != "role" and bool(value))
        self.frame.update({name: value for name, value in piece.items() if name != "message"})
        self.done = bool(piece.get("done"))

    def body(self) -> dict[str, Any]:
        """Return the answer."""
        return {**self.frame, "message": self.message}


OLLAMA = Family(path="/api/chat", assembly=OllamaAssembly, kind="ndjson")


_LAST = ("response.completed", "response.incomplete")
_RESPONSE_STATUS = {"rate_limit_exceeded": 429, "invalid_prompt": 400, "server_error": 500}


@dataclass(slots=True)
class ResponsesAssembly(Assembly):
    """A response out of its events."""

    response: dict[str, Any] = field(default_factory=dict)
    items: dict[int, Any] = field(default_factory=dict)

    def add(self, piece: dict[str, Any]) -> None:
        """Take in one event."""
        kind = str(piece.get("type") or "")
        if kind == "response.output_item.done":
            self.items[piece.get("output_index") or len(self.items)] = piece.get("item")
        elif kind in _LAST:
            self.response, self.done = dict(piece.get("response") or {}), True
        elif kind == "response.failed":
            error = (piece.get("response") or {}).get("error") or {}
            self.fail({"error": error}, _RESPONSE_STATUS.get(str(error.get("code")), 500))
        elif kind == "error":
            # Documented flat, seen with an object inside.
            inner = piece.get("error")
            error = inner if isinstance(inner, dict) else piece
            self.fail({"error": error}, _RESPONSE_STATUS.get(str(error.get("code")), 500))
        elif kind.endswith(".delta"):
            self.begun = True

    def body(self) -> dict[str, Any]:
        """Return the response; servers that leave the output out of their last event have sent it item by item."""
        items = [item for _, item in sorted(self.items.items())]
        return {**self.response, "output": self.response.get("output") or items}


RESPONSES = Family(path="/responses", assembly=ResponsesAssembly)
