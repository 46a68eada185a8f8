"""The product of a forecaster of a series: many paths of it with their weights, on the days of a calendar.

A *stamp* is the day that a value carries in its series: the session itself for a daily one, the first day of the week, month,
quarter or year for any other. A period counts from its stamp on, so "on 2018-09-28" means, for a monthly series, September's
value.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike

from workbench.forecasts.series.series_history import Days, History
from workbench.forecasts.trading_days import exchange_holidays
from workbench.science.arrays import FloatArray, IntArray
from workbench.science.errors import DomainError

Frequency = Literal["session", "weekday", "day", "week", "month", "quarter", "year"]
Combination = Literal["ratio", "difference"]

_MONTHS: dict[Frequency, int] = {"month": 1, "quarter": 3, "year": 12}
#: Steps in a year, by which volatility is annualised; 252 sessions are the custom of the field.
_A_YEAR: dict[Frequency, float] = {
    "session": 252.0, "weekday": 252.0, "day": 365.25, "week": 52.18, "month": 12.0, "quarter": 4.0, "year": 1.0,
}  # fmt: skip

#: A forecast of up to this many times a horizon's steps counts as one of that horizon: three months have 61 to 66 sessions.
SAME_HORIZON = 1.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Calendar:
    """The stamps of a series, by its frequency.

    How late values are published is no part of it: a forecaster is given what was public at the cutoff, and all steps after the last value
    of that are its horizon, whether they have passed or not.

    >>> Calendar(frequency="session").stamps(date(2018, 8, 31), date(2018, 9, 5)).astype(str).tolist()
    ['2018-09-04', '2018-09-05']
    >>> Calendar(frequency="quarter").stamps(date(2018, 4, 1), date(2018, 12, 31)).astype(str).tolist()
    ['2018-07-01', '2018-10-01']
    """

    #: ``session`` are trading days of the New York Stock Exchange, by rule; ``weekday`` knows no holidays.
    frequency: Frequency

    @classmethod
    def of(cls, history: History) -> "Calendar":
        """Infer the calendar from a history's own days; a source that documents another one passes it instead.

        >>> days = np.arange("2018-01", "2018-06", dtype="datetime64[M]").astype("datetime64[D]")
        >>> Calendar.of(History.of(days, range(5))).frequency
        'month'
        """
        gaps = np.diff(history.days).astype(np.int64)
        gap = float(np.median(gaps)) if len(gaps) else 1.0
        if gap > 1:
            limits: tuple[tuple[float, Frequency], ...] = (
                (4, "weekday"),
                (11, "week"),
                (60, "month"),
                (200, "quarter"),
            )
            return cls(frequency=next((name for limit, name in limits if gap <= limit), "year"))
        weekend = not bool(np.is_busday(history.days).all())
        if weekend:
            return cls(frequency="day")
        years = history.days.astype("datetime64[Y]").astype(int) + 1970
        closed = exchange_holidays(int(years[0]), int(years[-1]))
        # A market that is open on more than a few of the New York holidays keeps another calendar.
        open_then = np.isin(history.days, closed).sum()
        within = ((closed >= history.days[0]) & (closed <= history.days[-1])).sum()
        return cls(frequency="weekday" if open_then > 0.2 * within else "session")

    @property
    def steps_a_year(self) -> float:
        """Values that a year has."""
        return _A_YEAR[self.frequency]

    @property
    def quarter(self) -> int:
        """Steps in a quarter of a year, two at least: the stretch of time after which a series is looked at anew."""
        return max(round(self.steps_a_year / 4), 2)

    def horizons(self, steps: int) -> tuple[int, ...]:
        """Return the horizons at which forecasts are compared with outcomes: a week, a month, a quarter, and twice as far again and again.

        Through the first one that counts for so many steps (a tenth more than its own), and through the quarter for fewer.

        >>> Calendar(frequency="session").horizons(64), Calendar(frequency="session").horizons(128)
        ((5, 21, 63), (5, 21, 63, 126))
        >>> Calendar(frequency="month").horizons(9)
        (1, 3, 6, 12)
        """
        within = {max(1, round(self.steps_a_year / parts)) for parts in (52, 12)}
        horizons = [
            *sorted(steps_within for steps_within in within if steps_within < self.quarter),
            self.quarter,
        ]
        while SAME_HORIZON * horizons[-1] < steps:
            horizons.append(2 * horizons[-1])
        return tuple(horizons)

    def stamps(self, after: date, through: date) -> Days:
        """Return the stamps after a stamp of the series, up to and including a day."""
        start, end = np.datetime64(after, "D"), np.datetime64(through, "D")
        if end <= start:
            return np.empty(0, dtype="datetime64[D]")
        if self.frequency in _MONTHS:
            every = _MONTHS[self.frequency]
            first = start.astype("datetime64[M]")
            months = np.arange(first + every, end.astype("datetime64[M]") + 1, every)
            return np.asarray(months.astype("datetime64[D]"))
        days = np.arange(start + 1, end + 1)
        if self.frequency == "week":
            return days[6::7]
        if self.frequency == "day":
            return days
        closed = exchange_holidays(after.year, through.year) if self.frequency == "session" else np.empty(0, dtype="datetime64[D]")  # fmt: skip
        return days[np.is_busday(days, holidays=closed)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Paths:
    """Possible futures of a series after its last known value: equally dated paths, each with a weight.

    Every statement about the series is read from the same paths (`workbench.forecasts.reading.chance`), together with what is known
    of its window, so statements cannot contradict each other: nothing may draw anew for one of them.

    Parameters
    ----------
    values : ndarray, shape (paths, steps)
        Values of the series in its own unit; row i is one whole future.
    days : ndarray of datetime64[D], shape (steps,)
        Stamps of the steps, rising, all after the last known one.
    weights : ndarray, shape (paths,)
        At least 0, sum 1.
    known : History
        The forecaster's input: the last known value (`last`) and the known part of a claim's window.
    calendar : Calendar
    members : tuple of str
        Names of the models that drew the paths; one for a single model.
    drawn_by : ndarray of int, shape (paths,)
        Index in ``members`` of the model that drew each path.

    Raises
    ------
    DomainError
        Shapes that do not match, a step that is not after the known ones, values that are not finite, weights that do not sum to 1.

    Examples
    --------
    >>> known = History.of(["2018-06-28", "2018-06-29"], [99.0, 100.0])
    >>> days = np.array(["2018-07-02", "2018-07-03"], dtype="datetime64[D]")
    >>> paths = Paths.of([[101.0, 103.0], [99.0, 97.0]], days, known=known, calendar=Calendar(frequency="session"))
    >>> paths.last, paths.quantiles([0.5]).tolist()
    ((datetime.date(2018, 6, 29), 100.0), [[99.0, 97.0]])
    """

    values: FloatArray
    days: Days
    weights: FloatArray
    known: History
    calendar: Calendar
    members: tuple[str, ...]
    drawn_by: IntArray

    @classmethod
    def of(
        cls, values: ArrayLike, days: Days, *, known: History, calendar: Calendar, member: str = "paths"
    ) -> "Paths":
        """Make the paths of one model, all of the same weight."""
        rows = np.asarray(values, dtype=np.float64)
        return cls(
            values=rows,
            days=days,
            weights=np.full(len(rows), 1.0 / max(len(rows), 1)),
            known=known,
            calendar=calendar,
            members=(member,),
            drawn_by=np.zeros(len(rows), dtype=np.int64),
        )

    def __post_init__(self) -> None:
        count = len(self.weights)
        if not count or self.values.shape != (count, len(self.days)) or self.drawn_by.shape != (count,):
            raise DomainError(
                f"{self.values.shape} values are no paths of {len(self.days)} steps with {count} weights"
            )
        if not np.isfinite(self.values).all():
            raise DomainError("a path holds a value that is no finite number")
        if (np.diff(np.concatenate([self.known.days[-1:], self.days])).astype(np.int64) <= 0).any():
            raise DomainError(f"steps have to rise from the last known day, {self.known.days[-1]}")
        if not (self.weights >= 0).all() or abs(float(self.weights.sum()) - 1.0) > 1e-9:
            raise DomainError("the weights of paths are at least 0 and sum to 1")

    @property
    def last(self) -> tuple[date, float]:
        """Stamp and value of the last known value, from which all paths start."""
        return self.known.days[-1].item(), float(self.known.values[-1])

    def quantiles(self, shares: Sequence[float]) -> FloatArray:
        """Return the values below which these shares of the weight lie, step by step: a fan chart; shape (shares, steps)."""
        return weighted_quantiles(self.values, self.weights, shares)

    def on_steps(self, steps: slice) -> "Paths":
        """Return the paths at these steps alone."""
        return replace(self, values=self.values[:, steps], days=self.days[steps])

    def moved(self, values: FloatArray) -> "Paths":
        """Return the same paths at other values: a claim's worth if the series went otherwise."""
        return replace(self, values=values)

    def combine(self, other: "Paths", combination: Combination) -> "Paths":
        """Combine two series that were drawn together to a ratio or a difference (row i belongs to row i).

        Days that only one of the two has are left out.

        Raises `DomainError`: The two were not drawn together: their weights differ.
        """
        if not np.array_equal(self.weights, other.weights):
            raise DomainError("two series are combined path by path: draw them together")
        _, mine, theirs = np.intersect1d(self.days, other.days, return_indices=True)
        values = other.values[:, theirs]
        if combination == "ratio" and (other.known.values > 0).all():
            # Steps that are amounts may carry one path in thousands of a price below 0, where it has no ratio.
            values = np.maximum(values, 1e-3 * other.last[1])
        return replace(
            self,
            values=_combined(self.values[:, mine], values, combination),
            days=self.days[mine],
            known=combined_history(self.known, other.known, combination),
        )


