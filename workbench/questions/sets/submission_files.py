"""Forecasts of a set written as tournaments take them, each checked before: every field, every question, every range.

The fields are those that the tournaments document: ForecastBench's wiki ("How to submit to ForecastBench"), Prophet Arena's answer of
a probability per exact outcome with a rationale (paper P, App. F.1.2), Metaculus comments as Markdown.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from workbench.questions.formats.base import parse_json
from workbench.questions.formats.forecastbench import MARKETS
from workbench.questions.question import (
    Question,
    QuestionError,
    check_day,
    day_number,
    event_id,
    events_of,
    range_of,
)
from workbench.questions.sets.question_sets import QuestionSet
from workbench.science.scoring.quantile_curve import Scale, metaculus_cdf

#: Share of each half that ForecastBench wants at least.
FORECASTBENCH_SHARE = 0.95
_LONGEST_COMMENT = 150_000  # characters, of Metaculus
_SET_FIELDS = {
    "organization",
    "model",
    "model_organization",
    "question_set",
    "forecast_due_date",
    "forecasts",
}
_FORECAST_FIELDS = {"id", "source", "forecast", "resolution_date", "reasoning"}


def check_submission(text: str, form: str, questions: QuestionSet) -> list[str]:
    """What is wrong with a submission for these questions, one line each; empty if nothing is.

    Parameters
    ----------
    text : str
        The file's text.
    form : {"forecastbench", "prophet", "metaculus"}

    Raises
    ------
    QuestionError
        It is no text of this form at all.
    """
    if form == "forecastbench":
        return _checked_forecastbench(text, questions)
    if form == "prophet":
        return _checked_prophet(text, questions)
    return _checked_metaculus(text, questions)


def _checked_forecastbench(text: str, questions: QuestionSet) -> list[str]:
    document = parse_json(text, what="the submission")
    if not isinstance(document, dict):
        raise QuestionError("a forecast set is one JSON object")
    problems = [f"field {name!r} is missing" for name in sorted(_SET_FIELDS - set(document))]
    problems += [f"unknown field {name!r:.60}" for name in sorted(set(document) - _SET_FIELDS)]
    for name in ("organization", "model", "model_organization"):
        if not isinstance(document.get(name), str) or not document[name].strip():
            problems.append(f"{name} must be a text that is not empty")
    due = document.get("forecast_due_date")
    if _day_or_none(due) is None:
        problems.append(f"forecast_due_date must be a day, not {due!r:.40}")
    elif document.get("question_set") != f"{due}-llm.json":
        problems.append(f"question_set must be '{due}-llm.json', not {document.get('question_set')!r:.60}")
    entries = document.get("forecasts")
    if not isinstance(entries, list) or not entries:
        return [*problems, "forecasts must be a list with at least one entry"]
    wanted = _wanted(questions)
    seen: set[tuple[str, str, str | None]] = set()
    for number, entry in enumerate(entries, 1):
        problems += [
            f"forecast {number}: {problem}" for problem in _forecast_problems(entry, due, wanted, seen)
        ]
    for half in ("market", "dataset"):
        own = {key for key, kind in wanted.items() if kind == half}
        share = len(own & seen) / len(own) if own else 1.0
        if share < FORECASTBENCH_SHARE:
            problems.append(
                f"{len(own & seen)} of {len(own)} {half} forecasts are there, at least {FORECASTBENCH_SHARE:.0%} are wanted"
            )
    return problems


def _wanted(questions: QuestionSet) -> dict[tuple[str, str, str | None], str]:
    """Id, source and resolution date of every forecast that a set asks for, with its half."""
    keys: dict[tuple[str, str, str | None], str] = {}
    for question in questions.questions.values():
        for event in events_of(question):
            market = question.question_type == "market"
            date = None if market else event.horizon or None
            keys[question.source_id or question.id, question.source, date] = "market" if market else "dataset"
    return keys


def _forecast_problems(
    entry: Any,
    due: Any,
    wanted: Mapping[tuple[str, str, str | None], str],
    seen: set[tuple[str, str, str | None]],
) -> list[str]:
    if not isinstance(entry, dict):
        return ["no JSON object"]
    problems = [
        f"field {name!r} is missing" for name in sorted(_FORECAST_FIELDS - {"reasoning"} - set(entry))
    ]
    problems += [f"unknown field {name!r:.60}" for name in sorted(set(entry) - _FORECAST_FIELDS)]
    if problems:
        return problems
    value, date = entry["forecast"], entry["resolution_date"]
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        problems.append(f"forecast must be a number from 0 to 1, not {value!r:.40}")
    if not isinstance(entry["id"], str) or not isinstance(entry["source"], str):
        return [*problems, "id and source must be texts: combinations of questions are not forecast any more"]
    if entry["source"] in MARKETS and date is not None:
        problems.append(f"{entry['id']}: a market question has no resolution date, it must be null")
    if date is not None and (_day_or_none(date) is None or (isinstance(due, str) and date <= due)):
        problems.append(f"{entry['id']}: resolution_date must be a day after the due date, not {date!r:.40}")
    if not isinstance(entry.get("reasoning"), str | None):
        problems.append(f"{entry['id']}: reasoning must be a text or null")
    key = (entry["id"], entry["source"], date)
    if key in seen:
        problems.append(f"{entry['id']} at {date} is there twice")
    elif key not in wanted and not problems:
        problems.append(f"{entry['source']}/{entry['id']} at {date} is not in the question set")
    seen.add(key)
    return problems


def _checked_prophet(text: str, questions: QuestionSet) -> list[str]:
    problems: list[str] = []
    seen: set[str] = set()
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        entry = parse_json(line, what=f"line {number}")
        if not isinstance(entry, dict) or set(entry) != {"task_id", "rationale", "probabilities"}:
            problems.append(
                f"line {number}: an answer has task_id, rationale and probabilities, and nothing else"
            )
            continue
        name = entry["task_id"]
        if name in seen:
            problems.append(f"line {number}: task {name!r:.60} is answered twice")
        question = questions.questions.get(name) if isinstance(name, str) else None
        if question is None:
            problems.append(f"line {number}: task {name!r:.60} is not in the set")
            continue
        seen.add(name)
        if not isinstance(entry["rationale"], str):
            problems.append(f"line {number}: the rationale must be a text")
        problems += [f"line {number}: {each}" for each in _outcome_problems(entry["probabilities"], question)]
    return problems or ([] if seen else ["no answer in it"])


def _outcome_problems(rows: Any, question: Question) -> list[str]:
    labels = ["Yes", "No"] if question.kind == "binary" else list(question.options)
    if not isinstance(rows, list) or not all(
        isinstance(row, dict) and set(row) == {"market", "probability"} for row in rows
    ):
        return ["probabilities is a list of market and probability"]
    problems = []
    if sorted(str(row["market"]) for row in rows) != sorted(labels):
        problems.append(f"the outcomes must be exactly {', '.join(labels)}, each once")
    for row in rows:
        p = row["probability"]
        if isinstance(p, bool) or not isinstance(p, int | float) or not 0 <= p <= 1:
            problems.append(f"{row['market']!r:.60}: a probability from 0 to 1, not {p!r:.40}")
    return problems


def _checked_metaculus(text: str, questions: QuestionSet) -> list[str]:
    parts = [part for part in re.split(r"\n\n---\n\n", text) if part.strip()]
    if not parts or not all(part.startswith("## ") for part in parts):
        raise QuestionError(
            "comments begin with a heading each, '## ' and the question, with '---' between them"
        )
    problems = []
    if len(parts) > len(questions.questions):
        problems.append(f"{len(parts)} comments for {len(questions.questions)} questions")
    for number, part in enumerate(parts, 1):
        shares = [float(share) for share in re.findall(r"^- .*: (\d+\.\d) %$", part, re.MULTILINE)]
        if not shares or any(not 0 <= share <= 100 for share in shares):
            problems.append(f"comment {number} states no forecast")
        if len(part) > _LONGEST_COMMENT:
            problems.append(
                f"comment {number} has {len(part)} characters, at most {_LONGEST_COMMENT} are taken"
            )
        if "![" in part.replace("\\!", "").replace("\\[", ""):
            problems.append(f"comment {number} shows a picture from elsewhere")
    return problems


def _day_or_none(value: Any) -> str | None:
    try:
        return check_day(value, of="a day") if isinstance(value, str) else None
    except QuestionError:
        return None


def read_rationales(text: str) -> dict[str, str]:
    """Words for questions by id, as a night's ``rationales.json`` holds them; raises `QuestionError` for another shape."""
    document = parse_json(text, what="the file of rationales")
    if not isinstance(document, dict) or not all(isinstance(words, str) for words in document.values()):
        raise QuestionError("rationales are one JSON object, question id to text")
    return {str(name): words for name, words in document.items()}


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
        if lacking and question.outcomes:
            left_out.append(f"{question.id}: resolved already, so it is forecast no more")
        elif lacking or not events_of(question):
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


