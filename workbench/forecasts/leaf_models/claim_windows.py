"""Windows on one weekly grid."""

from datetime import date

import numpy as np
import pandas as pd

from workbench.forecasts.leaf_models.spec import Ints, LeafSpec

WEEKS = 1200
# As for values that settle a claim: a closed exchange explains at most four days without a value.
FRESH_DAYS = 5


def weekly_grid(last_day: date, first: pd.Timestamp) -> pd.DatetimeIndex:
    """Return the as-of days of the common grid: every seventh day back from the last visible one, oldest first.

    `first`: First value of the series; the grid does not go further back, nor more than 1,200 weeks.

    >>> weekly_grid(date(2018, 6, 29), pd.Timestamp("2018-06-14")).strftime("%m-%d").tolist()
    ['06-15', '06-22', '06-29']
    """
    end = pd.Timestamp(last_day)
    weeks = min(WEEKS, max(0, (end - first).days // 7))
    return pd.date_range(end=end, periods=weeks + 1, freq="7D")


def positions(index: pd.DatetimeIndex, days: pd.DatetimeIndex) -> Ints:
    """Return the row of the last value on or before each day; -1 where there is none, or none in the five days before.

    Parameters
    ----------
    index : DatetimeIndex, shape (n,)
        Days of the series, ascending.
    days : DatetimeIndex, shape (m,)
        Days to look up.

    Returns
    -------
    ndarray of int, shape (m,)

    Examples
    --------
    >>> days = pd.DatetimeIndex(["2018-06-28", "2018-06-29"])
    >>> positions(days, pd.DatetimeIndex(["2018-06-01", "2018-06-28", "2018-07-01", "2018-07-20"])).tolist()
    [-1, 0, 1, -1]
    """
    position = index.searchsorted(days, side="right") - 1
    age = (days - index[np.maximum(position, 0)]).days
    return np.where((position >= 0) & (age <= FRESH_DAYS), position, -1).astype(np.int64)


def nudged(spec: LeafSpec, low: float, high: float) -> tuple[float, float]:
    """Move the bounds by 1e-9, so that equality counts or does not, whatever the last bit of a float.

    >>> day = date(2018, 6, 29)
    >>> nudged(LeafSpec(method="endpoint", end=day, last_day=day), 0.0, 1.0)
    (1e-09, 0.999999999)
    """
    nudge = 1e-9 if spec.strict else -1e-9
    return low + nudge, high - nudge
