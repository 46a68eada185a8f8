"""Sets of questions as tables of events, and how a set's forecasts scored."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from workbench.questions.formats.question_tables import EVENT_COLUMNS, event_row
from workbench.questions.grammar import series_of_statement
from workbench.questions.question import (
    Question,
    QuestionError,
    asked_events,
    events_of,
    range_of,
    targets_of,
)
from workbench.questions.series.asked_quantities import quantity_series
from workbench.questions.sets.question_sets import QuestionSet
from workbench.science.arrays import FloatArray
from workbench.science.documents import quantile_document, score_document
from workbench.science.quantile_tables import NumericTargets, read_quantiles
from workbench.science.recipe import Recipe
from workbench.science.table_cells import StrArray
from workbench.science.tables import Events, read_forecasts


def events_table(
    questions: Sequence[Question], *, path: Path = Path("(questions)"), asked: bool = False
) -> Events:
    """Every event of these questions as a table that scores, exams and comparisons read; ``nan`` where unresolved.

    With ``asked``, also the numbers and dates that nothing divides into events (`asked_events`).

    An event that resolved in part counts as unresolved: only yes and no are scored.

    Columns beside those of a file of events: those of the questions' ``extra``, ``part``, ``volume``, where outcomes exclude or imply
    each other ``outcome_set``, ``set_size`` and ``set_step``, and, where no extra says it, the ``series`` that an event is about, which
    ties its luck to others'.
    """
    events = asked_events if asked else events_of
    rows = [event_row(question, event) for question in questions for event in events(question)]
    series = [series_of_statement(row["question"]) for row in rows]
    extra = dict.fromkeys(column for question in questions for column in question.extra)
    sets = dict.fromkeys(
        column for row in rows for column in ("outcome_set", "set_size", "set_step") if column in row
    )
    known = {} if "series" in extra or not any(series) else {"series": np.array(series, dtype=str)}

    def words(column: str) -> StrArray:
        return np.array([row.get(column, "") for row in rows], dtype=str)

    def numbers(column: str) -> FloatArray:
        return np.array([float(row[column] or "nan") for row in rows], dtype=float)

    outcomes = numbers("outcome")
    table = Events.of(
        np.where(np.isin(outcomes, (0.0, 1.0)), outcomes, np.nan),
        kind=words("question_type"),
        question=words("question_key"),
        crowd=numbers("crowd"),
        horizon_days=numbers("horizon_days"),
        volume=numbers("volume"),
        **{
            column: words(column)
            for column in ("source", "category", "forecast_due_date", "resolution_date", "part", *sets)
        },
        **known,
        **{column: words(column) for column in extra if column not in EVENT_COLUMNS},
    )
    ids = words("event_id")
    return replace(table, path=path, event_id=ids, frame=table.frame.assign(event_id=ids))


def targets_table(questions: Sequence[Question], *, path: Path = Path("(questions)")) -> NumericTargets:
    """Every number that these questions ask for, as `workbench.science.documents.quantile_document` scores it; ``nan`` where none came."""
    pairs = [(question, target) for question in questions for target in targets_of(question)]
    ranges = [range_of(question) for question, _ in pairs]

    def words(*values: str) -> StrArray:
        return np.array(values, dtype=str)

    return NumericTargets(
        path=path,
        id=words(*(target.id for _, target in pairs)),
        value=np.array(
            [np.nan if target.value is None else target.value for _, target in pairs], dtype=float
        ),
        low=np.array([-np.inf if low is None else low for low, _ in ranges], dtype=float),
        high=np.array([np.inf if high is None else high for _, high in ranges], dtype=float),
        open_low=np.array([question.open_low for question, _ in pairs], dtype=bool),
        open_high=np.array([question.open_high for question, _ in pairs], dtype=bool),
        unit=words(*("days" if question.kind == "date" else question.unit for question, _ in pairs)),
        first_day=words(*(question.asked_on for question, _ in pairs)),
        last_day=words(*(target.horizon for _, target in pairs)),
        question=words(*(question.id for question, _ in pairs)),
        series=words(
            *(question.extra.get("series", "") or quantity_series(question) for question, _ in pairs)
        ),
    )


def score_set_quantiles(
    questions: QuestionSet, quantiles: Path, methods: Sequence[str] = ()
) -> dict[str, Any]:
    """Scores of a file of quantiles on the numbers of a set that came: ``questions score --quantiles``.

    Raises `QuestionError`: The set asks for no number, or none has come. Raises `TableError`: As of `read_quantiles`.
    """
    table = targets_table(list(questions.questions.values()), path=Path(f"set {questions.name}"))
    if not np.isfinite(table.value).any():
        raise QuestionError(
            f"set {questions.name} has no numeric question with an outcome: `questions resolve {questions.name} ID NUMBER` first"
        )
    document = quantile_document(table, read_quantiles(quantiles, table), methods=methods)
    return {**document, "set": questions.name}


def score_set(questions: QuestionSet, forecasts: Path, **options: Any) -> dict[str, Any]:
    """Scores of a file of forecasts on the events of a set that can be scored: ``questions score``."""
    table = events_table(list(questions.questions.values()), path=Path(f"set {questions.name}"))
    rows = np.flatnonzero(~np.isnan(table.outcome))
    if not len(rows):
        raise QuestionError(
            f"set {questions.name} has no event that is resolved yes or no: `questions resolve` first"
        )
    values = read_forecasts(forecasts, table).take(rows)
    recipe = options.pop("recipe", Recipe())
    document = score_document(table.take(rows), values, recipe, **options)
    return {
        **document,
        "set": questions.name,
        "scored": len(rows),
        "unscored": [{"id": each.id, "reason": each.reason} for each in questions.unscored()],
    }
