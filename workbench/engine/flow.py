"""The main job: a statement becomes a tree, its leaves are grounded side by side, every parent follows its last child.

This file has the order of the steps; ``plan``, ``leaves.traversal`` and ``leaves.grounding`` have the steps themselves. All that
happens goes through the ``Recorder``: it is appended to the log and only then shown. A leaf that fails is a value;
its siblings go on. What stops a run for good (no isolation, no model, a used-up budget, Ctrl-C) leaves it resumable.
"""

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace

from proxies.asof.clock import Cutoff
from proxies.broker import Broker
from proxies.catalogue import Catalogue
from sandbox import Limits, Sandbox
from sandbox.errors import AnotherWriter, IsolationUnavailable, SandboxError
from workbench.agents.base import Brief
from workbench.agents.registry import open_grounder
from workbench.engine.access.catalogue_guide import CatalogueGuide
from workbench.engine.access.model_gateway import require_price, run_gateway
from workbench.engine.access.outage import ProviderDown, Timing
from workbench.engine.access.web_access import run_verdicts
from workbench.engine.approvals import PATIENT_CELL_SECONDS, Approvals, check_answerable
from workbench.engine.leaves.grounding import Sitting, Workers
from workbench.engine.leaves.leaf_notebook import KernelSlots
from workbench.engine.leaves.shared_calls import SharedCalls
from workbench.engine.leaves.single_node import require_due
from workbench.engine.leaves.traversal import LeavesLeft, TreeGrounding
from workbench.engine.new_run import Agents, check_claim
from workbench.engine.ownership import RunInWork, own_run
from workbench.engine.plan import Planning
from workbench.engine.rebuy import RebuyNeeded
from workbench.engine.record.recorder import Listener, Recorder
from workbench.engine.record.state import RunState
from workbench.engine.run_prompts import adopt_prompts
from workbench.engine.run_settings import DIRECT, RunSettings
from workbench.engine.run_texts import adopt_cut
from workbench.errors import BudgetStop, Option, ProviderError, UsageError, WorkbenchError, command, sentence
from workbench.models.base import Model, PastShare
from workbench.models.errors import AccountRefused
from workbench.models.roles import model_names
from workbench.prompts import PromptSet
from workbench.propositions import NodeId
from workbench.resources import ResourceStop, is_resource_error, resource_line
from workbench.store import ApiLedger, Store, StoreFull
from workbench.store import events as ev
from workbench.store.removal import sweep

#: Writes the note of a run, ``reports.note_page.write_report``.
NoteWriter = Callable[[Store, RunState], object]


