"""Count the separate windows that overlapping or persistent outcomes are worth, and the variance of a chance that rests on them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

#: Fewer than this say nothing of a share, nor of how far chance may move it: neither is shown.
FEWEST_SEPARATE = 2.0


def separate_windows(outcomes: ArrayLike, overlap: float) -> float:
    """Return how many independent outcomes have the same sampling error in their mean, at least 1.

    Windows that overlap are one reason why outcomes go together; that a level lasts is another, and for a volatility or a
    spread the larger one: weekly outcomes of "above 15" are far fewer than the weeks. Both are in the outcomes' own autocorrelation.

    Parameters
    ----------
    outcomes : array_like of 0 and 1, shape (n,)
        Of windows at equal distances, oldest first; any gaps left out.
    overlap : float
        Length of a window in those distances; the number is at most ``n / overlap``.

    Notes
    -----
    ``n`` over one plus twice the sum of the autocorrelations, up to the first that is not above 0. Each is raised by the bias that
    taking the sample's own mean off gives it (solved by three rounds). The central 90 % of a share of so many windows holds the true one in
    85 to 95 % of simulated histories of 24 years: of returns, of a level with a half-life of two months, and of one with
    nine (tests/forecasts/test_separate_windows.py).

    Examples
    --------
    >>> round(separate_windows([0, 1] * 50, 1.0))
    100
    >>> round(separate_windows([0] * 50 + [1] * 50, 1.0))
    1
    """
    y = np.asarray(outcomes, dtype=np.float64)
    count = len(y)
    length = max(overlap, 1.0)
    centred = y - y.mean() if count else y
    variance = float(centred @ centred)
    if variance == 0.0:
        return max(count / length, 1.0)
    # By the Fourier transform, since the sum over all lags of a thousand weeks is wanted for hundreds of claims.
    power = np.abs(np.fft.rfft(centred, 2 * count)) ** 2
    correlation = np.fft.irfft(power)[1 : max(count // 2, 2)] / variance
    times = 1.0
    for _ in range(3):
        raised = correlation + times / count
        over = np.flatnonzero(raised < 0.0)
        times = 1.0 + 2.0 * float(raised[: over[0] if len(over) else None].sum())
    return max(count / max(times, length), 1.0)


def chance_variance(
    p: float, separate: float, members: Sequence[float] = (), weights: Sequence[float] = ()
) -> float:
    """Return the variance of a chance about the one that a longer past and the right model would give.

    Two errors that add up: another stretch of the same past would give another share of ``separate`` windows (what resampling the
    history in blocks does, without the resampling), and the members differ.

    For a share. Of a forecast it is wider than need be (`workbench.forecasts.chance_error` gives its error), since a drift is known
    better by its prior than by the past alone.

    >>> round(chance_variance(0.5, 25.0), 4), round(chance_variance(0.5, 25.0, [0.4, 0.6], [0.5, 0.5]), 4)
    (0.01, 0.02)
    """
    shares = np.asarray(weights, dtype=np.float64)
    differ = (
        float(shares @ (np.asarray(members, dtype=np.float64) - p) ** 2 / shares.sum())
        if shares.sum()
        else 0.0
    )
    return p * (1.0 - p) / separate + differ
