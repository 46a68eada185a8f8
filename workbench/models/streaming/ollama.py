"""Ollama's own chat API as it streams: one JSON object a line."""

from dataclasses import dataclass, field
from typing import Any

from workbench.models.streaming.assembly import Assembly, Family, joined


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
