"""``mcp``: a server of the Model Context Protocol for other programs' agents."""

import asyncio
import json
import os
import sys
from typing import Annotated

import typer

from workbench.cli.common import command, leave_current_folder, say, unlisted
from workbench.environment import home_from
from workbench.errors import UsageError
from workbench.mcp import transports


@command
def mcp(
    cutoff: Annotated[
        str | None,
        typer.Option(
            help="Cutoff of all that a client gets; no call can widen it. Without it that of --run, else now."
        ),
    ] = None,
    run: Annotated[str | None, typer.Option(help="Show this run only.")] = None,
    http: Annotated[
        bool, typer.Option("--http", help="Streamable HTTP on 127.0.0.1 with a token, instead of stdio.")
    ] = False,
    port: Annotated[
        int | None,
        unlisted(help="Port of --http; the first free one from 8931 unless told."),
    ] = None,
) -> None:
    """Serve dated data and analyses to agents of other programs, over stdio or HTTP (docs/use/colleagues.md)."""
    if port is not None and not http:
        raise UsageError("--port needs --http")
    home = home_from(os.environ).absolute()
    runs = transports.visible_runs(home, cutoff, run)
    leave_current_folder()
    if not http:
        asyncio.run(transports.serve_stdio(home, runs))
        return
    token = transports.token_from(os.environ)
    say("Serving; Ctrl-C ends it.")

    def announce(url: str) -> None:
        sys.stdout.write(json.dumps({"url": url, "token": token}) + "\n")
        sys.stdout.flush()

    asyncio.run(transports.serve_http(home, runs, port=port, token=token, announce=announce))