@dataclass(frozen=True, kw_only=True)
class Engine:
    """Works on runs of one store with one broker, one sandbox and one model; one run at a time.

    `broker`: The only way to data; every session of a run reads through it at the run's cutoff. `answered`: Whether a person can
    answer what a run asks (``--approve``).
    """

    store: Store = field(kw_only=False)
    broker: Broker
    catalogue: Catalogue
    sandbox: Sandbox
    model: Model
    listener: Listener | None = None
    limits: Limits = field(default_factory=Limits)
    timing: Timing | None = None
    workers: Workers | None = None
    answered: bool = False
    note: NoteWriter | None = None

    @property
    def keyed(self) -> tuple[str, ...]:
        """Names of the sources whose keys are set; on record when a run is opened (``RunSettings.keyed``)."""
        return tuple(sorted(self.broker.settings.keys))

    async def check(self, statement: str, cutoff: Cutoff, settings: RunSettings) -> PastShare | None:
        """Refuse a claim before a run is opened for it, and return what history says of it; raises ``UsageError``."""
        check_answerable(settings, answered=self.answered, workers=self.workers is not None)
        history = await check_claim(statement, cutoff, settings, self.model)
        if settings.budget_usd is not None or settings.leaf_budget_usd is not None:
            require_price(model_names(self.model), settings.prices)
        return history

    async def work(
        self, run_id: str, *, plan_only: bool = False, only: Collection[NodeId] = (), rebuy: bool = False
    ) -> RunState:
        """Work on a new or resumed run until it is finished, or planned with ``plan_only``, and return its state.

        ``only`` keeps the sitting to these nodes and what follows above them: the others stay as they are. ``rebuy`` allows to ask
        again for replies on record whose requests cannot be made any more: they held text of after the cutoff, or something that
        they rest on has changed.

        Raises `LeavesLeft`: The nodes of ``only`` are done, and others still have no value. Raises `ProviderError`: A leaf, a synthesis or
        the analyzer failed for good; all else is kept, the run can be resumed. Raises `BudgetStop`: The budget is used up. Raises
        `UsageError`: A part that the run needs is not installed, or a claim that the model refuses. Raises `IsolationUnavailable`: The
        sandbox cannot be made at the level the run asks for. Raises `RunInWork`: Another process works on the run. Raises `ResourceStop`:
        The disk is full, or no descriptors are left.
        """
        with own_run(self.store.folder(run_id)), _objects_at_rest():
            sweep(self.store.folder(run_id))  # a kill in the middle of a write leaves half a file
            return await self._session(run_id, plan_only=plan_only, only=only, rebuy=rebuy)

    async def _session(
        self, run_id: str, *, plan_only: bool, only: Collection[NodeId], rebuy: bool
    ) -> RunState:
        # Read only now: whoever owned the run before has written its last event.
        async with Recorder(self.store, run_id, self.listener or (lambda state, event: None)) as recorder:
            if not recorder.state.finished:
                recorder.state.require_approved()
                adopt_cut(recorder, allowed=rebuy)
                prompts = adopt_prompts(recorder, allowed=rebuy)
                await self._advance(recorder, prompts, plan_only=plan_only, only=only, rebuy=rebuy)
            return recorder.state

    async def _advance(
        self,
        recorder: Recorder,
        prompts: PromptSet,
        *,
        plan_only: bool,
        only: Collection[NodeId],
        rebuy: bool,
    ) -> None:
        state = recorder.state
        settings = state.settings
        only = _due(state, only)
        self._require(state)
        agents = Agents(settings)
        on_outage = _outage_on_record(recorder, self.model.name)
        gateway = run_gateway(
            self.store, state, self.model, on_outage=on_outage, timing=self.timing, writer=recorder.writer,
            prompts=prompts, rebuy=rebuy,
        )  # fmt: skip
        gateway.require_price()
        keyed = settings.keyed if settings.keyed is not None else self.keyed
        network = self.broker.settings.network
        guide = CatalogueGuide.for_run(
            self.catalogue, settings, state.parsed_cutoff(), keyed, network=network
        )
        if state.stopped is not None or state.seq > state.started_seq:
            recorder.record(ev.RunResumed(only=tuple(only)))
        opens_notebook = getattr(agents.grounder, "opens_notebook", False)
        if opens_notebook and not plan_only and self.workers is None:
            self.sandbox.warm()
        async with _stop_on_record(recorder), _time_limit(state):
            if not state.planned:
                await Planning(recorder, agents.analyzer, gateway, _brief(settings, agents, guide)).plan()
            if plan_only:
                stands = sentence("the drivers stand; ", command("resume"), " collects their evidence")
                recorder.record(ev.RunStopped(why="plan-only", detail=stands))
                return
            # The pauses around this let other tasks run between two stretches of synchronous work on the log: a run of a
            # thousand leaves must not hold the event loop for long (benchmarks/engine_scale.py measures it).
            await asyncio.sleep(0)
            seal = Seal(self.sandbox, recorder)
            if opens_notebook and _leaves_wait(recorder.state, only):
                await seal.level()  # before a model is asked: a machine that cannot seal must cost nothing
            await asyncio.sleep(0)
            sitting = Sitting(
                recorder=recorder,
                gateway=gateway,
                grounder=agents.grounder,
                direct=open_grounder(DIRECT, settings.agent),
                synthesizer=agents.synthesizer,
                broker=self.broker,
                guide=guide,
                sandbox=self.sandbox,
                level=seal.level,
                limits=_limits_of(self.limits, settings),
                slots=KernelSlots(),
                keyed=keyed,
                workers=self.workers,
                approvals=None if settings.approve == "none" else Approvals(recorder),
                verdicts=run_verdicts(self.store, state, self.model, prompts),
                shared_calls=SharedCalls(recorder, agents.grounder, ApiLedger(self.store)),
            )
            await TreeGrounding(sitting, only=only).ground()
            root = recorder.state.tree.root
            assert root.belief is not None
            recorder.record(ev.RunFinished(p=root.belief.p))
        if self.note is not None:
            # 0.2 s for a thousand leaves; the note audits the run, and what the checks found is kept for its page
            await asyncio.to_thread(self.note, self.store, recorder.state)

    def _require(self, state: RunState) -> None:
        """Raise ``UsageError`` where something that the run needs is not here."""
        state.require_installed()
        state.require_sources()
        state.require_own_server()
        check_answerable(state.settings, answered=self.answered, workers=self.workers is not None)


def _due(state: RunState, only: Collection[NodeId]) -> tuple[NodeId, ...]:
    """The nodes that a sitting keeps to: those named, and what a person wants renewed, since the run's end closes that."""
    for node in only:
        require_due(state, node)
    renewed = [leaf for leaf in state.reopened if state.due(leaf)] if only else []
    return tuple(dict.fromkeys((*only, *renewed)))


