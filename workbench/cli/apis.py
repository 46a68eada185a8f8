"""``apis`` and ``api-doc``: what the broker can be asked."""

from typing import Annotated

import typer

from workbench.cli.common import JSON_OPTION, command, emit_json, say


@command
def apis(
    pattern: Annotated[str | None, typer.Argument(help="Words to look for.")] = None,
    as_json: Annotated[bool, JSON_OPTION] = False,
) -> None:
    """List the endpoints, or those that match some words."""
    from proxies.catalogue import load_catalogue

    catalogue = load_catalogue()
    found = catalogue.search(pattern) if pattern else [catalogue.resolve(path) for path in catalogue.paths()]
    if as_json:
        emit_json(
            [
                {"path": item.path, "description": item.description, "policy": item.as_of.policy}
                for item in found
            ]
        )
        return
    for item in found:
        typer.echo(f"{item.path}  {item.description}")
    if not found:
        say(f"no endpoint matches {pattern!r}: `workbench apis` lists all")


@command
def api_doc(paths: Annotated[list[str], typer.Argument(help="Endpoint paths, 1 to 25.")]) -> None:
    """Print the documentation of endpoints, with an example that runs."""
    from proxies.catalogue import api_doc as documentation
    from proxies.catalogue import load_catalogue

    typer.echo(documentation(load_catalogue(), paths))
