"""``workers``: the certificates without which no cluster is spoken to."""

import os
from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.common import command, echo
from workbench.workers.certificates import certificate_folder, command_lines, new_certificates

workers = typer.Typer(no_args_is_help=True, help="A Dask cluster that collects evidence: see docs/scale.md.")


@workers.callback()
def _group() -> None:
    """Keep ``keys`` a word of its own: typer makes a group of one command into that command."""


@workers.command("keys")
@command
def keys(
    folder: Annotated[
        Path | None, typer.Argument(help="Where to put them; your own folder of certificates unless named.")
    ] = None,
) -> None:
    """Make a set of certificates for a scheduler, its workers and yourself, good for a year, and say how to use it."""
    place = (folder or certificate_folder(os.environ)).absolute()
    new_certificates(place)
    echo(
        f"{place} holds them; copy the folder scheduler to the scheduler's machine, worker to the workers', then there:"
    )
    for line in command_lines(place):
        echo(f"  {line}")
