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
    order = {arm.name: number for number, arm in enumerate(spec.arms)}
    second = {first: other for other, first in complements(exam.tasks).items()}
    ended: dict[StudyCell, ForecastMade | ForecastMissing] = {**state.forecasts, **state.missing}
    rows: list[dict[str, Any]] = []
    for cell in sorted(
        (cell for cell in ended if cell.event in place),
        key=lambda cell: (order.get(cell.arm, 99), cell.seed, cell.trial, place[cell.event]),
    ):
        each = ended[cell]
        p = getattr(each, "p", np.nan)
        row = {
            "arm": cell.arm,
            "event_id": cell.event,
            "seed": cell.seed,
            "trial": cell.trial,
            "p": p,
            "seconds": getattr(each, "seconds", 0.0),
            "calls": each.calls,
            "tokens": getattr(each, "tokens", 0),
            "cost_usd": np.nan if each.cost_usd is None else each.cost_usd,
            "run": each.run,
            **(sizes[each.run]._asdict() if sizes and each.run in sizes else {}),
            "missing": getattr(each, "reason", ""),
        }
        rows.append(row)
        other = second.get(cell.event, "")
        if other in place and cell._replace(event=other) not in ended:
            # One answer for both options of a choice between two: the other's is what is left, and cost nothing.
            free = {"seconds": 0.0, "cost_usd": 0.0, "calls": 0, "tokens": 0}
            rows.append({**row, "event_id": other, "p": 1.0 - p, **free})
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    events = exam.events
    at = frame["event_id"].map(place).to_numpy(dtype=np.int64)
    p, outcome = frame["p"].to_numpy(dtype=np.float64), events.outcome[at]
    right = np.where(p == 0.5, 0.5, (p > 0.5) == (outcome == 1.0))
    frame["study"], frame["kind"] = spec.name, frame["arm"].map({arm.name: arm.kind for arm in spec.arms})
    frame["question_key"], frame["outcome"] = events.question[at], outcome
    frame["brier"], frame["correct"] = (p - outcome) ** 2, np.where(np.isnan(p), np.nan, right)
    frame["crowd"] = events.probability("crowd")[at] if "crowd" in events.frame.columns else np.nan
    extra = [column for column in _EVENT_COLUMNS if column in events.frame.columns]
    return frame.merge(events.frame[["event_id", *extra]], on="event_id", how="left")


def trials_of(frame: pd.DataFrame, exam: StudyExam) -> dict[str, FloatArray]:
    """Per arm its forecasts, shape (events, seeds x trials), ``nan`` where one is missing."""
    return {
        str(arm): own.pivot(index="event_id", columns=["seed", "trial"], values="p")
        .reindex(exam.events.event_id)
        .to_numpy(dtype=np.float64)
        for arm, own in frame.groupby("arm", sort=False)
    }


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
    forecasts = frame.dropna(subset=["p"]).rename(columns={"arm": "method"})
    # Trials of several seeds are numbered on: the files of the science room know no seeds.
    forecasts["trial"] = forecasts.groupby(["seed", "trial"]).ngroup() + 1
    tables = {
        "table.csv": frame,
        "events.csv": exam.events.frame,
        "forecasts.csv": forecasts[["method", "event_id", "trial", "p"]],
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
