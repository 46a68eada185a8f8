"""``resume``: going on with a run that was stopped."""

from typing import Annotated

from workbench.cli.common import ISOLATION_OPTION, JSON_OPTION, RUN, command, open_store, say
from workbench.cli.drive import drive, finish


@command
def resume(
    run: Annotated[str, RUN],
    isolation: Annotated[str | None, ISOLATION_OPTION] = None,
    as_json: Annotated[bool, JSON_OPTION] = False,
) -> None:
    """Go on with a run that was stopped; nothing that reached the ledger is asked again.

    The level that the run was made at is not used: kernels start at the one asked for now, and the run's log says so.
    """
    from workbench.engine.run.settings import check_level
    from workbench.engine.run.state import load_state
    from workbench.engine.whatif.edits import adopt_tree_file

    if isolation is not None:
        check_level(isolation)
    store = open_store()
    run_id = store.resolve_run(run)
    # Before the state is read: after --plan-only a person may have edited tree.json, and that tree is then the run's.
    adopt_tree_file(store, run_id)
    state = load_state(store, run_id)
    error = None
    if (
        state.finished
    ):  # a finished run may come from a file whose model nobody can open: there is nothing to ask it
        say(f"run {run_id} is finished: nothing is left to do")
    else:
        _, error = drive(store, state.settings, isolation=isolation, run_id=run_id)
    finish(store, run_id, error, plan_only=False, as_json=as_json)
