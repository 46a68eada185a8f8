"""Progress of a run as lines on stderr, for the command line and for notebooks."""

import sys

from workbench.engine.run.state import RunState
from workbench.engine.wording import percent
from workbench.store import StoredEvent
from workbench.store import events as ev


def print_progress(state: RunState, stored: StoredEvent) -> None:
    """Print what just happened on stderr; the listener that the screens give to the engine."""
    line = progress_line(state, stored)
    if line is not None:
        sys.stderr.write(line + "\n")
        sys.stderr.flush()


def progress_line(state: RunState, stored: StoredEvent) -> str | None:
    """Return what a person wants to read of an event; None for those that only the log needs."""
    event = stored.event
    leaves = len(list(state.tree.leaves()))
    match event:
        case ev.TreePlanned():
            return f"tree of {len(list(state.tree.ids()))} propositions, {leaves} of them leaves"
        case ev.RunSealed(isolation="none"):
            return "WARNING: isolation is none: code written by a model runs with your rights and sees your files and network"
        case ev.LeafPooled():
            return f"  {event.node:8} {percent(event.p):>6}  grounded ({len(state.pooled)} of {leaves})"
        case ev.NodeSynthesized():
            return f"  {event.node:8} {percent(event.p):>6}  synthesized"
        case ev.LeafFailed():
            again = "" if event.final else " (again)"
            return f"  {event.node:8} attempt {event.attempt} failed: {event.reason[:200]}{again}"
        case ev.NodeFailed():
            return f"  {event.node:8} failed: {event.reason[:200]}"
        case _:
            return None