def combined_history(first: History, second: History, combination: Combination) -> History:
    """Combine two histories to a ratio or a difference, on the days that both series have.

    A claim about it alone may be forecast as a claim about this one series: the shocks of the two are in it as they came together.

    >>> days = ["2018-06-28", "2018-06-29"]
    >>> combined_history(History.of(days, [4.0, 6.0]), History.of(days, [2.0, 2.0]), "ratio").values.tolist()
    [2.0, 3.0]
    """
    days, mine, theirs = np.intersect1d(first.days, second.days, return_indices=True)
    return History.of(days, _combined(first.values[mine], second.values[theirs], combination))


def _combined(first: FloatArray, second: FloatArray, combination: Combination) -> FloatArray:
    if combination == "difference":
        # Rounded, because a difference of two decimals carries binary noise (5.15 - 4.2 is not 0.95).
        return np.asarray(np.round(first - second, 10))
    if (second <= 0).any():
        raise DomainError("a ratio needs a second series above 0")
    return np.asarray(first / second)


def weighted_quantiles(values: FloatArray, weights: FloatArray, shares: Sequence[float]) -> FloatArray:
    """Return the smallest values at or below which these shares of the weight lie; shape (shares,), or (shares, steps) of rows of steps.

    Examples
    --------
    >>> weighted_quantiles(np.array([3.0, 1.0, 2.0]), np.array([0.5, 0.25, 0.25]), [0.25, 0.5, 0.9]).tolist()
    [1.0, 2.0, 3.0]
    """
    if not all(0.0 < share < 1.0 for share in shares):
        raise DomainError(f"shares lie between 0 and 1, not {list(shares)}")
    # Column by column in one stretch of memory: 0.4 of the time of sorting across the rows.
    columns = np.ascontiguousarray(np.atleast_2d(values.T))
    results = np.empty((len(shares), len(columns)))
    for place, column in enumerate(columns):
        # Which of two equal values comes first changes no value that is returned.
        order = np.argsort(column)
        # A sum of weights may fall short of a share by rounding alone.
        reached = np.searchsorted(np.cumsum(weights[order]) + 1e-12, np.asarray(shares))
        results[:, place] = column[order[np.minimum(reached, len(order) - 1)]]
    return results if values.ndim == 2 else results[:, 0]


class SeriesForecaster(Protocol):
    """Forecasts a whole series; the built-in one is an ensemble of such forecasters and is one itself.

    Called by the leaves of the key-free analyst, by ``exceed`` and ``quantity``, and at past cutoffs for the record beside every answer.
    The same arguments give the same paths: draws are seeded, nothing reads a clock, a file or the network.
    """

    @property
    def name(self) -> str:
        """The forecaster's name in lists."""

    def paths(self, history: History, horizon: date, calendar: Calendar) -> Paths:
        """Return paths from the last known value through a day.

        Parameters
        ----------
        history : History
            All that was known at the cutoff, and nothing later: whoever calls cuts off. For a series that is revised, the values as
            they had been published by then.
        horizon : date
            The last day asked about; what lies between the last known stamp and it is the horizon, published late or not.
        calendar : Calendar
            Gives the steps: ``calendar.stamps(last stamp, horizon)``.

        Raises
        ------
        TooFewError
            The history is too short for this forecaster, in one line.
        DomainError
            No step lies between the last known stamp and the horizon, or values that it cannot treat (a price at or below 0).
        """
