"""Members that draw past shocks anew, at the volatility expected ahead: filtered historical simulation and its kin.

Barone-Adesi, Giannopoulos and Vosper (1999). Shocks are drawn in stretches, so that what is left of their clustering stays, and
from the same dates for every member (and for several series that are drawn together). As in all members, what a path does up to a step
does not depend on how far it is drawn: random numbers come step by step, and nothing is estimated for the horizon asked about.
"""

from functools import lru_cache

import numpy as np

from workbench.forecasts.members.scaled_past import ScaledPast
from workbench.forecasts.series_paths import SAME_HORIZON
from workbench.science.arrays import FloatArray, IntArray

#: Mean length of the stretches in which shocks are drawn.
_STRETCH = 10
#: Windows behind volatility's own past: a week, a month, half a year of sessions (Corsi 2009); of slower series a quarter, a year, three.
_HAR = {True: (5, 22, 126), False: (3, 12, 36)}


@lru_cache(maxsize=4)
def drawn_positions(count: int, paths: int, steps: int, *, seed: int) -> IntArray:
    """Draw positions among ``count`` shocks, shape (paths, steps): stretches of the past whose length varies (stationary bootstrap).

    The members of one forecast share one draw, which takes as long as all their other work.
    """
    ends, places = np.random.default_rng(seed).spawn(2)
    fresh = ends.random((steps, paths)) < 1.0 / _STRETCH
    fresh[0] = True
    starts = np.where(fresh, places.integers(0, count, (steps, paths)), 0)
    step = np.arange(steps)[:, None]
    begun = np.maximum.accumulate(np.where(fresh, step, 0), axis=0)
    drawn = np.ascontiguousarray(((np.take_along_axis(starts, begun, axis=0) + step - begun) % count).T)
    drawn.setflags(write=False)
    return drawn


def filtered_paths(past: ScaledPast, steps: int, *, paths: int, seed: int) -> FloatArray:
    """Draw paths of past shocks at the shrunken fast and slow averages of volatility, shape (paths, steps)."""
    variances, long_run = past.variances
    return at_volatility(past, past.ahead(variances[-1], long_run, steps), paths=paths, seed=seed)


def at_volatility(past: ScaledPast, ahead: FloatArray, *, paths: int, seed: int) -> FloatArray:
    """Draw paths of past shocks at these variances of the steps ahead, shape (steps,) or (paths, steps)."""
    steps = ahead.shape[-1]
    drawn = past.shocks[drawn_positions(len(past.shocks), paths, steps, seed=seed)]
    return np.asarray(past.x[-1] + np.cumsum(past.drift + drawn * np.sqrt(ahead), axis=1))


def har_paths(past: ScaledPast, steps: int, *, paths: int, seed: int) -> FloatArray:
    """Draw paths whose volatility to each horizon, from the one before it, is regressed on its own week, month and half year.

    The errors of the regressions are drawn too, for all horizons of a path from one past day: how far volatility itself may move gives the
    paths their heavy tails.
    """
    squares = (past.steps - past.steps.mean()) ** 2
    floor = 1e-4 * float(squares.mean()) or 1e-300
    sums = np.concatenate([[0.0], np.cumsum(squares)])
    longest = _HAR[past.daily][-1]
    ends = np.arange(longest, len(squares) + 1)

    def mean_log(size: int, stop: IntArray) -> FloatArray:
        return np.asarray(np.log(np.maximum((sums[stop] - sums[stop - size]) / size, floor)))

    design = np.column_stack([np.ones(len(ends)), *(mean_log(size, ends) for size in _HAR[past.daily])])
    variances, long_run = past.variances
    ahead = np.tile(past.ahead(variances[-1], long_run, steps), (paths, 1))
    # Drawn before anything depends on a horizon; a day whose errors to a far one are not known lends those of another.
    days = np.random.default_rng(seed + 1).random(paths)
    before = 0
    for horizon in past.calendar.horizons(steps):
        count, size = len(ends) - horizon, horizon - before
        if count < 4 * design.shape[1]:
            break
        target = mean_log(size, ends[:count] + horizon)
        rows = design[:count]
        # Ridge towards equal weights of the three that sum to 0.6, worth ten separate windows of the stretch.
        prior = np.array([0.4 * float(target.mean()), 0.2, 0.2, 0.2])
        spread = rows[:, 1:].var(axis=0)
        # Of a series that always moved alike no volatility tells from another: the prior stands.
        weight = np.diag([1.0, *np.where(spread > 1e-12, spread, 1.0)]) * 10.0 * size
        beta = np.linalg.solve(rows.T @ rows + weight, rows.T @ target + weight @ prior)
        errors = target - rows @ beta
        drawn = errors[(days * len(ends)).astype(np.int64) % count]
        ahead[:, int(SAME_HORIZON * before) : int(SAME_HORIZON * horizon)] = np.exp(
            design[-1] @ beta + drawn
        )[:, None]
        before = horizon
    return at_volatility(past, ahead, paths=paths, seed=seed)


