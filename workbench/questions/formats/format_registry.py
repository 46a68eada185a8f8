"""Which format a file of questions is in, and reading and writing it: the one door for `questions import` and `export`."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from proxies import input_files
from proxies.input_files import InputRefused
from workbench.questions.formats import forecastbench, metaculus, prophet, published_sets, venues
from workbench.questions.formats import question_tables as tables
from workbench.questions.formats.base import QuestionFile, Resolution, collect, named, parse_json
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
        return "events" if tables.is_event_table(tuple(tables.read_rows(text)[0])) else "csv"
    document = parse_json(text, what="the file")
    for name, form in _JSON.items():
        if form.find(document):
            return name
    raise QuestionError(f"a JSON value of no format that is known here: {', '.join(FORMATS)}")


class _JsonFormat(NamedTuple):
    """A format of JSON values: what is read of a value (nothing where it is of another format), and how."""

    find: Callable[[Any], Any]
    read: Callable[[Any], QuestionFile]
    what: str


def _own(document: Any) -> list[Any] | None:
    is_own = isinstance(document, dict) and document.get("format") == OWN
    return document["questions"] if is_own and isinstance(document.get("questions"), list) else None


#: In the order in which a value is tried.
_JSON = {
    "json": _JsonFormat(
        _own, lambda entries: collect(named(entries, "id"), Question.from_json), f"questions of the format {OWN!r}"
    ),
    "forecastbench": _JsonFormat(
        forecastbench.question_set_of, forecastbench.read_questions, "ForecastBench question set, with a list under 'questions'"
    ),
    "matter-of-fact": _JsonFormat(published_sets.claims_of, published_sets.read_claims, "list of claims"),
    "kalshi": _JsonFormat(venues.kalshi_events, venues.read_kalshi, "Kalshi events with their markets"),
    "polymarket": _JsonFormat(venues.polymarket_events, venues.read_polymarket, "Polymarket events with their markets"),
    "metaculus": _JsonFormat(
        metaculus.posts_of, metaculus.read_questions, "posts with 'question', 'group_of_questions' or 'conditional'"
    ),
}  # fmt: skip


def _read_json(form: _JsonFormat, text: str) -> QuestionFile:
    found = form.find(parse_json(text, what="the file"))
    if found is None:
        raise QuestionError(f"no {form.what} in it")
    return form.read(found)


#: Format -> reader of its text.
FORMATS: Mapping[str, Callable[[str], QuestionFile]] = {
    **{name: partial(_read_json, form) for name, form in _JSON.items()},
    "csv": lambda text: tables.read_questions(tables.read_rows(text)),
    "events": lambda text: tables.read_events(tables.read_rows(text)),
    "prophet": prophet.read_questions,
    **{name: partial(published_sets.read_named, name) for name in published_sets.NAMED_SETS},
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
