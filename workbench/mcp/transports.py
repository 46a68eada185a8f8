"""How a client reaches the server: over its own pipe, or over HTTP on loopback with a token."""

import hmac
import os
import secrets
import socket
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from proxies.asof.clock import Cutoff
from proxies.secret_registry import SECRETS
from sandbox.jupyter.door import HOST, is_own_request
from workbench.engine.record.fold import load_state
from workbench.errors import Option, UsageError
from workbench.mcp.client_home import ClientHome, VisibleRuns
from workbench.store import Store

DEFAULT_PORT = 8931
#: Where the person's own token stands, so that a client's settings need not change with every start.
TOKEN_VARIABLE = "WORKBENCH_MCP_TOKEN"
_SHORTEST_TOKEN = 24

_Message = MutableMapping[str, Any]
_App = Callable[
    [_Message, Callable[[], Awaitable[_Message]], Callable[[_Message], Awaitable[None]]], Awaitable[None]
]


def visible_runs(home: Path, cutoff: str | None, run: str | None) -> VisibleRuns:
    """Return what a client may see, by what the person who starts the server typed.

    Without a cutoff and with a run, the run's own cutoff is pinned; without both everything is shown as of now.

    Raises
    ------
    UsageError
        The run's cutoff is later than the cutoff.
    CutoffRefused
        It is no cutoff.
    UnknownRun
        There is no such run.
    """
    pinned = None if cutoff is None else Cutoff.parse(cutoff)
    if run is None:
        return VisibleRuns(cutoff=pinned or Cutoff.parse("now"))
    with Store(home) as store:
        run_id = store.resolve_run(run)
        runs = VisibleRuns(cutoff=pinned or load_state(store, run_id).parsed_cutoff(), only=run_id)
        if not runs.rows(store):
            raise UsageError(
                f"run {run_id} is not finished, or its cutoff is later than {runs.cutoff.text}: a client could not read it"
            )
    return runs


@asynccontextmanager
async def opened(home: Path, runs: VisibleRuns) -> Any:
    """Yield the server over a home; its broker is closed at the end."""
    from workbench.mcp.server import build_server  # loads the SDK, a second

    statement = ""
    if runs.only is not None:
        with Store(home) as store:
            statement = runs.state(store, runs.only).statement
    async with ClientHome(environ=os.environ, folder=home, runs=runs, statement=statement) as data:
        try:
            yield build_server(data)
        finally:
            data.close()


async def serve_stdio(home: Path, runs: VisibleRuns) -> None:
    """Serve one client over stdin and stdout until it closes them."""
    from mcp.server.stdio import stdio_server

    async with opened(home, runs) as server, stdio_server() as (reader, writer):
        lines = _Lines(reader, writer)
        await server.run(lines, writer, server.create_initialization_options())


class _Lines:
    """The messages of a client's lines; one that is none is answered here, since the SDK answers nothing to it."""

    def __init__(self, reader: Any, writer: Any) -> None:
        self._reader, self._writer = reader, writer

    @property
    def last_context(self) -> Any:
        return self._reader.last_context

    async def __aenter__(self) -> "_Lines":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._reader.aclose()

    def __aiter__(self) -> "_Lines":
        return self

    async def __anext__(self) -> Any:
        return await self._sound(self._reader.__anext__)

    async def receive(self) -> Any:
        return await self._sound(self._reader.receive)

    async def _sound(self, read: Callable[[], Awaitable[Any]]) -> Any:
        """The next line that is a message; those before it that are none are answered."""
        while isinstance(item := await read(), Exception):
            await self._writer.send(_refusal(item))
        return item


def _refusal(error: Exception) -> Any:
    from mcp.shared.message import SessionMessage
    from mcp.types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError

    no_json = isinstance(error, ValidationError) and error.errors()[0]["type"] == "json_invalid"
    code, words = (PARSE_ERROR, "Parse error") if no_json else (INVALID_REQUEST, "Invalid request")
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=code, message=words)))


async def serve_http(
    home: Path, runs: VisibleRuns, *, port: int | None, token: str, announce: Callable[[str], None]
) -> None:
    """Serve clients over streamable HTTP on loopback until the process is told to end.

    ``announce`` is called with the address once it answers. Raises ``UsageError`` if the port is taken.
    """
    import uvicorn

    listener = _bound(port)
    with closing(listener):
        own_port = listener.getsockname()[1]
        async with opened(home, runs) as server:
            app = guarded(server.streamable_http_app(host=HOST), token=token, port=own_port)
            config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="on", ws="none")
            web = uvicorn.Server(config)
            announce(f"http://{HOST}:{own_port}/mcp")
            await web.serve(sockets=[listener])


def guarded(app: _App, *, token: str, port: int) -> _App:
    """Return the application behind a door: only requests of this machine's own programs that bear the token pass.

    Host and Origin are looked at first, as everywhere on our servers, so that a page whose name a stranger's DNS points at
    127.0.0.1 is refused whatever it knows.
    """
    expected = f"Bearer {token}".encode()

    async def door(
        scope: _Message,
        receive: Callable[[], Awaitable[_Message]],
        send: Callable[[_Message], Awaitable[None]],
    ) -> None:
        if scope["type"] == "lifespan":
            await app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = _headers(scope)
        shown = (headers.get("Authorization") or "").encode("utf-8", "replace")
        if not is_own_request(headers, port):
            await _refuse(send, 403, b"this server answers programs of this machine only\n")
        elif not hmac.compare_digest(shown, expected):
            await _refuse(
                send, 401, b"the token is missing or wrong: send it as Authorization: Bearer TOKEN\n"
            )
        else:
            await app(scope, receive, send)

    return door


def _headers(scope: _Message) -> Mapping[str, str]:
    """Headers by the names that the rule uses; one that comes twice is of no use to an honest client and counts as wrong."""
    values: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name = "-".join(part.capitalize() for part in raw_name.decode("latin-1").split("-"))
        values[name] = "" if name in values else raw_value.decode("latin-1")
    return values


async def _refuse(send: Callable[[_Message], Awaitable[None]], status: int, text: bytes) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(text)).encode())]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text})


def token_from(environ: Mapping[str, str] = os.environ) -> str:
    """Return the person's own token, or a new one; raises ``UsageError`` for one that could be guessed."""
    token = environ.get(TOKEN_VARIABLE)
    SECRETS.add(token)
    if token is None:
        return secrets.token_urlsafe(32)
    if len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise UsageError(
            f"{TOKEN_VARIABLE} must be at least {_SHORTEST_TOKEN} printable characters without spaces: leave it unset for a new one"
        )
    return token


def _bound(port: int | None) -> socket.socket:
    """A listening socket on loopback: on the port that was asked for, else on the first free one from the default on."""
    wanted = [port] if port is not None else [*range(DEFAULT_PORT, DEFAULT_PORT + 100)]
    for number in wanted:
        listener = socket.socket()
        # Without it a port counts as taken for about a minute after the last server on it has ended.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, number))
            listener.listen(64)
        except (OSError, OverflowError) as error:
            listener.close()
            trouble = error
            continue
        return listener
    raise UsageError(f"port {wanted[-1]} cannot be used ({trouble}): choose another with ", Option("port"))
