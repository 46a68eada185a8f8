"""Does a run's evidence still stand? Each proof is compared with its records and checked by its own evidence, offline."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from sandbox import Limits, Sandbox
from sandbox.errors import JournalBroken
from sandbox.record.journal import ends_at
from sandbox.record.verify import Difference, Verification, rerun_proof
from workbench.agents.evidence.base import Evidence, MissingEvidence, ProofContext, logged_evidence
from workbench.agents.evidence.check import compare, verify
from workbench.engine.access.look_up_records import look_up_faults
from workbench.engine.manifest import packages, recorded_manifest
from workbench.engine.record.attempt_records import attempt_context
from workbench.engine.record.fold import load_state
from workbench.engine.record.imported_run import signature_fault
from workbench.engine.record.run_files import journal_name
from workbench.engine.record.state import RunState
from workbench.engine.run_settings import RunSettings
from workbench.errors import UsageError
from workbench.propositions import ROOT, NodeId
from workbench.store import Store, StoreCorrupt
from workbench.store import events as ev
from workbench.synthesis import PooledRule, evaluate
from workbench.terminal import printable

#: How far a stored p may be from the one that it follows from: the last bits of a sum.
TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class ProofFault:
    """One difference, as ``verify --json`` lists it; ``node`` is None for the run's own, ``trial`` where it is of no single one."""

    node: NodeId | None
    trial: int | None
    check: str
    cell: str | None
    what: str

    @classmethod
    def of_node(cls, node: NodeId | None, check: str, what: str) -> "ProofFault":
        """Return what does not follow above the trials; ``check`` is ``pooled``, ``rule``, ``look-up``, ``root`` or ``signature``."""
        return cls(node, None, check, None, what)

    def line(self) -> str:
        """Return it on one line; what a stranger wrote in it cannot steer a terminal."""
        text = f"{self.node or '-'} {self.check} {self.cell or ''}: {self.what}"
        return printable(text, keep="")[:300]


def combined_faults(store: Store, state: RunState) -> list[ProofFault]:
    """Return every leaf that is not its trials, every node that is not its rule or its look-up, and an end that is not the root's.

    Read up to where the state stands, so that who may see a run only as it once stood is told nothing of later.
    """
    rows = store.events(state.run_id, until=state.seq)
    return [
        *_pooled_faults((row.event for row in rows), state.settings),
        *(
            ProofFault.of_node(node, "rule", "the stored p is not what its rule gives")
            for node in rule_faults(state)
        ),
        *(ProofFault.of_node(node, "look-up", what) for node, what in look_up_faults(store, state)),
    ]


def rule_faults(state: RunState) -> list[NodeId]:
    """Return the inner nodes whose stored p is not what their rule gives from their children."""
    values = evaluate(state.tree).values
    return [
        node
        for node in state.tree.inner()
        if (computed := values.get(node)) is not None
        and abs(computed - (state.tree[node].p or 0.0)) > TOLERANCE
    ]


def _pooled_faults(events: Iterable[ev.Event], settings: RunSettings) -> list[ProofFault]:
    """Follow the log: the tree may have been edited since, and an edited leaf is what a person says it is."""
    concluded: dict[NodeId, dict[int, ev.LeafGrounded]] = {}
    root: float | None = None
    direct: float | None = None
    faults = []
    for event in events:
        match event:
            case ev.LeafGrounded():
                concluded.setdefault(event.node, {})[event.trial or 1] = event
            case ev.LeafPooled():
                trials = dict(sorted(concluded.get(event.node, {}).items()))
                if what := _pooled_fault(event, trials, settings):
                    faults.append(ProofFault.of_node(event.node, "pooled", what))
                direct = event.p if event.node == ROOT else direct
            # A review follows an earlier run's rule, and has no direct forecasts of its own.
            case ev.NodeSynthesized() if event.rule.get("name") == PooledRule.name and direct not in (
                None,
                event.rule.get("direct"),
            ):
                what = f"its rule pools {event.rule.get('direct')!r}, its direct forecasts give {direct!r}"
                faults.append(ProofFault.of_node(event.node, "pooled", what))
            case ev.LeafReopened():  # what its trials concluded before counts no more
                concluded.pop(event.node, None)
            case ev.TreeEdited():
                root = None
            case ev.RunFinished() if root is not None and abs(event.p - root) > TOLERANCE:
                what = f"the run ended with {event.p!r}, its claim says {root!r}"
                faults.append(ProofFault.of_node("P0", "root", what))
            case _:
                pass
        if isinstance(event, ev.LeafPooled | ev.NodeSynthesized) and event.node == "P0":
            root = event.p
    return faults


