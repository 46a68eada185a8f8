"""Questions as CSV: a row per question, or a row per event as `score`, `exam` and `compare` read them."""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from datetime import date
from typing import Any

from proxies.input_files import InputRefused, parse_csv_rows
from workbench.questions.formats.base import (
    QuestionFile,
    Resolution,
    collect,
    day_of,
    number_of,
    parse_json,
    text_of,
)
from workbench.questions.question import (
    Question,
    QuestionError,
    QuestionEvent,
    day_number,
    event_id,
    events_of,
    outcome_columns,
    range_of,
    shown_value,
    targets_of,
)
from workbench.questions.series.asked_quantities import quantity_series
from workbench.questions.worded_answers import outcomes_of, values_of
from workbench.spreadsheet import guard_formula, unguard_formula

_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_LISTS = ("horizons", "options", "propositions", "levels", "days", "criteria_parts")
_MAPPINGS = ("payoffs", "crowd", "quotes", "outcomes", "values", "extra")
_NUMBERS = ("low", "high", "zero_point", "volume")
_NO_NUMBER = ("na", "n/a", "nan", "none", "null")
_FLAGS = ("exclusive", "open_low", "open_high")
_FIELDS = tuple(item.name for item in fields(Question))
#: What people call the column that says how a question came out: under such a name it would count as any other column.
_CAME_OUT = frozenset(
    ("answer", "answers", "outcome", "outcomes", "result", "results", "resolution", "resolved", "resolved_to", "resolved_as", "resolved_value",
     "resolves_to", "resolution_value", "final_outcome", "final_answer", "final_resolution", "correct_answer", "true_answer", "actual", "actual_outcome",
     "actual_value", "ground_truth", "truth", "gold", "gold_label", "settled", "settled_as", "settlement", "winner", "winning_outcome")
)  # fmt: skip

#: Columns of a file of events (`workbench.science.tables`).
EVENT_COLUMNS = (
    "event_id",
    "question_key",
    "source",
    "question_type",
    "category",
    "forecast_due_date",
    "resolution_date",
    "horizon_days",
    "outcome",
    "crowd",
    "volume",
    "question",
    "part",
    "url",
    "outcome_set",
    "set_size",
    "set_step",
)

#: Columns of a file of numbers that are asked for (`workbench.science.quantile_tables`).
VALUE_COLUMNS = (
    "event_id",
    "value",
    "low",
    "high",
    "open_low",
    "open_high",
    "unit",
    "question_key",
    "forecast_due_date",
    "resolution_date",
    "series",
    "question",
)


def read_rows(text: str) -> list[dict[str, str]]:
    """Rows of a CSV text by column name; raises `QuestionError` where it has no header or a row of another length."""
    try:
        rows = parse_csv_rows(text, "the file")
    except InputRefused as error:
        raise QuestionError(str(error)) from None
    if not rows:
        raise QuestionError("the file has no row")
    return [{name: unguard_formula(value) for name, value in row.items()} for row in rows]


def is_event_table(columns: Sequence[str]) -> bool:
    """Whether a CSV with these columns is a file of events."""
    return {"event_id", "question_key"} <= set(columns)


def read_questions(rows: Sequence[dict[str, str]]) -> QuestionFile:
    """Read a row per question.

    Columns are the fields of `Question`; ``id`` and ``title`` must be there. Lists are separated by ``|`` or are JSON,
    mappings are JSON; ``crowd`` may be a plain number, and ``answer`` is the outcome in the question's own words.
    """
    unknown = set(rows[0]) - {*_FIELDS, "answer"}
    lacking = {"id", "title"} - set(rows[0])
    if lacking:
        raise QuestionError(
            f"the column {sorted(lacking)[0]!r} is missing; the file has: {', '.join(rows[0])}"
        )
    _check_outcome(rows[0], "answer", "outcomes", "values")
    return collect(
        ((row["id"] or f"row {number}", row) for number, row in enumerate(rows, 1)),
        lambda row: _question(row, unknown),
    )


