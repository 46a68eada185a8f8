"""``rm`` and ``gc``: what a home no longer needs."""

from typing import Annotated

import typer

from workbench.cli.common import RUN, command, open_store, say
from workbench.engine.run.fold import load_state
from workbench.engine.run.ownership import own_run, owner_of
from workbench.errors import UsageError, WorkbenchError
from workbench.store.removal import collect_garbage, remove_run


@command
def rm(
    run: Annotated[str, RUN],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove a run: its log, its ledgers, its notebooks, and every body that no other run names. There is no way back."""
    store = open_store()
    run_id = store.resolve_run(run)
    with own_run(store.folder(run_id)):  # refuses a run that is in work, and keeps others off it
        try:
            state = load_state(store, run_id)
            facts = f"{state.statement!r:.100}, {state.phase}"
        except WorkbenchError as error:  # a damaged run is removed like any other
            facts = f"it cannot be read: {error}"
        if not yes:
            say(f"run {run_id}: {facts}")
            say("A package that was exported from it could no longer be compared with it here.")
            typer.confirm("Remove it for ever?", abort=True, err=True)
        removed = remove_run(store, run_id)
    say(
        f"removed run {run_id}: {removed.rows} rows, {removed.bodies} bodies ({removed.body_bytes / 1e6:.1f} MB),"
        f" {removed.files} files; `workbench gc` gives the space back to the disk"
    )


@command
def gc() -> None:
    """Remove what no run needs: bodies that nothing names, half-written files; and give the space back to the disk."""
    store = open_store()
    for run_id in store.run_ids():
        # A run files a body a moment before the row that names it.
        if (owner := owner_of(store.home / "runs" / run_id)) is not None:
            raise UsageError(f"run {run_id} is in work ({owner.line()}): stop it first, or wait for its end")
    removed = collect_garbage(store)
    say(
        f"removed {removed.bodies} bodies ({removed.body_bytes / 1e6:.1f} MB) and {removed.files} left-over files or folders"
    )
