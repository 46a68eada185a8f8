"""When to forecast again before an event closes."""

from datetime import datetime, timedelta

from workbench.science.errors import DomainError


def halving_schedule(
    first: datetime, close: datetime, *, minimum_gap: timedelta = timedelta(hours=1), most: int = 8
) -> list[datetime]:
    """Forecast times, each half-way between the last one and the close.

    Source: Prophet Arena, App. B.2.

    Parameters
    ----------
    first, close : datetime
        Aware instants, first before close.
    minimum_gap : timedelta
        No forecast is closer to the close than this. The paper names the gap but not its size; 1 hour is ours.
    most : int
        At most so many forecasts, at least 1.

    Returns
    -------
    list of datetime
        Rising; starts with ``first`` and never reaches the close. Empty when ``first`` is already inside the gap.

    Raises
    ------
    DomainError
        Naive instants, first not before close, a gap of 0 or less, or ``most`` below 1.

    Examples
    --------
    >>> from datetime import UTC
    >>> times = halving_schedule(datetime(2025, 1, 1, tzinfo=UTC), datetime(2025, 1, 1, 8, tzinfo=UTC))
    >>> [t.strftime("%H:%M") for t in times]
    ['00:00', '04:00', '06:00', '07:00']
    """
    if first.tzinfo is None or close.tzinfo is None:
        raise DomainError("schedule instants need a time zone")
    if first >= close:
        raise DomainError("the first forecast must come before the close")
    if minimum_gap <= timedelta(0) or most < 1:
        raise DomainError("the minimum gap must be above 0 and at least 1 forecast allowed")
    times: list[datetime] = []
    gap = close - first
    while gap >= minimum_gap and len(times) < most:
        # Halving the gap to the close is the half-way rule: the next time lies half-way between the last one and the close.
        times.append(close - gap)
        gap /= 2
    return times
