"""``reground``: one leaf of a run grounded again."""

import sys
from typing import Annotated

import typer

from workbench.cli.common import ISOLATION_OPTION, JSON_OPTION, RUN, command, open_store, say
from workbench.cli.drive import detach_run, drive, finish
from workbench.cli.run_options import DETACH
from workbench.engine.run.fold import load_state
from workbench.engine.run.regrounding import regrounding_line, reopen_leaf
from workbench.engine.run.settings import check_level


@command
def reground(
    run: Annotated[str, RUN],
    node: Annotated[str, typer.Argument(help="A leaf that has a value.")],
    full: Annotated[
        bool,
        typer.Option("--full", help="Ask the synthesizer again for the nodes above, formula or not."),
    ] = False,
    author: Annotated[str, typer.Option(help="Who wants it; on record, not proved.")] = "",
    reason: Annotated[str, typer.Option(help="Why; on record.")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before paying.")] = False,
    isolation: Annotated[str | None, ISOLATION_OPTION] = None,
    detach: Annotated[bool, DETACH] = False,
    as_json: Annotated[bool, JSON_OPTION] = False,
) -> None:
    """Ground one leaf again, in a new attempt; its price is said first, and what it concluded before stays on record.

    The nodes above follow by their stored rules. If the attempt comes to nothing the old value stands.
    """
    if isolation is not None:
        check_level(isolation)
    store = open_store()
    run_id = store.resolve_run(run)
    say(regrounding_line(load_state(store, run_id), node, full=full))
    if not yes and sys.stdin.isatty() and sys.stderr.isatty():
        typer.confirm("go on?", abort=True, err=True)
    state = reopen_leaf(store, run_id, node, full=full, author=author, reason=reason)
    if detach:
        detach_run(store, run_id, isolation=isolation)
        return
    _, error = drive(store, state.settings, isolation=isolation, run_id=run_id)
    finish(store, run_id, error, plan_only=False, as_json=as_json)
