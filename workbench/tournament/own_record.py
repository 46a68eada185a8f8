"""What this home's earlier nights came to: shrinkage and calibration learned from it, put on record when a night is opened.

A forecast counts only if its outcome was decided on a day that is visible at the new night's cutoff; what came later would be hindsight.
Shrinkage pulls a forecast toward the crowd of that night (toward the own share of Yes where there was none), the more its trials
disagreed (BLF, App. C.9); global Platt scaling follows (App. C.11). Both are judged together on questions that they were not fitted on,
and used only if they would have helped there.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from proxies.asof.clock import Cutoff
from workbench.experiments.arms.base import Cell
from workbench.questions.book import load_set, resolved_days
from workbench.science.arrays import FloatArray, logit
from workbench.science.calibrating.leave_out import leave_out_platt
from workbench.science.calibrating.platt import PlattFit, fit_platt
from workbench.science.errors import TooFewError
from workbench.science.pooling.pool import pool
from workbench.science.pooling.shrinkage import TrialLogits, trial_logits
from workbench.science.pooling.tuning import FLOOR_GRID, choose_leave_out
from workbench.store import Store
from workbench.tournament.night import QUICK, TREE, Night, load_night, nights_of

#: Fewer resolved forecasts than this teach nothing, as for the leaves of runs (`workbench.engine.run.own_record`).
ENOUGH = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedForecast:
    """A forecast of an earlier night with its outcome; ``question`` names its set too, ``p`` is the raw value."""

    question: str
    trials: tuple[float, ...]
    p: float
    crowd: float | None
    outcome: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnRecord:
    """What was learned from resolved forecasts.

    Parameters
    ----------
    forecasts, questions : int
        How many it was learned from.
    until : str
        Last day whose outcomes counted.
    base_rate : float
        Share of Yes among them.
    floor, slope : float
        Of `floor_weight`; 1 and 0 shrink nothing.
    calibration_slope, calibration_offset : float
    brier_raw, brier : float or None
        Mean Brier score of the raw and of the corrected forecasts, each question left out of what corrects it; lower is better.
    reason : str
        Why nothing is corrected, "" if it is.
    """

    forecasts: int
    questions: int
    until: str
    base_rate: float = 0.5
    floor: float = 1.0
    slope: float = 0.0
    calibration_slope: float = 1.0
    calibration_offset: float = 0.0
    brier_raw: float | None = None
    brier: float | None = None
    reason: str = ""

    @property
    def corrects(self) -> bool:
        """Whether forecasts are changed by it."""
        return not self.reason

    def to_json(self) -> dict[str, Any]:
        """Plain JSON object."""
        return asdict(self)

    def line(self) -> str:
        """What it is and what it does, for people."""
        head = f"own record: {self.forecasts} resolved forecasts of {self.questions} questions up to {self.until}"
        if self.brier_raw is None or self.brier is None:
            return f"{head}; nothing is corrected: {self.reason}"
        scores = f"Brier score {self.brier_raw:.4f} raw, {self.brier:.4f} corrected (each question left out)"
        if not self.corrects:
            return f"{head}, {scores}; nothing is corrected: {self.reason}"
        return (
            f"{head}, {scores}; shrunk with floor {self.floor:g} and slope {self.slope:g}, then calibrated with slope"
            f" {self.calibration_slope:.3g} and offset {self.calibration_offset:+.3g}"
        )

    def shrunk(self, p: float, trials: Sequence[float], crowd: float | None) -> float:
        """A forecast pulled toward the crowd, or the own share of Yes, as far as its trials disagree."""
        values = FLOOR_GRID.forecasts(
            _logits([p], [tuple(trials)]), _priors([crowd], self.base_rate), (self.floor, self.slope)
        )
        return float(values[0])

    def calibrated(self, p: float) -> float:
        """A shrunk forecast after calibration."""
        fit = PlattFit(slope=self.calibration_slope, offset=self.calibration_offset)
        return float(fit.apply([p])[0])


def raw_forecast(night: Night, event: str) -> tuple[tuple[float, ...], float | None, float | None]:
    """Trials of an event, what its tree says, and the forecast that follows: the tree's, else the logit mean; None without any."""
    forecasts = night.study.forecasts
    cells = [Cell(QUICK, event, 0, trial) for trial in range(1, night.rules.trials + 1)]
    trials = tuple(forecasts[cell].p for cell in cells if cell in forecasts)
    tree = forecasts.get(Cell(TREE, event, 0, 1))
    if tree is not None:
        return trials, tree.p, tree.p
    return trials, None, float(pool(np.array([trials], dtype=float), "logit-mean")[0]) if trials else None


