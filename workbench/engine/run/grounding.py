"""From a leaf to its belief: trials, attempts, the lazily opened notebook, and the check of the finished proof."""

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import orjson

from proxies.broker import Broker, BrokerSession
from proxies.catalogue import Catalogue, api_doc, api_map, api_search
from proxies.errors import ProxyError
from proxies.ledger import Address, Answer
from sandbox import Limits, Sandbox, SessionSpec
from sandbox.errors import JournalBroken, SandboxError
from sandbox.record.journal import read_head
from sandbox.session import Session
from workbench.agents.base import Grounder, Grounding, GroundingFailure, LeafTask
from workbench.agents.evidence.base import Evidence, MissingEvidence, read_evidence
from workbench.engine.evidence.verification import proof_context, stored_evidence, verify_trial
from workbench.engine.run.asking import ModelGateway
from workbench.engine.run.files import write_notebook
from workbench.engine.run.recorder import Recorder
from workbench.engine.run.state import journal_name, notebook_name, session_name
from workbench.errors import WorkbenchError
from workbench.models.base import NodeRef
from workbench.models.errors import ModelError
from workbench.plugins import EVIDENCE, GROUNDERS, package_of
from workbench.propositions import Belief, NodeId
from workbench.science.pooling.pool import pool_logit_mean
from workbench.store import ApiLedger
from workbench.store import events as ev


@dataclass(frozen=True, slots=True)
class CatalogueGuide:
    """The documentation of a catalogue, as agents read it (``workbench.agents.base.DataGuide``)."""

    catalogue: Catalogue
    overview: str

    @classmethod
    def of(cls, catalogue: Catalogue) -> "CatalogueGuide":
        """Return the guide of a catalogue; its overview is made once."""
        return cls(catalogue, api_map(catalogue))

    def document(self, paths: list[str]) -> str:
        """Return the documentation of 1 to 25 full endpoint paths as Markdown; raises ``ProxyError``."""
        return api_doc(self.catalogue, paths)

    def search(self, words: str) -> str:
        """Return the endpoints that match some words, a line each; raises ``ProxyError``."""
        return api_search(self.catalogue, words)


