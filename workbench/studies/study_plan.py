"""From a study's file to what will be done: exam, arms, cells, price; every mistake is found here; and how far it is."""

import json
import platform
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from math import ceil
from typing import Any

from workbench.errors import UsageError
from workbench.formatting import counted
from workbench.store import Store
from workbench.studies.arms.arm_registry import make_arm
from workbench.studies.arms.base import ArmContext, ArmPrice
from workbench.studies.arms.derived_arms import NoisyArm, derived_faults
from workbench.studies.arms.run_arms import EngineArm
from workbench.studies.arms.table_arms import BaseRateArm, ColumnArm, PriceMoveArm, RandomArm, SimulatedArm
from workbench.studies.study_exam import StudyExam, cells_by_run, open_exam
from workbench.studies.study_file import CHANGEABLE, StudyCell, StudyError, StudySpec
from workbench.studies.study_scores import exam_mix_problems
from workbench.studies.study_state import StudyState, stream_of
from workbench.studies.study_tasks import complements
from workbench.version import __version__

#: Events of an arm whose requests are rendered for its price.
_MOST_RENDERED = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyPlan:
    """A study that can be run."""

    spec: StudySpec
    exam: StudyExam
    arms: dict[str, Any]

    def cells(self) -> list[StudyCell]:
        """Every forecast of the study, arm by arm; an arm that does not draw has one per event.

        Of two exclusive options a run is asked about the first: the second's chance is the complement (paper A, C.1).
        """
        cells = []
        once = complements(self.exam.tasks)
        for name, arm in self.arms.items():
            own_events = [
                event
                for event in self.exam.events.event_id.tolist()
                if event not in once
                or not isinstance(arm, EngineArm | NoisyArm)
                or getattr(arm, "joint", False)
            ]
            seeds = self.spec.seeds if arm.draws else self.spec.seeds[:1]
            trials = range(1, (self.spec.trials if arm.draws else 1) + 1)
            cells += [
                StudyCell(name, event, seed, trial)
                for seed in seeds
                for trial in trials
                for event in own_events
            ]
        return cells

    def runs(self, cells: Sequence[StudyCell] | None = None) -> list[list[StudyCell]]:
        """Cells (all, if none are named) by the run that answers them: one each, but for arms that ask all outcomes of an event at once."""
        groups: list[list[StudyCell]] = []
        by_arm: dict[str, list[StudyCell]] = {}
        for cell in self.cells() if cells is None else cells:
            by_arm.setdefault(cell.arm, []).append(cell)
        for name, own in by_arm.items():
            joint = self.exam.joint if getattr(self.arms[name], "joint", False) else {}
            groups += cells_by_run(own, joint)
        return groups

    def prices(self) -> dict[str, tuple[int, ArmPrice]]:
        """Runs of each arm that asks a model, and what they are expected to take."""
        cells = {
            name: [cells[0] for cells in self.runs() if cells[0].arm == name]
            for name, arm in self.arms.items()
            if isinstance(arm, EngineArm)
        }
        return {name: (len(own), self._price(name, own)) for name, own in cells.items()}

    def _price(self, name: str, cells: Sequence[StudyCell]) -> ArmPrice:
        """Of these runs; where they are many, some are rendered and stand for the others."""
        arm = self.arms[name]
        places = {model: place for place, model in reversed(list(enumerate(arm.models, 1)))}
        alike = Counter((cell.event, places[arm.model_of(cell.trial)]) for cell in cells)
        some = dict(islice(alike.items(), _MOST_RENDERED))
        total = ArmPrice()
        for (event, trial), count in some.items():
            total += arm.price_of_samples(self.exam, StudyCell(name, event, 0, trial), count)
        return total * (len(cells) / (sum(some.values()) or 1))

    def expected_usd(self) -> float | None:
        """What the whole study is expected to cost; None if a price is not known."""
        return sum((price for _, price in self.prices().values()), start=ArmPrice()).usd

    def cost_lines(self) -> list[str]:
        """The cost forecast, a line per arm that asks a model, and the sum."""
        prices = self.prices()
        lines = [
            f"{name}: {count} runs, {price.words(self.arms[name].base.model)}"
            for name, (count, price) in prices.items()
            if price.calls
        ]
        total = sum((price for _, price in prices.values()), start=ArmPrice())
        lines.append(
            f"{counted(len(self.cells()), 'forecast')} of {counted(len(self.exam), 'event')} by {counted(len(self.arms), 'arm')}, about {counted(ceil(total.calls), 'model call')}, "
            + ("whose price is unknown" if total.usd is None else f"${total.usd:.2f}")
        )
        return lines

    def manifest(self) -> dict[str, Any]:
        """What the study rests on, so that its figures can be traced and the study repeated."""
        return {
            "workbench": __version__,
            "python": platform.python_version(),
            "study": self.spec.digest,
            "exam": self.exam.digest,
            "events": len(self.exam),
            "left_out": list(self.exam.left_out),
            "cut": self.exam.cut(),
            "seeds": list(self.spec.seeds),
            "arms": {
                name: arm.base.to_json() if isinstance(arm, EngineArm) else {"kind": type(arm).__name__}
                for name, arm in self.arms.items()
            },
            "expected_usd": self.expected_usd(),
        }


