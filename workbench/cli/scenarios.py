"""``scenarios``, ``coherence``, ``refit`` and ``noise``: what-ifs side by side, and how far a tree and its rules hold."""

import asyncio
import sys
from typing import Annotated, Any

import typer

from workbench.cli.common import WANTING, command, emit_json, say
from workbench.cli.runs import open_store
from workbench.errors import UsageError

_RUN = typer.Argument(help="Run id, the beginning of one, or last.")
_JSON = typer.Option("--json", help="Print one JSON document.")


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command()(scenarios)
    app.command()(coherence)
    app.command()(refit)
    app.command()(noise)


@command
def scenarios(
    run: Annotated[str, _RUN],
    names: Annotated[list[str] | None, typer.Argument(help="Compare these only; all without.")] = None,
    undo: Annotated[str | None, typer.Option(help="Take back the scenario's last edit.")] = None,
    redo: Annotated[str | None, typer.Option(help="Put back the edit last undone.")] = None,
    close: Annotated[
        str | None, typer.Option(help="Close the scenario; its records stay on the log.")
    ] = None,
    base_seq: Annotated[
        int | None, typer.Option(help="The scenario's record this was decided on (its seq in --json).")
    ] = None,
    author: Annotated[str, typer.Option(help="Who does it.")] = "",
    as_json: Annotated[bool, _JSON] = False,
) -> None:
    """Put the saved what-ifs side by side, with their probability-weighted mix; undo, redo or close one."""
    from workbench.engine.run.state import load_state
    from workbench.engine.tree_documents import scenario_table
    from workbench.engine.whatif.saved import change_scenario
    from workbench.propositions.scenario_book import Action
    from workbench.store import utc_now

    store = open_store()
    run_id = store.resolve_run(run)
    wanted: list[tuple[Action, str | None]] = [("undo", undo), ("redo", redo), ("close", close)]
    with store.transaction():
        for action, name in wanted:
            if name is not None:
                change_scenario(store, run_id, action, name, author=author, base_seq=base_seq)
    state = load_state(store, run_id)
    table = scenario_table(state.tree, state.scenarios, names or (), now=utc_now())
    if as_json:
        emit_json(table)
        return
    _print_table(table)
    if not table["scenarios"]:
        say(f"no scenario is open: `workbench whatif {run_id} --set NODE=P --scenario NAME` makes one")


def _print_table(table: dict[str, Any]) -> None:
    from workbench.engine.wording import percent

    names = [row["name"] for row in table["scenarios"]]
    typer.echo(f"{'base':24}{percent(table['base']['root']):>6}")
    for row in table["scenarios"]:
        weight = "" if row["probability"] is None else f"  held {percent(row['probability'])} likely"
        stale = f"  STALE at {', '.join(row['stale'])}" if row["stale"] else ""
        over = f"  expired: {', '.join(row['expired'])}" if row["expired"] else ""
        typer.echo(
            f"{row['name']:24}{percent(row['root']):>6}{weight}{stale}{over}  {row['rationale']}".rstrip()
        )
    if table["mix"] is not None:
        shares = ", ".join(f"{name} {percent(share)}" for name, share in table["mix"]["weights"].items())
        typer.echo(f"{'mix':24}{percent(table['mix']['root']):>6}  {shares}")
    if names:
        typer.echo("")
        typer.echo(f"{'':10}{'base':>8}" + "".join(f"{name[:12]:>14}" for name in names))
        for row in table["nodes"]:
            cells = "".join(f"{percent(row['scenarios'][name]):>14}" for name in names)
            typer.echo(f"{row['id']:10}{percent(row['base']):>8}{cells}  {row['statement']}")


@command
def coherence(
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[RUN]...", help="Runs to compare; all finished ones without."),
    ] = None,
    exclusive: Annotated[
        list[str] | None,
        typer.Option(help="RUN,RUN,...: the options of one question, of which exactly one comes true."),
    ] = None,
    as_json: Annotated[bool, _JSON] = False,
) -> None:
    """Check the roots of several runs against each other: nested and exclusive claims, repeats and contraries.

    What belongs together is read from the statements; only runs with the same cutoff are compared.
    """
    from workbench.engine.whatif.coherence import check_runs
    from workbench.engine.wording import percent

    store = open_store()
    groups = [[part.strip() for part in group.split(",") if part.strip()] for group in exclusive or ()]
    report = check_runs(store, runs or (), groups)
    for line in report["left_out"]:
        say(line)
    if as_json:
        emit_json(report)
    else:
        for row in report["forecasts"]:
            typer.echo(f"{row['run_id']}  {percent(row['p']):>6}  {row['cutoff']}  {row['statement']}")
        for finding in report["findings"]:
            typer.echo(f"{finding['kind']:10} {finding['message']}")
        count = len(report["findings"])
        typer.echo("coherent" if not count else f"NOT coherent: {count} finding{'s' if count > 1 else ''}")
    if report["findings"]:
        raise typer.Exit(WANTING)


