"""How a run's events make its state: the run as a whole first, then what the events of a leaf do to its trials and its value.

Whoever wants to know how a run stands (resume, the screens, the command line, an audit) reads the log through this one
function, so that no two of them can disagree.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Protocol

from workbench.engine.record.followed_run import FollowedRun
from workbench.engine.record.imported_run import Imported
from workbench.engine.record.series_fan import read_fan
from workbench.engine.record.state import (
    REPEATS,
    EarlierGrounding,
    RunState,
    approval_key,
    seconds_between,
)
from workbench.engine.run_settings import RunSettings
from workbench.errors import command, sentence
from workbench.models.base import PastShare
from workbench.propositions import Belief, Rule, Tree
from workbench.quoting import Marks
from workbench.store import ApiLedger, EventUnreadable, Store, StoredEvent
from workbench.store import events as ev
from workbench.store.database import json_of
from workbench.synthesis import UninstalledRule, rule_from_json, tree_from_json
from workbench.synthesis.whatif.scenarios import ScenarioRecord

#: Events that :func:`apply_to_leaf` takes.
LEAF_EVENTS = (
    ev.LeafStarted, ev.LeafGrounded, ev.LeafVerified, ev.LeafFailed, ev.LeafWaiting, ev.LeafPooled, ev.LeafReopened,
)  # fmt: skip


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
    state.marks = Marks(first.event.quote_key)
    state.read_as = first.event.read_as
    state.history = None if first.event.history is None else PastShare(*first.event.history)
    state.fan = None if first.event.fan is None else read_fan(store.body(first.event.fan))
    if first.event.follows is not None:
        state.follows = FollowedRun.read(store.json(first.event.follows.body))
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
        case ev.LeafKept():
            state.kept[event.node] = event.reason
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
                    failure=None if goes_on else trial.failure or "left for a later session",
                    seconds=trial.until(before),
                    since=stored.at_utc if goes_on else None,
                )
        case ev.RunSealed():
            state.isolation = event.isolation
        case ev.TreeExpanded():
            state.tree = _stored_tree(store, state, event.tree)
        case ev.TreePlanned() | ev.TreeEdited():
            state.tree, state.planned = _stored_tree(store, state, event.tree), True
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
            state.failures[event.node] = (*state.failures.get(event.node, ()), event.reason)
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
            if event.what == "run":
                state.stopped = _after_proposal(event)
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
        case ev.NewsSearched():
            state.news = event
            if event.news is not None:
                state.settings = state.settings.with_news(store.text(event.news))
        case ev.RunStopped():
            state.stopped, state.provider_waiting = event, None
            state.undecided.clear()
            for key, trial in list(state.trials.items()):
                if trial.since is not None:
                    state.trials[key] = replace(trial, seconds=trial.until(stored.at_utc), since=None)
        case ev.RunFinished():
            state.finished, state.stopped, state.provider_waiting = True, None, None
            for node in state.reopened:  # a new attempt that came to nothing: the old conclusion stands
                for key, trial in state.begun(node).items():
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
        case ev.Annotation():
            state.annotations = state.annotations.apply(stored)
        case ev.RunStarted():
            raise EventUnreadable(f"run {stored.run_id} is started twice, at event {stored.seq}")
        case ev.StreamEvent():
            raise EventUnreadable(
                f"event {stored.seq} of run {stored.run_id} belongs to no run: {event.kind}"
            )


def _after_proposal(event: ev.ApprovalGiven) -> ev.RunStopped:
    """A run that another program proposed, once a person has decided: it can be started, or it ends here."""
    if event.verdict == "yes":
        return ev.RunStopped(why="plan-only", detail=f"approved by {event.author}: not begun yet")
    return ev.RunStopped(why="refused", detail=f"rejected by {event.author}: {event.reason}")


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


def _stored_tree(store: Bodies, state: RunState, digest: str) -> Tree:
    tree = tree_from_json(json_of(store.body(digest), digest), missing="keep")
    _note_missing(state, [rule for node in tree.inner() if (rule := tree[node].rule) is not None])
    return tree


def _note_missing(state: RunState, rules: Iterable[Rule], *, package: str | None = None) -> None:
    """Remember which rules are not installed here: the run is readable without them, but nothing can be computed."""
    for rule in rules:
        if isinstance(rule, UninstalledRule):
            source = f"; it came with the package {package}" if package else ""
            state.missing = tuple(dict.fromkeys((*state.missing, f"{rule.problem}{source}")))


def apply_to_leaf(store: Bodies, state: RunState, stored: StoredEvent) -> None:
    """Apply one of ``LEAF_EVENTS`` to ``state``, in place."""
    event = stored.event
    match event:
        case ev.LeafReopened():
            _reopen(state, stored, event)
        case ev.LeafStarted():
            attempt_before = state.trial(event.node, event.trial).attempt
            begun: dict[str, Any] = {"open": True, "goes_on": False, "failure": None, "since": stored.at_utc}
            if event.attempt != attempt_before:
                begun |= {
                    "gave_up": (),
                    "max_steps": state.settings.agent.max_proof_steps,
                    "known_calls": event.known_calls,
                    "asked_on": event.asked_on,
                }
            _move(state, event, attempt=event.attempt, **begun)
        case ev.LeafGrounded():
            belief = Belief(p=event.p, key_factor=event.key_factor, report=store.text(event.report))
            _move(
                state,
                event,
                **_stand_still(state, stored),
                open=False,
                failure=None,
                belief=belief,
                evidence=event.evidence,
                journal_head=event.journal_head,
                concluded=event.attempt,
                again=False,
                verified=None,
                findings=event.findings,
            )
        case ev.LeafVerified():
            concluded = state.trial(event.node, event.trial).findings
            findings = [each for each in concluded if each.check != REPEATS]
            _move(state, event, verified=event.verified, findings=(*findings, *event.findings))
        case ev.LeafFailed():
            places = state.trial(event.node, event.trial).gave_up
            if event.gave_up is not None:
                places = (*places, event.gave_up)
            _move(
                state,
                event,
                **_stand_still(state, stored),
                open=False,
                goes_on=event.gave_up is not None,
                gave_up=places,
                failure=event.reason,
            )
        case ev.LeafWaiting():
            _move(
                state,
                event,
                **_stand_still(state, stored),
                attempt=event.attempt,
                open=True,
                failure=event.reason,
            )
        case ev.LeafPooled():
            belief = Belief(p=event.p, key_factor=event.key_factor, report=store.text(event.report))
            if not state.tree[
                event.node
            ].children:  # else direct forecasts, which its rule will pool with its drivers
                state.tree = state.tree.with_belief(event.node, belief)
            state.pooled[event.node] = event.p
            for key, trial in state.begun(event.node).items():
                if trial.again:  # it is dead: what it concluded before is not counted beside the new ones
                    state.trials[key] = replace(trial, belief=None, again=False)


def _reopen(state: RunState, stored: StoredEvent, event: ev.LeafReopened) -> None:
    """Have a leaf's trials grounded again; what they concluded, and what the tree says, stays until something new is in."""
    belief = state.tree[event.node].belief
    if belief is None or state.tree[event.node].children:
        raise EventUnreadable(
            f"event {stored.seq} of run {stored.run_id} reopens {event.node}, no driver with a value"
        )
    trials = state.begun(event.node)
    earlier = EarlierGrounding(
        p=belief.p,
        key_factor=belief.key_factor,
        attempts=tuple(trial.concluded for trial in trials.values() if trial.belief),
        reopened_utc=stored.at_utc,
        author=event.author,
        reason=event.reason,
    )
    state.earlier[event.node] = (*state.earlier.get(event.node, ()), earlier)
    for key, trial in trials.items():
        state.trials[key] = replace(
            trial, again=True, open=False, goes_on=False, gave_up=(), failure=None, seconds=0.0, since=None
        )
    state.reopened[event.node] = event.resynthesis
    if state.annotations.outcome is not None:
        state.reopened_late = tuple(dict.fromkeys((*state.reopened_late, event.node)))
    state.finished = False
    state.stopped = ev.RunStopped(
        why="interrupt",
        detail=sentence(
            f"{event.node} is to get its evidence again: ", command("resume", state.run_id), " does it"
        ),
    )


def _stand_still(state: RunState, stored: StoredEvent) -> dict[str, Any]:
    event = stored.event
    assert isinstance(event, ev.TrialEvent)
    return {"seconds": state.trial(event.node, event.trial).until(stored.at_utc), "since": None}


def _move(state: RunState, event: ev.TrialEvent, **changes: Any) -> None:
    key = (event.node, event.trial)
    state.trials[key] = replace(state.trial(*key), **changes)
