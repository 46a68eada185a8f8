"""Runs as a caller has them: analyze a claim, resume, open or take in a run, list runs and hold them against each other."""

import inspect
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from workbench.annotations.outcomes import resolve_when_finished
from workbench.api.current_home import open_home, resumed
from workbench.api.python_terms import in_python_terms
from workbench.api.run_handle import Analysis
from workbench.blocking import refuse_running_loop, run_blocking
from workbench.engine.assembly import open_engine
from workbench.engine.detached import record_beside
from workbench.engine.named_settings import SETTINGS
from workbench.engine.new_run import new_run
from workbench.engine.run_settings import with_preset
from workbench.engine.worker_place import worker_place
from workbench.reports.note_page import write_report
from workbench.requests import described, keywords_of, takes
from workbench.views.run_view import view
from workbench.widgets.proofs.cell_progress import progress_listener
from workbench.workers.worker_choice import workers_at


@takes("options", keywords_of(*SETTINGS, but=("preset",)))
@in_python_terms
@described(*SETTINGS, but=("preset",))
async def analyze(
    statement: str,
    *,
    cutoff: str,
    preset: str = "product",
    quiet: bool = False,
    plan_only: bool = False,
    workers: str | int | None = None,
    reading: int | None = None,
    **options: Any,
) -> Analysis:
    """Break a claim into drivers, collect evidence for each in a sealed notebook, and return the finished analysis.

    Parameters
    ----------
    statement : str
        A claim that will turn out true or false.
    cutoff : str
        A date (start of that day in New York), an instant, or ``"now"``.
    preset : str
        Named set of defaults.
    quiet : bool
        Show no progress: in a notebook an output of the cell, elsewhere lines on stderr.
    plan_only : bool
        Stop after the tree; ``resume`` collects the evidence.
    workers : str or int, optional
        Collect evidence elsewhere: ``"dask://HOST:PORT"``, or how many processes of this machine (docs/scale.md).
    reading : int, optional
        Which reading of an ambiguous claim is meant, from 1; ``workbench.read`` lists them.
    **options
    aggregation, options : mapping, optional
        Settings of how trials become one probability, and of one agent by its role. What is None is as the preset says.

    Raises
    ------
    UsageError
        A mistake of the caller, in one line that says how to mend it.
    ProviderError
        A model or source failed for good; ``resume`` goes on where it stopped.
    """
    # Imported here and in most functions below, so that `import workbench` loads neither kernels nor pandas.
    from proxies.asof.clock import Cutoff
    from workbench.offline.claim_coverage import claim_to_ask

    settings = with_preset(preset, **options)
    place = worker_place(workers)
    instant = Cutoff.parse(cutoff)
    with open_home() as store, progress_listener(store, quiet=quiet) as listener:
        async with open_engine(
            store,
            settings,
            environ=os.environ,
            isolation=settings.isolation,
            listener=listener,
            workers=workers_at(place),
            note=write_report,
        ) as engine:
            claim = claim_to_ask(statement, instant, settings.model, number=reading)
            await engine.check(claim.statement, instant, settings)
            keyed = replace(settings, keyed=engine.keyed)
            run_id = new_run(store, claim.statement, instant, keyed, read_as=claim.read_as)
            if not plan_only:
                record_beside(store, run_id)
            await engine.work(run_id, plan_only=plan_only)
        await resolve_when_finished(store, run_id)
        return Analysis(view(store, run_id))


@takes(
    "options",
    {
        name: each
        for name, each in inspect.signature(analyze).parameters.items()
        if name not in ("statement", "cutoff")
    },
)
@in_python_terms
def analyze_sync(statement: str, *, cutoff: str, **options: Any) -> Analysis:
    """Return what ``analyze`` returns, for a plain script; takes the same options.

    Raises ``UsageError`` if an event loop runs already, as it does in a notebook; write ``await wb.analyze(...)`` there.
    """
    refuse_running_loop("analyze_sync", "await wb.analyze(...)")
    return run_blocking(analyze(statement, cutoff=cutoff, **options))


@in_python_terms
async def resume(
    run_id: str = "last",
    *,
    isolation: str | None = None,
    quiet: bool = False,
    workers: str | int | None = None,
    rebuy: bool = False,
) -> Analysis:
    """Go on with a run that was stopped and return it; nothing that reached the ledger is asked again.

    Parameters
    ----------
    run_id : str
        An id, the beginning of one, or ``last``.
    isolation : str, optional
        ``namespaces``, ``landlock`` or ``none``; the best sealed level that works here unless given.
    workers : str or int, optional
        As for ``analyze``; the run may have begun elsewhere.
    rebuy : bool
        Whether replies on record may be bought again whose requests cannot be made any more: they held text of after the cutoff,
        or what they are made of has changed.

    Raises
    ------
    UsageError
        No such run, a part of it is not installed here, or it is a tree from a file, which no model made.
    IsolationUnavailable
        A kernel is needed and the level does not work here.
    ProviderError
        A model or source failed for good; ``resume`` goes on where it stopped.
    """
    place = worker_place(workers)
    return Analysis(await resumed(run_id, isolation=isolation, quiet=quiet, workers=place, rebuy=rebuy))


@in_python_terms
def open_run(run_id: str = "last") -> Analysis:
    """Return an earlier run of this home; ``run_id`` may be the beginning of an id, or ``last``.

    Raises ``UnknownRun``, or ``StoreCorrupt`` for a run whose records cannot be read.
    """
    with open_home() as store:
        return Analysis(view(store, store.resolve_run(run_id)))


@in_python_terms
def import_run(path: str | Path, *, cutoff: str | None = None, anyway: bool = False) -> Analysis:
    """Take in an exported run or a tree and return it, as ``workbench import`` does.

    ``cutoff`` is a date or an instant for a tree that states none. Raises ``PackageAltered`` for a package whose evidence
    contradicts itself, unless ``anyway``; it is marked then.
    """
    from workbench.packages.package import import_run as take_in

    with open_home() as store:
        return Analysis(view(store, take_in(store, Path(path), cutoff=cutoff, anyway=anyway)))
