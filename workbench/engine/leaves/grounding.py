"""From a leaf to its belief: its trials, the attempts of each with the record of how it ended, and the check of the finished proof."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Protocol

import orjson

from proxies.broker import Broker, BrokerSession
from proxies.errors import ProxyError
from proxies.ledger import Address, Answer, Ledger
from sandbox import Limits, Sandbox, SessionSpec
from sandbox.errors import JournalBroken, KernelStartFailed, SandboxError
from sandbox.record.journal import read_head, read_journal
from sandbox.record.session_notebook import render_notebook
from workbench.agents.base import Grounder, Grounding, GroundingFailure, LeafTask
from workbench.agents.evidence.base import Evidence, MissingEvidence, read_evidence
from workbench.agents.evidence.notebook import proof_notebook
from workbench.agents.grounders.carried_leaf import CarriedGrounder
from workbench.engine.access.budget import LeafBudgetSpent
from workbench.engine.access.catalogue_guide import CatalogueGuide
from workbench.engine.access.model_gateway import ModelGateway
from workbench.engine.approvals import Approvals, ApprovedData
from workbench.engine.leaves.aggregation import Aggregation
from workbench.engine.leaves.forecast_library import forecast_library
from workbench.engine.leaves.job import GroundJob, JobOwner, Workers
from workbench.engine.leaves.leaf_notebook import KernelSlots, LazyNotebook
from workbench.engine.leaves.shared_calls import SharedCalls
from workbench.engine.proof_check import proof_context, stored_evidence, verify_trial
from workbench.engine.rebuy import RebuyNeeded
from workbench.engine.record.recorder import Recorder
from workbench.engine.record.run_files import journal_name, notebook_name, session_name, write_notebook
from workbench.engine.record.stages import reply_heading
from workbench.engine.record.state import REPEATS
from workbench.errors import Option, WorkbenchError, sentence
from workbench.models.base import Asker, ModelReply
from workbench.models.errors import AccountRefused, ModelError
from workbench.plug_points import EVIDENCE, GROUNDERS, package_of
from workbench.propositions import Belief, NodeId
from workbench.resources import is_resource_error
from workbench.search.leak_filter import Verdicts
from workbench.store import ApiLedger, utc_now
from workbench.store import events as ev


def data_session(broker: Broker, job: GroundJob, ledger: Ledger) -> BrokerSession:
    """Return a job's way to data: as of its cutoff, with the residual risk that its run allows, recorded in ``ledger``."""
    settings = job.settings
    return broker.session(
        job.parsed_cutoff(), ledger, strict=settings.strict, max_residual=settings.max_residual
    )


class DataSource(Protocol):
    """What answers a job's data calls: a ``BrokerSession``, or on a worker one whose rows the owner records."""

    async def call(self, path: str, params: Mapping[str, Any] | None, address: Address) -> Answer:
        """Return the answer of the call at this address; raises ``ProxyError``."""
        ...


async def ground_job(
    job: GroundJob,
    *,
    grounder: Grounder,
    ask: Asker,
    data: DataSource,
    guide: CatalogueGuide,
    sandbox: Sandbox,
    level: Callable[[], Awaitable[str]],
    slots: KernelSlots,
    folder: Path,
    on_cell: Callable[[], Awaitable[None]] | None = None,
    verdicts: Verdicts | None = None,
) -> Grounding | GroundingFailure:
    """Do a job in this process and return its outcome; its notebook is closed by then."""
    caller = NotebookDataCalls(data, job, slots)
    async with AsyncExitStack() as stack:
        notebook = LazyNotebook(
            sandbox,
            lambda level: session_spec(job, folder, level),
            level,
            caller.from_cell,
            stack,
            slots,
            on_cell,
        )
        return await grounder.ground(
            LeafTask(
                node=job.ref,
                cutoff=job.parsed_cutoff(),
                ask=ask,
                open_notebook=notebook.open,
                call_api=caller.from_grounder,
                data=guide,
                settings=job.bounds,
                resolves_by=job.resolves_by,
                reference_class=job.reference_class,
                gave_up=job.gave_up,
                framing=job.framing,
                known_calls=job.known_calls,
                verdicts=verdicts,
            )
        )


