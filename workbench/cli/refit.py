"""``refit``: the synthesizer asked again, to see how far its weights can be trusted."""

import asyncio
import sys
from typing import Annotated, Any

import typer

from workbench.cli.common import JSON_OPTION, RUN, command, emit_json, open_store, say
from workbench.errors import UsageError


@command
def refit(
    run: Annotated[str, RUN],
    k: Annotated[int, typer.Option("--k", help="How often the synthesizer is asked for each node.")] = 5,
    node: Annotated[list[str] | None, typer.Option(help="This inner node only; repeat for more.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before paying.")] = False,
    as_json: Annotated[bool, JSON_OPTION] = False,
) -> None:
    """Ask the synthesizer again K times per inner node and print how far its weights spread and change sign."""
    from workbench.engine import documents
    from workbench.engine.gateway import open_gateway
    from workbench.engine.run.state import load_state
    from workbench.engine.whatif.edits import price_line
    from workbench.engine.whatif.refits import refit_nodes

    store = open_store()
    state = load_state(store, store.resolve_run(run))
    nodes = refit_nodes(state, tuple(node or ()))
    if k < 2:
        raise UsageError(f"a spread needs at least 2 refits, not --k {k}")
    say(price_line(state, nodes, times=k))
    if not yes and sys.stdin.isatty() and sys.stderr.isatty():
        typer.confirm("go on?", abort=True, err=True)
    gateway = open_gateway(store, state)
    document = asyncio.run(documents.refits(store, state, nodes, k, gateway))
    if as_json:
        emit_json(document)
        return
    for row in document["nodes"]:
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
    typer.echo(f"{document['model_calls']} model calls; the run is unchanged")


def _spread(spread: dict[str, Any]) -> str:
    return f"{spread['mean']:+.4f} sd {spread['sd']:.4f}  ({spread['low']:+.4f} to {spread['high']:+.4f})"
