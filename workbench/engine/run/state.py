"""The state of a run: a fold over its events, nothing else.

Whoever wants to know how a run stands (resume, the screens, the command line, an audit) reads the log through this one
function, so that no two of them can disagree.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import orjson

from proxies.asof.clock import Cutoff
from workbench.engine.keys import signed_line, signer_json
from workbench.engine.run.settings import RunSettings
from workbench.errors import UsageError
from workbench.plugins import EVIDENCE, plugin_names
from workbench.propositions import Belief, NodeId, Rule, Tree
from workbench.propositions.ids import require_id
from workbench.propositions.scenario_book import ScenarioBook, ScenarioRecord
from workbench.store import EventUnreadable, Store, StoredEvent
from workbench.store import events as ev
from workbench.synthesis import UninstalledRule, rule_from_json, tree_from_json

#: Largest number of a trial or attempt; both stand in file names.
MAX_NUMBER = 9999


@dataclass(frozen=True, slots=True)
class TrialState:
    """Where one trial of a leaf stands. ``attempt`` is the newest begun; ``open`` when it neither concluded nor failed."""

    attempt: int = 0
    open: bool = False
    belief: Belief | None = None
    failure: str | None = None
    verified: bool | None = None
    evidence: ev.EvidenceRecord | None = None
    journal_head: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """Where an imported run came from: the package, its signer, what differed. Every screen prints its `line`."""

    at_utc: str
    package: str
    anyway: bool
    differing: tuple[str, ...]
    signature: ev.PackageSignature | None
    seq: int

    @property
    def signer(self) -> str | None:
        """The public key that signed the package; None if nobody did, or not rightly."""
        return self.signature.key if self.signature is not None else None

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "at_utc": self.at_utc,
            "package": self.package,
            "anyway": self.anyway,
            "differing": list(self.differing),
            "signed": signer_json(self.signer),
        }

    def line(self) -> str:
        """Return the sentence for the screens."""
        altered = f"; ALTERED: {len(self.differing)} differences when it came in" if self.differing else ""
        return (
            f"IMPORTED {self.at_utc[:10]}, {signed_line(signer_json(self.signer))}: made elsewhere, its records are its sender's"
            f" word{altered}"
        )


@dataclass(slots=True)
class RunState:
    """All that is known of a run after its events. ``tree`` carries the beliefs and rules recorded so far."""

    run_id: str
    statement: str
    cutoff: str
    cutoff_instant: str
    started_utc: str
    settings: RunSettings
    tree: Tree
    planned: bool = False
    isolation: str | None = None
    trials: dict[tuple[NodeId, int], TrialState] = field(default_factory=dict)
    pooled: set[NodeId] = field(default_factory=set)
    failures: dict[NodeId, list[str]] = field(default_factory=dict)
    stopped: ev.RunStopped | None = None
    finished: bool = False
    scenarios: ScenarioBook = field(default_factory=ScenarioBook)
    imported: Imported | None = None
    missing: tuple[str, ...] = ()
    seq: int = 0

    def copy(self) -> "RunState":
        """Return a copy: applying an event to it leaves this one as it was. Immutable parts are shared."""
        return replace(
            self,
            trials=dict(self.trials),
            pooled=set(self.pooled),
            failures={node: list(reasons) for node, reasons in self.failures.items()},
        )

    def require_own_server(self) -> None:
        """Raise ``UsageError`` if work on this run would send requests, and a key, where a stranger's package says."""
        if self.imported is not None and self.settings.api_base is not None:
            raise UsageError(
                f"run {self.run_id} was imported and names the model server {self.settings.api_base!r:.120}:"
                " nothing is sent there; analyze its statement anew with a server of your own"
            )

    def trial(self, node: NodeId, trial: int) -> TrialState:
        """Return where one trial of a leaf stands; an empty state if nothing was begun."""
        return self.trials.get((node, trial), _NOT_BEGUN)

    def parsed_cutoff(self) -> Cutoff:
        """Return the knowledge cutoff; ``now`` is the instant at which the run was opened."""
        return Cutoff.parse(
            self.cutoff, now=datetime.fromisoformat(self.cutoff_instant.replace("Z", "+00:00"))
        )

    def require_installed(self) -> None:
        """Refuse to change a run that needs a package which is not installed here; reading it goes on working.

        Raises ``UsageError`` that names the package.
        """
        if self.missing:
            raise UsageError(f"run {self.run_id} can be read but not changed here: {'; '.join(self.missing)}")

    def not_installed(self) -> str | None:
        """Return the sentence for the screens that names what the run needs and this installation lacks; None if nothing."""
        parts = [*self.settings.not_installed(), *self.missing]
        for trial in self.trials.values():
            record = trial.evidence
            if record is not None and record.package and record.kind not in plugin_names(EVIDENCE):
                parts.append(f"evidence {record.kind} (package {record.package})")
        if not parts:
            return None
        return f"NOT INSTALLED HERE, so the run can only be read: {'; '.join(dict.fromkeys(parts))}"

    @property
    def status(self) -> str:
        """``done`` when the root has a probability, ``failed`` after a failure for good, else ``partial``."""
        if self.finished:
            return "done"
        return (
            "failed" if self.stopped is not None and self.stopped.why in ("failure", "refused") else "partial"
        )

    def verified(self, node: NodeId) -> bool | None:
        """Whether all trials of a leaf were verified; None where one was not looked at yet."""
        checks = [trial.verified for (leaf, _), trial in self.trials.items() if leaf == node and trial.belief]
        return None if not checks or None in checks else all(checks)

    def node_status(self, node: NodeId) -> str:
        """``pending``, ``grounding``, ``grounded``, ``synthesized`` or ``failed``."""
        proposition = self.tree[node]
        if proposition.belief is not None:
            return "synthesized" if proposition.children else "grounded"
        tries = [state for (leaf, _), state in self.trials.items() if leaf == node]
        if any(state.open for state in tries):
            return "grounding"
        if any(state.failure for state in tries) or (proposition.children and self.failures.get(node)):
            return "failed"
        return "pending"