def session_spec(job: GroundJob, folder: Path, level: str) -> SessionSpec:
    """Return what a job's notebook is opened with; ``folder`` is the run's."""
    return SessionSpec(
        name=session_name(job.node, job.trial, job.attempt),
        journal=folder / "sessions" / journal_name(job.node, job.trial, job.attempt),
        notebook=folder / "proofs" / notebook_name(job.node, job.trial),
        isolation=level,
        limits=job.limits,
        title=f"{job.node}: {job.statement}",
        metadata={
            "run": job.run,
            "node": job.node,
            "trial": job.trial,
            "attempt": job.attempt,
            "cutoff": job.cutoff,
            "asked_on": job.asked_on,
        },
        library=forecast_library(),
    )


class NotebookDataCalls:
    """Data calls of one attempt: adds its address and passes them on to the broker."""

    def __init__(self, data: DataSource, job: GroundJob, slots: KernelSlots) -> None:
        self._data = data
        self._job = job
        self._slots = slots

    async def from_cell(self, path: str, params: Mapping[str, Any], *, cell: int, nth: int) -> Answer:
        """Answer ``CALL_API`` of a cell; called by the wire server."""
        with self._slots.away():  # the cell waits, so another may compute
            return await self._data.call(path, params, self._job.address("cell", cell, nth))

    async def from_grounder(
        self, path: str, params: Mapping[str, Any], *, step: int, retry: int = 0
    ) -> Answer:
        """Answer a grounder that calls data itself (``LeafTask.call_api``)."""
        return await self._data.call(path, params, self._job.address("tool", step, retry))


