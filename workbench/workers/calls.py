"""Call methods in both directions between a run's owner and a worker, over queues of Dask's scheduler.

Both ends are the same person's machines and speak TLS, so what they send is pickled.
"""

import asyncio
import io
import itertools
import pickle
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Parcel:
    """One message of a lease: a call with its name and arguments, or the answer or error under the same number."""

    lease: str
    kind: Literal["call", "answer", "error"]
    number: int
    content: Any


class _Pickler(pickle.Pickler):
    """Pickles errors by their attributes: the constructors of many of ours take other arguments."""

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, BaseException):
            return _restored, (type(value), value.args, vars(value))
        return NotImplemented


def _restored(
    kind: type[BaseException], arguments: tuple[Any, ...], attributes: dict[str, Any]
) -> BaseException:
    error = kind.__new__(kind)
    error.args = arguments
    vars(error).update(attributes)
    return error


def pack(value: Any) -> bytes:
    """Pickle a value."""
    buffer = io.BytesIO()
    _Pickler(buffer, pickle.HIGHEST_PROTOCOL).dump(value)
    return buffer.getvalue()


def unpack(data: bytes) -> Any:
    """Unpickle a value of ``pack``."""
    return pickle.loads(data)  # noqa: S301  (of the owner's own machines, over TLS)


class CallLine:
    """One end of the connection between owner and worker for one lease."""

    def __init__(
        self, lease: str, send: Callable[[Parcel], Awaitable[None]], serve: object, offers: frozenset[str]
    ) -> None:
        self.lease = lease
        self.heard = time.monotonic()
        self._send, self._serve, self._offers = send, serve, offers
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._answering: set[asyncio.Task[None]] = set()

    async def call(self, name: str, *arguments: Any) -> Any:
        """Call a method of the other end; return its value or raise its error."""
        number = next(self._numbers)
        waiting = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            await self._send(Parcel(self.lease, "call", number, (name, arguments)))
            return await waiting
        finally:
            del self._waiting[number]

    async def tell(self, name: str) -> None:
        """Call a method of the other end without waiting for it."""
        await self._send(Parcel(self.lease, "call", 0, (name, ())))

    def receive(self, parcel: Parcel) -> None:
        """Handle a parcel of the other end."""
        self.heard = time.monotonic()
        if parcel.kind == "call":
            # Each in a task of its own: a request may wait for its provider while a data call of the same leaf goes on.
            task = asyncio.ensure_future(self._answer(parcel))
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)
            return
        waiting = self._waiting.get(parcel.number)
        if waiting is None or waiting.done():
            return
        if parcel.kind == "error":
            waiting.set_exception(parcel.content)
        else:
            waiting.set_result(parcel.content)

    def close(self) -> None:
        """Cancel the calls of both directions that are under way."""
        for work in (*self._answering, *self._waiting.values()):
            work.cancel()

    async def _answer(self, parcel: Parcel) -> None:
        name, arguments = parcel.content
        try:
            if name not in self._offers:
                raise AttributeError(f"no call {name!r}")
            answer = Parcel(self.lease, "answer", parcel.number, await getattr(self._serve, name)(*arguments))
        except Exception as error:
            answer = Parcel(self.lease, "error", parcel.number, error)
        await self._send(answer)
