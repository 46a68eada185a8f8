"""``audit``: what a run claims, checked from its own records."""

from typing import Annotated

import typer

from workbench.cli.common import JSON_OPTION, RUN, WANTING, command, emit_json, open_store


@command
def audit(
    run: Annotated[str, RUN],
    as_json: Annotated[bool, JSON_OPTION] = False,
) -> None:
    """Check what a run claims from its own records: cutoff, hashes, recomputed values, coherence, isolation, cost."""
    from workbench.engine.evidence.audit import audit_run

    store = open_store()
    report = audit_run(store, store.resolve_run(run))
    if as_json:
        emit_json(report)
    else:
        for check in report["checks"]:
            typer.echo(f"{check['verdict']:5} {check['name']:26} {check['found']}")
    if not report["passed"]:
        raise typer.Exit(WANTING)