def plan_study(store: Store, spec: StudySpec, state: StudyState | None = None) -> StudyPlan:
    """Open the exam and make the arms.

    Raises `StudyError`: Every mistake at once: none of them is found after a call was paid for.
    """
    exam, problems = open_exam(store, spec)
    arms: dict[str, Any] = {}
    for arm in spec.arms:
        try:
            arms[arm.name] = make_arm(
                arm, ArmContext(folder=spec.folder, samples=spec.trials * len(spec.seeds))
            )
        except UsageError as error:
            problems.append(" ".join(str(error).split()))
    problems += derived_faults(arms)
    if exam is not None:
        problems += _mismatches(exam, arms)
        if spec.rebalance is not None:
            problems += exam_mix_problems(spec.rebalance, exam)
    problems += _budget_problems(spec, arms)
    if state is not None and not problems:
        problems += _changes(spec, state)
    if exam is not None and state is not None and state.manifest.get("exam") not in (None, exam.digest):
        problems.append(
            f"the exam of study {spec.name} has changed since it was begun: give the study another name"
        )
    if problems or exam is None:
        raise StudyError(problems)
    return StudyPlan(spec=spec, exam=exam, arms=arms)


def _mismatches(exam: StudyExam, arms: dict[str, Any]) -> list[str]:
    problems = []
    for name, arm in arms.items():
        if isinstance(arm, SimulatedArm) and exam.simulated is None:
            problems.append(f"arm {name!r} is simulated and needs a simulated exam")
        if isinstance(arm, EngineArm):
            lacking = [event for event in exam.events.event_id.tolist() if not exam.statements.get(event)]
            undated = [event for event in exam.events.event_id.tolist() if not exam.cutoffs.get(event)]
            if lacking:
                problems.append(
                    f"arm {name!r} needs statements; {len(lacking)} events have none, the first is {lacking[0]!r}"
                )
            elif undated:
                problems.append(
                    f"arm {name!r} needs cutoffs; {len(undated)} events have none, the first is {undated[0]!r}"
                )
            for column in arm.columns:
                try:
                    exam.events.probability(column)
                except UsageError as error:
                    problems.append(f"arm {name!r}: {' '.join(str(error).split())}")
        try:  # columns that are not there; a pass over the table that asks nobody
            if isinstance(arm, RandomArm | BaseRateArm | ColumnArm | PriceMoveArm):
                arm.forecasts(exam, seed=0, trial=1)
        except UsageError as error:
            problems.append(f"arm {name!r}: {' '.join(str(error).split())}")
    return problems


def _budget_problems(spec: StudySpec, arms: dict[str, Any]) -> list[str]:
    if spec.budget_usd is None:
        return []
    problems = []
    for name, arm in arms.items():
        price = arm.price()
        if price.usd is None:
            problems.append(
                f"arm {name!r}: the price of {arm.base.model} is unknown, so no budget in dollars can be kept: give prices"
            )
        elif price.usd > spec.budget_usd:
            problems.append(
                f"budget_usd {spec.budget_usd:g} is below one question of arm {name!r}, about ${price.usd:.2f}"
            )
    return problems


def _changes(spec: StudySpec, state: StudyState) -> list[str]:
    now = json.loads(json.dumps(spec.to_json()))
    before = state.study
    changed = [key for key in now if key not in CHANGEABLE and key in before and now[key] != before[key]]
    if not changed:
        return []
    return [
        f"study {spec.name} was begun with other {', '.join(changed)} ({stream_of(spec.name)} holds it): give it another name;"
        f" {' and '.join(CHANGEABLE)} may change"
    ]


def status_document(plan: StudyPlan, state: StudyState | None) -> dict[str, Any]:
    """How far a study is, by arm; ``state`` is one sentence."""
    name = plan.spec.name
    state = state or StudyState(name=name)
    rows = []
    for arm in plan.arms:
        cells = [cell for cell in plan.cells() if cell.arm == arm]
        finished = [state.forecasts[cell] for cell in cells if cell in state.forecasts]
        missing = [state.missing[cell] for cell in cells if cell in state.missing]
        costs = [each.cost_usd for each in finished] + [each.cost_usd for each in missing]
        rows.append(
            {
                "arm": arm,
                "made": len(finished),
                "missing": len(missing),
                "in_work": sum(1 for cell in cells if cell in state.begun and not state.ended(cell)),
                "to_come": sum(1 for cell in cells if not state.ended(cell)),
                "calls": sum(each.calls for each in finished) + sum(each.calls for each in missing),
                "cost_usd": None
                if any(cost is None for cost in costs)
                else float(sum(cost or 0.0 for cost in costs)),
            }
        )
    left = sum(1 for cell in plan.cells() if not state.ended(cell))
    if not state.study:
        words = "not begun"
    elif left:
        words = f"{left} forecasts to come; results are locked"
    elif state.audited is None:
        words = "all forecasts are made; the leak audit is to come, results are locked"
    else:
        words = f"done and audited, {counted(len(state.audited.findings), 'finding')}"
    return {"study": name, "state": words, "begun": state.first_utc, "last": state.last_utc, "arms": rows}