class LeafGrounding:
    """Grounds the leaves of one run.

    Parameters
    ----------
    recorder : Recorder
    grounder : Grounder
    gateway : ModelGateway
    broker, catalogue
        The only way to data; every session of the run reads through it at the run's cutoff.
    sandbox, isolation, limits
        Where notebooks run, the level of this sitting's kernels, and the bounds of one.
    """

    def __init__(
        self,
        recorder: Recorder,
        *,
        grounder: Grounder,
        gateway: ModelGateway,
        broker: Broker,
        catalogue: Catalogue,
        sandbox: Sandbox,
        isolation: str,
        limits: Limits,
    ) -> None:
        self._recorder = recorder
        self._grounder = grounder
        self._gateway = gateway
        self._broker = broker
        self._guide = CatalogueGuide.of(catalogue)
        self._sandbox = sandbox
        self._isolation = isolation
        self._limits = limits
        self._cutoff = recorder.state.parsed_cutoff()
        self._ledger = ApiLedger(recorder.store)
        self._package = package_of(GROUNDERS, recorder.state.settings.grounder)
        self._slots = asyncio.Semaphore(recorder.state.settings.concurrency)

    async def leaf(self, node: NodeId) -> bool:
        """Run the trials of a leaf and record its pooled belief; called once per leaf by ``TreeGrounding``.

        Returns False if a trial failed for good: the reason is on the log, nothing is raised, other leaves go on.
        """
        trials = range(1, self._recorder.state.settings.trials + 1)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._trial(node, trial), name=f"{node}.{trial}") for trial in trials]
        if not all(task.result() for task in tasks):
            return False
        beliefs = [
            belief
            for trial in trials
            if (belief := self._recorder.state.trial(node, trial).belief) is not None
        ]
        values = [belief.p for belief in beliefs]
        self._recorder.record(
            lambda: ev.LeafPooled(
                node=node,
                p=pooled(values),
                key_factor=beliefs[0].key_factor,
                report=self._recorder.store.put_body(_pooled_report(beliefs)),
                trials=tuple(values),
            )
        )
        return True

    async def _trial(self, node: NodeId, trial: int) -> bool:
        """Ground a leaf once, in as many attempts as it takes and is allowed."""
        begun = self._recorder.state.trial(node, trial)
        if begun.belief is not None:
            if begun.verified is None:  # an earlier process ended between conclusion and check
                evidence = stored_evidence(self._recorder.store, self._recorder.state, node, trial)
                await self._check(node, trial, evidence)
            return True
        # An attempt that a kill cut off goes on under its own number: its replies and data calls are found in the ledgers at
        # the same addresses and are not paid for again. The bound below counts from here, so each sitting has all its tries.
        attempt = begun.attempt if begun.open else begun.attempt + 1
        last = attempt + self._recorder.state.settings.max_proof_retries - 1
        while True:
            async with self._slots:
                # One slot for the attempt and its check, as both may hold a kernel; it is free again between two attempts.
                outcome = await self._attempt(node, trial, attempt)
                if isinstance(outcome, Grounding):
                    # In a thread, as a journal may be long; the session is closed by now, so no cell follows this head.
                    head = await asyncio.to_thread(self._journal_head, node, trial, attempt)
                    self._record_grounding(node, trial, attempt, outcome, head)
                    await self._check(node, trial, outcome.evidence)
                    return True
            final = attempt >= last or not outcome.retryable
            self._recorder.record(
                ev.LeafFailed(node=node, trial=trial, attempt=attempt, reason=outcome.reason, final=final)
            )
            if final:
                return False
            attempt += 1

    async def _attempt(self, node: NodeId, trial: int, attempt: int) -> Grounding | GroundingFailure:
        state = self._recorder.state
        if not state.trial(node, trial).open:
            self._recorder.record(ev.LeafStarted(node=node, trial=trial, attempt=attempt))
        ref = NodeRef(id=node, statement=state.tree[node].statement)
        caller = _DataCalls(
            self._broker.session(self._cutoff, self._ledger, strict=state.settings.strict),
            state.run_id,
            node,
            trial,
            attempt,
        )
        async with AsyncExitStack() as stack:
            notebook = _LazyNotebook(self._sandbox, self._spec(ref, trial, attempt), caller, stack)
            try:
                outcome = await self._grounder.ground(
                    LeafTask(
                        node=ref,
                        cutoff=self._cutoff,
                        ask=self._gateway.asker(run=state.run_id, node=node, trial=trial, attempt=attempt),
                        open_notebook=notebook.open,
                        call_api=caller.from_grounder,
                        data=self._guide,
                        settings=state.settings.agent,
                    )
                )
            except (ModelError, ProxyError) as error:
                return GroundingFailure(reason=str(error), retryable=False)
            except (WorkbenchError, SandboxError):  # these stop the run
                raise
            except Exception as error:
                if self._package is None:  # a bug of ours: the traceback helps
                    raise
                return self._broken(f"raised {type(error).__name__}: {error}")
        return self._readable(outcome)

    def _readable(self, outcome: Grounding | GroundingFailure) -> Grounding | GroundingFailure:
        """Return the outcome, or a failure if its evidence cannot be read back: on an append-only log it would stay so."""
        if isinstance(outcome, Grounding):
            try:
                evidence = outcome.evidence
                read_evidence(evidence.kind, orjson.loads(_stored(evidence)))
            except (MissingEvidence, TypeError, AttributeError) as error:
                return self._broken(f"gave evidence that cannot be read back: {error}")
        return outcome

    def _broken(self, what: str) -> GroundingFailure:
        name = self._recorder.state.settings.grounder
        by = f" of the package {self._package}" if self._package else ""
        return GroundingFailure(reason=f"the grounder {name}{by} {what}"[:500], retryable=False)

    def _spec(self, node: NodeRef, trial: int, attempt: int) -> SessionSpec:
        state = self._recorder.state
        folder = self._recorder.store.folder(state.run_id)
        return SessionSpec(
            name=session_name(node.id, trial, attempt),
            journal=folder / "sessions" / journal_name(node.id, trial, attempt),
            notebook=folder / "proofs" / notebook_name(node.id, trial),
            isolation=self._isolation,
            limits=self._limits,
            title=f"{node.id}: {node.statement}",
            metadata={
                "run": state.run_id,
                "node": node.id,
                "trial": trial,
                "attempt": attempt,
                "cutoff": state.cutoff,
            },
        )

    def _journal_head(self, node: NodeId, trial: int, attempt: int) -> str | None:
        """Return the head of the attempt's journal, which is closed by now; nothing is appended to it any more."""
        folder = self._recorder.store.folder(self._recorder.state.run_id)
        try:
            return read_head(folder / "sessions" / journal_name(node, trial, attempt))
        except JournalBroken:  # the check that follows says so, and puts it on record
            return None

    def _record_grounding(
        self, node: NodeId, trial: int, attempt: int, grounding: Grounding, journal_head: str | None
    ) -> None:
        store, belief, evidence = self._recorder.store, grounding.belief, grounding.evidence
        self._recorder.record(
            lambda: ev.LeafGrounded(
                node=node,
                trial=trial,
                attempt=attempt,
                p=belief.p,
                key_factor=belief.key_factor,
                report=store.put_body(belief.report),
                steps=grounding.trace.get("steps", 0),
                failed_cells=grounding.trace.get("failed_cells", 0),
                evidence=ev.EvidenceRecord(
                    kind=evidence.kind,
                    package=package_of(EVIDENCE, evidence.kind),
                    body=store.put_body(_stored(evidence)),
                ),
                journal_head=journal_head,
            )
        )

    async def _check(self, node: NodeId, trial: int, evidence: Evidence) -> None:
        """Write the proof notebook of a concluded trial, verify it by its own evidence, and put the outcome on record.

        Rendered and written in a thread: a synced write takes 5 to 50 ms, and a thousand leaves would queue for them.
        """
        proof = proof_context(self._recorder.store, self._recorder.state, node, trial)

        def write() -> None:
            book = evidence.render(proof)
            if book is not None:
                write_notebook(proof.notebook, book)

        await asyncio.to_thread(write)
        outcome = await verify_trial(
            self._recorder.store,
            self._recorder.state,
            node,
            trial,
            sandbox=self._sandbox,
            isolation=self._isolation,
            limits=self._limits,
        )
        lines = tuple(f"{item.check} {item.cell or ''}: {item.what}"[:300] for item in outcome.differing)
        self._recorder.record(
            ev.LeafVerified(node=node, trial=trial, verified=outcome.verified, differing=lines)
        )


