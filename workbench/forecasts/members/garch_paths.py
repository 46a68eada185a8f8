"""The member with a fitted GJR-GARCH(1,1): volatility that answers to the paths' own shocks, falls more than rises."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.forecasts.members.scaled_past import ScaledPast
from workbench.science.arrays import FloatArray

#: Steps that a fit needs, the last ones that it looks at, and those that shocks are drawn from.
_FEWEST, _MOST, _SHOCKS = 500, 2520, 1260
#: Steps whose mean square the variance begins with.
_FIRST = 75


class GarchFit(NamedTuple):
    """Parameters, of steps less their mean in units of their deviation."""

    omega: float
    alpha: float
    gamma: float
    beta: float

    def variances(self, shocks: FloatArray) -> FloatArray:
        """Return the variance expected of each shock and of the one after the last, shape (n + 1,)."""
        fed = self.omega + (self.alpha + self.gamma * (shocks < 0)) * shocks**2
        start = float((shocks[:_FIRST] ** 2).mean())
        return _fed_back(np.concatenate([[start], fed]), self.beta)


def garch_paths(past: ScaledPast, steps: int, *, paths: int, seed: int) -> FloatArray | None:
    """Simulate paths from a GJR-GARCH(1,1) with its own past shocks; None where the past is too short for a fit.

    The parameters are those of the last turn of a year (of 252 steps), so a record of past forecasts re-estimates as often as today's does.
    """
    changes = past.steps
    whole = len(changes) // 252 * 252
    if not past.daily or whole < _FEWEST:
        return None
    fitted_on = changes[max(0, whole - _MOST) : whole]
    mean, scale = float(fitted_on.mean()), float(fitted_on.std())
    if scale == 0.0:
        return None
    fit = fit_garch(((fitted_on - mean) / scale).tobytes())
    r = (changes[-_SHOCKS:] - mean) / scale
    variances = fit.variances(r)
    shocks = r / np.sqrt(variances[:-1])
    shocks = (shocks - shocks.mean()) / shocks.std()
    draws = np.random.default_rng(seed).choice(shocks, (steps, paths))
    now: FloatArray = np.full(paths, variances[-1])
    moves = np.empty((steps, paths))
    for step in range(steps):
        move = np.sqrt(now) * draws[step]
        moves[step] = move
        now = fit.omega + np.where(move < 0, fit.alpha + fit.gamma, fit.alpha) * move**2 + fit.beta * now
    return np.asarray(past.x[-1] + np.cumsum(past.drift + scale * moves.T, axis=1))


def _fed_back(fed: FloatArray, share: float) -> FloatArray:
    # Loaded with the fit's minimiser; a fit takes 0.4 of its time with pandas' average (2,520 steps, medians of 15 pairs).
    from scipy.linalg.lapack import dtbtrs

    band = np.empty((2, len(fed)))
    band[0], band[1] = 1.0, -share
    result, _ = dtbtrs(band, fed.reshape(len(fed), -1), uplo="L", diag="U")
    return np.asarray(result.reshape(fed.shape), dtype=np.float64)


@lru_cache(maxsize=256)
def fit_garch(standardised: bytes) -> GarchFit:
    """Fit the likeliest parameters of shocks of mean 0 and deviation 1, given as the bytes of an array of floats.

    arch fits the same model (a test holds both equal) but takes two seconds of processor to import, in every process that
    forecasts a series.
    """
    # 0.3 s, and a monthly series needs no fit
    from scipy.optimize import minimize

    shocks = np.frombuffer(standardised)
    squares = shocks**2
    # What a step's variance is fed with beside the one before, by omega, alpha, gamma and beta; the last column is filled in below.
    fed = np.column_stack([np.ones(len(shocks)), squares, squares * (shocks < 0), squares])

    def unlikelihood(free: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Mean negative log-likelihood, and its slopes."""
        fit, slopes = _parameters(free)
        variances = np.maximum(fit.variances(shocks)[:-1], 1e-8)
        # By omega, alpha, gamma and beta a variance changes as it moves itself: by a part of the change before, and what it is fed with.
        fed[:, 3] = variances
        changes = _fed_back(np.vstack([np.zeros(4), fed[:-1]]), fit.beta)
        by_variance = 0.5 * (1.0 / variances - squares / variances**2) / len(shocks)
        return float(0.5 * np.mean(np.log(variances) + squares / variances)), by_variance @ changes @ slopes

    # To a hundredth of the log-likelihood: what is finer moves no path that anyone can see.
    start = np.array([4.0, -2.3, 0.5, 0.0])
    best = minimize(unlikelihood, start, method="L-BFGS-B", jac=True, options={"ftol": 1e-6, "gtol": 1e-4})
    return _parameters(best.x)[0]


def _parameters(free: NDArray[np.float64]) -> tuple[GarchFit, NDArray[np.float64]]:
    """Map four free numbers to possible parameters, with their slopes by these, shape (4, 4).

    The numbers: persistence, the shocks' part of it, its lean to falls, variance.
    """
    # A search for the likeliest may try numbers in the millions, of which there is no power.
    stays, part = 1.0 / (1.0 + np.exp(-np.clip(free[:2], -500.0, 500.0)))
    lean = float(np.tanh(free[2]))
    level = float(np.exp(np.clip(free[3], -5.0, 5.0)))
    persistence = 0.9999 * stays
    answer = persistence * part
    fit = GarchFit(
        omega=float((1.0 - persistence) * level),
        alpha=float(answer * (1.0 - lean)),
        gamma=float(2.0 * answer * lean),
        beta=float(persistence - answer),
    )
    by_persistence = persistence * (1.0 - stays)
    answers = np.array([part * by_persistence, answer * (1.0 - part), 0.0, 0.0])
    leans = np.array([0.0, 0.0, answer * (1.0 - lean**2), 0.0])
    persistences = np.array([by_persistence, 0.0, 0.0, 0.0])
    levels = np.array([0.0, 0.0, 0.0, fit.omega if abs(free[3]) < 5.0 else 0.0])
    slopes = [
        levels - level * persistences,
        (1.0 - lean) * answers - leans,
        2.0 * (lean * answers + leans),
        persistences - answers,
    ]
    return fit, np.array(slopes)
