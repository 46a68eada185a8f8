"""The exam of a study: events with their statements and cutoffs, whatever they come from, and those that one question asks together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from proxies.asof.asof_text import NO_TEXT, AsOfText, as_of, emptied_line, joined
from proxies.asof.clock import Cutoff
from proxies.errors import CutoffRefused
from proxies.hashing import canonical_json, sha256_of
from workbench.agents.base import MAX_CONTEXT, KnownContext
from workbench.agents.grounders.thought_replies import NumberAsked
from workbench.errors import UsageError
from workbench.questions.as_of import criteria_as_of, statement_as_of
from workbench.questions.formats.format_registry import read_file
from workbench.questions.question import (
    Question,
    QuestionEvent,
    asked_events,
    day_number,
    range_of,
    targets_of,
)
from workbench.questions.sets.exams import find_exam
from workbench.questions.sets.question_sets import load_set
from workbench.questions.sets.schedule import closing
from workbench.questions.sets.set_scores import events_table
from workbench.science.simulator.simulated_exams import SimulatedExam, exam_from_settings
from workbench.science.tables import Events, read_events
from workbench.store import Store
from workbench.studies.contexts.context import read_contexts
from workbench.studies.contexts.context_store import texts_for
from workbench.studies.study_file import StudyCell, StudySpec
from workbench.studies.study_tasks import Task, tasks_of


@dataclass(frozen=True, slots=True, kw_only=True)
class JointQuestion:
    """A question at one horizon, with all of its outcomes by the names that a model is given."""

    #: Of the question, with the horizon where it has several.
    id: str
    #: What is asked.
    title: str
    #: The exact name of each outcome, in the question's order.
    names: Mapping[str, str]
    #: Why it cannot be asked; "" if it can.
    fault: str = ""
    #: Whether exactly one outcome comes true.
    exclusive: bool = False
    #: Range and unit of a number or date that is asked for by percentiles, whose events lie at ``levels``; without any it is asked itself.
    number: NumberAsked | None = None
    levels: Mapping[str, float] = field(default_factory=dict)

    def as_of(self, cutoff: Cutoff) -> JointQuestion:
        """The question with the words that may be shown at a cutoff."""
        names = {event: as_of(name, cutoff, kind="label").text for event, name in self.names.items()}
        if len(set(names.values())) < len(names) or "" in names.values():
            fault = f"question {self.id}: without what was written after the cutoff two of its outcomes are one, or one has no name"
            return replace(self, fault=fault)
        return replace(self, title=as_of(self.title, cutoff, kind="title").text, names=names)

    def options(self, leaf: str, prices: Mapping[str, float], *, paper: bool) -> dict[str, Any]:
        """Settings of the grounder for a leaf that is this event; ``prices`` by event id, shown by paper P's task alone."""
        if self.number is not None and not (paper and self.levels):
            return {
                "event": self.title,
                "number": asdict(replace(self.number, level=self.levels.get(leaf))),
            }
        return {
            **({} if paper else {"exclusive": self.exclusive}),
            "event": self.title,
            "outcomes": list(self.names.values()),
            "leaf": self.names[leaf],
            "prices": {self.names[event]: p for event, p in prices.items() if event in self.names},
        }


def joint_questions(questions: Iterable[Question]) -> dict[str, JointQuestion]:
    """The joint question of each event, by event id; events that are asked alone have none."""
    joint: dict[str, JointQuestion] = {}
    for question in questions:
        by_horizon: dict[str, list[QuestionEvent]] = {}
        number = _number(question)
        for event in asked_events(question):
            by_horizon.setdefault(question.horizon_label(event.horizon), []).append(event)
        for horizon, events in by_horizon.items():
            if len(events) < 2 and number is None:
                continue
            own = JointQuestion(
                id=f"{question.id}@{horizon}" if horizon else question.id,
                title=question.title + (f" (by {horizon})" if horizon else ""),
                names={event.id: _part_name(question, event.part) for event in events},
                exclusive=question.kind == "options" and question.exclusive,
                number=number,
                levels={
                    event.id: day_number(event.part) if question.kind == "date" else float(event.part)
                    for event in events
                    if number is not None and event.part
                },
            )
            joint |= dict.fromkeys(own.names, own)
    return joint


