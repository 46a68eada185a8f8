"""``resume``: going on with a run that was stopped."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from workbench.cli.common import ISOLATION_OPTION, JSON_OPTION, RUN, command, open_store, say
from workbench.cli.drive import detach_run, drive, finish, may_buy_again
from workbench.cli.run_options import DETACH, TRUST_CLUSTER, WORKERS, YES, takes_run_options
from workbench.engine.run.fold import load_state
from workbench.engine.run.opening import change_run
from workbench.engine.run.regrounding import trying_line
from workbench.engine.run.settings import check_level
from workbench.engine.whatif.edits import adopt_tree_file
from workbench.engine.workers.place import worker_place


@command
@takes_run_options
def resume(
    run: Annotated[str, RUN],
    settings: Mapping[str, Any],
    isolation: Annotated[str | None, ISOLATION_OPTION] = None,
    workers: Annotated[str | None, WORKERS] = None,
    trust_cluster: Annotated[bool, TRUST_CLUSTER] = False,
    leaves: Annotated[
        list[str] | None,
        typer.Option(
            "--leaf",
            "--node",
            help="Only this leaf or inner node, as one that failed, and what follows above; as often as you like. Says the price.",
        ),
    ] = None,
    yes: Annotated[bool, YES] = False,
    detach: Annotated[bool, DETACH] = False,
    as_json: Annotated[bool, JSON_OPTION] = False,
) -> None:
    """Go on with a run that was stopped; nothing that reached the ledger is asked again.

    What is changed by an option stays changed for later sittings, and the run's log says so. The level that the run was made
    at is not used: kernels start at the one asked for now.
    """
    place = worker_place(workers, trust_cluster=trust_cluster)
    if isolation is not None:
        check_level(isolation)
    store = open_store()
    run_id = store.resolve_run(run, unfinished=True)
    # Before the state is read: after --plan-only a person may have edited tree.json, and that tree is then the run's.
    adopt_tree_file(store, run_id)
    change_run(store, run_id, settings)
    state = load_state(store, run_id)
    error = None
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
        _, error = drive(
            store,
            state.settings,
            isolation=isolation,
            workers=place,
            run_id=run_id,
            leaves=only,
            rebuy=again,
        )
    finish(store, run_id, error, plan_only=False, as_json=as_json)
