"""``resolve --due``: everything open that can be known by now, for a cron line."""

import asyncio
import os
from typing import Any

import typer

from workbench.cli.common import at_end, echo, emit_json, say
from workbench.errors import PROVIDER
from workbench.operations.base import Home
from workbench.operations.endpoints import data_caller
from workbench.studies.rounds.resolution import resolve_open


def resolve_due(*, quiet: bool, as_json: bool) -> None:
    """Record outcomes of runs and sets from the embedded series and the venues; leaves with 4 where one could not be asked."""
    home = Home.of(os.environ)
    at_end(home.close)

    async def resolve() -> Any:
        async with home:
            return await resolve_open(home.store, data_caller(home, "now"))

    resolved = asyncio.run(resolve())
    if as_json:
        emit_json(
            {
                "runs": resolved.runs,
                "sets": resolved.sets,
                "failed": [{"id": name, "reason": reason} for name, reason in resolved.failed],
            }
        )
    else:
        for run_id in resolved.runs:
            echo(f"run {run_id} is resolved")
        for name, count in resolved.sets.items():
            echo(f"set {name}: {count} outcomes recorded")
        if not (quiet or resolved.runs or resolved.sets):
            say("nothing that is open can be known yet")
    for name, reason in resolved.failed:
        say(f"workbench: {name}: {reason}")
    if resolved.failed:
        raise typer.Exit(PROVIDER)
