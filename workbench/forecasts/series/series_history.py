"""A time series as known before a cutoff, and how much it moved."""

from dataclasses import dataclass
from datetime import date

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.science.arrays import FloatArray
from workbench.science.errors import DomainError, TooFewError

_DAYS_A_YEAR = 365.25
_FEW = 20


def realised_volatility(days: ArrayLike, values: ArrayLike) -> float:
    """Return the annualised standard deviation (ddof 1) of the changes of the logarithm, in percent; ``nan`` where it is undefined.

    Parameters
    ----------
    days : array_like of datetime64, shape (n,)
        Of the values, rising; their mean distance says how many changes a year has.
    values : array_like, shape (n,)
        Fewer than 21 of them, or one that is not above 0, give ``nan``.

    Examples
    --------
    >>> days = np.arange("2020-01-01", "2021-01-01", dtype="datetime64[D]")
    >>> steps = np.where(np.arange(366) % 2, 0.01, -0.01)
    >>> round(realised_volatility(days, np.exp(np.cumsum(steps))), 1)
    19.1
    """
    dates = np.asarray(days, dtype="datetime64[D]")
    levels = np.asarray(values, dtype=np.float64)
    if len(levels) <= _FEW or not np.isfinite(levels).all() or (levels <= 0).any():
        return float("nan")
    span = float((dates[-1] - dates[0]).astype(int))
    if span <= 0:
        return float("nan")
    changes = np.diff(np.log(levels))
    return float(100.0 * changes.std(ddof=1) * np.sqrt(len(changes) * _DAYS_A_YEAR / span))


Days = NDArray[np.datetime64]


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Observations in time order: one finite value per day."""

    days: Days
    values: FloatArray

    @classmethod
    def of(cls, days: ArrayLike, values: ArrayLike) -> "History":
        """Sort the history; days whose value is missing are dropped.

        Parameters
        ----------
        days : array_like of dates, shape (n,)
            Day each value belongs to; ISO text, dates or datetime64.
        values : array_like, shape (n,)

        Raises
        ------
        DomainError
            Lengths that differ, a day that is there twice, or no value at all.

        Examples
        --------
        >>> History.of(["2020-01-02", "2020-01-01"], [2.0, 1.0]).values.tolist()
        [1.0, 2.0]
        """
        dates = np.asarray(days, dtype="datetime64[D]")
        y = np.asarray(values, dtype=np.float64)
        if dates.ndim != 1 or dates.shape != y.shape:
            raise DomainError(f"{dates.size} days and {y.size} values are no time series")
        present = np.isfinite(y) & ~np.isnat(dates)
        dates, y = dates[present], y[present]
        if not len(y):
            raise DomainError("the series has no value")
        order = np.argsort(dates, kind="stable")
        dates, y = dates[order], y[order]
        if (np.diff(dates) == np.timedelta64(0, "D")).any():
            again = dates[1:][np.diff(dates) == np.timedelta64(0, "D")][0]
            raise DomainError(f"the series has two values for {again}")
        return cls(days=dates, values=y)

    def __len__(self) -> int:
        return len(self.values)

    def before(self, cutoff: date | str | np.datetime64) -> "History":
        """Cut the history off before the cutoff day.

        Raises `TooFewError`: No value lies before it.

        >>> len(History.of(["2020-01-01", "2020-01-02"], [1, 2]).before("2020-01-02"))
        1
        """
        end = np.asarray(cutoff, dtype="datetime64[D]")
        count = int(np.searchsorted(self.days, end, side="left"))
        if not count:
            raise TooFewError(f"the series has no value before {end}")
        return History(days=self.days[:count], values=self.values[:count])

    def last(self, count: int) -> "History":
        """Return the latest ``count`` observations (all, if there are fewer)."""
        return History(days=self.days[-count:], values=self.values[-count:])

    def need(self, count: int, what: str) -> None:
        """Refuse a history that is too short for a model, in one line.

        Raises `TooFewError`.
        """
        if len(self) < count:
            raise TooFewError(f"{what} needs at least {count} observations, the series has {len(self)}")
