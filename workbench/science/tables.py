"""Events and forecasts of probabilities out of files, tied together; and series and answers, as the science commands take them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from workbench.errors import Option
from workbench.science.arrays import FloatArray, IntArray
from workbench.science.calibrating.calibration import horizon_class
from workbench.science.errors import TableError
from workbench.science.table_cells import Cells, StrArray, read_cells

EVENT_COLUMNS = ("event_id", "question_key", "source", "question_type", "outcome")
FORECAST_COLUMNS = ("method", "event_id", "p")


@dataclass(frozen=True, slots=True, kw_only=True)
class Events:
    """The events of a file, in its order."""

    path: Path
    event_id: StrArray
    question: StrArray
    source: StrArray
    kind: StrArray
    """Question type: ``market`` or ``dataset`` in ForecastBench."""
    outcome: FloatArray
    """1, 0, or ``nan`` where unresolved (only if reading allowed that)."""
    frame: pd.DataFrame
    """All columns as read."""

    def __len__(self) -> int:
        return len(self.event_id)

    @classmethod
    def of(
        cls,
        outcome: ArrayLike,
        *,
        kind: ArrayLike = "dataset",
        question: ArrayLike | None = None,
        source: ArrayLike = "source",
        **columns: ArrayLike,
    ) -> "Events":
        """Events from arrays (a single value stands for all of them), for notebooks and tests.

        >>> Events.of([1, 0], kind="market", crowd=[0.9, 0.2]).event_id.tolist()
        ['e0', 'e1']
        """
        o = np.asarray(outcome, dtype=np.float64)
        ids = np.array([f"e{i}" for i in range(len(o))])
        frame = pd.DataFrame(
            {
                "event_id": ids,
                "question_key": np.broadcast_to(ids if question is None else np.asarray(question), o.shape),
                "source": np.broadcast_to(np.asarray(source), o.shape),
                "question_type": np.broadcast_to(np.asarray(kind), o.shape),
                "outcome": o,
                **{name: np.broadcast_to(np.asarray(values), o.shape) for name, values in columns.items()},
            }
        )
        return cls(
            path=Path("(arrays)"),
            event_id=ids,
            question=frame["question_key"].to_numpy(dtype=str),
            source=frame["source"].to_numpy(dtype=str),
            kind=frame["question_type"].to_numpy(dtype=str),
            outcome=o,
            frame=frame,
        )

    def take(self, rows: IntArray) -> "Events":
        """The events at these rows, as if the file held no others; errors still name the row of the whole file.

        >>> Events.of([1, 0, 1]).take(np.array([0, 2])).event_id.tolist()
        ['e0', 'e2']
        """
        return replace(
            self,
            event_id=self.event_id[rows],
            question=self.question[rows],
            source=self.source[rows],
            kind=self.kind[rows],
            outcome=self.outcome[rows],
            frame=self.frame.iloc[rows],
        )

    @property
    def cells(self) -> Cells:
        """The cells behind the events."""
        return Cells(self.path, self.frame)

    def text(self, column: str) -> StrArray:
        """A column as text; one line if it is missing."""
        return self.cells.require(column).text(column, blank=True)

    def number(self, column: str) -> FloatArray:
        """A column as numbers, ``nan`` where empty; one line if it is missing or holds text."""
        return self.cells.require(column).number(column, blank=True)

    def probability(self, column: str) -> FloatArray:
        """A column as probabilities, ``nan`` where empty."""
        return self.cells.require(column).probability(column, blank=True)

    def factor(self, name: str) -> StrArray:
        """Labels for calibration: ``source``, ``topic`` (column topic, else subtype), ``horizon``, or any column."""
        if name == "topic" and "topic" not in self.cells:
            return self.text("subtype")
        if name == "horizon" and "horizon" not in self.cells:
            days = self.number("horizon_days")
            problem = "is empty or negative; a horizon in days is needed"
            self.cells.refuse(~(days >= 0), "horizon_days", problem)
            return np.asarray(horizon_class(days))
        return self.text(name)


def read_events(path: Path, *, unresolved: bool = False) -> Events:
    r"""Events from CSV (gzip too) or parquet.

    Raises `TableError`: One line with file, row and column.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "events.csv"
    ...     _ = file.write_text("event_id,question_key,source,question_type,outcome\n001,q,fred,dataset,1\n")
    ...     read_events(file).event_id.tolist()
    ['001']
    """
    frame = read_cells(path)
    if unresolved and "outcome" not in frame.columns:
        frame = frame.assign(outcome=np.nan)
    cells = Cells(path, frame).require(*EVENT_COLUMNS)
    ids = cells.text("event_id")
    cells.refuse_repeated("event", event_id=ids)
    outcome = cells.number("outcome", blank=unresolved)
    cells.refuse(
        ~np.isin(outcome, (0.0, 1.0)) & ~np.isnan(outcome),
        "outcome",
        lambda row: f"{outcome[row]:g} is neither 0 nor 1; partly resolved events must be left out",
    )
    return Events(
        path=path,
        event_id=ids,
        question=cells.text("question_key"),
        source=cells.text("source"),
        kind=cells.text("question_type"),
        outcome=outcome,
        frame=frame,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecasts:
    """The forecasts of a file, tied to the rows of its events."""

    path: Path
    events: Events
    keyed_by: Literal["trial", "variant"]
    rows: pd.DataFrame
    """``method``, ``event`` (its row), ``key`` (the trial's number, or the variant) and ``p``."""

    @classmethod
    def of(
        cls,
        events: Events,
        values: Mapping[str, Mapping[str, ArrayLike]],
        *,
        keyed_by: Literal["trial", "variant"],
    ) -> "Forecasts":
        """Forecasts from arrays: method -> trial number or variant -> one probability per event, ``nan`` where there is none.

        >>> events = Events.of([1, 0])
        >>> Forecasts.of(events, {"m": {"1": [0.9, 0.2], "2": [0.7, 0.2]}}, keyed_by="trial").trials("m").tolist()
        [[0.9, 0.7], [0.2, 0.2]]
        """
        tables = [
            pd.DataFrame({
                "method": method,
                "event": np.arange(len(events)),
                "key": int(key) if keyed_by == "trial" else key,
                "p": np.asarray(p, dtype=np.float64),
            })
            for method, keys in values.items()
            for key, p in keys.items()
        ]  # fmt: skip
        rows = pd.concat(tables).dropna(subset="p")
        return cls(path=Path("(arrays)"), events=events, keyed_by=keyed_by, rows=rows)

    @property
    def methods(self) -> tuple[str, ...]:
        """In the order of their first row."""
        return tuple(self.rows["method"].unique())

    def take(self, rows: IntArray) -> "Forecasts":
        """The forecasts of the events at these rows; a method that has none there is no longer a method of it.

        >>> events = Events.of([1, 0])
        >>> both = {"a": {"forecast": [0.9, 0.2]}, "b": {"forecast": [0.5, float("nan")]}}
        >>> Forecasts.of(events, both, keyed_by="variant").take(np.array([1])).methods
        ('a',)
        """
        position = pd.Index(rows).get_indexer(pd.Index(self.rows["event"]))
        inside = position >= 0
        return replace(
            self, events=self.events.take(rows), rows=self.rows[inside].assign(event=position[inside])
        )

    def _of_method(self, method: str) -> pd.DataFrame:
        rows = self.rows[self.rows["method"] == method]
        if not len(rows):
            names = ", ".join(self.methods[:20])
            raise TableError(
                self.path, f"there is no method {method!r}; the file has: {names}", column="method"
            )
        return rows

    def trials(self, method: str) -> FloatArray:
        """Trials of a method, shape (events, largest number of trials), ``nan`` where one is missing."""
        if self.keyed_by != "trial":
            problem = "has no column 'trial': pooling needs the trials; published forecasts take "
            raise TableError(self.path, problem, Option("variant"), column="trial")
        rows = self._of_method(method)
        matrix = np.full((len(self.events), int(rows["key"].max())), np.nan)
        matrix[rows["event"], rows["key"] - 1] = rows["p"]
        return matrix

    def variant(self, method: str, variant: str) -> FloatArray:
        """Published forecasts of a method, shape (events,), ``nan`` where there is none."""
        if self.keyed_by != "variant":
            raise TableError(
                self.path,
                "has no column 'variant': it holds trials, which ",
                Option("pool"),
                " makes into forecasts",
                column="variant",
            )
        variants = self.rows["key"].unique().tolist()
        if variant not in variants:
            names = ", ".join(variants)
            raise TableError(
                self.path, f"there is no variant {variant!r}; the file has: {names}", column="variant"
            )
        rows = self._of_method(method)
        rows = rows[rows["key"] == variant]
        p = np.full(len(self.events), np.nan)
        p[rows["event"]] = rows["p"]
        return p


def read_forecasts(path: Path, events: Events) -> Forecasts:
    r"""Forecasts from CSV (gzip too) or parquet, checked against their events.

    Raises `TableError`: One line with file, row and column.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file, other = Path(folder) / "events.csv", Path(folder) / "forecasts.csv"
    ...     _ = file.write_text("event_id,question_key,source,question_type,outcome\n001,q,fred,dataset,1\n")
    ...     _ = other.write_text("method,event_id,trial,p\nm,001,1,0.2\nm,001,2,0.4\n")
    ...     read_forecasts(other, read_events(file)).trials("m").tolist()
    [[0.2, 0.4]]
    """
    cells = Cells(path, read_cells(path)).require(*FORECAST_COLUMNS)
    if "trial" in cells and "variant" in cells:
        raise TableError(
            path, "has both 'trial' and 'variant': trials and published forecasts go in two files"
        )
    method, event = cells.text("method"), cells.text("event_id")
    positions = pd.Index(events.event_id).get_indexer(pd.Index(event))
    cells.refuse(positions < 0, "event_id", lambda row: f"event {str(event[row])!r} is not in {events.path}")
    p = cells.probability("p")
    if "trial" in cells:
        number = cells.number("trial")
        # The largest trial number becomes the width of a dense matrix, so one mistyped number could ask for all memory.
        odd = (number < 1) | (number > 10_000) | (number != np.floor(number))
        cells.refuse(odd, "trial", lambda row: f"{number[row]:g} is not a trial number (1, 2, ...)")
        key: Any = number.astype(np.int64)
        cells.refuse_repeated("the trial", method=method, event=event, trial=key)
    else:
        variant = cells.text("variant") if "variant" in cells else np.full(len(p), "forecast")
        cells.refuse_repeated("the forecast", method=method, event=event, variant=variant)
        key = pd.Categorical(variant)
    rows = pd.DataFrame({"method": pd.Categorical(method), "event": positions, "key": key, "p": p})
    return Forecasts(path=path, events=events, keyed_by="trial" if "trial" in cells else "variant", rows=rows)


def read_series(path: Path, date_column: str = "date", value_column: str = "value") -> tuple[Any, FloatArray]:
    r"""Days and values of a time series; empty values are ``nan``.

    Raises `TableError`: One line with file, row and column.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "series.csv"
    ...     _ = file.write_text("date,value\n2020-01-02,1.5\n")
    ...     days, values = read_series(file)
    >>> str(days[0]), values.tolist()
    ('2020-01-02', [1.5])
    """
    cells = Cells(path, read_cells(path)).require(date_column, value_column)
    text = cells.text(date_column)
    days = pd.to_datetime(pd.Series(text), format="ISO8601", errors="coerce").to_numpy(dtype="datetime64[D]")
    cells.refuse(np.isnat(days), date_column, lambda row: f"{str(text[row])!r} is not an ISO date")
    return days, cells.number(value_column, blank=True)


@dataclass(slots=True, kw_only=True)
class Answers:
    """One model's answers about one event, by the way it was asked."""

    variants: list[float] = field(default_factory=list)
    yes: float | None = None
    no: float | None = None
    votes: list[float] = field(default_factory=list)
    confidence: list[float | None] = field(default_factory=list)


def read_answers(path: Path) -> dict[str, Answers]:
    r"""Answers per event: ``variant`` and ``yes`` ask for P(Yes), ``no`` for P(No), ``vote`` for Yes (1) or No (0).

    Raises `TableError`: One line with file, row and column.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "answers.csv"
    ...     _ = file.write_text("event_id,kind,value\ne1,yes,0.7\ne1,no,0.5\n")
    ...     read_answers(file)["e1"].no
    0.5
    """
    cells = Cells(path, read_cells(path)).require("event_id", "kind", "value")
    events, kinds, values = cells.text("event_id"), cells.text("kind"), cells.probability("value")
    confidence = np.full(len(values), np.nan)
    if "confidence" in cells:
        confidence = cells.probability("confidence", blank=True)
    known = ("variant", "yes", "no", "vote")
    cells.refuse(
        ~np.isin(kinds, known), "kind", lambda row: f"{str(kinds[row])!r} is none of {', '.join(known)}"
    )
    cells.refuse(
        (kinds == "vote") & ~np.isin(values, (0.0, 1.0)),
        "value",
        lambda row: f"{values[row]:g} is no vote (1 Yes, 0 No)",
    )
    by_event: dict[str, Answers] = {}
    for row, (event, kind, value, sure) in enumerate(
        zip(events.tolist(), kinds.tolist(), values.tolist(), confidence.tolist(), strict=True), start=1
    ):
        answer = by_event.setdefault(event, Answers())
        if kind == "variant":
            answer.variants.append(value)
        elif kind == "vote":
            answer.votes.append(value)
            answer.confidence.append(None if np.isnan(sure) else sure)
        elif getattr(answer, kind) is not None:
            raise TableError(
                path, f"event {event!r} has two answers of kind {kind!r}", row=row, column="kind"
            )
        else:
            setattr(answer, kind, value)
    return by_event
