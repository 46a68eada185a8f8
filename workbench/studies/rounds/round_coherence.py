"""Whether the forecasts of a set can hold together: options, levels and days of one question, linked questions, and like statements.

Findings are facts about the numbers. `coherent` gives the nearest simple mend beside them, and never in their place: options that
exclude each other are divided by their sum, along levels or days neighbours out of order share their mean, and linked questions get
the nearest forecasts that some distribution over their worlds has.
"""

from collections.abc import Iterable, Mapping
from math import fsum

from scipy.optimize import isotonic_regression

from workbench.questions.question import Question, QuestionError, events_of, outcome_sets
from workbench.questions.sets.linked import group_of, linked_questions, mend, tied_events
from workbench.synthesis.coherence.exclusive import forecast_findings
from workbench.synthesis.coherence.findings import (
    TOLERANCE,
    Finding,
    NestedClaims,
    check_exclusive,
    check_nested,
)


def set_findings(questions: Iterable[Question], p: Mapping[str, float]) -> list[Finding]:
    """Everything that does not fit together among these forecasts.

    `p`: Forecasts; an event without one is not looked at.
    """
    entries = {question.id: question for question in questions}
    findings: list[Finding] = []
    for question in entries.values():
        for group in outcome_sets(question):
            known = {event.id: p[event.id] for event in group.events if event.id in p}
            if not group.exclusive:
                chain = NestedClaims(
                    ids=tuple(known), what="date" if question.kind == "date" else "threshold"
                )
                findings += check_nested([chain], p, TOLERANCE)
            elif len(known) > 1:
                findings += check_exclusive(known, exhaustive=len(known) == len(group.events))
        findings += _link_findings(question, entries, p)
    # By the words: questions that nobody linked. Events of one question share their words, and were looked at above.
    single = {
        events[0].id: events[0].statement
        for question in entries.values()
        if len(events := events_of(question)) == 1 and events[0].id in p
    }
    for linked in linked_questions(entries.values()):
        try:
            group_of(linked)
        except QuestionError as error:
            ids = tuple(question.id for question in linked)
            findings.append(Finding(kind="linked", ids=ids, message=f"not put in order: {error}"))
    return findings + forecast_findings({event: p[event] for event in single}, single)


def coherent(questions: Iterable[Question], p: Mapping[str, float]) -> dict[str, float]:
    """The same forecasts with each question's own events and all linked questions in order; what needs no mending stays as it is.

    >>> question = Question(id="q", title="Who?", kind="options", options=("a", "b"))
    >>> coherent([question], {"q#a": 0.6, "q#b": 0.6})
    {'q#a': 0.5, 'q#b': 0.5}
    """
    mended, entries = dict(p), list(questions)
    for question in entries:
        for group in outcome_sets(question):
            ids = [event.id for event in group.events if event.id in p]
            total = fsum(p[event] for event in ids)
            if not group.exclusive:
                rising = isotonic_regression([p[event] for event in ids]).x.tolist() if ids else []
                mended |= dict(zip(ids, rising, strict=True))
            elif len(ids) == len(group.events) and total > 0:
                mended |= {event: p[event] / total for event in ids}
    for linked in linked_questions(entries):
        mended |= _linked(linked, p)
    return mended


def _linked(questions: tuple[Question, ...], p: Mapping[str, float]) -> dict[str, float]:
    """The nearest forecasts of linked questions that hang together; none where they do already, or there is too much to weigh."""
    known = {
        event.id: p[event.id] for question in questions for event in events_of(question) if event.id in p
    }
    try:
        mended = mend(group_of(questions), known)
    except QuestionError:  # `set_findings` says so
        return {}
    return {name: mended.p[name] for name in known} if mended.moved > 1e-9 else {}


def _link_findings(
    question: Question, entries: Mapping[str, Question], p: Mapping[str, float]
) -> list[Finding]:
    findings = []
    for link in question.links:
        for first, second in tied_events(question, link, p):
            if first not in p:
                continue
            own, other = p[first], p[second]
            if link.kind == "implies" and own > other + TOLERANCE:
                message = f"{first} implies {second}, but {own:.3g} is more than {other:.3g}"
                findings.append(_finding(first, second, message, other - own))
            if link.kind == "excludes" and own + other > 1 + TOLERANCE:
                message = f"{first} and {second} exclude each other but sum to {own + other:.3g}"
                findings.append(_finding(first, second, message, own + other - 1))
    return findings + _conditional_findings(question, p, entries)


def _conditional_findings(
    condition: Question, p: Mapping[str, float], entries: Mapping[str, Question]
) -> list[Finding]:
    """A conditional pair whose two questions say the same thing: its whole must lie between its parts.

    The unconditional question, if the set has it, is one that both conditionals name as ``part-of``.
    """
    given_yes = _conditional(condition.id, "given-yes", entries)
    given_no = _conditional(condition.id, "given-no", entries)
    findings = []
    for yes in given_yes:
        for no in given_no:
            shared = {link.to for link in yes.links if link.kind == "part-of"} & {
                link.to for link in no.links if link.kind == "part-of"
            }
            for whole in shared:
                if not {condition.id, yes.id, no.id, whole} <= set(p):
                    continue
                total = p[condition.id] * p[yes.id] + (1 - p[condition.id]) * p[no.id]
                gap = p[whole] - total
                if abs(gap) > TOLERANCE:
                    message = (
                        f"{whole} is {p[whole]:.3g}, but {yes.id} and {no.id} at {condition.id} ="
                        f" {p[condition.id]:.3g} come to {total:.3g}"
                    )
                    ids = (whole, condition.id, yes.id, no.id)
                    findings.append(Finding(kind="linked", ids=ids, message=message, gap=gap))
    return findings


def _conditional(condition: str, kind: str, entries: Mapping[str, Question]) -> list[Question]:
    return [
        question
        for question in entries.values()
        if any(link.kind == kind and link.to == condition for link in question.links)
    ]


def _finding(first: str, second: str, message: str, gap: float) -> Finding:
    return Finding(kind="linked", ids=(first, second), message=message, gap=gap)
