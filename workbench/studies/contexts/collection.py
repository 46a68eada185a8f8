"""Gathering contexts: per question and time a few searches under its cutoff, ten ranked sources, and the market as it stood.

Called by ``questions contexts`` and by a tournament night. Data calls and replies are kept in the ledgers under the set's own
name, at addresses that follow from the question and its time: what was asked before a kill is not asked again.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from proxies.asof.asof_text import as_of, emptied_line, joined
from proxies.asof.clock import Cutoff
from proxies.catalogue import Availability, Catalogue
from proxies.errors import ProxyError
from proxies.ledger import Address, Answer
from workbench.agents.context_maker import MOST_READ, ContextMaker, RankedSource
from workbench.agents.errors import AgentGaveUp
from workbench.engine.access.model_gateway import spending
from workbench.engine.access.own_web import own_asker, own_prompts
from workbench.environment import proxy_settings
from workbench.errors import BudgetStop, Option, UsageError, command
from workbench.formatting import counted
from workbench.models.base import Asker, NodeRef
from workbench.models.costs import price_of
from workbench.models.errors import AccountRefused, MissingProviderKey, ModelError
from workbench.questions.as_of import criteria_as_of
from workbench.questions.question import Question
from workbench.search.base import FoundPage, SearchAnswer, Web
from workbench.search.engines import usable_engines
from workbench.search.leaf_web import open_web
from workbench.search.leak_filter import Verdicts
from workbench.search.urls import canonical_url
from workbench.search.web_options import WebOptions
from workbench.store import ApiLedger, Store
from workbench.studies.contexts.context import MOST_SOURCES, ContextSource, SharedContext
from workbench.studies.contexts.context_store import SORT, StoredContext, store_context, stored_contexts
from workbench.studies.contexts.market_snapshot import market_snapshot
from workbench.studies.study_exam import known_context

if TYPE_CHECKING:
    from proxies.broker import Broker

_LIVE_FOR = timedelta(hours=1)
#: "by June 2027", "before 2027-03-01", "on 3 May 2027".
_BY_WHEN = re.compile(
    r"\b(?:(?:by|before|on|until|through|after|in)\s+)?(?:the end of\s+)?"
    r"(?:\d{4}-\d{2}-\d{2}|(?:\d{1,2}\s+)?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?(?:\s+\d{1,2})?,?\s+20\d{2}|20\d{2})\b",
    re.IGNORECASE,
)
_SUMMARY = 420  # characters of a snippet that stands as a summary where no model writes one
#: Input and output tokens of one context's calls: searches, two filter batches for each of them; the ranking writes so much and
#: reads so much of each source.
_QUERY_TOKENS, _FILTER_TOKENS, _RANKED_TOKENS, _READ_TOKENS = (600, 150), (4_500, 250), 900, 300
#: Characters of the context that comes of it, about.
USUAL_LENGTH = 4_500


@dataclass(frozen=True, slots=True, kw_only=True)
class GatherOptions:
    """How contexts are gathered."""

    #: Searches, filters, ranks and sums up; None: rules alone.
    model: str | None = None
    api_base: str | None = None
    #: None: those that work here.
    engines: tuple[str, ...] | None = None
    #: Searches of one context.
    queries: int = 4
    #: Whether they are for the question's own words, so that no model is asked what to search for.
    own_words: bool = False
    #: Results of one search.
    results: int = 10
    #: Of this sitting.
    budget_usd: float | None = None
    #: A person's own, per million tokens, by model.
    prices: Mapping[str, Sequence[float]] = field(default_factory=dict)
    #: Contexts in work at once.
    concurrency: int = 4
    #: Stream that replies and data calls are kept and counted under, in place of the set's: a tournament night's, whose budget then counts
    #: what earlier sittings spent, and whose live contexts go on with what was answered, however long ago that was.
    account: str = ""
    #: Of the data calls under an ``account``: what sources answered to an earlier attempt, refusals too, is asked anew.
    attempt: int = 0

    def __post_init__(self) -> None:
        for name in ("queries", "results", "concurrency"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} must be at least 1, not {getattr(self, name)}")


def one_search(model: str | None, **named: Any) -> GatherOptions:
    """Options of the cheapest context: the question's own words, and one call that reads what was found."""
    return GatherOptions(model=model, queries=2, own_words=True, **named)


class Wanted(NamedTuple):
    """A context to be gathered: of which question, as of when."""

    question: Question
    cutoff: Cutoff


class Gathered(NamedTuple):
    """What became of a wish: the context on record, or why there is none; ``fresh`` unless it stood there before."""

    wanted: Wanted
    stored: StoredContext | None
    reason: str = ""
    fresh: bool = False


def missing_contexts(store: Store, set_name: str, wanted: Sequence[Wanted]) -> list[Wanted]:
    """Those of the wishes that are not on record; a live one stands for an hour, so that a killed sitting goes on."""
    rows = stored_contexts(store, set_name)
    newest = {(row.question, row.cutoff): row.moment for row in rows}

    def stands(wish: Wanted) -> bool:
        key = (wish.question.id, wish.cutoff.text)
        return key in newest and (not wish.cutoff.live or wish.cutoff.instant - newest[key] < _LIVE_FOR)

    return [wish for wish in wanted if not stands(wish)]


