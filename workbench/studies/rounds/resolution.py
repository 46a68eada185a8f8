"""How questions and runs came out, without a person: claims on the embedded series, what a venue has settled, what dated pages say."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from proxies.asof.asof_text import as_of, joined
from proxies.asof.clock import Cutoff
from proxies.broker import open_broker
from proxies.errors import ProxyError
from proxies.settings import ProxySettings
from proxies.vendors.metaculus import MetaculusSite
from workbench.agents.errors import AgentGaveUp
from workbench.agents.resolver import OPEN, Reading, read_outcome
from workbench.annotations.outcomes import known_outcome, resolve_when_finished
from workbench.backtests.question_quantiles import SeriesReader, known_values
from workbench.engine.record.fold import load_state
from workbench.errors import ProviderError, UsageError, WorkbenchError
from workbench.models.base import Asker
from workbench.models.errors import AccountRefused, ModelError
from workbench.questions.formats import metaculus
from workbench.questions.formats.base import Resolution
from workbench.questions.formats.venues import (
    kalshi_events,
    polymarket_events,
    read_kalshi,
    read_polymarket,
)
from workbench.questions.question import Question, events_of
from workbench.questions.sets import proposals
from workbench.questions.sets import question_sets as book
from workbench.questions.sets.schedule import closing
from workbench.questions.worded_answers import outcomes_of, values_of
from workbench.search.base import FoundPage
from workbench.search.urls import canonical_url
from workbench.store import Store
from workbench.store import events as ev
from workbench.studies.study_exam import known_context

if TYPE_CHECKING:
    from workbench.engine.access.own_web import OwnWeb

#: One live call through the broker: path and parameters in, the answer's data out.
VenueCall = Callable[[str, Mapping[str, Any]], Awaitable[Any]]


async def resolve_open(store: Store, call: VenueCall, site: MetaculusSite) -> dict[str, Any]:
    """Record every outcome that can be known by now; one source that fails does not stop the others.

    Return the ``runs`` that are resolved, how many outcomes were recorded by set (``sets``), and who could not be asked (``failed``).
    """
    now = datetime.now(UTC)
    resolved: dict[str, Any] = {"runs": [], "sets": {}, "failed": []}
    for run_id in store.run_ids():
        try:
            if load_state(store, run_id).annotations.outcome is None:
                await resolve_when_finished(store, run_id)
                if load_state(store, run_id).annotations.outcome is not None:
                    resolved["runs"].append(run_id)
        except WorkbenchError as error:  # a damaged run is no reason to leave the others open
            resolved["failed"].append({"id": run_id, "reason": " ".join(str(error).split())})
    for name in store.streams(book.SORT):
        count = await resolve_from_series(store, name)
        count += await _from_venues(store, name, call, site, now, resolved)
        if count:
            resolved["sets"][name] = count
    return resolved


async def resolve_from_series(store: Store, name: str) -> int:
    """Record what the embedded series decide of a set, and return how many; a question in words they do not know stays open."""
    came = []
    questions = book.load_set(store, name).questions.values()
    for question in questions:
        if question.kind != "binary" or question.outcomes or not question.asked_on:
            continue
        known = await known_outcome(question.title, Cutoff.parse(question.asked_on))
        if known is not None:
            came.append(Resolution(question.id, float(known.true), known.day.isoformat()))
    count = book.record_resolutions(store, name, came, source="series")
    numeric = [question for question in questions if question.kind == "numeric"]
    if not numeric:
        return count
    broker = open_broker(ProxySettings())  # the embedded series need no key and no home
    try:
        values, on = await known_values(numeric, SeriesReader(broker))
    finally:
        await broker.aclose()
    numbers = [Resolution(target, value, on[target], numeric=True) for target, value in values.items()]
    return count + book.record_resolutions(store, name, numbers, source="series")


async def _from_venues(
    store: Store, name: str, call: VenueCall, site: MetaculusSite, now: datetime, resolved: dict[str, Any]
) -> int:
    count = 0
    for question in book.load_set(store, name).questions.values():
        close = closing(question)
        if question.source not in _VENUES or (close is not None and close > now):
            continue
        if len(question.outcomes) == len(events_of(question)) and (question.outcomes or question.values):
            continue
        try:
            settled = await _ask(question, call, site)
        except (ProxyError, TimeoutError) as error:
            reason = " ".join(str(error).split()) or "no answer"
            resolved["failed"].append({"id": f"{name}/{question.id}", "reason": reason})
            continue
        if settled is None:
            continue
        day = settled.resolved_on or now.date().isoformat()
        own = {event.id for event in events_of(question)}
        numeric = bool(settled.values)
        parts = settled.values or {event: p for event, p in settled.outcomes.items() if event in own}
        came = [Resolution(part, p, day, numeric) for part, p in parts.items()]
        count += book.record_resolutions(store, name, came, source="file")
    return count


_VENUES = ("kalshi", "polymarket", "metaculus")


async def _ask(question: Question, call: VenueCall, site: MetaculusSite) -> Question | None:
    """A question as its venue states it now, with what it came to; None where it is no longer told."""
    if question.source == "metaculus":
        # ids of other kinds are of somebody else's file, and without an account the site shows little
        if not (site.has_token and question.id.isdigit() and question.source_id.isdigit()):
            return None
        reading = metaculus.read_questions([await site.post(question.source_id)])
    elif question.source == "kalshi":
        params = {"event_ticker": question.source_id, "with_nested_markets": True}
        events = kalshi_events(await call("kalshi/event", params))
        reading = read_kalshi(events or [])
    else:
        answer = await call("polymarket/event", {"slug": question.source_id})
        reading = read_polymarket(polymarket_events([answer]) or [])
    return next((each for each in reading.questions if each.id == question.id), None)


#: Rounds of searches for one question, results of a search, and questions in work at once.
_ROUNDS, _RESULTS, _TOGETHER = 3, 8, 4


@dataclass(slots=True, kw_only=True)
class Proposer:
    """Looks for how questions of a set came out and puts proposals on its log; records no outcome."""

    store: Store
    set_name: str
    web: "OwnWeb"
    ask: Asker
    model: str
    cutoff: Cutoff

    async def propose(
        self, questions: Sequence[Question]
    ) -> tuple[list[ev.OutcomeProposed], list[dict[str, str]]]:
        """Return the proposals, each on record as soon as it is made, and the questions that could not be looked into.

        Raises `BudgetStop`, `AccountRefused`: The next call may pass the budget, or the model serves nobody with this account; what is
        made stands.
        """
        made: list[ev.OutcomeProposed] = []
        failed: list[dict[str, str]] = []
        places = asyncio.Semaphore(_TOGETHER)

        async def one(question: Question) -> None:
            async with places:
                try:
                    made.append(await self._one(question))
                except AccountRefused:
                    raise  # no other question would be answered either
                except (AgentGaveUp, ModelError, ProxyError, ProviderError, TimeoutError) as error:
                    failed.append({"id": question.id, "reason": " ".join(str(error).split()) or "no answer"})

        await asyncio.gather(*(one(question) for question in questions))
        return made, failed

    async def _one(self, question: Question) -> ev.OutcomeProposed:
        pages: dict[str, FoundPage] = {}
        words: Sequence[str] = (question.title,)
        for _ in range(_ROUNDS):
            for search in words:
                await self._search(search, pages)
            reading = await self._read(question, list(pages.values()))
            words = reading.searches
            if reading.answer != OPEN or not words:
                break
        return proposals.propose(
            self.store,
            self.set_name,
            question,
            "" if reading.answer == OPEN else reading.answer,
            [
                proposals.Source(
                    url=each.page.url, title=each.page.title, published=each.page.published[:10],
                    quote=each.quote, text=each.page.text,
                )
                for each in reading.quotations
            ],
            model=self.model,
            reasons=reading.reasons,
            today=self.cutoff.instant.date(),
        )  # fmt: skip

    async def _search(self, words: str, pages: dict[str, FoundPage]) -> None:
        answer, _ = await self.web.search(words, _RESULTS)
        if answer.failed and not answer.results and len(answer.failed) == len(self.web.web.engines):
            raise ProviderError(f"no search engine could be asked: {answer.failed[0][1]}")
        for result in answer.results:
            address = canonical_url(result.url)
            if address not in pages:
                pages[address] = await self._whole(result)

    async def _whole(self, result: FoundPage) -> FoundPage:
        """The page behind a result where it can be read, else what the engine has of it."""
        try:
            page = await self.web.open_page(result.url)
        except (ProxyError, TimeoutError):
            return result
        return replace(result, text=page.text, published=result.published or page.published)

    async def _read(self, question: Question, pages: Sequence[FoundPage]) -> Reading:
        asked = known_context(question, "", self.cutoff).lines()
        return await read_outcome(
            joined([as_of(question.title, self.cutoff), asked], "\n\n", self.cutoff),
            _answers(question),
            pages,
            fits=lambda answer: _unfit(question, answer),
            cutoff=self.cutoff,
            ask=self.ask,
        )


def ready_questions(store: Store, name: str, now: datetime) -> list[Question]:
    """Questions of a set, day by day where they have several, whose time is over, that have no answer, and none proposed that could be accepted."""
    standing = proposals.proposals(store, name)
    ready = []
    parts = (each for question in book.load_set(store, name).questions.values() for each in proposals.answerable(question))  # fmt: skip
    for part in parts:
        close, proposed = closing(part.asked), standing.get(part.asked.id)
        over = close is not None and close <= now
        if over and not part.settled and (proposed is None or proposed.lacking or not proposed.answer):
            ready.append(part.asked)
    return ready


def _answers(question: Question) -> str:
    match question.kind:
        case "binary":
            return "yes or no"
        case "options":
            return "one of " + "; ".join(question.options)
        case "date":
            return "a day as 2026-01-31"
        case _:
            return f"a number{f' in {question.unit}' if question.unit else ''}"


def _unfit(question: Question, answer: str) -> str:
    """Why a text is no answer to a question, "" if it is one."""
    if question.kind == "binary" and answer.lower() not in ("yes", "no"):
        return f"yes, no or {OPEN}, not {answer!r:.60}"
    try:
        fits = outcomes_of(question, answer) or values_of(question, answer)
    except UsageError as error:
        return str(error)
    return "" if fits else f"{answer!r:.60} is no answer to this question"
