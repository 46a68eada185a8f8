"""``whatif``, ``sensitivity``, ``export`` and ``import``: what the tree says, and taking it elsewhere and back."""

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.common import WANTING, command, emit_json, say
from workbench.cli.runs import open_store
from workbench.errors import UsageError

if TYPE_CHECKING:
    from workbench.engine.edits import WhatIfResult
    from workbench.engine.state import RunState
    from workbench.store import Store


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    app.command()(whatif)
    app.command()(scenarios)
    app.command()(sensitivity)
    app.command()(audit)
    app.command()(verify)
    app.command("export")(export)
    app.command("import")(import_file)


@command
def whatif(
    run: Annotated[str, typer.Argument(help="Run id, the beginning of one, or last.")],
    settings: Annotated[list[str], typer.Option("--set", help="NODE=P, as often as you like.")],
    full: Annotated[
        bool, typer.Option("--full", help="Ask the synthesizer again for the ancestors.")
    ] = False,
    scenario: Annotated[str | None, typer.Option(help="Keep this what-if under a name.")] = None,
    rationale: Annotated[str, typer.Option(help="What the scenario supposes, and why.")] = "",
    author: Annotated[str, typer.Option(help="Whose scenario it is.")] = "",
    probability: Annotated[
        float | None, typer.Option(help="How likely the scenario is held, for the mix.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Set nodes to other probabilities and see which ancestors move; the run itself is not changed."""
    from workbench.engine import edits
    from workbench.engine.state import load_state
    from workbench.engine.wording import percent

    store = open_store()
    run_id = store.resolve_run(run)
    state = load_state(store, run_id)
    wanted = edits.parse_settings(settings)
    for node in wanted:
        state.tree[node]  # an unknown node is the caller's mistake, told before anything is asked
    edits.require_grounded(state)
    if full:
        plan, _ = edits.plan_full(state, wanted)
        say(f"asking {state.settings.model} for {plan.calls} nodes: {', '.join(plan.nodes) or 'none'}")
    result = asyncio.run(_full(store, state, wanted)) if full else edits.numeric_what_if(state, wanted)
    if scenario is not None:
        edits.save_scenario(
            store, run_id, scenario, wanted, author=author, rationale=rationale, probability=probability
        )
    if result.whatif.after is None:
        say(
            f"{', '.join(result.whatif.stale)} cannot be recomputed without the model: ask it again with --full"
        )
    if as_json:
        emit_json(result.to_json())
        return
    for change in result.whatif.changed:
        line = f"{change.id:8}{percent(change.before)} -> {percent(change.after)}"
        typer.echo(f"{line}  {state.tree[change.id].statement}")
    typer.echo(
        f"root    {percent(result.whatif.before)} -> {percent(result.whatif.after)}   ({result.model_calls} model calls)"
    )


@command
def scenarios(
    run: Annotated[str, typer.Argument(help="Run id, the beginning of one, or last.")],
    undo: Annotated[str | None, typer.Option(help="Take back the scenario's last edit.")] = None,
    redo: Annotated[str | None, typer.Option(help="Put back the edit last undone.")] = None,
    close: Annotated[
        str | None, typer.Option(help="Close the scenario; its records stay on the log.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Put the saved what-ifs side by side, with their probability-weighted mix; undo, redo or close one."""
    from workbench.engine.edits import change_scenario
    from workbench.engine.state import load_state
    from workbench.engine.wording import percent
    from workbench.synthesis.commands import scenario_table

    store = open_store()
    run_id = store.resolve_run(run)
    if undo is not None:
        change_scenario(store, run_id, "undo", undo)
    if redo is not None:
        change_scenario(store, run_id, "redo", redo)
    if close is not None:
        change_scenario(store, run_id, "close", close)
    state = load_state(store, run_id)
    table = scenario_table(state.tree, state.scenarios)
    if as_json:
        emit_json(table)
        return
    typer.echo(f"{'base':24}{percent(state.tree.root.p)}")
    for row in table["scenarios"]:
        weight = "" if row["probability"] is None else f"  held {percent(row['probability']).strip()} likely"
        typer.echo(f"{row['name']:24}{percent(row['root'])}{weight}  {row['rationale']}")
    if not table["scenarios"]:
        say(f"no scenario is open: `workbench whatif {run_id} --set NODE=P --scenario NAME` makes one")


@command
def sensitivity(
    run: Annotated[str, typer.Argument(help="Run id, the beginning of one, or last.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Print what each leaf does to the root: its path weight, the root's range, its contribution."""
    from workbench.engine.edits import require_grounded
    from workbench.engine.state import load_state
    from workbench.engine.wording import percent
    from workbench.synthesis import tornado

    store = open_store()
    state = load_state(store, store.resolve_run(run))
    require_grounded(state)
    rows = [row.to_json() for row in tornado(state.tree)]
    if as_json:
        emit_json(rows)
        return
    typer.echo(f"{'leaf':10}{'weight':>8}{'p':>9}{'root if false':>15}{'if true':>9}{'contribution':>14}")
    for row in rows:
        weight = "-" if row["path_weight"] is None else f"{row['path_weight']:+.4f}"
        share = "-" if row["contribution"] is None else f"{100 * row['contribution']:+.1f} pts"
        span = f"{percent(row['low']):>15}{percent(row['high']):>9}"
        typer.echo(
            f"{row['id']:10}{weight:>8}{percent(row['p']):>9}{span}{share:>14}  {state.tree[row['id']].statement}"
        )


@command
def audit(
    run: Annotated[str, typer.Argument(help="Run id, the beginning of one, or last.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Check what a run claims from its own records: cutoff, hashes, recomputed values, coherence, isolation, cost."""
    from workbench.engine.audit import audit_run

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
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Compare proofs with their journals, their data with the ledger, and their outputs with a re-run, offline."""
    from workbench.engine.verification import verify_run

    store = open_store()
    checks = asyncio.run(verify_run(store, store.resolve_run(run), node))
    differing = [row for check in checks for row in check.rows(check.outcome.differing)]
    advisory = [row for check in checks for row in check.rows(check.outcome.advisory)]
    cells = sum(check.outcome.cells for check in checks)
    if as_json:
        emit_json({"verified": not differing, "cells": cells, "differing": differing, "advisory": advisory})
    else:
        for row in differing:
            typer.echo(f"differs   {row['node']} {row['check']} {row['cell'] or ''}: {row['what']}")
        for row in advisory:
            typer.echo(
                f"advisory  {row['node']} {row['check']} {row['cell'] or ''}: {row['what']} (other package versions than the run's)"
            )
        word = "NOT verified" if differing else "verified"
        typer.echo(f"{word}: {len(checks)} proofs, {cells} cells, {len(differing)} differences")
    if differing:
        raise typer.Exit(WANTING)


@command
def export(
    run: Annotated[str, typer.Argument(help="Run id, the beginning of one, or last.")],
    to: Annotated[str, typer.Option("--to", help="html, json, csv, bif, problog, ipynb or zip.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="File to write; stdout without it.")
    ] = None,
) -> None:
    """Write a run in a format of other programs, or as the whole package a reviewer needs (zip)."""
    from workbench.engine.files import write_bytes_atomically
    from workbench.engine.package import export_run

    store = open_store()
    data, notes = export_run(store, store.resolve_run(run), to)
    for note in notes:
        say(note)
    if output is not None:
        write_bytes_atomically(output, data)
    elif to == "zip" and sys.stdout.isatty():
        raise UsageError("a zip is not for a terminal: name a file with -o")
    else:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()


@command
def import_file(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="A package (.zip), or a tree in JSON or CSV.")],
    cutoff: Annotated[str | None, typer.Option(help="Knowledge cutoff of an imported tree.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Take in an exported run or a tree; it becomes a run of this home."""
    from workbench.cli.render import run_lines
    from workbench.engine.package import import_run
    from workbench.engine.view import view

    store = open_store()
    found = view(store, import_run(store, path, cutoff=cutoff))
    if as_json:
        emit_json(found.document())
    else:
        typer.echo("\n".join(run_lines(found)))


async def _full(store: "Store", state: "RunState", wanted: dict[str, float]) -> "WhatIfResult":
    from workbench.engine import edits
    from workbench.engine.asking import Budget, ModelDesk
    from workbench.models.registry import open_model
    from workbench.store import ModelLedger

    model = open_model(state.settings.model, api_base=state.settings.api_base)
    ledger = ModelLedger(store)
    desk = ModelDesk(model, ledger, Budget(state.settings.budget_usd, ledger.cost(state.run_id) or 0.0))
    return await edits.full_what_if(state, wanted, desk)
