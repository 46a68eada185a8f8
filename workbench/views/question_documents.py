"""The JSON documents of sets of questions: what `questions list` and `show` print; and a model's exam in words."""

from collections.abc import Mapping
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
    return {
        "id": question.id,
        "title": question.title,
        "kind": question.kind,
        "source": question.source,
        "category": question.category,
        "asked_on": question.asked_on,
        "resolves": question.horizons[-1] if question.horizons else question.closes_on,
        "events": len(events),
        "value": _shown(question, numbers[0].value) if len(numbers) == 1 else None,
        "crowd": max(crowd) if crowd else None,
        "volume": question.volume,
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


def exam_lines(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return an exam as rows of name and value, the same on every screen."""

    def gain(name: str) -> str:
        row = document[name]
        if row is None:
            return "it can treat none of them"
        ends = (
            "too few clusters for an interval"
            if row["low"] is None
            else f"[{row['low']:.1f}, {row['high']:.1f}]"
        )
        return f"{row['value']:+.1f} {ends} on {row['n']} questions: {row['verdict']}"

    low, high = document["brier_index_low"], document["brier_index_high"]
    recall, share = document["recall"], document["before_training_end"]
    memory = "not probed"
    if recall is not None:
        memory = (
            f"of {recall['n']} it says it remembers {recall['remembered']}, {recall['right']} of them rightly"
        )
    price = document["usd_per_1000"]
    return [
        (
            "questions",
            f"{document['n']} in {document['clusters']} clusters ({document['questions']}); {document['missing']} unanswered",
        ),
        (
            "Brier Index",
            f"{document['brier_index']:.1f}" + ("" if low is None else f" [{low:.1f}, {high:.1f}]"),
        ),
        ("base rate", f"{document['base_rate']:.1f}"),
        ("key-free forecaster", "–" if document["forecaster"] is None else f"{document['forecaster']:.1f}"),
        ("above the base rate", gain("gain_over_base")),
        ("above the forecaster", gain("gain_over_forecaster")),
        ("calibration error", f"{document['ece']:.3f} (calibrated: {document['ece_calibrated']:.3f})"),
        (
            "before its training end",
            "not known" if share is None else f"{share:.0%} of the questions ended before",
        ),
        ("memory", memory),
        ("per 1,000 questions", "price unknown" if price is None else f"${price:,.2f}"),
    ]