def _number(question: Question) -> NumberAsked | None:
    """What percentiles of a number or a date are asked within; None of a question of another kind."""
    if not targets_of(question):
        return None
    (low, high), dates = range_of(question), question.kind == "date"
    return NumberAsked(
        open_low=question.open_low,
        open_high=question.open_high,
        zero_point=question.zero_point,
        unit=question.unit,
        low=low,
        high=high,
        side="at most" if dates else question.side,
        dates=dates,
    )


def _part_name(question: Question, part: str) -> str:
    match question.kind:
        case "threshold" | "numeric":
            return f"{question.side} {part}" + (f" {question.unit}" if question.unit else "")
        case "date":
            return f"by {part}"
        case _:
            return " ".join(part.split())


def cells_by_run(cells: Sequence[StudyCell], joint: Mapping[str, JointQuestion]) -> list[list[StudyCell]]:
    """The cells that one run answers, in their order: those of one joint question, seed and trial together."""
    runs: dict[tuple[str, str, int, int], list[StudyCell]] = {}
    for cell in cells:
        question = joint[cell.event].id if cell.event in joint else f"\0{cell.event}"
        runs.setdefault((cell.arm, question, cell.seed, cell.trial), []).append(cell)
    return list(runs.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyExam:
    """What every arm is asked, alike."""

    #: All resolved yes or no.
    events: Events
    #: The question as one sentence, as of the event's cutoff.
    statements: Mapping[str, AsOfText]
    #: The day before which a forecast knows.
    cutoffs: Mapping[str, str]
    #: What else every arm is told of the question, as of the same cutoff.
    contexts: Mapping[str, KnownContext]
    #: Statement and background before anything was cut, for the digest alone: a study that was begun goes on.
    written: Mapping[str, tuple[str | None, str]] = field(default_factory=dict)
    #: Events without an outcome that the study leaves out.
    left_out: tuple[str, ...] = ()
    simulated: SimulatedExam | None = None
    #: Of events that one question asks together.
    joint: Mapping[str, JointQuestion] = field(default_factory=dict)
    #: The choices among exclusive options.
    tasks: tuple[Task, ...] = ()

    def __len__(self) -> int:
        return len(self.events)

    @property
    def digest(self) -> str:
        """Hash over events, statements, cutoffs, contexts and outcomes."""
        rows = [
            [
                event,
                self.written.get(event, (None, ""))[0],
                self.cutoffs.get(event),
                self.written.get(event, (None, ""))[1],
                float(outcome),
            ]
            for event, outcome in zip(self.events.event_id.tolist(), self.events.outcome, strict=True)
        ]
        return sha256_of(canonical_json(rows))

    def unasked(self, event: str) -> str:
        """Why an event is asked of nobody, "" if it can be: all of its text, or of its background, is of after its cutoff."""
        context = self.contexts.get(event, KnownContext())
        texts = {
            "statement": self.statements.get(event, NO_TEXT),
            "criteria": context.criteria,
            "news": context.news,
        }
        for what, text in texts.items():
            if text.emptied:
                return emptied_line(f"the {what} of {event}", text.cutoff)
        return self.joint[event].fault if event in self.joint else ""

    def undivided(self, event: str) -> str:
        """Why an event is asked only of who answers by percentiles, "" if it is not: a number or date without a range or levels."""
        joint = self.joint.get(event)
        if joint is None or joint.number is None or joint.levels:
            return ""
        return (
            f"question {joint.id} has neither a range nor levels: only zero-shot forecasts it, by percentiles"
        )

    def cut(self) -> dict[str, list[dict[str, str]]]:
        """What was cut from the texts of each event, for the record."""
        pieces = {
            event: [
                *self.statements.get(event, NO_TEXT).cut,
                *chain.from_iterable(self.contexts.get(event, KnownContext()).cut.values()),
            ]
            for event in self.events.event_id.tolist()
        }
        return {event: [asdict(piece) for piece in own] for event, own in pieces.items() if own}


def exam_of(
    events: Events,
    cutoffs: Mapping[str, str],
    questions: Sequence[Question] = (),
    *,
    news: Mapping[str, str],
    titles: Mapping[str, str] = {},
) -> StudyExam:
    """The exam of these events, every text as of its event's cutoff; ``news``, and ``titles`` of events without a question, by event."""
    ids = events.event_id.tolist()
    asked = {event.id: (question, event) for question in questions for event in asked_events(question)}
    joint = joint_questions(questions)
    # Read once each: two events of a live exam are asked as of one instant.
    instants = {day: Cutoff.parse(day or "now") for day in {cutoffs.get(event, "") for event in ids}}
    statements, contexts = {}, {}
    written: dict[str, tuple[str | None, str]] = {}
    known = {event: instants[cutoffs.get(event, "")] for event in ids}
    for each, cutoff in known.items():
        question, event = asked.get(each, (None, None))
        gathered, horizon = news.get(each, ""), event.horizon if event else ""
        contexts[each] = known_context(question, gathered, cutoff, horizon=horizon)
        if question and event:
            statements[each] = statement_as_of(question, event, cutoff)
            written[each] = (event.statement, gathered or question.criteria)
        else:
            if each in titles:
                statements[each] = as_of(titles[each], cutoff, kind="title")
            written[each] = (titles.get(each), gathered)
    return StudyExam(
        events=events,
        statements=statements,
        cutoffs=cutoffs,
        contexts=contexts,
        written=written,
        joint={event: joint[event].as_of(known[event]) for event in ids if event in joint},
        tasks=tasks_of(questions, ids),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    events: Events
    titles: Mapping[str, str] = field(default_factory=dict)
    questions: Sequence[Question] = ()
    simulated: SimulatedExam | None = None


def open_exam(store: Store, spec: StudySpec) -> tuple[StudyExam | None, list[str]]:
    """The exam of a study, and every mistake in it, a line each; None where nothing can be read."""
    problems: list[str] = []
    parts: list[_Part] = []
    for source in spec.exam:
        try:
            parts.append(_part(store, spec, source))
        except UsageError as error:
            problems.append(f"exam: {' '.join(str(error).split())}")
    if not parts:
        return None, problems
    if len(parts) > 1 and any(part.simulated for part in parts):
        return None, [*problems, "exam: a simulated exam stands alone"]
    dues = {frozenset(_cutoffs(part.events).values()): part for part in parts}
    if len(dues) > 1 and spec.cutoffs == "one":
        shown = " and ".join(_span_of_days(each) for each in dues)
        problems.append(
            f"exam: the exams have different cutoffs ({shown}): one study each, or cutoffs: per-question"
        )
    ids = Counter(event for part in parts for event in part.events.event_id.tolist())
    twice = sorted(event for event, count in ids.items() if count > 1)
    if twice:
        problems.append(f"exam: event {twice[0]!r} is there twice ({len(twice)} of them in all)")
        return None, problems
    events = parts[0].events if len(parts) == 1 else _joined_events([part.events for part in parts])
    if spec.size is not None:
        chosen = sorted(set(events.question.tolist()), key=spec.rank)[: spec.size]
        events = events.take(np.flatnonzero(np.isin(events.question, chosen)))
    unresolved = np.isnan(events.outcome)
    left_out = events.event_id[unresolved].tolist()
    if left_out and spec.unresolved == "refuse":
        problems.append(
            f"exam: {len(left_out)} of {len(events)} events are not resolved yes or no and cannot be scored, the first is"
            f" {left_out[0]!r}: resolve them, or unresolved: leave-out"
        )
    if unresolved.all():
        # Where open questions were refused just above, that line says it already.
        return None, problems if left_out and spec.unresolved == "refuse" else [
            *problems,
            "exam: no event is left to score",
        ]
    events = events.take(np.flatnonzero(~unresolved))
    news, lacking = _contexts(store, spec, events)
    exam = exam_of(
        events,
        _cutoffs(events),
        [question for part in parts for question in part.questions],
        news=news,
        titles={event: title for part in parts for event, title in part.titles.items()},
    )
    return replace(exam, left_out=tuple(left_out), simulated=parts[0].simulated), problems + lacking


def known_context(question: Question | None, news: str, cutoff: Cutoff, *, horizon: str = "") -> KnownContext:
    """Return what is told of a question beside its statement, as of a cutoff; ``news`` are what was gathered about it."""
    gathered = as_of(news, cutoff).first(MAX_CONTEXT)
    if question is None:
        return KnownContext(news=gathered)
    close = closing(question)
    day = horizon or ("" if close is None else (close - timedelta(microseconds=1)).date().isoformat())
    options = [as_of(option, cutoff, kind="label") for option in question.options]
    return KnownContext(
        background=as_of(question.background, cutoff, opened=question.asked_on).first(MAX_CONTEXT),
        criteria=criteria_as_of(question, cutoff).first(MAX_CONTEXT),
        horizon=as_of("", cutoff).followed_by(f"by {day}" if day else ""),
        choices=joined(options, "; ", cutoff).first(MAX_CONTEXT),
        news=gathered,
    )


def _part(store: Store, spec: StudySpec, source: Mapping[str, Any]) -> _Part:
    if "simulator" in source:
        simulated = exam_from_settings(source["simulator"] or {})
        return _Part(events=simulated.events(), simulated=simulated)
    if "events" in source:
        events = read_events(spec.folder / str(source["events"]), unresolved=True)
        if "exam" in source:
            events = events.take(find_exam(store.home / "exams", str(source["exam"])).rows(events))
        events = _where(events, source.get("where") or {})
        titles = events.text("question") if "question" in events.frame.columns else ()
        return _Part(
            events=events, titles=dict(zip(events.event_id.tolist(), map(str, titles), strict=False))
        )
    questions = (
        tuple(load_set(store, str(source["set"])).questions.values())
        if "set" in source
        else read_file(spec.folder / str(source["questions"]))[0].questions
    )
    events = events_table(questions, path=Path(f"exam of {spec.name}"))
    return _Part(events=_where(events, source.get("where") or {}), questions=questions)


def _where(events: Events, columns: Mapping[str, Any]) -> Events:
    keep = np.ones(len(events), dtype=bool)
    for column, wanted in columns.items():
        values = [str(each) for each in (wanted if isinstance(wanted, list) else [wanted])]
        keep &= np.isin(events.text(str(column)), values)
    return events if keep.all() else events.take(np.flatnonzero(keep))


def _joined_events(parts: list[Events]) -> Events:
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in ("event_id", "question", "source", "kind", "outcome")
    }
    return replace(parts[0], frame=pd.concat([part.frame for part in parts], ignore_index=True), **columns)


def _cutoffs(events: Events) -> dict[str, str]:
    if "forecast_due_date" not in events.frame.columns:
        return {}
    days = events.text("forecast_due_date").tolist()
    return {event: day for event, day in zip(events.event_id.tolist(), days, strict=True) if day}


def _span_of_days(days: frozenset[str]) -> str:
    ordered = sorted(days)
    return ordered[0] if len(ordered) == 1 else f"{ordered[0]} to {ordered[-1]}" if ordered else "none"


def _contexts(store: Store, spec: StudySpec, events: Events) -> tuple[dict[str, str], list[str]]:
    if spec.contexts is None:
        return {}, []
    questions = dict(zip(events.event_id.tolist(), events.question.tolist(), strict=True))
    try:
        if spec.contexts.startswith("set:"):
            cutoffs = {questions[event]: cutoff for event, cutoff in _cutoffs(events).items()}
            contexts = texts_for(store, spec.contexts.removeprefix("set:"), cutoffs)
        else:
            contexts = read_contexts(spec.folder / spec.contexts)
    except (UsageError, CutoffRefused) as error:
        return {}, [f"contexts: {error}"]
    # A context is of an event, or of all events of its question.
    named = {event: contexts.get(event, contexts.get(question)) for event, question in questions.items()}
    lacking = [event for event, text in named.items() if text is None]
    problems = (
        [f"contexts: {len(lacking)} of {len(events)} events have none, the first is {lacking[0]!r}"]
        if lacking
        else []
    )
    return {event: text for event, text in named.items() if text is not None}, problems
