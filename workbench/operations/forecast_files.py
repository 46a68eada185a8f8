"""What requests over files of forecasts share: the files, which of them is meant, and how a score with its interval is written."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from workbench.errors import UsageError
from workbench.formatting import counted
from workbench.operations.base import Home, Operation
from workbench.operations.blocks import Block, Remark, Table
from workbench.operations.fields import Words
from workbench.output_files import write_output
from workbench.questions.sets.exams import find_exam
from workbench.science.tables import Events, Forecasts, read_events, read_forecasts
from workbench.spreadsheet import csv_text


class ForecastFiles(Operation):
    """Events, and forecasts of them by methods."""

    events: Path
    """Events: CSV (gzip too) or parquet."""
    forecasts: Path
    """Forecasts: CSV (gzip too) or parquet."""
    method: Words = []
    """Methods, by comma; all when not given."""
    variant: str = "forecast"
    """Which published forecast of a file that has several."""

    def tables(self, *, unresolved: bool = False) -> tuple[Events, Forecasts]:
        """Return both files, checked against each other."""
        events = read_events(self.events, unresolved=unresolved)
        return events, read_forecasts(self.forecasts, events)


class ExamFiles(ForecastFiles):
    """Files that an exam may choose from, and the draws behind intervals."""

    exam: str | None = None
    """Only the events of this exam (`exam build` makes one)."""
    resamples: Annotated[int, Field(ge=0)] = 2000
    """Resamples behind each 95 % interval; 0 for none."""
    seed: int = 20261122
    """Seed of the resampling."""

    def chosen(self, home: Home) -> tuple[Events, Forecasts, dict[str, Any]]:
        """Return both files cut down to the events of the exam, if one is named, else to those with an outcome; and what a document says of that.

        Forecasts are checked against the whole file of events first: an exam chooses among good rows, it does not hide bad
        ones.
        """
        events, forecasts = self.tables(unresolved=True)
        said: dict[str, Any] = {}
        if self.exam is not None:
            exam = find_exam(exams_folder(home), self.exam)
            rows, said = exam.rows(events), {"exam": exam.summary()}
        else:
            rows = np.flatnonzero(~np.isnan(events.outcome))
            if not len(rows):
                read_events(self.events)  # refuses it and names the column
            if len(rows) < len(events):
                said = {"without_outcome": len(events) - len(rows)}
        return events.take(rows), forecasts.take(rows), said


def exams_folder(home: Home) -> Path:
    """Return where `exam build` puts its files and ``--exam`` looks for them."""
    return home.folder / "exams"


def left_out(document: Mapping[str, Any]) -> Iterator[Block]:
    """Say how many events were not scored because they have no outcome."""
    if count := document.get("without_outcome"):
        yield Remark(f"{counted(count, 'event')} without an outcome left out")


def with_interval(value: float | None, interval: Sequence[float] | None) -> str | float | None:
    """Write a number with its interval, in one word so that a pipe can cut the table up.

    >>> with_interval(0.25, [0.2, 0.3]), with_interval(0.25, None), with_interval(81.234, [79.5, 83.1])
    ('0.250[0.200,0.300]', 0.25, '81.2[79.5,83.1]')
    """
    if value is None or interval is None:
        return value
    digits = 1 if abs(value) >= 10 else 3
    return f"{value:.{digits}f}[{interval[0]:.{digits}f},{interval[1]:.{digits}f}]"


def consistency(document: Mapping[str, Any]) -> Iterator[Block]:
    """Show how far each method's forecasts hang together, where outcomes exclude or imply each other."""
    rows = [
        (name, entry["consistency"]) for name, entry in document["methods"].items() if "consistency" in entry
    ]
    if rows:
        names = ("exclusive", "exclusive_sets", "gap", "chain", "chains")
        yield Table(
            ["consistency", *(name.replace("_", " ") for name in names)],
            [[label, *(entry[name] for name in names)] for label, entry in rows],
        )


def write_whole(path: Path, text: str) -> None:
    """Write text by an atomic rename, gzipped when the name ends in ``.gz``."""
    data = text.encode()
    if path.suffix == ".gz":
        # Without the time of writing equal results are equal bytes.
        data = gzip.compress(data, mtime=0)
    try:
        os.stat(path.parent)  # a folder that is missing is a mistyped path: it is not made
        write_output(path, data)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from error


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write rows as CSV, gzipped when the name ends in ``.gz``; the file appears whole or not at all."""
    write_whole(path, csv_text(header, rows))
