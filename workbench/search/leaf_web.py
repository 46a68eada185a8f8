"""Search and open pages for one leaf as of its cutoff, through all four layers. Grounders call ``open_web``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from proxies.asof.asof_text import as_of
from proxies.errors import ANOTHER_WAY, CutoffRefused, ProxyError, Refused
from proxies.hashing import content_hash
from workbench.models.base import Message, ModelRequest
from workbench.models.thoughts import without_thoughts
from workbench.prompts import prompts_of
from workbench.quoting import seen
from workbench.search.base import FoundPage, PageText, SearchAnswer
from workbench.search.blocked_places import blocking_for, is_archive, unwrapped
from workbench.search.engines import ENGINES, Hit, Query, SearchEngine, since, wikipedia_url
from workbench.search.leak_filter import LeakFilter, Verdicts
from workbench.search.leak_rules import late_by_rule
from workbench.search.merged_results import merged, ranked
from workbench.search.pages import DatedCopy, blocked_lead, dated_copy
from workbench.search.quality import quality_of
from workbench.search.urls import canonical_url
from workbench.search.web_calls import (
    DataCaller,
    Fate,
    StepCalls,
    WebRecord,
)
from workbench.search.web_options import Layer, WebOptions

if TYPE_CHECKING:
    from proxies.asof.clock import Cutoff
    from workbench.models.base import Asker, NodeRef

__all__ = ["LeafWeb", "Verdicts", "WebOptions", "open_web"]

#: Most results that one search gives.
MOST_RESULTS = 25
#: Results that the filter reads for each one that is wanted: what it drops is to be replaced.
_SPARE = 2
#: Articles of Wikipedia of which the first paragraphs are read, since its search gives titles alone.
_LEADS = 4
_LEAD_CHARACTERS = 1500
#: Characters of a stored text that the filter reads at once.
_CHUNK = 20_000
#: Longest notes on a page that are passed on, in characters.
_MOST_NOTES = 6000
#: One sentence for every reason, so that an agent learns nothing from it.
NO_COPY = f"no copy of this page of before the cutoff can be read ({ANOTHER_WAY})"


def open_web(
    *,
    call_api: DataCaller,
    ask: Asker | None,
    node: NodeRef,
    cutoff: Cutoff,
    options: WebOptions | None = None,
    verdicts: Verdicts | None = None,
) -> LeafWeb:
    """Open the web of one leaf.

    `verdicts`: Of the run, so that its leaves and trials share them.
    """
    return LeafWeb(call_api, ask, node, cutoff, options or WebOptions(), verdicts or Verdicts())


@dataclass(frozen=True, slots=True)
class _EngineReply:
    """The hits of one engine, or the reason why it could not be asked."""

    engine: SearchEngine
    hits: list[Hit]
    answers: tuple[str, ...] = ()
    failure: str = ""


class LeafWeb:
    """A ``workbench.search.base.Web``. Made by ``open_web``; one for each leaf."""

    def __init__(
        self,
        call_api: DataCaller,
        ask: Asker | None,
        node: NodeRef,
        cutoff: Cutoff,
        options: WebOptions,
        verdicts: Verdicts,
    ) -> None:
        self._call_api = call_api
        self._ask = ask
        self._node = node
        self._cutoff = cutoff
        self._options = options
        # a live question has no later: nothing is to be kept out of it
        self._layers = frozenset() if cutoff.live else options.layers
        self._blocking = blocking_for(options.sources, (options.resolution_text, node.statement))
        self._filter = LeakFilter(ask, node=node, cutoff=cutoff, verdicts=verdicts) if ask else None
        self._searches = 0
        self._pages = 0
        # what engines stored of pages, with the answers it came in, by canonical address
        self._stored: dict[str, tuple[Hit, tuple[str, ...]]] = {}
        self.records: list[WebRecord] = []

    @property
    def engines(self) -> tuple[str, ...]:
        """Names of the engines that every search asks."""
        return self._options.asked_engines

    async def search(self, words: str, *, step: int, k: int = 10, retry: int = 0) -> SearchAnswer:
        """Return at most ``k`` results (25 at most), best first.

        Raises `Refused`: Nothing is left of the words without addresses and operators. Raises `ModelError`: The filter's model failed for
        good.
        """
        # counted before anything is awaited: parallel searches of a resumed step get the same ids
        self._searches += 1
        search = f"S{self._searches}"
        cleaned = self._blocking.query(words) if "blocking" in self._layers else " ".join(words.split())
        if not cleaned:
            raise Refused(
                "the search has no words: write what is looked for, without addresses and operators"
            )
        k = max(1, min(k, MOST_RESULTS))
        query = Query(words=cleaned, count=_SPARE * k, since=since(self._cutoff, self._options.days_back))
        replies = await asyncio.gather(
            *(self._ask_engine(ENGINES[name], query, step=step, retry=retry) for name in self.engines)
        )
        hits = [hit for reply in replies for hit in reply.hits]
        hits = merged(self._passed(search, hits, "blocking", self._blocked))
        hits = self._passed(search, hits, "rules", lambda hit: late_by_rule(hit, self._cutoff))
        hits = ranked(hits, cleaned)
        picked = await self._by_model(search, hits, k, step=step, retry=retry)
        answers = tuple(dict.fromkeys(digest for reply in replies for digest in reply.answers))
        results = []
        for number, hit in enumerate(picked, 1):
            self._stored[canonical_url(hit.url)] = (hit, answers)
            result = FoundPage(
                id=f"{search}.{number}",
                url=hit.url,
                title=hit.title,
                published=hit.published,
                text=_cut(hit.text, self._options.snippet_characters),
                engines=hit.engines,
                quality=quality_of(hit.url),
            )
            self._record(search, hit, "kept", id=result.id)
            results.append(result)
        return SearchAnswer(
            words=cleaned,
            results=tuple(results),
            answers=answers,
            failed=tuple((reply.engine.name, reply.failure) for reply in replies if reply.failure),
        )

    async def open_page(self, url: str, *, step: int, retry: int = 0) -> PageText:
        """Return a page as it stood before the cutoff: its revision, its newest archived copy, or an engine's stored text.

        A page that is longer than the options allow is read by the reader's model; its notes stand in for the text.

        Raises `CutoffRefused`: There is no such copy, or the page is blocked: the same words for both. Raises `SourceError`: The archive
        could not be asked.
        """
        self._pages += 1
        page = f"W{self._pages}"
        address = unwrapped(url.strip())
        reason = self._blocking.reason(address) if "blocking" in self._layers else ""
        if reason or not canonical_url(address):
            raise self._refusal(page, address, "blocking", reason or "no address")
        calls = self._calls(step, retry)
        failure: ProxyError | None = None
        copy: DatedCopy | None = None
        try:
            copy = await dated_copy(address, calls)
        except Refused:  # an address that the archive cannot be asked for
            copy = None
        except ProxyError as error:
            failure = error
        except TimeoutError:
            failure = CutoffRefused(NO_COPY)
        if (
            copy is not None
            and "blocking" in self._layers
            and (lead := blocked_lead(copy, address, self._blocking))
        ):
            raise self._refusal(page, address, "blocking", lead)
        refused = copy.refused if copy is not None else ""
        if copy is None or not copy.text:
            copy = await self._stored_text(page, address, step=step, retry=retry)
        if copy is None:
            reason = f"what it hides cannot be told: {refused}" if refused else "no dated copy"
            refusal = self._refusal(page, address, "copy", reason)
            raise failure or refusal
        text = await self._shortened(copy.text, step=step, retry=retry)
        hit = Hit(
            url=address, title=copy.title, published=copy.published, text=copy.text, engines=(copy.source,)
        )
        self._record(page, hit, "kept", id=page)
        return PageText(
            id=page,
            url=address,
            title=copy.title,
            published=copy.published,
            text=text,
            source=copy.source,
            answers=copy.answers,
        )

    # -- engines ---------------------------------------------------------------------------------------------

    def _calls(self, step: int, retry: int) -> StepCalls:
        return StepCalls(
            call_api=self._call_api, step=step, retry=retry, seconds=self._options.engine_seconds
        )

    async def _ask_engine(self, engine: SearchEngine, query: Query, *, step: int, retry: int) -> _EngineReply:
        calls = self._calls(step, retry)
        try:
            answer = await calls(engine.path, engine.params(query))
            hits, answers = engine.hits(answer.data), [answer.meta["content_hash"]]
            if engine.name == "wikipedia":
                leads = await asyncio.gather(*(self._lead(hit, calls) for hit in hits[:_LEADS]))
                hits = [lead[0] for lead in leads if lead is not None]
                answers += [digest for lead in leads if lead is not None for digest in lead[1]]
        except ProxyError as error:
            return _EngineReply(engine, [], failure=" ".join(str(error).split()))
        except TimeoutError:
            return _EngineReply(engine, [], failure=f"{engine.name} did not answer in time")
        return _EngineReply(engine, hits, tuple(answers))

    async def _lead(self, hit: Hit, calls: StepCalls) -> tuple[Hit, tuple[str, ...]] | None:
        """Replace a hit of Wikipedia's search by its revision's beginning and date; None without a revision before the cutoff."""
        copy = await dated_copy(hit.url, calls)
        if copy is None:
            return None
        text = copy.text[:_LEAD_CHARACTERS]
        return replace(hit, url=wikipedia_url(copy.title), title=copy.title, text=text, published=copy.published), copy.answers  # fmt: skip

    # -- layers ----------------------------------------------------------------------------------------------

    def _passed(
        self, search: str, hits: Sequence[Hit], layer: Layer, reason_of: Callable[[Hit], str]
    ) -> list[Hit]:
        """Return the hits against which a layer has no reason, where it is on, and record the others."""
        reasons = [reason_of(hit) if layer in self._layers else "" for hit in hits]
        for hit, reason in zip(hits, reasons, strict=True):
            if reason:
                self._record(search, hit, layer, reason)
        return [hit for hit, reason in zip(hits, reasons, strict=True) if not reason]

    def _blocked(self, hit: Hit) -> str:
        if reason := self._blocking.reason(hit.url):
            return reason
        return (
            "an archive's copy, which may be of any day: its page is opened by date instead"
            if is_archive(hit.url)
            else ""
        )

    async def _by_model(
        self, search: str, hits: Sequence[Hit], k: int, *, step: int, retry: int
    ) -> list[Hit]:
        """Keep the first ``k`` results that pass the filter; without a model simply the first ``k``."""
        if self._filter is None or "model" not in self._layers:
            self._over(search, hits[k:])
            return list(hits[:k])
        read = hits[: _SPARE * k]
        # what the agent will see, no more: the rest of a stored text is judged when the page is opened
        most = self._options.snippet_characters
        judged = await self._filter.judge(
            [replace(hit, text=_cut(hit.text, most)) for hit in read], step=step, retry=retry
        )
        passed = []
        for hit, verdict in zip(read, judged, strict=True):
            if verdict.keep:
                passed.append(hit)
            else:
                self._record(search, hit, "model", verdict.reason, model=verdict.model)
        self._over(search, [*passed[k:], *hits[_SPARE * k :]])
        return passed[:k]

    def _over(self, search: str, hits: Sequence[Hit]) -> None:
        for hit in hits:
            self._record(search, hit, "rest", "more results than were asked for")

    async def _stored_text(self, page: str, url: str, *, step: int, retry: int) -> DatedCopy | None:
        """Return an engine's stored text of a page, if all of it passes layer 2; else None.

        A snippet is no page, and of the day of a stored text there is only the engine's word: so every part of it is read.
        """
        hit, answers = self._stored.get(canonical_url(url), (None, ()))
        if hit is None or len(hit.text) <= self._options.snippet_characters:
            return None
        if "rules" in self._layers and (reason := late_by_rule(hit, self._cutoff)):
            self._record(page, hit, "rules", reason)
            return None
        if self._filter is not None and "model" in self._layers:
            parts = [hit.text[place : place + _CHUNK] for place in range(0, len(hit.text), _CHUNK)]
            chunks = [replace(hit, text=part) for part in parts]
            # behind every batch of a search at this step
            judged = await self._filter.judge(chunks, step=step, retry=retry + 500)
            late = next((verdict for verdict in judged if not verdict.keep), None)
            if late is not None:
                self._record(page, hit, "model", late.reason, model=late.model)
                return None
        return DatedCopy(
            title=hit.title, published=hit.published, text=hit.text, source="engine", answers=answers
        )

    # -- what is handed on -----------------------------------------------------------------------------------

    async def _shortened(self, text: str, *, step: int, retry: int) -> str:
        above = self._options.summary_above
        if self._ask is not None and above is not None and len(text) > above:
            notes = await page_summary(
                _cut(text, 4 * self._options.page_characters),
                node=self._node,
                cutoff=self._cutoff,
                ask=self._ask,
                step=step,
                retry=retry,
            )
            if notes:
                return f"Notes of a reader on this page of {len(text)} characters:\n{notes}"
        return _cut(text, self._options.page_characters)

    def _refusal(self, page: str, url: str, fate: Fate, reason: str) -> CutoffRefused:
        hit = Hit(url=url, title="", published="", text="", engines=())
        self._record(page, hit, fate, reason)
        return CutoffRefused(NO_COPY)

    def _record(
        self, search: str, hit: Hit, fate: Fate, reason: str = "", *, id: str = "", model: str = ""
    ) -> None:
        self.records.append(
            WebRecord(
                search=search,
                url=hit.url,
                title=hit.title,
                published=hit.published,
                engines=hit.engines,
                fate=fate,
                reason=reason,
                id=id,
                model=model,
                text_hash=content_hash(hit.text),
            )
        )


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most].rstrip()} [cut: {len(text) - most} more characters]"


async def page_summary(text: str, *, node: NodeRef, cutoff: Cutoff, ask: Asker, step: int, retry: int) -> str:
    """Ask for notes on a page with a proposition in mind; "" if the model gave none.

    Raises `ModelError`: The model failed for good.
    """
    prompts = prompts_of(ask)
    render = prompts.render
    prompt = render(
        "page_summary",
        question=as_of(node.statement, cutoff, kind="title"),
        cutoff=cutoff.shown,
        page=prompts.marks.quoted(text, "page"),
    )
    request = ModelRequest(
        messages=(
            Message(role="system", content=render("page_summary_system")),
            Message(role="user", content=prompt),
        ),
        stage="summary",
        cutoff=cutoff.shown,
        nodes=(node,),
        role="reader",
    )
    reply = await ask(request, stage="summary", step=step, retry=retry)
    return (
        seen(without_thoughts(reply.text)).strip()[:_MOST_NOTES]
        if reply.finish in ("complete", "truncated")
        else ""
    )
