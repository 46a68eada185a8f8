"""Does a run's evidence still stand? Each proof is compared with its records and checked by its own evidence, offline."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson

from proxies.ledger import Address, LedgerRow
from sandbox import Limits, Sandbox
from sandbox.record.verify import Difference, Verification, verify_proof
from workbench.agents.evidence.base import Evidence, MissingEvidence, ProofContext, read_evidence
from workbench.engine.run.manifest import packages
from workbench.engine.run.state import RunState, journal_name, load_state, notebook_name
from workbench.errors import UsageError
from workbench.models.base import ModelReply, NodeRef
from workbench.propositions import NodeId
from workbench.store import ApiLedger, ModelLedger, Store, StoreCorrupt


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofCheck:
    """The outcome for one proof: the leaf, its trial, and what differs."""

    node: NodeId
    trial: int
    outcome: Verification

    def rows(self, differences: tuple[Difference, ...]) -> list[dict[str, Any]]:
        """Return differences as JSON rows that name the leaf."""
        return [
            {
                "node": self.node,
                "trial": self.trial,
                "check": item.check,
                "cell": item.cell,
                "what": item.what,
            }
            for item in differences
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCheck:
    """The outcome for a run's proofs, and the level of the kernels they were re-run in; None if nothing was re-run."""

    proofs: list[ProofCheck]
    isolation: str | None


async def verify_run(
    store: Store, run_id: str, node: NodeId | None = None, *, isolation: str | None = None
) -> RunCheck:
    """Verify every concluded proof of a run, or one leaf's.

    All records are compared first. If any differs, no cell of the run is executed: a run that was altered somewhere is not
    trusted elsewhere.

    Parameters
    ----------
    isolation : str, optional
        The level the person at this machine asked for; without it the best sealed one that works here. The level in the
        run's log is not looked at, since whoever wrote the run would then choose it.

    Raises
    ------
    UsageError
        The node has no concluded proof, or the run has none at all.
    IsolationUnavailable
        A re-run is due and the level does not work here.
    """
    state = load_state(store, run_id)
    if node is not None:
        state.tree[node]  # raises for an unknown node
    proofs = [key for key, trial in sorted(state.trials.items()) if trial.belief and node in (None, key[0])]
    if not proofs:
        of = f"{node} of run {run_id}" if node else f"run {run_id}"
        raise UsageError(f"{of} has no concluded proof to verify: proofs belong to grounded leaves")
    recorded = [
        ProofCheck(node=leaf, trial=trial, outcome=compare_trial(store, state, leaf, trial))
        for leaf, trial in proofs
    ]
    if any(check.outcome.differing for check in recorded):
        return RunCheck(proofs=recorded, isolation=None)
    sandbox = Sandbox(isolation=isolation)
    try:
        level = await sandbox.level()
        checks = [
            ProofCheck(
                node=leaf,
                trial=trial,
                outcome=await verify_trial(store, state, leaf, trial, sandbox=sandbox, isolation=level),
            )
            for leaf, trial in proofs
        ]
        return RunCheck(proofs=checks, isolation=level)
    finally:
        await sandbox.aclose()


async def verify_trial(
    store: Store,
    state: RunState,
    node: NodeId,
    trial: int,
    *,
    sandbox: Sandbox,
    isolation: str,
    limits: Limits | None = None,
) -> Verification:
    """Verify one concluded trial of a leaf by its own evidence; kernels that it needs start at ``isolation``."""
    try:
        evidence = stored_evidence(store, state, node, trial)
    except (StoreCorrupt, MissingEvidence) as error:
        return _unreadable(error)

    async def replay(proof: ProofContext, conclusion: Callable[[], str | None]) -> Verification:
        return await verify_proof(
            sandbox,
            journal=proof.journal,
            notebook=proof.notebook,
            rows=proof.data_calls("cell"),
            conclusion=conclusion,
            isolation=isolation,
            limits=limits,
            same_packages=_packages_of(store, state) in (None, packages()),
        )

    try:
        return await evidence.verify(proof_context(store, state, node, trial), replay)
    except StoreCorrupt as error:
        return _corrupt(error)


def compare_trial(store: Store, state: RunState, node: NodeId, trial: int) -> Verification:
    """Compare one concluded trial of a leaf with its own records; nothing is executed."""
    try:
        return stored_evidence(store, state, node, trial).compare(proof_context(store, state, node, trial))
    except MissingEvidence as error:
        return _unreadable(error)
    except StoreCorrupt as error:
        return _corrupt(error)


def proof_context(store: Store, state: RunState, node: NodeId, trial: int) -> ProofContext:
    """Return the records of one concluded trial, for its evidence."""
    concluded = state.trial(node, trial)
    assert concluded.belief is not None, "only a concluded trial has a proof"
    attempt, folder = concluded.attempt, store.folder(state.run_id)

    def data_calls(stage: str | None = None) -> list[LedgerRow]:
        return [
            row
            for row in ApiLedger(store).rows(state.run_id, node)
            if (row.address.trial, row.address.attempt) == (trial, attempt)
            and stage in (None, row.address.stage)
        ]

    def last_reply(stage: str) -> ModelReply | None:
        address = Address(
            run=state.run_id, node=node, trial=trial, attempt=attempt, stage=stage, step=0, retry=0
        )
        return ModelLedger(store).last_reply(address)

    return ProofContext(
        node=NodeRef(id=node, statement=state.tree[node].statement),
        trial=trial,
        attempt=attempt,
        cutoff=state.cutoff,
        belief=concluded.belief,
        journal=folder / "sessions" / journal_name(node, trial, attempt),
        notebook=folder / "proofs" / notebook_name(node, trial),
        data_calls=data_calls,
        last_reply=last_reply,
    )


def stored_evidence(store: Store, state: RunState, node: NodeId, trial: int) -> Evidence:
    """Return what a concluded trial rests on, as its kind reads it; raises ``MissingEvidence`` or ``StoreCorrupt``."""
    record = state.trial(node, trial).evidence
    assert record is not None, "a concluded trial has evidence"
    data = orjson.loads(store.body(record.body)) if record.body else {}
    return read_evidence(record.kind, data, package=record.package)


def _unreadable(error: Exception) -> Verification:
    return Verification(cells=0, differing=(Difference(check="evidence", cell=None, what=str(error)),))


def _corrupt(error: StoreCorrupt) -> Verification:
    return Verification(cells=0, differing=(Difference(check="ledger", cell=None, what=str(error)),))


def _packages_of(store: Store, state: RunState) -> dict[str, str] | None:
    """The package versions of the run's manifest; None if it has no manifest."""
    path = store.folder(state.run_id) / "manifest.json"
    if not path.is_file():
        return None
    versions = orjson.loads(path.read_bytes()).get("packages")
    return versions if isinstance(versions, dict) else None
