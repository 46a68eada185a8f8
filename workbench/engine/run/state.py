"""The state of a run: a fold over its events, nothing else.

Whoever wants to know how a run stands (resume, the screens, the command line, an audit) reads the log through this one
function, so that no two of them can disagree.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any, Protocol

import orjson

from proxies.asof.clock import Cutoff
from workbench.engine.run.annotations import Annotations
from workbench.engine.run.imported import Imported
from workbench.engine.run.settings import RunSettings
from workbench.engine.run.trial_fold import LEAF_EVENTS, apply_to_leaf, trials_of
from workbench.engine.run.trial_state import EarlierGrounding, TrialState, seconds_between
from workbench.errors import UsageError
from workbench.plugins import EVIDENCE, plugin_names
from workbench.propositions import Belief, NodeId, Rule, Tree
from workbench.propositions.scenario_book import ScenarioBook, ScenarioRecord
from workbench.propositions.shared_dict import SharedDict
from workbench.store import ApiLedger, EventUnreadable, Store, StoredEvent
from workbench.store import events as ev
from workbench.synthesis import UninstalledRule, rule_from_json, tree_from_json

#: Stands for the model in the settings of a run that was made of a tree file.
IMPORTED_TREE = "import"


#: What a decision on a step is known by (``approval_key``).
ApprovalKey = tuple[NodeId, int, str, str]


@dataclass(slots=True)
class RunState:
    """All that is known of a run after its events. ``tree`` carries the beliefs and rules recorded so far.

    ``pooled`` has the probability of each leaf whose trials have all ended.
    """

    run_id: str
    statement: str
    cutoff: str
    cutoff_instant: str
    started_utc: str
    settings: RunSettings
    tree: Tree
    planned: bool = False
    isolation: str | None = None
    trials: SharedDict[tuple[NodeId, int], TrialState] = field(default_factory=SharedDict)
    pooled: SharedDict[NodeId, float] = field(default_factory=SharedDict)
    failures: dict[NodeId, list[str]] = field(default_factory=dict)
    waiting: dict[NodeId, str] = field(default_factory=dict)
    reopened: dict[NodeId, str] = field(default_factory=dict)  # how the nodes above follow
    earlier: dict[NodeId, list[EarlierGrounding]] = field(default_factory=dict)
    reopened_late: tuple[NodeId, ...] = ()
    refits: dict[NodeId, ev.NodeRefitted] = field(default_factory=dict)
    provider_waiting: ev.RunWaiting | None = None
    undecided: dict[ApprovalKey, ev.ApprovalAsked] = field(default_factory=dict)
    decided: dict[ApprovalKey, ev.ApprovalGiven] = field(default_factory=dict)
    worked_seconds: float = 0.0
    last_utc: str = ""
    started_seq: int = 0
    server_seq: int = 0
    stopped: ev.RunStopped | None = None
    finished: bool = False
    models: tuple[str, ...] = ()
    cut: tuple[ev.CutText, ...] = ()
    scenarios: ScenarioBook = field(default_factory=ScenarioBook)
    annotations: Annotations = field(default_factory=Annotations)
    imported: Imported | None = None
    missing: tuple[str, ...] = ()
    missing_sources: tuple[str, ...] = ()
    seq: int = 0
    changed_seq: int = 0

    def copy(self) -> "RunState":
        """Return a copy: applying an event to it leaves this one as it was. What they have in common is shared."""
        # Made at every event, so field by field: `replace` goes through all the checks of a constructor.
        state = RunState.__new__(RunState)
        for name in _FIELDS:
            setattr(state, name, getattr(self, name))
        state.trials, state.pooled = self.trials.copy(), self.pooled.copy()
        state.failures = {node: list(reasons) for node, reasons in self.failures.items()}
        state.waiting, state.undecided, state.decided = (
            dict(self.waiting),
            dict(self.undecided),
            dict(self.decided),
        )
        state.reopened, state.refits = dict(self.reopened), dict(self.refits)
        state.earlier = {node: list(rows) for node, rows in self.earlier.items()}
        return state

    def require_own_server(self) -> None:
        """Raise ``UsageError`` if work on this run would send requests, and a key, where a stranger's package says."""
        own = self.imported is not None and self.server_seq > self.imported.seq
        if self.imported is not None and self.settings.api_base is not None and not own:
            raise UsageError(
                f"run {self.run_id} was imported and names the model server {self.settings.api_base!r:.120}:"
                " nothing is sent there; name a server of your own with --api-base"
            )
        if self.imported is not None and (self.settings.headers or self.settings.body):
            raise UsageError(
                f"run {self.run_id} was imported and sets headers or a body for the model's requests: nothing is sent with"
                " what a stranger chose; analyze its statement anew"
            )

    def require_model(self) -> None:
        """Raise ``UsageError`` for a run that was made of a tree file: it has no model that could be asked."""
        if self.settings.model == IMPORTED_TREE:
            valueless = (
                ""
                if self.tree.root.p is not None
                else "give the root its p in the file and import it again, or "
            )
            raise UsageError(
                f"run {self.run_id} is a tree from a file, made by no model, so there is none to ask: {valueless}analyze its"
                " statement anew with a model of your own"
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

    def require_sources(self) -> None:
        """Refuse to go on with a run that has read from a source which is not installed here; what-ifs need none.

        Without it the next leaf would take data that are gone for data that never were. Raises ``UsageError``.
        """
        if self.missing_sources:
            raise UsageError(
                f"run {self.run_id} reads from what is not installed here: {'; '.join(self.missing_sources)}"
            )

    def not_installed(self) -> str | None:
        """Return the sentence for the screens that names what the run needs and this installation lacks; None if nothing."""
        parts = [*self.settings.not_installed(), *self.missing_sources, *self.missing]
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
        failed = self.stopped is not None and self.stopped.why in ("failure", "refused", "outage")
        return "failed" if failed else "partial"

    @property
    def phase(self) -> str:
        """``planned``, ``running``, ``waiting``, ``stopped``, ``done`` or ``failed``: finer than ``status``.

        ``running`` says what the log says last; after a kill nobody works on the run any more, which only its lock tells.
        """
        if self.finished:
            return "done"
        if self.stopped is not None:
            if self.stopped.why == "plan-only":
                return "planned"
            return "failed" if self.status == "failed" else "stopped"
        return "waiting" if self.provider_waiting is not None or self.undecided else "running"

    @property
    def reason(self) -> str | None:
        """Why the run stands where it does, in words; None where there is nothing to say."""
        if self.stopped is not None:
            return self.stopped.detail
        if self.provider_waiting is None and self.undecided:
            return approval_line(self.run_id, tuple(self.undecided.values()))
        return self.provider_waiting.reason if self.provider_waiting is not None else None

    def trials_of(self, node: NodeId) -> list[TrialState]:
        """Return the trials of a leaf that were begun, by number; looked up, since screens ask for each of a thousand leaves."""
        numbers = range(1, self.settings.trials + 1)
        return [self.trials[node, number] for number in numbers if (node, number) in self.trials]

    def verified(self, node: NodeId) -> bool | None:
        """Whether all trials of a leaf were verified; None where one was not looked at yet."""
        checks = [trial.verified for trial in self.trials_of(node) if trial.belief]
        return None if not checks or None in checks else all(checks)

    def unverified(self) -> list[tuple[NodeId, int]]:
        """Return leaf and trial of each concluded proof that was checked and does not hold."""
        return [key for key, trial in self.trials.items() if trial.belief and trial.verified is False]

    def unverified_line(self) -> str | None:
        """Return the sentence for the screens about proofs that do not hold; None if there is none."""
        nodes = dict.fromkeys(node for node, _ in self.unverified())
        return f"NOT VERIFIED: the proofs of {', '.join(nodes)} differ from their records" if nodes else None

    def late_line(self) -> str | None:
        """Return the sentence for the screens about leaves grounded again when the outcome was known; None if there is none."""
        if not self.reopened_late:
            return None
        return (
            f"HINDSIGHT: {', '.join(self.reopened_late)} grounded again when the outcome was on record: the score is of a number"
            " that somebody chose to renew"
        )

    def due(self, leaf: NodeId) -> bool:
        """Whether a leaf is to be grounded: it has no value, or a person wants a new one."""
        return self.tree[leaf].belief is None or any(trial.again for trial in self.trials_of(leaf))

    def node_status(self, node: NodeId) -> str:
        """``pending``, ``grounding``, ``grounded``, ``synthesized`` or ``failed``."""
        proposition = self.tree[node]
        if node in self.reopened and any(
            trial.again and trial.open and trial.failure is None for trial in self.trials_of(node)
        ):
            return "grounding"
        if proposition.belief is not None:
            return "synthesized" if proposition.children else "grounded"
        tries = self.trials_of(node)
        if any(state.open and state.failure is None for state in tries):
            return "grounding"
        if any(state.failure for state in tries):
            return "failed"
        if proposition.children and (self.failures.get(node) or node in self.waiting):
            return "failed"
        return "pending"


_NOT_BEGUN = TrialState()
_FIELDS = tuple(item.name for item in fields(RunState))


def approval_key(event: ev.ApprovalAsked | ev.ApprovalGiven) -> ApprovalKey:
    """Return what a decision is known by: leaf, trial, kind of step, hash of what would be run or sent."""
    return event.node, event.trial, event.what, event.subject


def approval_line(run_id: str, undecided: tuple[ev.ApprovalAsked, ...]) -> str:
    """Return the sentence for the screens about steps that wait for a person."""
    first, more = undecided[0], len(undecided) - 1
    others = f" and {more} more" if more else ""
    return f"waiting for approval of a {first.what} of {first.node}{others}: `workbench approve {run_id}`"


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
        last_utc=first.at_utc,
        started_seq=first.seq,
        seq=first.seq,
        changed_seq=first.seq,
    )
    state.models, state.cut = (state.settings.model,), first.event.cut
    for stored in stream:
        apply(store, state, stored)
    if gone := state.settings.sources_not_installed():
        read = {path.partition("/")[0] for path in ApiLedger(store).paths(state.run_id)}
        state.missing_sources = tuple(line for name, line in gone.items() if name in read)
    return state


