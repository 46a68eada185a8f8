"""How much a series moved: its realised volatility, in percent a year."""

import numpy as np
from numpy.typing import ArrayLike

_DAYS_A_YEAR = 365.25
_FEW = 20


def realised_volatility(days: ArrayLike, values: ArrayLike) -> float:
    """Annualised standard deviation (ddof 1) of the changes of the logarithm, in percent; ``nan`` where it cannot be said.

    Parameters
    ----------
    days : array_like of datetime64, shape (n,)
        Of the values, rising; their mean distance says how many changes a year has.
    values : array_like, shape (n,)
        Fewer than 21 of them, or one that is not above 0, give ``nan``.

    Examples
    --------
    >>> days = np.arange("2020-01-01", "2021-01-01", dtype="datetime64[D]")
    >>> steps = np.where(np.arange(366) % 2, 0.01, -0.01)
    >>> round(realised_volatility(days, np.exp(np.cumsum(steps))), 1)
    19.1
    """
    dates = np.asarray(days, dtype="datetime64[D]")
    levels = np.asarray(values, dtype=np.float64)
    if len(levels) <= _FEW or not np.isfinite(levels).all() or (levels <= 0).any():
        return float("nan")
    span = float((dates[-1] - dates[0]).astype(int))
    if span <= 0:
        return float("nan")
    changes = np.diff(np.log(levels))
    return float(100.0 * changes.std(ddof=1) * np.sqrt(len(changes) * _DAYS_A_YEAR / span))
