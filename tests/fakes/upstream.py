"""A loopback HTTP server that stands in for a vendor: records what arrives, can be told to misbehave."""

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True, slots=True)
class Seen:
    """One request as it arrived."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


@dataclass(frozen=True, slots=True)
class Sent:
    """One reply: status, a JSON value or raw bytes, headers, seconds to wait before it."""

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    wait: float = 0.0


Handler = Callable[[Seen], Sent]

#: Answers of vendors as they stand on the wire, with holes (`fill`), by name.
SHAPES: dict[str, Any] = json.loads(
    Path(__file__).with_name("upstream").joinpath("answers.json").read_text(encoding="utf-8")
)


def fill(shape: Any, holes: Mapping[str, Any]) -> Any:
    """Fill a shape: ``$name`` with a hole, called where it can be; ``"$name": true`` with all of an object; ``{n}`` with a number."""
    if isinstance(shape, str):
        if not shape.startswith("$"):
            return shape.replace("{n}", str(holes.get("n")))
        hole = holes[shape[1:]]
        return hole() if callable(hole) else hole
    if isinstance(shape, list):
        return [fill(item, holes) for item in shape]
    if not isinstance(shape, dict):
        return shape
    out: dict[str, Any] = {}
    for name, item in shape.items():
        if name.startswith("$") and item is True:
            out |= holes[name[1:]]
        else:
            out[fill(name, holes)] = fill(item, holes)
    return out


def _body_of(raw: bytes, kind: str) -> Any:
    if not raw:
        return None
    return dict(parse_qsl(raw.decode())) if "form-urlencoded" in kind else json.loads(raw)


class Upstream:
    """Serves a handler on 127.0.0.1 in a thread; ``faults`` are answered first, one per request."""

    def __init__(self, handler: Handler) -> None:
        self.handler = handler
        self.seen: list[Seen] = []
        self.faults: deque[Sent] = deque()
        outer = self

        class _Request(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # head and body in one write: two would wait for each other's acknowledgement
            wbufsize = 1 << 20

            def _serve(self) -> None:
                outer._serve(self)

            do_GET = do_POST = _serve

            def log_message(self, format: str, *args: Any) -> None:
                pass

        class _Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False

            def handle_error(self, request: Any, client_address: Any) -> None:
                pass  # a client that hangs up is part of some tests

        self._server = _Server(("127.0.0.1", 0), _Request)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _serve(self, request: BaseHTTPRequestHandler) -> None:
        parts = urlsplit(request.path)
        length = int(request.headers.get("content-length") or 0)
        raw = request.rfile.read(length) if length else b""
        seen = Seen(
            request.command,
            parts.path,
            dict(parse_qsl(parts.query, keep_blank_values=True)),
            {k.lower(): v for k, v in request.headers.items()},
            _body_of(raw, request.headers.get("content-type") or ""),
        )
        self.seen.append(seen)
        sent = self.faults.popleft() if self.faults else self.handler(seen)
        if sent.wait:
            time.sleep(sent.wait)
        body = sent.body if isinstance(sent.body, bytes) else json.dumps(sent.body).encode()
        request.send_response(sent.status)
        for name, value in {"content-type": "application/json", **sent.headers}.items():
            request.send_header(name, value)
        request.send_header("content-length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)