class TrialGrounding:
    """Does the trials of one run's leaves.

    `broker`, `guide`: The only way to data; every session of the run reads through it at the run's cutoff. The guide says what works.
    """

    def __init__(
        self,
        recorder: Recorder,
        *,
        grounder: Grounder,
        gateway: ModelGateway,
        broker: Broker,
        guide: CatalogueGuide,
        sandbox: Sandbox,
        level: Callable[[], Awaitable[str]],
        limits: Limits,
        slots: KernelSlots,
        keyed: tuple[str, ...] = (),
        workers: Workers | None = None,
        approvals: Approvals | None = None,
        verdicts: Verdicts | None = None,
        shared_calls: SharedCalls,
    ) -> None:
        self._verdicts = verdicts
        self._shared_calls = shared_calls
        self._recorder = recorder
        self._grounder = grounder
        self._gateway = gateway
        self._broker = broker
        self._guide = guide
        self._sandbox = sandbox
        self._level = level
        self._limits = limits
        self._cutoff = recorder.state.parsed_cutoff()
        self._ledger = ApiLedger(recorder.store)
        self._package = package_of(GROUNDERS, recorder.state.settings.grounder)
        self._slots = slots
        self._keyed = keyed
        self._workers = workers
        self._approvals = approvals

    async def ground(self, node: NodeId, trial: int) -> None:
        """Ground a leaf once, in as many attempts as it takes and is allowed; how it ended is on the log."""
        begun = self._recorder.state.trial(node, trial)
        if begun.belief is not None and not begun.again:
            if begun.verified is None:  # an earlier process ended between conclusion and check
                evidence = stored_evidence(self._recorder.store, self._recorder.state, node, trial)
                await self._check(node, trial, evidence)
            return
        # An attempt that a kill or an outage cut off goes on under its own number: its replies and data calls are found in
        # the ledgers at the same addresses and are not paid for again. The bound below counts from here, so each sitting has
        # all its tries.
        # One that got no usable reply goes on at the step that needs it, so its notebook is not bought again either.
        attempt = begun.attempt if begun.open or begun.goes_on else begun.attempt + 1
        last = attempt + self._recorder.state.settings.max_proof_retries - 1
        while True:
            try:
                async with asyncio.timeout(self._seconds_left(node, trial)):
                    outcome = await self._attempt(node, trial, attempt)
            except TimeoutError:
                more = sentence("its time is used up: ", Option("leaf_budget_seconds", by_set=True))
                self._wait(node, trial, attempt, more)
                return
            except AccountRefused:
                raise  # nobody in this run will be answered: it stops once, and the attempt stays open
            # Neither is a fault of the proof: the attempt stays open, and a resumed run asks for nothing in it again.
            except (ModelError, ProxyError, LeafBudgetSpent, KernelStartFailed, RebuyNeeded) as error:
                self._wait(node, trial, attempt, str(error))
                return
            if isinstance(outcome, Grounding):
                head = await self._journal_head(node, trial, attempt)
                self._record_grounding(node, trial, attempt, outcome, head)
                # The check reads from the store what the log holds, as a later `verify` will.
                await self._recorder.committed()
                await self._check(node, trial, outcome.evidence)
                return
            final = attempt >= last or not outcome.retryable
            self._recorder.record(
                ev.LeafFailed(
                    node=node,
                    trial=trial,
                    attempt=attempt,
                    reason=outcome.reason,
                    final=final,
                    gave_up=None if outcome.retryable else outcome.gave_up,
                )
            )
            if final:
                return
            attempt += 1

    def _seconds_left(self, node: NodeId, trial: int) -> float | None:
        """How long a trial may still work, its attempts of all sittings counted; None without a limit."""
        limit = self._recorder.state.settings.leaf_budget_seconds
        return (
            None
            if limit is None
            else max(0.0, limit - self._recorder.state.trial(node, trial).until(utc_now()))
        )

    def _wait(self, node: NodeId, trial: int, attempt: int, reason: str) -> None:
        self._recorder.record(ev.LeafWaiting(node=node, trial=trial, attempt=attempt, reason=reason[:1000]))

    async def _attempt(self, node: NodeId, trial: int, attempt: int) -> Grounding | GroundingFailure:
        state = self._recorder.state
        if not state.trial(node, trial).open:
            goes_on = state.trial(node, trial).attempt == attempt  # with the prompts that it began with
            known_calls = () if goes_on else self._shared_calls.offered(node)
            self._recorder.record(
                ev.LeafStarted(
                    node=node,
                    trial=trial,
                    attempt=attempt,
                    known_calls=known_calls,
                    asked_on=state.parsed_cutoff().asked_on(self._gateway.clock()).isoformat(),
                )
            )
            state = self._recorder.state
        job = GroundJob.of(
            state,
            node,
            trial,
            attempt,
            keyed=self._keyed,
            network=self._broker.settings.network,
            limits=self._limits,
            prompts=self._gateway.prompts,
        )

        async def cell_has_run() -> None:
            self._shared_calls.note_progress(node)

        try:
            carried = state.follows.leaves.get(node) if state.follows is not None else None
            if self._workers is not None and carried is None:
                outcome = await self._workers.ground(
                    job,
                    JobOwner(
                        recorder=self._recorder,
                        gateway=self._gateway,
                        level=self._level,
                        on_reply=self._record_step,
                        verdicts=self._verdicts,
                    ),
                )
            else:
                data: DataSource = data_session(self._broker, job, self._ledger)
                if self._approvals is not None:
                    data = ApprovedData(data, self._approvals, job, self._ledger)
                outcome = await ground_job(
                    job,
                    grounder=self._grounder if carried is None else CarriedGrounder(carried, trial),
                    ask=self._gateway.asker(
                        run=job.run,
                        node=node,
                        trial=trial,
                        attempt=attempt,
                        role="grounder",
                        on_reply=self._record_step,
                    ),
                    data=data,
                    guide=self._guide,
                    sandbox=self._sandbox,
                    level=self._level,
                    slots=self._slots,
                    folder=self._recorder.store.folder(job.run),
                    on_cell=cell_has_run,
                    verdicts=self._verdicts,
                )
        except (
            WorkbenchError,
            SandboxError,
            ProxyError,
        ):  # these stop the run, or this leaf until a later sitting
            raise
        except Exception as error:
            if self._package is None or is_resource_error(error):  # a bug of ours: the traceback helps
                raise
            return self._broken(f"raised {type(error).__name__}: {error}")
        return self._readable(outcome)

    def _record_step(self, address: Address, reply: ModelReply) -> None:
        """Put a reply that a leaf has paid for on the log, so that screens show how far it is."""
        self._shared_calls.note_progress(address.node)
        what = address.stage if address.retry == 0 else f"{address.stage}, asked again"
        self._recorder.record(
            ev.LeafStep(
                node=address.node,
                trial=address.trial,
                attempt=address.attempt,
                number=address.step + 1,
                what=what if reply.finish == "complete" else f"{what}: {reply.finish}",
                about=reply_heading(reply.text, (call.name for call in reply.tool_calls)),
                model=reply.model,
                input_tokens=reply.usage.input_tokens,
                output_tokens=reply.usage.output_tokens,
                cached_tokens=reply.usage.cached_tokens,
                cost_usd=reply.cost_usd,
            )
        )

    def _readable(self, outcome: Grounding | GroundingFailure) -> Grounding | GroundingFailure:
        """Return the outcome, or a failure if its evidence cannot be read back: on an append-only log it would stay so."""
        if isinstance(outcome, Grounding):
            try:
                read_evidence(orjson.loads(_stored(outcome.evidence)))
            except (MissingEvidence, TypeError, AttributeError) as error:
                return self._broken(f"gave evidence that cannot be read back: {error}")
        return outcome

    def _broken(self, what: str) -> GroundingFailure:
        name = self._recorder.state.settings.grounder
        by = f" of the package {self._package}" if self._package else ""
        return GroundingFailure(reason=f"the grounder {name}{by} {what}"[:500], retryable=False)

    async def _journal_head(self, node: NodeId, trial: int, attempt: int) -> str | None:
        """Return the head of the attempt's journal, which is closed by now; nothing is appended to it any more."""
        folder = self._recorder.store.folder(self._recorder.state.run_id)
        journal = folder / "sessions" / journal_name(node, trial, attempt)
        if not journal.exists():  # a thread costs a leaf without a notebook more than its proof does
            return None
        try:
            return await asyncio.to_thread(read_head, journal)  # it may be long
        except JournalBroken:  # the check that follows says so, and puts it on record
            return None

    def _record_grounding(
        self, node: NodeId, trial: int, attempt: int, grounding: Grounding, journal_head: str | None
    ) -> None:
        belief, evidence = grounding.belief, grounding.evidence
        self._recorder.record(
            lambda put: ev.LeafGrounded(
                node=node,
                trial=trial,
                attempt=attempt,
                p=belief.p,
                key_factor=belief.key_factor,
                report=put(belief.report),
                steps=grounding.trace.get("steps", 0),
                failed_cells=grounding.trace.get("failed_cells", 0),
                evidence=ev.EvidenceRecord(
                    kind=evidence.kind,
                    package=package_of(EVIDENCE, evidence.kind),
                    body=put(_stored(evidence)),
                ),
                journal_head=journal_head,
                findings=tuple(ev.FindingRecord(**finding.to_json()) for finding in grounding.findings),
            )
        )

    async def _check(self, node: NodeId, trial: int, evidence: Evidence) -> None:
        """Write the proof notebook of a concluded trial, verify it by its own evidence, and put the outcome on record.

        Rendered and written in a thread: a synced write takes 5 to 50 ms, and a thousand leaves would queue for them.
        """
        proof = proof_context(self._recorder.store, self._recorder.state, node, trial)

        def write() -> None:
            book = proof_notebook(evidence, proof)
            if book is not None:
                write_notebook(proof.notebook, book)

        await asyncio.to_thread(write)
        # The re-run's kernel is open while it computes and no longer, so a slot bounds both.
        async with self._slots.run():
            outcome = await verify_trial(
                self._recorder.store,
                self._recorder.state,
                node,
                trial,
                sandbox=self._sandbox,
                level=self._level,
                limits=self._limits,
            )
        lines = tuple(f"{item.check} {item.cell or ''}: {item.what}"[:300] for item in outcome.differing)
        self._recorder.record(
            ev.LeafVerified(
                node=node,
                trial=trial,
                verified=outcome.verified,
                differing=lines,
                findings=tuple(
                    ev.FindingRecord(check=REPEATS, words=f"{item.cell}: {item.what}")
                    for item in outcome.unrepeatable
                ),
            )
        )


