"""Calendar weeks and months as steps of a series: those whole in a window, and the one in which a day lies."""

from datetime import date
from typing import Literal

import numpy as np

Period = Literal["week", "month"]


def whole_periods(every: Period, start: date, end: date) -> int:
    """Count the calendar weeks or months that begin after ``start`` and have no weekday after ``end``.

    >>> whole_periods("month", date(2018, 6, 29), date(2018, 10, 31)), whole_periods("week", date(2018, 6, 29), date(2018, 7, 6))
    (4, 1)
    """
    head, beyond = around_whole_periods(every, start, end)
    return max(beyond - head - 1, 0)


def around_whole_periods(every: Period, start: date, end: date) -> tuple[int, int]:
    """Return the numbers of the periods before the first whole one and after the last."""
    # A week is whole on its Friday, a month on its last weekday: what follows is no day of trading.
    after = np.busday_offset(np.datetime64(end, "D") + 1, 0, roll="forward")
    days = np.array([np.datetime64(start, "D"), after], dtype="datetime64[D]")
    head, beyond = numbers_of_periods(every, days).tolist()
    return head, beyond


def numbers_of_periods(every: Period, days: np.ndarray) -> np.ndarray:
    """Number the calendar week (from Monday on) or month of each day."""
    if every == "month":
        return days.astype("datetime64[M]").astype(np.int64)
    return np.asarray((days.astype(np.int64) + 3) // 7)  # the first day that numpy counts from was a Thursday
