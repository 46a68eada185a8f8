"""``doctor``: what works here, what does not, and why."""

import asyncio
import os
from typing import Annotated

import typer

from workbench.cli.common import JSON_OPTION, command, emit_json


@command
def doctor(as_json: Annotated[bool, JSON_OPTION] = False) -> None:
    """Say which isolation level works and what refuses a better one, which keys are set, versions and files."""
    from workbench.engine import documents

    report = asyncio.run(documents.doctor(os.environ))
    if as_json:
        emit_json(report)
        return
    for name, value in report.items():
        if isinstance(value, dict):
            typer.echo(f"{name}:")
            for key, item in value.items():
                typer.echo(f"  {key:22} {item}")
        elif isinstance(value, list):
            typer.echo(f"{name}: {', '.join(map(str, value)) or 'none'}")
        else:
            typer.echo(f"{name}: {value}")
