"""No coroutine of a provider is left lying when a request is cancelled.

``litellm.acompletion`` prepares a request in a thread and gets back a coroutine, which it then awaits. A cancellation between the
two (a run that stops) would drop that coroutine, and Python would warn on stderr that it was never awaited.
"""

import asyncio
import inspect
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, wraps
from typing import Any


class _Prepared:
    """The coroutines that one request has prepared; closed at its end unless they were begun."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # they come from a thread
        self._coroutines: list[Coroutine[Any, Any, Any]] = []
        self._over = False

    def add(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        """Note a coroutine, or close it at once if the request has ended meanwhile."""
        with self._lock:
            if self._over:
                coroutine.close()
            else:
                self._coroutines.append(coroutine)

    def end(self) -> None:
        """Close what was not begun; called when nobody waits for the request any more."""
        with self._lock:
            self._over = True
            for coroutine in self._coroutines:
                # One that was begun has been ended by the cancellation itself.
                if inspect.getcoroutinestate(coroutine) == inspect.CORO_CREATED:
                    coroutine.close()


_PREPARED: ContextVar[_Prepared | None] = ContextVar("_PREPARED", default=None)


@contextmanager
def nothing_left_behind() -> Iterator[None]:
    """Close, at the end of the block, each coroutine that LiteLLM prepared in it and did not come to await."""
    prepared = _Prepared()
    token = _PREPARED.set(prepared)
    try:
        yield
    finally:
        _PREPARED.reset(token)
        prepared.end()


@cache  # once per process, as the refusal of redirects
def note_prepared_requests() -> None:
    """Have LiteLLM's preparation say what it prepared; ``load_litellm`` calls this once."""
    import litellm.main

    prepare = litellm.main.completion

    @wraps(prepare)
    def noting(*args: Any, **kwargs: Any) -> Any:
        result = prepare(*args, **kwargs)
        # The thread works in a copy of the request's context, so it sees the request's own record.
        record = _PREPARED.get()
        if record is not None and asyncio.iscoroutine(result):
            record.add(result)
        return result

    litellm.main.completion = noting
