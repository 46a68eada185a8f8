"""``search`` and ``open_page``: the web of a leaf as tools; snippets first, pages on demand (BLF, App. C.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from workbench.agents.loop.tool_box import Observation, Tool, ToolPlace, ToolSource, tool_spec
from workbench.quoting import one_line, quote

if TYPE_CHECKING:
    from workbench.search.base import FoundPage, Web

#: Characters of one snippet in the dialogue; the whole text is a page away.
SNIPPET = 700
#: And of one page.
PAGE = 6000


@dataclass(frozen=True, slots=True)
class SearchTool(Tool):
    """Searches; keeps the addresses of what it gave, so that a page can be opened by its id."""

    web: Web
    results: int = 10
    addresses: dict[str, str] = field(default_factory=dict)

    spec = tool_spec("search")

    async def call(self, arguments: Mapping[str, Any], place: ToolPlace) -> Observation:
        """Search once."""
        words = str(arguments["words"]).strip()
        if not words:
            return Observation(text="search needs words.", failed=True)
        answer = await self.web.search(words, step=place.address, k=self.results)
        lines: list[str] = []
        marks: set[str] = set()
        sources = []
        for number, page in enumerate(answer.results[: self.results], 1):
            identity = place.id("S", number)
            snippet = quote(page.text, SNIPPET)
            heading = quote(page.title, SNIPPET)
            marks.update((*snippet.marks, *heading.marks))
            self.addresses[identity] = page.url
            source = _source(identity, page)
            sources.append(source)
            about = [source.published or "undated", page.quality, *page.engines]
            lines.append(
                f"[{identity}] {', '.join(about)}\n| {source.title}\n| {source.origin}\n{snippet.text}"
            )
        absent = "".join(
            f"\n(not asked: {one_line(name, 40)}, {one_line(why, 160)})" for name, why in answer.failed
        )
        if not lines:
            return Observation(
                text=f"No dated result for these words before the cutoff. Try other words.{absent}",
                answers=answer.answers,
                failed=True,
            )
        return Observation(
            text="\n\n".join(lines) + absent,
            answers=answer.answers,
            sources=tuple(sources),
            marks=tuple(sorted(marks)),
        )


@dataclass(frozen=True, slots=True)
class OpenPageTool(Tool):
    """Opens a page by the id of a result or by its address."""

    search: SearchTool

    spec = tool_spec("open_page")

    async def call(self, arguments: Mapping[str, Any], place: ToolPlace) -> Observation:
        """Open one page."""
        wanted = str(arguments["page"]).strip().strip("[]")
        url = self.search.addresses.get(wanted, wanted)
        if not url.startswith(("http://", "https://")):
            return Observation(
                text=f"{one_line(wanted, 60)!r} is neither the id of a search result nor an address.",
                failed=True,
            )
        page = await self.search.web.open_page(url, step=place.address)
        identity = wanted if wanted in self.search.addresses else place.id("W")
        body = quote(page.text, PAGE)
        title = one_line(page.title)
        text = (
            f"[{identity}] {page.published or 'undated'}, copy: {one_line(page.source, 40)}\n| {title}\n| {one_line(page.url)}\n"
            f"{body.text}"
        )
        source = ToolSource(id=identity, title=title, origin=one_line(page.url), published=page.published)
        return Observation(text=text, answers=page.answers, sources=(source,), marks=body.marks)


def _source(identity: str, page: FoundPage) -> ToolSource:
    return ToolSource(
        id=identity,
        title=one_line(page.title),
        origin=one_line(page.url),
        published=one_line(page.published, 40),
    )
