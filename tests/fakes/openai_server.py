"""A language model in a can: an OpenAI-compatible HTTP server on loopback that answers by a `Policy`, and keeps every request.

with OpenAIServer(Policy(fails_once={"P1.1"}, never_works={"P2"})) as server:
    workbench analyze "..." --model openai/x --api-base server.url
"""

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from tests.fakes.model_policy import Asked, Policy, text_of, understand
from tests.fakes.provider_rules import Rule, fault, finish_reason, possible
from tests.fakes.upstream import Seen, Sent


def shared_beginning(texts: Sequence[str]) -> str:
    """What all of these texts begin with."""
    first, last = min(texts), max(texts)
    return first[
        : next((n for n, pair in enumerate(zip(first, last, strict=False)) if len(set(pair)) > 1), len(first))
    ]


class OpenAIServer:
    """The server; use it as a context manager.

    ``url`` is what ``--api-base`` takes. ``asked`` holds the requests that were answered in full, in order of arrival;
    ``refused`` the words of 400 for what providers refuse (``provider_rules``, and ``rule`` if given);
    ``held`` those that came to a hold, answered or not yet; ``turned_away`` those that got a status code instead; ``usages`` what was counted of each answer; ``unread`` bodies it could make nothing of (answered 400).
    """

    def __init__(self, policy: Policy | None = None, *, port: int = 0, rule: Rule | None = None) -> None:
        self.policy = policy or Policy()
        self.rule = rule
        self.refused: list[str] = []
        self.asked: list[Asked] = []
        self.held: list[Asked] = []
        self.turned_away: list[tuple[int, Asked]] = []
        self.unread: list[str] = []
        self.usages: list[tuple[Asked, dict[str, Any]]] = []
        self.abandoned: list[Asked] = []
        self.lock = threading.Lock()
        self._http = _Http(("127.0.0.1", port), _Handler, self)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def words(self, price: str = "1,2") -> tuple[str, ...]:
        """What names this server's model on a command line; ``price`` in US dollars per million tokens, in and out."""
        return ("--model", "openai/x", "--api-base", self.url, "--price", f"openai/x={price}")

    def by_stage(self, stage: str, node: str | None = None) -> list[Asked]:
        """Answered requests of a stage, of one node if named."""
        return [one for one in self.asked if one.stage == stage and node in (None, one.node)]

    def __enter__(self) -> "OpenAIServer":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for event in self.policy.hold.values():
            event.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def _cached(self, asked: Asked) -> int:
        """Tokens of the longest beginning that an answered request had, from 1,024 on, as OpenAI counts them."""
        text = "".join(map(text_of, asked.messages))
        before = ("".join(map(text_of, one.messages)) for one in self.asked if one is not asked)
        longest = max((len(shared_beginning([text, other])) for other in before), default=0) // 4
        return longest if longest >= 1024 else 0

    def refusal(self, body: Mapping[str, Any]) -> str | None:
        """A provider's words for what it does not take in this request."""
        wrong = fault(body) or (self.rule(body) if self.rule else None)
        if wrong:
            with self.lock:
                self.refused.append(wrong)
        return wrong

    def reply(
        self, body: dict[str, Any], authorization: str | None
    ) -> "tuple[int, dict[str, Any] | RawAnswer, Asked | None]":
        """Status and JSON for a request body, or an answer below JSON."""
        # A server may refuse to stream; the client then asks without, so that this is no request it could make nothing of.
        if body.get("stream"):
            return 400, _error("this server does not stream", "invalid_request_error"), None
        if wrong := self.refusal(body):
            return 400, _error(wrong, "invalid_request_error"), None
        try:
            asked = understand(body, authorization)
        except (KeyError, IndexError, StopIteration, ValueError) as error:
            with self.lock:
                self.unread.append(json.dumps(body)[:2000])
            return 400, _error(f"cannot read the request: {error}", "invalid_request_error"), None
        keys = (asked.stage, f"{asked.stage} {asked.node}")
        with self.lock:
            for key in keys:
                if self.policy.faults.get(key):
                    status = self.policy.faults[key].pop(0)
                    self.turned_away.append((status, asked))
                    return status, _error(f"scripted fault {status}", "server_error"), None
        for key in keys:
            if key in self.policy.hold:
                self.held.append(asked)
                self.policy.hold[key].wait(120)
        if self.policy.delay:
            time.sleep(self.policy.delay)
        with self.lock:
            self.asked.append(asked)
            number = len(self.asked)
            message = possible(body, self.policy.answer(asked))
        sent = sum(len(text_of(turn)) for turn in asked.messages) // 4 + 1
        made = len(json.dumps(message)) // 4 + 1
        usage: dict[str, Any] = {
            "prompt_tokens": sent,
            "completion_tokens": made,
            "total_tokens": sent + made,
        }
        if self.policy.caches:
            usage["prompt_tokens_details"] = {"cached_tokens": self._cached(asked)}
        self.usages.append((asked, usage))
        return (
            200,
            {
                "id": f"chatcmpl-{number}",
                "object": "chat.completion",
                "created": int(asked.at),
                "model": body.get("model", "x"),
                "choices": [{"index": 0, "message": message, "finish_reason": finish_reason(body, message)}],
                "usage": usage,
            },
            asked,
        )


def completion(text: str) -> dict[str, Any]:
    """A chat completion that says a text."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30}
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "x",
        "choices": [choice],
        "usage": usage,
    }


def answered(seen: Seen, answer: Callable[[str], str]) -> Sent:
    """Answer a request by the text of its last message, as a server that does not stream."""
    if seen.body.get("stream"):
        return Sent(_error("no streaming", "invalid_request_error"), 400)
    return Sent(completion(answer(text_of(seen.body["messages"][-1]))))


def _error(message: str, kind: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "code": None}}


@dataclass(frozen=True, slots=True, kw_only=True)
class RawAnswer:
    """An answer below JSON: its bytes as they go on the wire, and whether the connection breaks.

    ``cut`` sends half of the body and closes; ``reset`` closes before a byte is sent; ``drip`` sends 200 bytes at a time.
    """

    body: bytes = b""
    kind: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False
    reset: bool = False
    drip: float = 0.0


class _Http(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler], owner: OpenAIServer):
        self.owner = owner
        super().__init__(address, handler)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if not self.path.endswith("/chat/completions"):
            self._send(404, _error(f"no such path: {self.path}", "invalid_request_error"))
            return
        status, data, asked = self.server.owner.reply(json.loads(raw), self.headers.get("Authorization"))
        try:
            self._send(status, data)
        except ConnectionError:  # the client was killed while it waited; tests look at this list
            if asked is not None:
                self.server.owner.abandoned.append(asked)

    def do_GET(self) -> None:
        if self.path.endswith("/models"):
            self._send(200, {"object": "list", "data": [{"id": "x", "object": "model"}]})
        else:
            self._send(404, _error(f"no such path: {self.path}", "invalid_request_error"))

    def _send(self, status: int, data: dict[str, Any] | RawAnswer) -> None:
        answer = data if isinstance(data, RawAnswer) else RawAnswer(body=json.dumps(data).encode())
        if answer.reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            self.connection.close()
            return
        self.send_response(status)
        self.send_header("Content-Type", answer.kind)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if answer.cut:
            self.wfile.write(answer.body[: len(answer.body) // 2])
            self.wfile.flush()
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        if answer.drip:
            for start in range(0, len(answer.body), 200):
                self.wfile.write(answer.body[start : start + 200])
                self.wfile.flush()
                time.sleep(answer.drip)
            return
        self.wfile.write(answer.body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: pytest's output is for test results."""
