"""Draw paths of several series that move together as they did: claims about two series are read from them."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

import numpy as np

from workbench.forecasts.ensemble import Ensemble, nearest_horizon, past_cutoffs
from workbench.forecasts.member_weights import density_and_rank
from workbench.forecasts.members.scaled_past import ScaledPast
from workbench.forecasts.series.series_history import Days, History
from workbench.forecasts.series_paths import Calendar, Paths
from workbench.science.arrays import FloatArray
from workbench.science.errors import DomainError

#: Members that choose past days by the state of one series, or by what is implied of it.
_ALONE = ("analogues", "implied")


def joint_paths(
    ensemble: Ensemble, histories: Sequence[History], horizon: date, calendar: Calendar
) -> list[Paths]:
    """Return paths of several series that were drawn together, in their order: row i of all is one future.

    Every member draws the shocks of the same past days for all series, in stretches of days (a block bootstrap of aligned rows). So
    what is read from two of them together (`Paths.combine`) moves as it did, and claims about them are coherent: if A beats B on a
    path, B does not beat A. Each series alone is distributed as its own paths are, but for the weights of members, which are the mean of
    what they earned on each.

    Raises `TooFewError, DomainError`: As for `Ensemble.paths`, of the days in common; also where no day is in common.

    >>> days = np.arange("2008-01", "2018-07", dtype="datetime64[M]").astype("datetime64[D]")
    >>> history = History.of(days, 50 + np.cumsum(np.random.default_rng(0).normal(size=len(days))))
    >>> pair = [history, history]
    >>> first, second = joint_paths(Ensemble(learned=False), pair, date(2018, 9, 30), Calendar.of(history))
    >>> set(first.combine(second, "difference").values.ravel().tolist())
    {0.0}
    """
    common, pasts = _in_common(histories)
    together = _drawn_together(ensemble)
    drawings = [together.paths(past, horizon, calendar) for past in pasts]
    # A series that never moved has a single path, which goes with all paths of the others.
    moving = [paths for paths in drawings if len(paths.values) > 1] or drawings[:1]
    names = [name for name in moving[0].members if all(name in paths.members for paths in moving)]
    rows = [np.isin(np.array(paths.members)[paths.drawn_by], names) for paths in moving]
    weights = np.mean([paths.weights[chosen] for paths, chosen in zip(moving, rows, strict=True)], axis=0)
    drawn_by = np.searchsorted(np.sort(names), np.array(moving[0].members)[moving[0].drawn_by[rows[0]]])
    results = []
    for paths, past, history in zip(drawings, pasts, histories, strict=True):
        chosen = np.isin(np.array(paths.members)[paths.drawn_by], names)
        values = (
            paths.values[chosen] if len(paths.values) > 1 else np.repeat(paths.values, len(weights), axis=0)
        )
        results.append(
            replace(
                paths,
                values=_with_known(values, paths, history, ScaledPast.of(past, calendar)),
                weights=weights / weights.sum(),
                known=History(
                    days=history.days[history.days <= common[-1]],
                    values=history.values[history.days <= common[-1]],
                ),
                members=tuple(np.sort(names).tolist()),
                drawn_by=drawn_by,
            )
        )
    return results


def difference_ranks(
    ensemble: Ensemble, histories: Sequence[History], steps: int, calendar: Calendar
) -> FloatArray:
    """Return the share of each member's draws below the outcome of the first series less the second, shape (cutoffs, members).

    At the past cutoffs of the horizon nearest to so many steps, the two drawn together there as in `joint_paths`. A difference is no series like the two: where
    both grow, its steps grow while it may stay near 0, so ranks in draws of it alone say nothing of these paths. (Of a ratio they do: its
    logarithm is the difference of two logarithms.) Nan where a member does not draw for both.
    """
    together = _drawn_together(ensemble)
    _, in_common = _in_common(histories)
    first, second = (ScaledPast.of(history, calendar) for history in in_common)
    steps = nearest_horizon(steps, calendar)
    ends = past_cutoffs(first, steps)[steps]
    ranks = np.full((len(ends), len(ensemble.members)), np.nan)
    for row, count in enumerate(ends):
        draws = [_last_draws(together, past, count, steps) for past in (first, second)]
        came = in_common[0].values[count + steps - 1] - in_common[1].values[count + steps - 1]
        for column, name in enumerate(ensemble.members):
            ours, theirs = (draws_of.get(name) for draws_of in draws)
            if ours is not None and theirs is not None:
                ranks[row, column] = density_and_rank(ours - theirs, float(came))[1]
    return ranks


def _last_draws(ensemble: Ensemble, past: ScaledPast, count: int, steps: int) -> dict[str, FloatArray]:
    if not past.x[:count].std():
        return dict.fromkeys(ensemble.members, past.unscaled(past.x[[0]]))
    drawn = ensemble.draws_at(past, count, steps)
    return {name: past.unscaled(paths[:, -1]) for name, paths in drawn.items() if paths is not None}


def _drawn_together(ensemble: Ensemble) -> Ensemble:
    return replace(ensemble, members=tuple(name for name in ensemble.members if name not in _ALONE))


def _in_common(histories: Sequence[History]) -> tuple[Days, list[History]]:
    common = histories[0].days
    for history in histories[1:]:
        common = np.intersect1d(common, history.days)
    if not len(common):
        raise DomainError("the series have no day in common")
    chosen = [(history, np.isin(history.days, common)) for history in histories]
    return common, [History(days=history.days[rows], values=history.values[rows]) for history, rows in chosen]


def _with_known(values: np.ndarray, paths: Paths, history: History, past: ScaledPast) -> np.ndarray:
    """Put this series' known values after the last common day into the first steps of its paths; the others go on from there."""
    later = history.days > paths.known.days[-1]
    if not later.any():
        return values
    x = np.log(values) if past.logarithmic else values.copy()
    known = np.log(history.values[later]) if past.logarithmic else history.values[later]
    position = np.searchsorted(history.days[later], paths.days, side="right") - 1
    over = int((paths.days <= history.days[-1]).sum())
    if over:
        x[:, over:] += known[-1] - x[:, [over - 1]]
        x[:, :over] = np.where(position[:over] >= 0, known[np.maximum(position[:over], 0)], past.x[-1])
    return np.asarray(past.unscaled(x))