def _brief(settings: RunSettings, agents: Agents, guide: CatalogueGuide) -> Brief:
    own_critic = settings.agent.tree_critic and not settings.stays_here  # which has no answer for a critic
    return Brief(
        overview=guide.overview,
        asks_critic="critic" in settings.models or own_critic,
        combines=settings.agent.combine_per_node and getattr(agents.synthesizer, "per_node", False),
    )


def _leaves_wait(state: RunState, only: Collection[NodeId]) -> bool:
    return any(leaf not in state.pooled for leaf in state.tree.leaves() if not only or leaf in only)


@dataclass(slots=True)
class Seal:
    """The level at which kernels start in this sitting: found out by trying when the first is needed, and put on record.

    A run whose grounder opens no notebook never tries, so it also runs where nothing can be sealed. The level is the
    sandbox's, which has it from this command line; what the run's own log says is only shown.
    """

    sandbox: Sandbox
    recorder: Recorder
    _level: str | None = None
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def level(self) -> str:
        """Return the level; raises ``IsolationUnavailable``."""
        async with self._lock:  # leaves ask side by side: one record, not one each
            if self._level is None:
                report = await self.sandbox.probe()
                level = await self.sandbox.level()
                self.recorder.record(ev.RunSealed(isolation=level, refused=tuple(report.refused)))
                self._level = level
        return self._level


@contextmanager
def _objects_at_rest() -> Iterator[None]:
    """Leave what exists already out of the garbage collector's full passes while a run is in work.

    Such a pass walks every object of every imported module: 90 to 130 ms in the event loop, several times in a run of a
    thousand leaves; without them the longest is 35 ms.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _limits_of(limits: Limits, settings: RunSettings) -> Limits:
    # The clock of a cell must not run out while a person reads.
    seconds = PATIENT_CELL_SECONDS if settings.approve != "none" else settings.cell_timeout
    return limits if seconds is None else replace(limits, cell_seconds=seconds)


@asynccontextmanager
async def _stop_on_record(recorder: Recorder) -> AsyncIterator[None]:
    try:
        yield
        await recorder.settled()
    except BaseException as error:
        why = _why(error)
        if why is None:  # a bug of ours: its traceback says more than an event could
            raise
        detail = "stopped by hand" if why == "interrupt" else str(error)
        stop: BaseException = error
        if why == "resources" and not isinstance(error, StoreFull):
            stop = ResourceStop(resource_line(error))
            detail = str(stop)
        # What else went wrong meanwhile has the same cause, mostly: it must not keep the stop off the log.
        with suppress(OSError, WorkbenchError):
            await asyncio.shield(recorder.settled())
        # A disk that is full takes no event either; the run is resumable without it.
        with suppress(OSError, WorkbenchError):
            recorder.record(ev.RunStopped(why=why, detail=detail))
            await asyncio.shield(recorder.settled())
        if stop is error:
            raise
        raise stop from error


def _why(error: BaseException) -> ev.StopReason | None:
    """Return the word of ``run.stopped`` for an error; None where none is recorded: nothing was begun, or it is a bug."""
    match error:
        case RunInWork() | AnotherWriter():
            return "other-writer"
        case IsolationUnavailable():
            return None
        case RebuyNeeded():
            return "rebuy"
        case UsageError():
            return "refused"
        case StoreFull() | ResourceStop():
            return "resources"
        case LeavesLeft():
            return "leaves-left"
        case BudgetStop():
            return "budget"
        case ProviderDown() | AccountRefused():
            return "outage"
        case ProviderError() | SandboxError():
            return "resources" if is_resource_error(error) else "failure"
        case asyncio.CancelledError() | KeyboardInterrupt():
            return "interrupt"
        case _:
            return "resources" if is_resource_error(error) else None


@asynccontextmanager
async def _time_limit(state: RunState) -> AsyncIterator[None]:
    """End the block when the run has worked for as long as it may, all sittings counted; raises ``BudgetStop``."""
    limit = state.settings.budget_seconds
    if limit is None:
        yield
        return
    try:
        async with asyncio.timeout(max(0.0, limit - state.worked_seconds)):
            yield
    except TimeoutError:
        raise BudgetStop(f"the budget of {limit:g} seconds is used up: ", Option("budget_seconds")) from None


def _outage_on_record(recorder: Recorder, provider: str) -> Callable[[bool, str, float], None]:
    def record(down: bool, reason: str, seconds: float) -> None:
        if down:
            recorder.record(ev.RunWaiting(provider=provider, reason=reason[:500]))
        else:
            recorder.record(ev.RunContinued(provider=provider, seconds=seconds))

    return record
