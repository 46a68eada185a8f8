"""Working on a study: table arms at once, runs side by side within the budget, every forecast on the log before the next.

A kill loses nothing that was paid for: a run's id is on the study's stream before the run begins, and the run's own ledgers
answer for every call that it had made.
"""

import asyncio
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import count
from typing import Any

import numpy as np

from proxies.asof.clock import Cutoff
from proxies.errors import ProxyError
from sandbox.errors import SandboxError
from workbench.engine.access.model_gateway import spending
from workbench.engine.assembly import open_engine
from workbench.engine.flow import Engine
from workbench.engine.new_run import change_run, new_run
from workbench.engine.ownership import RunInWork, own_folder
from workbench.engine.proof_check import stored_evidence
from workbench.engine.rebuy import RebuyNeeded
from workbench.engine.record.fold import load_state
from workbench.engine.record.state import RunState
from workbench.engine.run_settings import RunSettings
from workbench.engine.worker_place import WorkerPlace
from workbench.errors import BudgetStop, Option, ProviderError, UsageError, WorkbenchError, command, sentence
from workbench.formatting import counted
from workbench.models.base import Model
from workbench.models.errors import MissingProviderKey
from workbench.reports.note_page import write_report
from workbench.store import ModelLedger, Store
from workbench.store import events as ev
from workbench.studies.arms.derived_arms import DerivedArm, FinishedForecasts
from workbench.studies.arms.run_arms import EngineArm
from workbench.studies.study_file import StudyCell
from workbench.studies.study_plan import StudyPlan
from workbench.studies.study_state import SORT, StudyState, fold
from workbench.studies.study_table import tidy_table, trials_of
from workbench.views.run_view import view
from workbench.workers.worker_choice import workers_at


