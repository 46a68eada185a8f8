"""Prophet Arena's questions: task files, one JSON object a line with the exact names of the outcomes, and the list of events that its client writes."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.questions.formats.base import QuestionFile, collect, day_of, parse_json, text_of
from workbench.questions.question import Question, QuestionError
from workbench.questions.worded_answers import outcomes_of

#: Outcomes of a question that is answered by yes or no.
YES_NO = ("Yes", "No")


def is_task_file(text: str) -> bool:
    """Whether a text begins with a line that is a task."""
    if text.lstrip().startswith("["):
        try:
            events = parse_json(text, what="the file")
        except QuestionError:
            return False
        return bool(events) and all(isinstance(event, dict) and "market_ticker" in event for event in events)
    first = text.lstrip().partition("\n")[0]
    if not first.startswith("{"):
        return False
    try:
        entry = parse_json(first, what="the first line")
    except QuestionError:
        return False
    return isinstance(entry, dict) and {"task_id", "outcomes"} <= set(entry)


def read_questions(text: str) -> QuestionFile:
    """Read a task file; several winners make the outcomes of a task independent of each other."""
    if text.lstrip().startswith("["):
        events = parse_json(text, what="the file")
        return collect(
            ((str(event.get("market_ticker", "")), _as_task(event)) for event in events), _prophet_question
        )
    entries = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            entry = parse_json(line, what=f"line {number}")
            entries.append(
                (str(entry.get("task_id", f"line {number}")) if isinstance(entry, dict) else "", entry)
            )
    return collect(entries, _prophet_question)


def _as_task(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return an event as its task says the same (ai-prophet, its page on sample datasets)."""
    return {
        **event,
        "task_id": event["market_ticker"],
        "outcomes": event.get("outcomes") or list(YES_NO),
        "predict_by": event.get("close_time"),
        "context": "" if event.get("description") == event.get("rules") else event.get("description"),
        "metadata": {"category": event.get("category")},
    }


def _prophet_question(entry: Mapping[str, Any]) -> Question:
    outcomes = tuple(text_of(each) for each in entry["outcomes"])
    metadata = entry.get("metadata") or {}
    resolved = entry.get("resolved_outcome") or {}
    winners = resolved.get("value") or []
    winners = [winners] if isinstance(winners, str) else [text_of(each) for each in winners]
    unknown = [winner for winner in winners if winner not in outcomes]
    if unknown:
        raise QuestionError(f"the winner {unknown[0]!r:.60} is none of its outcomes")
    # The shape of a task of the past may not hang on a label that was edited later; what the client writes is of now.
    binary = "market_ticker" in entry and outcomes == YES_NO
    question = Question(
        id=str(entry["task_id"]),
        title=text_of(entry["title"]),
        kind="binary" if binary else "options",
        options=() if binary else outcomes,
        criteria=text_of(entry.get("rules")),
        exclusive=len(winners) <= 1 and metadata.get("mutually_exclusive", True) is not False,
        source=text_of(entry.get("source")) or "prophet-arena",
        source_id=str(entry["task_id"]),
        question_type="market",
        category=text_of(metadata.get("category")),
        background=text_of(entry.get("context")),
        asked_on=day_of(entry.get("predict_by")),
        closes_on=day_of(entry.get("predict_by")),
        resolved_on=day_of(resolved.get("resolved_at")),
    )
    answer = "|".join(winners)
    return (
        question.answered(outcomes_of(question, answer.lower() if binary else answer))
        if winners
        else question
    )


def write_questions(questions: Sequence[Question]) -> str:
    """A task file; binary questions get the outcomes Yes and No.

    Raises `QuestionError`: A question that is neither a choice nor binary.
    """
    lines = []
    for question in questions:
        if question.kind not in ("options", "binary"):
            raise QuestionError(
                f"question {question.id}: a Prophet Arena task names its outcomes; {question.kind} has none"
            )
        if question.kind == "binary":
            labels = ["Yes", "No"]
            p = question.outcomes.get(question.id)
            winners = [] if p is None else ["Yes"] if p == 1.0 else ["No"]
        else:
            labels = list(question.options)
            winners = [each for each in labels if question.outcomes.get(f"{question.id}#{each}") == 1.0]
        entry: dict[str, Any] = {
            "task_id": question.id,
            "title": question.title,
            "outcomes": labels,
            "predict_by": question.asked_on or question.closes_on or None,
            "source": question.source,
            "context": question.background,
            "metadata": {"category": question.category, "mutually_exclusive": question.exclusive},
        }
        if winners:
            entry["resolved_outcome"] = {"value": winners, "resolved_at": question.resolved_on or None}
        lines.append(json.dumps(entry, ensure_ascii=False))
    return "\n".join(lines) + "\n"
