"""Group the events that count as one: those of one series in one block of time, and those asked on one day, share their luck.

They are flipped together. Two equal methods that lean apart were told apart in half of all worlds while 50 series of one day
counted as 50.
"""

from datetime import date

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from workbench.science.arrays import IntArray, ways
from workbench.science.errors import DomainError
from workbench.science.table_cells import StrArray
from workbench.science.tables import Events

#: Fewer clusters give neither an interval nor a verdict: with five the smallest p that sign flips can reach is 0.0625.
MIN_CLUSTERS = 6

# A block is this many times as long as the longest window of its series. Windows that reach over a border tie neighbouring blocks
# together: at twice the length a 95 % interval of rolling windows covers 92 to 93 %, at three times 94 to 95 %
# (tests/science/test_paired.py). Chaining windows that overlap would need no length, but it merges a rolling record into one cluster.
_BLOCK = 3
# Days of a file lie as its author asked; where their windows overlap, seven groups of days are left at least, from
# which sign flips of 95 % cover 95 % (of six they cover 97).
_FEWEST_GROUPS = 7


def clusters_of(
    question: ArrayLike,
    *,
    series: ArrayLike | None = None,
    start: ArrayLike | None = None,
    end: ArrayLike | None = None,
) -> StrArray:
    """Label of each event's cluster: its series and the block of calendar time in which its question began.

    Parameters
    ----------
    question : array_like, shape (n,)
        Events of one question (and series) are never parted.
    series : array_like, shape (n,), optional
        What the event is about (an index, a topic); the question where blank or not given.
    start, end : array_like of str, shape (n,), optional
        First and last day of the event's window, as YYYY-MM-DD. A series with a day that cannot be read is one cluster.

    Raises
    ------
    DomainError
        Columns of another length.

    Examples
    --------
    >>> clusters_of(["a", "b", "c"], series=["VIX"] * 3, start=["2020-01-01", "2020-01-08", "2021-06-01"],
    ...             end=["2020-01-31", "2020-02-07", "2021-06-30"]).tolist()
    ['VIX 0', 'VIX 0', 'VIX 5']
    """
    questions = np.asarray(question).astype(str)
    columns = [
        np.full(len(questions), "") if column is None else np.asarray(column).astype(str)
        for column in (series, start, end)
    ]
    if any(len(column) != len(questions) for column in columns):
        raise DomainError(f"series and days must have one entry for each of {len(questions)} events")
    names = pd.Series(np.where(np.char.strip(columns[0]) == "", questions, columns[0]))
    first, last = _ordinal_days(columns[1]), _ordinal_days(columns[2])
    dated = (first.notna() & last.notna()).groupby(names).transform("all")
    # The question's whole stretch: dates of one question may begin one after the other.
    began = first.groupby([names, questions]).transform("min")
    length = last.groupby([names, questions]).transform("max") - began + 1
    longest = length.groupby(names).transform("max").clip(lower=1)
    blocks = (began - began.groupby(names).transform("min")) // (_BLOCK * longest)
    blocks = blocks.where(dated, 0).astype(int)
    return np.array([f"{name} {block}" for name, block in zip(names, blocks, strict=True)], dtype=str)


def _ordinal_days(texts: StrArray) -> pd.Series:
    days = {text: _ordinal_day(text) for text in np.unique(texts).tolist()}
    return pd.Series([days[text] for text in texts.tolist()], dtype=float)


def _ordinal_day(text: str) -> int | None:
    try:
        return date.fromisoformat(text.strip()[:10]).toordinal()
    except ValueError:
        return None


def series_clusters(events: Events) -> StrArray:
    """Cluster a table of events by series alone, from the columns that it has.

    The series is the column ``series``, else the source with its own id (``source_question_id``), else the question; the window
    runs from the day asked on to ``resolution_date``.

    >>> series_clusters(Events.of([1, 0, 1], question=["a", "a", "b"])).tolist()
    ['a 0', 'a 0', 'b 0']
    """
    series = _column(events, "series")
    if series is None and (source_ids := _column(events, "source_question_id")) is not None:
        series = np.where(source_ids == "", "", np.char.add(np.char.add(events.source, "/"), source_ids))
    return clusters_of(
        events.question, series=series, start=days_asked_on(events), end=_column(events, "resolution_date")
    )


def _column(events: Events, name: str) -> StrArray | None:
    return events.text(name) if name in events.frame.columns else None


def days_asked_on(events: Events) -> StrArray | None:
    """Return the day on which each event was asked (``forecast_due_date``, else ``forecast_date``); "" where unknown, None where all are."""
    for name in ("forecast_due_date", "forecast_date"):
        column = _column(events, name)
        if column is not None and any(_ordinal_day(text) is not None for text in np.unique(column).tolist()):
            return np.array([text.strip()[:10] for text in column.tolist()], dtype=str)
    return None