_NOT_BEGUN = TrialState()


def load_state(store: Store, run_id: str) -> RunState:
    """Return the state of a stored run, folded from its log; raises ``UnknownRun``."""
    return fold(store, store.events(run_id))


def fold(store: Store, events: Iterable[StoredEvent]) -> RunState:
    """Return the state after these events, in order; raises ``EventUnreadable`` unless the first is ``run.started``."""
    stream = iter(events)
    first = next(stream)
    if not isinstance(first.event, ev.RunStarted):
        raise EventUnreadable(
            f"event {first.seq} of run {first.run_id} should start it, it is {first.event.kind}"
        )
    state = RunState(
        run_id=first.run_id,
        statement=first.event.statement,
        cutoff=first.event.cutoff,
        cutoff_instant=first.event.cutoff_instant,
        started_utc=first.at_utc,
        settings=RunSettings.from_json(first.event.settings),
        tree=Tree.root_only(first.event.statement),
        seq=first.seq,
    )
    for stored in stream:
        apply(store, state, stored)
    return state


def apply(store: Store, state: RunState, stored: StoredEvent) -> None:
    """Apply one event to ``state``, in place. ``fold`` calls it for stored events, the ``Recorder`` for new ones."""
    event = stored.event
    state.seq = stored.seq
    match event:
        # leaf.kept has no case: that leaf was one before, and the reason is for people who read the log.
        case ev.RunResumed():
            state.stopped = None
        case ev.RunSealed():
            state.isolation = event.isolation
        case ev.TreeExpanded():
            state.tree = _tree(store, state, event.tree)
        case ev.TreePlanned() | ev.TreeEdited():
            state.tree, state.planned = _tree(store, state, event.tree), True
        case ev.LeafStarted():
            _move(state, event, attempt=event.attempt, open=True, failure=None)
        case ev.LeafGrounded():
            belief = Belief(p=event.p, key_factor=event.key_factor, report=store.text(event.report))
            _move(
                state,
                event,
                open=False,
                failure=None,
                belief=belief,
                evidence=event.evidence,
                journal_head=event.journal_head,
            )
        case ev.LeafVerified():
            _move(state, event, verified=event.verified)
        case ev.LeafFailed():
            _move(state, event, open=False, failure=event.reason)
        case ev.LeafPooled():
            belief = Belief(p=event.p, key_factor=event.key_factor, report=store.text(event.report))
            state.tree = state.tree.with_belief(event.node, belief)
            state.pooled.add(event.node)
        case ev.NodeSynthesized():
            belief = Belief(p=event.p, key_factor=event.key_factor, report=store.text(event.report))
            rule = rule_from_json(event.rule, missing="keep")
            _note_missing(state, [rule], package=event.package)
            state.tree = state.tree.with_rule(event.node, rule, belief)
        case ev.NodeFailed():
            state.failures.setdefault(event.node, []).append(event.reason)
        case ev.RunStopped():
            state.stopped = event
        case ev.RunFinished():
            state.finished, state.stopped = True, None
        case ev.RunImported():
            state.imported = Imported(
                at_utc=stored.at_utc,
                package=event.package,
                anyway=event.anyway,
                # what an earlier import found stays with the run
                differing=(*(state.imported.differing if state.imported else ()), *event.differing),
                signature=event.signature,
                seq=stored.seq,
            )
        case ev.ScenarioRecorded():
            state.scenarios = state.scenarios.apply(ScenarioRecord.from_json(event.record), stored.seq)
        case ev.RunStarted():
            raise EventUnreadable(f"run {stored.run_id} is started twice, at event {stored.seq}")