class Bodies(Protocol):
    """Where the fold reads the texts that events name: the store, or what the ``Recorder`` is about to write."""

    def body(self, digest: str) -> bytes:
        """Return the body filed under ``digest``."""
        ...

    def text(self, digest: str) -> str:
        """Return it as text."""
        ...


def apply(store: Bodies, state: RunState, stored: StoredEvent) -> None:
    """Apply one event to ``state``, in place. ``fold`` calls it for stored events, the ``Recorder`` for new ones."""
    event = stored.event
    state.seq = stored.seq
    # The book-keeping of requests, and what people say of the run, change nothing that a request could depend on.
    if not isinstance(event, ev.CallAsked | ev.CallUnbilled | ev.NodeRefitted | ev.Annotation):
        state.changed_seq = stored.seq
    before = state.last_utc
    _count_time(state, stored)
    match event:
        # leaf.kept has no case: that leaf was one before, and the reason is for people who read the log.
        case ev.RunResumed():
            state.stopped, state.provider_waiting = None, None
            state.waiting.clear()
            state.undecided.clear()
            for key, trial in list(state.trials.items()):
                if not trial.open:
                    continue
                # After a kill its time ends with the last event; now all go on, or those that the sitting is kept to.
                goes_on = not event.only or key[0] in event.only
                state.trials[key] = replace(
                    trial,
                    failure=None if goes_on else trial.failure or "left for a later sitting",
                    seconds=trial.until(before),
                    since=stored.at_utc if goes_on else None,
                )
        case ev.RunSealed():
            state.isolation = event.isolation
        case ev.TreeExpanded():
            state.tree = _tree(store, state, event.tree)
        case ev.TreePlanned() | ev.TreeEdited():
            state.tree, state.planned = _tree(store, state, event.tree), True
        case event if isinstance(event, LEAF_EVENTS):
            apply_to_leaf(store, state, stored)
        case ev.NodeSynthesized():
            belief = Belief(p=event.p, key_factor=event.key_factor, report=store.text(event.report))
            rule = rule_from_json(event.rule, missing="keep")
            _note_missing(state, [rule], package=event.package)
            if rule != state.tree[event.node].rule:
                state.refits.pop(event.node, None)  # they are of the rule that it had
            state.tree = state.tree.with_rule(event.node, rule, belief)
            state.waiting.pop(event.node, None)
        case ev.NodeRefitted():
            state.refits[event.node] = event
        case ev.NodeFailed():
            state.failures.setdefault(event.node, []).append(event.reason)
            state.waiting.pop(event.node, None)
        case ev.NodeWaiting():
            state.waiting[event.node] = event.reason
        case ev.RunWaiting():
            state.provider_waiting = event
        case ev.ApprovalAsked():
            state.undecided[approval_key(event)] = event
        case ev.ApprovalGiven():
            state.undecided.pop(approval_key(event), None)
            state.decided[approval_key(event)] = event
            if (event.what, event.verdict) == ("cell", "no"):
                trial = state.trial(event.node, event.trial)
                state.trials[event.node, event.trial] = replace(
                    trial, rejected=tuple(dict.fromkeys((*trial.rejected, event.attempt)))
                )
        case ev.RunContinued():
            state.provider_waiting = None
        case ev.RunChanged():
            state.settings = state.settings.changed(event.changes)
            if "api_base" in event.changes:
                state.server_seq = stored.seq
            state.models = tuple(dict.fromkeys((*state.models, state.settings.model)))
        case ev.TextCut():
            texts: dict[str, Any] = dict(event.context)
            state.settings = replace(state.settings, context=replace(state.settings.context, **texts))
            state.cut += event.cut
        case ev.RunStopped():
            state.stopped, state.provider_waiting = event, None
            state.undecided.clear()
            for key, trial in list(state.trials.items()):
                if trial.since is not None:
                    state.trials[key] = replace(trial, seconds=trial.until(stored.at_utc), since=None)
        case ev.RunFinished():
            state.finished, state.stopped, state.provider_waiting = True, None, None
            for node in state.reopened:  # a new attempt that came to nothing: the old conclusion stands
                for key, trial in trials_of(state, node):
                    state.trials[key] = replace(trial, again=False)
            state.reopened.clear()
        case ev.RunImported():
            # A stranger's yes is nobody's here: what is resumed is asked again.
            state.decided.clear()
            state.undecided.clear()
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
        case (
            ev.CommentAdded()
            | ev.NoteAdded()
            | ev.OutcomeRecorded()
            | ev.ReviewSigned()
            | ev.ReviewReturned()
            | ev.LeaksAudited()
        ):
            state.annotations = state.annotations.apply(stored)
        case ev.RunStarted():
            raise EventUnreadable(f"run {stored.run_id} is started twice, at event {stored.seq}")
        case event if isinstance(event, ev.StreamEvent):
            raise EventUnreadable(
                f"event {stored.seq} of run {stored.run_id} belongs to no run: {event.kind}"
            )