def _check_outcome(columns: Iterable[str], *right: str) -> None:
    if not set(right) & set(columns):
        for name in columns:
            words = re.sub("(?<=[a-z])(?=[A-Z])|[^A-Za-z]+", "_", name.strip())
            if words.casefold() in _CAME_OUT:
                raise QuestionError(
                    f"the column {name!r:.40} is not read as how questions came out: call it {right[0]}, or by another name if it is no outcome"
                )


def _question(row: dict[str, str], unknown: set[str]) -> Question:
    data: dict[str, Any] = {}
    for name, cell in row.items():
        text = cell.strip()
        if not text or name in unknown or name == "answer":
            continue
        if name in _LISTS or name == "links":
            values = (
                parse_json(text, what=name)
                if text.startswith("[")
                else [part.strip() for part in text.split("|")]
            )
            data[name] = [_number_in(str(value), name) for value in values] if name == "levels" else values
        elif name in _MAPPINGS:
            data[name] = (
                parse_json(text, what=name)
                if text.startswith("{")
                else {row["id"].strip(): _number_in(text, name)}
            )
        elif name in _NUMBERS:
            data[name] = _number_in(text, name)
        elif name in _FLAGS:
            data[name] = text.lower() in ("1", "true", "yes")
        else:
            data[name] = text
    extra = {name: row[name].strip() for name in sorted(unknown) if name and row[name].strip()}
    if extra:
        data["extra"] = {**data.get("extra", {}), **extra}
    question = Question.from_json(data)
    answer = row.get("answer", "").strip()
    if not answer:
        return question
    return question.answered(outcomes_of(question, answer), values=values_of(question, answer))


def _number_in(text: str, name: str) -> float:
    value = number_of(text)
    if value is not None:
        return value
    percent = number_of(text.removesuffix("%").strip()) if text.endswith("%") else None
    meant = percent / 100 if percent is not None else None
    if re.fullmatch(r"-?\d+,(\d{1,2}|\d{4,})", text):
        meant = number_of(text.replace(",", "."))
    cure = f": write {meant:g}" if meant is not None else ": mend it, or leave the cell empty"
    raise QuestionError(f"{name} must be a number, not {text!r:.40}{cure}")


def write_questions(questions: Sequence[Question]) -> str:
    """A row per question, with the columns that are used; `read_questions` reads it back into the same questions."""
    table = [question.to_json() for question in questions]
    used = [name for name in _FIELDS if any(name in row for row in table)]
    return csv_of(used, [[_csv_cell(name, row.get(name)) for name in used] for row in table])


