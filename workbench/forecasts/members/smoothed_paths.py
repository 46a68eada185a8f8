"""Members for months and quarters with a trend: exponential smoothing (a trend that fades) and Theta (half the trend, which stays).

Both are fitted here. statsmodels has them (tests hold the forecasts equal to its own), but loading it takes longer than all that is
done with it. statsforecast has them too, with fugue, pyarrow and twenty packages besides, and gives intervals of single days; mapie wraps
models in conformal intervals, with scikit-learn. Neither gives paths, from which touches and averages are read, and the PIT at past
cutoffs does for the pool what a conformal wrapper would.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from workbench.forecasts.members.scaled_past import ScaledPast
from workbench.science.arrays import FloatArray

#: Values that a fit needs, the last ones that it looks at, and errors left out while the level settles.
_FEWEST, _MOST, _SETTLES = 48, 240, 12
#: Of the shares that enter the level and, of those, the trend, and of what is left of the trend; points a side of each grid.
_POSSIBLE = ((0.001, 1.0), (0.0, 1.0), (0.8, 0.995))
_GRIDS = (9, 5, 5, 5, 5)


class SmoothingFit(NamedTuple):
    """Shares of an error that enter the level and the trend, what is left of the trend after a step, and the trend it begins with."""

    alpha: float
    beta: float
    phi: float
    trend: float = 0.0

    def states(self, x: FloatArray) -> tuple[FloatArray, float, float]:
        """Return the errors one step ahead, shape (n - 1,), and the last level and trend."""
        level, trend = float(x[0]), self.trend
        errors = np.empty(len(x) - 1)
        for t, value in enumerate(x[1:].tolist()):
            trend *= self.phi
            error = value - level - trend
            errors[t] = error
            level, trend = level + trend + self.alpha * error, trend + self.beta * error
        return errors, level, trend


def smoothed_paths(past: ScaledPast, steps: int, *, paths: int, seed: int) -> FloatArray | None:
    """Draw paths of a level and a damped trend with past errors; None where it is daily or too short for a fit.

    The parameters are those of the last turn of a year, as in the other members.
    """
    return _trend_paths(past, steps, theta=False, paths=paths, seed=seed)


def theta_paths(past: ScaledPast, steps: int, *, paths: int, seed: int) -> FloatArray | None:
    """Draw paths of a smoothed level that drifts by half the slope of a line through the past; None as for `smoothed_paths`.

    Assimakopoulos and Nikolopoulos (2000), in the form of Hyndman and Billah (2003).
    """
    return _trend_paths(past, steps, theta=True, paths=paths, seed=seed)


def _trend_paths(past: ScaledPast, steps: int, *, theta: bool, paths: int, seed: int) -> FloatArray | None:
    a_year = max(round(past.calendar.steps_a_year), 1)
    whole = len(past.x) // a_year * a_year
    if past.daily or whole < _FEWEST:
        return None
    fitted_on = past.x[max(0, whole - _MOST) : whole]
    scale = float(np.diff(fitted_on).std())
    if scale == 0.0:
        return None
    fit = fit_smoothing(((fitted_on - fitted_on[0]) / scale).tobytes(), theta)
    errors, level, trend = fit._replace(trend=fit.trend * scale).states(past.x[-_MOST:])
    errors = errors[_SETTLES:] - errors[_SETTLES:].mean()
    drawn = np.random.default_rng(seed).choice(errors, (steps, paths))
    levels, trends = np.full(paths, level), np.full(paths, trend)
    values = np.empty((steps, paths))
    for step in range(steps):
        trends = fit.phi * trends
        values[step] = levels + trends + drawn[step]
        levels, trends = levels + trends + fit.alpha * drawn[step], trends + fit.beta * drawn[step]
    return values.T


@lru_cache(maxsize=512)
def fit_smoothing(standardised: bytes, theta: bool) -> SmoothingFit:
    """Fit the parameters with the least squared errors one step ahead, of the bytes of an array of floats.

    They are looked for on a grid, then on ever finer ones about the best: every point of a grid goes through the values at once, which
    is a tenth of the time of a search from point to point.
    """
    x = np.frombuffer(standardised)
    time = np.arange(len(x)) - (len(x) - 1) / 2
    slope = 0.5 * float(time @ x / (time @ time))
    best = np.array([0.5, 0.0, 1.0] if theta else [0.5, 0.5, 0.9])
    reach = np.array([0.5, 0.0, 0.0] if theta else [0.5, 0.5, 0.1])
    for points in _GRIDS:
        axes = [
            np.unique(np.clip(np.linspace(middle - width, middle + width, points), low, high))
            if width
            else np.array([middle])
            for middle, width, (low, high) in zip(best, reach, _POSSIBLE, strict=True)
        ]
        alpha, share, phi = (axis.ravel() for axis in np.meshgrid(*axes, indexing="ij"))
        losses = _squared_errors(x, alpha, alpha * share, phi, slope if theta else 0.0)
        least = int(losses.argmin())
        best = np.array([alpha[least], share[least], phi[least]])
        # The best lies between its neighbours.
        reach = 2.0 * reach / (points - 1)
    alpha_, share_, phi_ = best.tolist()
    return SmoothingFit(alpha_, alpha_ * share_, phi_, slope if theta else 0.0)


def _squared_errors(
    x: FloatArray, alpha: FloatArray, beta: FloatArray, phi: FloatArray, trend: float
) -> FloatArray:
    """Compute the mean squared error one step ahead at each of several parameters, once the level has settled; as `SmoothingFit.states`."""
    level, trends, total = np.full(len(alpha), x[0]), np.full(len(alpha), trend), np.zeros(len(alpha))
    for t, value in enumerate(x[1:].tolist()):
        trends = trends * phi
        level = level + trends
        error = value - level
        level = level + alpha * error
        trends = trends + beta * error
        if t >= _SETTLES:
            total += error * error
    return np.asarray(total / (len(x) - 1 - _SETTLES))
