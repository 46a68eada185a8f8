"""``whatif``: what an edit of the tree does to the root."""

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.common import command, emit_json, say
from workbench.cli.runs import open_store

if TYPE_CHECKING:
    from workbench.engine.edits import WhatIfResult
    from workbench.engine.state import RunState
    from workbench.store import Store


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    app.command()(whatif)


@command
def whatif(
    run: Annotated[str, typer.Argument(help="Run id, the beginning of one, or last.")],
    settings: Annotated[list[str], typer.Option("--set", help="NODE=P, as often as you like.")],
    full: Annotated[
        bool, typer.Option("--full", help="Ask the synthesizer again for the ancestors.")
    ] = False,
    scenario: Annotated[str | None, typer.Option(help="Keep this what-if under a name.")] = None,
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
    result = asyncio.run(_full(store, state, wanted)) if full else edits.numeric_what_if(state, wanted)
    if scenario is not None:
        edits.save_scenario(store, state, scenario, wanted, result, full=full)
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


async def _full(store: "Store", state: "RunState", wanted: dict[str, float]) -> "WhatIfResult":
    from workbench.engine import edits
    from workbench.engine.asking import Budget, ModelDesk
    from workbench.models.registry import open_model
    from workbench.store import ModelLedger

    model = open_model(state.settings.model, api_base=state.settings.api_base)
    ledger = ModelLedger(store)
    desk = ModelDesk(model, ledger, Budget(state.settings.budget_usd, ledger.cost(state.run_id) or 0.0))
    return await edits.full_what_if(state, wanted, desk)
