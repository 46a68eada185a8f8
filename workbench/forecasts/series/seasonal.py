"""Same-season models: how often the series was above the level at this time of year."""

from dataclasses import dataclass

import numpy as np

from workbench.forecasts.series.series_history import Days, History
from workbench.science.arrays import FloatArray, IntArray

_MONTH_STARTS = np.array([0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334])


def day_of_year(days: Days) -> IntArray:
    """Return the day 1..365 in a calendar without leap days: 29 February counts as 28 February.

    pandas' own day of year, which the paper uses, is off by one after February in leap years.

    >>> day_of_year(np.array(["2020-02-29", "2020-12-31"], dtype="datetime64[D]")).tolist()
    [59, 365]
    """
    months = days.astype("datetime64[M]")
    month = months.astype(np.int64) % 12
    day = (days - months.astype("datetime64[D]")).astype(np.int64) + 1
    day = np.where((month == 1) & (day == 29), 28, day)
    return np.asarray(_MONTH_STARTS[month] + day, dtype=np.int64)


def cyclic_distance(a: IntArray, b: IntArray) -> IntArray:
    """Count the days between two days of the year (1..365), the short way round: 31 December and 2 January are 2 apart.

    Source: BLF, App. I.1, eq. 18.

    Examples
    --------
    >>> cyclic_distance(np.array([365]), np.array([2])).tolist()
    [2]
    """
    gap = np.abs(a - b)
    return np.asarray(np.minimum(gap, 365 - gap), dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Knn:
    """Share of the values near this day of the year that were above the level, smoothed: ``(k + 1) / (n + 2)``.

    Without any neighbour that is 0.5. Source: BLF, App. I.1, eq. 17-19 (window 10 days, all years, for DBnomics).

    Examples
    --------
    >>> history = History.of(["2018-07-01", "2019-07-01", "2020-01-01"], [20.0, 30.0, 0.0])
    >>> Knn().chances(history, np.array(["2020-07-03"], dtype="datetime64[D]"), np.array([25.0])).tolist()
    [[0.5]]
    """

    window: int = 10
    max_age_days: int | None = None
    name: str = "knn"

    def neighbours(self, history: History, targets: Days) -> list[FloatArray]:
        """Return the values of the neighbours of each target."""
        day = day_of_year(history.days)
        # the forecast is due the day after the last visible one
        age = (history.days[-1] + 1 - history.days).astype(np.int64)
        young = np.ones(len(history), dtype=bool) if self.max_age_days is None else age < self.max_age_days
        return [
            history.values[young & (cyclic_distance(day, target) <= self.window)]
            for target in day_of_year(targets)
        ]

    def chances(self, history: History, targets: Days, levels: FloatArray) -> FloatArray:
        """Return probabilities, shape (targets, levels)."""
        rows = []
        for values in self.neighbours(history, targets):
            # "right": a value equal to the level is not above it.
            above = len(values) - np.searchsorted(np.sort(values), levels, side="right")
            rows.append((above + 1.0) / (len(values) + 2.0))
        return np.array(rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorYear:
    """`Knn` with a window of 7 days over the last 5 years.

    Source: BLF, App. I.3.

    Examples
    --------
    >>> PriorYear().knn.window
    7
    """

    window: int = 7
    years: int = 5
    name: str = "prior-year"

    @property
    def knn(self) -> Knn:
        """The model behind it."""
        return Knn(window=self.window, max_age_days=365 * self.years)

    def has_data(self, history: History, targets: Days) -> FloatArray:
        """Return 1.0 for each target that has a same-season value at least half a year old, else 0.0; `Hybrid` asks this.

        The weeks just before a target are near it in the year too, but they are no earlier season.
        """
        old = history.days <= history.days[-1] - np.timedelta64(180, "D")
        if not old.any():
            return np.zeros(len(targets), dtype=np.float64)
        past = History(days=history.days[old], values=history.values[old])
        day = day_of_year(past.days)
        age = (history.days[-1] + 1 - past.days).astype(np.int64)
        young = age < 365 * self.years
        near = [bool((young & (cyclic_distance(day, t) <= self.window)).any()) for t in day_of_year(targets)]
        return np.array(near, dtype=np.float64)

    def chances(self, history: History, targets: Days, levels: FloatArray) -> FloatArray:
        """Return probabilities, shape (targets, levels)."""
        return self.knn.chances(history, targets, levels)
