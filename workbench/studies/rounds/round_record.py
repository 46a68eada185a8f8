"""What this home's earlier nights came to: shrinkage and calibration learned from it, put on record when a night is opened.

A forecast counts only if its outcome was decided after what it knew and on a day that is visible at the new night's cutoff
(`workbench.engine.record.resolved_runs.counts_for`). Shrinkage pulls a forecast toward the crowd of that night (toward the own share of Yes
where there was none), the more its trials disagreed (BLF, App. C.9); global Platt scaling follows (App. C.11). Both are judged
together on questions that they were not fitted on, and used only if they are shown to help there (`learn_correction`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from proxies.asof.clock import Cutoff
from workbench.engine.record.resolved_runs import counts_for
from workbench.questions.sets.question_sets import load_set, resolved_days
from workbench.science.arrays import FloatArray, logit
from workbench.science.calibrating.platt import PlattFit
from workbench.science.comparing.own_correction import learn_correction
from workbench.science.pooling.pool import pool
from workbench.science.pooling.shrinkage import TrialLogits, trial_logits
from workbench.science.pooling.tuning import FLOOR_GRID
from workbench.store import Store
from workbench.studies.rounds.round_state import QUICK, TREE, Round, load_round, rounds_of
from workbench.studies.study_file import StudyCell


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
    """What was learned from resolved forecasts."""

    #: forecasts, questions: How many it was learned from.
    forecasts: int
    questions: int
    #: Last day whose outcomes counted.
    until: str
    #: Mean over questions of the share of Yes, with two pseudo-questions.
    base_rate: float = 0.5
    #: floor, slope: Of `floor_weight`; 1 and 0 shrink nothing.
    floor: float = 1.0
    slope: float = 0.0
    calibration_slope: float = 1.0
    calibration_offset: float = 0.0
    #: brier_raw, brier: Mean over questions of the Brier score, raw and corrected, each question left out of what corrects it; lower is
    #: better.
    brier_raw: float | None = None
    brier: float | None = None
    #: Why nothing is corrected, "" if it is.
    reason: str = ""

    @property
    def corrects(self) -> bool:
        """Whether forecasts are changed by it."""
        return not self.reason

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


def raw_forecast(night: Round, event: str) -> tuple[tuple[float, ...], float | None]:
    """Trials of an event, and the forecast that follows: its tree's, else their logit mean; None without any."""
    forecasts = night.study.forecasts
    cells = [StudyCell(QUICK, event, 0, trial) for trial in range(1, night.rules.trials + 1)]
    trials = tuple(forecasts[cell].p for cell in cells if cell in forecasts)
    tree = forecasts.get(StudyCell(TREE, event, 0, 1))
    if tree is not None:
        return trials, tree.p
    return trials, float(pool(np.array([trials], dtype=float), "logit-mean")[0]) if trials else None


def resolved_forecasts(store: Store, cutoff: Cutoff) -> Iterator[ResolvedForecast]:
    """Yield the last forecast of every event of any night that `counts_for` the cutoff."""
    newest: dict[tuple[str, str], Round] = {}
    for name in rounds_of(store):
        night = load_round(store, name)
        # A later night must not stand in front of one that this night may learn from.
        if night.instant <= cutoff.instant:
            newest |= {(night.set_name, cell.event): night for cell in night.study.forecasts}
    outcomes = {name: resolved_days(store, name) for name in {name for name, _ in newest}}
    for set_name in sorted(outcomes):
        for event in load_set(store, set_name).events():
            earlier = newest.get((set_name, event.id))
            outcome, day = outcomes[set_name].get(event.id, (None, ""))
            if earlier is None or outcome not in (0.0, 1.0) or not day:
                continue
            if not counts_for(Cutoff.parse(earlier.cutoff, now=earlier.instant), day, cutoff):
                continue
            trials, p = raw_forecast(earlier, event.id)
            if p is not None:
                yield ResolvedForecast(
                    question=f"{set_name}/{event.question}",
                    trials=trials,
                    p=p,
                    crowd=earlier.crowd.get(event.id),
                    outcome=float(outcome),
                )


def learn(forecasts: Sequence[ResolvedForecast], until: str) -> OwnRecord:
    """Shrinkage and calibration that fit these forecasts, and whether they are shown to help questions left out."""
    facts: dict[str, Any] = {"forecasts": len(forecasts), "until": until}
    if not forecasts:
        return OwnRecord(**facts, questions=0, reason="no forecast is resolved yet")
    correction = learn_correction(
        _logits([each.p for each in forecasts], [each.trials for each in forecasts]),
        _priors([each.crowd for each in forecasts], float("nan")),
        np.array([each.outcome for each in forecasts]),
        [each.question for each in forecasts],
    )
    return OwnRecord(**facts, **asdict(correction))


def own_record(store: Store, cutoff: Cutoff) -> OwnRecord:
    """The record that a night with this cutoff may use."""
    return learn(list(resolved_forecasts(store, cutoff)), cutoff.last_visible_day.isoformat())


def read_record(facts: Mapping[str, Any]) -> OwnRecord | None:
    """The record in a night's manifest; None where there is none, or the night was told to do without."""
    return OwnRecord(**facts["own_record"]) if facts.get("own_record") else None


def _logits(p: Sequence[float] | FloatArray, trials: Sequence[tuple[float, ...]]) -> TrialLogits:
    width = max(1, *(len(own) for own in trials))
    # An event that has a tree and no trial left has nothing that disagrees.
    rows = [own or (value,) for own, value in zip(trials, p, strict=True)]
    spread = trial_logits([[*own, *[float("nan")] * (width - len(own))] for own in rows])
    return TrialLogits(mean=logit(np.asarray(p, dtype=float)), spread=spread.spread, count=spread.count)


def _priors(crowd: Sequence[float | None], base_rate: float) -> FloatArray:
    return np.array([base_rate if each is None else each for each in crowd])
