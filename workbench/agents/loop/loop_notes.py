"""Notes as the end of a loop that looks things up for somebody else: one fact each, with the ids it rests on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.agents.errors import MalformedReply
from workbench.agents.loop.tool_box import ToolSource, tool_spec
from workbench.quoting import one_line

if TYPE_CHECKING:
    from workbench.agents.loop.belief_state import BeliefState

#: The tool that ends such a loop.
HAND_IN = "hand_in"
_MOST_NOTES, _LONGEST_NOTE = 40, 800


@dataclass(frozen=True, slots=True)
class LoopNote:
    """One fact with the ids it rests on."""

    text: str
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NotesEnding:
    """``hand_in`` as the end of a loop."""

    spec = tool_spec(HAND_IN)

    def read(self, arguments: Mapping[str, Any], belief: BeliefState | None) -> tuple[LoopNote, ...]:
        """Return the notes; raises `MalformedReply`."""
        return read_notes(arguments)

    def forced(self, reason: str, belief: BeliefState | None) -> None:
        """Return None: the model is asked for its notes once more."""
        return


def read_notes(arguments: Mapping[str, Any]) -> tuple[LoopNote, ...]:
    """Return the notes of a call of ``hand_in``; raises `MalformedReply`."""
    items = arguments.get("notes")
    if not isinstance(items, list):
        raise MalformedReply('"notes" must be a list of {"text": "...", "sources": ["S1.1"]}')
    notes = []
    for item in items[:_MOST_NOTES]:
        if isinstance(item, str):
            item = {"text": item}
        if not isinstance(item, Mapping) or not isinstance(item.get("text"), str):
            raise MalformedReply('each note is {"text": "...", "sources": ["S1.1"]}')
        sources = item.get("sources")
        named = tuple(map(str, sources)) if isinstance(sources, list) else ()
        notes.append(LoopNote(one_line(item["text"], _LONGEST_NOTE), named))
    return tuple(notes)


def note_lines(notes: Sequence[LoopNote], sources: Mapping[str, ToolSource]) -> list[str]:
    """Return notes as lines with the dates of what they rest on; ids that nobody gave out are left out."""
    lines = []
    for note in notes:
        named = [identity for identity in note.sources if identity in sources]
        dates = [sources[identity].published for identity in named]
        cited = ", ".join(f"{identity} {day}".strip() for identity, day in zip(named, dates, strict=True))
        lines.append(f"- {note.text} [{cited or 'no source'}]")
    return lines
