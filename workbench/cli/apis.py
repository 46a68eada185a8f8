"""``apis`` and ``api-doc``: what the broker can be asked."""

import os
from typing import Annotated

import typer

from proxies.catalogue import api_doc as documentation
from workbench.cli.common import JSON_OPTION, command, echo, emit_json, say
from workbench.engine import documents
from workbench.settings import catalogue_of, home_from


@command
def apis(
    words: Annotated[list[str] | None, typer.Argument(help="Words to look for.")] = None,
    as_json: Annotated[bool, JSON_OPTION] = False,
) -> None:
    """List the endpoints, or what answers some words: endpoints, series, sources to search in; usable ones first."""
    pattern = " ".join(words) if words else None
    entries = documents.apis(pattern, environ=os.environ)
    if as_json:
        emit_json(entries)
        return
    for entry in entries:
        named = " ".join(f"{name}={value}" for name, value in entry["params"].items())
        against = f"  [{entry['obstacle']}]" if entry["obstacle"] else ""
        echo(f"{entry['path']}{' ' + named if named else ''}  {entry['description']}{against}")
    if not entries:
        say(f"no endpoint matches {pattern!r}: `workbench apis` lists all")


@command
def api_doc(paths: Annotated[list[str], typer.Argument(help="Endpoint paths, 1 to 25.")]) -> None:
    """Print the documentation of endpoints, with an example that runs."""
    echo(documentation(catalogue_of(home_from(os.environ)), paths))
