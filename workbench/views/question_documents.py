"""The JSON documents of sets of questions: what `questions list` and `show` print."""

from dataclasses import asdict
from typing import Any

from workbench.questions.question import Question, events_of, reasons_unscored, shown_value, targets_of
from workbench.questions.sets.question_sets import SORT, load_set
from workbench.store import Store


def sets_document(store: Store) -> dict[str, Any]:
    """Return every set of a home with its counts, the oldest first."""
    rows = []
    for name in store.streams(SORT):
        entry = load_set(store, name)
        rows.append(
            {
                "set": name,
                "questions": len(entry.questions),
                "events": len(entry.events()),
                "scored": len(entry.scored_events()),
                "left_out": len(entry.left_out),
                "origins": list(entry.origins),
            }
        )
    return {"sets": rows}


def set_document(store: Store, name: str) -> dict[str, Any]:
    """Return a set's questions, a row each, and those that cannot be scored with every reason."""
    entry = load_set(store, name)
    return {
        "set": name,
        "origins": list(entry.origins),
        "events": len(entry.events()),
        "scored": len(entry.scored_events()),
        "numbers": len(entry.targets()),
        "questions": [_question_row(question) for question in entry.questions.values()],
        "unscored": [{"id": question.id, "reason": question.reason} for question in entry.unscored()],
    }


def _question_row(question: Question) -> dict[str, Any]:
    events = events_of(question)
    numbers = targets_of(question)
    count = len(events) + len(numbers)
    resolved = sum(event.outcome is not None for event in events)
    resolved += sum(target.value is not None for target in numbers)
    crowd = [event.crowd for event in events if event.crowd is not None]
    own = ("id", "title", "kind", "source", "category", "asked_on", "volume")
    return {
        **{name: getattr(question, name) for name in own},
        "resolves": question.horizons[-1] if question.horizons else question.closes_on,
        "events": len(events),
        "value": _shown(question, numbers[0].value) if len(numbers) == 1 else None,
        "crowd": max(crowd) if crowd else None,
        "state": "resolved" if count and resolved == count else "in part" if resolved else "open",
    }


def question_document(store: Store, name: str, question: str) -> dict[str, Any]:
    """Return one question with its events and why any of them is not scored."""
    entry = load_set(store, name)[question]
    return {
        "set": name,
        "question": entry.to_json(),
        "events": [asdict(event) for event in events_of(entry)],
        "numbers": [{**asdict(target), "value": _shown(entry, target.value)} for target in targets_of(entry)],
        "unscored": reasons_unscored(entry),
    }


def _shown(question: Question, value: float | None) -> float | str | None:
    return None if value is None else shown_value(question, value)
