"""What every way of streaming has in common: how a request is made a streamed one, and how pieces become the plain reply.

``stream_formats.py`` says how each family of providers streams; ``exchange.py`` lists them.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx


@dataclass(slots=True)
class Assembly:
    """One reply under way; each family of providers has a subclass that reads its pieces."""

    #: What the server says has gone wrong in the middle, in its own form; it stands in the reply's place.
    error: dict[str, Any] | None = None
    #: HTTP status that goes with the error.
    status: int = 200
    #: Nothing more will come.
    done: bool = False
    #: A first word, thought or tool call was seen; before that a reasoning model may be silent for long.
    begun: bool = False

    @property
    def complete(self) -> bool:
        """Whether the server has come to its end, so that what stands here is the whole reply."""
        return self.done

    def add(self, piece: dict[str, Any]) -> None:
        """Take in one piece of the reply."""
        raise NotImplementedError

    def body(self) -> dict[str, Any]:
        """Return what the server would have sent without streaming."""
        raise NotImplementedError

    def fail(self, error: dict[str, Any], status: Any) -> None:
        """Note an error in the middle of a stream; without a status of its own it is one of the server."""
        known = isinstance(status, int) and 400 <= status < 600
        self.error, self.status, self.done = error, status if known else 502, True

    def whole(self) -> dict[str, Any]:
        """Return the reply, or the error that came in its place."""
        return self.body() if self.error is None else self.error

    def add_line(self, line: str) -> None:
        """Take in one line of server-sent events; comments and empty lines are the server's way to say that it lives."""
        if not line.startswith("data:"):
            return
        text = line[5:].strip()
        if text == "[DONE]":
            self.done = True
        else:
            self.add_json(text)

    def add_json(self, text: str) -> None:
        """Take in the JSON of a piece."""
        try:
            piece = json.loads(text)
        except (ValueError, RecursionError):
            return  # half a line at a broken end; `complete` tells
        if isinstance(piece, dict):
            self.add(piece)


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """How one family of providers is asked for a streamed reply.

    ``path`` is how the paths of its requests end, ``kind`` a part of its streams' content type; ``marks`` go into the body, and
    ``counted`` too where the provider does not refuse them; ``url`` is for those that stream at another address; ``pings``
    says that the line shows signs of life however long a model thinks.
    """

    path: str
    assembly: Callable[[], Assembly]
    kind: str = "event-stream"
    marks: dict[str, Any] = field(default_factory=lambda: {"stream": True})
    counted: dict[str, Any] = field(default_factory=dict)
    url: Callable[[httpx.URL], httpx.URL] = lambda url: url
    pings: bool = False

    def sends(self, request: httpx.Request) -> bool:
        """Whether a request is a plain one of this family."""
        if request.method != "POST" or not request.url.path.endswith(self.path):
            return False
        try:
            body = json.loads(request.content)
        except ValueError:
            return False
        return isinstance(body, dict) and not body.get("stream")

    def streamed(self, request: httpx.Request, *, counted: bool) -> httpx.Request:
        """Return a request of this family as a streamed one, with or without a wish for counts."""
        body = {**json.loads(request.content), **self.marks, **(self.counted if counted else {})}
        headers = [(name, value) for name, value in request.headers.raw if name.lower() != b"content-length"]
        return httpx.Request(
            request.method,
            self.url(request.url),
            headers=headers,
            content=json.dumps(body).encode(),
            extensions=request.extensions,
        )


def joined(before: Any, piece: Any) -> Any:
    """Return a value that grows by pieces: texts and lists are put one behind the other, objects field by field."""
    match before, piece:
        case (_, None):
            return before
        case (str(), str()) | (list(), list()):
            return before + piece
        case (str(), list()):
            return [{"type": "text", "text": before}, *piece] if before else piece
        case (list(), str()):
            return [*before, {"type": "text", "text": piece}] if piece else before
        case (dict(), dict()):
            return {**before, **{name: joined(before.get(name), value) for name, value in piece.items()}}
        case _:
            return piece
