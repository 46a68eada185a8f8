"""What a context is: ranked sources with a summary each and a market snapshot, as one text that every arm reads byte for byte.

It stands in the requests of a run as the background of its claim, so that arms differ in what they do with it and in nothing else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from workbench.agents.base import MAX_CONTEXT
from workbench.formatting import single_line
from workbench.propositions.strict_json import STRICT, read_strict
from workbench.questions.formats.base import parse_json
from workbench.questions.formats.format_registry import read_text
from workbench.questions.question import QuestionError, Quote

FORMAT = "analyst-workbench/contexts/1"
#: Sources of one context (paper P, section 2).
MOST_SOURCES = 10
_SHORTEST_LINE = 80  # characters of a source's line that are shown however many there are


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextSource:
    """One source of a context: where it is from, when it was published, and what bears on the question."""

    title: str
    published: str
    summary: str
    url: str = ""

    __pydantic_config__ = STRICT


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedContext:
    """What is known of one question as of one time, for all arms alike."""

    #: Id of the question.
    question: str
    #: As it was asked for: a day, an instant, or ``now``.
    cutoff: str
    #: The cutoff in UTC, ISO; of a live one when it was gathered.
    instant: str
    #: Best first.
    sources: tuple[ContextSource, ...] = ()
    #: The market as of the cutoff; each quote says when it stood.
    quotes: Mapping[str, Quote] = field(default_factory=dict)
    #: The model that ranked and summed up, or ``rules``.
    ranked_by: str = "rules"
    #: What was searched for.
    queries: tuple[str, ...] = ()
    #: Engines that could not be asked.
    failed: tuple[tuple[str, str], ...] = ()

    __pydantic_config__ = STRICT

    @property
    def text(self) -> str:
        """The context as arms read it."""
        return context_text(self.sources, self.quotes, instant=self.instant[:16])

    def to_json(self) -> dict[str, Any]:
        """Plain JSON object; `from_json` reads it back."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: object) -> "SharedContext":
        """Read what `to_json` wrote; raises ``UsageError`` with the field that is wrong."""
        return read_strict(cls, data, what="a context")


def context_text(
    sources: Sequence[ContextSource], quotes: Mapping[str, Quote] | None = None, *, instant: str = ""
) -> str:
    """A context as arms read it: at most ten sources by rank, a line each, then the market.

    Where all of it is longer than a claim's background may be, every source gives way alike: the market is never cut off, and
    no source is lost because others are long. White space is folded, so that a source cannot write a second line.

    >>> print(context_text([ContextSource(title="Fed minutes", published="2024-07-03", summary="No hurry.")]))
    1. Fed minutes (2024-07-03): No hurry.
    """
    market = [line for name, quote in (quotes or {}).items() if (line := _market_line(name, quote, instant))]
    lines = [
        single_line(f"{rank}. {source.title} ({source.published or 'no date'}): {source.summary}")
        for rank, source in enumerate(sources[:MOST_SOURCES], 1)
    ]
    room = MAX_CONTEXT - len("\n".join(market)) - len(lines) - 1
    if lines and sum(map(len, lines)) > room:
        share = max(_SHORTEST_LINE, room // len(lines))
        lines = [line if len(line) <= share else line[: share - 1].rstrip() + "…" for line in lines]
    return "\n".join([*lines, *market])[:MAX_CONTEXT]


def _market_line(name: str, quote: Quote, instant: str) -> str:
    prices = [
        f"{label} {value:g}"
        for label, value in (("last", quote.last), ("yes ask", quote.yes_ask), ("no ask", quote.no_ask))
        if value is not None
    ]
    when = quote.instant[:16] or instant
    return (
        single_line(f"Market{f' at {when}' if when else ''}, {name}: {', '.join(prices)}") if prices else ""
    )


def read_contexts(path: Path) -> dict[str, str]:
    """Contexts of a file by question or event: texts, or sources that become texts.

    Raises `QuestionError`: Another shape.
    """
    document = parse_json(read_text(path), what=str(path))
    entries = document.get("contexts") if isinstance(document, dict) else None
    if not isinstance(entries, dict):
        raise QuestionError(f"{path}: a mapping under 'contexts' is needed, question to text or sources")
    return {str(name): _entry_text(entry, f"{path}: context of {name}") for name, entry in entries.items()}


def _entry_text(entry: Any, what: str) -> str:
    if isinstance(entry, str):
        return entry[:MAX_CONTEXT]
    try:
        sources = [ContextSource(**source) for source in entry["sources"]]
        quotes = {name: Quote(**quote) for name, quote in (entry.get("quotes") or {}).items()}
    except (KeyError, TypeError, AttributeError) as error:
        raise QuestionError(f"{what}: a text, or sources with title, published, summary ({error})") from None
    return context_text(sources, quotes, instant=str(entry.get("instant", "")))
