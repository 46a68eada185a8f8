"""What runs in the process for large answers: `Handling`, asked over a socket. The other end is `proxies.fetch.helper`.

A request is a pickled tuple whose last item is the count of byte messages that follow it; a reply is a JSON object
with ``kind`` and ``parts``, the count of byte messages that follow. Requests come from our own broker only; what
vendors sent is in the byte messages, and is read as JSON.
"""

import contextlib
import gc
import pickle
from collections import OrderedDict
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import Any

import orjson

from proxies.asof.policies import AskAgain
from proxies.errors import ProxyError
from proxies.fetch.columns import Columns, to_columns
from proxies.fetch.handling import Done, Handling, Job, More

_MOST_JOBS = 32
_MOST_KEPT = 32_000_000  # bytes of JSON; as values it takes up to ten times as much
_IDLE_SECONDS = 10.0

Reply = tuple[dict[str, Any], Sequence[bytes | memoryview]]


class Desk:
    """The jobs under way, and the answer that was handled last."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[int, tuple[Handling, int]] = OrderedDict()
        self._last: _Last | None = None
        self._old: list[Any] = []

    def after(self) -> None:
        """What need not hold up the reply: let go of old values, make the columns that will be asked for next."""
        self._old.clear()
        if self._last is not None and self._last.ahead:
            with contextlib.suppress(Exception):  # it comes again, and is told, when they are asked for
                self._last.columns()

    def rest(self) -> None:
        """Give memory back."""
        self._last = None
        self._old.clear()
        gc.collect()

    def step(self, number: int, seen: int, job: Job | None, ahead: bool, bodies: Sequence[bytes]) -> Reply:
        """The reply to new pages of a job; ``again`` asks for the job with all of its pages."""
        handling, taken = self._jobs.pop(number, (None, 0))
        if job is not None:
            handling, taken = Handling(job), 0
        if handling is None or taken != seen:
            return {"kind": "again"}, ()
        told = handling.step(bodies)
        if isinstance(told, More):
            self._jobs[number] = handling, seen + len(bodies)
            while len(self._jobs) > _MOST_JOBS:
                self._jobs.popitem(last=False)
            return {"kind": "more", "params": dict(told.params)}, ()
        self._old += [handling, self._last]
        self._last = _Last(told, ahead) if len(told.body) < _MOST_KEPT else None
        head = {
            "kind": "done",
            "hash": told.content_hash,
            "dropped": told.dropped,
            "undated": told.undated,
            "notes": told.notes,
        }
        return head, (told.body,)

    def columns(self, content_hash: str, bodies: Sequence[bytes]) -> Reply:
        """The columns of a body, or of the last answer."""
        if bodies:
            made = to_columns(orjson.loads(bodies[0]))
        elif self._last is not None and self._last.content_hash == content_hash:
            made = self._last.columns()
            self._old.append(self._last.give_up())
        else:
            return {"kind": "again"}, ()
        return {"kind": "columns"}, () if made is None else (made.told, *made.body)


class _Last:
    """The answer that was handled last, and its columns once they are made."""

    def __init__(self, told: Done, ahead: bool) -> None:
        self.content_hash, self.ahead = told.content_hash, ahead
        self._data = told.data
        self._made: tuple[Columns | None] | None = None

    def columns(self) -> Columns | None:
        if self._made is None:
            self._made = (to_columns(self._data),)
        return self._made[0]

    def give_up(self) -> Any:
        """The values, which the columns have made needless."""
        data, self._data = self._data, None
        return data


def serve(descriptor: int) -> None:
    """Answer until the other end is closed."""
    link = Connection(descriptor)
    desk = Desk()
    gc.freeze()
    gc.disable()  # JSON values have no cycles; what errors leave behind goes in the pauses
    link.send_bytes(b"up")
    try:
        while True:
            if not link.poll(_IDLE_SECONDS):
                desk.rest()
                continue
            _exchange(link, desk)
            desk.after()
    except (EOFError, OSError):
        return


def _exchange(link: Connection, desk: Desk) -> None:
    name, *fields, count = pickle.loads(link.recv_bytes())
    bodies = [link.recv_bytes() for _ in range(count)]
    head, parts = _answer(desk, name, fields, bodies)
    link.send_bytes(orjson.dumps({**head, "parts": len(parts)}))
    for part in parts:
        link.send_bytes(part)


def _answer(desk: Desk, name: str, fields: list[Any], bodies: list[bytes]) -> Reply:
    try:
        work: Callable[..., Reply] = desk.step if name == "step" else desk.columns
        return work(*fields, bodies)
    except AskAgain as again:
        return {"kind": "error", "error": "AskAgain", "params": again.params}, ()
    except ProxyError as error:
        return {"kind": "error", "error": type(error).__name__, "reason": str(error)}, ()
    except Exception as error:  # told as an error of this answer; the process goes on
        reason = f"a large answer could not be read ({type(error).__name__}): ask for less"
        return {"kind": "error", "error": "SourceUnavailable", "reason": reason}, ()
