"""``sensitivity``, ``audit``, ``verify``, ``export`` and ``import``: what the tree says, and taking it elsewhere and back."""

import asyncio
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from workbench.cli import scenarios, whatif
from workbench.cli.common import WANTING, command, emit_json, say
from workbench.cli.runs import ISOLATION_OPTION, open_store
from workbench.errors import UsageError


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    whatif.register(app)
    app.command()(sensitivity)
    scenarios.register(app)
    app.command()(audit)
    app.command()(verify)
    app.command("export")(export)
    app.command("import")(import_file)


@command
def sensitivity(
    run: Annotated[str, typer.Argument(help="Run id, the beginning of one, or last.")],
    report: Annotated[
        bool,
        typer.Option(
            "--report",
            help="Also the reachable range, the root's band, and what to ground next; changes --json.",
        ),
    ] = False,
    seed: Annotated[int, typer.Option(help="For the band where it must be simulated.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Print what each leaf does to the root: its path weight, the root's range, its contribution."""
    from workbench.engine.run.state import load_state
    from workbench.engine.tree_documents import sensitivity_rows
    from workbench.engine.whatif.edits import require_grounded
    from workbench.engine.whatif.sensitivity import run_sensitivity

    store = open_store()
    state = load_state(store, store.resolve_run(run))
    require_grounded(state)
    document = run_sensitivity(store, state, seed=seed) if report else None
    rows = document["tornado"] if document else sensitivity_rows(state.tree)
    if as_json:
        emit_json(document if document is not None else rows)
        return
    statements = {node.id: node.statement for node in state.tree.propositions()}
    typer.echo("\n".join(_tornado_lines(rows, statements)))
    if document is not None:
        typer.echo("\n".join(["", *_report_lines(document, statements)]))


def _tornado_lines(rows: list[dict[str, Any]], statements: dict[str, str]) -> list[str]:
    from workbench.engine.wording import percent

    lines = [f"{'leaf':10}{'weight':>8}{'p':>8}{'lowest':>9}{'highest':>9}{'contribution':>14}"]
    for row in rows:
        weight = "-" if row["path_weight"] is None else f"{row['path_weight']:+.4f}"
        share = "-" if row["contribution"] is None else f"{100 * row['contribution']:+.1f} pts"
        span = f"{percent(row['low']):>9}{percent(row['high']):>9}"
        lines.append(
            f"{row['id']:10}{weight:>8}{percent(row['p']):>8}{span}{share:>14}  {statements[row['id']]}"
        )
    return lines


def _report_lines(document: dict[str, Any], statements: dict[str, str]) -> list[str]:
    from workbench.engine.wording import percent

    low, high = document["reachable"]
    lines = [
        f"root {percent(document['root'])}; whatever the leaves turn out, {percent(low)} to {percent(high)}"
    ]
    band = document["uncertainty"]
    if band is None:
        lines.append("no band from the trials: a leaf needs at least two (analyze --trials 2)")
    else:
        lines.append(
            f"90% band from the spread of the trials: {percent(band['low'])} to {percent(band['high'])} ({band['method']})"
        )
    lines += ["", f"{'ground next':12}{'variance cut':>14}{'trials':>8}{'$ a trial':>11}"]
    for row in document["ground_next"]:
        cut = "-" if row["reground"] is None else f"{row['reground']:.6f}"
        cost = "unknown" if row["cost"] is None else f"{row['cost']:.4f}"
        lines.append(f"{row['id']:12}{cut:>14}{row['trials']:>8}{cost:>11}  {statements[row['id']]}")
    return lines


@command
def audit(
    run: Annotated[str, typer.Argument(help="Run id, the beginning of one, or last.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
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


@command
def verify(
    run: Annotated[str, typer.Argument(help="Run id, the beginning of one, or last.")],
    node: Annotated[str | None, typer.Argument(help="One leaf; all without it.")] = None,
    isolation: Annotated[str | None, ISOLATION_OPTION] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Compare proofs with their journals, their data with the ledger, and their outputs with a re-run, offline.

    If the records already differ, no cell is run. The level that stands in the run's records is not used.
    """
    from workbench.engine.evidence.verification import verify_run
    from workbench.engine.keys import signer_json, signer_line
    from workbench.engine.run.settings import check_level

    if isolation is not None:
        check_level(isolation)
    store = open_store()
    found = asyncio.run(verify_run(store, store.resolve_run(run), node, isolation=isolation))
    checks = found.proofs
    differing = found.differing
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
                "not_anchored": [[check.node, check.trial] for check in checks if check.anchored is False],
                "signed": signer_json(found.signer),
            }
        )
    else:
        for row in differing:
            typer.echo(f"differs   {row['node'] or 'run'} {row['check']} {row['cell'] or ''}: {row['what']}")
        for row in advisory:
            typer.echo(
                f"advisory  {row['node']} {row['check']} {row['cell'] or ''}: {row['what']} (other package versions than the run's)"
            )
        word = "NOT verified" if differing else "verified"
        typer.echo(f"{word}: {len(checks)} proofs, {cells} cells, {len(differing)} differences")
        if any(check.anchored is False for check in checks):
            typer.echo(not_anchored_line(sorted({check.node for check in checks if check.anchored is False})))
        typer.echo(signer_line(found.signer))
        typer.echo(rerun_line(found.isolation))
    if differing:
        raise typer.Exit(WANTING)


def not_anchored_line(nodes: list[str]) -> str:
    """Return the line that says whose journals could have been written anew unnoticed."""
    shown = ", ".join(nodes[:6]) + (f" and {len(nodes) - 6} more" if len(nodes) > 6 else "")
    return f"not anchored: {shown}: an older workbench kept no head of their journals, so one written anew whole would pass"


def rerun_line(isolation: str | None) -> str:
    """Return the line that says where the cells were re-run."""
    if isolation is None:
        return "nothing was re-run: the records differ already"
    if isolation == "none":
        return "WARNING: the cells were re-run UNSEALED (isolation none), with your rights, as you asked"
    return f"re-run in kernels sealed by {isolation}"


@command
def export(
    run: Annotated[str, typer.Argument(help="Run id, the beginning of one, or last.")],
    to: Annotated[str, typer.Option("--to", help="html, json, csv, bif, problog, ipynb or zip.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="File to write; stdout without it.")
    ] = None,
    project: Annotated[
        bool,
        typer.Option(
            "--project", help="For bif and problog: take the nearest Bayes net where the tree is none."
        ),
    ] = False,
    normalise: Annotated[
        str,
        typer.Option(help="How --project makes linear weights sum to at most 1: scale, softmax or min-max."),
    ] = "scale",
    sign: Annotated[
        bool, typer.Option("--sign", help="For zip: sign the package with your key (`keys new` makes one).")
    ] = False,
) -> None:
    """Write a run in a format of other programs, or as the whole package a reviewer needs (zip)."""
    from sandbox.atomic import replace_file
    from workbench.engine.evidence.package import export_run
    from workbench.synthesis.exchange.bayes_net import OnMisfit
    from workbench.synthesis.rules.normalise import check_normaliser

    store = open_store()
    misfit: OnMisfit = "project" if project else "refuse"
    data, notes = export_run(
        store, store.resolve_run(run), to, misfit=misfit, normalise=check_normaliser(normalise), sign=sign
    )
    for note in notes:
        say(note)
    if output is not None:
        replace_file(output, data)
    elif to == "zip" and sys.stdout.isatty():
        raise UsageError("a zip is not for a terminal: name a file with -o")
    else:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()


@command
def import_file(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="A package (.zip), or a tree in JSON or CSV.")],
    cutoff: Annotated[str | None, typer.Option(help="Knowledge cutoff of an imported tree.")] = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Keep a package whose evidence was altered, marked so.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Take in an exported run or a tree; it becomes a run of this home, marked as imported.

    A package that export cannot have written is refused (exit 2); one whose evidence contradicts itself is too (exit 6,
    what differs is listed), unless --anyway. Nothing of a package is run.
    """
    from workbench.cli.render import run_lines
    from workbench.engine.evidence.package import PackageAltered, import_run
    from workbench.engine.view import view

    store = open_store()
    try:
        run_id = import_run(store, path, cutoff=cutoff, anyway=anyway)
    except PackageAltered as error:
        if as_json:
            emit_json({"imported": False, "differing": [item.to_json() for item in error.findings]})
        else:
            for item in error.findings:
                typer.echo(f"differs   {item.line()}")
        raise
    found = view(store, run_id)
    if as_json:
        emit_json(found.document())
    else:
        typer.echo("\n".join(run_lines(found)))
