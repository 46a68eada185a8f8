"""Sets of questions in the event log: what was imported, what was left out, and how each event came out.

A set is a stream of its own (``questions:NAME``) in the same log as the runs; an outcome is the same kind of event that
`workbench resolve` writes for a run, with the question's event as its ``node``. The newest one counts.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal

from workbench.questions.formats.base import LeftOut, QuestionFile, Resolution
from workbench.questions.question import (
    NumericTarget,
    Question,
    QuestionError,
    QuestionEvent,
    check_day,
    events_of,
    reasons_unscored,
    shown_value,
    targets_of,
)
from workbench.questions.worded_answers import beyond_range, outcomes_of, values_of
from workbench.store import Store
from workbench.store import events as ev

SORT = "questions"
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
#: What came of an event or target, and on which day.
_ByDay = dict[str, tuple[float, str]]
_Source = Literal["person", "series", "file", "web"]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionSet:
    """A set as its stream says: questions with the outcomes that stand, and entries that never became one."""

    name: str
    questions: Mapping[str, Question]
    left_out: tuple[LeftOut, ...] = ()
    origins: tuple[str, ...] = ()

    def __getitem__(self, question: str) -> Question:
        try:
            return self.questions[question]
        except KeyError:
            near = [known for known in self.questions if known.startswith(question)]
            if len(near) == 1:
                return self.questions[near[0]]
            hint = (
                f"it could be {', '.join(near[:4])}" if near else f"`questions list {self.name}` names them"
            )
            raise QuestionError(f"no question {question!r:.80} in set {self.name}: {hint}") from None

    def events(self) -> list[QuestionEvent]:
        """Every event of every question."""
        return [event for question in self.questions.values() for event in events_of(question)]

    def targets(self) -> list[NumericTarget]:
        """Every number that a question asks for."""
        return [target for question in self.questions.values() for target in targets_of(question)]

    def scored_events(self) -> list[QuestionEvent]:
        """The events that can be scored: resolved yes or no."""
        return [event for event in self.events() if event.outcome in (0.0, 1.0)]

    def unscored(self) -> list[LeftOut]:
        """What cannot be scored: questions with each of their reasons, then entries that became no question."""
        reasons = [
            LeftOut(question.id, reason)
            for question in self.questions.values()
            for reason in reasons_unscored(question)
        ]
        return [*reasons, *self.left_out]


def check_set_name(name: str) -> str:
    """Return the name of a set as it is; raises `QuestionError` for one that could not be typed back or be a file."""
    if (
        not name
        or name.startswith((".", "-"))
        or any(letter not in _LETTERS for letter in name)
        or len(name) > 80
    ):
        raise QuestionError(
            f"{name!r:.60} is no name for a set: letters, digits, dots, dashes and underscores"
        )
    return name


def add_questions(store: Store, name: str, reading: QuestionFile, *, form: str, origin: str) -> int:
    """Put what was read into a set, made if there is none; return how many questions are new or changed.

    A question of an id that the set has replaces the older text; its recorded outcomes stay.
    """
    stream = f"{SORT}:{check_set_name(name)}"
    with store.transaction():
        before = load_set(store, name).questions if name in store.streams(SORT) else {}
        stored = _stored(store, stream) if before else {}
        store.append(
            stream,
            ev.QuestionsImported(
                origin=origin[:400],
                form=form,
                count=len(reading.questions),
                left_out=tuple((each.id[:200], each.reason[:400]) for each in reading.left_out),
            ),
        )
        # A topic was given here, and no file takes it away by not knowing of it.
        entries = [_with_topic(question, stored.get(question.id)) for question in reading.questions]
        changed = [question for question in entries if stored.get(question.id) != question]
        for question in changed:
            store.append(stream, ev.QuestionAdded(node=question.id, question=_question_json(question)))
    return len(changed)


def _with_topic(question: Question, before: Question | None) -> Question:
    topic = before.extra.get("topic") if before is not None else None
    if topic is None or "topic" in question.extra:
        return question
    return replace(question, extra={**question.extra, "topic": topic})


def _question_json(question: Question) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(json.dumps(question.to_json()))
    return value


def _stored(store: Store, stream: str) -> dict[str, Question]:
    return {
        stored.event.node: Question.from_json(stored.event.question)
        for stored in store.events(stream, kinds=["question.added"])
        if isinstance(stored.event, ev.QuestionAdded)
    }


def load_set(store: Store, name: str) -> QuestionSet:
    """Return a set with the outcomes that stand; raises `QuestionError` with the sets there are."""
    known = store.streams(SORT)
    if name not in known:
        near = (
            f"the sets here are {', '.join(known)}"
            if known
            else "`questions import FILE` brings the first one"
        )
        raise QuestionError(f"no set of questions {name!r:.60} is here; {near}")
    questions: dict[str, Question] = {}
    left_out: list[LeftOut] = []
    origins: list[str] = []
    came: dict[tuple[str, bool], tuple[float, str]] = {}
    for stored in store.events(f"{SORT}:{name}"):
        match stored.event:
            case ev.QuestionsImported(origin=origin, left_out=entries):
                origins.append(origin)
                left_out += [LeftOut(*entry) for entry in entries]
            case ev.QuestionAdded(node=node, question=question):
                questions[node] = Question.from_json(question)
            case ev.OutcomeRecorded(node=str(node), p=p, day=day):
                came[node, False] = (p, day)
            case ev.ValueRecorded(node=node, value=value, day=day):
                came[node, True] = (value, day)
    owner = {
        (part.id, numeric): question.id
        for question in questions.values()
        for numeric, parts in ((False, events_of(question)), (True, targets_of(question)))
        for part in parts
    }
    # Numbers last: the day of a question is that of its number.
    for key, (value, day) in sorted(came.items(), key=lambda item: item[0][1]):
        if (own := owner.get(key)) is not None:  # a question that was imported anew may have lost a level
            node, numeric = key
            questions[own] = questions[own].answered(
                {} if numeric else {node: value}, day, values={node: value} if numeric else {}
            )
    return QuestionSet(
        name=name,
        questions=questions,
        left_out=tuple(dict.fromkeys(left_out)),
        origins=tuple(dict.fromkeys(origins)),
    )


def resolved_days(store: Store, name: str) -> _ByDay:
    """Outcome of every resolved event of a set, and the day it was decided: as recorded, else its question's; "" where nobody says."""
    outcomes = {
        event.id: (event.outcome, question.resolved_on)
        for question in load_set(store, name).questions.values()
        for event in events_of(question)
        if event.outcome is not None
    }
    for stored in store.events(f"{SORT}:{name}", kinds=["outcome.recorded"]):
        event = stored.event
        if isinstance(event, ev.OutcomeRecorded) and event.node in outcomes:
            outcomes[event.node] = (event.p, event.day)
    return outcomes


