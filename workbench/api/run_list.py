"""Runs as a caller has them: analyze a claim, resume, open or take in a run, list runs and hold them against each other."""

import inspect
import os
from pathlib import Path
from typing import Any

from workbench.api.operation_function import function_named
from workbench.api.python_terms import in_python_terms
from workbench.api.run_handle import Analysis
from workbench.blocking import refuse_running_loop, run_blocking
from workbench.environment import home_from
from workbench.store import Store
from workbench.views.run_view import view


def open_home() -> Store:
    """Return the store of the data folder that the environment names; the caller closes it."""
    return Store(home_from(os.environ))


@in_python_terms
def analyze_sync(*values: Any, **named: Any) -> Analysis:
    """Return what ``analyze`` returns, for a plain script; takes the same options.

    Raises ``UsageError`` if an event loop runs already, as it does in a notebook; write ``await wb.analyze(...)`` there.
    """
    refuse_running_loop("analyze_sync", "await wb.analyze(...)")
    analysis: Analysis = run_blocking(function_named("analyze")(*values, **named))
    return analysis


analyze_sync.__signature__ = inspect.signature(function_named("analyze"))  # type: ignore[attr-defined]


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
