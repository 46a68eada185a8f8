"""What ``notebooks/dashboard.ipynb`` shows: the run asked for, or the list of runs."""

import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

from workbench.engine.view import load_run
from workbench.errors import WorkbenchError
from workbench.propositions import ROOT
from workbench.settings import home_from


def open_dashboard(environ: Mapping[str, str]) -> Any:
    """Return the widget of the page.

    The run is ``?run=...`` of the page's address (Voila passes it as ``QUERY_STRING``), else ``WORKBENCH_RUN``; its home is
    ``WORKBENCH_HOME``; an empty one asks for the list. ``&scenario=NAME`` opens a scenario, ``&node=P2`` selects a proposition. Without a run, or if the run does not exist, the page lists the runs.
    """
    from workbench.widgets.board import dashboard
    from workbench.widgets.home import Home
    from workbench.widgets.keeping import DRAFT

    home = home_from(environ)
    address = {
        name: values[0]
        for name, values in parse_qs(environ.get("QUERY_STRING", ""), keep_blank_values=True).items()
    }
    run_id = address.get("run", environ.get("WORKBENCH_RUN", ""))
    if run_id:
        try:
            return dashboard(
                load_run(home, run_id),
                scenario=address.get("scenario") or DRAFT,
                node=address.get("node") or ROOT,
                owns_address=True,
            )
        except WorkbenchError as error:
            return Home(home, note=str(error))
    return Home(home)


def rehearse(environ: Mapping[str, str] = os.environ) -> None:
    """Draw pages that nobody sees, so that the next one in this process waits for no import, no template and no database.

    A kernel that is made ahead does it: the page that the server was started for, and the newest run where that was the list.
    """
    from ipywidgets import Widget

    from workbench.widgets.board import Dashboard

    pages = [open_dashboard(environ)]
    if not isinstance(pages[0], Dashboard):
        pages.append(open_dashboard({**environ, "WORKBENCH_RUN": "last"}))
    for page in pages:
        page.poller.stop()
        if isinstance(page, Dashboard):
            assert page.desk  # asking for it makes it
    Widget.close_all()
