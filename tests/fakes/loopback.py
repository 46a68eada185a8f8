"""Small servers on loopback: a handler while a block runs, and one that answers each POST with JSON, or with bytes as they are."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

#: (path, body, headers in lower case) -> (status, JSON or bytes, more headers)
Answer = Callable[[str, dict[str, Any], dict[str, str]], tuple[int, Any, Mapping[str, str]]]


class Quiet(BaseHTTPRequestHandler):
    """A handler that writes no log."""

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing on stderr."""


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler], **state: Any) -> Iterator[str]:
    """Serve while the block runs and yield the address; ``state`` becomes attributes of the handler's ``server``."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    for name, value in state.items():
        setattr(server, name, value)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _JsonHandler(Quiet):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        status, answer, more = self.server.answer(self.path, body, headers)  # type: ignore[attr-defined]
        data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **more}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def serving_json(answer: Answer) -> Any:
    """Serve what ``answer`` says while the block runs; yields the address."""
    return serving(_JsonHandler, answer=answer)


class Recorded:
    """Answers from a list, and keeps path, body and headers of each request; an answer without a status is a body of 200."""

    def __init__(self) -> None:
        self.answers: list[Any] = []
        self.requests: list[tuple[str, dict[str, Any], dict[str, str]]] = []
        self.url = ""

    def answer(
        self, path: str, body: dict[str, Any], headers: dict[str, str]
    ) -> tuple[int, Any, Mapping[str, str]]:
        self.requests.append((path, body, headers))
        answer = self.answers.pop(0)
        return answer if isinstance(answer, tuple) else (200, answer, {})

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [body for _, body, _ in self.requests]
