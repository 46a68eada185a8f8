"""Which events count as one: forecasts of one series in one block of time share their luck, so they are drawn and flipped together."""

from collections import defaultdict
from datetime import date

import numpy as np
from numpy.typing import ArrayLike

from workbench.science.arrays import codes_of
from workbench.science.errors import DomainError
from workbench.science.table_cells import StrArray
from workbench.science.tables import Events

#: Fewer clusters give neither an interval nor a verdict: with five the smallest p that sign flips can reach is 0.0625.
MIN_CLUSTERS = 6

# A block is this many times as long as the longest window of its series. Windows that reach over a border tie neighbouring blocks
# together: at twice the length a 95 % interval of rolling windows covers 92 to 93 %, at three times 94 to 95 %
# (tests/science/test_paired.py). Chaining windows that overlap would need no length, but it merges a rolling record into one cluster.
_BLOCK = 3


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
    names = np.where(np.char.strip(columns[0]) == "", questions, columns[0])
    days = {text: _ordinal_day(text) for column in columns[1:] for text in np.unique(column).tolist()}
    windows: dict[str, dict[str, list[tuple[int | None, int | None]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for name, own, first, last in zip(
        *(each.tolist() for each in (names, questions, *columns[1:])), strict=True
    ):
        windows[name][own].append((days[first], days[last]))
    blocks = {name: _blocks(own) for name, own in windows.items()}
    labels = [
        f"{name} {blocks[name][own]}" for name, own in zip(names.tolist(), questions.tolist(), strict=True)
    ]
    return np.array(labels, dtype=str)


def _ordinal_day(text: str) -> int | None:
    try:
        return date.fromisoformat(text.strip()[:10]).toordinal()
    except ValueError:
        return None


def _blocks(windows: dict[str, list[tuple[int | None, int | None]]]) -> dict[str, int]:
    """Number of the block of each question of one series, counted from its first day."""
    starts: dict[str, int] = {}
    longest = 1
    for question, own in windows.items():
        known = [(first, last) for first, last in own if first is not None and last is not None]
        if len(known) < len(own):
            return dict.fromkeys(windows, 0)
        starts[question] = min(first for first, _ in known)
        # The question's whole stretch: dates of one question may begin one after the other.
        longest = max(longest, max(last for _, last in known) - starts[question] + 1)
    origin = min(starts.values())
    return {question: (first - origin) // (_BLOCK * longest) for question, first in starts.items()}


def event_clusters(events: Events) -> StrArray:
    """Clusters of a table of events, from the columns that it has.

    The series is the column ``series``, else the source with its own id (``source_question_id``), else the question; the window
    runs from ``forecast_due_date`` to ``resolution_date``.

    Examples
    --------
    >>> event_clusters(Events.of([1, 0, 1], question=["a", "a", "b"])).tolist()
    ['a 0', 'a 0', 'b 0']
    """

    def column(name: str) -> StrArray | None:
        return events.text(name) if name in events.frame.columns else None

    series = column("series")
    if series is None and (own := column("source_question_id")) is not None:
        series = np.where(own == "", "", np.char.add(np.char.add(events.source, "/"), own))
    return clusters_of(
        events.question, series=series, start=column("forecast_due_date"), end=column("resolution_date")
    )


def cluster_count(clusters: ArrayLike) -> int:
    """How many clusters these labels name.

    >>> cluster_count(["a", "b", "a"])
    2
    """
    return len(codes_of(clusters)[1])