def day_count(events: Events, rows: ArrayLike | None = None) -> int | None:
    """Count the distinct days on which events were asked; None where no day is known.

    >>> day_count(Events.of([1, 0], question=["a", "b"], forecast_due_date="2025-10-26")), day_count(Events.of([1, 0]))
    (1, None)
    """
    days = days_asked_on(events)
    if days is None:
        return None
    days_of_rows = np.unique(days if rows is None else days[np.asarray(rows)]).tolist()
    return sum(_ordinal_day(day) is not None for day in days_of_rows) or None


def time_blocks(start: ArrayLike, end: ArrayLike, *, at_least: int = 1) -> StrArray:
    """Assign each window to the block of calendar time in which it began, whatever its series: windows that overlap are in one block.

    A block runs three of the longest windows at most. Where that leaves fewer blocks than ``at_least``, the days are parted into so
    many groups of neighbours instead (each its own group where they are fewer; six where windows are longer than a group). Windows without a first day are a block together.

    >>> time_blocks(["2020-01-01", "2020-01-20", "2020-03-01"], ["2020-01-31", "2020-02-20", "2020-03-31"]).tolist()
    ['0', '0', '1']
    """
    first = [_ordinal_day(text) for text in np.asarray(start).astype(str).tolist()]
    last = [_ordinal_day(text) for text in np.asarray(end).astype(str).tolist()]
    windows = sorted(
        {(a, a if b is None else max(a, b)) for a, b in zip(first, last, strict=True) if a is not None}
    )
    longest = max((b - a + 1 for a, b in windows), default=1)
    block_of: dict[int, int] = {}
    block, begun, reach = -1, 0, -1
    for day, until in windows:
        if day not in block_of:
            if day > reach or day - begun >= _BLOCK * longest:
                block, begun = block + 1, day
            block_of[day] = block
        reach = max(reach, until)
    groups = min(at_least, len(block_of))
    if block_of and longest * groups > max(block_of) - min(block_of) + 1:
        # Windows longer than a group tie it to its neighbours: of fewer groups sign flips reject less than they say, which makes up for it.
        groups = min(groups, MIN_CLUSTERS)
    if block + 1 < groups:
        block_of = {day: place * groups // len(block_of) for place, day in enumerate(sorted(block_of))}
    return np.array(["" if day is None else str(block_of[day]) for day in first], dtype=str)


def event_clusters(events: Events) -> StrArray:
    """Cluster a table of events in each way in which they share their luck: by series, and by the days asked on.

    Every interval and verdict over events takes them from here (`ways`).

    Returns
    -------
    ndarray of str, shape (n, 2) or (n,)
        Series and days (`series_clusters`, `time_blocks`); series alone where no day is known, or where there is one series, whose
        clusters are stretches of time already. A column ``stretch`` is taken for the days' where the table has it.

    Examples
    --------
    >>> event_clusters(Events.of([1, 0], question=["a", "b"], forecast_due_date="2025-10-26")).tolist()
    [['a 0', '0'], ['b 0', '0']]
    >>> cluster_count(event_clusters(Events.of([1, 0], question=["a", "b"], forecast_due_date="2025-10-26")))
    1
    """
    by_series = series_clusters(events)
    blocks, days = _column(events, "stretch"), days_asked_on(events)
    if len({label.rpartition(" ")[0] for label in by_series.tolist()}) < 2:
        return by_series
    if blocks is None:
        if days is None:
            return by_series
        end = _column(events, "resolution_date")
        blocks = time_blocks(days, days if end is None else end, at_least=_FEWEST_GROUPS)
    # An event without a day is tied to none but its series.
    return np.column_stack([by_series, np.where(blocks == "", by_series, blocks)])


def widest_way(clusters: ArrayLike, residuals: ArrayLike) -> tuple[int, float]:
    """Return the way in which a sum of residuals varies most, and how much more it varies with all ways counted (as a factor of spread).

    Variance is that of the sums by series, plus by days, less by both (Cameron, Gelbach and Miller 2011).
    """
    codes = ways(clusters)
    if len(codes) == 1:
        return 0, 1.0
    values = np.asarray(residuals, dtype=np.float64)
    by_series, by_day, by_both = (
        float((np.bincount(way_codes, weights=values) ** 2).sum()) for way_codes in codes
    )
    way = int(by_day >= by_series)
    largest = max(by_series, by_day)
    return way, float(np.sqrt(max(1.0, (by_series + by_day - by_both) / largest))) if largest > 0 else 1.0


def fewest(clusters: ArrayLike) -> IntArray:
    """Codes of the way with the fewest clusters."""
    return min(ways(clusters)[:2], key=lambda codes: int(codes.max(initial=-1)))


def cluster_count(clusters: ArrayLike) -> int:
    """Count the clusters that these labels name, in the way that has the fewest.

    >>> cluster_count(["a", "b", "a"]), cluster_count([["a", "0"], ["b", "0"]])
    (2, 1)
    """
    return int(fewest(clusters).max(initial=-1)) + 1