class _LazyNotebook:
    """``LeafTask.open_notebook``: starts the sealed session when a grounder first asks for it."""

    def __init__(
        self, sandbox: Sandbox, spec: SessionSpec, caller: "_DataCalls", stack: AsyncExitStack
    ) -> None:
        self._sandbox = sandbox
        self._spec = spec
        self._caller = caller
        self._stack = stack
        self._session: Session | None = None
        self._lock = asyncio.Lock()

    async def open(self) -> Session:
        """Return the session, started at the first call; raises ``KernelStartFailed``."""
        # A grounder may ask twice at once; without the lock each would start a kernel and one would have no owner.
        async with self._lock:
            if self._session is None:
                self._session = await self._sandbox.open(self._spec, self._caller.from_cell)
                self._stack.push_async_callback(self._session.close)
            return self._session


class _DataCalls:
    """Data calls of one attempt: adds its address and passes them on to the broker."""

    def __init__(self, data: BrokerSession, run: str, node: str, trial: int, attempt: int) -> None:
        self._data = data
        self._attempt = {"run": run, "node": node, "trial": trial, "attempt": attempt}

    async def from_cell(self, path: str, params: Mapping[str, Any], *, cell: int, nth: int) -> Answer:
        """Answer ``CALL_API`` of a cell; called by the wire server."""
        return await self._data.call(
            path,
            params,
            Address(**self._attempt, stage="cell", step=cell, retry=nth),  # type: ignore[arg-type]
        )

    async def from_grounder(
        self, path: str, params: Mapping[str, Any], *, step: int, retry: int = 0
    ) -> Answer:
        """Answer a grounder that calls data itself (``LeafTask.call_api``)."""
        return await self._data.call(
            path,
            params,
            Address(**self._attempt, stage="tool", step=step, retry=retry),  # type: ignore[arg-type]
        )


def pooled(values: list[float]) -> float:
    """Return what trials of a leaf count as: their logit mean; a single trial comes back unchanged, to the last bit."""
    # The way through the logit and back changes the last bits of most values, and it clips 0 and 1.
    return values[0] if len(values) == 1 else float(pool_logit_mean([values])[0])


def _stored(evidence: Evidence) -> bytes:
    return orjson.dumps(evidence.to_json(), option=orjson.OPT_SORT_KEYS)


def _pooled_report(beliefs: list[Belief]) -> str:
    if len(beliefs) == 1:
        return beliefs[0].report
    return "\n\n".join(
        f"Trial {trial}: p = {belief.p:.4f}\n\n{belief.report}" for trial, belief in enumerate(beliefs, 1)
    )
