"""``resolve --due``: everything open that can be known by now, for a cron line."""

import asyncio
import os
from collections.abc import Mapping
from typing import Any

import typer

from workbench.cli.common import PROVIDER, echo, emit_json, open_store, say
from workbench.studies.rounds.resolution import resolve_open
from workbench.views import data_documents


def resolve_due(*, quiet: bool, as_json: bool) -> None:
    """Record outcomes of runs and sets from the embedded series and the venues; leaves with 4 where one could not be asked."""
    store = open_store()

    async def call(path: str, params: Mapping[str, Any]) -> Any:
        answer = await data_documents.call(store, path, params, "now", environ=os.environ)
        return answer["data"]

    resolved = asyncio.run(resolve_open(store, call))
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
