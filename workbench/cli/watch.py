"""``watch`` and ``stop``: a run that another process works on, followed and ended from outside."""

import time
from typing import Annotated

import typer

from workbench.cli.common import (
    DONE,
    JSON_OPTION,
    PROVIDER,
    RUN,
    STOPPED,
    USAGE,
    command,
    echo,
    emit_json,
    open_store,
    say,
)
from workbench.engine.progress import follow_run, print_progress
from workbench.engine.run.detached import stop_run
from workbench.engine.run.ownership import owner_of
from workbench.engine.run.state import RunState
from workbench.engine.view import view
from workbench.engine.wording import run_lines

#: Seconds between two looks at the log.
_LOOK = 0.5

_CODES = {"failure": PROVIDER, "outage": PROVIDER, "refused": USAGE, "other-writer": USAGE, "plan-only": DONE}


@command
def watch(run: Annotated[str, RUN], as_json: Annotated[bool, JSON_OPTION] = False) -> None:
    """Show the progress of a run until it ends, and leave with its exit code; the run is not touched."""
    store = open_store()
    run_id = store.resolve_run(run, unfinished=True)
    owner = owner_of(store.folder(run_id))
    say(f"run {run_id} is in work: {owner.line()}" if owner else f"nobody works on run {run_id}")
    state = follow_run(store, run_id, print_progress, pause=lambda: time.sleep(_LOOK))
    loaded = view(store, run_id)
    if as_json:
        emit_json(loaded.document())
    else:
        echo("\n".join(run_lines(loaded)))
    code = run_code(state)
    if code == STOPPED and state.stopped is None:
        say(f"workbench: the process that worked on it is gone: `workbench resume {run_id}` goes on")
    elif code != DONE and state.reason:
        say(f"workbench: {state.reason} (`workbench resume {run_id}` goes on)")
    raise typer.Exit(code)


def run_code(state: RunState) -> int:
    """Return the exit code that the command which worked on a run left with."""
    if state.finished:
        return DONE
    return STOPPED if state.stopped is None else _CODES.get(state.stopped.why, STOPPED)


@command
def stop(run: Annotated[str, RUN]) -> None:
    """End the process that works on a run; the run can be resumed."""
    store = open_store()
    run_id = store.resolve_run(run, unfinished=True)
    if not stop_run(store, run_id):
        say(f"nobody works on run {run_id}: nothing to stop")
        return
    say(f"run {run_id} is stopped: `workbench resume {run_id}` goes on")
