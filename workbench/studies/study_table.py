"""The one tidy table of a study: a row per forecast, with its event, outcome, score, price, and how much its series moved.

Beside it the study's events and forecasts in the files that `score`, `compare` and `returns` read, so that any figure of the report
can be made again without us.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from proxies.asof.asof_text import NO_TEXT
from proxies.asof.clock import Cutoff
from proxies.errors import ProxyError
from workbench.blocking import run_blocking
from workbench.errors import UsageError
from workbench.forecasts.series.series_history import realised_volatility
from workbench.offline.visible_past import broker_history, open_sources, visible
from workbench.output_files import write_output
from workbench.questions.decision import value_series
from workbench.questions.formats.question_tables import csv_of
from workbench.questions.grammar import read_claim
from workbench.science.arrays import FloatArray
from workbench.science.pooling.pool import pool
from workbench.store.events import ForecastMade, ForecastMissing
from workbench.studies.study_exam import StudyExam
from workbench.studies.study_file import StudyCell, StudySpec
from workbench.studies.study_scores import TreeSize
from workbench.studies.study_state import StudyState
from workbench.studies.study_tasks import complements

#: Rows of a series that its volatility rests on: a year of trading days.
_ROWS = 252


def with_volatility(exam: StudyExam) -> StudyExam:
    """The exam with a column ``volatility``, percent a year, where it has none and some of its statements are claims on known series."""
    if "volatility" in exam.events.frame.columns or not exam.statements:
        return exam
    values = run_blocking(_volatilities(exam))
    if not np.isfinite(values).any():
        return exam
    return replace(exam, events=replace(exam.events, frame=exam.events.frame.assign(volatility=values)))


async def _volatilities(exam: StudyExam) -> np.ndarray:
    values = np.full(len(exam), np.nan)
    claims = {}
    for row, event in enumerate(exam.events.event_id.tolist()):
        try:
            claims[row] = (
                read_claim(exam.statements.get(event, NO_TEXT).text),
                Cutoff.parse(exam.cutoffs[event]),
            )
        except (UsageError, KeyError):
            continue  # a question in free words, or one without a day: the report says nothing of it
    if not claims:
        return values
    known: dict[tuple[str, str], float] = {}
    broker = open_sources({name for claim, _ in claims.values() for name in claim.sources})
    try:
        for row, (claim, cutoff) in claims.items():
            place = (claim.series, cutoff.text)
            if place not in known:
                try:
                    rows = await visible(broker_history(broker), claim.sources, cutoff)
                    series = value_series(claim.series, rows).iloc[-_ROWS - 1 :]
                    days = series.index.to_numpy(dtype="datetime64[D]")
                    known[place] = realised_volatility(days, series.to_numpy(dtype=np.float64))
                except (
                    UsageError,
                    ProxyError,
                ):  # a source that is down costs a column, and not a study that was paid for
                    known[place] = float("nan")
            values[row] = known[place]
    finally:
        await broker.aclose()
    return values


#: Columns of the table, in this order; those of the exam's events follow.
COLUMNS = (
    "study", "arm", "kind", "event_id", "question_key", "seed", "trial", "p", "outcome", "brier", "correct", "crowd", "seconds",
    "calls", "tokens", "cost_usd", "run", "nodes", "leaves", "kept", "missing",
)  # fmt: skip
_EVENT_COLUMNS = (
    "source",
    "question_type",
    "category",
    "subtype",
    "forecast_due_date",
    "resolution_date",
    "horizon_days",
    "volume",
    "volatility",
)


def tidy_table(
    spec: StudySpec, exam: StudyExam, state: StudyState, sizes: Mapping[str, TreeSize] | None = None
) -> pd.DataFrame:
    """One row per forecast that was made or is missing, in the order of arms, seeds, trials and events; ``sizes`` of trees by run."""
    place = {event: row for row, event in enumerate(exam.events.event_id.tolist())}
    kinds = {arm.name: arm.kind for arm in spec.arms}
    order = {arm.name: number for number, arm in enumerate(spec.arms)}
    crowd = (
        exam.events.probability("crowd")
        if "crowd" in exam.events.frame.columns
        else np.full(len(exam), np.nan)
    )
    ended: dict[StudyCell, ForecastMade | ForecastMissing] = {**state.forecasts, **state.missing}
    cells = [(cell, each) for cell, each in ended.items() if cell.event in place]
    cells.sort(
        key=lambda pair: (order.get(pair[0].arm, 99), pair[0].seed, pair[0].trial, place[pair[0].event])
    )
    second = {first: other for other, first in complements(exam.tasks).items()}
    rows: list[dict[str, Any]] = []
    for cell, each in cells:
        p = getattr(each, "p", None)
        rows.append(
            {
                **_forecast_columns(spec, exam, cell, place[cell.event], p, float(crowd[place[cell.event]])),
                "kind": kinds.get(cell.arm, ""),
                "seconds": getattr(each, "seconds", 0.0),
                "calls": each.calls,
                "tokens": getattr(each, "tokens", 0),
                "cost_usd": np.nan if each.cost_usd is None else each.cost_usd,
                "run": each.run,
                **(sizes[each.run]._asdict() if sizes and each.run in sizes else {}),
                "missing": getattr(each, "reason", ""),
            }
        )
        other = cell._replace(event=second.get(cell.event, cell.event))
        if other not in ended and other.event in place:
            # One answer for both options of a choice between two: the other's is what is left, and cost nothing.
            left = None if p is None else 1.0 - p
            rows.append(
                {
                    **rows[-1],
                    **_forecast_columns(
                        spec, exam, other, place[other.event], left, float(crowd[place[other.event]])
                    ),
                    **dict.fromkeys(("seconds", "cost_usd"), 0.0),
                    **dict.fromkeys(("calls", "tokens"), 0),
                }
            )
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    events = exam.events.frame
    extra = [column for column in _EVENT_COLUMNS if column in events.columns]
    return frame.merge(events[["event_id", *extra]], on="event_id", how="left")


def _forecast_columns(
    spec: StudySpec, exam: StudyExam, cell: StudyCell, row: int, p: float | None, crowd: float
) -> dict[str, Any]:
    outcome = float(exam.events.outcome[row])
    return {
        "study": spec.name,
        "arm": cell.arm,
        "event_id": cell.event,
        "question_key": str(exam.events.question[row]),
        "seed": cell.seed,
        "trial": cell.trial,
        "p": np.nan if p is None else p,
        "outcome": outcome,
        "brier": np.nan if p is None else (p - outcome) ** 2,
        "correct": np.nan if p is None else 0.5 if p == 0.5 else float((p > 0.5) == (outcome == 1.0)),
        "crowd": crowd,
    }


def trials_of(frame: pd.DataFrame, exam: StudyExam) -> dict[str, FloatArray]:
    """Per arm its forecasts, shape (events, seeds x trials), ``nan`` where one is missing."""
    place = {event: row for row, event in enumerate(exam.events.event_id.tolist())}
    matrices: dict[str, FloatArray] = {}
    for arm, own in frame.groupby("arm", sort=False):
        keys = sorted(set(zip(own["seed"], own["trial"], strict=True)))
        column = {key: number for number, key in enumerate(keys)}
        matrix = np.full((len(exam), len(keys)), np.nan)
        for event, seed, trial, p in zip(own["event_id"], own["seed"], own["trial"], own["p"], strict=True):
            matrix[place[event], column[seed, trial]] = p
        matrices[str(arm)] = matrix
    return matrices


def pooled_arms(trials: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """One forecast per event of each arm, shape (events,): its trials pooled in logits."""
    return {
        arm: pool(matrix, "logit-mean") if matrix.shape[1] > 1 else matrix[:, 0]
        for arm, matrix in trials.items()
    }


def write_tables(folder: Path, frame: pd.DataFrame, exam: StudyExam) -> list[Path]:
    """Write ``table.parquet`` (where pyarrow is installed), ``table.csv``, ``events.csv`` and ``forecasts.csv``; return what was written."""
    written: list[Path] = []
    try:
        frame.to_parquet(folder / "table.parquet", index=False)
        written.append(folder / "table.parquet")
    except ImportError:
        pass  # Parquet needs pyarrow; the CSV holds the same table
    forecasts = frame.dropna(subset=["p"]).copy()
    # Trials of several seeds are numbered on: the files of the science room know no seeds.
    keys = {
        key: number
        for number, key in enumerate(sorted(set(zip(forecasts["seed"], forecasts["trial"], strict=True))), 1)
    }
    forecasts["trial"] = [keys[key] for key in zip(forecasts["seed"], forecasts["trial"], strict=True)]
    tables = {
        "table.csv": frame,
        "events.csv": exam.events.frame,
        "forecasts.csv": forecasts.rename(columns={"arm": "method"})[["method", "event_id", "trial", "p"]],
    }
    for name, table in tables.items():
        text = csv_of(
            [str(column) for column in table.columns],
            [[_cell(value) for value in row] for row in table.itertuples(index=False)],
        )
        write_output(folder / name, text.encode())
        written.append(folder / name)
    return written


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    return repr(float(value)) if isinstance(value, float | np.floating) else str(value)