def scale_of(question: Question) -> Scale | None:
    """The range of a number or a date, on which its quantiles make a distribution; None without one."""
    low, high = range_of(question)
    if low is None or high is None:
        return None
    return Scale(
        low=low,
        high=high,
        open_low=question.open_low,
        open_high=question.open_high,
        zero_point=question.zero_point,
    )


def within(questions: QuestionSet, p: Mapping[str, float], least: float) -> dict[str, float]:
    """Forecasts as they leave the house: none nearer to 0 or 1 than ``least``; options of one choice keep their sum.

    >>> asked = Question(id="q", title="Rain?")
    >>> within(QuestionSet(name="s", questions={"q": asked}), {"q": 1.0}, 0.01)
    {'q': 0.99}
    """
    if not 0 <= least < 0.5:
        raise QuestionError(f"the least probability is from 0 to less than 0.5, not {least:g}")
    kept = {event: min(max(value, least), 1 - least) for event, value in p.items()}
    for question in questions.questions.values():
        ids = [event.id for event in events_of(question) if event.id in p]
        total = sum(p[event] for event in ids)
        if question.kind != "options" or not question.exclusive or not 0.95 <= total <= 1.05:
            continue
        # Mixed with an even spread, so that the least one has enough and all still come to 1.
        lowest, even = min(p[event] / total for event in ids), 1 / len(ids)
        share = max(0.0, (min(least, even) - lowest) / (even - lowest)) if lowest < even else 0.0
        kept |= {event: (1 - share) * p[event] / total + share * even for event in ids}
    return kept


