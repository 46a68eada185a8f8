"""Trading days of the New York Stock Exchange, by its rules."""

from datetime import date
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.tseries.holiday import (
    AbstractHolidayCalendar,
    GoodFriday,
    Holiday,
    USLaborDay,
    USMartinLutherKingJr,
    USMemorialDay,
    USPresidentsDay,
    USThanksgivingDay,
    nearest_workday,
    sunday_to_monday,
)


def trading_days(first: date, last: date) -> int:
    """Count the sessions of the New York Stock Exchange after ``first``, through ``last``; negative if ``last`` is earlier.

    Regular holidays by rule; the odd closure (a storm, a day of mourning) is not foreseen, as it was not then.

    `first`, `last`: The first is not counted, the last is.

    >>> trading_days(date(2018, 6, 29), date(2018, 12, 31))
    127
    """
    if last < first:
        return -trading_days(last, first)
    day = np.timedelta64(1, "D")
    closed = exchange_holidays(first.year, last.year)
    # numpy counts the first day and not the last; both move by one to count the last and not the first.
    return int(np.busday_count(np.datetime64(first) + day, np.datetime64(last) + day, holidays=closed))


_YEARS = (1986, 2030)


@lru_cache(maxsize=64)
def exchange_holidays(first: int, last: int) -> npt.NDArray[np.datetime64]:
    """Return the days of some years on which the New York Stock Exchange is closed by rule.

    Parameters
    ----------
    first, last : int
        Years, both included.

    Returns
    -------
    ndarray of datetime64[D]
        Ascending. A holiday on a Saturday is kept on the Friday before, but New Year's Day is not; one on a Sunday is
        kept on the Monday after. Source: NYSE Rule 7.2.

    Examples
    --------
    >>> exchange_holidays(2018, 2018)[:3].astype(str).tolist()
    ['2018-01-01', '2018-01-15', '2018-02-19']
    """
    # All years at once cost no more than one, and past cutoffs ask for many pairs of years.
    holidays = _holidays(min(first, _YEARS[0]), max(last, _YEARS[1]))
    years = holidays.astype("datetime64[Y]").astype(int) + 1970
    return holidays[(years >= first) & (years <= last)]


@lru_cache(maxsize=8)
def _holidays(first: int, last: int) -> npt.NDArray[np.datetime64]:
    rules = [
        Holiday("New Year", month=1, day=1, observance=sunday_to_monday),
        USMartinLutherKingJr,
        USPresidentsDay,
        GoodFriday,
        USMemorialDay,
        Holiday("Independence", month=7, day=4, observance=nearest_workday),
        USLaborDay,
        USThanksgivingDay,
        Holiday("Christmas", month=12, day=25, observance=nearest_workday),
    ]
    calendar = AbstractHolidayCalendar(name="NYSE", rules=rules)
    return (
        calendar.holidays(pd.Timestamp(first, 1, 1), pd.Timestamp(last, 12, 31))
        .to_numpy()
        .astype("datetime64[D]")
    )
