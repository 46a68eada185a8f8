"""The source board: every result that an agent has seen, with what it thinks of it, so that a long search keeps its thread.

After ai-prophet's mini-prophet (FEATURES H7): an agent reacts to each source with ``++``, ``+``, ``-`` or ``--``; the last ten stand in its
context; when its searches, steps or dollars are used up it has three turns of grace to submit. Plain values: an agent's loop keeps
one and replaces it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, get_args

from workbench.errors import BadSetting
from workbench.quoting import PLAIN_MARKS, Marks
from workbench.search.base import FoundPage

#: How much a source speaks for or against the claim: strongly for, for, against, strongly against.
Reaction = Literal["++", "+", "-", "--"]
REACTIONS: tuple[Reaction, ...] = get_args(Reaction)
#: Longest note on a source, in characters.
MOST_NOTE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLimits:
    """What a search may take; the defaults are mini-prophet's."""

    #: Turns of the agent.
    steps: int = 30
    #: Searches of the leaf.
    searches: int = 10
    #: Dollars for models; None: no bound of its own.
    usd: float | None = 3.0
    #: Sources that stand in the context, the last ones.
    shown: int = 10
    #: Turns after a limit is reached, in which only submitting is left.
    grace_turns: int = 3

    def __post_init__(self) -> None:
        for name in ("steps", "searches", "shown"):
            if getattr(self, name) < 1:
                raise BadSetting(f"{name} must be at least 1, not {getattr(self, name)}")
        if self.grace_turns < 0 or (self.usd is not None and self.usd <= 0):
            raise BadSetting("grace_turns must not be negative, and usd must be above 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceEntry:
    """One source on the board; ``reaction`` is None until the agent has said what it thinks of it."""

    page: FoundPage
    reaction: Reaction | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceList:
    """All sources of one leaf, oldest first, and what was used up."""

    limits: SourceLimits = SourceLimits()
    entries: tuple[SourceEntry, ...] = ()
    steps: int = 0
    searches: int = 0
    usd: float = 0.0
    # turns taken since a limit was reached
    over: int = 0

    def add(self, results: Iterable[FoundPage]) -> SourceList:
        """Return the board after a search; a page that stands on it already keeps its place, id and reaction."""
        known = {entry.page.url for entry in self.entries}
        fresh = [SourceEntry(page=page) for page in results if page.url not in known]
        return replace(self, entries=(*self.entries, *fresh), searches=self.searches + 1)

    def react(self, id: str, reaction: str, note: str = "") -> SourceList:
        """Return the board with a reaction to the source of this id; a later one replaces it.

        Raises `BadSetting`: No such source, or no such reaction.
        """
        if reaction not in REACTIONS:
            raise BadSetting(f"a reaction is one of {', '.join(REACTIONS)}, not {reaction[:20]!r}")
        if all(entry.page.id != id for entry in self.entries):
            raise BadSetting(
                f"there is no source {id[:20]!r} on the board: {', '.join(self.ids()) or 'it is empty'}"
            )
        entries = [
            replace(entry, reaction=reaction, note=" ".join(note.split())[:MOST_NOTE])
            if entry.page.id == id
            else entry
            for entry in self.entries
        ]
        return replace(self, entries=tuple(entries))

    def turn(self, usd: float | None) -> SourceList:
        """Return the board after one turn of the agent; an unknown price counts as nothing, as the run's own budget keeps it."""
        after = replace(self, steps=self.steps + 1, usd=self.usd + (usd or 0.0))
        return replace(after, over=self.over + 1) if self.must_submit else after

    def ids(self) -> tuple[str, ...]:
        """Ids of all sources, oldest first."""
        return tuple(entry.page.id for entry in self.entries)

    @property
    def shown(self) -> tuple[SourceEntry, ...]:
        """The entries that stand in the agent's context: the last ones."""
        return self.entries[-self.limits.shown :]

    @property
    def may_search(self) -> bool:
        """Whether another search is allowed."""
        return self.searches < self.limits.searches and not self.must_submit

    @property
    def must_submit(self) -> bool:
        """Whether a limit of steps or dollars is reached: in the turns of grace only submitting is left."""
        return self.steps >= self.limits.steps or (
            self.limits.usd is not None and self.usd >= self.limits.usd
        )

    @property
    def is_over(self) -> bool:
        """Whether the turns of grace are used up too: what the agent believes now counts as submitted."""
        return self.must_submit and self.over >= self.limits.grace_turns

    def text(self, marks: Marks = PLAIN_MARKS) -> str:
        """The board as an agent reads it: what it thought, never what a filter thought; texts of strangers stay quotations."""
        if not self.entries:
            return "No sources yet."
        left = len(self.entries) - len(self.shown)
        head = [f"{left} earlier sources are not shown: {', '.join(self.ids()[:left])}"] if left else []
        return "\n\n".join([*head, *(_entry_text(entry, marks) for entry in self.shown)])


def _entry_text(entry: SourceEntry, marks: Marks) -> str:
    page = entry.page
    thought = f"{entry.reaction} {entry.note}".strip() if entry.reaction else "no reaction yet"
    head = f"{page.id} ({page.quality}, {page.published[:10] or 'no date'}; your reaction: {thought})"
    return f"{head}\n{marks.quoted(_quotation(page), page.id)}"


def _quotation(page: FoundPage) -> str:
    return "\n".join(part for part in (page.title, page.url, page.text) if part)
