"""Does a run's evidence still stand? Each proof is compared with its records and checked by its own evidence, offline."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from sandbox import Limits, Sandbox
from sandbox.errors import JournalBroken
from sandbox.record.journal import ends_at
from sandbox.record.verify import Difference, Verification, verify_proof
from workbench.agents.evidence.base import (
    Evidence,
    EvidenceBroken,
    MissingEvidence,
    ProofContext,
    package_errors,
    read_evidence,
)
from workbench.engine.evidence.attempt_records import attempt_context
from workbench.engine.evidence.combined import Combined, combined_faults
from workbench.engine.run.fold import load_state
from workbench.engine.run.imported import signature_fault
from workbench.engine.run.manifest import packages
from workbench.engine.run.proof_names import journal_name
from workbench.engine.run.state import RunState
from workbench.errors import UsageError
from workbench.propositions import NodeId
from workbench.store import Store, StoreCorrupt


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofCheck:
    """The outcome for one proof: the leaf, its trial, and what differs.

    ``anchored`` says whether the log holds its journal's head; without that, a journal that was written anew whole goes
    unnoticed. A proof without a journal has nothing to anchor: None.
    """

    node: NodeId
    trial: int
    outcome: Verification
    anchored: bool | None = None

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
    """The outcome for a run's proofs, and the level of the kernels they were re-run in; None if none was started.

    ``signer`` is the public key that signed the package the run came in; ``signature_fault`` says why its signature is
    not one over the log as it is now; ``combined`` are leaves and nodes that do not follow from the proofs below them.
    """

    proofs: list[ProofCheck]
    isolation: str | None
    signer: str | None = None
    signature_fault: str | None = None
    combined: tuple[Combined, ...] = ()

    @property
    def differing(self) -> list[dict[str, Any]]:
        """All that differs, as JSON rows; those of no leaf have null for it."""
        rows = [row for check in self.proofs for row in check.rows(check.outcome.differing)]
        rows += [_row(item.node, item.check, item.what) for item in self.combined]
        if self.signature_fault is not None:
            rows.append(_row(None, "signature", self.signature_fault))
        return rows


def _row(node: NodeId | None, check: str, what: str) -> dict[str, Any]:
    """A difference that is of no single trial, or of no leaf at all."""
    return {"node": node, "trial": None, "check": check, "cell": None, "what": what}


async def verify_run(
    store: Store,
    run_id: str,
    node: NodeId | None = None,
    *,
    isolation: str | None = None,
    state: RunState | None = None,
) -> RunCheck:
    """Verify every concluded proof of a run and what was made of them, or one leaf's.

    All records are compared first. If any differs, no cell of the run is executed: a run that was altered somewhere is not
    trusted elsewhere.

    Parameters
    ----------
    isolation : str, optional
        The level the person at this machine asked for; without it the best sealed one that works here. The level in the
        run's log is not looked at, since whoever wrote the run would then choose it.
    state : RunState, optional
        Where the caller has folded the run's log already, or only as far as it may be seen.

    Raises
    ------
    UsageError
        The node has no concluded proof, or the run has none at all.
    IsolationUnavailable
        A re-run is due and the level does not work here. Without a notebook to re-run no level is tried.
    """
    state = state or load_state(store, run_id)
    if node is not None:
        state.tree[node]  # raises for an unknown node
    proofs = [key for key, trial in sorted(state.trials.items()) if trial.belief and node in (None, key[0])]
    if not proofs:
        of = f"{node} of run {run_id}" if node else f"run {run_id}"
        raise UsageError(f"{of} has no concluded proof to verify: proofs belong to grounded leaves")
    recorded = [
        ProofCheck(
            node=leaf,
            trial=trial,
            outcome=compare_trial(store, state, leaf, trial),
            anchored=_anchored(store, state, leaf, trial),
        )
        for leaf, trial in proofs
    ]
    signature = state.imported.signature if state.imported is not None else None
    signer = signature.key if signature is not None else None
    fault = None
    if state.imported is not None and signature is not None:
        fault = signature_fault(store, run_id, signature, before=state.imported.seq)
    combined = tuple(item for item in combined_faults(store, state) if node in (None, item.node))
    if fault is not None or combined or any(check.outcome.differing for check in recorded):
        return RunCheck(
            proofs=recorded, isolation=None, signer=signer, signature_fault=fault, combined=combined
        )
    sandbox = Sandbox(isolation=isolation)
    used: list[str] = []

    async def level() -> str:
        used.append(await sandbox.level())
        return used[-1]

    try:
        checks = [
            replace(
                check,
                outcome=await verify_trial(
                    store, state, check.node, check.trial, sandbox=sandbox, level=level
                ),
            )
            for check in recorded
        ]
        return RunCheck(proofs=checks, isolation=used[0] if used else None, signer=signer)
    finally:
        await sandbox.aclose()


async def verify_trial(
    store: Store,
    state: RunState,
    node: NodeId,
    trial: int,
    *,
    sandbox: Sandbox,
    level: Callable[[], Awaitable[str]],
    limits: Limits | None = None,
) -> Verification:
    """Verify one concluded trial of a leaf by its own evidence; kernels that it needs start at ``level()``.

    The level is asked for when evidence re-runs a notebook, and not before.
    """
    try:
        evidence = stored_evidence(store, state, node, trial)
    except (StoreCorrupt, MissingEvidence, EvidenceBroken) as error:
        return _unreadable(error)
    # whoever wrote the journal anew would choose what runs; in a thread, as a journal may be long
    if state.trial(node, trial).journal_head is not None:
        faults = await asyncio.to_thread(_anchor_faults, store, state, node, trial)
        if faults:
            return compare_trial(store, state, node, trial)

    async def replay(proof: ProofContext, conclusion: Callable[[], str | None]) -> Verification:
        return await verify_proof(
            sandbox,
            journal=proof.journal,
            notebook=proof.notebook,
            rows=proof.data_calls("cell"),
            conclusion=conclusion,
            isolation=await level(),
            limits=limits,
            # With other versions than the run had, what differs in the re-run is advisory. A run without a manifest cannot
            # claim that, so its differences count in full.
            same_packages=_packages_of(store, state) in (None, packages()),
        )

    try:
        with package_errors(evidence.kind, "while it was verified"):
            return _outcome(await evidence.verify(proof_context(store, state, node, trial), replay))
    except EvidenceBroken as error:
        return _unreadable(error)
    except StoreCorrupt as error:
        return _corrupt(error)


def compare_trial(store: Store, state: RunState, node: NodeId, trial: int) -> Verification:
    """Compare one concluded trial of a leaf with its own records; nothing is executed."""
    faults = _anchor_faults(store, state, node, trial)
    try:
        evidence = stored_evidence(store, state, node, trial)
        with package_errors(evidence.kind, "while it was compared with the records"):
            outcome = _outcome(evidence.compare(proof_context(store, state, node, trial)))
        # a broken chain is named by evidence that reads the journal in the same words
        return replace(outcome, differing=tuple(dict.fromkeys((*faults, *outcome.differing))))
    except (MissingEvidence, EvidenceBroken) as error:
        return _unreadable(error)
    except StoreCorrupt as error:
        return _corrupt(error)


def _outcome(result: object) -> Verification:
    if not isinstance(result, Verification):
        raise TypeError(f"{type(result).__name__} in place of a Verification")
    return result


def _anchor_faults(store: Store, state: RunState, node: NodeId, trial: int) -> tuple[Difference, ...]:
    """What is wrong with the journal by the head that the log holds; asked here, so no kind of evidence can leave it out."""
    concluded = state.trial(node, trial)
    if concluded.journal_head is None:
        return ()
    try:
        if ends_at(_journal(store, state, node, trial), concluded.journal_head):
            return ()
        fault = "the journal is not the one that the log holds the head of: it was written anew"
    except JournalBroken as error:
        fault = str(error)
    except OSError as error:
        fault = f"the journal that the log holds the head of cannot be read ({error.strerror})"
    return (Difference(check="chain", cell=None, what=fault),)


def _anchored(store: Store, state: RunState, node: NodeId, trial: int) -> bool | None:
    held = state.trial(node, trial).journal_head is not None
    return held if held or _journal(store, state, node, trial).exists() else None


def _journal(store: Store, state: RunState, node: NodeId, trial: int) -> Path:
    # Each attempt has a journal of its own.
    name = journal_name(node, trial, state.trial(node, trial).concluded)
    return store.folder(state.run_id) / "sessions" / name


def proof_context(store: Store, state: RunState, node: NodeId, trial: int) -> ProofContext:
    """Return the records of one concluded trial, for its evidence."""
    concluded = state.trial(node, trial)
    assert concluded.belief is not None, "only a concluded trial has a proof"
    return attempt_context(
        store,
        state,
        node,
        trial,
        concluded.concluded,
        belief=concluded.belief,
        journal=_journal(store, state, node, trial),
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
