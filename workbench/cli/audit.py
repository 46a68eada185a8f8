"""``audit``: what a run claims, checked from its own records."""

from typing import Annotated

import typer

from workbench.cli.common import JSON_OPTION, RUN, WANTING, command, emit_json, open_store


@command
def audit(run: Annotated[str, RUN], as_json: Annotated[bool, JSON_OPTION] = False) -> None:
    """Check what a run claims from its own records: cutoff, hashes, recomputed values, coherence, isolation, cost."""
    from workbench.cli.table import show_table
    from workbench.engine import documents

    store = open_store()
    report = documents.audit(store, store.resolve_run(run))
    if as_json:
        emit_json(report)
    else:
        lines = [(check["verdict"], check["name"], check["found"]) for check in report["checks"]]
        show_table(("", "check", "result"), lines)
    if not report["passed"]:
        raise typer.Exit(WANTING)