@command
def refit(
    run: Annotated[str, _RUN],
    k: Annotated[int, typer.Option("--k", help="How often the synthesizer is asked for each node.")] = 5,
    node: Annotated[list[str] | None, typer.Option(help="This inner node only; repeat for more.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before paying.")] = False,
    as_json: Annotated[bool, _JSON] = False,
) -> None:
    """Ask the synthesizer again K times per inner node and print how far its weights spread and change sign."""
    from workbench.cli.whatif import open_gateway
    from workbench.engine.run.state import load_state
    from workbench.engine.whatif.edits import price_line
    from workbench.engine.whatif.refits import refit_nodes, refit_run

    store = open_store()
    state = load_state(store, store.resolve_run(run))
    nodes = refit_nodes(state, tuple(node or ()))
    if k < 2:
        raise UsageError(f"a spread needs at least 2 refits, not --k {k}")
    say(price_line(state, nodes, times=k))
    if not yes and sys.stdin.isatty() and sys.stderr.isatty():
        typer.confirm("go on?", abort=True, err=True)
    gateway = open_gateway(store, state)
    found = asyncio.run(refit_run(store, state, nodes, k, gateway))
    rows = [row.to_json() for row in found]
    if as_json:
        emit_json({"run_id": state.run_id, "k": k, "nodes": rows, "model_calls": gateway.calls})
        return
    for row in rows:
        value = row["value"]
        line = "every reply was unusable" if value is None else _spread(value)
        failed = f"  ({row['failed']} unusable)" if row["failed"] else ""
        typer.echo(f"{row['id']:10}{'value':12}{line}{failed}  {row['statement']}")
        for name, spread in (row["coefficients"] or {}).items():
            typer.echo(f"{'':10}{name:12}{_spread(spread)}{'  SIGN FLIPS' if spread['flips'] else ''}")
        for formula, count in (row["formulas"] or {}).items():
            typer.echo(f"{'':10}{count:3} x {formula}")
        for warning in row["warnings"]:
            say(f"{row['id']}: {warning}")
    typer.echo(f"{gateway.calls} model calls; the run is unchanged")


def _spread(spread: dict[str, Any]) -> str:
    return f"{spread['mean']:+.4f} sd {spread['sd']:.4f}  ({spread['low']:+.4f} to {spread['high']:+.4f})"


@command
def noise(
    run: Annotated[str, _RUN],
    kind: Annotated[
        str,
        typer.Option(help="normal: p + N(0, level); uncertain: 0.5, reverse: 1 - p, with probability level."),
    ] = "normal",
    level: Annotated[float, typer.Option(help="In [0, 1]; 0 disturbs nothing.")] = 0.1,
    seed: Annotated[int, typer.Option(help="The same seed gives the same draws.")] = 0,
    draws: Annotated[int, typer.Option(help="Disturbed copies of the tree.")] = 200,
    as_json: Annotated[bool, _JSON] = False,
) -> None:
    """Disturb the leaves and print the root's distribution; no model is asked."""
    from workbench.engine.run.state import load_state
    from workbench.engine.whatif.edits import require_grounded
    from workbench.engine.wording import percent
    from workbench.synthesis.sensitivity.noise import noise_study

    store = open_store()
    state = load_state(store, store.resolve_run(run))
    require_grounded(state)
    study = noise_study(state.tree, kind, level, draws=draws, seed=seed)  # type: ignore[arg-type]
    if as_json:
        emit_json({"kind": kind, "level": level, "seed": seed, "draws": draws, **study.to_json()})
        return
    typer.echo(
        f"root {percent(study.root)} undisturbed; {draws} draws of {kind} noise, level {level:g}, seed {seed}"
    )
    typer.echo(f"mean {percent(study.mean)}, standard deviation {100 * study.sd:.1f} points")
    typer.echo("  ".join(f"{share}%: {percent(value)}" for share, value in study.quantiles.items()))
    counts = [0] * 20
    for value in study.values:
        counts[min(19, int(20 * value))] += 1
    for place, count in enumerate(counts):
        if count:
            bar = "#" * max(1, round(40 * count / max(counts)))
            typer.echo(f"{5 * place:3d}-{5 * place + 5:3d}%  {count:5d}  {bar}")
