"""Volatility: weighted means of squares, their term structure, and simulated GJR-GARCH paths."""

import os
from collections.abc import Callable
from contextlib import chdir
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from workbench.forecasts.leaf_models.spec import Floats

PATHS = 4000
SEED = 20


@cache
def garch_model() -> Callable[..., Any]:
    """Return ``arch.arch_model``.

    arch imports matplotlib, which reads a ``matplotlibrc`` of the current folder, and that folder may be a stranger's.
    """
    try:
        with chdir(os.sep):
            from arch import arch_model
    except (
        FileNotFoundError
    ):  # the folder is gone: there is nothing in it to be read, and nowhere to go back to
        from arch import arch_model
    model: Callable[..., Any] = arch_model
    return model


def ewma_variance(returns: Floats, decay: float = 0.94) -> Floats:
    """Exponentially weighted mean of squared returns, through each return.

    Parameters
    ----------
    returns : ndarray, shape (n,)
        Daily log returns (or monthly changes), oldest first.
    decay : float
        Weight of the past, in (0, 1); 0.94 is that of RiskMetrics (1996) for days.

    Returns
    -------
    ndarray, shape (n,)
        Variances per step, at least 0.

    Examples
    --------
    >>> ewma_variance(np.array([0.1, 0.1, 0.1])).round(4).tolist()
    [0.01, 0.01, 0.01]
    """
    return pd.Series(returns**2).ewm(alpha=1 - decay).mean().to_numpy()


def term_variance(now: Floats | float, mean: float, days: int, persistence: float = 0.98) -> Any:
    """Mean variance per step expected over the next steps, reverting from ``now`` to ``mean``.

    Parameters
    ----------
    now : float or ndarray
        Variance per step at present.
    mean : float
        The one it reverts to.
    days : int
        Steps ahead, at least 1.
    persistence : float
        Share of a deviation that is left after a step, in (0, 1).

    Returns
    -------
    float or ndarray, like ``now``
        Between ``now`` and ``mean``. Source: Hull, Options, Futures and Other Derivatives, GARCH term structure.

    Examples
    --------
    >>> float(term_variance(4.0, 1.0, 1)), round(float(term_variance(4.0, 1.0, 10_000)), 3)
    (4.0, 1.015)
    """
    weight = (1 - persistence**days) / (days * (1 - persistence))
    return mean + (np.asarray(now) - mean) * weight


def simulate_garch(closes: pd.Series, days: int) -> Floats:
    """Daily log returns of paths simulated from a GJR-GARCH(1,1) fitted to all closes.

    Parameters
    ----------
    closes : Series of float
        Daily closes above 0, oldest first.
    days : int
        Length of the paths, at least 1.

    Returns
    -------
    ndarray, shape (4000, days)
        The same for the same closes: the draws are seeded. Source: Glosten, Jagannathan and Runkle (1993); innovations
        drawn from the residuals as in Barone-Adesi, Giannopoulos and Vosper (1999).

    Examples
    --------
    >>> steps = 0.01 * np.random.default_rng(0).standard_normal(500)
    >>> paths = simulate_garch(pd.Series(100 * np.exp(np.cumsum(steps))), 5)
    >>> paths.shape, round(float(paths.std()), 2)
    ((4000, 5), 0.01)
    """
    # In percent: `arch` estimates badly on variances of 1e-4, and its own rescaling (off here) would change the unit
    # of the parameters from series to series.
    returns = 100 * np.diff(np.log(closes.to_numpy(dtype=float)))
    fit = garch_model()(returns, mean="Constant", vol="GARCH", p=1, o=1, q=1, rescale=False).fit(disp="off")
    mu, omega, alpha, gamma, beta = (
        float(fit.params.iloc[k] if hasattr(fit.params, "iloc") else fit.params[k]) for k in range(5)
    )
    residuals = np.asarray(fit.std_resid)
    shocks = np.random.default_rng(SEED).choice(residuals, size=(days, PATHS))
    last = float(returns[-1] - mu)
    # One GJR step from the last return to the variance of the first simulated day, the same for every path.
    variance = np.full(
        PATHS,
        omega + (alpha + gamma * (last < 0)) * last**2 + beta * float(fit.conditional_volatility[-1]) ** 2,
    )
    paths = np.empty((days, PATHS))
    for day in range(days):
        shock = np.sqrt(variance) * shocks[day]
        paths[day] = mu + shock
        variance = omega + (alpha + gamma * (shock < 0)) * shock**2 + beta * variance
    return paths.T / 100