def _count_time(state: RunState, stored: StoredEvent) -> None:
    """Add the time since the event before, where both are of one sitting; a limit on a run's time counts these."""
    if isinstance(
        stored.event,
        ev.ScenarioRecorded
        | ev.TreeEdited
        | ev.RunImported
        | ev.LeafReopened
        | ev.NodeRefitted
        | ev.Annotation,
    ):
        return  # a person at work, not the run
    if state.stopped is None and not state.finished and not isinstance(stored.event, ev.RunResumed):
        state.worked_seconds += max(0.0, seconds_between(state.last_utc, stored.at_utc))
    state.last_utc = stored.at_utc


def _tree(store: Bodies, state: RunState, digest: str) -> Tree:
    tree = tree_from_json(orjson.loads(store.body(digest)), missing="keep")
    _note_missing(state, [rule for node in tree.inner() if (rule := tree[node].rule) is not None])
    return tree


def _note_missing(state: RunState, rules: Iterable[Rule], *, package: str | None = None) -> None:
    """Remember which rules are not installed here: the run is readable without them, but nothing can be computed."""
    for rule in rules:
        if isinstance(rule, UninstalledRule):
            source = f"; it came with the package {package}" if package else ""
            state.missing = tuple(dict.fromkeys((*state.missing, f"{rule.problem}{source}")))
