"""The main job: a statement becomes a tree, its leaves are grounded side by side, every parent follows its last child.

This file has the order of the steps; ``planning``, ``tree_grounding`` and ``grounding`` have the steps themselves. All that
happens goes through the ``Recorder``: it is appended to the log and only then shown. A leaf that fails is a value;
its siblings go on. What stops a run for good (no isolation, no model, a used-up budget, Ctrl-C) leaves it resumable.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from proxies.asof.clock import Cutoff
from proxies.broker import Broker
from proxies.catalogue import Catalogue
from sandbox import Limits, Sandbox
from workbench.engine.evidence.report import write_report
from workbench.engine.run.asking import Budget, ModelGateway
from workbench.engine.run.grounding import LeafGrounding
from workbench.engine.run.opening import Agents, check_claim
from workbench.engine.run.planning import Planning
from workbench.engine.run.recorder import Listener, Recorder
from workbench.engine.run.settings import RunSettings
from workbench.engine.run.state import RunState
from workbench.engine.run.tree_grounding import TreeGrounding
from workbench.errors import BudgetStop, ProviderError, UsageError
from workbench.models.base import Model
from workbench.store import ModelLedger, Store
from workbench.store import events as ev


class Engine:
    """Works on runs of one store with one broker, one sandbox and one model; one run at a time.

    Parameters
    ----------
    store : Store
    broker : Broker
        The only way to data; every session of a run reads through it at the run's cutoff.
    catalogue : Catalogue
        What the broker can be asked, for the prompts.
    sandbox : Sandbox
        Where notebooks run.
    model : Model
    listener : callable, optional
        Called with the new state and the event, after the event is on disk.
    limits : Limits, optional
        Bounds of a kernel session.
    """

    def __init__(
        self,
        store: Store,
        *,
        broker: Broker,
        catalogue: Catalogue,
        sandbox: Sandbox,
        model: Model,
        listener: Listener | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._store = store
        self._broker = broker
        self._catalogue = catalogue
        self._sandbox = sandbox
        self._model = model
        self._listener = listener or (lambda state, event: None)
        self._limits = limits or Limits()

    async def check(self, statement: str, cutoff: Cutoff, settings: RunSettings) -> None:
        """Refuse a claim before a run is opened for it; raises ``UsageError``."""
        await check_claim(statement, cutoff, settings, self._model)

    async def work(self, run_id: str, *, plan_only: bool = False) -> RunState:
        """Work on a new or resumed run until it is finished, or planned with ``plan_only``, and return its state.

        Raises
        ------
        ProviderError
            A leaf, a synthesis or the analyzer failed for good; all else is kept, the run can be resumed.
        BudgetStop
            The budget is used up.
        UsageError
            A part that the run needs is not installed, or a claim that the model refuses.
        IsolationUnavailable
            The sandbox cannot be made at the level the run asks for.
        """
        recorder = Recorder(self._store, run_id, self._listener)
        state = recorder.state
        if state.finished:
            return state
        state.require_installed()
        state.require_own_server()
        agents = Agents(state.settings)
        ledger = ModelLedger(self._store)
        budget = Budget(state.settings.budget_usd, ledger.cost(run_id) or 0.0)
        gateway = ModelGateway(self._model, ledger, budget)
        if state.stopped is not None or state.planned:
            recorder.record(ev.RunResumed())
        with _stop_on_record(recorder):
            if not recorder.state.planned:
                await Planning(recorder, agents.analyzer, gateway).plan()
            if plan_only:
                recorder.record(
                    ev.RunStopped(why="plan-only", detail="the tree stands; `workbench resume` grounds it")
                )
                return recorder.state
            await asyncio.sleep(0)
            # The pauses around this let other tasks run between two stretches of synchronous work on the log: a run of a
            # thousand leaves must not hold the event loop for long (benchmarks/engine_scale.py measures it).
            level = await self._seal(recorder)
            await asyncio.sleep(0)
            leaves = LeafGrounding(
                recorder,
                grounder=agents.grounder,
                gateway=gateway,
                broker=self._broker,
                catalogue=self._catalogue,
                sandbox=self._sandbox,
                isolation=level,
                limits=self._limits,
            )
            await TreeGrounding(recorder, leaves, agents.synthesizer, gateway).ground()
        root = recorder.state.tree.root
        assert root.belief is not None
        recorder.record(ev.RunFinished(p=root.belief.p))
        await asyncio.to_thread(write_report, self._store, recorder.state)  # 0.2 s for a thousand leaves
        return recorder.state

    async def _seal(self, recorder: Recorder) -> str:
        """Find out, by trying, at which level kernels start in this sitting, and put it on record; fail closed.

        The level is the sandbox's, which has it from this command line. What the run's own log says is only shown.
        """
        report = await self._sandbox.probe()
        level: str = await self._sandbox.level()
        recorder.record(ev.RunSealed(isolation=level, refused=tuple(report.refused)))
        return level


@contextmanager
def _stop_on_record(recorder: Recorder) -> Iterator[None]:
    """Record why a run stops before its end, and pass the error on."""
    try:
        yield
    except UsageError as error:
        recorder.record(ev.RunStopped(why="refused", detail=str(error)))
        raise
    except BudgetStop as error:
        recorder.record(ev.RunStopped(why="budget", detail=str(error)))
        raise
    except ProviderError as error:
        recorder.record(ev.RunStopped(why="failure", detail=str(error)))
        raise
    except (asyncio.CancelledError, KeyboardInterrupt):
        recorder.record(ev.RunStopped(why="interrupt", detail="stopped by hand"))
        raise