def record_resolutions(
    store: Store, name: str, came: Iterable[Resolution], *, author: str = "", source: _Source = "person"
) -> int:
    """Record how events of a set came out and what its numbers came to, those that differ from what stands; return how many.

    One without a day came today. What levels came to follows from their number.

    Raises `QuestionError`: An event or number that no question of the set has, a number beyond a closed end of its range, or a day that is
    none or has not come.
    """
    came = [each._replace(day=_past_day(each.day)) for each in came]
    with store.transaction():
        questions = load_set(store, name)
        targets = {target.id: target for target in questions.targets()}
        events = {event.id: event.outcome for event in questions.events()}
        of_levels = []
        for event, p, day, numeric in came:
            if event not in (targets if numeric else events):
                what = "asks for no number" if numeric else "has no event"
                raise QuestionError(f"set {name} {what} {event!r:.80}: `questions show {name}` lists them")
            if numeric:
                question = questions.questions[targets[event].question]
                if beyond := beyond_range(question, p):
                    raise QuestionError(f"{event} came to {shown_value(question, p)}, {beyond}")
                label = question.horizon_label(targets[event].horizon)
                levels = outcomes_of(question, str(shown_value(question, p)), label)
                of_levels += [Resolution(level, share, day) for level, share in levels.items()]
        changed = [each for each in came if each.p != (targets[each.event].value if each.numeric else events[each.event])]  # fmt: skip
        # On the levels of a number too, so that no event says otherwise than it.
        for event, p, day, numeric in [*(each for each in of_levels if each.p != events[each.event]), *changed]:  # fmt: skip
            said: dict[str, Any] = {"node": event, "day": day, "source": source, "author": author}
            record = ev.ValueRecorded(value=p, **said) if numeric else ev.OutcomeRecorded(p=p, **said)
            store.append(f"{SORT}:{name}", record)
    return len(changed)


def _past_day(day: str) -> str:
    """The day of an outcome, else today; one that has not come is refused, nothing happened on it yet."""
    today = datetime.now(UTC).date().isoformat()
    if check_day(day, of="the day of an outcome", blank=True) > today:
        raise QuestionError(
            f"an outcome of {day} is not known yet on {today}: record the outcome after that day"
        )
    return day or today


def resolve_question(
    store: Store,
    name: str,
    question: str,
    answer: str,
    *,
    horizon: str = "",
    day: str | None = None,
    author: str = "",
    source: _Source = "person",
) -> Question:
    """Record the answer to one question, in its own words, and return it as it now stands.

    Raises `QuestionError`: No such question, or an answer that does not fit it.
    """
    entry = load_set(store, name)[question]
    outcomes, values = outcomes_of(entry, answer, horizon), values_of(entry, answer, horizon)
    if not outcomes and not values:
        raise QuestionError(f"question {entry.id} has no event to resolve: {reasons_unscored(entry)[0]}")
    came = [Resolution(part, p, day or "", bool(values)) for part, p in (values or outcomes).items()]
    record_resolutions(store, name, came, author=author, source=source)
    return load_set(store, name)[entry.id]


def set_of(questions: Sequence[Question], name: str = "(file)") -> QuestionSet:
    """A set that stands in no log: the questions of a file, for a study that names the file itself."""
    return QuestionSet(name=name, questions={question.id: replace(question) for question in questions})
