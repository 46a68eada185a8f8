"""Count how often a dated claim about one series came true in its own past: the base rate, week by week.

Every claim comes down to one number per window, the *statistic* (a log return, a path's lowest point, a realised volatility), and
to an interval ``[low, high]`` that it has to fall into. Windows start at the points of one weekly grid that ends on the last day
visible at the cutoff, so that claims about different series line up. A window counts if its outcome was known by then.
"""

import pandas as pd

from workbench.forecasts.leaf_models.daily_claims import DailyWindows
from workbench.forecasts.leaf_models.monthly_claims import monthly_windows
from workbench.forecasts.leaf_models.spec import ClaimWindows, LeafSpec, Method, TooLittleHistory
from workbench.forecasts.leaf_models.trading_days import exchange_holidays, trading_days

__all__ = [
    "ClaimWindows",
    "LeafSpec",
    "Method",
    "TooLittleHistory",
    "base_outcomes",
    "exchange_holidays",
    "trading_days",
]


def base_outcomes(spec: LeafSpec, series: pd.Series, other: pd.Series | None = None) -> ClaimWindows:
    """Return the base rate and past outcomes of a claim.

    `series`, `other`: Visible values, oldest first, without gaps; monthly series carry the first day of the month. ``other`` only for
    relative claims.

    Raises `TooLittleHistory`: Fewer than two non-overlapping windows of this length lie in the visible history, or the value on the
    claim's start is not among them. Raises `ValueError`: A relative claim without ``other``.

    >>> import numpy as np
    >>> from datetime import date
    >>> days = pd.bdate_range(end="2018-06-29", periods=2500)
    >>> rising = pd.Series(100 * 1.0004 ** np.arange(2500), index=days)
    >>> up = LeafSpec(method="endpoint", end=date(2018, 9, 28), last_day=date(2018, 6, 29), low=1.0)
    >>> base_outcomes(up, rising).base_rate
    1.0
    """
    if spec.method == "monthly":
        return monthly_windows(spec, series)
    if spec.method == "relative":
        if other is None:
            raise ValueError("a relative claim needs a second series")
        both = pd.concat([series, other], axis=1, join="inner").dropna()
        series, other = both.iloc[:, 0], both.iloc[:, 1]
    return DailyWindows(spec, series, other).past()
