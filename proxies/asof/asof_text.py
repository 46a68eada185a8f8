"""`AsOfText`: a stranger's text as it may be shown at a cutoff; made only by `as_of`, which cuts what was written later.

Texts of questions (criteria, fine print, rules of a market, background) go on being edited after they were published, and an edit
tells how the question came out. Prompts take an `AsOfText` and nothing else. What goes is found by `later_text`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from proxies.asof.clock import Cutoff

if TYPE_CHECKING:
    from proxies.asof.later_text import Kind

_MADE_HERE = object()


@dataclass(frozen=True, slots=True)
class Removed:
    """A piece that was cut from a text, with the reason."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class AsOfText:
    """A text without what was written in it after a cutoff; only `as_of` and this class's own methods make one."""

    #: What may be shown.
    text: str
    cutoff: Cutoff
    #: What may not.
    cut: tuple[Removed, ...] = ()
    made_by: Any = None

    def __post_init__(self) -> None:
        if self.made_by is not _MADE_HERE:
            raise TypeError("an AsOfText is made by as_of(text, cutoff), which cuts what is of later")

    def __str__(self) -> str:
        """Return the text."""
        return self.text

    def __bool__(self) -> bool:
        """Whether anything is left to show."""
        return bool(self.text.strip())

    @property
    def emptied(self) -> bool:
        """Whether there was a text and all of it was cut."""
        return bool(self.cut) and not self

    def framed(self, before: str) -> AsOfText:
        """Return the stripped text behind our own words; nothing if it is empty."""
        text = f"{before}{self.text.strip()}" if self else ""
        return AsOfText(text, self.cutoff, self.cut, _MADE_HERE)

    def followed_by(self, words: str) -> AsOfText:
        """Return the text with our own words, or text looked up as of the cutoff, behind it."""
        return AsOfText(self.text + words, self.cutoff, self.cut, _MADE_HERE)

    def first(self, length: int) -> AsOfText:
        """Return the first so many characters."""
        return AsOfText(self.text[:length], self.cutoff, self.cut, _MADE_HERE)


def emptied_line(what: str, cutoff: Cutoff) -> str:
    """Return the sentence for a text of which nothing may be shown."""
    return f"{what} speaks of nothing but later than the cutoff {cutoff.text}, or says so of itself: nothing is left to ask by"


#: No text at all.
NO_TEXT = AsOfText("", Cutoff.parse("now"), (), _MADE_HERE)


def joined(texts: Iterable[AsOfText], gap: str, cutoff: Cutoff) -> AsOfText:
    """Join texts without empty and repeated ones; their removed pieces are joined too."""
    parts = list(texts)
    text = gap.join(dict.fromkeys(part.text for part in parts if part))
    return AsOfText(text, cutoff, tuple(piece for part in parts for piece in part.cut), _MADE_HERE)


def as_of(text: str, cutoff: Cutoff, *, opened: str = "", kind: Kind = "text") -> AsOfText:
    """Cut from a text what speaks of later than the cutoff; all else stays byte for byte. A live cutoff cuts nothing.

    `opened`: ISO day on which the text was first published, "" if it is not known: a date without a year is read against it.

    >>> shown = as_of("Yes if it falls. Update 2024-02-28: it fell.", Cutoff.parse("2024-01-15"))
    >>> shown.text, [piece.text for piece in shown.cut]
    ('Yes if it falls.', ['Update 2024-02-28: it fell.'])
    """
    if cutoff.live or not text:
        return AsOfText(text, cutoff, (), _MADE_HERE)
    # Its patterns take 60 ms to compile, and every command imports this module.
    from proxies.asof.later_text import later_parts

    spans = later_parts(text, cutoff, opened=opened, kind=kind)
    if not spans:
        return AsOfText(text, cutoff, (), _MADE_HERE)
    cut = tuple(Removed(" ".join(text[start:end].split()), reason) for start, end, reason in spans)
    return AsOfText(_without(text, spans), cutoff, cut, _MADE_HERE)


def without_later(text: str, cutoff: Cutoff) -> str:
    """Return a page's text as of a cutoff, stripped in every case, so that nothing tells of a cut."""
    return as_of(text, cutoff, kind="page").text.strip()


def _without(text: str, spans: list[tuple[int, int, str]]) -> str:
    """Cut stretches from a text; of the gaps around a cut the wider stays."""
    out, place = "", 0
    for start, end, _ in spans:
        out, place = _beside(out, text[place:start]), end
    return _beside(out, text[place:]).strip()


def _beside(before: str, after: str) -> str:
    gap_before, gap_after = before[len(before.rstrip()) :], after[: len(after) - len(after.lstrip())]
    if not before or not gap_before or not gap_after:
        return before + after
    if gap_before.count("\n") >= gap_after.count("\n"):
        return before + after.lstrip()
    return before.rstrip() + after
