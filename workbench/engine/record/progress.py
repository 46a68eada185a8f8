"""Progress of a run as lines on stderr, for the command line and for notebooks."""

import sys
from collections.abc import Callable

from workbench.engine.ownership import owner_of
from workbench.engine.record.fold import apply, load_state
from workbench.engine.record.recorder import Listener
from workbench.engine.record.state import RunState
from workbench.errors import command, sentence
from workbench.formatting import counted, percent
from workbench.store import Store, StoredEvent
from workbench.store import events as ev
from workbench.terminal import printable


def print_progress(state: RunState, stored: StoredEvent) -> None:
    """Print what just happened on stderr; the listener that the screens give to the engine."""
    line = progress_line(state, stored)
    if line is not None:
        sys.stderr.write(printable(line, keep="") + "\n")
        sys.stderr.flush()


def follow_run(store: Store, run_id: str, listener: Listener, *, pause: Callable[[], None]) -> RunState:
    """Show what happens to a run that another process works on, and return its state when nobody does any more.

    ``pause`` is called between two looks at the log.
    """
    state = load_state(store, run_id)
    while True:
        # Asked before the log is read: what the owner wrote last is seen in the look after its end.
        owned = owner_of(store.folder(run_id)) is not None
        for stored in store.events(run_id, after=state.seq):
            apply(store, state, stored)
            listener(state, stored)
        if not owned:
            return state
        pause()


def progress_line(state: RunState, stored: StoredEvent) -> str | None:
    """Return what a person wants to read of an event; None for those that only the log needs."""
    event = stored.event
    leaves = len(list(state.tree.leaves()))
    match event:
        case ev.TreePlanned():
            if not state.tree.root.children:
                return "no driver was found: the claim alone needs evidence"
            return f"{counted(len(list(state.tree.ids())) - 1, 'driver')}, {leaves} of them need evidence"
        case ev.RunSealed(isolation="none"):
            return "Warning: isolation is none: code written by a model runs with your rights and sees your files and network"
        case ev.LeafStep():
            cost = "" if event.cost_usd is None else f", ${event.cost_usd:.4f}"
            tokens = (event.input_tokens or 0) + (event.output_tokens or 0)
            # A model that counts nothing and costs nothing answers at once: its steps say nothing to a person.
            if not tokens and not event.cost_usd:
                return None
            return f"  {event.node:8} request {event.number}: {event.what}, {tokens:,} tokens{cost}"
        case ev.LeafPooled():
            dead = f", {event.dead} of its trials dead" if event.dead else ""
            if state.tree[event.node].children:
                count = counted(len(event.trials), "direct forecast")
                return f"  {event.node:8} {percent(event.p):>6}  by {count}{dead}"
            done = sum(state.tree[leaf].belief is not None for leaf in state.tree.leaves())
            return f"  {event.node:8} {percent(event.p):>6}  has its evidence ({done} of {leaves}){dead}"
        case ev.LeafVerified(verified=False):
            what = "; ".join(event.differing) or "no reason on record"
            return f"  {event.node:8} not verified: {what[:300]}"
        case ev.NodeSynthesized():
            return f"  {event.node:8} {percent(event.p):>6}  combined"
        case ev.LeafFailed():
            again = "" if event.final else " (again)"
            return f"  {event.node:8} attempt {event.attempt} failed: {event.reason[:200]}{again}"
        case ev.NodeFailed():
            return f"  {event.node:8} failed: {event.reason[:200]}"
        case ev.LeafWaiting() | ev.NodeWaiting():
            return f"  {event.node:8} waits for another session: {event.reason[:200]}"
        case ev.ApprovalAsked():
            return sentence(
                f"  {event.node:8} waits for approval of a {event.what}: ", command("approve", state.run_id)
            )
        case ev.ApprovalGiven():
            why = f": {event.reason[:200]}" if event.reason else ""
            return f"  {event.node:8} {event.what}: {event.verdict}, by {event.author}{why}"
        case ev.RunWaiting():
            return f"  waiting for {event.provider}: {event.reason[:200]}"
        case ev.RunContinued():
            return f"  {event.provider} answers again after {event.seconds:.0f} s"
        case _:
            return None
