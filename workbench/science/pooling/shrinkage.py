"""Shrinkage: the trials' logit mean is pulled toward a prior, more where the trials disagree.

Two readings of "tuned by leave-one-out" exist. The authors' code picks (f, c) on the very events it then scores:
`tune_in_sample`. Here the honest one is the default: `tune_leave_out` picks (f, c) for each fold without that fold.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from workbench.science.arrays import (
    EPS,
    FloatArray,
    IntArray,
    as_outcomes,
    as_probabilities,
    as_trials,
    codes_of,
    logit,
    sigmoid,
)
from workbench.science.errors import DomainError

#: The grid of BLF, App. C.9: floors f (outer loop of the scan) and slopes c (inner loop).
FLOORS: tuple[float, ...] = tuple(round(0.1 * i, 10) for i in range(11))
SLOPES: tuple[float, ...] = tuple(round(0.2 * i, 10) for i in range(11))

_CHUNK = 1 << 14  # events per block: the block of all 121 cells stays in cache


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialLogits:
    """What shrinkage needs of an event's trials: their mean logit, its spread, and their number."""

    mean: FloatArray
    spread: FloatArray
    count: IntArray


def trial_logits(trials: ArrayLike, *, ddof: int = 1, eps: float = EPS) -> TrialLogits:
    """Mean and standard deviation of each event's trial logits.

    Source: BLF, App. C.9, eq. 11.

    Parameters
    ----------
    trials : array_like, shape (n, K)
        Probabilities; ``nan`` where a trial does not exist.
    ddof : {0, 1}
        1 is the sample deviation (BLF's text), 0 the population one (the authors' code).

    Returns
    -------
    TrialLogits
        Arrays of shape (n,). The spread is 0 for a single trial, so that it is returned as it is; mean and spread
        are ``nan`` for an event without trials.

    Raises
    ------
    DomainError
        ``ddof`` is neither 0 nor 1, or the trials are no matrix of probabilities.

    Examples
    --------
    >>> trial_logits([[0.5, 0.5], [0.2, 0.8]], ddof=0).spread.round(4).tolist()
    [0.0, 1.3863]
    """
    if ddof not in (0, 1):
        raise DomainError(f"ddof must be 0 or 1, not {ddof}")
    y = logit(as_trials(trials), eps=eps)
    exists = np.isfinite(y)
    count = exists.sum(axis=1)
    some = count > 0
    mean = np.divide(np.where(exists, y, 0.0).sum(axis=1), count, out=np.full(len(y), np.nan), where=some)
    squares = np.where(exists, (y - np.where(some, mean, 0.0)[:, None]) ** 2, 0.0).sum(axis=1)
    spread = np.sqrt(np.divide(squares, count - ddof, out=np.zeros(len(y)), where=count > ddof))
    return TrialLogits(mean=mean, spread=np.where(some, spread, np.nan), count=count.astype(np.int64))


def floor_weight(spread: ArrayLike, floor: float, slope: float) -> FloatArray:
    """Weight of the trials' mean, ``max(floor, 1 - slope * spread)``, in [floor, 1].

    ``spread`` is the standard deviation of an event's trial logits. A floor of 1 turns shrinkage off; the slope says
    how fast disagreement costs weight.

    Source: BLF, App. C.9, eq. 11. The floor binds when slope * spread >= 1 - floor (the sentence in the paper has it
    the other way round).

    Examples
    --------
    >>> floor_weight([0.0, 1.0, 9.0], 0.3, 0.5).tolist()
    [1.0, 0.5, 0.3]
    """
    if not 0.0 <= floor <= 1.0 or slope < 0.0:
        raise DomainError(f"floor must be in [0, 1] and slope at least 0, not {floor:g} and {slope:g}")
    return np.maximum(floor, 1.0 - slope * np.asarray(spread, dtype=np.float64))


def bayes_weight(count: ArrayLike, variance: ArrayLike, tau2: float) -> FloatArray:
    """Weight of the trials' mean under a normal prior, ``K tau2 / (K tau2 + variance)``, in (0, 1].

    K is the number of trials, ``variance`` that of their logits, ``tau2`` that of the true logit about the prior's.
    Source: BLF, App. C.9, eq. 9.

    Examples
    --------
    >>> bayes_weight([4], [1.0], 0.25).tolist()
    [0.5]
    """
    if tau2 <= 0.0:
        raise DomainError(f"tau2 must be above 0, not {tau2:g}")
    prior = np.asarray(count, dtype=np.float64) * tau2
    return np.asarray(prior / (prior + np.asarray(variance, dtype=np.float64)))


def shrink(mean_logit: ArrayLike, weight: ArrayLike, prior: ArrayLike, *, eps: float = EPS) -> FloatArray:
    """Forecast between the trials' logit mean and the prior: ``sigmoid(w * mean + (1 - w) * logit(prior))``.

    All shapes (n,) or scalars; the prior is clipped to [eps, 1 - eps]. Source: BLF, App. C.9, eq. 10.

    Examples
    --------
    >>> shrink([0.0], 0.5, [0.9]).round(4).tolist()
    [0.75]
    """
    w = np.asarray(weight, dtype=np.float64)
    return sigmoid(w * np.asarray(mean_logit, dtype=np.float64) + (1.0 - w) * logit(prior, eps=eps))


