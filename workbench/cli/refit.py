"""``refit``: the synthesizer asked again, to see how far its weights can be trusted."""

import asyncio
import sys
from typing import Annotated, Any

import typer

from workbench.cli.common import JSON_OPTION, RUN, command, echo, emit_json, open_store, say
from workbench.cli.table import show_table
from workbench.engine import documents
from workbench.engine.gateway import open_gateway
from workbench.engine.run.fold import load_state
from workbench.engine.whatif.asking_again import price_line
from workbench.engine.whatif.refits import refit_nodes
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
    lines = []
    for row in document["nodes"]:
        failed = "every reply was unusable  " if row["value"] is None else ""
        if row["failed"] and row["value"] is not None:
            failed = f"({row['failed']} unusable)  "
        lines.append((row["id"], "value", *_spread(row["value"]), f"{failed}{row['statement']}"))
        for name, spread in (row["coefficients"] or {}).items():
            lines.append(("", name, *_spread(spread), "SIGN FLIPS" if spread["flips"] else ""))
        for formula, count in (row["formulas"] or {}).items():
            lines.append(("", "formula", *_spread(None), f"{count} x {formula}"))
        for warning in row["warnings"]:
            say(f"{row['id']}: {warning}")
    show_table(("node", "of", "mean", "sd", "low", "high", "notes"), lines)
    echo(f"{document['model_calls']} model calls; the run is unchanged")


def _spread(spread: dict[str, Any] | None) -> tuple[float | None, ...]:
    return tuple(None if spread is None else spread[name] for name in ("mean", "sd", "low", "high"))
