"""ForecastBench: question sets and resolution sets, as published for each round (github.com/forecastingresearch)."""

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.questions.formats.base import (
    QuestionFile,
    Resolution,
    collect,
    criteria_of,
    day_of,
    number_of,
    text_of,
)
from workbench.questions.question import Question, QuestionError, event_id

MARKETS = ("infer", "manifold", "metaculus", "polymarket")


def question_set_of(document: Any) -> dict[str, Any] | None:
    """A JSON value that is a question set; None for another."""
    is_one = isinstance(document, dict) and isinstance(document.get("questions"), list)
    return document if is_one and "forecast_due_date" in document else None


def is_resolution_set(document: Any) -> bool:
    """Whether a JSON value is a resolution set."""
    return isinstance(document, dict) and "resolutions" in document


def read_questions(document: Mapping[str, Any]) -> QuestionFile:
    """Read a question set; combinations of two questions are left out with that reason.

    A market question is one event; a dataset question has one event per resolution date. The freeze value is the crowd of
    a market question, and a plain column (``freeze_value``) of a dataset question.
    """
    due = day_of(document.get("forecast_due_date"))
    entries = ((_entry_name(entry), entry) for entry in document["questions"])
    return collect(entries, lambda entry: _forecastbench_question(entry, due))


def _entry_name(entry: Any) -> str:
    return f"{entry.get('source')}/{entry.get('id')}"[:120] if isinstance(entry, dict) else str(entry)[:60]


def _forecastbench_question(entry: Mapping[str, Any], due: str) -> Question | str:
    if isinstance(entry["id"], list) or entry.get("combination_of") not in (None, "N/A", []):
        return "a combination of two questions, which are in the set themselves"
    source = text_of(entry["source"])
    name = f"{source}/{entry['id']}"
    market = source in MARKETS
    dates = entry.get("resolution_dates")
    value = number_of(entry.get("freeze_datetime_value"))
    title = text_of(entry["question"]).replace("{forecast_due_date}", due)
    return Question(
        id=name,
        title=title.replace("{resolution_date}", "the resolution date"),
        source=source,
        source_id=str(entry["id"]),
        url=text_of(entry.get("url")),
        question_type="market" if market else "dataset",
        background=text_of(entry.get("background")),
        **criteria_of(
            text_of(entry.get("resolution_criteria")), text_of(entry.get("market_info_resolution_criteria"))
        ),
        asked_on=due,
        closes_on=day_of(entry.get("market_info_close_datetime")) if market else "",
        horizons=() if market or not isinstance(dates, list) else tuple(sorted(day_of(day) for day in dates)),
        crowd={name: value} if market and value is not None and 0 <= value <= 1 else {},
        extra={} if market or value is None else {"freeze_value": f"{value:.12g}"},
    )


def read_resolutions(document: Mapping[str, Any], questions: Mapping[str, Question]) -> list[Resolution]:
    """Resolutions that are final, as events of these questions; those of other questions are passed over."""
    final: list[Resolution] = []
    for entry in document["resolutions"]:
        if isinstance(entry.get("id"), list) or not entry.get("resolved"):
            continue
        question = questions.get(f"{entry.get('source')}/{entry.get('id')}")
        value = number_of(entry.get("resolved_to"))
        if question is None or value is None:
            continue
        day = day_of(entry.get("resolution_date"))
        label = question.horizon_label(day)
        if label in question.horizon_labels:
            final.append(Resolution(event_id(question.id, horizon=label), value, day))
    return final


def write_questions(questions: Sequence[Question]) -> dict[str, Any]:
    """A question set; only binary questions have a place in it.

    Raises `QuestionError`: A question of another kind, or several forecast due dates.
    """
    other = [question.id for question in questions if question.kind != "binary"]
    if other:
        raise QuestionError(f"a ForecastBench set holds binary questions only, not {other[0]}")
    dues = {question.asked_on for question in questions}
    if len(dues) != 1:
        raise QuestionError(f"a ForecastBench set has one forecast due date, not {len(dues)}")
    return {
        "forecast_due_date": dues.pop(),
        "question_set": "export",
        "questions": [
            {
                "id": question.source_id or question.id,
                "source": question.source,
                "question": question.title,
                "background": question.background or "N/A",
                "resolution_criteria": question.criteria or "N/A",
                "url": question.url or "N/A",
                "market_info_close_datetime": question.closes_on or "N/A",
                "freeze_datetime_value": str(
                    question.crowd.get(question.id, question.extra.get("freeze_value", "N/A"))
                ),
                "resolution_dates": list(question.horizons) or "N/A",
            }
            for question in questions
        ],
    }