def resolved_forecasts(store: Store, cutoff: Cutoff) -> Iterator[ResolvedForecast]:
    """Yield the last forecast of every event of any night whose outcome was decided by the cutoff's last visible day."""
    last_day = cutoff.last_visible_day.isoformat()
    newest: dict[tuple[str, str], Night] = {}
    for name in nights_of(store):
        night = load_night(store, name)
        # A night of a later knowledge cutoff knew more than the new one may.
        if night.instant <= cutoff.instant:
            newest |= {(night.set_name, cell.event): night for cell in night.study.forecasts}
    outcomes = {name: resolved_days(store, name) for name in {name for name, _ in newest}}
    for set_name in sorted(outcomes):
        for event in load_set(store, set_name).events():
            earlier = newest.get((set_name, event.id))
            outcome, day = outcomes[set_name].get(event.id, (None, ""))
            if earlier is None or outcome not in (0.0, 1.0) or not day or day > last_day:
                continue
            trials, _, p = raw_forecast(earlier, event.id)
            if p is not None:
                yield ResolvedForecast(
                    question=f"{set_name}/{event.question}",
                    trials=trials,
                    p=p,
                    crowd=earlier.crowd.get(event.id),
                    outcome=float(outcome),
                )


def learn(forecasts: Sequence[ResolvedForecast], until: str) -> OwnRecord:
    """Shrinkage and calibration that fit these forecasts, and whether they would have helped on questions left out."""
    outcome = np.array([each.outcome for each in forecasts])
    folds = [each.question for each in forecasts]
    facts: dict[str, Any] = {"forecasts": len(forecasts), "questions": len(set(folds)), "until": until}
    if len(forecasts) < ENOUGH:
        return OwnRecord(**facts, reason=f"fewer than {ENOUGH} teach nothing")
    # As many pseudo-forecasts as two, so that a record of one outcome does not make a prior of 0 or 1.
    base_rate = float((outcome.sum() + 1) / (len(outcome) + 2))
    raw = np.array([each.p for each in forecasts])
    logits = _logits(raw, [each.trials for each in forecasts])
    prior = _priors([each.crowd for each in forecasts], base_rate)
    choice, cells, totals = choose_leave_out(logits, prior, outcome, folds)
    corrected = np.empty(len(raw))
    try:
        # The shrinkage of a fold was chosen without it, and so was the calibration of what that gives.
        for index in np.unique(choice):
            under = FLOOR_GRID.forecasts(logits, prior, cells[index])
            corrected[choice == index] = leave_out_platt(under, outcome, None, folds)[choice == index]
        best = cells[int(np.argmin(totals))]
        fit = fit_platt(FLOOR_GRID.forecasts(logits, prior, best), outcome)
    except TooFewError as error:
        return OwnRecord(**facts, base_rate=base_rate, reason=str(error))
    scores = float(np.mean((raw - outcome) ** 2)), float(np.mean((corrected - outcome) ** 2))
    reason = ""
    if not scores[1] < scores[0]:
        reason = "it would not have helped"
    elif fit.slope <= 0:
        reason = "the fit would turn forecasts round"
    return OwnRecord(
        **facts,
        base_rate=base_rate,
        floor=float(best[0]),
        slope=float(best[1]),
        calibration_slope=float(fit.slope),
        calibration_offset=float(fit.offset),
        brier_raw=scores[0],
        brier=scores[1],
        reason=reason,
    )


def own_record(store: Store, cutoff: Cutoff) -> OwnRecord:
    """The record that a night with this cutoff may use."""
    return learn(list(resolved_forecasts(store, cutoff)), cutoff.last_visible_day.isoformat())


def read_record(facts: Mapping[str, Any]) -> OwnRecord | None:
    """The record in a night's manifest; None where there is none, or the night was told to do without."""
    return OwnRecord(**facts["own_record"]) if facts.get("own_record") else None


def _logits(p: Sequence[float] | FloatArray, trials: Sequence[tuple[float, ...]]) -> TrialLogits:
    """The forecasts as mean logits, each with the spread of its trials."""
    width = max(1, *(len(own) for own in trials))
    # An event that has a tree and no trial left has nothing that disagrees.
    rows = [own or (value,) for own, value in zip(trials, p, strict=True)]
    spread = trial_logits([[*own, *[float("nan")] * (width - len(own))] for own in rows])
    return TrialLogits(mean=logit(np.asarray(p, dtype=float)), spread=spread.spread, count=spread.count)


def _priors(crowd: Sequence[float | None], base_rate: float) -> FloatArray:
    return np.array([base_rate if each is None else each for each in crowd])
