"""From a leaf to its belief: its trials, the attempts of each with the record of how it ended, and the check of the finished proof."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
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
from workbench.agents.base import Grounder, Grounding, GroundingFailure, LeafTask, Synthesizer
from workbench.agents.evidence.base import Evidence, MissingEvidence, read_evidence
from workbench.agents.evidence.notebook import proof_notebook
from workbench.agents.grounders.carried_leaf import CarriedGrounder
from workbench.engine.access.budget import LeafBudgetSpent
from workbench.engine.access.catalogue_guide import CatalogueGuide
from workbench.engine.access.model_gateway import ModelGateway
from workbench.engine.approvals import Approvals, ApprovedData
from workbench.engine.leaves.forecast_library import forecast_library
from workbench.engine.leaves.job import GroundJob
from workbench.engine.leaves.leaf_notebook import KernelSlots, LazyNotebook
from workbench.engine.leaves.shared_calls import SharedCalls
from workbench.engine.proof_check import proof_context, stored_evidence, verify_trial
from workbench.engine.rebuy import RebuyNeeded
from workbench.engine.record.recorder import Recorder
from workbench.engine.record.run_files import journal_name, notebook_name, session_name, write_notebook
from workbench.engine.record.stages import reply_heading
from workbench.engine.record.state import REPEATS, RunState, TrialState
from workbench.engine.run_settings import DIRECT
from workbench.errors import Option, WorkbenchError, sentence
from workbench.models.base import Asker, ModelReply
from workbench.models.errors import AccountRefused, ModelError
from workbench.plug_points import EVIDENCE, GROUNDERS, package_of
from workbench.propositions import ROOT, Belief, NodeId
from workbench.resources import is_resource_error
from workbench.search.leak_filter import Verdicts
from workbench.store import ApiLedger, Store, utc_now
from workbench.store import events as ev


def data_session(broker: Broker, job: GroundJob, ledger: Ledger) -> BrokerSession:
    """Return a job's way to data: as of its cutoff, with the residual risk that its run allows, recorded in ``ledger``."""
    return broker.session(
        job.cutoff, ledger, strict=job.settings.strict, max_residual=job.settings.max_residual
    )


class DataSource(Protocol):
    """What answers a job's data calls: a ``BrokerSession``, or on a worker one whose rows the owner records."""

    async def call(self, path: str, params: Mapping[str, Any] | None, address: Address) -> Answer:
        """Return the answer of the call at this address; raises ``ProxyError``."""
        ...


