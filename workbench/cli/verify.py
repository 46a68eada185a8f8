"""``verify``: proofs compared with their records, and run again offline."""

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from workbench.cli.common import (
    ISOLATION_OPTION,
    JSON_OPTION,
    RUN,
    WANTING,
    command,
    echo,
    emit_json,
    open_store,
)
from workbench.engine import documents
from workbench.engine.keys import signed_line
from workbench.formatting import percent


@command
def verify(
    run: Annotated[str, RUN],
    node: Annotated[str | None, typer.Argument(help="One leaf; all without it.")] = None,
    isolation: Annotated[str | None, ISOLATION_OPTION] = None,
    as_json: Annotated[bool, JSON_OPTION] = False,
) -> None:
    """Compare proofs with their journals, their data with the ledger, and their outputs with a re-run, offline.

    If the records already differ, or no proof has a notebook, no cell is run. The level that stands in the run's records is not used.
    """
    store = open_store()
    report = asyncio.run(documents.verification(store, store.resolve_run(run), node, isolation=isolation))
    if as_json:
        emit_json(report)
    else:
        for row in report["differing"]:
            echo(f"differs   {row['node'] or 'run'} {row['check']} {row['cell'] or ''}: {row['what']}")
        for row in report["advisory"]:
            echo(
                f"advisory  {row['node']} {row['check']} {row['cell'] or ''}: {row['what']} (another processor or other package versions than the run's)"
            )
        word = "verified" if report["verified"] else "NOT verified"
        echo(
            f"{word}: {report['proofs']} proofs, {report['cells']} cells, {len(report['differing'])} differences"
        )
        echo(drift_line(report))
        if report["not_anchored"]:
            echo(not_anchored_line(sorted({node for node, _ in report["not_anchored"]})))
        echo(signed_line(report["signed"]))
        echo(rerun_line(report["isolation"], verified=report["verified"]))
    if not report["verified"]:
        raise typer.Exit(WANTING)


def drift_line(report: Mapping[str, Any]) -> str:
    """Return what the proofs conclude now, and how far that lies from the record."""
    place = report["node"]
    if report["p"] is None:
        return f"{place} {percent(report['recorded_p'])} on record; the re-run concludes nothing that can be compared"
    line = f"{place} {percent(report['p'])} as re-run, {percent(report['recorded_p'])} on record: drift {100 * report['drift']:+.2g} points"
    if report["drifting"]:
        rows = [
            f"{row['node']} {percent(row['recorded_p'])} to {percent(row['p'])}" for row in report["drifting"]
        ]
        line += f" ({', '.join(rows[:6])})"
    return line.replace("drift +0 points", "no drift")


def not_anchored_line(nodes: list[str]) -> str:
    """Return the line that names the leaves whose journals could have been rewritten without being noticed."""
    shown = ", ".join(nodes[:6]) + (f" and {len(nodes) - 6} more" if len(nodes) > 6 else "")
    return f"not anchored: {shown}: an older workbench kept no head of their journals, so one written anew whole would pass"


def rerun_line(isolation: str | None, *, verified: bool) -> str:
    """Return the line that says where the cells were re-run, or why no kernel was started."""
    if isolation is None and verified:
        return "nothing was re-run: no proof has a notebook, each was compared with its records by its own evidence"
    if isolation is None:
        return "nothing was re-run: what differs was found without it"
    if isolation == "none":
        return "WARNING: the cells were re-run UNSEALED (isolation none), with your rights, as you asked"
    return f"re-run in kernels sealed by {isolation}"