def implied_paths(past: ScaledPast, steps: int, implied: FloatArray, *, paths: int, seed: int) -> FloatArray:
    """Draw paths at the volatility that options imply, corrected for its past overstatement.

    Parameters
    ----------
    implied : ndarray, shape (k,)
        Annualised volatility of the next month in percent (the VIX), on the last ``k`` days of the series.
    """
    _, long_run = past.variances
    daily = (implied / 100.0) ** 2 / past.calendar.steps_a_year
    squares = (past.steps - past.steps.mean()) ** 2
    n_steps = len(daily) - 1
    # Implied variance pays a premium: over what was realised the next step, shrunk to the 20 % of the literature by two years' worth.
    over = 500.0
    ratio = (float(squares[len(squares) - n_steps :].sum()) + 0.8 * over * float(daily.mean())) / (
        float(daily[:-1].sum()) + over * float(daily.mean())
    )
    ahead = past.ahead(float(daily[-1]) * ratio, long_run, steps)
    return at_volatility(past, ahead, paths=paths, seed=seed)


def walk_paths(past: ScaledPast, steps: int, *, paths: int, seed: int) -> FloatArray:
    """Draw paths of a walk without drift: past steps as they were, drawn singly."""
    rng = np.random.default_rng(seed)
    centred = past.steps - past.steps.mean()
    return np.asarray(past.x[-1] + np.cumsum(rng.choice(centred, (steps, paths)), axis=0).T)


def analogue_paths(past: ScaledPast, steps: int, *, paths: int, seed: int) -> FloatArray:
    """Draw the continuations of like states of the past: windows by their likeness to now, at today's volatility.

    A state is the level, the trailing half year (of slower series: year) in units of its volatility, and the volatility.
    """
    variances, long_run = past.variances
    back = 126 if past.daily else 12
    deviations = np.sqrt(np.maximum(variances, 1e-300))
    trailing = np.zeros(len(past.x))
    trailing[back:] = (past.x[back:] - past.x[:-back]) / (deviations[back:] * np.sqrt(back))
    # Level within what it has been in the last ten years, so that a price that grows has like states too.
    window = int(10 * past.calendar.steps_a_year)
    level = past.x - _trailing_mean(past.x, window)
    state = np.column_stack([level, trailing, np.log(deviations)])
    quarter = past.calendar.quarter
    starts = np.arange(min(back, len(past.x) // 4), len(past.x) - quarter)
    if len(starts) < FEW_WINDOWS * quarter:
        return walk_paths(past, steps, paths=paths, seed=seed)
    spread = state[starts].std(axis=0)
    gaps = (state[starts] - state[-1]) / np.where(spread > 0, spread, 1.0)
    weights = np.exp(-0.5 * np.minimum((gaps**2).mean(axis=1) / 0.5**2, 50.0)) + 0.02
    rng = np.random.default_rng(seed)
    chosen = rng.choice(starts, paths, p=weights / weights.sum())
    now = np.maximum(past.ahead(variances[-1], long_run, steps), 1e-300)
    ratio = np.sqrt(now / np.maximum(past.ahead(variances[chosen], long_run, steps), 1e-300))
    # A window that reaches the end of the past goes on at its beginning.
    moves = past.steps[(chosen[:, None] + np.arange(steps)) % len(past.steps)]
    return np.asarray(past.x[-1] + np.cumsum(moves * ratio, axis=1))


#: Separate quarters that a past needs before its like states are drawn from.
FEW_WINDOWS = 4


def _trailing_mean(x: FloatArray, window: int) -> FloatArray:
    sums = np.concatenate([[0.0], np.cumsum(x)])
    ends = np.arange(1, len(x) + 1)
    starts = np.maximum(0, ends - window)
    return np.asarray((sums[ends] - sums[starts]) / (ends - starts))