@dataclass(slots=True)
class StudyRunner:
    """Works on one study in this process."""

    store: Store
    plan: StudyPlan
    _: KW_ONLY
    environ: Mapping[str, str]
    isolation: str | None = None
    workers: WorkerPlace | None = None
    say: Callable[[str], None] = lambda line: None
    model: Model | None = None
    sort: str = SORT
    #: What was spent from the study's budget beside its forecasts.
    spent_usd: float = 0.0
    rebuy: bool = False
    _reserved: float = field(default=0.0, init=False)

    @property
    def stream(self) -> str:
        """The study's stream in the log."""
        return f"{self.sort}:{self.plan.spec.name}"

    def state(self) -> StudyState:
        """The study as the log has it now; empty before it was opened."""
        name = self.plan.spec.name
        known = name in self.store.streams(self.sort)
        return fold(name, self.store.events(self.stream) if known else [])

    def open(self) -> None:
        """Put the study on the log, or that it goes on with another budget; nothing where nothing changed."""
        study = json.loads(json.dumps(self.plan.spec.to_json()))
        state = self.state()
        if state.study != study:
            self.store.append(self.stream, ev.StudyOpened(study=study, manifest=self.plan.manifest()))

    async def work(self) -> StudyState:
        """Make every forecast that is not on the log yet.

        Raises `BudgetStop`: The budget is used up; `experiment run` goes on with a higher one. Raises `ProviderError`: A model or source
        failed for good; the study can be resumed. Raises `RunInWork`: Another process works on the study: both would ask for the same
        forecasts.
        """
        name = self.plan.spec.name
        hint = ("; ", command("experiment status", "FILE"), " shows how far it is")
        with own_folder(self.store.home / "studies" / name, what=f"study {name}", hint=hint):
            return await self._work_alone()

    async def _work_alone(self) -> StudyState:
        self.open()
        state = self.state()
        by_arm: dict[str, list[StudyCell]] = {}
        for cell in self.plan.cells():
            if not state.ended(cell):
                by_arm.setdefault(cell.arm, []).append(cell)
        # Arms that are made of another's forecasts come after all others, wherever the file names them.
        for name in sorted(by_arm, key=lambda name: isinstance(self.plan.arms[name], DerivedArm)):
            arm, cells = self.plan.arms[name], by_arm[name]
            if isinstance(arm, EngineArm):
                await self._run_cells(arm, cells, state)
            else:
                await asyncio.to_thread(self._fill_table, arm, cells)
            self.say(f"{name}: {counted(len(cells), 'forecast')}")
        return self.state()

    # -- arms that fill a table

    def _fill_table(self, arm: object, cells: Sequence[StudyCell]) -> None:
        place = {event: row for row, event in enumerate(self.plan.exam.events.event_id.tolist())}
        finished = self._finished_forecasts() if isinstance(arm, DerivedArm) else None
        rounds: dict[tuple[int, int], list[StudyCell]] = {}
        for cell in cells:
            rounds.setdefault((cell.seed, cell.trial), []).append(cell)
        for (seed, trial), own in rounds.items():
            began = time.perf_counter()
            if isinstance(arm, DerivedArm):
                assert finished is not None
                p, reasons = arm.derive(finished, seed=seed, trial=trial)
            else:
                p, reasons = arm.forecasts(self.plan.exam, seed=seed, trial=trial)  # type: ignore[attr-defined]
            seconds = (time.perf_counter() - began) / max(1, len(own))
            # One transaction: a table costs nothing, so that half of it need not be kept.
            with self.store.transaction():
                for cell in own:
                    row = place[cell.event]
                    if np.isfinite(p[row]):
                        self._record_forecast(cell, float(p[row]), seconds=seconds)
                    else:
                        self._record_missing(cell, reasons.get(row, "no forecast"))

    def _finished_forecasts(self) -> FinishedForecasts:
        exam, state = self.plan.exam, self.state()
        trials = trials_of(tidy_table(self.plan.spec, exam, state), exam)
        return FinishedForecasts(store=self.store, exam=exam, state=state, trials=trials)

    # -- arms that are runs

    async def _run_cells(self, arm: EngineArm, cells: Sequence[StudyCell], state: StudyState) -> None:
        stop: list[BaseException] = []
        async with AsyncExitStack() as stack:
            engines = {
                model: await stack.enter_async_context(
                    open_engine(
                        self.store,
                        arm.base_of(model),
                        environ=self.environ,
                        isolation=self.isolation,
                        workers=workers_at(self.workers),
                        model=self.model,
                        note=write_report,
                        say=self.say,
                    )
                )
                for model in dict.fromkeys(arm.model_of(cell.trial) for cell in cells)
            }

            async def forecast(cells: Sequence[StudyCell]) -> None:
                if stop:  # what is in work is finished, nothing new is begun
                    return
                begun = next((state.begun[cell] for cell in cells if state.begun.get(cell)), "")
                try:
                    engine = engines[arm.model_of(cells[0].trial)]
                    await self._run_cells_together(engine, arm, cells, begun)
                except (WorkbenchError, SandboxError, ProxyError) as error:
                    stop.append(error)

            async def work() -> None:
                while True:
                    _, _, (first, *others) = await queue.get()
                    await forecast(first)
                    # A provider now has in its cache, for some minutes, what the others begin with.
                    for run in others:
                        queue.put_nowait((0, next(number), [run]))
                    queue.task_done()

            queue: asyncio.PriorityQueue[tuple[int, int, Sequence[Sequence[StudyCell]]]] = (
                asyncio.PriorityQueue()
            )
            number = count()
            for runs in self._alike(arm, self.plan.runs(cells)):
                queue.put_nowait((1, next(number), runs))
            async with asyncio.TaskGroup() as group:
                workers = [group.create_task(work()) for _ in range(self.plan.spec.concurrency)]
                await queue.join()
                for worker in workers:
                    worker.cancel()
        if stop:
            raise stop[0]

    @staticmethod
    def _alike(
        arm: EngineArm, runs: Sequence[Sequence[StudyCell]]
    ) -> Iterable[Sequence[Sequence[StudyCell]]]:
        """Runs that ask one model the same, in their order; each by itself where none does."""
        if not arm.shares_prompts:
            return [[cells] for cells in runs]
        alike: dict[tuple[str, str], list[Sequence[StudyCell]]] = {}
        for cells in runs:
            alike.setdefault((cells[0].event, arm.model_of(cells[0].trial)), []).append(cells)
        return alike.values()

    async def _run_cells_together(
        self, engine: Engine, arm: EngineArm, cells: Sequence[StudyCell], run_id: str
    ) -> None:
        share = self._reserve(arm)
        cell = cells[0]
        try:
            exam = self.plan.exam
            if not run_id:
                if reason := exam.unasked(cell.event) or ("" if arm.joint else exam.undivided(cell.event)):
                    self._record_missing_run(cells, reason)
                    return
                statement = exam.statements[cell.event].text
                settings: RunSettings = arm.settings(exam, cell)
                if share is not None:
                    settings = replace(settings, budget_usd=share)
                cutoff = Cutoff.parse("now" if arm.clairvoyant else exam.cutoffs[cell.event])
                try:
                    await engine.check(statement, cutoff, settings)
                except UsageError as error:
                    self._record_missing_run(cells, " ".join(str(error).split()))
                    return
                with self.store.transaction():
                    run_id = new_run(self.store, statement, cutoff, settings)
                    self.store.append(self.stream, ev.ForecastBegun(**_facts(cell), run=run_id))
            elif share is not None and not load_state(self.store, run_id).finished:
                change_run(self.store, run_id, {"budget_usd": self._spent_by(run_id) + share})
            await self._work(engine, cells, run_id)
        except BudgetStop as error:
            # The run names its share of what was left, which nobody chose.
            raise error if share is None else BudgetStop(self._used_up(self._spent())) from error
        finally:
            if share is not None:
                self._reserved -= share

    async def _work(self, engine: Engine, cells: Sequence[StudyCell], run_id: str) -> None:
        try:
            await engine.work(run_id, rebuy=self.rebuy)
        except UsageError as error:
            if isinstance(error, RunInWork | RebuyNeeded | MissingProviderKey):
                raise
            self._record_missing_run(cells, " ".join(str(error).split()), run=run_id)
            return
        except ProviderError as error:
            # A run that failed for good by its own replies is a missing forecast; a provider that serves nobody stops the study.
            state = load_state(self.store, run_id)
            if state.stopped is not None and state.stopped.why == "outage":
                raise
            self._record_missing_run(cells, " ".join(str(error).split()), run=run_id)
            return
        run = view(self.store, run_id)
        p = run.tree.root.p
        if p is None:
            self._record_missing_run(cells, "the run ended without a probability", run=run_id)
            return
        tokens = ModelLedger(self.store).spent(run_id)[1]
        stated = self._outcomes(run.state, cells) if len(cells) > 1 else {}
        with self.store.transaction():
            # What the run cost stands at its first forecast, so that sums over forecasts are sums over runs.
            self._record_forecast(
                cells[0],
                p,
                run=run_id,
                seconds=run.state.worked_seconds,
                calls=run.model_calls,
                cost_usd=run.cost_usd,
                tokens=tokens,
            )
            for cell in cells[1:]:
                if cell.event in stated:
                    self._record_forecast(cell, stated[cell.event], run=run_id)
                else:
                    self._record_missing(cell, "the run gave no probability of this outcome")

    def _outcomes(self, run: RunState, cells: Sequence[StudyCell]) -> dict[str, float]:
        leaf = run.tree.root.id
        evidence = [
            stored_evidence(self.store, run, leaf, number)
            for (node, number), trial in run.trials.items()
            if node == leaf and trial.evidence is not None
        ]
        stated = evidence[-1].outcomes if evidence else {}
        joint = self.plan.exam.joint[cells[0].event]
        if joint.number is not None and "50" in stated:
            return {event: joint.number.chance(stated, level) for event, level in joint.levels.items()}
        return {event: stated[name] for event, name in joint.names.items() if name in stated}

    def _reserve(self, arm: EngineArm) -> float | None:
        """Dollars of what is left for one run of the budget; the shares of all runs in work never exceed it."""
        budget = self.plan.spec.budget_usd
        if budget is None or (price := arm.price().usd) == 0.0:
            return None
        spent = self._spent()
        left = budget - spent - self._reserved
        if left <= 0 and budget > 0:
            raise BudgetStop(self._used_up(spent))
        # A share that pays for less than one run is spent on nothing: rather fewer at once.
        share = max(left / self.plan.spec.concurrency, min(left, 2 * (price or 0.0)))
        self._reserved += share
        return share

    def _used_up(self, spent: float) -> str:
        more = "raise budget_usd and run the file again" if self.sort == SORT else Option("budget_usd")
        whose = f"{SORT if self.sort == SORT else 'round'} {self.plan.spec.name}"
        return sentence(
            f"the budget of ${self.plan.spec.budget_usd:g} of {whose} is used up (${spent:.4f} spent, the next call may cost more"
            " than is left): ",
            more,
        )

    def _spent(self) -> float:
        state = self.state()
        open_runs = [run for cell, run in state.begun.items() if run and not state.ended(cell)]
        return self.spent_usd + (state.cost_usd or 0.0) + sum(map(self._spent_by, open_runs))

    def _spent_by(self, run_id: str) -> float:
        """Dollars of a run in work; what a kill left unanswered counts at its worst, as the run's own budget counts it."""
        return spending(self.store, run_id).usd

    # -- onto the log

    def _record_forecast(self, cell: StudyCell, p: float, **spent: Any) -> None:
        self.store.append(self.stream, ev.ForecastMade(**_facts(cell), p=p, **spent))

    def _record_missing_run(self, cells: Sequence[StudyCell], reason: str, *, run: str = "") -> None:
        """None of a run's forecasts came about; what it cost stands at the first."""
        with self.store.transaction():
            self._record_missing(cells[0], reason, run=run)
            for cell in cells[1:]:
                self._record_missing(cell, reason)

    def _record_missing(self, cell: StudyCell, reason: str, *, run: str = "") -> None:
        calls, cost = 0, 0.0
        if run:
            ended = view(self.store, run)
            calls, cost = ended.model_calls, ended.cost_usd or 0.0
        self.store.append(
            self.stream,
            ev.ForecastMissing(**_facts(cell), run=run, reason=reason[:500], calls=calls, cost_usd=cost),
        )


def _facts(cell: StudyCell) -> dict[str, Any]:
    return {"node": cell.event, "trial": cell.trial, "arm": cell.arm, "seed": cell.seed}
