"""What a shared context is made of by a model: searches worth making, then the sources that bear on the question, each summed up.

It forecasts nothing. Without a model rules do both: the question's own words are searched for, and results keep their rank.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

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

T = TypeVar("T")

#: Sources that one request about rank and summary holds, and characters of each.
MOST_READ, TEXT_LENGTH = 30, 1200
_LONGEST_QUERY, _LONGEST_SUMMARY = 200, 600


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedSource:
    """A source that was chosen, and what it says in a few sentences."""

    page: FoundPage
    summary: str


class _QueriesShape(ReplyShape):
    queries: list[str]


class _SourceShape(ReplyShape):
    number: int
    summary: str


class _SourcesShape(ReplyShape):
    sources: list[_SourceShape]


class ContextMaker:
    """The model's part of one context."""

    def __init__(self, question: AsOfText, cutoff: Cutoff, ask: Asker) -> None:
        self._question = question
        self._node = NodeRef(id="-", statement=question.text)
        self._cutoff = cutoff
        self._ask = ask
        self._prompts = prompts_of(ask)

    async def queries(self, count: int) -> list[str]:
        """Return at most ``count`` searches; raises ``AgentGaveUp`` where no reply could be read."""

        def parse(text: str) -> list[str]:
            queries = [first_line(query, _LONGEST_QUERY) for query in _QueriesShape.read(text).queries]
            queries = list(dict.fromkeys(query for query in queries if query.strip()))
            if not queries:
                raise MalformedReply('"queries" is empty: at least one search is needed')
            return queries[:count]

        return await self._ask_reader("queries", "context_queries", parse, count=count)

    async def rank(self, pages: Sequence[FoundPage], count: int) -> list[RankedSource]:
        """Return at most ``count`` of the pages, best first, each summed up; raises ``AgentGaveUp``."""
        read = list(pages[:MOST_READ])

        def parse(text: str) -> list[RankedSource]:
            chosen: dict[int, RankedSource] = {}
            for source in _SourcesShape.read(text).sources:
                if not 1 <= source.number <= len(read):
                    raise MalformedReply(
                        f"there is no source {source.number}: they are numbered 1 to {len(read)}"
                    )
                summary = " ".join(source.summary.split())[:_LONGEST_SUMMARY]
                if not summary:
                    raise MalformedReply(f"source {source.number} has no summary")
                chosen.setdefault(source.number, RankedSource(page=read[source.number - 1], summary=summary))
            return list(chosen.values())[:count]

        shown = "\n\n".join(
            self._prompts.marks.quoted(
                f"{page.title}\n{page.published[:10]}\n{page.text[:TEXT_LENGTH]}", f"source {number}"
            )
            for number, page in enumerate(read, 1)
        )
        return await self._ask_reader("rank", "context_rank", parse, sources=shown, count=count)

    async def _ask_reader(self, stage: str, prompt: str, parse: Callable[[str], T], **inputs: Any) -> T:
        return await ask_once(
            self._ask,
            prompt,
            parse,
            stage=stage,
            system=self._prompts.render("context_system"),
            about=self._node.statement,
            nodes=[self._node],
            cutoff=self._cutoff,
            # The same bytes for all arms, so as little chance in them as can be.
            settings=AgentSettings(temperature=0.0),
            role="reader",
            question=self._question,
            **inputs,
        )
