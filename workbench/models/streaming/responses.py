"""OpenAI's Responses API as it streams: the last event holds the whole response."""

from dataclasses import dataclass, field
from typing import Any

from workbench.models.streaming.assembly import Assembly, Family

_LAST = ("response.completed", "response.incomplete")
_STATUS = {"rate_limit_exceeded": 429, "invalid_prompt": 400, "server_error": 500}


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
            self.fail({"error": error}, _STATUS.get(str(error.get("code")), 500))
        elif kind == "error":
            # Documented flat, seen with an object inside.
            inner = piece.get("error")
            error = inner if isinstance(inner, dict) else piece
            self.fail({"error": error}, _STATUS.get(str(error.get("code")), 500))
        elif kind.endswith(".delta"):
            self.begun = True

    def body(self) -> dict[str, Any]:
        """Return the response; servers that leave the output out of their last event have sent it item by item."""
        items = [item for _, item in sorted(self.items.items())]
        return {**self.response, "output": self.response.get("output") or items}


RESPONSES = Family(path="/responses", assembly=ResponsesAssembly)