def metaculus_forecasts(
    questions: QuestionSet, p: Mapping[str, float], quantiles: Mapping[str, Mapping[str, float | str]]
) -> list[dict[str, Any]]:
    """Forecasts as Metaculus's API takes them, one entry a question that has one."""
    entries: list[dict[str, Any]] = []
    for question in questions.questions.values():
        chances = {event.part: p[event.id] for event in events_of(question) if event.id in p}
        scale = scale_of(question)
        own = {"question": int(question.id) if question.id.isdigit() else question.id, "source": "api"}
        if question.kind == "binary" and chances:
            entries.append({**own, "probability_yes": chances[""]})
        elif question.kind == "options" and len(chances) == len(question.options):
            entries.append({**own, "probability_yes_per_category": chances})
        elif scale is not None and question.id in quantiles:
            stated = {
                f"{100 * float(level):g}": day_number(value) if isinstance(value, str) else value
                for level, value in quantiles[question.id].items()
            }
            entries.append({**own, "continuous_cdf": metaculus_cdf(stated, scale)})
    return entries


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
                    _comment_words(texts.get(question.id, "")),
                ]
            ).strip()
        )
    return "\n\n---\n\n".join(parts) + "\n"


def _comment_words(text: str) -> str:
    """A rationale as Markdown of a comment: its lines stay, nothing in it is a heading, a link, a picture or a rule."""
    return "\n".join(_escaped(line) if line.strip("-* ") else "" for line in text.splitlines())


def _escaped(text: str) -> str:
    """Text of a stranger's as Markdown shows it: no heading, link or picture of its own."""
    plain = " ".join(text.split())
    for letter in "\\`*_[]<>#!|":
        plain = plain.replace(letter, f"\\{letter}")
    return plain
