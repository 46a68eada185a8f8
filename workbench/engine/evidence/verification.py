"""Does a run's evidence still stand? Each proof is compared with itself and with a re-run, offline, from the ledger."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson

from proxies.ledger import Address, LedgerRow
from sandbox import Limits, Sandbox
from sandbox.verify import Difference, Verification, verify_proof
from workbench.agents.evidence.base import MissingEvidence, ProofContext, read_evidence
from workbench.engine.run.manifest import packages
from workbench.engine.run.state import RunState, load_state, notebook_name
from workbench.errors import UsageError
from workbench.models.base import ModelReply, NodeRef
from workbench.propositions import NodeId
from workbench.store import ApiLedger, ModelLedger, Store, StoreCorrupt


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofCheck:
    """What came of one proof: the leaf, its trial, and what differs."""

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


async def verify_run(store: Store, run_id: str, node: NodeId | None = None) -> list[ProofCheck]:
    """Verify every concluded proof of a run, or one leaf's.

    Raises
    ------
    UsageError
        The node has no concluded proof, or the run has none at all.
    """
    state = load_state(store, run_id)
    if node is not None:
        state.tree[node]  # an unknown node is told as such
    proofs = [key for key, trial in sorted(state.trials.items()) if trial.belief and node in (None, key[0])]
    if not proofs:
        of = f"{node} of run {run_id}" if node else f"run {run_id}"
        raise UsageError(f"{of} has no concluded proof to verify: proofs belong to grounded leaves")
    level = state.isolation or state.settings.isolation
    sandbox = Sandbox(isolation=level)
    try:
        return [
            ProofCheck(
                node=leaf, trial=trial, outcome=await verify_trial(store, state, leaf, trial, sandbox=sandbox)
            )
            for leaf, trial in proofs
        ]
    finally:
        await sandbox.aclose()


async def verify_trial(
    store: Store, state: RunState, node: NodeId, trial: int, *, sandbox: Sandbox, limits: Limits | None = None
) -> Verification:
    """Verify one concluded trial of a leaf by its own evidence."""
    record = state.trial(node, trial).evidence
    assert record is not None, "a concluded trial has evidence"
    proof = proof_context(store, state, node, trial, sandbox=sandbox, limits=limits)
    try:
        data = orjson.loads(store.body(record.body)) if record.body else {}
        evidence = read_evidence(record.kind, data, package=record.package)
    except (StoreCorrupt, MissingEvidence) as error:
        return Verification(cells=0, differing=(Difference(check="evidence", cell=None, what=str(error)),))
    return await evidence.verify(proof)


def proof_context(
    store: Store,
    state: RunState,
    node: NodeId,
    trial: int,
    *,
    sandbox: Sandbox | None = None,
    limits: Limits | None = None,
) -> ProofContext:
    """Return the records of one concluded trial, for its evidence; without a sandbox nothing can be replayed."""
    concluded = state.trial(node, trial)
    assert concluded.belief is not None, "only a concluded trial has a proof"
    attempt, folder = concluded.attempt, store.folder(state.run_id)
    notebook = folder / "proofs" / notebook_name(node, trial)

    def data_calls(stage: str | None = None) -> list[LedgerRow]:
        return [
            row
            for row in ApiLedger(store).rows(state.run_id, node)
            if (row.address.trial, row.address.attempt) == (trial, attempt)
            and stage in (None, row.address.stage)
        ]

    def last_reply(stage: str) -> ModelReply | None:
        place = Address(
            run=state.run_id, node=node, trial=trial, attempt=attempt, stage=stage, step=0, retry=0
        )
        return ModelLedger(store).last_reply(place)

    async def replay(conclusion: Callable[[], str | None]) -> Verification:
        if sandbox is None:
            raise RuntimeError("a proof can be replayed only while it is verified")
        try:
            rows = data_calls("cell")
        except StoreCorrupt as error:
            return Verification(cells=0, differing=(Difference(check="ledger", cell=None, what=str(error)),))
        return await verify_proof(
            sandbox,
            journal=folder / "sessions" / f"{node}.{trial}.{attempt}.jsonl",
            notebook=notebook,
            rows=rows,
            isolation=state.isolation or state.settings.isolation,
            limits=limits,
            same_packages=_packages_of(store, state) in (None, packages()),
            conclusion=conclusion,
        )

    return ProofContext(
        node=NodeRef(id=node, statement=state.tree[node].statement),
        trial=trial,
        attempt=attempt,
        cutoff=state.cutoff,
        belief=concluded.belief,
        notebook=notebook,
        data_calls=data_calls,
        last_reply=last_reply,
        replay=replay,
    )


def _packages_of(store: Store, state: RunState) -> dict[str, str] | None:
    """The package versions of the run's manifest; None where it has no manifest."""
    path = store.folder(state.run_id) / "manifest.json"
    if not path.is_file():
        return None
    found = orjson.loads(path.read_bytes()).get("packages")
    return found if isinstance(found, dict) else None
