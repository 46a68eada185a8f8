"""What a shared context is made of by a model: searches worth making, then the sources that bear on the question, each summed up.

It forecasts nothing. Without a model rules do both: the question's own words are searched for, and results keep their rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from workbench.agents.base import AgentSettings
from workbench.agents.dialogue import Dialogue
from workbench.agents.errors import MalformedReply
from workbench.agents.relayed import Relayed
from workbench.agents.replies.json_reply import first_line
from workbench.agents.replies.stage_replies import ReplyShape, read_reply
from workbench.models.base import (
    Asker,
    ModelReply,
    ModelRequest,
    NodeRef,
)
from workbench.prompts import prompts_of

if TYPE_CHECKING:
    from proxies.asof.asof_text import AsOfText
    from proxies.asof.clock import Cutoff
    from workbench.search.base import FoundPage

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
        self._render = prompts_of(ask).render
        self._quoted = prompts_of(ask).marks.quoted

    async def queries(self, count: int) -> list[str]:
        """Return at most ``count`` searches; raises ``AgentGaveUp`` where no reply could be read."""

        def parse(text: str) -> list[str]:
            queries = [first_line(query, _LONGEST_QUERY) for query in read_reply(_QueriesShape, text).queries]
            queries = list(dict.fromkeys(query for query in queries if query.strip()))
            if not queries:
                raise MalformedReply('"queries" is empty: at least one search is needed')
            return queries[:count]

        prompt = self._render(
            "context_queries", question=self._question, cutoff=self._cutoff.shown, count=count
        )
        return await self._dialogue().exchange(
            "queries", prompt.text, parse, propositions=self._node.statement, reply_format="", choice="none"
        )

    async def rank(self, pages: Sequence[FoundPage], count: int) -> list[RankedSource]:
        """Return at most ``count`` of the pages, best first, each summed up; raises ``AgentGaveUp``."""
        read = list(pages[:MOST_READ])

        def parse(text: str) -> list[RankedSource]:
            chosen: dict[int, RankedSource] = {}
            for source in read_reply(_SourcesShape, text).sources:
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
            self._quoted(
                f"{page.title}\n{page.published[:10]}\n{page.text[:TEXT_LENGTH]}", f"source {number}"
            )
            for number, page in enumerate(read, 1)
        )
        prompt = self._render(
            "context_rank",
            question=self._question,
            cutoff=self._cutoff.shown,
            sources=shown,
            count=count,
        )
        return await self._dialogue().exchange(
            "rank", prompt.text, parse, propositions=self._node.statement, reply_format="", choice="none"
        )

    def _dialogue(self) -> Dialogue:
        return Dialogue(
            system=self._render("context_system").text,
            nodes=[self._node],
            cutoff=self._cutoff,
            ask=Relayed(prompts_of(self._ask), self._read),
            # The same bytes for all arms, so as little chance in them as can be.
            settings=replace(AgentSettings(), temperature=0.0),
        )

    async def _read(self, request: ModelRequest, *, stage: str, step: int, retry: int) -> ModelReply:
        return await self._ask(replace(request, role="reader"), stage=stage, step=step, retry=retry)
