"""``verify``: proofs compared with their records, and run again offline."""

import asyncio
from typing import Annotated

import typer

from workbench.cli.common import (
    ISOLATION_OPTION,
    JSON_OPTION,
    RUN,
    WANTING,
    command,
    emit_json,
    open_store,
)


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
    from workbench.engine import documents
    from workbench.engine.keys import signed_line

    store = open_store()
    report = asyncio.run(documents.verification(store, store.resolve_run(run), node, isolation=isolation))
    if as_json:
        emit_json(report)
    else:
        for row in report["differing"]:
            typer.echo(f"differs   {row['node'] or 'run'} {row['check']} {row['cell'] or ''}: {row['what']}")
        for row in report["advisory"]:
            typer.echo(
                f"advisory  {row['node']} {row['check']} {row['cell'] or ''}: {row['what']} (other package versions than the run's)"
            )
        word = "verified" if report["verified"] else "NOT verified"
        typer.echo(
            f"{word}: {report['proofs']} proofs, {report['cells']} cells, {len(report['differing'])} differences"
        )
        if report["not_anchored"]:
            typer.echo(not_anchored_line(sorted({node for node, _ in report["not_anchored"]})))
        typer.echo(signed_line(report["signed"]))
        typer.echo(rerun_line(report["isolation"]))
    if not report["verified"]:
        raise typer.Exit(WANTING)


def not_anchored_line(nodes: list[str]) -> str:
    """Return the line that names the leaves whose journals could have been rewritten without being noticed."""
    shown = ", ".join(nodes[:6]) + (f" and {len(nodes) - 6} more" if len(nodes) > 6 else "")
    return f"not anchored: {shown}: an older workbench kept no head of their journals, so one written anew whole would pass"


def rerun_line(isolation: str | None) -> str:
    """Return the line that says where the cells were re-run."""
    if isolation is None:
        return "nothing was re-run: the records differ already"
    if isolation == "none":
        return "WARNING: the cells were re-run UNSEALED (isolation none), with your rights, as you asked"
    return f"re-run in kernels sealed by {isolation}"
