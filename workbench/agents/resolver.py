"""A model reads dated pages and says how a question came out, by its fine print; what it quotes is checked by who asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import Field

from workbench.agents.base import AgentSettings
from workbench.agents.conversation import ask_once
from workbench.agents.errors import MalformedReply
from workbench.agents.replies.lenient_json import first_line
from workbench.agents.replies.stage_replies import ReplyShape
from workbench.models.base import Asker, NodeRef
from workbench.prompts import prompts_of

if TYPE_CHECKING:
    from proxies.asof.asof_text import AsOfText
    from proxies.asof.clock import Cutoff
    from workbench.search.base import FoundPage

#: The answer to a question that nothing has settled.
OPEN = "open"
#: Characters of one page that a request holds, and searches that a reply may ask for.
PAGE_LENGTH, MOST_SEARCHES = 4_000, 3
_LONGEST_QUERY, _LONGEST_REASONS = 200, 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotation:
    """What a model copied from a page."""

    page: FoundPage
    quote: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How a question came out by some pages: an answer in its own words or `OPEN`, and searches that may tell more."""

    answer: str
    quotations: tuple[Quotation, ...]
    reasons: str
    searches: tuple[str, ...]


class _QuoteShape(ReplyShape):
    page: int
    quote: str


class _ResolveShape(ReplyShape):
    came_to: str
    quotes: list[_QuoteShape] = Field(default_factory=list)
    reasons: str = ""
    search: list[str] = Field(default_factory=list)


async def read_outcome(
    question: AsOfText,
    answers: str,
    pages: Sequence[FoundPage],
    *,
    fits: Callable[[str], str],
    cutoff: Cutoff,
    ask: Asker,
) -> Reading:
    """Return what the pages settle of a question.

    `fits`: Why an answer is none of the question's, "" if it is one.

    Raises `AgentGaveUp, ModelError`: No reply could be read, or none came.
    """

    def parse(text: str) -> Reading:
        reply = _ResolveShape.read(text)
        answer = " ".join(reply.came_to.split())
        if answer.lower() == OPEN:
            answer = OPEN
        elif fault := fits(answer):
            raise MalformedReply(f"came_to: {fault}")
        if strange := [quote.page for quote in reply.quotes if not 1 <= quote.page <= len(pages)]:
            raise MalformedReply(f"there is no page {strange[0]}: they are numbered 1 to {len(pages)}")
        if answer != OPEN and not reply.quotes:
            raise MalformedReply(f"{answer!r:.60} without a quotation: what no page says is open")
        return Reading(
            answer=answer,
            quotations=tuple(Quotation(page=pages[quote.page - 1], quote=quote.quote) for quote in reply.quotes),
            reasons=" ".join(reply.reasons.split())[:_LONGEST_REASONS],
            searches=tuple(dict.fromkeys(first_line(words, _LONGEST_QUERY) for words in reply.search if words.strip()))[:MOST_SEARCHES],
        )  # fmt: skip

    marks = prompts_of(ask).marks
    shown = "\n\n".join(
        marks.quoted(
            f"{page.title}\n{page.url}\n{page.published[:10] or 'no date'}\n{page.text[:PAGE_LENGTH]}",
            f"page {number}",
        )
        for number, page in enumerate(pages, 1)
    )
    return await ask_once(
        ask,
        "resolve",
        parse,
        about=question.text,
        nodes=[NodeRef(id="-", statement=question.text)],
        cutoff=cutoff,
        settings=AgentSettings(temperature=0.0),
        role="reader",
        question=question,
        answers=answers,
        pages=shown or "none",
        searches=MOST_SEARCHES,
    )
