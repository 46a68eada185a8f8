"""How questions and runs came out, without a person: claims on the embedded series, and what a venue has settled."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from proxies.asof.clock import Cutoff
from proxies.broker import open_broker
from proxies.errors import ProxyError
from proxies.settings import ProxySettings
from workbench.annotations.outcomes import known_outcome, resolve_when_finished
from workbench.backtests.question_quantiles import SeriesReader, known_values
from workbench.engine.record.fold import load_state
from workbench.errors import WorkbenchError
from workbench.questions.formats.base import QuestionFile
from workbench.questions.formats.venues import (
    kalshi_events,
    polymarket_events,
    read_kalshi,
    read_polymarket,
)
from workbench.questions.question import Question, events_of
from workbench.questions.sets import question_sets as book
from workbench.questions.sets.schedule import closing
from workbench.store import Store

#: One live call through the broker: path and parameters in, the answer's data out.
VenueCall = Callable[[str, Mapping[str, Any]], Awaitable[Any]]


async def resolve_open(store: Store, call: VenueCall) -> dict[str, Any]:
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
        count += await _from_venues(store, name, call, now, resolved)
        if count:
            resolved["sets"][name] = count
    return resolved


async def resolve_from_series(store: Store, name: str) -> int:
    """Record what the embedded series decide of a set, and return how many; a question in words they do not know stays open."""
    outcomes, days = {}, {}
    questions = book.load_set(store, name).questions.values()
    for question in questions:
        if question.kind != "binary" or question.outcomes or not question.asked_on:
            continue
        known = await known_outcome(question.title, Cutoff.parse(question.asked_on))
        if known is not None:
            outcomes[question.id], days[question.id] = float(known.true), known.day.isoformat()
    count = book.record_outcomes(store, name, outcomes, days=days, source="series")
    numeric = [question for question in questions if question.kind == "numeric"]
    if not numeric:
        return count
    broker = open_broker(ProxySettings())  # the embedded series need no key and no home
    try:
        values, on = await known_values(numeric, SeriesReader(broker))
    finally:
        await broker.aclose()
    return count + book.record_values(store, name, values, days=on, source="series")


async def _from_venues(
    store: Store, name: str, call: VenueCall, now: datetime, resolved: dict[str, Any]
) -> int:
    count = 0
    for question in book.load_set(store, name).questions.values():
        close = closing(question)
        if question.source not in ("kalshi", "polymarket") or (close is not None and close > now):
            continue
        if len(question.outcomes) == len(events_of(question)):
            continue
        try:
            settled = await _ask(question, call)
        except (ProxyError, TimeoutError) as error:
            reason = " ".join(str(error).split()) or "no answer"
            resolved["failed"].append({"id": f"{name}/{question.id}", "reason": reason})
            continue
        own = {event.id for event in events_of(question)}
        outcomes = {event: p for event, p in settled.items() if event in own}
        count += book.record_outcomes(store, name, outcomes, day=now.date().isoformat(), source="file")
    return count


async def _ask(question: Question, call: VenueCall) -> Mapping[str, float]:
    """Outcomes of a question's events as its venue states them now; none while it is open or no longer told."""
    if question.source == "kalshi":
        params = {"event_ticker": question.source_id, "with_nested_markets": True}
        events = kalshi_events(await call("kalshi/event", params))
        reading = read_kalshi(events or [])
    else:
        answer = await call("polymarket/event", {"slug": question.source_id})
        reading = read_polymarket(polymarket_events([answer]) or [])
    return _outcomes(reading, question.id)


def _outcomes(reading: QuestionFile, question: str) -> Mapping[str, float]:
    return next((each.outcomes for each in reading.questions if each.id == question), {})
