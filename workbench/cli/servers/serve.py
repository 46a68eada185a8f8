"""``serve``: a run in the browser."""

import os
import sys
from typing import Annotated

import typer

from workbench.cli.common import command, leave_current_folder, say, unlisted
from workbench.cli.servers.dashboard_server import serve as serve_dashboards
from workbench.environment import home_from
from workbench.views.run_view import load_run


@command
def serve(
    run: Annotated[
        str | None, typer.Argument(help="Run id, a beginning of one, or `last`; none lists the runs.")
    ] = None,
    port: Annotated[
        int | None,
        unlisted(help="Port on 127.0.0.1; the first free one from 8866 unless told."),
    ] = None,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="For others to look at: no edits, no new claims, no keys.")
    ] = False,
) -> None:
    """Show a run in the browser: tree, what-if and evidence notebooks. Ctrl-C ends it."""
    # Before the folder is left: WORKBENCH_HOME may be relative to it.
    home = home_from(os.environ)
    run_id = load_run(home, run).document()["run_id"] if run is not None else None
    leave_current_folder()
    say("Starting the dashboard; Ctrl-C ends it.")
    serve_dashboards(home, run_id, port=port, announce=_print_address, read_only=read_only)


def _print_address(url: str) -> None:
    sys.stdout.write(url + "\n")
    sys.stdout.flush()
