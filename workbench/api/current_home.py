"""What the functions of the API share: the store of this environment, going on with one of its runs."""

import os

from workbench.engine.assembly import open_engine
from workbench.engine.detached import record_beside
from workbench.engine.record.fold import load_state
from workbench.engine.run_settings import check_level
from workbench.engine.worker_place import WorkerPlace
from workbench.environment import home_from
from workbench.reports.note_page import write_report
from workbench.store import Store
from workbench.store.removal import began_at
from workbench.views.run_view import RunView, view
from workbench.whatif.run_edits import adopt_tree_file
from workbench.widgets.proofs.cell_progress import progress_listener
from workbench.workers.worker_choice import workers_at


def open_home() -> Store:
    """Return the store of the data folder that the environment names; the caller closes it."""
    return Store(home_from(os.environ))


async def resumed(
    run_id: str,
    *,
    isolation: str | None = None,
    quiet: bool = False,
    workers: WorkerPlace | None = None,
    rebuy: bool = False,
) -> RunView:
    """Go on with a run of this home as ``workbench.resume`` says, and return it as it is then."""
    # Imported here, so that `import workbench` loads neither kernels nor pandas.
    from workbench.annotations.outcomes import resolve_when_finished

    if isolation is not None:
        check_level(isolation)
    with open_home() as store, progress_listener(store, quiet=quiet) as listener:
        run_id = store.resolve_run(run_id)
        # Before the state is read: after --plan-only a person may have edited tree.json, and that tree is then the run's.
        adopt_tree_file(store, run_id)
        state = load_state(store, run_id)
        # A finished run may come from a file whose model nobody can open here; there is nothing to ask it.
        if not state.finished:
            state.require_model()
            async with open_engine(
                store,
                state.settings,
                environ=os.environ,
                isolation=isolation,
                began=began_at(store, run_id),
                listener=listener,
                workers=workers_at(workers),
                note=write_report,
            ) as engine:
                record_beside(store, run_id)
                await engine.work(run_id, rebuy=rebuy)
            await resolve_when_finished(store, run_id)
        return view(store, run_id)
