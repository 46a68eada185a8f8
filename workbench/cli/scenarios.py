"""``scenarios``: saved what-ifs side by side."""

from typing import Annotated, Any

import typer

from workbench.cli.common import JSON_OPTION, RUN, command, emit_json, open_store, say


@command
def scenarios(
    run: Annotated[str, RUN],
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
    as_json: Annotated[bool, JSON_OPTION] = False,
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
