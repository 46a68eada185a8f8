"""Fit the amount of shrinkage on resolved events: a grid of cells, and the cell that scores best."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from workbench.science.arrays import (
    FloatArray,
    IntArray,
    as_outcomes,
    as_probabilities,
    codes_of,
)
from workbench.science.errors import DomainError
from workbench.science.pooling.shrinkage import TrialLogits, bayes_weight, shrink

_CHUNK = 1 << 14  # events per block: the block of all cells stays in cache


#: The grid of BLF, App. C.9: floors f (outer loop of the scan) and slopes c (inner loop).
FLOORS: tuple[float, ...] = tuple(round(0.1 * i, 10) for i in range(11))
SLOPES: tuple[float, ...] = tuple(round(0.2 * i, 10) for i in range(11))
#: Variances of the true logit about the prior's: a prior known to 0.1 logits up to one that says nothing, in factors of 2.
VARIANCES: tuple[float, ...] = tuple(2.0**k for k in range(-7, 9))

Cell = tuple[float, ...]
Weights = Callable[[FloatArray, IntArray, FloatArray], FloatArray]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShrinkGrid:
    """The weights of the trials' mean to try: every combination of the parameters' values.

    ``weights`` takes the spreads and numbers of the events' trials, shape (n, 1), and the cells, shape (m, parameters); it gives
    the weights, shape (n, m).
    """

    parameters: tuple[str, ...]
    axes: tuple[tuple[float, ...], ...]
    weights: Weights

    @property
    def cells(self) -> list[Cell]:
        """All combinations, the last parameter running fastest."""
        return list(product(*self.axes))

    def forecasts(self, logits: TrialLogits, prior: FloatArray, cell: Cell) -> FloatArray:
        """Forecasts under one cell: between the trials' mean logit and that of the prior, shape (n,)."""
        weight = self.weights(logits.spread[:, None], logits.count[:, None], np.array([cell]))[:, 0]
        return shrink(logits.mean, weight, prior)

    def briers(
        self, logits: TrialLogits, prior: FloatArray, outcome: FloatArray, cells: list[Cell]
    ) -> FloatArray:
        """Brier scores under cells, shape (n, cells); only for few cells or few events."""
        weight = self.weights(logits.spread[:, None], logits.count[:, None], np.array(cells))
        return (shrink(logits.mean[:, None], weight, prior[:, None]) - outcome[:, None]) ** 2


