"""``redteam``: the strongest case against a run's answer."""

import asyncio
import sys
from typing import Annotated

import typer

from workbench.cli.common import JSON_OPTION, RUN, command, echo, emit_json, open_store, say
from workbench.engine.annotating import keep_case
from workbench.engine.gateway import open_gateway
from workbench.engine.run.fold import load_state
from workbench.engine.whatif.edits import require_grounded
from workbench.engine.whatif.red_team import price_of_case, red_team, with_model


@command
def redteam(
    run: Annotated[str, RUN],
    model: Annotated[
        str | None, typer.Option(help="Another model than the run's critic, or than its own.")
    ] = None,
    api_base: Annotated[
        str | None, typer.Option(help="Base URL of an OpenAI-compatible server, for --model.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before paying.")] = False,
    as_json: Annotated[bool, JSON_OPTION] = False,
) -> None:
    """Have an agent write the strongest case against the answer, show what it would do to it, and keep it as a note.

    The case is never taken by itself: the printed `whatif` line tries it.
    """
    store = open_store()
    state = with_model(load_state(store, store.resolve_run(run)), model, api_base)
    require_grounded(state)
    say(price_of_case(state))
    if not yes and sys.stdin.isatty() and sys.stderr.isatty():
        typer.confirm("go on?", abort=True, err=True)
    result = asyncio.run(red_team(store, state, open_gateway(store, state)))
    keep_case(store, result)
    if as_json:
        emit_json(result.to_json())
    else:
        echo("\n".join(result.lines()))