def _pooled_fault(
    event: ev.LeafPooled, trials: Mapping[int, ev.LeafGrounded], settings: RunSettings
) -> str | None:
    values = {number: trial.p for number, trial in trials.items()}
    if not values or [*event.trials] != [*values.values()]:
        return f"it counts the trials {[*event.trials]}, concluded were {[*values.values()]}"
    p = settings.pooled(event.node, values, dead=event.dead)
    if abs(event.p - p) > TOLERANCE:
        return f"it counts as {event.p!r}, its trials give {p!r}"
    # Of several trials the report is written together, in words that may have changed since.
    first = next(iter(trials.values()))
    if event.key_factor != first.key_factor or (len(trials) == 1 and event.report != first.report):
        return "its key factor or report is not the one of its trial"
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofCheck:
    """The outcome for one proof: the leaf, its trial, and what differs."""

    node: NodeId
    trial: int
    outcome: Verification

    def faults(self, differences: Iterable[Difference]) -> list[ProofFault]:
        """Return differences with the leaf that they are of."""
        return [ProofFault(self.node, self.trial, **asdict(item)) for item in differences]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCheck:
    """The outcome for a run's proofs, and the level of the kernels they were re-run in; None if none was started.

    ``signer`` is the public key that signed the package the run came in; ``above`` are leaves and nodes that do not follow from the proofs
    below them, and a signature that is not one over the log as it is now.
    """

    proofs: list[ProofCheck]
    isolation: str | None = None
    signer: str | None = None
    above: tuple[ProofFault, ...] = ()

    @property
    def faults(self) -> list[ProofFault]:
        """All that differs."""
        return [
            *(fault for check in self.proofs for fault in check.faults(check.outcome.differing)),
            *self.above,
        ]

    @property
    def differing(self) -> list[dict[str, Any]]:
        """All that differs, as JSON rows; those of no leaf have null for it."""
        return [asdict(fault) for fault in self.faults]


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

    `isolation`: The level the person at this machine asked for; without it the best sealed one that works here. The level in the run's log
    is not looked at, since whoever wrote the run would then choose it.

    `state`: Where the caller has folded the run's log already, or only as far as it may be seen.

    Raises `UsageError`: The node has no concluded proof, or the run has none at all. Raises `IsolationUnavailable`: A re-run is due and
    the level does not work here. Without a notebook to re-run no level is tried.
    """
    state = state or load_state(store, run_id)
    if node is not None:
        state.tree[node]  # raises for an unknown node
    recorded = compare_run(store, state, node)
    if not recorded.proofs:
        of = f"{node} of run {run_id}" if node else f"run {run_id}"
        raise UsageError(f"{of} has no finished evidence to verify: wait until its evidence is collected")
    if recorded.faults:
        return recorded
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
            for check in recorded.proofs
        ]
        return replace(recorded, proofs=checks, isolation=used[0] if used else None)
    finally:
        await sandbox.aclose()


def compare_run(store: Store, state: RunState, node: NodeId | None = None) -> RunCheck:
    """Compare every concluded proof of a run, or one leaf's, and what was made of them with the records; nothing is executed.

    A package is compared so before it is taken in.
    """
    proofs = [
        ProofCheck(node=leaf, trial=number, outcome=compare_trial(store, state, leaf, number))
        for (leaf, number), trial in sorted(state.trials.items())
        if trial.belief and node in (None, leaf)
    ]
    above = [fault for fault in combined_faults(store, state) if node in (None, fault.node)]
    signature = state.imported.signature if state.imported is not None else None
    if state.imported is not None and signature is not None:
        what = signature_fault(store, state.run_id, signature, before=state.imported.seq)
        above += [] if what is None else [ProofFault.of_node(None, "signature", what)]
    return RunCheck(proofs=proofs, signer=None if signature is None else signature.key, above=tuple(above))


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
    # whoever wrote the journal anew would choose what runs; in a thread, as a journal may be long
    if await asyncio.to_thread(_anchor_faults, store, state, node, trial):
        return compare_trial(store, state, node, trial)

    async def replay(proof: ProofContext) -> Verification:
        return await rerun_proof(
            sandbox,
            journal=proof.journal,
            rows=proof.data_calls("cell"),
            isolation=await level(),
            limits=limits,
            # With other versions than the run had, what differs in the re-run is advisory. A run without a manifest cannot
            # claim that, so its differences count in full.
            same_packages=recorded_manifest(store, state.run_id).get("packages") in (None, packages()),
        )

    try:
        evidence = stored_evidence(store, state, node, trial)
        return await verify(evidence, proof_context(store, state, node, trial), replay)
    except (MissingEvidence, StoreCorrupt) as error:
        return _unreadable(error)


def compare_trial(store: Store, state: RunState, node: NodeId, trial: int) -> Verification:
    """Compare one concluded trial of a leaf with its own records; nothing is executed."""
    faults = _anchor_faults(store, state, node, trial)
    try:
        evidence = stored_evidence(store, state, node, trial)
        outcome = compare(evidence, proof_context(store, state, node, trial))
    except (MissingEvidence, StoreCorrupt) as error:
        return _unreadable(error)
    # a broken chain is named by evidence that reads the journal in the same words
    return replace(outcome, differing=tuple(dict.fromkeys((*faults, *outcome.differing))))


def _anchor_faults(store: Store, state: RunState, node: NodeId, trial: int) -> tuple[Difference, ...]:
    """What is wrong with the journal by the head that the log holds; asked here, so no kind of evidence can leave it out."""
    head = state.trial(node, trial).journal_head
    journal = _journal(store, state, node, trial)
    if head is None and not journal.exists():
        return ()
    try:
        if head is None:
            fault = "the log holds no head of this journal, so it could have been written anew"
        elif ends_at(journal, head):
            return ()
        else:
            fault = "the journal is not the one that the log holds the head of: it was written anew"
    except JournalBroken as error:
        fault = str(error)
    except OSError as error:
        fault = f"the journal that the log holds the head of cannot be read ({error.strerror})"
    return (Difference("chain", None, fault),)


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
    """Return what a concluded trial rests on, for its check; raises ``MissingEvidence`` or ``StoreCorrupt``."""
    record = state.trial(node, trial).evidence
    assert record is not None, "a concluded trial has evidence"
    return logged_evidence(store, record)


def _unreadable(error: MissingEvidence | StoreCorrupt) -> Verification:
    check = "ledger" if isinstance(error, StoreCorrupt) else "evidence"
    return Verification(differing=(Difference(check, None, str(error)),))