def context_cost(count: int, options: GatherOptions, *, live: bool) -> tuple[int, float | None]:
    """Model calls and dollars that so many contexts are expected to take; dollars None where the price is not known.

    A live question has no later that a filter would keep out of it.
    """
    if options.model is None:
        return 0, 0.0
    filters = 0 if live else 2 * options.queries
    ranking = (_READ_TOKENS * min(MOST_READ, options.queries * options.results), _RANKED_TOKENS)
    stages = (*[_QUERY_TOKENS] * (not options.own_words), *[_FILTER_TOKENS] * filters, ranking)
    calls = count * len(stages)
    if options.model.startswith("offline/"):
        return calls, 0.0

    price = price_of(options.model, options.prices)
    if price is None:
        return calls, None
    return calls, count * sum(price.input * read + price.output * written for read, written in stages)


def engines_here(
    store: Store, environ: Mapping[str, str], cutoff: Cutoff, catalogue: Catalogue | None = None
) -> tuple[str, ...]:
    """The search engines that can be asked at a cutoff, with the keys that are set."""
    settings = proxy_settings(environ, store.home)
    available = Availability.of(settings.keys, cutoff, network=settings.network)
    return usable_engines(catalogue or settings.catalogue(), available)


@asynccontextmanager
async def open_gatherer(
    store: Store, set_name: str, *, environ: Mapping[str, str], options: GatherOptions
) -> AsyncIterator["ContextGatherer"]:
    """Yield what gathers the contexts of a set; broker and connections are closed when the block ends.

    Raises `UsageError`: No such model or engine, a budget without a known price, or the offline analyst, which reads no text.
    """
    from proxies.broker import open_broker

    if options.model is not None and options.model.startswith("offline/"):
        raise UsageError(
            f"{options.model} cannot read text: name another ",
            Option("model"),
            " for contexts, or none to use rules alone",
        )
    ask = None
    if options.model is not None:
        ask = own_asker(
            store,
            options.model,
            options.api_base,
            run=options.account or f"{SORT}:{set_name}",
            budget_usd=options.budget_usd,
            spent_usd=spending(store, options.account).usd if options.account else 0.0,
            prices=options.prices,
        )
    broker = open_broker(proxy_settings(environ, store.home))
    try:
        yield ContextGatherer(store, set_name, broker, ask, options, environ)
    finally:
        await broker.aclose()


