"""What kind of series it is: a trend, a walk, or one that returns to its mean."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy.special import ndtri

from workbench.forecasts.series.series_history import Days, History
from workbench.forecasts.series.stochastic import MeanReverting, RandomWalk
from workbench.science.arrays import FloatArray


class SeriesClass(StrEnum):
    """The three classes."""

    TREND = "trend"
    WALK = "walk"
    MEAN_REVERTING = "mean-reverting"


def unit_root_p(values: FloatArray, *, lags: int) -> float:
    """P value of the augmented Dickey-Fuller test with a constant; small rejects a unit root.

    Parameters
    ----------
    values : ndarray, shape (n,)
    lags : int
        Lagged differences in the regression, at least 0.

    Returns
    -------
    float
        In [0, 1]; distribution of the statistic by MacKinnon, from statsmodels.

    Examples
    --------
    >>> unit_root_p(np.random.default_rng(0).normal(size=200), lags=2) < 0.01
    True
    """
    from statsmodels.tsa.adfvalues import mackinnonp

    steps = np.diff(values)
    y = steps[lags:]
    columns = [values[lags:-1], np.ones(len(y)), *[steps[lags - k : -k] for k in range(1, lags + 1)]]
    x = np.column_stack(columns)
    beta, *_ = np.linalg.lstsq(x, y, rcond=None)
    residual = y - x @ beta
    variance = float(residual @ residual) / (len(y) - x.shape[1])
    # The pseudo-inverse, since lagged differences of a short or coarse series may be collinear.
    error = float(np.sqrt(variance * np.linalg.pinv(x.T @ x)[0, 0]))
    if error == 0.0:
        return 0.0 if beta[0] < 0 else 1.0
    return float(mackinnonp(float(beta[0]) / error, regression="c", N=1))


def classify(history: History, *, window: int = 500, level: float = 0.05) -> SeriesClass:
    """Class of a series by two tests on its last observations.

    BLF, App. H.4, names the classes and leaves the rule open; this one is ours.

    Parameters
    ----------
    history : History
        At least 30 observations.
    window : int
        Only the last so many count.
    level : float
        Significance of both tests.

    Returns
    -------
    SeriesClass
        ``mean-reverting`` where the augmented Dickey-Fuller test with a constant rejects a unit root; else ``trend``
        where the mean step differs from 0 by its Newey-West error; else ``walk``.

    Raises
    ------
    TooFewError
        Fewer than 30 observations.

    Examples
    --------
    >>> days = np.arange("2020-01-01", "2020-07-19", dtype="datetime64[D]")
    >>> noise = np.random.default_rng(0).normal(size=200)
    >>> str(classify(History.of(days, noise)))
    'mean-reverting'
    """
    history.need(30, "a class")
    y = history.last(window).values
    if np.ptp(y) == 0.0:
        return SeriesClass.WALK
    steps = np.diff(y)
    # An exact line has no residual that its slope could be tested against.
    if np.ptp(steps) == 0.0:
        return SeriesClass.TREND
    lags = int(len(steps) ** (1 / 3))
    if unit_root_p(y, lags=lags) < level:
        return SeriesClass.MEAN_REVERTING
    centred = steps - steps.mean()
    long_run = float(centred @ centred) / len(steps)
    for lag in range(1, lags + 1):
        # Bartlett's weights keep the Newey-West variance from falling below 0.
        weight = 1.0 - lag / (lags + 1)
        long_run += 2.0 * weight * float(centred[lag:] @ centred[:-lag]) / len(steps)
    error = float(np.sqrt(max(long_run, 1e-300) / len(steps)))
    return SeriesClass.TREND if abs(steps.mean()) > -ndtri(level / 2) * error else SeriesClass.WALK


@dataclass(frozen=True, slots=True, kw_only=True)
class Auto:
    """The model that fits the class: a walk with drift, a walk, or an autoregression.

    Examples
    --------
    >>> days = np.arange("2020-01-01", "2020-07-19", dtype="datetime64[D]")
    >>> history = History.of(days, np.random.default_rng(0).normal(size=200))
    >>> Auto().chances(history, days[-1:] + 30, np.array([0.0])).round(1).tolist()
    [[0.5]]
    """

    window: int = 500
    name: str = "auto"

    def chances(self, history: History, targets: Days, levels: FloatArray) -> FloatArray:
        """Probabilities, shape (targets, levels)."""
        part = history.last(self.window)
        match classify(history, window=self.window):
            case SeriesClass.TREND:
                return RandomWalk(drift=True).chances(part, targets, levels)
            case SeriesClass.WALK:
                return RandomWalk().chances(part, targets, levels)
            case SeriesClass.MEAN_REVERTING:
                return MeanReverting().chances(part, targets, levels)
