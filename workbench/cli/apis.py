"""``apis``, ``api-doc`` and ``call``: what the broker can be asked, and one call as a cell makes it."""

import asyncio
import os
from typing import Annotated, Any

import typer

from proxies.catalogue import api_doc as documentation
from proxies.errors import ProxyError, Refused
from workbench.cli.common import (
    AsJson,
    command,
    echo,
    emit_json,
    exit_code,
    one_line,
    open_store,
    say,
    unlisted,
)
from workbench.environment import catalogue_of, home_from
from workbench.views import data_documents


@command
def call(
    path: Annotated[str, typer.Argument(help="Endpoint path, long or short.")],
    params: Annotated[list[str] | None, typer.Argument(help="key=value ...")] = None,
    cutoff: Annotated[str, typer.Option(help="Cutoff; now for none.")] = "now",
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse data whose date cannot be fully proven.")
    ] = False,
    max_residual: Annotated[
        str | None,
        unlisted(
            help="Refuse data with more residual risk of later knowledge than none, low, medium or high; --strict is medium.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make one call through the broker and print its data and what was done to keep the cutoff."""
    try:
        answer = asyncio.run(
            data_documents.call(
                open_store(),
                path,
                _params(params or []),
                cutoff,
                strict=strict,
                max_residual=max_residual,
                environ=os.environ,
            )
        )
    except ProxyError as error:
        # A refusal is an answer that a program may want to read, so it is a document on stdout as well as a line on stderr.
        if as_json:
            emit_json({"refused" if isinstance(error, Refused) else "failed": one_line(error)})
        say(f"workbench: {one_line(error)}")
        raise typer.Exit(exit_code(error)) from None
    emit_json(answer)


def _params(pairs: list[str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise Refused(f"{pair!r} is not a parameter: write key=value")
        values[key] = value
    return values


@command
def apis(
    words: Annotated[list[str] | None, typer.Argument(help="Words to look for.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the endpoints, or what answers some words: endpoints, series, sources to search in; usable ones first."""
    pattern = " ".join(words) if words else None
    entries = data_documents.apis(pattern, environ=os.environ)
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