class Workers(Protocol):
    """Processes that ground leaves for the owner of a run; ``Engine`` uses them where it has any."""

    async def ground(self, job: GroundJob, owner: "Sitting") -> Grounding | GroundingFailure:
        """Have a worker do the job and return its outcome; raises what a grounding in this process would raise."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Sitting:
    """What all nodes of a run share while it is in work; only the process that owns the run has one.

    ``level`` says at which isolation kernels start. ``verdicts`` are those of the run's leak filter: what one trial or worker had
    judged, no other has judged again. ``direct`` forecasts the claim itself beside its drivers.
    """

    recorder: Recorder
    gateway: ModelGateway
    grounder: Grounder
    direct: Grounder
    synthesizer: Synthesizer
    broker: Broker
    guide: CatalogueGuide
    sandbox: Sandbox
    level: Callable[[], Awaitable[str]]
    limits: Limits
    slots: KernelSlots
    keyed: tuple[str, ...]
    workers: Workers | None
    approvals: Approvals | None
    verdicts: Verdicts
    shared_calls: SharedCalls

    @property
    def state(self) -> RunState:
        """The run as it stands now."""
        return self.recorder.state

    @property
    def store(self) -> Store:
        """Where the run is kept."""
        return self.recorder.store

    def job(self, node: NodeId, trial: int, attempt: int) -> GroundJob:
        """Return the job of an attempt."""
        return GroundJob.of(
            self.state,
            node,
            trial,
            attempt,
            keyed=self.keyed,
            network=self.broker.settings.network,
            limits=self.limits,
            prompts=self.gateway.prompts,
        )

    def data(self, job: GroundJob) -> DataSource:
        """Return a job's way to data, each call approved where the run wants that."""
        ledger = ApiLedger(self.store)
        data = data_session(self.broker, job, ledger)
        return data if self.approvals is None else ApprovedData(data, self.approvals, job, ledger)

    def on_reply(self, address: Address, reply: ModelReply) -> None:
        """Put a reply that a leaf has paid for on the log, so that screens show how far it is."""
        self.shared_calls.note_progress(address.node)
        what = address.stage if address.retry == 0 else f"{address.stage}, asked again"
        self.recorder.record(
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
    on_cell: Callable[[], Awaitable[None]],
    verdicts: Verdicts,
) -> Grounding | GroundingFailure:
    """Do a job in this process and return its outcome; its notebook is closed by then."""
    caller = NotebookDataCalls(data, job, slots)

    async def spec() -> SessionSpec:
        return session_spec(job, folder, await level())

    async with AsyncExitStack() as stack:
        notebook = LazyNotebook(sandbox, spec, caller.from_cell, stack, slots, on_cell)
        return await grounder.ground(
            LeafTask(
                node=job.ref,
                cutoff=job.cutoff,
                ask=ask,
                open_notebook=notebook.open,
                call_api=caller.from_grounder,
                data=guide,
                settings=job.bounds,
                resolves_by=job.leaf.resolves_by,
                reference_class=job.leaf.reference_class,
                gave_up=job.begun.gave_up,
                framing=job.framing,
                context=job.settings.context.as_of(job.cutoff).lines(root=job.node == "P0").text,
                known_calls=job.begun.known_calls,
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
        title=f"{job.node}: {job.leaf.statement}",
        metadata={
            "run": job.run,
            "node": job.node,
            "trial": job.trial,
            "attempt": job.attempt,
            "cutoff": job.cutoff.text,
            "asked_on": job.begun.asked_on,
        },
        library=forecast_library(),
    )


@dataclass(frozen=True, slots=True)
class NotebookDataCalls:
    """Data calls of one attempt: adds its address and passes them on to the broker."""

    data: DataSource
    job: GroundJob
    slots: KernelSlots

    async def from_cell(self, path: str, params: Mapping[str, Any], *, cell: int, nth: int) -> Answer:
        """Answer ``CALL_API`` of a cell; called by the wire server."""
        with self.slots.away():  # the cell waits, so another may compute
            return await self.data.call(path, params, self.job.address("cell", cell, nth))

    async def from_grounder(
        self, path: str, params: Mapping[str, Any], *, step: int, retry: int = 0
    ) -> Answer:
        """Answer a grounder that calls data itself (``LeafTask.call_api``)."""
        return await self.data.call(path, params, self.job.address("tool", step, retry))


async def ground_leaf(sitting: Sitting, node: NodeId, checks: asyncio.TaskGroup) -> bool:
    """Run the trials of a leaf and record its pooled belief; called once per leaf by ``TreeGrounding``.

    A trial that failed for good is a dead trial: the leaf counts by the others. Returns False if all are dead, or if one
    waits for another sitting: the reason is on the log, nothing is raised, other leaves go on.
    """
    async with sitting.shared_calls.turn(node):
        pooled = await _run_trials(sitting, node, sitting.state.settings.trials, checks)
        return await _keep_earlier(sitting, node) if pooled is None else pooled


async def ground_claim(sitting: Sitting, checks: asyncio.TaskGroup) -> bool:
    """Make the direct forecasts of a claim that has drivers too; called once by ``TreeGrounding``.

    Returns False where one waits for another sitting; where all are dead the tree stands alone.
    """
    return await _run_trials(sitting, ROOT, sitting.state.settings.direct, checks) is not False


async def _run_trials(sitting: Sitting, node: NodeId, count: int, checks: asyncio.TaskGroup) -> bool | None:
    """Run so many trials side by side and record what they come to; False where one waits, None where all are dead."""
    trials = [TrialGrounding(sitting, node, number + 1) for number in range(count)]
    async with asyncio.TaskGroup() as group:
        for trial in trials:
            group.create_task(trial.ground(), name=f"{node}.{trial.number}")
    check_proofs(sitting, node, checks)
    if any(trial.state.open for trial in trials):
        return False
    beliefs = {
        trial.number: trial.state.belief
        for trial in trials
        if trial.state.belief is not None and not trial.state.again
    }
    if not beliefs:
        return None
    values = {number: belief.p for number, belief in beliefs.items()}
    pooled = sitting.state.settings.pooled(node, values, dead=count - len(beliefs))
    sitting.recorder.record(
        lambda put: ev.LeafPooled(
            node=node,
            p=pooled,
            key_factor=next(iter(beliefs.values())).key_factor,
            report=put(_pooled_report([*beliefs.values()])),
            trials=tuple(values.values()),
            dead=count - len(beliefs),
        )
    )
    return True


async def _keep_earlier(sitting: Sitting, node: NodeId) -> bool:
    """Let what a leaf concluded before stand, where grounding it again came to nothing; False if there is no such."""
    state, folder = sitting.state, sitting.store.folder(sitting.state.run_id)

    def restore() -> None:
        for trial in range(1, state.settings.trials_at(node) + 1):
            proof = state.trial(node, trial)
            if proof.belief is not None and proof.journal_head is not None:
                # The attempt that failed has written its own notebook in the place of this one.
                journal = read_journal(folder / "sessions" / journal_name(node, trial, proof.concluded))
                book = render_notebook(journal, title=f"{node}: {state.tree[node].statement}")
                write_notebook(folder / "proofs" / notebook_name(node, trial), book)

    if state.tree[node].belief is None:
        return False
    await asyncio.to_thread(restore)
    return True


def _pooled_report(beliefs: Sequence[Belief]) -> str:
    if len(beliefs) == 1:
        return beliefs[0].report
    return "\n\n".join(
        f"Trial {trial}: p = {belief.p:.4f}\n\n{belief.report}" for trial, belief in enumerate(beliefs, 1)
    )


@dataclass(slots=True)
class TrialGrounding:
    """One trial of a leaf in this sitting; ``attempt`` is the one in work."""

    sitting: Sitting
    node: NodeId
    number: int
    attempt: int = 0

    @property
    def state(self) -> TrialState:
        """Where the trial stands."""
        return self.sitting.state.trial(self.node, self.number)

    @property
    def direct(self) -> bool:
        """Whether it forecasts a claim that has drivers, without them."""
        return bool(self.sitting.state.tree[self.node].children)

    @property
    def _grounder(self) -> Grounder:
        return self.sitting.direct if self.direct else self.sitting.grounder

    @property
    def _place(self) -> dict[str, Any]:
        return {"node": self.node, "trial": self.number, "attempt": self.attempt}

    async def ground(self) -> None:
        """Ground a leaf once, in as many attempts as it takes and is allowed; how it ended is on the log."""
        sitting, begun = self.sitting, self.state
        if begun.belief is not None and not begun.again:
            return
        # An attempt that a kill or an outage cut off goes on under its own number: its replies and data calls are found in
        # the ledgers at the same addresses and are not paid for again. The bound below counts from here, so each sitting has
        # all its tries.
        # One that got no usable reply goes on at the step that needs it, so its notebook is not bought again either.
        self.attempt = begun.attempt if begun.open or begun.goes_on else begun.attempt + 1
        last = self.attempt + sitting.state.settings.max_proof_retries - 1
        while True:
            try:
                async with asyncio.timeout(self._seconds_left()):
                    outcome = await self._attempt()
            except TimeoutError:
                self._wait(sentence("its time is used up: ", Option("leaf_budget_seconds", by_set=True)))
                return
            except AccountRefused:
                raise  # nobody in this run will be answered: it stops once, and the attempt stays open
            # Neither is a fault of the proof: the attempt stays open, and a resumed run asks for nothing in it again.
            except (ModelError, ProxyError, LeafBudgetSpent, KernelStartFailed, RebuyNeeded) as error:
                self._wait(str(error))
                return
            if isinstance(outcome, Grounding):
                await self._conclude(outcome)
                return
            final = self.attempt >= last or not outcome.retryable
            sitting.recorder.record(
                ev.LeafFailed(
                    **self._place,
                    reason=outcome.reason,
                    final=final,
                    gave_up=None if outcome.retryable else outcome.gave_up,
                )
            )
            if final:
                return
            self.attempt += 1

    def _seconds_left(self) -> float | None:
        """How long a trial may still work, its attempts of all sittings counted; None without a limit."""
        limit = self.sitting.state.settings.leaf_budget_seconds
        return None if limit is None else max(0.0, limit - self.state.until(utc_now()))

    def _wait(self, reason: str) -> None:
        self.sitting.recorder.record(ev.LeafWaiting(**self._place, reason=reason[:1000]))

    async def _attempt(self) -> Grounding | GroundingFailure:
        sitting, node = self.sitting, self.node
        if not self.state.open:
            goes_on = self.state.attempt == self.attempt  # with the prompts that it began with
            sitting.recorder.record(
                ev.LeafStarted(
                    **self._place,
                    known_calls=() if goes_on else sitting.shared_calls.offered(node),
                    asked_on=sitting.state.parsed_cutoff().asked_on(sitting.gateway.clock()).isoformat(),
                )
            )
        job = sitting.job(node, self.number, self.attempt)
        carried = sitting.state.follows.leaves.get(node) if sitting.state.follows is not None else None

        async def cell_has_run() -> None:
            sitting.shared_calls.note_progress(node)

        try:
            if sitting.workers is not None and carried is None and not self.direct:
                outcome = await sitting.workers.ground(job, sitting)
            else:
                outcome = await ground_job(
                    job,
                    grounder=self._grounder if carried is None else CarriedGrounder(carried, self.number),
                    ask=sitting.gateway.asker(
                        run=job.run,
                        role="grounder",
                        asked_of=job.settings.direct_model(self.number) if node == ROOT else None,
                        on_reply=sitting.on_reply,
                        **self._place,
                    ),
                    data=sitting.data(job),
                    guide=sitting.guide,
                    sandbox=sitting.sandbox,
                    level=sitting.level,
                    slots=sitting.slots,
                    folder=sitting.store.folder(job.run),
                    on_cell=cell_has_run,
                    verdicts=sitting.verdicts,
                )
        except (WorkbenchError, SandboxError, ProxyError):
            raise  # these stop the run, or this leaf until a later sitting
        except Exception as error:
            if self._package is None or is_resource_error(error):  # a bug of ours: the traceback helps
                raise
            return self._broken(f"raised {type(error).__name__}: {error}")
        if isinstance(outcome, Grounding):
            # Evidence that cannot be read back would stay so on an append-only log.
            try:
                read_evidence(orjson.loads(_stored(outcome.evidence)))
            except (MissingEvidence, TypeError, AttributeError) as error:
                return self._broken(f"gave evidence that cannot be read back: {error}")
        return outcome

    @property
    def _grounder_name(self) -> str:
        return DIRECT if self.direct else self.sitting.state.settings.grounder

    @property
    def _package(self) -> str | None:
        return package_of(GROUNDERS, self._grounder_name)

    def _broken(self, what: str) -> GroundingFailure:
        by = f" of the package {self._package}" if self._package else ""
        return GroundingFailure(
            reason=f"the grounder {self._grounder_name}{by} {what}"[:500], retryable=False
        )

    async def _journal_head(self) -> str | None:
        """Return the head of the attempt's journal, which is closed by now; nothing is appended to it any more."""
        folder = self.sitting.store.folder(self.sitting.state.run_id)
        journal = folder / "sessions" / journal_name(self.node, self.number, self.attempt)
        if not journal.exists():  # a thread costs a leaf without a notebook more than its proof does
            return None
        try:
            return await asyncio.to_thread(read_head, journal)  # it may be long
        except JournalBroken:  # the check that follows says so, and puts it on record
            return None

    async def _conclude(self, grounding: Grounding) -> None:
        belief, evidence, head = grounding.belief, grounding.evidence, await self._journal_head()
        self.sitting.recorder.record(
            lambda put: ev.LeafGrounded(
                **self._place,
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
                journal_head=head,
                findings=tuple(ev.FindingRecord(**finding.to_json()) for finding in grounding.findings),
            )
        )


def check_proofs(sitting: Sitting, leaf: NodeId, checks: asyncio.TaskGroup) -> None:
    """Start tasks that write and verify the unchecked proofs of a leaf; its value does not wait for them."""
    for number in range(1, sitting.state.settings.trials_at(leaf) + 1):
        trial = sitting.state.trial(leaf, number)
        if trial.belief is not None and trial.verified is None and not trial.again:
            checks.create_task(_check_proof(sitting, leaf, number))


async def _check_proof(sitting: Sitting, node: NodeId, number: int) -> None:
    """Write the proof notebook of a concluded trial, verify it by its own evidence, and put the outcome on record.

    Rendered and written in a thread: a synced write takes 5 to 50 ms, and a thousand leaves would queue for them.
    """
    proof = proof_context(sitting.store, sitting.state, node, number)

    def write() -> None:
        evidence = stored_evidence(sitting.store, sitting.state, node, number)
        book = proof_notebook(evidence, proof)
        if book is not None:
            write_notebook(proof.notebook, book)

    # The check reads from the store what the log holds, as a later `verify` will.
    await sitting.recorder.committed()
    await asyncio.to_thread(write)
    # The re-run's kernel is open while it computes and no longer, so a slot bounds both.
    async with sitting.slots.run(last=True):
        outcome = await verify_trial(
            sitting.store,
            sitting.state,
            node,
            number,
            sandbox=sitting.sandbox,
            level=sitting.level,
            limits=sitting.limits,
        )
    sitting.recorder.record(
        ev.LeafVerified(
            node=node,
            trial=number,
            verified=outcome.verified,
            differing=tuple(
                f"{item.check} {item.cell or ''}: {item.what}"[:300] for item in outcome.differing
            ),
            findings=tuple(
                ev.FindingRecord(check=REPEATS, words=f"{item.cell}: {item.what}")
                for item in outcome.unrepeatable
            ),
        )
    )


def _stored(evidence: Evidence) -> bytes:
    return orjson.dumps(evidence.to_json(), option=orjson.OPT_SORT_KEYS)
