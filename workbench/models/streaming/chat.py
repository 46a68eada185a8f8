"""OpenAI's chat format as OpenAI, Azure, DeepSeek, Mistral, vLLM, llama.cpp and most others stream it."""

from dataclasses import dataclass, field
from typing import Any

from workbench.models.streaming.assembly import Assembly, Family, joined

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