@dataclass(frozen=True, slots=True, kw_only=True)
class ShrinkFit:
    """A grid fit of (floor, slope): forecasts, the cell that won, and the grid's mean Brier scores."""

    p: FloatArray
    floor: float
    slope: float
    grid: FloatArray
    """Mean Brier score per cell, shape (floors, slopes); lower is better."""
    chosen: tuple[tuple[float, float, int], ...]
    """Distinct (floor, slope) over the folds, and in how many folds each was chosen."""

    @property
    def tied_cells(self) -> int:
        """Cells whose score is within 1e-12 of the best (c = 0 and f = 1 all mean no shrinkage)."""
        return int((self.grid <= self.grid.min() + 1e-12).sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Problem:
    mean: FloatArray
    spread: FloatArray
    prior: FloatArray
    outcome: FloatArray


def _problem(logits: TrialLogits, prior: ArrayLike, outcome: ArrayLike) -> _Problem:
    n = len(logits.mean)
    y = as_outcomes(outcome, size=n)
    prior_array = np.broadcast_to(as_probabilities(prior, name="prior"), (n,))
    if np.isnan(logits.mean).any():
        where = int(np.flatnonzero(np.isnan(logits.mean))[0])
        raise DomainError(f"event at position {where} has no trial; leave such events out before tuning")
    return _Problem(mean=logits.mean, spread=logits.spread, prior=logit(prior_array), outcome=y)


def _cell_briers(problem: _Problem, cells: list[tuple[float, float]]) -> FloatArray:
    """Brier scores, shape (n, cells); only for few cells or few events."""
    floors = np.array([f for f, _ in cells])
    slopes = np.array([c for _, c in cells])
    weight = np.maximum(floors, 1.0 - slopes * problem.spread[:, None])
    p = sigmoid(weight * problem.mean[:, None] + (1.0 - weight) * problem.prior[:, None])
    return (p - problem.outcome[:, None]) ** 2


def _part(problem: _Problem, rows: slice) -> _Problem:
    return _Problem(
        mean=problem.mean[rows],
        spread=problem.spread[rows],
        prior=problem.prior[rows],
        outcome=problem.outcome[rows],
    )


def _grid_totals(problem: _Problem, cells: list[tuple[float, float]]) -> FloatArray:
    """Summed Brier score of every cell, block by block so that memory does not grow with the events.

    Events are added one after the other (axis 0), the plain order of summation: cells that tie exactly are told apart
    by rounding alone, and so the same one wins here as in any straightforward loop.
    """
    totals = np.zeros(len(cells))
    for start in range(0, len(problem.mean), _CHUNK):
        totals += _cell_briers(_part(problem, slice(start, start + _CHUNK)), cells).sum(axis=0)
    return totals


def _cells() -> list[tuple[float, float]]:
    return [(floor, slope) for floor in FLOORS for slope in SLOPES]


def tune_in_sample(logits: TrialLogits, prior: ArrayLike, outcome: ArrayLike) -> ShrinkFit:
    """Shrinkage with the (f, c) that scores best on these very events: the published, optimistic reading.

    Source: BLF, App. C.9; the released code tunes in-sample too.

    Parameters
    ----------
    logits : TrialLogits
        From `trial_logits`; every event needs a trial.
    prior : array_like, shape (n,) or scalar
        Prior probability per event.

    Returns
    -------
    ShrinkFit
        The first best cell in scan order (floors outside, slopes inside).

    Raises
    ------
    DomainError
        An event without trials, or shapes that do not match.

    Examples
    --------
    >>> fit = tune_in_sample(trial_logits([[0.9, 0.2], [0.6, 0.1]]), 0.5, [0, 0])
    >>> (fit.floor, fit.slope)
    (0.0, 0.2)
    """
    problem = _problem(logits, prior, outcome)
    cells = _cells()
    totals = _grid_totals(problem, cells)
    best = int(np.argmin(totals))
    floor, slope = cells[best]
    weight = floor_weight(problem.spread, floor, slope)
    n = len(problem.mean)
    return ShrinkFit(
        p=sigmoid(weight * problem.mean + (1.0 - weight) * problem.prior),
        floor=floor,
        slope=slope,
        grid=(totals / n).reshape(len(FLOORS), len(SLOPES)),
        chosen=((floor, slope, n),),
    )


def choose_leave_out(
    logits: TrialLogits, prior: ArrayLike, outcome: ArrayLike, folds: ArrayLike | None = None
) -> tuple[IntArray, list[tuple[float, float]], FloatArray]:
    """For every fold, the cell of the grid that scores best on the other folds.

    Only cells whose total lies within one fold's size of the best can ever win, so the second pass looks at those.

    Parameters
    ----------
    logits, prior, outcome
        As for `tune_in_sample`.
    folds : array_like, shape (n,), optional
        Events with the same label are left out together; each event alone when not given.

    Returns
    -------
    choice : ndarray of int, shape (n,)
        Index into ``cells`` for every event.
    cells : list of (floor, slope)
    totals : ndarray
        Summed Brier score of every cell over all events.

    Examples
    --------
    >>> choice, cells, _ = choose_leave_out(trial_logits([[0.9, 0.2], [0.6, 0.1]]), 0.5, [0, 0])
    >>> [cells[i] for i in choice]
    [(0.0, 0.0), (0.0, 0.4)]
    """
    problem = _problem(logits, prior, outcome)
    n = len(problem.mean)
    cells = _cells()
    totals = _grid_totals(problem, cells)
    codes = np.arange(n) if folds is None else codes_of(folds)[0]
    if len(codes) != n:
        raise DomainError(f"there are {len(codes)} fold labels for {n} events")
    count = int(codes.max()) + 1
    largest = int(np.bincount(codes, minlength=count).max())
    # A Brier score lies in [0, 1], so leaving a fold out lowers a total by at most the size of the fold.
    rivals = np.flatnonzero(totals <= totals.min() + largest)
    held_out = np.zeros((len(rivals), count))
    rival_cells = [cells[i] for i in rivals]
    for start in range(0, n, _CHUNK):
        rows = slice(start, start + _CHUNK)
        briers = _cell_briers(_part(problem, rows), rival_cells).T
        if folds is None:
            held_out[:, rows] = briers
        else:
            for row, values in enumerate(briers):
                held_out[row] += np.bincount(codes[rows], weights=values, minlength=count)
    best = np.argmin(totals[rivals][:, None] - held_out, axis=0)
    return np.asarray(rivals[best][codes], dtype=np.int64), cells, totals


def tune_leave_out(
    logits: TrialLogits, prior: ArrayLike, outcome: ArrayLike, folds: ArrayLike | None = None
) -> ShrinkFit:
    """Shrinkage with (f, c) chosen, for every fold, on the other folds only.

    Source: what BLF's App. C.9 describes; by question because dates of one question are not independent.

    Parameters
    ----------
    logits, prior, outcome
        As for `tune_in_sample`.
    folds : array_like, shape (n,), optional
        Label of the fold of each event, such as its question: dates of one question share a label and are left out
        together. Without labels each event is a fold of its own.

    Returns
    -------
    ShrinkFit
        ``floor`` and ``slope`` are those of all events (to use from now on); ``chosen`` counts the events per cell.

    Raises
    ------
    DomainError
        An event without trials, or shapes that do not match.

    Examples
    --------
    >>> logits = trial_logits([[0.9, 0.2], [0.6, 0.1], [0.7, 0.8]])
    >>> tune_leave_out(logits, 0.5, [0, 0, 1], ["q1", "q1", "q2"]).p.round(3).tolist()
    [0.6, 0.29, 0.737]
    """
    problem = _problem(logits, prior, outcome)
    choice, cells, totals = choose_leave_out(logits, prior, outcome, folds)
    floors = np.array([f for f, _ in cells])[choice]
    slopes = np.array([c for _, c in cells])[choice]
    weight = np.maximum(floors, 1.0 - slopes * problem.spread)
    floor, slope = cells[int(np.argmin(totals))]
    counts = Counter(cells[i] for i in choice)
    return ShrinkFit(
        p=sigmoid(weight * problem.mean + (1.0 - weight) * problem.prior),
        floor=floor,
        slope=slope,
        grid=(totals / len(problem.mean)).reshape(len(FLOORS), len(SLOPES)),
        chosen=tuple((f, c, counts[(f, c)]) for f, c in sorted(counts)),
    )


def tune_constant(logits: TrialLogits, prior: ArrayLike, outcome: ArrayLike) -> tuple[float, FloatArray]:
    """One weight for all events, on a grid of 0, 0.05, ... 1, in-sample: the one-parameter variant.

    Source: the `shrink-alpha` of the authors' code (BLF, App. C.9).

    Parameters
    ----------
    logits, prior, outcome
        As for `tune_in_sample`.

    Returns
    -------
    weight : float
        The weight with the least mean Brier score.
    p : ndarray, shape (n,)

    Examples
    --------
    >>> weight, p = tune_constant(trial_logits([[0.9], [0.8]]), 0.5, [0, 1])
    >>> round(weight, 2)
    0.0
    """
    problem = _problem(logits, prior, outcome)
    weights = np.round(0.05 * np.arange(21), 10)
    totals = np.array(
        [
            float(((sigmoid(w * problem.mean + (1.0 - w) * problem.prior) - problem.outcome) ** 2).sum())
            for w in weights
        ]
    )
    weight = float(weights[int(np.argmin(totals))])
    return weight, sigmoid(weight * problem.mean + (1.0 - weight) * problem.prior)
