"""The member with a fitted GJR-GARCH(1,1): volatility that answers to the paths' own shocks, falls more than rises."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from workbench.forecasts.garch_library import garch_model
from workbench.forecasts.members.scaled_past import ScaledPast
from workbench.science.arrays import FloatArray

#: Steps that a fit needs, the last ones that it looks at, and those that shocks are drawn from.
_FEWEST, _MOST, _SHOCKS = 500, 2520, 1260


class GarchFit(NamedTuple):
    """Parameters, of steps in units of their own deviation."""

    mean: float
    omega: float
    alpha: float
    gamma: float
    beta: float


def garch_paths(past: ScaledPast, steps: int, *, paths: int, seed: int) -> FloatArray | None:
    """Return paths simulated from a GJR-GARCH(1,1) with its own past shocks; None where the past is too short for a fit.

    The parameters are those of the last turn of a year (of 252 steps), so a record of past forecasts re-estimates as often as today's does.
    """
    changes = past.steps
    whole = len(changes) // 252 * 252
    if not past.daily or whole < _FEWEST:
        return None
    scale = float(changes[:whole].std())
    if scale == 0.0:
        return None
    fit = _fitted((changes[max(0, whole - _MOST) : whole] / scale).tobytes())
    r = changes[-_SHOCKS:] / scale - fit.mean
    variance = np.empty(len(r) + 1)
    variance[0] = 1.0
    for t, shock in enumerate(r.tolist()):
        variance[t + 1] = (
            fit.omega + (fit.alpha + fit.gamma * (shock < 0)) * shock * shock + fit.beta * variance[t]
        )
    shocks = r / np.sqrt(variance[:-1])
    shocks = (shocks - shocks.mean()) / shocks.std()
    drawn = np.random.default_rng(seed).choice(shocks, (steps, paths))
    now = np.full(paths, variance[-1])
    moves = np.empty((steps, paths))
    for step in range(steps):
        move = np.sqrt(now) * drawn[step]
        moves[step] = move
        now = fit.omega + (fit.alpha + fit.gamma * (move < 0)) * move**2 + fit.beta * now
    return np.asarray(past.x[-1] + np.cumsum(past.drift + scale * moves.T, axis=1))


@lru_cache(maxsize=256)
def _fitted(standardised: bytes) -> GarchFit:
    steps = np.frombuffer(standardised)
    model = garch_model()(steps, mean="Constant", vol="GARCH", p=1, o=1, q=1, rescale=False)
    result = model.fit(disp="off", show_warning=False, options={"maxiter": 200})
    mean, omega, alpha, gamma, beta = (float(value) for value in np.asarray(result.params))
    return GarchFit(mean, omega, alpha, gamma, beta)
