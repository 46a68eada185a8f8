"""Readers of numbers that are asked for and of their forecasts by quantiles: refused as a whole, with file, row and column.

No column of theirs is one of a file of probabilities, so neither can be scored as the other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.science.arrays import FloatArray, IntArray
from workbench.science.errors import TableError
from workbench.science.table_cells import Cells, StrArray, read_cells

QUANTILE_COLUMNS = ("method", "event_id", "share", "value")
_OPTIONAL = (
    "low", "high", "open_low", "open_high", "unit", "forecast_due_date", "resolution_date", "question_key", "series",
)  # fmt: skip
#: Fewest quantiles that say something of a distribution.
FEWEST = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class NumericTargets:
    """Numbers that are asked for, one row each.

    Parameters
    ----------
    path : Path
    id : ndarray of str, shape (n,)
    value : ndarray, shape (n,)
        What came; ``nan`` where nothing has yet.
    low, high : ndarray, shape (n,)
        Ends of the range, infinite where there is none. What lies beyond an open end counts as at it: a market publishes no more.
    open_low, open_high : ndarray of bool, shape (n,)
    unit, first_day, last_day : ndarray of str, shape (n,)
        Days YYYY-MM-DD, or "".
    question, series : ndarray of str, shape (n,)
        What ties the luck of several numbers together; ``series`` may be "".
    """

    path: Path
    id: StrArray
    value: FloatArray
    low: FloatArray
    high: FloatArray
    open_low: NDArray[np.bool_]
    open_high: NDArray[np.bool_]
    unit: StrArray
    first_day: StrArray
    last_day: StrArray
    question: StrArray
    series: StrArray

    def __len__(self) -> int:
        return len(self.id)

    def within(self, row: int, values: FloatArray) -> FloatArray:
        """Return values as they count for the target of a row: at the end of its range what lies beyond."""
        return np.asarray(np.clip(values, self.low[row], self.high[row]))


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantileForecasts:
    """Forecasts of numbers: by method and row of the targets, quantiles at the same shares throughout."""

    path: Path
    shares: FloatArray
    methods: Mapping[str, Mapping[int, FloatArray]]


def read_targets(path: Path) -> NumericTargets:
    r"""Numbers that are asked for, from CSV (gzip too) or parquet.

    Raises `TableError`: One line with file, row and column.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "values.csv"
    ...     _ = file.write_text("event_id,value,low\nq,3.5,0\n")
    ...     read_targets(file).value.tolist()
    [3.5]
    """
    cells = _days_as_numbers(path).require("event_id", "value")
    cells = Cells(path, cells.frame.assign(**{name: "" for name in _OPTIONAL if name not in cells}))
    ids = cells.text("event_id")
    cells.refuse_repeated("the number", event_id=ids)
    words = {name: cells.text(name, blank=True) for name in _OPTIONAL}
    low = np.nan_to_num(cells.number("low", blank=True), nan=-np.inf)
    high = np.nan_to_num(cells.number("high", blank=True), nan=np.inf)
    open_low, open_high = (
        np.isin(np.char.lower(words[name]), ("open", "true", "yes", "1"))
        for name in ("open_low", "open_high")
    )
    cells.refuse(low >= high, "low", lambda row: f"the range from {low[row]:g} to {high[row]:g} is empty")
    targets = NumericTargets(
        path=path,
        id=ids,
        value=cells.number("value", blank=True),
        low=low,
        high=high,
        open_low=open_low,
        open_high=open_high,
        unit=words["unit"],
        first_day=words["forecast_due_date"],
        last_day=words["resolution_date"],
        question=np.where(words["question_key"] == "", ids, words["question_key"]),
        series=words["series"],
    )
    _refuse_beyond(cells, targets, np.arange(len(targets)), targets.value)
    return targets


def read_quantiles(path: Path, targets: NumericTargets) -> QuantileForecasts:
    r"""Forecasts by quantiles, checked against the numbers that are asked for.

    `path`: Columns ``method, event_id, share, value``: the value below which that share of the forecast lies. Every forecast has the same
    shares, since its score is a mean over them.

    Raises `TableError`: One line with file, row and column: a share out of range, quantiles that cross, one that is missing, one beyond a
    closed end of the range, a number that nobody asks for.
    """
    cells = _days_as_numbers(path).require(*QUANTILE_COLUMNS)
    method, event = cells.text("method"), cells.text("event_id")
    share, value = cells.number("share"), cells.number("value")
    row_of = pd.Index(targets.id).get_indexer(pd.Index(event)).astype(np.int64)
    cells.refuse(
        row_of < 0,
        "event_id",
        lambda row: f"{str(event[row])!r} is no number that {targets.path} asks for",
    )
    cells.refuse(
        (share <= 0) | (share >= 1), "share", lambda row: f"{share[row]:g} does not lie between 0 and 1"
    )
    cells.refuse_repeated("the quantile", method=method, event_id=event, share=share)
    _refuse_beyond(cells, targets, row_of, value)
    shares = np.unique(share)
    if len(shares) < FEWEST:
        raise TableError(path, f"{len(shares)} quantiles are no distribution: at least {FEWEST} shares", column="share")  # fmt: skip
    methods: dict[str, dict[int, FloatArray]] = {name: {} for name in method.tolist()}
    # One forecast after another, its quantiles rising.
    for rows in pd.DataFrame({"method": method, "row": row_of}).groupby(["method", "row"]).indices.values():
        part = np.asarray(rows)[np.argsort(share[rows], kind="stable")]
        first = int(part[0])
        named = f"the forecast of {str(event[first])!r} by {str(method[first])!r}"
        missing = np.setdiff1d(shares, share[part])
        if len(missing):
            problem = f"{named} has no quantile at {missing[0]:g}, which others have"
            raise TableError(path, problem, row=first + 1, column="share")
        crossing = np.flatnonzero(np.diff(value[part]) < 0)
        if len(crossing):
            before, after = part[crossing[0]], part[crossing[0] + 1]
            problem = f"{named} crosses: {value[after]:g} at {share[after]:g} lies below {value[before]:g} at {share[before]:g}"
            raise TableError(path, problem, row=int(after) + 1, column="value")
        methods[str(method[first])][int(row_of[first])] = value[part]
    return QuantileForecasts(path=path, shares=shares, methods=methods)


def _days_as_numbers(path: Path) -> Cells:
    frame = read_cells(path)
    days = {name: frame[name].map(_ordinal) for name in ("value", "low", "high") if name in frame.columns}
    return Cells(path, frame.assign(**days))


def _ordinal(cell: object) -> object:
    try:
        return (
            str(date.fromisoformat(cell).toordinal()) if isinstance(cell, str) and "-" in cell[1:] else cell
        )
    except ValueError:
        return cell


def _refuse_beyond(cells: Cells, targets: NumericTargets, row_of: IntArray, value: FloatArray) -> None:
    low, high = targets.low[row_of], targets.high[row_of]
    # ``nan``, a value that has not come, lies beyond nothing.
    below, above = (value < low) & ~targets.open_low[row_of], (value > high) & ~targets.open_high[row_of]
    cells.refuse(
        below | above,
        "value",
        lambda row: (
            f"{value[row]:g} lies beyond {(low if below[row] else high)[row]:g}, a closed end of the range"
        ),
    )


def quantile_rows(method: str, target: str, shares: Sequence[float], values: FloatArray) -> list[list[str]]:
    """Return a forecast as rows of a file that `read_quantiles` reads."""
    return [
        [method, target, f"{share:g}", repr(float(value))]
        for share, value in zip(shares, values, strict=True)
    ]
