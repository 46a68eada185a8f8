"""The member for months and quarters with a trend that fades: exponential smoothing (ETS), fitted by statsmodels."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from workbench.forecasts.members.scaled_past import ScaledPast
from workbench.science.arrays import FloatArray

#: Values that a fit needs, and the last ones that it looks at.
_FEWEST, _MOST = 48, 240


class SmoothingFit(NamedTuple):
    """Parameters of a damped additive trend: of the level, of the trend, and what is left of the trend after a step."""

    alpha: float
    beta: float
    phi: float


def smoothed_paths(past: ScaledPast, steps: int, *, paths: int, seed: int) -> FloatArray | None:
    """Return paths of a level and a damped trend with past errors; None where it is daily or too short for a fit.

    The parameters are those of the last turn of a year, as in the other members.
    """
    a_year = max(round(past.calendar.steps_a_year), 1)
    whole = len(past.x) // a_year * a_year
    if past.daily or whole < _FEWEST:
        return None
    fitted_on = past.x[max(0, whole - _MOST) : whole]
    scale = float(np.diff(fitted_on).std())
    if scale == 0.0:
        return None
    fit = _fitted(((fitted_on - fitted_on[0]) / scale).tobytes())
    x = past.x[-_MOST:]
    level, trend = float(x[0]), 0.0
    errors = np.empty(len(x) - 1)
    for t, value in enumerate(x[1:].tolist()):
        error = value - level - fit.phi * trend
        errors[t] = error
        level, trend = level + fit.phi * trend + fit.alpha * error, fit.phi * trend + fit.beta * error
    drawn = np.random.default_rng(seed).choice(errors[12:] - errors[12:].mean(), (steps, paths))
    levels, trends = np.full(paths, level), np.full(paths, trend)
    values = np.empty((steps, paths))
    for step in range(steps):
        ahead = fit.phi * trends
        values[step] = levels + ahead + drawn[step]
        levels, trends = levels + ahead + fit.alpha * drawn[step], ahead + fit.beta * drawn[step]
    return values.T


@lru_cache(maxsize=256)
def _fitted(standardised: bytes) -> SmoothingFit:
    from statsmodels.tsa.holtwinters import ExponentialSmoothing

    values = np.frombuffer(standardised)
    model = ExponentialSmoothing(values, trend="add", damped_trend=True, initialization_method="heuristic")
    parameters = model.fit(optimized=True).params
    alpha, beta = float(parameters["smoothing_level"]), float(parameters["smoothing_trend"])
    return SmoothingFit(alpha, beta, float(parameters["damping_trend"]))