def _move(state: RunState, event: ev.LeafEvent, **changes: Any) -> None:
    key = (event.node, event.trial)
    state.trials[key] = replace(state.trial(*key), **changes)


def _tree(store: Store, state: RunState, digest: str) -> Tree:
    tree = tree_from_json(orjson.loads(store.body(digest)), missing="keep")
    _note_missing(state, [rule for node in tree.inner() if (rule := tree[node].rule) is not None])
    return tree


def _note_missing(state: RunState, rules: Iterable[Rule], *, package: str | None = None) -> None:
    """Remember which rules are not installed here: the run is readable without them, but nothing can be computed."""
    for rule in rules:
        if isinstance(rule, UninstalledRule):
            source = f"; it came with the package {package}" if package else ""
            state.missing = tuple(dict.fromkeys((*state.missing, f"{rule.problem}{source}")))


def put_tree(store: Store, tree: Tree) -> str:
    """File a tree as a body and return its hash."""
    return store.put_body(orjson.dumps(tree.to_json(), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS))


def notebook_name(node: NodeId, trial: int) -> str:
    """Return the proof notebook's file name: ``P2.1.ipynb``, and ``P2.1.t2.ipynb`` for the second trial.

    Raises ``IdMismatch`` for a node that is no id: a path is made of it.
    """
    _check_numbers(trial)
    return f"{require_id(node)}.ipynb" if trial == 1 else f"{require_id(node)}.t{trial}.ipynb"


def session_name(node: NodeId, trial: int, attempt: int) -> str:
    """Return the name of a grounding's session: ``P2.1.1.1``; raises ``IdMismatch`` for a node that is no id."""
    _check_numbers(trial, attempt)
    return f"{require_id(node)}.{trial}.{attempt}"


def journal_name(node: NodeId, trial: int, attempt: int) -> str:
    """Return the file name of a session's journal: ``P2.1.1.1.jsonl``."""
    return f"{session_name(node, trial, attempt)}.jsonl"


def _check_numbers(*numbers: object) -> None:
    for number in numbers:
        # Not isinstance: True is an int to it, and would end up in a file name.
        if type(number) is not int or not 1 <= number <= MAX_NUMBER:
            raise UsageError(f"trials and attempts are numbers from 1 to {MAX_NUMBER}, not {number!r:.40}")
