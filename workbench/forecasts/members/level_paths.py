"""Members for series whose level returns, or moves about a level that drifts: a shrunken autoregression, and a local level."""

from typing import NamedTuple

import numpy as np

from workbench.forecasts.members.scaled_past import ScaledPast, best_decay, smoothed
from workbench.forecasts.members.shock_paths import drawn_positions
from workbench.science.arrays import FloatArray

#: Years of the level that its mean is taken of.
_MEAN_YEARS = 10

#: Steps back that the next one is regressed on, and how many steps without a connection stand against it.
_LAGS, _RIDGE = (1, 2, 3, 12), 10.0


class Pull(NamedTuple):
    """Share of the distance to ``centre`` that a series goes back in a step, and the deviation of that share about the true one."""

    share: float
    error: float
    centre: float

    @property
    def evident(self) -> bool:
        """Whether the series returns to its mean; of walks one in twenty seems to (simulated, 60 to 2,500 steps)."""
        return self.share > 1.8 * self.error

    @property
    def strong(self) -> bool:
        """Whether it returns beyond doubt, so that no member draws it as a walk."""
        return self.share > 4.0 * self.error


def pull_of(past: ScaledPast) -> Pull:
    """Estimate the pull to the mean of the last ten years, corrected for its upward bias in short samples (Kendall 1954).

    It is shrunk to none by its own error: a series that only wanders gets a walk.
    """
    window = past.x[-(int(_MEAN_YEARS * past.calendar.steps_a_year) + 1) :]
    before, after = window[:-1], window[1:]
    centre = float(window.mean())
    spread = float(((before - before.mean()) ** 2).sum())
    if not spread > 0:
        return Pull(0.0, 0.0, centre)
    slope = float(((before - before.mean()) * (after - after.mean())).sum()) / spread
    slope += (1.0 + 3.0 * slope) / len(before)
    noise = after - after.mean() - slope * (before - before.mean())
    error = float((noise**2).mean()) / spread
    estimate = max(1.0 - slope, 0.0)
    trust = estimate**2 / (estimate**2 + error) if estimate else 0.0
    return Pull(min(estimate * trust, 1.0), float(np.sqrt(error * trust)), centre)


def pulled_back(walks: FloatArray, last: float, pull: Pull) -> FloatArray:
    """Pull walks from ``last``, shape (paths, steps), back to the mean step by step; without their drift."""
    steps = np.diff(walks, axis=1, prepend=last)
    steps -= steps.mean(axis=0)
    level = np.full(len(walks), last - pull.centre)
    values = np.empty(walks.T.shape)
    for step in range(walks.shape[1]):
        level = (1.0 - pull.share) * level + steps[:, step]
        values[step] = level
    return np.asarray(pull.centre + values.T)


def reverting_paths(past: ScaledPast, steps: int, *, paths: int, seed: int) -> FloatArray:
    """Draw paths of a first-order autoregression with past shocks at the volatility expected ahead.

    Its pull is that of `pull_of`.
    """
    variances, long_run = past.variances
    ahead = np.sqrt(past.ahead(variances[-1], long_run, steps))
    drawn = past.shocks[drawn_positions(len(past.shocks), paths, steps, seed=seed)] * ahead
    last = float(past.x[-1])
    return pulled_back(last + np.cumsum(drawn, axis=1), last, pull_of(past))


def local_level_paths(past: ScaledPast, steps: int, *, paths: int, seed: int) -> FloatArray | None:
    """Draw paths of a local level that drifts; None for days, where it drowns in noise."""
    if past.daily:
        return None
    level = np.concatenate([[0.0], np.cumsum(past.steps - past.drift)])
    decay = best_decay(level)
    smooth = smoothed(level, decay)
    errors = level[1:] - smooth[:-1]
    drawn = (errors - errors.mean())[drawn_positions(len(errors), paths, steps, seed=seed)]
    # An error moves the level by its decayed part, and the value itself by all of it.
    moved = np.cumsum(decay * drawn, axis=1)
    values = smooth[-1] - level[-1] + moved + (1.0 - decay) * drawn
    return np.asarray(past.x[-1] + values + past.drift * np.arange(1, steps + 1))


def ongoing_paths(past: ScaledPast, steps: int, *, paths: int, seed: int) -> FloatArray | None:
    """Draw paths whose changes go on: an autoregression of steps with past shocks; None for days, where it
    earned nothing, and for short pasts.

    A ridge worth ten steps stands for none of it. The step of a year ago is among its terms: what entered a sum over twelve months then
    leaves it now.
    """
    moves = past.steps - past.drift
    if past.daily or len(moves) < 4 * _LAGS[-1] or not moves.any():
        return None
    lagged = np.column_stack([moves[_LAGS[-1] - lag : len(moves) - lag] for lag in _LAGS])
    came = moves[_LAGS[-1] :]
    ridge = _RIDGE * float((moves**2).mean()) * np.eye(len(_LAGS))
    shares = np.linalg.solve(lagged.T @ lagged + ridge, lagged.T @ came)
    variances, long_run = past.variances
    shocks = (came - lagged @ shares) / np.sqrt(np.maximum(variances[_LAGS[-1] : -1], 1e-300))
    drawn = (shocks - shocks.mean())[drawn_positions(len(shocks), paths, steps, seed=seed)]
    drawn = drawn * np.sqrt(past.ahead(variances[-1], long_run, steps))
    ahead = np.concatenate([np.tile(moves[-_LAGS[-1] :], (paths, 1)), np.empty((paths, steps))], axis=1)
    for step in range(_LAGS[-1], _LAGS[-1] + steps):
        ahead[:, step] = ahead[:, [step - lag for lag in _LAGS]] @ shares + drawn[:, step - _LAGS[-1]]
    return np.asarray(past.x[-1] + np.cumsum(past.drift + ahead[:, _LAGS[-1] :], axis=1))
