"""``resume``, ``reground``, ``watch`` and ``stop``: going on with a run, one leaf anew, and a run that another process works on."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from workbench.cli.common import (
    AsJson,
    IsolationLevel,
    RunId,
    command,
    confirm,
    open_store,
    say,
    unlisted,
)
from workbench.cli.run.drive import Ended, detach_run, drive, finish, may_buy_again
from workbench.cli.run.run_options import Detach, Workers, Yes, takes_settings
from workbench.engine.leaves.single_node import regrounding_line, reopen_leaf, trying_line
from workbench.engine.named_settings import without_level
from workbench.engine.new_run import change_run
from workbench.engine.record.fold import load_state
from workbench.engine.worker_place import worker_place
from workbench.whatif.run_edits import adopt_tree_file


@command
@takes_settings("model", "budget_usd")
def resume(
    run: RunId,
    settings: Mapping[str, Any],
    isolation: IsolationLevel = None,
    workers: Workers = None,
    leaves: Annotated[
        list[str] | None,
        typer.Option(
            "--leaf",
            "--node",
            help="Only this driver, as one that failed, and what follows above; as often as you like. Says the price.",
        ),
    ] = None,
    yes: Yes = False,
    detach: Detach = False,
    as_json: AsJson = False,
) -> None:
    """Go on with a run that was stopped; nothing that reached the ledger is asked again.

    What is changed by an option stays changed for later sessions, and the run's log says so. The level that the run was made
    at is not used: kernels start at the one asked for now.
    """
    place = worker_place(workers)
    changes, isolation = without_level(settings, isolation)
    store = open_store()
    run_id = store.resolve_run(run, unfinished=True)
    # Before the state is read: after --plan-only a person may have edited tree.json, and that tree is then the run's.
    adopt_tree_file(store, run_id)
    change_run(store, run_id, changes)
    state = load_state(store, run_id)
    ended = Ended(run_id)
    if (
        state.finished
    ):  # a finished run may come from a file whose model nobody can open: there is nothing to ask it
        say(f"run {run_id} is finished: nothing is left to do")
    else:
        only = list(dict.fromkeys(leaves or ()))
        if only:
            say(trying_line(state, only))
        state.require_model()
        again = may_buy_again(store, [run_id], yes=yes)
        if detach:
            detach_run(store, run_id, isolation=isolation, workers=place, leaves=only, rebuy=again)
            return
        ended = drive(
            store,
            state.settings,
            isolation=isolation,
            workers=place,
            run_id=run_id,
            leaves=only,
            rebuy=again,
        )
    finish(store, ended, plan_only=False, as_json=as_json)


@command
@takes_settings(only_set=True)
def reground(
    run: RunId,
    node: Annotated[str, typer.Argument(help="A driver that has a value.")],
    settings: Mapping[str, Any],
    full: Annotated[
        bool,
        typer.Option("--full", help="Ask the synthesizer again for the drivers above, formula or not."),
    ] = False,
    author: Annotated[str, unlisted(help="Who wants it; on record, not proved.")] = "",
    reason: Annotated[str, unlisted(help="Why; on record.")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before paying.")] = False,
    isolation: IsolationLevel = None,
    detach: Detach = False,
    as_json: AsJson = False,
) -> None:
    """Collect evidence for one driver again, in a new attempt; its price is said first, and what it concluded before stays on record.

    The drivers above follow by their stored rules. If the attempt comes to nothing the old value stands.
    """
    changes, isolation = without_level(settings, isolation)
    store = open_store()
    run_id = store.resolve_run(run)
    load_state(store, run_id).settings.changed(changes)  # refused before anything is asked or reopened
    say(regrounding_line(load_state(store, run_id), node, full=full))
    confirm("go on?", yes=yes)
    state = reopen_leaf(store, run_id, node, full=full, author=author, reason=reason)
    if changes:
        change_run(store, run_id, changes)
        state = load_state(store, run_id)
    if detach:
        detach_run(store, run_id, isolation=isolation)
        return
    ended = drive(store, state.settings, isolation=isolation, run_id=run_id)
    finish(store, ended, plan_only=False, as_json=as_json)