def _stored(evidence: Evidence) -> bytes:
    return orjson.dumps(evidence.to_json(), option=orjson.OPT_SORT_KEYS)


class LeafGrounding:
    """Grounds the leaves of one run: ``trials`` does each trial, and what they say becomes one belief here."""

    def __init__(self, recorder: Recorder, trials: TrialGrounding, shared_calls: SharedCalls) -> None:
        self._recorder = recorder
        self._trials = trials
        self._shared_calls = shared_calls

    async def leaf(self, node: NodeId) -> bool:
        """Run the trials of a leaf and record its pooled belief; called once per leaf by ``TreeGrounding``.

        A trial that failed for good is a dead trial: the leaf counts by the others. Returns False if all are dead, or if one
        waits for another sitting: the reason is on the log, nothing is raised, other leaves go on.
        """
        async with self._shared_calls.turn(node):
            return await self._all_trials(node)

    async def _all_trials(self, node: NodeId) -> bool:
        aggregation = self._recorder.state.settings.aggregation
        trials: Sequence[int] = range(1, self._recorder.state.settings.trials + 1)
        if aggregation.stop_spread is None:
            async with asyncio.TaskGroup() as group:
                for trial in trials:
                    group.create_task(self._trials.ground(node, trial), name=f"{node}.{trial}")
        else:
            trials = await self._until_agreed(node, trials, aggregation)
        ended = [self._recorder.state.trial(node, trial) for trial in trials]
        beliefs = [trial.belief for trial in ended if trial.belief is not None and not trial.again]
        if any(trial.open for trial in ended):
            return False
        if not beliefs:
            return await self._keep_earlier(node)
        values = [belief.p for belief in beliefs]
        self._recorder.record(
            lambda put: ev.LeafPooled(
                node=node,
                p=aggregation.combine(values, dead=len(ended) - len(beliefs)),
                key_factor=beliefs[0].key_factor,
                report=put(_pooled_report(beliefs)),
                trials=tuple(values),
                dead=len(ended) - len(beliefs),
            )
        )
        return True

    async def _until_agreed(
        self, node: NodeId, trials: Sequence[int], aggregation: Aggregation
    ) -> Sequence[int]:
        """Run trials one after another until those concluded agree; return the numbers of those that were run.

        One that waits for another sitting ends it for this one: whether a further trial is due depends on its belief.
        """
        values: list[float] = []
        for count, trial in enumerate(trials, 1):
            await self._trials.ground(node, trial)
            ended = self._recorder.state.trial(node, trial)
            if ended.open:
                return trials[:count]
            if ended.belief is not None and not ended.again:
                values.append(ended.belief.p)
            if aggregation.enough(values):
                return trials[:count]
        return trials

    async def _keep_earlier(self, node: NodeId) -> bool:
        """Let what a leaf concluded before stand, where grounding it again came to nothing; False if there is no such."""
        store, state = self._recorder.store, self._recorder.state
        if state.tree[node].belief is None:
            return False
        for trial in range(1, state.settings.trials + 1):
            proof = state.trial(node, trial)
            if proof.belief is None or proof.journal_head is None:
                continue
            # The attempt that failed has written its own notebook in the place of this one.
            journal = store.folder(state.run_id) / "sessions" / journal_name(node, trial, proof.concluded)
            notebook = store.folder(state.run_id) / "proofs" / notebook_name(node, trial)
            await asyncio.to_thread(
                _write_from_journal, journal, notebook, f"{node}: {state.tree[node].statement}"
            )
        return True


def _write_from_journal(journal: Path, notebook: Path, title: str) -> None:
    write_notebook(notebook, render_notebook(read_journal(journal), title=title))


def _pooled_report(beliefs: list[Belief]) -> str:
    if len(beliefs) == 1:
        return beliefs[0].report
    return "\n\n".join(
        f"Trial {trial}: p = {belief.p:.4f}\n\n{belief.report}" for trial, belief in enumerate(beliefs, 1)
    )
