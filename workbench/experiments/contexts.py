"""Shared contexts (paper P, section 2): what every arm reads of a question, made once and given to all alike, byte for byte.

A context holds ranked sources with a summary each and a market snapshot, as of one instant. It stands in the requests of a run as
the background of its claim, so that arms differ in what they do with it and in nothing else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.agents.base import MAX_CONTEXT
from workbench.questions.formats.base import parse_json
from workbench.questions.formats.registry import read_text
from workbench.questions.model import QuestionError, Quote

FORMAT = "analyst-workbench/contexts/1"
_SOURCES = 10  # of paper P


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextSource:
    """One source of a context: where it is from, when it was published, and what bears on the question."""

    title: str
    published: str
    summary: str
    url: str = ""


def context_text(
    sources: Sequence[ContextSource], quotes: Mapping[str, Quote] | None = None, *, instant: str = ""
) -> str:
    """A context as arms read it: at most ten sources by rank, then the market; cut to what a claim's background may hold.

    Examples
    --------
    >>> print(context_text([ContextSource(title="Fed minutes", published="2024-07-03", summary="No hurry.")]))
    1. Fed minutes (2024-07-03): No hurry.
    """
    lines = [
        f"{rank}. {source.title} ({source.published}): {source.summary}"
        for rank, source in enumerate(sources[:_SOURCES], 1)
    ]
    for name, quote in (quotes or {}).items():
        prices = [
            f"{label} {value:g}"
            for label, value in (("last", quote.last), ("yes ask", quote.yes_ask), ("no ask", quote.no_ask))
            if value is not None
        ]
        if prices:
            lines.append(f"Market{f' at {instant}' if instant else ''}, {name}: {', '.join(prices)}")
    return "\n".join(lines)[:MAX_CONTEXT]


def read_contexts(path: Path) -> dict[str, str]:
    """Contexts of a file by question or event: texts, or sources that become texts.

    Raises
    ------
    QuestionError
        Another shape.
    """
    document = parse_json(read_text(path), what=str(path))
    entries = document.get("contexts") if isinstance(document, dict) else None
    if not isinstance(entries, dict):
        raise QuestionError(f"{path}: a mapping under 'contexts' is needed, question to text or sources")
    return {str(name): _text(entry, f"{path}: context of {name}") for name, entry in entries.items()}


def _text(entry: Any, what: str) -> str:
    if isinstance(entry, str):
        return entry[:MAX_CONTEXT]
    try:
        sources = [ContextSource(**source) for source in entry["sources"]]
        quotes = {name: Quote(**quote) for name, quote in (entry.get("quotes") or {}).items()}
    except (KeyError, TypeError, AttributeError) as error:
        raise QuestionError(f"{what}: a text, or sources with title, published, summary ({error})") from None
    return context_text(sources, quotes, instant=str(entry.get("instant", "")))
