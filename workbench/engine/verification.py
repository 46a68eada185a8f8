"""Does a run's evidence still stand? Each proof is compared with itself and with a re-run, offline, from the ledger."""

from dataclasses import dataclass
from typing import Any

import orjson

from proxies.ledger import Address
from sandbox import Limits, Sandbox
from sandbox.record.verify import Difference, Verification, compare_proof, verify_proof
from workbench.agents.errors import MalformedReply
from workbench.agents.replies import parse_conclusion
from workbench.engine.manifest import packages
from workbench.engine.state import RunState, journal_name, load_state, notebook_name
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


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCheck:
    """What came of a run's proofs, and the level of the kernels they were re-run in; None where nothing was re-run."""

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
        The level the person at this machine asked for; the best sealed one that works here without it. The level in the
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
        state.tree[node]  # an unknown node is told as such
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
    """Verify one concluded trial of a leaf; its kernel starts at ``isolation``."""
    try:
        evidence = _evidence(store, state, node, trial)
    except StoreCorrupt as error:
        return _corrupt(error)
    return await verify_proof(
        sandbox,
        **evidence,
        isolation=isolation,
        limits=limits,
        same_packages=_packages_of(store, state) in (None, packages()),
    )


def compare_trial(store: Store, state: RunState, node: NodeId, trial: int) -> Verification:
    """Compare one concluded trial of a leaf with its own records; nothing is re-run."""
    try:
        return compare_proof(**_evidence(store, state, node, trial))
    except StoreCorrupt as error:
        return _corrupt(error)


def _evidence(store: Store, state: RunState, node: NodeId, trial: int) -> dict[str, Any]:
    """Return what a proof is compared by: its journal, notebook, ledger rows and conclusion."""
    attempt = state.trial(node, trial).attempt
    folder = store.folder(state.run_id)
    rows = [
        row
        for row in ApiLedger(store).rows(state.run_id, node)
        if (row.address.trial, row.address.attempt, row.address.stage) == (trial, attempt, "cell")
    ]
    return {
        "journal": folder / "sessions" / journal_name(node, trial, attempt),
        "notebook": folder / "proofs" / notebook_name(node, trial),
        "rows": rows,
        "conclusion": lambda: _conclusion(store, state, node, trial, attempt),
    }


def _corrupt(error: StoreCorrupt) -> Verification:
    return Verification(cells=0, differing=(Difference(check="ledger", cell=None, what=str(error)),))


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
