"""How a question came out, as proposed from dated pages: what code finds of each quotation, and what it takes to be accepted.

A model's word counts for nothing here. A proposal can be accepted where two pages of different owners, dated after the question was
asked, hold the quoted sentences, and neither is a copy of the other. A person can record any answer by hand.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from workbench.questions.question import Question, event_id, events_of, targets_of
from workbench.questions.sets.question_sets import SORT, resolve_question
from workbench.search.urls import registrable_domain
from workbench.store import Store
from workbench.store import events as ev

#: Words of a quotation at least, and the share of equal runs of words from which two pages are one text.
_FEWEST_WORDS, _RUN, _COPY = 4, 6, 0.5
#: Independent sources that an outcome rests on.
NEEDED = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Answerable:
    """A question at one of its resolution days, which is answered by itself; a question without several is its only one."""

    #: As it is asked for that day; its id is ``QUESTION@DAY`` where there are several.
    asked: Question
    of: str
    horizon: str
    #: Whether an outcome of it is on record.
    settled: bool


def answerable(question: Question) -> list[Answerable]:
    """Return what of a question is answered by itself."""
    if len(question.horizons) < 2:
        settled = bool(question.outcomes or question.values)
        return [Answerable(asked=question, of=question.id, horizon="", settled=settled)]
    known = {event.horizon for event in events_of(question) if event.outcome is not None}
    known |= {target.horizon for target in targets_of(question) if target.value is not None}
    extra = {name: value for name, value in question.extra.items() if name != "closes_at"}
    return [
        Answerable(
            asked=replace(
                question, id=event_id(question.id, horizon=day), title=f"{question.title} (by {day})", horizons=(), closes_on=day,
                outcomes={}, values={}, crowd={}, quotes={}, extra=extra,
            ),
            of=question.id, horizon=day, settled=day in known,
        )
        for day in question.horizons
    ]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A page as it was fetched, and what is quoted of it."""

    url: str
    title: str
    #: ISO day, "" where nobody dates it.
    published: str
    quote: str
    text: str


def faults_of(question: Question, answer: str, source: Source, today: date) -> list[str]:
    """Why a source does not count for an answer; empty if it does."""
    faults = []
    words = _words(source.quote)
    if len(words) < _FEWEST_WORDS or " ".join(words) not in " ".join(_words(source.text)):
        faults.append("the quotation is not on the page")
    if not source.published:
        faults.append("the page has no date")
    elif question.asked_on and source.published < question.asked_on:
        faults.append(f"the page is of {source.published}, before the question was asked")
    elif source.published > today.isoformat():
        faults.append(f"the page is of {source.published}, which has not come")
    if question.kind == "numeric" and not _states(source.quote, answer):
        faults.append(f"the quotation does not state {answer}")
    return faults


def independent(sources: Sequence[Source]) -> list[Source]:
    """Those of the sources that stand alone: of one owner one, of one text one."""
    kept: list[Source] = []
    for source in sources:
        domain = registrable_domain(source.url)
        if domain and not any(
            registrable_domain(other.url) == domain or _copies(source, other) for other in kept
        ):
            kept.append(source)
    return kept


def propose(
    store: Store, name: str, question: Question, answer: str, sources: Sequence[Source], *, model: str, reasons: str, today: date
) -> ev.OutcomeProposed:  # fmt: skip
    """Put a proposal on a set's log with what code found of its sources, and return it; ``answer`` "" where nothing settles it."""
    checked = [(source, faults_of(question, answer, source, today)) for source in sources]
    good = independent([source for source, faults in checked if not faults])
    lacking = (
        "" if len(good) >= NEEDED or not answer else f"{len(good)} of {NEEDED} independent dated sources"
    )
    event = ev.OutcomeProposed(
        node=question.id,
        answer=answer,
        # when it could first be read twice
        day=sorted(source.published for source in good)[NEEDED - 1] if len(good) >= NEEDED else today.isoformat(),
        model=model,
        reasons=reasons,
        lacking=lacking,
        sources=tuple(
            {
                "url": source.url,
                "title": source.title,
                "published": source.published,
                "quote": source.quote,
                "counts": source in good,
                "faults": faults or ([] if source in good else ["it repeats another source"]),
                "page": store.put_body(source.text),
            }
            for source, faults in checked
        ),
    )  # fmt: skip
    store.append(f"{SORT}:{name}", event)
    return event


def proposals(store: Store, name: str) -> dict[str, ev.OutcomeProposed]:
    """The newest proposal for each question of a set."""
    return {
        stored.event.node: stored.event
        for stored in store.events(f"{SORT}:{name}", kinds=["outcome.proposed"])
        if isinstance(stored.event, ev.OutcomeProposed)
    }


def accept(
    store: Store, name: str, part: Answerable, proposal: ev.OutcomeProposed, *, author: str = ""
) -> int:
    """Record a proposed outcome and return how many events and values it settles; called where nothing is lacking.

    Raises `QuestionError`: An answer that does not fit the question.
    """
    question = resolve_question(
        store,
        name,
        part.of,
        proposal.answer,
        horizon=part.horizon,
        day=proposal.day,
        author=author,
        source="web",
    )
    settled = {**question.outcomes, **question.values}
    places = [(event.id, event.horizon) for event in events_of(question)]
    places += [(target.id, target.horizon) for target in targets_of(question)]
    return sum(name in settled and part.horizon in ("", day) for name, day in places)


def proposal_row(proposal: ev.OutcomeProposed) -> dict[str, Any]:
    """A proposal as documents show it."""
    return {
        "question": proposal.node,
        **proposal.model_dump(include={"answer", "day", "model", "reasons", "lacking", "sources"}),
    }


def _words(text: str) -> list[str]:
    plain = unicodedata.normalize("NFKC", text).casefold()
    return re.findall(r"\w+(?:[.,]\d+)*", plain)


def _copies(one: Source, other: Source) -> bool:
    """Whether two pages are one text; what is quoted may stand on both, as a notice does."""
    first, second = (_runs(source.text) - _runs(source.quote) for source in (one, other))
    return not (first and second) or len(first & second) / min(len(first), len(second)) >= _COPY


def _runs(text: str) -> set[tuple[str, ...]]:
    words = _words(text)
    return {tuple(words[start : start + _RUN]) for start in range(max(1, len(words) - _RUN + 1))}


def _states(quote: str, answer: str) -> bool:
    try:
        value = float(answer)
    except ValueError:
        return False
    numbers = (float(text.replace(",", "")) for text in re.findall(r"\d[\d,]*(?:\.\d+)?", quote))
    return any(abs(abs(value) - number) < 1e-9 * max(1.0, number) for number in numbers)
