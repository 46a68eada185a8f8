"""Gemini's API as it streams, at Google AI and on Vertex: each event is an answer with the next parts."""

from dataclasses import dataclass, field
from typing import Any

import httpx

from workbench.models.streaming.assembly import Assembly, Family

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
