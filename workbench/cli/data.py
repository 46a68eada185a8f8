"""``apis``, ``api-doc`` and ``call``: what the broker can be asked, and asking it."""

import asyncio
import os
from typing import Annotated, Any

import typer

from proxies.errors import ProxyError, Refused
from workbench.cli.common import command, emit_json, exit_code, one_line, say


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    app.command("apis")(apis)
    app.command("api-doc")(doc)
    app.command("call")(call)


@command
def apis(
    pattern: Annotated[str | None, typer.Argument(help="Words to look for.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """List the endpoints, or those that match some words."""
    from workbench.settings import catalogue_of, home_from

    catalogue = catalogue_of(home_from(os.environ))
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
def doc(paths: Annotated[list[str], typer.Argument(help="Endpoint paths, 1 to 25.")]) -> None:
    """Print the documentation of endpoints, with an example that runs."""
    from proxies.catalogue import api_doc
    from workbench.settings import catalogue_of, home_from

    typer.echo(api_doc(catalogue_of(home_from(os.environ)), paths))


@command
def call(
    path: Annotated[str, typer.Argument(help="Endpoint path, long or short.")],
    params: Annotated[list[str] | None, typer.Argument(help="key=value ...")] = None,
    cutoff: Annotated[str, typer.Option(help="Knowledge cutoff; now for none.")] = "now",
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse data whose date cannot be fully proven.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Make one call through the broker and print its data and what was done to keep the cutoff."""
    try:
        answer = asyncio.run(_call(path, _params(params or []), cutoff, strict=strict))
    except ProxyError as error:
        if as_json:
            emit_json({"refused" if isinstance(error, Refused) else "failed": one_line(error)})
        say(f"workbench: {one_line(error)}")
        raise typer.Exit(exit_code(error)) from None
    emit_json({"data": answer.data, "meta": answer.meta})


def _params(pairs: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise Refused(f"{pair!r} is not a parameter: write key=value")
        found[key] = value
    return found


async def _call(path: str, params: dict[str, Any], cutoff_text: str, *, strict: bool) -> Any:
    from proxies.asof.clock import Cutoff
    from proxies.broker import open_broker
    from proxies.ledger import Address
    from workbench.cli.runs import open_store
    from workbench.settings import proxy_settings
    from workbench.store import ApiLedger

    store = open_store()
    cutoff = Cutoff.parse(cutoff_text)
    broker = open_broker(proxy_settings(os.environ, store.home))
    ledger = ApiLedger(store)
    # A person's calls are filed too, in a run of their own that no event log belongs to.
    address = Address(
        run="call", node="-", trial=0, attempt=0, stage="call", step=ledger.count("call"), retry=0
    )
    try:
        return await broker.session(cutoff, ledger, strict=strict).call(path, params, address)
    finally:
        await broker.aclose()
