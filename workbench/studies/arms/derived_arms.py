"""Arms made of another arm's forecasts, at no cost: its trials pooled another way, or its trees under noise at the leaves.

They are made after the arm that they name, from what the study's log holds of it, so a build-up (paper B, Fig. 3) and noise on real
questions (paper A, Fig. 5) are one study each.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar, get_args

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field

from workbench.engine.record.fold import load_state
from workbench.errors import UsageError
from workbench.science.arrays import FloatArray
from workbench.science.recipe import prepare
from workbench.store import Store
from workbench.studies.arms.base import Free, one_of, wrong
from workbench.studies.arms.run_arms import EngineArm
from workbench.studies.arms.table_arms import RecipeArm
from workbench.studies.study_exam import StudyExam
from workbench.studies.study_file import StudyCell
from workbench.studies.study_state import StudyState
from workbench.synthesis.sensitivity.leaf_noise import Noise, inject_noise, require_functions


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedForecasts:
    """What a derived arm may read: the log of the study, and the forecasts of the arm that it names."""

    store: Store
    exam: StudyExam
    state: StudyState
    #: ``nan`` where a forecast is missing.
    trials: Mapping[str, FloatArray]


_Other = Annotated[str, Field(min_length=1, description="of which arm? `of` names another arm of the study")]


class PooledArm(RecipeArm):
    """The trials of arm ``of`` pooled, shrunk and calibrated by the words of `score`."""

    of: _Other

    def fault(self, base: Any) -> str:
        """Why it cannot be made of this arm, "" if it can."""
        return (
            "" if base.draws else f"arm {self.of!r} does not draw: it has one forecast, and nothing to pool"
        )

    def derive(
        self, finished: FinishedForecasts, *, seed: int, trial: int
    ) -> tuple[FloatArray, Mapping[int, str]]:
        """One per event; why there is none, by row."""
        p = np.full(len(finished.exam), np.nan)
        try:
            ready = prepare(finished.trials[self.of], finished.exam.events, self.recipe)
        except UsageError as error:  # found after the forecasts were paid for: the other arms keep theirs
            return p, dict.fromkeys(range(len(p)), " ".join(str(error).split()))
        p[ready.rows] = ready.p
        return p, {int(row): f"{self.of} has no forecast of it" for row in np.flatnonzero(np.isnan(p))}


def _level(level: float) -> float:
    if not 0 <= level <= 1:
        raise wrong(f"a level of noise lies in [0, 1], not {level:g}")
    return level


class NoisyArm(Free):
    """The finished trees of arm ``of`` with noise at their leaves and every value above them computed again; no model is asked."""

    draws: ClassVar[bool] = True
    of: _Other
    noise: Annotated[Noise, BeforeValidator(partial(one_of, "noise", get_args(Noise)))] = "normal"
    level: Annotated[float, AfterValidator(_level)] = 0.1

    def fault(self, base: Any) -> str:
        """Why it cannot be made of this arm, "" if it can."""
        if not isinstance(base, EngineArm) or base.joint:
            return f"arm {self.of!r} makes no tree of its own for each question, so there are no drivers to disturb"
        if base.base.analyzer != "single" and base.base.rule == "vanilla":
            return f"the rule of arm {self.of!r} is a model's own number (vanilla): noise below it reaches nothing without asking again"
        return ""

    def derive(
        self, finished: FinishedForecasts, *, seed: int, trial: int
    ) -> tuple[FloatArray, Mapping[int, str]]:
        """One per event, from the run of the same seed and trial, or from the only one of an arm that does not draw."""
        p, reasons = np.full(len(finished.exam), np.nan), {}
        runs = {cell: each.run for cell, each in finished.state.forecasts.items() if cell.arm == self.of}
        alone = {cell.event: run for cell, run in runs.items()} if len({c[2:] for c in runs}) == 1 else {}
        for row, event in enumerate(finished.exam.events.event_id.tolist()):
            run = runs.get(StudyCell(self.of, event, seed, trial)) or alone.get(event)
            if not run:
                reasons[row] = f"{self.of} has no finished run of it"
                continue
            tree = load_state(finished.store, run).tree
            words = f"{seed}:{trial}:{event}:{self.noise}"  # more noise keeps the same draws
            source = int.from_bytes(hashlib.sha256(words.encode()).digest()[:8])
            try:
                require_functions(tree)
                disturbed = inject_noise(tree, self.noise, self.level, seed=source).root.p
            except UsageError as error:
                reasons[row] = " ".join(str(error).split())
                continue
            if disturbed is not None:
                p[row] = disturbed
        return p, reasons


DerivedArm = PooledArm | NoisyArm


def derived_faults(arms: Mapping[str, Any]) -> list[str]:
    """Why derived arms cannot be made, a line each."""
    problems = []
    for name, arm in arms.items():
        if not isinstance(arm, DerivedArm):
            continue
        base = arms.get(arm.of)
        if base is None or isinstance(base, DerivedArm):
            others = [other for other, each in arms.items() if not isinstance(each, DerivedArm)]
            problems.append(
                f"arm {name!r}: there is no arm {arm.of!r:.60} to derive it from: {', '.join(others)}"
            )
        elif fault := arm.fault(base):
            problems.append(f"arm {name!r}: {fault}")
    return problems
