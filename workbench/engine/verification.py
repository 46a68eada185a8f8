"""Does a run's evidence still stand? Each proof is compared with itself and with a re-run, offline, from the ledger."""

from dataclasses import dataclass
from typing import Any

import orjson

from proxies.ledger import Address
from sandbox import Limits, Sandbox
from sandbox.verify import Difference, Verification, verify_proof
from workbench.agents.errors import MalformedReply
from workbench.agents.replies import parse_conclusion
from workbench.engine.manifest import packages
from workbench.engine.state import RunState, load_state, notebook_name
from workbench.errors import UsageError
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
    """Verify one concluded trial of a leaf."""
    attempt = state.trial(node, trial).attempt
    folder = store.folder(state.run_id)
    try:
        rows = [
            row
            for row in ApiLedger(store).rows(state.run_id, node)
            if (row.address.trial, row.address.attempt, row.address.stage) == (trial, attempt, "cell")
        ]
    except StoreCorrupt as error:
        return Verification(cells=0, differing=(Difference(check="ledger", cell=None, what=str(error)),))
    return await verify_proof(
        sandbox,
        journal=folder / "sessions" / f"{node}.{trial}.{attempt}.jsonl",
        notebook=folder / "proofs" / notebook_name(node, trial),
        rows=rows,
        isolation=state.isolation or state.settings.isolation,
        limits=limits,
        same_packages=_packages_of(store, state) in (None, packages()),
        conclusion=lambda: _conclusion(store, state, node, trial, attempt),
    )


def _packages_of(store: Store, state: RunState) -> dict[str, str] | None:
    """The package versions of the run's manifest; None where it has no manifest."""
    path = store.folder(state.run_id) / "manifest.json"
    if not path.is_file():
        return None
    found = orjson.loads(path.read_bytes()).get("packages")
    return found if isinstance(found, dict) else None


def _conclusion(store: Store, state: RunState, node: NodeId, trial: int, attempt: int) -> str | None:
    """Parse p again from the recorded conclusion and say where it is not what the log holds."""
    belief = state.trial(node, trial).belief
    place = Address(
        run=state.run_id, node=node, trial=trial, attempt=attempt, stage="conclude", step=0, retry=0
    )
    try:
        reply = ModelLedger(store).last_reply(place)
    except StoreCorrupt as error:
        return str(error)
    if reply is None or belief is None:
        return "the ledger holds no conclusion"
    try:
        p = parse_conclusion(reply.text).p
    except MalformedReply as error:
        return f"the recorded conclusion cannot be read: {error.reason}"
    return None if p == belief.p else f"the conclusion says {p!r}, the log {belief.p!r}"
