"""Probability of a dated claim about one series, from its own past: the models behind the offline analyst's leaves.

Every claim comes down to one number per window, the *statistic* (a log return, a path's lowest point, a realised
volatility), and to an interval ``[low, high]`` that it has to fall into. Windows start at the points of one weekly
grid that ends on the last day visible at the cutoff, so that claims about different series line up. A window
counts if its outcome was known by then.

The models, each a probability that the statistic of the coming window falls into the interval:

* **base rate**: the share of past windows in which it did;
* **vol-scaled**: the same windows, their deviations from the mean scaled to today's volatility term structure;
* **season**: the same calendar window of earlier years, shrunk to the base rate with 10 pseudo-years;
* **momentum**: past windows weighted by how alike their trailing half year was to the present one, shrunk likewise;
* **GJR-GARCH**: paths simulated from a fitted GJR-GARCH(1,1), innovations drawn from its own residuals (filtered
  historical simulation; Glosten, Jagannathan and Runkle 1993; Barone-Adesi, Giannopoulos and Vosper 1999);
* **AR**: direct regression of the window's change on the present level, for series that revert;
* **HAR**: regression of realised volatility on its own past week, month and half year (Corsi 2009).

Shares over rescaled or simulated windows are smoothed with a normal kernel of a tenth of a standard deviation:
a probability then moves with the last close instead of in steps. Nothing here reads a clock; simulations are seeded.
"""

import pandas as pd

from workbench.forecasts.leaf_models.daily_claims import DailyModels
from workbench.forecasts.leaf_models.monthly_claims import estimate_monthly
from workbench.forecasts.leaf_models.spec import LeafEstimate, LeafSpec, Method, TooLittleHistory
from workbench.forecasts.leaf_models.trading_days import exchange_holidays, trading_days

__all__ = [
    "LeafEstimate",
    "LeafSpec",
    "Method",
    "TooLittleHistory",
    "base_outcomes",
    "estimate",
    "exchange_holidays",
    "trading_days",
]


def estimate(
    spec: LeafSpec, series: pd.Series, other: pd.Series | None = None, *, simulated: bool = True
) -> LeafEstimate:
    """Probability of a claim from the visible values of its series.

    Parameters
    ----------
    spec : LeafSpec
        The claim.
    series, other : Series of float with a DatetimeIndex
        Visible values, oldest first, without gaps; monthly series carry the first day of the month. ``other`` only
        for relative claims.
    simulated : bool
        False leaves GJR-GARCH out: a planner that only wants to know whether a claim can be treated need not load
        ``arch`` (1.5 s) for the one model that a notebook can do without.

    Raises
    ------
    TooLittleHistory
        Fewer than two non-overlapping windows of this length lie in the visible history, or the value on the claim's
        start is not among them.
    ValueError
        A relative claim without ``other``.

    Examples
    --------
    >>> import numpy as np
    >>> from datetime import date
    >>> days = pd.bdate_range(end="2018-06-29", periods=2500)
    >>> steps = 0.01 * np.random.default_rng(3).standard_normal(2500)
    >>> walk = pd.Series(100 * np.exp(np.cumsum(steps)), index=days)
    >>> up = LeafSpec(method="endpoint", end=date(2018, 9, 28), last_day=date(2018, 6, 29), low=1.0)
    >>> found = estimate(up, walk)
    >>> sorted(found.models), found.horizon
    (['GJR-GARCH', 'base rate', 'momentum', 'season', 'vol-scaled'], 63)
    >>> 0.3 < found.p < 0.7
    True
    """
    return _estimate(spec, series, other, only_base=False, simulated=simulated)


def base_outcomes(spec: LeafSpec, series: pd.Series, other: pd.Series | None = None) -> LeafEstimate:
    """Base rate and outcomes alone, no model fitted: for choosing thresholds; ``p`` is the base rate.

    Parameters
    ----------
    spec : LeafSpec
        The claim.
    series, other : Series of float with a DatetimeIndex
        As for `estimate`.

    Raises
    ------
    TooLittleHistory
        As for `estimate`.

    Examples
    --------
    >>> import numpy as np
    >>> from datetime import date
    >>> days = pd.bdate_range(end="2018-06-29", periods=2500)
    >>> rising = pd.Series(100 * 1.0004 ** np.arange(2500), index=days)
    >>> up = LeafSpec(method="endpoint", end=date(2018, 9, 28), last_day=date(2018, 6, 29), low=1.0)
    >>> base_outcomes(up, rising).base_rate
    1.0
    """
    return _estimate(spec, series, other, only_base=True, simulated=False)


def _estimate(
    spec: LeafSpec, series: pd.Series, other: pd.Series | None, *, only_base: bool, simulated: bool
) -> LeafEstimate:
    if spec.method == "monthly":
        return estimate_monthly(spec, series, only_base=only_base)
    if spec.method == "relative":
        if other is None:
            raise ValueError("a relative claim needs a second series")
        both = pd.concat([series, other], axis=1, join="inner").dropna()
        series, other = both.iloc[:, 0], both.iloc[:, 1]
    return DailyModels(spec, series, other).estimate(only_base=only_base, simulated=simulated)