def _csv_cell(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name in _LISTS and not any(isinstance(each, str) and "|" in each for each in value):
        return "|".join(each if isinstance(each, str) else repr(each) for each in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def read_events(rows: Sequence[dict[str, str]]) -> QuestionFile:
    """Read a row per event: rows of one ``question_key`` are the horizons of one question.

    Columns that are no field of ours (``prior_temporal`` and the like) are kept as ``extra`` of the question where all its
    rows agree.
    """
    _check_outcome(rows[0], "outcome")
    groups: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        groups.setdefault(row["question_key"], []).append(row)
    return collect(groups.items(), _from_events)


def _from_events(group: Sequence[dict[str, str]]) -> Question:
    first = group[0]
    name = first["question_key"]
    several = len(group) > 1
    horizons = tuple(sorted(day_of(row.get("resolution_date")) for row in group))
    if several and len(set(horizons)) != len(group):
        raise QuestionError("two events of one question have the same resolution date")
    outcomes: dict[str, float] = {}
    crowd: dict[str, float] = {}
    for row in group:
        own = event_id(name, horizon=day_of(row.get("resolution_date")) if several else "")
        for column, shares in (("outcome", outcomes), ("crowd", crowd)):
            if (cell := text_of(row.get(column))) and cell.casefold() not in _NO_NUMBER:
                shares[own] = _number_in(cell, column)
    known = {*EVENT_COLUMNS, *_FIELDS}
    extra = {
        column: first[column]
        for column in first
        if column not in known and first[column] and len({row[column] for row in group}) == 1
    }
    return Question(
        id=name,
        title=text_of(first.get("question")) or name,
        source=first.get("source") or "own",
        question_type=first.get("question_type") or "dataset",
        category=text_of(first.get("category") or first.get("subtype")),
        asked_on=day_of(first.get("forecast_due_date")),
        horizons=tuple(day for day in horizons if day),
        url=text_of(first.get("url")),
        volume=number_of(first.get("volume")),
        outcomes=outcomes,
        crowd=crowd,
        extra=extra,
    )


def read_outcomes(rows: Sequence[dict[str, str]]) -> list[Resolution]:
    """Read outcomes by event: columns ``event_id, outcome`` (``value`` for what numbers came to) and, if there is one, ``day``."""
    if "event_id" not in rows[0] or not {"outcome", "value"} & set(rows[0]):
        raise QuestionError(
            f"outcomes need the columns event_id and outcome (or value, of numbers); the file has: {', '.join(rows[0])}"
        )
    final = []
    for number, row in enumerate(rows, 1):
        if came := row.get("value", "").strip():
            if (value := day_number(came) if _DAY.fullmatch(came) else number_of(came)) is None:
                raise QuestionError(f"row {number}: {came!r:.40} is no number")
            final.append(Resolution(row["event_id"], value, day_of(row.get("day")), numeric=True))
        if not row.get("outcome", "").strip():
            continue
        value = number_of(row["outcome"])
        if value is None or not 0 <= value <= 1:
            raise QuestionError(f"row {number}: {row['outcome']!r:.40} is no outcome from 0 to 1")
        final.append(Resolution(row["event_id"], value, day_of(row.get("day"))))
    return final


def write_values(questions: Sequence[Question]) -> str:
    """A row per number that is asked for, as ``science score --values`` reads them; ``value`` is empty where none came yet."""
    return csv_of(
        VALUE_COLUMNS,
        [
            [
                target.id,
                *(
                    "" if end is None else str(shown_value(question, end))
                    for end in (target.value, *range_of(question))
                ),
                *("open" if is_open else "" for is_open in (question.open_low, question.open_high)),
                "days" if question.kind == "date" else question.unit,
                question.id,
                question.asked_on,
                target.horizon,
                quantity_series(question),
                question.title,
            ]
            for question in questions
            for target in targets_of(question)
        ],
    )


def write_events(questions: Sequence[Question]) -> str:
    """A row per event as `score`, `exam` and `compare` read them."""
    rows = [row for question in questions for row in event_rows(question, events_of(question))]
    columns = list(dict.fromkeys([*EVENT_COLUMNS, *(name for question in questions for name in question.extra)]))  # fmt: skip
    return csv_of(columns, [[row.get(column, "") for column in columns] for row in rows])


def event_rows(question: Question, events: Iterable[QuestionEvent]) -> Iterator[dict[str, str]]:
    """Yield events of a question as rows of such a file."""
    sets = outcome_columns(question)
    for event in events:
        yield {
            **question.extra,
            "event_id": event.id,
            "question_key": question.id,
            "source": question.source,
            "question_type": question.question_type,
            "category": question.category or "none",
            "forecast_due_date": question.asked_on,
            "resolution_date": event.horizon,
            "horizon_days": _days_between(question.asked_on, event.horizon),
            "outcome": "" if event.outcome is None else f"{event.outcome:g}",
            "crowd": "" if event.crowd is None else repr(event.crowd),
            "volume": "" if question.volume is None else repr(question.volume),
            "question": event.statement,
            "part": event.part,
            "url": question.url,
            **sets.get(event.id, {}),
        }


def _days_between(start: str, end: str) -> str:
    return str((date.fromisoformat(end) - date.fromisoformat(start)).days) if start and end else ""


def csv_of(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows as CSV with a header, no text a formula."""
    lines = []
    for row in (header, *rows):
        text = io.StringIO()
        # \r\n, because the writer quotes only the line ends that it writes itself, and a lone \r would end a row
        csv.writer(text, lineterminator="\r\n").writerow([guard_formula(cell) for cell in row])
        lines.append(text.getvalue().removesuffix("\r\n") + "\n")
    return "".join(lines)
