"""A client of the official library on a server over one home, as tests use it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp import Client, MCPError

from workbench.mcp import transports


@asynccontextmanager
async def connected(home: Path, cutoff: str | None = None, run: str | None = None) -> AsyncIterator[Client]:
    runs = transports.visible_runs(home, cutoff, run)
    async with transports.opened(home, runs) as server, Client(server) as client:
        yield client


async def answer(client: Client, tool: str, **arguments: Any) -> tuple[bool, str]:
    """Whether the call went well, and the text of the answer."""
    result = await client.call_tool(tool, arguments)
    assert len(result.content) == 1
    return not result.is_error, result.content[0].text  # type: ignore[union-attr]


async def resource(client: Client, uri: str) -> tuple[bool, str]:
    try:
        result = await client.read_resource(uri)
    except MCPError as error:
        return False, str(error.error.message if hasattr(error, "error") else error)
    return True, result.contents[0].text  # type: ignore[union-attr]
