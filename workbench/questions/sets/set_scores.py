"""Sets of questions as tables of events, and how a set's forecasts scored."""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workbench.questions.formats.question_tables import EVENT_COLUMNS, event_rows
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
from workbench.science.documents import quantile_document, score_document
from workbench.science.quantile_tables import NumericTargets, read_quantiles
from workbench.science.recipe import Recipe
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
    rows = [row for question in questions for row in event_rows(question, events(question))]
    table = pd.DataFrame(rows)
    # all but where the outcomes of no question exclude or imply each other
    columns = [name for name in EVENT_COLUMNS if name not in _CHAINED or name in table]
    frame = table.reindex(columns=list(dict.fromkeys([*columns, *table]))).fillna("")
    series = [series_of_statement(statement) for statement in frame.pop("question")]
    if "series" not in frame and any(series):
        frame["series"] = series
    frame[_NUMBERS] = frame[_NUMBERS].apply(pd.to_numeric).astype(float)
    frame["outcome"] = frame["outcome"].where(frame["outcome"].isin((0.0, 1.0)))
    ids, names, sources, kinds = (
        frame[column].to_numpy(dtype=str)
        for column in ("event_id", "question_key", "source", "question_type")
    )
    return Events(
        path=path,
        event_id=ids,
        question=names,
        source=sources,
        kind=kinds,
        outcome=frame["outcome"].to_numpy(),
        frame=frame.drop(columns="url"),
    )


_NUMBERS = ["outcome", "crowd", "horizon_days", "volume"]
_CHAINED = ("outcome_set", "set_size", "set_step")


def targets_table(questions: Sequence[Question], *, path: Path = Path("(questions)")) -> NumericTargets:
    """Every number that these questions ask for, as `workbench.science.documents.quantile_document` scores it; ``nan`` where none came."""
    rows = []
    for question in questions:
        low, high = range_of(question)
        tie = question.extra.get("series", "") or quantity_series(question)
        unit = "days" if question.kind == "date" else question.unit
        ends = (-np.inf if low is None else low, np.inf if high is None else high)
        rows += [
            (target.id, target.value, *ends, question.open_low, question.open_high, unit, question.asked_on, target.horizon, question.id, tie)
            for target in targets_of(question)
        ]  # fmt: skip
    names = [item.name for item in fields(NumericTargets)][1:]
    frame = pd.DataFrame(rows, columns=names)
    kinds = {"value": float, "low": float, "high": float, "open_low": bool, "open_high": bool}
    return NumericTargets(
        path=path, **{name: frame[name].to_numpy(dtype=kinds.get(name, str)) for name in names}
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
