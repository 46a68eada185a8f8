"""Forecasts of a set written as tournaments take them, and checked before they are: nothing is sent from here.

ForecastBench: a forecast set (its wiki, "How to submit"), one entry per question and resolution date, none for combinations. Prophet
Arena: one JSON object a line with a probability per exact outcome. Metaculus: one Markdown comment per question.
"""

import json
from collections.abc import Mapping
from typing import Any

from workbench.questions.book import QuestionSet
from workbench.questions.model import Question, QuestionError, event_id, events_of

FORMS = ("forecastbench", "prophet", "metaculus")


def submission(
    questions: QuestionSet,
    p: Mapping[str, float],
    form: str,
    *,
    organization: str = "",
    model: str = "",
    rationales: Mapping[str, str] | None = None,
    partial: bool = False,
) -> tuple[str, list[str]]:
    """The text of a submission, and what it leaves out, a line each.

    Parameters
    ----------
    p : mapping of event id to float
    form : {"forecastbench", "prophet", "metaculus"}
    organization, model : str
        Who forecasts; ForecastBench wants both.
    rationales : mapping of question id to str, optional
        A model's words: in Markdown they are shown as text, without links or pictures of their own.
    partial : bool
        Leave out questions without a forecast instead of refusing.

    Raises
    ------
    QuestionError
        An unknown form, a probability out of range, a missing forecast, or a question the form has no place for.
    """
    if form not in FORMS:
        raise QuestionError(f"a submission is for {', '.join(FORMS)}, not {form!r:.40}")
    outside = [event for event, value in p.items() if not 0 <= value <= 1]
    if outside:
        raise QuestionError(f"the forecast of {outside[0]} is no probability")
    complete, left_out = [], []
    for question in questions.questions.values():
        lacking = [event.id for event in events_of(question) if event.id not in p]
        if lacking or not events_of(question):
            left_out.append(f"{question.id}: no forecast of {lacking[0] if lacking else 'any event'}")
        else:
            complete.append(question)
    if left_out and not partial:
        raise QuestionError(f"{len(left_out)} questions have no forecast, the first is {left_out[0]}")
    if not complete:
        raise QuestionError(f"set {questions.name} has no question with a forecast")
    texts = rationales or {}
    if form == "forecastbench":
        return _forecastbench(complete, p, texts, organization, model), left_out
    if form == "prophet":
        return _prophet(complete, p, texts), left_out
    return _metaculus(complete, p, texts), left_out


def _forecastbench(
    questions: list[Question], p: Mapping[str, float], texts: Mapping[str, str], organization: str, model: str
) -> str:
    if not organization or not model:
        raise QuestionError("ForecastBench wants to know who forecasts: organization and model")
    other = [question.id for question in questions if question.kind != "binary"]
    if other:
        raise QuestionError(f"ForecastBench asks yes or no; {other[0]} is of another kind")
    dues = {question.asked_on for question in questions}
    if len(dues) != 1 or not next(iter(dues)):
        raise QuestionError(f"a forecast set is for one due date; these questions have {len(dues)}")
    due = dues.pop()
    forecasts = []
    for question in questions:
        for event in events_of(question):
            date = None if question.question_type == "market" else event.horizon or None
            forecasts.append(
                {
                    "id": question.source_id or question.id,
                    "source": question.source,
                    "forecast": p[event.id],
                    "resolution_date": date,
                    "reasoning": texts.get(question.id) or None,
                }
            )
    document: dict[str, Any] = {
        "organization": organization,
        "model": model,
        "model_organization": organization,
        "question_set": f"{due}-llm.json",
        "forecast_due_date": due,
        "forecasts": forecasts,
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _prophet(questions: list[Question], p: Mapping[str, float], texts: Mapping[str, str]) -> str:
    lines = []
    for question in questions:
        if question.kind == "binary":
            chances = {"Yes": p[question.id], "No": 1 - p[question.id]}
        elif question.kind == "options":
            chances = {option: p[event_id(question.id, option)] for option in question.options}
        else:
            raise QuestionError(
                f"question {question.id}: a Prophet Arena task names its outcomes; {question.kind} has none"
            )
        entry = {
            "task_id": question.id,
            "rationale": texts.get(question.id, ""),
            "probabilities": [{"market": label, "probability": value} for label, value in chances.items()],
        }
        lines.append(json.dumps(entry, ensure_ascii=False))
    return "\n".join(lines) + "\n"


def _metaculus(questions: list[Question], p: Mapping[str, float], texts: Mapping[str, str]) -> str:
    parts = []
    for question in questions:
        rows = [
            f"- {_escaped(event.part or 'Yes')}{f' by {event.horizon}' if len(question.horizons) > 1 else ''}: {100 * p[event.id]:.1f} %"
            for event in events_of(question)
        ]
        parts.append(
            "\n".join(
                [
                    f"## {_escaped(question.title)}",
                    question.url,
                    "",
                    *rows,
                    "",
                    _words(texts.get(question.id, "")),
                ]
            ).strip()
        )
    return "\n\n---\n\n".join(parts) + "\n"


def _words(text: str) -> str:
    """A rationale as Markdown of a comment: its lines stay, nothing in it is a heading, a link, a picture or a rule."""
    return "\n".join(_escaped(line) if line.strip("-* ") else "" for line in text.splitlines())


def _escaped(text: str) -> str:
    """Text of a stranger's as Markdown shows it: no heading, link or picture of its own."""
    plain = " ".join(text.split())
    for letter in "\\`*_[]<>#!|":
        plain = plain.replace(letter, f"\\{letter}")
    return plain
