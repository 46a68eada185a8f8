"""``runs``: the runs of this home."""

from typing import Annotated, Any

import typer

from workbench.cli.common import JSON_OPTION, command, emit_json, open_store, say


@command
def list_runs(as_json: Annotated[bool, JSON_OPTION] = False) -> None:
    """List the runs of this home, the newest last."""
    from workbench.engine.run.state import load_state
    from workbench.engine.wording import percent

    store = open_store()
    rows: list[dict[str, Any]] = []
    for run_id in store.run_ids():
        state = load_state(store, run_id)
        belief = state.tree.root.belief
        rows.append(
            {
                "run_id": run_id,
                "statement": state.statement,
                "cutoff": state.cutoff,
                "p": belief.p if belief else None,
                "status": state.status,
                "model": state.settings.model,
                "started_utc": state.started_utc,
                "imported": state.imported.to_json() if state.imported else None,
            }
        )
    if as_json:
        emit_json(rows)
        return
    for row in rows:
        typer.echo(
            f"{row['run_id']}  {row['status']:8}{percent(row['p']):>6}  {row['cutoff']}  {'IMPORTED  ' if row['imported'] else ''}{row['statement']}"
        )
    if not rows:
        say(f"no runs in {store.home} yet: `workbench analyze` or `workbench demo` makes one")
