"""``verify``: proofs compared with their records, and run again offline."""

import asyncio
from typing import Annotated

import typer

from workbench.cli.common import ISOLATION_OPTION, JSON_OPTION, RUN, WANTING, command, emit_json, open_store


@command
def verify(
    run: Annotated[str, RUN],
    node: Annotated[str | None, typer.Argument(help="One leaf; all without it.")] = None,
    isolation: Annotated[str | None, ISOLATION_OPTION] = None,
    as_json: Annotated[bool, JSON_OPTION] = False,
) -> None:
    """Compare proofs with their journals, their data with the ledger, and their outputs with a re-run, offline.

    If the records already differ, no cell is run. The level that stands in the run's records is not used.
    """
    from workbench.engine.evidence.verification import verify_run
    from workbench.engine.run.settings import check_level

    if isolation is not None:
        check_level(isolation)
    store = open_store()
    found = asyncio.run(verify_run(store, store.resolve_run(run), node, isolation=isolation))
    checks = found.proofs
    differing = [row for check in checks for row in check.rows(check.outcome.differing)]
    advisory = [row for check in checks for row in check.rows(check.outcome.advisory)]
    cells = sum(check.outcome.cells for check in checks)
    if as_json:
        emit_json(
            {
                "verified": not differing,
                "cells": cells,
                "differing": differing,
                "advisory": advisory,
                "isolation": found.isolation,
            }
        )
    else:
        for row in differing:
            typer.echo(f"differs   {row['node']} {row['check']} {row['cell'] or ''}: {row['what']}")
        for row in advisory:
            typer.echo(
                f"advisory  {row['node']} {row['check']} {row['cell'] or ''}: {row['what']} (other package versions than the run's)"
            )
        word = "NOT verified" if differing else "verified"
        typer.echo(f"{word}: {len(checks)} proofs, {cells} cells, {len(differing)} differences")
        typer.echo(rerun_line(found.isolation))
    if differing:
        raise typer.Exit(WANTING)


def rerun_line(isolation: str | None) -> str:
    """Return the line that says where the cells were re-run."""
    if isolation is None:
        return "nothing was re-run: the records differ already"
    if isolation == "none":
        return "WARNING: the cells were re-run UNSEALED (isolation none), with your rights, as you asked"
    return f"re-run in kernels sealed by {isolation}"
