"""What the events of a leaf do to a run's state: its trials, their pooled value, and grounding it again."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.engine.run.trial_state import EarlierGrounding, TrialState
from workbench.propositions import Belief, NodeId
from workbench.store import EventUnreadable, StoredEvent
from workbench.store import events as ev

if TYPE_CHECKING:
    from workbench.engine.run.state import Bodies, RunState

#: Events that :func:`apply_to_leaf` takes.
LEAF_EVENTS = (
    ev.LeafStarted, ev.LeafGrounded, ev.LeafVerified, ev.LeafFailed, ev.LeafWaiting, ev.LeafPooled, ev.LeafReopened,
)  # fmt: skip


def apply_to_leaf(store: "Bodies", state: "RunState", stored: StoredEvent) -> None:
    """Apply one of ``LEAF_EVENTS`` to ``state``, in place."""
    event = stored.event
    match event:
        case ev.LeafReopened():
            _reopen(state, stored, event)
        case ev.LeafStarted():
            attempt_before = state.trial(event.node, event.trial).attempt
            begun: dict[str, Any] = {"open": True, "goes_on": False, "failure": None, "since": stored.at_utc}
            if event.attempt != attempt_before:
                begun |= {"gave_up": (), "max_steps": state.settings.agent.max_proof_steps}
                rejected = state.trial(event.node, event.trial).rejected
                if attempt_before not in rejected:  # it ended for another reason: the new one begins anew
                    begun |= {"rejected": ()}
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
            )
        case ev.LeafVerified():
            _move(state, event, verified=event.verified)
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
            state.tree = state.tree.with_belief(event.node, belief)
            state.pooled[event.node] = event.p
            for key, trial in trials_of(state, event.node):
                if trial.again:  # it is dead: what it concluded before is not counted beside the new ones
                    state.trials[key] = replace(trial, belief=None, again=False)


def trials_of(state: "RunState", node: NodeId) -> list[tuple[tuple[NodeId, int], TrialState]]:
    """Return the trials of a leaf that were begun, with their keys in the state."""
    # Looked up, not searched for: among ten thousand leaves a search at each would cost more than their grounding.
    keys = ((node, number) for number in range(1, state.settings.trials + 1))
    return [(key, state.trials[key]) for key in keys if key in state.trials]


def _reopen(state: "RunState", stored: StoredEvent, event: ev.LeafReopened) -> None:
    """Have a leaf's trials grounded again; what they concluded, and what the tree says, stays until something new is in."""
    belief = state.tree[event.node].belief
    if belief is None or state.tree[event.node].children:
        raise EventUnreadable(
            f"event {stored.seq} of run {stored.run_id} reopens {event.node}, no leaf with a value"
        )
    trials = trials_of(state, event.node)
    state.earlier.setdefault(event.node, []).append(
        EarlierGrounding(
            p=belief.p,
            key_factor=belief.key_factor,
            attempts=tuple(trial.concluded for _, trial in sorted(trials) if trial.belief),
            at_utc=stored.at_utc,
            author=event.author,
            reason=event.reason,
        )
    )
    for key, trial in trials:
        state.trials[key] = replace(
            trial, again=True, open=False, goes_on=False, gave_up=(), failure=None, seconds=0.0, since=None
        )
    state.reopened[event.node] = event.resynthesis
    if state.annotations.outcome is not None:
        state.reopened_late = tuple(dict.fromkeys((*state.reopened_late, event.node)))
    state.finished = False
    state.stopped = ev.RunStopped(
        why="interrupt",
        detail=f"{event.node} is to be grounded again: `workbench resume {state.run_id}` does it",
    )


def _stand_still(state: "RunState", stored: StoredEvent) -> dict[str, Any]:
    """The fields of a trial whose attempt ends, or waits, with an event."""
    event = stored.event
    assert isinstance(event, ev.LeafEvent)
    return {"seconds": state.trial(event.node, event.trial).until(stored.at_utc), "since": None}


def _move(state: "RunState", event: ev.LeafEvent, **changes: Any) -> None:
    key = (event.node, event.trial)
    state.trials[key] = replace(state.trial(*key), **changes)
