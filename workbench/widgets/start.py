"""What ``notebooks/dashboard.ipynb`` shows: the run asked for, or the list of runs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from workbench.engine import load_run
from workbench.errors import WorkbenchError
from workbench.settings import home_from
from workbench.store import Store
from workbench.widgets import panels


def open_dashboard(environ: Mapping[str, str]) -> Any:
    """Return the widget of the page.

    The run is ``?run=...`` of the page's address (Voila passes it as ``QUERY_STRING``), else ``WORKBENCH_RUN``; its home is
    ``WORKBENCH_HOME``. Without a run, or if the run does not exist, the page lists the runs.
    """
    from workbench.widgets.board import dashboard, page

    home = home_from(environ)
    run_id = parse_qs(environ.get("QUERY_STRING", "")).get("run", [environ.get("WORKBENCH_RUN", "")])[0]
    if run_id:
        try:
            return dashboard(load_run(home, run_id))
        except WorkbenchError as error:
            return page(panels.runs_table(list_runs(home), note=str(error)))
    return page(panels.runs_table(list_runs(home)))


def list_runs(home: Path) -> list[dict[str, Any]]:
    """Return the runs of a data folder, newest first: run_id, statement, cutoff, p, status."""
    store = Store(home)
    try:
        ids = list(store.run_ids())
    finally:
        store.close()
    documents = []
    for run_id in reversed(ids):
        document = load_run(home, run_id).document()
        documents.append({**document, "p": document["root"]["p"]})
    return documents