class ContextGatherer:
    """Gathers contexts of one set; made by `open_gatherer`."""

    def __init__(
        self,
        store: Store,
        set_name: str,
        broker: "Broker",
        ask: "Asker | None",
        options: GatherOptions,
        environ: Mapping[str, str],
    ) -> None:
        self._store = store
        self._set = set_name
        self._broker = broker
        self._ask = ask
        self._options = options
        self._environ = environ
        self._verdicts = Verdicts(model=options.model or "", prompts=own_prompts(store))
        #: Of live questions, by the words that were searched for.
        self._answers: dict[str, asyncio.Future[SearchAnswer]] = {}

    async def gather_all(
        self, wanted: Sequence[Wanted], *, say: Callable[[str], None] = lambda line: None
    ) -> list[Gathered]:
        """Gather every wish and put it on record as soon as it is whole; one that fails does not stop the others.

        Raises `BudgetStop`, `AccountRefused`, `MissingProviderKey`: The budget is used up, or the model serves nobody with this account;
        what is on record stays, the same command goes on.
        """
        gate = asyncio.Semaphore(self._options.concurrency)
        stop: list[BudgetStop | AccountRefused | MissingProviderKey] = []

        async def fulfil(wish: Wanted) -> Gathered:
            async with gate:
                if stop:
                    return Gathered(wish, None, str(stop[0]))
                try:
                    context = await self.gather(wish)
                except (BudgetStop, AccountRefused, MissingProviderKey) as error:
                    stop.append(error)
                    return Gathered(wish, None, str(error))
                except (UsageError, ProxyError, ModelError, AgentGaveUp, TimeoutError) as error:
                    reason = " ".join(str(error).split()) or type(error).__name__
                    say(f"no context of {wish.question.id}: {reason}")
                    return Gathered(wish, None, reason)
                stored = store_context(self._store, self._set, context)
                say(
                    f"{wish.question.id}: {counted(len(context.sources), 'source')} as of {context.instant[:16]}"
                )
                return Gathered(wish, stored, fresh=True)

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(fulfil(wish)) for wish in wanted]
        if stop:
            raise stop[0]
        return [task.result() for task in tasks]

    async def gather(self, wish: Wanted) -> SharedContext:
        """Gather one context; nothing is on record before it is whole.

        Raises `UsageError`: No engine could be asked at all: an empty context would stand for ever. Raises `ModelError, AgentGaveUp`: The
        model failed for good, or gave nothing that can be read.
        """
        question, cutoff = wish
        title = as_of(question.title, cutoff, kind="title")
        shown = joined([title, known_context(question, "", cutoff).lines()], "\n", cutoff)
        if (criteria := criteria_as_of(question, cutoff)).emptied or not title:
            raise UsageError(
                emptied_line("its resolution criteria" if criteria.emptied else "its text", cutoff)
            )
        statement = shown.text
        call_api = self._caller(question, cutoff)
        web = open_web(
            call_api=call_api,
            ask=self._ask,
            node=NodeRef(id="-", statement=statement),
            cutoff=cutoff,
            options=self._web_options(question, cutoff),
            verdicts=self._verdicts,
        )
        if not web.engines:
            raise UsageError("no search engine works here: ", command("doctor"), " says which keys are set")
        maker = ContextMaker(shown, cutoff, self._ask) if self._ask is not None else None
        queries = (
            await maker.queries(self._options.queries)
            if maker and not self._options.own_words
            else _own_queries(question, cutoff, self._options)
        )
        pages: dict[str, FoundPage] = {}
        failed: dict[str, str] = {}
        for step, words in enumerate(queries):
            answer = await self._searched(web, words, step, cutoff)
            failed |= dict(answer.failed)
            for page in answer.results:
                pages.setdefault(canonical_url(page.url), page)
        if len(failed) == len(web.engines) and not pages:
            name, reason = next(iter(failed.items()))
            raise UsageError(f"no engine could be asked, the first is {name}: {reason}")
        ranked = await self._ranked(maker, list(pages.values()))

        async def call(path: str, params: Mapping[str, Any], number: int) -> Any:
            # behind the steps of all searches
            answer = await call_api(path, params, step=1000 + number)
            return answer.data

        quotes, unquoted = await market_snapshot(question, cutoff, call)
        return SharedContext(
            question=question.id,
            cutoff=cutoff.text,
            instant=cutoff.instant.isoformat(timespec="seconds"),
            sources=tuple(
                ContextSource(
                    title=source.page.title[:200],
                    published=source.page.published[:10],
                    summary=source.summary,
                    url=source.page.url,
                )
                for source in ranked
            ),
            quotes=quotes,
            ranked_by=self._options.model or "rules",
            queries=tuple(queries),
            failed=(*failed.items(), *unquoted),
        )

    async def _searched(self, web: Web, words: str, step: int, cutoff: Cutoff) -> SearchAnswer:
        """Search; close questions of one moment that search for the same words share one answer.

        Of a cutoff in the past each question has filters of its own.
        """
        key = " ".join(words.casefold().split())
        if not cutoff.live:
            return await web.search(words, step=step, k=self._options.results)
        if key not in self._answers:
            searching = web.search(words, step=step, k=self._options.results)
            self._answers[key] = asyncio.ensure_future(searching)
        return await self._answers[key]

    async def _ranked(self, maker: ContextMaker | None, pages: list[FoundPage]) -> list[RankedSource]:
        if not pages:
            return []
        if maker is not None:
            return await maker.rank(pages, MOST_SOURCES)
        # Round by round over the searches each page stands where its engine had it; the order of the first search goes first.
        return [
            RankedSource(page=page, summary=" ".join(page.text.split())[:_SUMMARY])
            for page in pages[:MOST_SOURCES]
        ]

    def _web_options(self, question: Question, cutoff: Cutoff) -> WebOptions:
        engines = self._options.engines
        if engines is None:
            engines = engines_here(self._store, self._environ, cutoff, self._broker.catalogue)
        resolution = " ".join((question.criteria, question.resolution_source, question.url))
        return WebOptions(engines=engines, sources=(question.source,), resolution_text=resolution)

    def _caller(self, question: Question, cutoff: Cutoff) -> "_ContextCalls":
        # A live context that is gathered again within the hour goes on with what was answered; later ones ask anew.
        live = "now" if self._options.account else f"{cutoff.instant:%Y-%m-%dT%H}"
        when = live if cutoff.live else cutoff.text
        place = Address(
            run=self._options.account or f"{SORT}:{self._set}",
            node=f"{question.id}@{when}",
            trial=0,
            attempt=self._options.attempt,
            stage="tool",
            step=0,
            retry=0,
        )
        return _ContextCalls(self._broker.session(cutoff, ApiLedger(self._store)), place)


@dataclass(frozen=True, slots=True)
class _ContextCalls:
    """The data calls of one context, a ``DataCaller`` at its own place in the ledger."""

    session: Any
    place: Address

    async def __call__(self, path: str, params: Mapping[str, Any], *, step: int, retry: int = 0) -> Answer:
        answer: Answer = await self.session.call(
            path, dict(params), replace(self.place, step=step, retry=retry)
        )
        return answer


def _own_queries(question: Question, cutoff: Cutoff, options: GatherOptions) -> list[str]:
    title = as_of(question.title, cutoff, kind="title").text
    # The day that it is decided is no word of the news, and close questions differ in nothing else.
    words = " ".join(_BY_WHEN.sub(" ", title).rstrip("? ").split())[:200] or title
    options_shown = (as_of(option, cutoff, kind="label").text for option in question.options)
    queries = [words, f"{words} forecast", *(f"{words} {option}" for option in options_shown)]
    return list(dict.fromkeys(queries))[: options.queries]
