"""Which format a file of questions is in, and reading and writing it: the one door for `questions import` and `export`."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from proxies import input_files
from proxies.input_files import InputRefused
from workbench.questions.formats import (
    forecastbench,
    metaculus,
    prophet,
    venues,
)
from workbench.questions.formats import (
    published_sets as matter_of_fact,
)
from workbench.questions.formats import (
    published_sets as named,
)
from workbench.questions.formats import (
    question_tables as tables,
)
from workbench.questions.formats.base import QuestionFile, Resolution, collect, parse_json
from workbench.questions.question import Question, QuestionError, check_links

OWN = "analyst-workbench/questions/1"


def read_text(path: Path) -> str:
    """Text of a file, gzip or not by its content; raises `QuestionError` for one that cannot be read or is too large."""
    try:
        return input_files.read_text(path)
    except InputRefused as error:
        raise QuestionError(str(error)) from None


def read_file(path: Path, form: str | None = None) -> tuple[QuestionFile, str]:
    """Read a file of questions; return the reading and the name of its format.

    `form`: A name in `FORMATS`; found out from the content if not given.

    Raises `QuestionError`: One line with the file and what is wrong.
    """
    text = read_text(path)
    try:
        name = form or _form(text)
        if name not in FORMATS:
            raise QuestionError(f"unknown format {name!r:.40}: one of {', '.join(FORMATS)}")
        reading = FORMATS[name](text)
        check_links({question.id: question for question in reading.questions})
    except QuestionError as error:
        raise QuestionError(f"{path}: {error}") from None
    if not reading.questions and not reading.left_out:
        raise QuestionError(f"{path}: no question in it")
    return reading, name


def _form(text: str) -> str:
    if prophet.is_task_file(text):
        return "prophet"
    if text.lstrip()[:1] not in ("{", "["):
        header = tables.read_rows(text)[0]
        return "events" if tables.is_event_table(tuple(header)) else "csv"
    document = parse_json(text, what="the file")
    if isinstance(document, dict) and document.get("format") == OWN:
        return "json"
    if forecastbench.is_question_set(document):
        return "forecastbench"
    if matter_of_fact.is_claim_list(document):
        return "matter-of-fact"
    if venues.kalshi_events(document):
        return "kalshi"
    if venues.polymarket_events(document):
        return "polymarket"
    if metaculus.posts_of(document):
        return "metaculus"
    raise QuestionError(f"a JSON value of no format that is known here: {', '.join(FORMATS)}")


def _own(text: str) -> QuestionFile:
    document = parse_json(text, what="the file")
    if not isinstance(document, dict) or not isinstance(document.get("questions"), list):
        raise QuestionError("a list under 'questions' is needed")
    entries = document["questions"]
    return collect(
        ((str(entry.get("id", "?")) if isinstance(entry, dict) else "?", entry) for entry in entries),
        Question.from_json,
    )


def _venue(
    find: Callable[[Any], list[Mapping[str, Any]] | None], read: Callable[[Any], QuestionFile], what: str
) -> Callable[[str], QuestionFile]:
    def reader(text: str) -> QuestionFile:
        events = find(parse_json(text, what="the file"))
        if events is None:
            raise QuestionError(f"no {what} events with their markets in it")
        return read(events)

    return reader


#: Format -> reader of its text.
FORMATS: Mapping[str, Callable[[str], QuestionFile]] = {
    "json": _own,
    "csv": lambda text: tables.read_questions(tables.read_rows(text)),
    "events": lambda text: tables.read_events(tables.read_rows(text)),
    "forecastbench": lambda text: forecastbench.read_questions(parse_json(text, what="the file")),
    "prophet": prophet.read_questions,
    "metaculus": lambda text: metaculus.read_questions(parse_json(text, what="the file")),
    "matter-of-fact": lambda text: matter_of_fact.read_questions(parse_json(text, what="the file")),
    **{name: partial(named.read_named, name) for name in named.NAMED_SETS},
    "kalshi": _venue(venues.kalshi_events, venues.read_kalshi, "Kalshi"),
    "polymarket": _venue(venues.polymarket_events, venues.read_polymarket, "Polymarket"),
}


def write_json(questions: Sequence[Question]) -> str:
    """Questions in the workbench's own format."""
    document = {"format": OWN, "questions": [question.to_json() for question in questions]}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


#: Format -> writer of its text.
WRITERS: Mapping[str, Callable[[Sequence[Question]], str]] = {
    "json": write_json,
    "csv": tables.write_questions,
    "events": tables.write_events,
    "values": tables.write_values,
    "forecastbench": lambda questions: (
        json.dumps(forecastbench.write_questions(questions), indent=1, ensure_ascii=False) + "\n"
    ),
    "prophet": prophet.write_questions,
}


def read_resolutions(path: Path, questions: Mapping[str, Question]) -> list[Resolution]:
    """Outcomes out of a file: a ForecastBench resolution set, a CSV of event_id and outcome, or any file of questions with outcomes.

    Raises `QuestionError`: Neither of these.
    """
    text = read_text(path)
    try:
        if text.lstrip()[:1] == "{" and not prophet.is_task_file(text):
            document = parse_json(text, what="the file")
            if forecastbench.is_resolution_set(document):
                return forecastbench.read_resolutions(document, questions)
        elif text.lstrip()[:1] not in ("{", "["):
            rows = tables.read_rows(text)
            if "event_id" in rows[0] and ("question_key" not in rows[0] or "value" in rows[0]):
                return tables.read_outcomes(rows)
        reading = FORMATS[_form(text)](text)
    except QuestionError as error:
        raise QuestionError(f"{path}: {error}") from None
    return [
        Resolution(event, p, question.resolved_on, numeric)
        for question in reading.questions
        for numeric, came in ((False, question.outcomes), (True, question.values))
        for event, p in came.items()
    ]
