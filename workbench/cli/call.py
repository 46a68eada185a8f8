"""``call``: one call through the broker, as a cell makes it."""

import asyncio
import os
from typing import Annotated, Any

import typer

from proxies.errors import ProxyError, Refused
from workbench.cli.common import JSON_OPTION, command, emit_json, exit_code, one_line, open_store, say


@command
def call(
    path: Annotated[str, typer.Argument(help="Endpoint path, long or short.")],
    params: Annotated[list[str] | None, typer.Argument(help="key=value ...")] = None,
    cutoff: Annotated[str, typer.Option(help="Knowledge cutoff; now for none.")] = "now",
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse data whose date cannot be fully proven.")
    ] = False,
    as_json: Annotated[bool, JSON_OPTION] = False,
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
    from proxies.settings import ProxySettings
    from workbench.store import ApiLedger

    store = open_store()
    cutoff = Cutoff.parse(cutoff_text)
    broker = open_broker(ProxySettings.from_environment(os.environ, cache_path=store.home / "cache.db"))
    ledger = ApiLedger(store)
    # A person's calls are filed too, in a run of their own that no event log belongs to.
    address = Address(
        run="call", node="-", trial=0, attempt=0, stage="call", step=ledger.count("call"), retry=0
    )
    try:
        return await broker.session(cutoff, ledger, strict=strict).call(path, params, address)
    finally:
        await broker.aclose()
