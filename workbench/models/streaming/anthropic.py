"""Anthropic's Messages API as it streams: blocks that are opened, grow by deltas and are closed."""

import json
from dataclasses import dataclass, field
from typing import Any

from workbench.models.litellm_reply import MALFORMED
from workbench.models.streaming.assembly import Assembly, Family, joined

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
