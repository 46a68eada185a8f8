"""Turn trials or published forecasts into the forecasts that are scored: pool, shrink, calibrate."""

from dataclasses import dataclass, field
from typing import Annotated, Any, Self

import numpy as np
from pydantic import model_validator

from workbench.requests import Request, Says
from workbench.science.arrays import FloatArray, IntArray
from workbench.science.calibrating.calibration import GROUP, fit_platt, leave_out_platt
from workbench.science.errors import DomainError, UnknownName
from workbench.science.pooling.pool import POOLING_NAMES, is_pooling, pool
from workbench.science.pooling.shrinkage import TrialLogits, trial_logits
from workbench.science.pooling.tuning import (
    FLOOR_GRID,
    VARIANCE_GRID,
    ShrinkGrid,
    choose_leave_out,
    tune_constant,
    tune_in_sample,
    tune_leave_out,
)
from workbench.science.table_cells import StrArray
from workbench.science.tables import Events

SHRINKAGES = ("shrink-std", "shrink-prior", "shrink-alpha", "shrink-bayes")
#: These shrink to a column of the events file; the others to 0.5.
TO_PRIOR = ("shrink-prior", "shrink-bayes")
TUNINGS = ("loo-question", "loo-event", "in-sample", "as-published")
CALIBRATIONS = ("none", "platt", "platt-hier")
DEFAULT_PRIOR = "prior_temporal"  # the leak-free one
LEFT_OUT = ("event", "question", "none")


class Recipe(Request):
    """The preparation of raw forecasts before they are scored."""

    pool: str = "logit-mean"
    """mean, median, logit-mean, first; mean:3 and so on for the mean over all subsets of 3 trials; shrink-std, shrink-prior,
    shrink-alpha, shrink-bayes (by the variance of the prior)."""
    prior: str | None = None
    """Column of the events that shrink-prior and shrink-bayes shrink to; prior_temporal when not given."""
    tune: str = "loo-question"
    """loo-question, loo-event, in-sample, as-published (in-sample and ddof 0)."""
    ddof: int | None = None
    """0 or 1; 1 unless as-published."""
    calibrate: str = "none"
    """none, platt, platt-hier."""
    loo: str = "event"
    """What calibration leaves out: event, question; none fits in-sample."""
    penalty: Annotated[float, Says(text="Penalty on the offsets of platt-hier.", word="lambda")] = 1.0
    clip: float = 0.0
    """Clip forecasts to [x, 1 - x] before scoring."""
    dead: str = "drop"
    """Dead trials: drop, or impute (count each as 0.5; BLF, App. C.8); an event whose trials are all dead is left out by both."""

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        if not (is_pooling(self.pool) or self.pool in SHRINKAGES):
            raise UnknownName("pooling", self.pool, (*POOLING_NAMES, *SHRINKAGES))
        for kind, name, names in (
            ("tuning", self.tune, TUNINGS),
            ("calibration", self.calibrate, CALIBRATIONS),
            ("unit to leave out", self.loo, LEFT_OUT),
            ("policy for dead trials", self.dead, ("drop", "impute")),
        ):
            if name not in names:
                raise UnknownName(kind, name, names)
        if self.ddof not in (None, 0, 1):
            raise DomainError(f"ddof must be 0 or 1, not {self.ddof}")
        if not 0.0 <= self.clip < 0.5:
            raise DomainError(f"clip must be at least 0 and below 0.5, not {self.clip:g}")
        return self

    @property
    def spread_ddof(self) -> int:
        """The ddof in force."""
        if self.ddof is not None:
            return self.ddof
        return 0 if self.tune == "as-published" else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """Forecasts ready to score, the rows of the events they belong to, and what was fitted."""

    p: FloatArray
    rows: IntArray
    fitted: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Preparation:
    """A recipe for the events that have a forecast."""

    recipe: Recipe
    outcome: FloatArray
    source: StrArray
    question: StrArray
    prior: FloatArray

    @classmethod
    def of(cls, recipe: Recipe, events: Events, rows: IntArray, *, shrinks: bool) -> "_Preparation":
        prior = np.full(len(rows), 0.5)
        if shrinks and recipe.pool in TO_PRIOR:
            column = recipe.prior or DEFAULT_PRIOR
            prior = events.probability(column)[rows]
            if np.isnan(prior).any():
                event = str(events.event_id[rows][int(np.argmax(np.isnan(prior)))])
                raise DomainError(f"event {event!r} has no {column}: every scored event needs a prior")
        return cls(recipe, events.outcome[rows], events.source[rows], events.question[rows], prior)

    @property
    def grid(self) -> ShrinkGrid:
        return VARIANCE_GRID if self.recipe.pool == "shrink-bayes" else FLOOR_GRID

    def folds(self, unit: str) -> StrArray | None:
        return self.question if unit == "question" else None

    def calibrated(self, p: FloatArray) -> tuple[FloatArray, dict[str, Any]]:
        recipe = self.recipe
        groups = self.source if recipe.calibrate == "platt-hier" else None
        fit = fit_platt(p, self.outcome, groups, penalty=recipe.penalty)
        fitted: dict[str, Any] = {"a": fit.slope, "b": fit.offset, "loo": recipe.loo}
        if groups is not None:
            fitted |= {"delta": dict(fit.deltas[GROUP]), "lambda": recipe.penalty}
        if recipe.loo == "none":
            return fit.apply(p, None if groups is None else {GROUP: groups}), fitted
        folds = self.folds(recipe.loo)
        return leave_out_platt(p, self.outcome, groups, folds, penalty=recipe.penalty), fitted

    def nested(self, logits: TrialLogits) -> tuple[FloatArray, dict[str, Any]]:
        """Shrink and calibrate with the same fold left out of both."""
        folds = self.folds(self.recipe.loo)
        held_out = choose_leave_out(logits, self.prior, self.outcome, folds, grid=self.grid)
        # A calibration per chosen cell and not per fold: few cells win, and folds with the same cell share one run.
        p = held_out.forecasts(lambda under: self.calibrated(under)[0])
        return p, self.calibrated(self.grid.forecasts(logits, self.prior, held_out.best))[1]

    def shrunk(self, logits: TrialLogits) -> tuple[FloatArray, dict[str, Any]]:
        recipe, grid = self.recipe, self.grid
        if recipe.pool == "shrink-alpha":
            weight, p = tune_constant(logits, self.prior, self.outcome)
            return p, {"alpha": weight, "tune": "in-sample"}
        if recipe.tune in ("in-sample", "as-published"):
            fit = tune_in_sample(logits, self.prior, self.outcome, grid=grid)
        else:
            folds = self.folds(recipe.tune.removeprefix("loo-"))
            fit = tune_leave_out(logits, self.prior, self.outcome, folds, grid=grid)
        return fit.p, {
            **dict(zip(grid.parameters, fit.cell, strict=True)),
            "tune": recipe.tune,
            "ddof": recipe.spread_ddof,
            "prior": (recipe.prior or DEFAULT_PRIOR) if recipe.pool in TO_PRIOR else "0.5",
            "grid_min_brier": float(fit.grid.min()),
            "grid_cells_tied": fit.tied_cells,
            "chosen": [list(cell) for cell in fit.chosen],
        }


