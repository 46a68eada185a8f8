"""The web as of a cutoff, through the same four layers as an agent's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Annotated, Any, ClassVar

from pydantic import Field

from proxies.asof.clock import Cutoff
from proxies.errors import CutoffRefused
from workbench.errors import PROVIDER
from workbench.operations.base import Home, Operation
from workbench.operations.blocks import Block, Remark
from workbench.operations.fields import ApiBase, Count, CutoffText
from workbench.search.web_options import WebOptions


class WebLook(Operation):
    """What a search and a page have in common."""

    short = ("cutoff", "k", "source", "model")
    unlisted = ("audit",)
    person = ("question", "source", "model", "api_base", "audit", "engines")

    refusal_is_answer: ClassVar[bool] = True

    question: str = ""
    """The claim behind the search: the model judges with it, and addresses in it are blocked."""
    source: list[str] = []
    """Where the question comes from (polymarket, fred, ...): its sites are blocked. Repeatable."""
    model: str | None = None
    """Model that reads results and pages for later knowledge; without one rules alone do (docs/trust/search.md has what either misses and loses)."""
    api_base: ApiBase = None
    audit: bool = False
    """Also what was removed, with verdict and reason. May tell what came after the cutoff."""

    def look(self, home: Home, cutoff: Cutoff, question: str, engines: tuple[str, ...] | None = None) -> Any:
        """Return the web to look at; ``question`` stands for a person's where they named none."""
        return home.web(
            cutoff,
            question=self.question if home.for_model else self.question or question,
            options=WebOptions(engines=engines, sources=tuple(self.source), resolution_text=self.question),
            model=self.model,
            api_base=self.api_base,
        )


class Search(WebLook):
    """Search the web as of a cutoff."""

    tool = "Search the web as it was known at the cutoff; dated results with ids."
    places = ("words",)
    joined = ("words",)

    words: Annotated[str, Field(min_length=1, max_length=400)]
    """What is looked for."""
    cutoff: CutoffText
    k: Count = 10
    """Most results, 25 at most."""
    engines: str = ""
    """Engines by name, with commas; without it all that work here."""

    async def answer(self, home: Home) -> dict[str, Any]:
        """Return the web's results for the words; every look is kept in the ledger of a run of its own, ``search``."""
        cutoff = Cutoff.parse(self.cutoff)
        engines = tuple(name.strip() for name in self.engines.split(",") if name.strip()) or None
        web = self.look(home, cutoff, self.question or self.words, engines)
        answer, records = await web.search(self.words, self.k)
        return {
            "words": answer.words,
            "cutoff": cutoff.text,
            "results": [asdict(result) | {"engines": list(result.engines)} for result in answer.results],
            "asked": len(web.web.engines),
            "failed": [{"engine": name, "reason": reason} for name, reason in answer.failed],
            "read_by": self.model or "rules",
            **({"records": [record.to_json() for record in records]} if self.audit else {}),
        }

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return three lines for each result, and which engines could not be asked."""
        for failure in document["failed"]:
            yield Remark(f"not asked: {failure['engine']}: {failure['reason']}")
        if self.model is None and self.cutoff not in ("now", "live"):
            yield Remark(
                "no model read these results for later knowledge, rules alone did: name one with --model"
            )
        for result in document["results"]:
            yield f"{result['id']}  {result['title']}"
            engines = ", ".join(result["engines"])
            yield f"      {result['published'][:10] or 'no date'}  {result['quality']}  {result['url']}  ({engines})"
            if result["text"]:
                yield f"      {result['text']}"
        if self.exit_code(document):
            yield Remark("workbench: no engine could be asked; workbench doctor says which keys are set")
        elif not document["results"]:
            yield Remark("nothing was found: try other words")
        yield from _records(document)

    def exit_code(self, document: dict[str, Any]) -> int:
        """Return that of a provider that did not answer where no engine did."""
        return PROVIDER if document["asked"] == len(document["failed"]) else 0


class PageRefused(CutoffRefused):
    """A page was refused to a person who audits it; the records of its ``document`` say why."""

    def __init__(self, reason: str, records: list[dict[str, Any]]) -> None:
        super().__init__(reason)
        self.document = {"records": records}


class Page(WebLook):
    """Read a page as it was before a cutoff: a revision, or the archive's copy. A model summarizes a long page."""

    tool = "Read a page as it stood at the cutoff; refused where there is no dated copy."
    places = ("url",)

    url: Annotated[str, Field(min_length=1, max_length=2000)]
    """The page's whole address."""
    cutoff: CutoffText

    async def answer(self, home: Home) -> dict[str, Any]:
        """Return the page; raises ``ProxyError`` where there is no dated copy, or it is blocked: the same words for both.

        With ``audit`` that is a `PageRefused`, whose records tell them apart.
        """
        cutoff = Cutoff.parse(self.cutoff)
        # not the address: those in a question are blocked
        web = self.look(home, cutoff, self.question or "What does the page say?")
        try:
            copy = await web.open_page(self.url)
        except CutoffRefused as refusal:
            records = [record.to_json() for record in web.taken_records()]
            if not self.audit:
                raise
            raise PageRefused(refusal.reason, records) from None
        records = [record.to_json() for record in web.taken_records()]
        return {
            **asdict(copy),
            "answers": list(copy.answers),
            "cutoff": cutoff.text,
            **({"records": records} if self.audit else {}),
        }

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return the page's head and its text."""
        yield f"{document['title'] or document['url']}\n{document['url']}\n{document['source']} of {document['published']}\n"
        yield document["text"]
        yield from _records(document)


def _records(document: Mapping[str, Any]) -> Iterator[Block]:
    if document.get("records"):
        yield "\nwhat became of every result:"
    for record in document.get("records", []):
        reason = f": {record['reason']}" if record["reason"] else ""
        yield f"  {record['fate']:8} {record['url']}{reason}"