#: ``max(f, 1 - c * spread)`` (BLF, App. C.9, eq. 11).
FLOOR_GRID = ShrinkGrid(
    parameters=("f", "c"),
    axes=(FLOORS, SLOPES),
    weights=lambda spread, count, cells: np.maximum(cells[:, 0], 1.0 - cells[:, 1] * spread),
)
#: ``K tau2 / (K tau2 + spread ** 2)`` (BLF, App. C.9, eq. 9).
VARIANCE_GRID = ShrinkGrid(
    parameters=("tau2",),
    axes=(VARIANCES,),
    weights=lambda spread, count, cells: bayes_weight(count, spread**2, cells[:, 0]),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShrinkFit:
    """A grid fit: forecasts, the cell that won, and the grid's mean Brier scores."""

    p: FloatArray
    cell: Cell
    grid: FloatArray
    """Mean Brier score per cell, an axis per parameter; lower is better."""
    chosen: tuple[Cell, ...]
    """Distinct cells over the folds, each with the number of events for which it was chosen behind it."""

    @property
    def floor(self) -> float:
        """F of the cell, on the grid of floors and slopes."""
        return self.cell[0]

    @property
    def slope(self) -> float:
        """C of the cell, on the grid of floors and slopes."""
        return self.cell[1]

    @property
    def tied_cells(self) -> int:
        """Cells whose score is within 1e-12 of the best (c = 0 and f = 1 all mean no shrinkage)."""
        return int((self.grid <= self.grid.min() + 1e-12).sum())


def _checked(logits: TrialLogits, prior: ArrayLike, outcome: ArrayLike) -> tuple[FloatArray, FloatArray]:
    n = len(logits.mean)
    y = as_outcomes(outcome, size=n)
    if np.isnan(logits.mean).any():
        where = int(np.flatnonzero(np.isnan(logits.mean))[0])
        raise DomainError(f"event at position {where} has no trial; leave such events out before tuning")
    return np.broadcast_to(as_probabilities(prior, name="prior"), (n,)), y


def _blocks(
    logits: TrialLogits, prior: FloatArray, outcome: FloatArray, grid: ShrinkGrid, cells: list[Cell]
) -> Iterator[tuple[slice, FloatArray]]:
    """Brier scores under cells, block by block so that memory does not grow with the events."""
    for start in range(0, len(outcome), _CHUNK):
        rows = slice(start, start + _CHUNK)
        part = TrialLogits(mean=logits.mean[rows], spread=logits.spread[rows], count=logits.count[rows])
        yield rows, grid.briers(part, prior[rows], outcome[rows], cells)


def _grid_totals(logits: TrialLogits, prior: FloatArray, outcome: FloatArray, grid: ShrinkGrid) -> FloatArray:
    """Summed Brier score of every cell.

    Events are added one after the other (axis 0), the plain order of summation: cells that tie exactly are told apart
    by rounding alone, and so the same one wins here as in any straightforward loop.
    """
    totals = np.zeros(len(grid.cells))
    for _, briers in _blocks(logits, prior, outcome, grid, grid.cells):
        totals += briers.sum(axis=0)
    return totals


def tune_in_sample(
    logits: TrialLogits, prior: ArrayLike, outcome: ArrayLike, *, grid: ShrinkGrid = FLOOR_GRID
) -> ShrinkFit:
    """Shrinkage with the cell that scores best on these very events: the published, optimistic reading.

    Source: BLF, App. C.9; the released code tunes in-sample too.

    Parameters
    ----------
    logits : TrialLogits
        From `trial_logits`; every event needs a trial.
    prior : array_like, shape (n,) or scalar
        Prior probability per event.
    grid : ShrinkGrid

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
    >>> from workbench.science.pooling.shrinkage import trial_logits
    >>> fit = tune_in_sample(trial_logits([[0.9, 0.2], [0.6, 0.1]]), 0.5, [0, 0])
    >>> (fit.floor, fit.slope)
    (0.0, 0.2)
    """
    p, y = _checked(logits, prior, outcome)
    totals = _grid_totals(logits, p, y, grid)
    best = grid.cells[int(np.argmin(totals))]
    return ShrinkFit(
        p=grid.forecasts(logits, p, best),
        cell=best,
        grid=(totals / len(y)).reshape([len(axis) for axis in grid.axes]),
        chosen=((*best, len(y)),),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOutCells:
    """For every event the cell of the grid that scores best on the other folds."""

    grid: ShrinkGrid
    logits: TrialLogits
    prior: FloatArray
    #: Index into the grid's cells, shape (n,).
    choice: IntArray
    #: Summed Brier score of every cell over all events.
    totals: FloatArray

    @property
    def best(self) -> Cell:
        """The cell of all events, to use from now on."""
        return self.grid.cells[int(np.argmin(self.totals))]

    def forecasts(self, after: Callable[[FloatArray], FloatArray] = np.asarray) -> FloatArray:
        """Forecasts under each event's cell, shape (n,); ``after`` takes the forecasts of all events under one, to calibrate them."""
        p = np.empty(len(self.choice))
        # Few cells ever win, so each is worked out once for all events.
        for index in np.unique(self.choice):
            under = after(self.grid.forecasts(self.logits, self.prior, self.grid.cells[index]))
            p[self.choice == index] = under[self.choice == index]
        return p


def choose_leave_out(
    logits: TrialLogits,
    prior: ArrayLike,
    outcome: ArrayLike,
    folds: ArrayLike | None = None,
    *,
    grid: ShrinkGrid = FLOOR_GRID,
) -> HeldOutCells:
    """Choose, for every fold, the cell of the grid that scores best on the other folds.

    Only cells whose total lies within one fold's size of the best can ever win, so the second pass looks at those.

    Parameters
    ----------
    logits, prior, outcome, grid
        As for `tune_in_sample`.
    folds : array_like, shape (n,), optional
        Label of the fold of each event, such as its question: dates of one question are not independent, share a label and are left
        out together. Without labels each event is a fold of its own.

    Examples
    --------
    >>> from workbench.science.pooling.shrinkage import trial_logits
    >>> held_out = choose_leave_out(trial_logits([[0.9, 0.2], [0.6, 0.1]]), 0.5, [0, 0])
    >>> [FLOOR_GRID.cells[i] for i in held_out.choice]
    [(0.0, 0.0), (0.0, 0.4)]
    """
    p, y = _checked(logits, prior, outcome)
    cells, totals = grid.cells, _grid_totals(logits, p, y, grid)
    codes = np.arange(len(y)) if folds is None else codes_of(folds)[0]
    if len(codes) != len(y):
        raise DomainError(f"there are {len(codes)} fold labels for {len(y)} events")
    sizes = np.bincount(codes)
    # A Brier score lies in [0, 1], so leaving a fold out lowers a total by at most the size of the fold.
    rivals = np.flatnonzero(totals <= totals.min() + sizes.max())
    held_out = np.zeros((len(rivals), len(sizes)))
    for rows, briers in _blocks(logits, p, y, grid, [cells[i] for i in rivals]):
        for row, values in enumerate(briers.T):
            held_out[row] += np.bincount(codes[rows], weights=values, minlength=len(sizes))
    best = np.argmin(totals[rivals][:, None] - held_out, axis=0)
    choice = np.asarray(rivals[best][codes], dtype=np.int64)
    return HeldOutCells(grid=grid, logits=logits, prior=p, choice=choice, totals=totals)


def tune_leave_out(
    logits: TrialLogits,
    prior: ArrayLike,
    outcome: ArrayLike,
    folds: ArrayLike | None = None,
    *,
    grid: ShrinkGrid = FLOOR_GRID,
) -> ShrinkFit:
    """Shrinkage with the cell chosen, for every fold, on the other folds only: what BLF's App. C.9 describes.

    Arguments are those of `choose_leave_out`. ``cell`` is that of all events (to use from now on); ``chosen`` counts the events per cell.

    Raises
    ------
    DomainError
        An event without trials, or shapes that do not match.

    Examples
    --------
    >>> from workbench.science.pooling.shrinkage import trial_logits
    >>> logits = trial_logits([[0.9, 0.2], [0.6, 0.1], [0.7, 0.8]])
    >>> tune_leave_out(logits, 0.5, [0, 0, 1], ["q1", "q1", "q2"]).p.round(3).tolist()
    [0.6, 0.29, 0.737]
    """
    held_out = choose_leave_out(logits, prior, outcome, folds, grid=grid)
    counts = Counter(held_out.choice.tolist())
    return ShrinkFit(
        p=held_out.forecasts(),
        cell=held_out.best,
        grid=(held_out.totals / len(held_out.choice)).reshape([len(axis) for axis in grid.axes]),
        chosen=tuple((*grid.cells[index], counts[index]) for index in sorted(counts)),
    )


def tune_constant(logits: TrialLogits, prior: ArrayLike, outcome: ArrayLike) -> tuple[float, FloatArray]:
    """One weight for all events, on a grid of 0, 0.05, ... 1, in-sample: the one-parameter variant.

    Source: the `shrink-alpha` of the authors' code (BLF, App. C.9).
    """
    priors, y = _checked(logits, prior, outcome)
    weights = np.round(0.05 * np.arange(21), 10)
    p = shrink(logits.mean[:, None], weights, priors[:, None])
    best = int(np.argmin(((p - y[:, None]) ** 2).sum(axis=0)))
    return float(weights[best]), p[:, best]