def prepare(values: FloatArray, events: Events, recipe: Recipe) -> Prepared:
    """Forecasts after pooling, shrinkage and calibration of trials (n, K) or forecasts (n,); events without any (``nan``) are left out.

    >>> trials = np.array([[0.2, 0.4], [0.6, float("nan")], [float("nan")] * 2])
    >>> ready = prepare(trials, Events.of([0, 1, 1]), Recipe(pool="mean"))
    >>> ready.p.round(6).tolist(), ready.rows.tolist()
    ([0.3, 0.6], [0, 1])
    """
    rows = np.flatnonzero(np.isfinite(values) if values.ndim == 1 else np.isfinite(values).any(axis=1))
    if not len(rows):
        raise DomainError("no event has a forecast")
    # After `rows` was taken: an event whose trials are all dead has no row and is not filled up to 0.5.
    if recipe.dead == "impute" and values.ndim == 2:
        values = np.where(np.isnan(values), 0.5, values)
    fitted: dict[str, Any] = {}
    shrinks = values.ndim == 2 and recipe.pool in SHRINKAGES
    preparation = _Preparation.of(recipe, events, rows, shrinks=shrinks)
    # Nested only if both leave the same fold out; with different units no single fold is unseen by both.
    nested = False
    if values.ndim == 1:
        p = values[rows]
    elif shrinks:
        logits = trial_logits(values[rows], ddof=recipe.spread_ddof)
        p, fitted["shrinkage"] = preparation.shrunk(logits)
        nested = recipe.pool != "shrink-alpha" and recipe.tune == f"loo-{recipe.loo}"
    else:
        p = pool(values[rows], recipe.pool)
    if recipe.calibrate != "none":
        p, fitted["calibration"] = preparation.nested(logits) if nested else preparation.calibrated(p)
    # Last, so that the clip bounds what is scored and does not change what is fitted.
    if recipe.clip:
        p = np.clip(p, recipe.clip, 1.0 - recipe.clip)
    return Prepared(p=p, rows=rows, fitted=fitted)
