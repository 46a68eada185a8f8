"""Connections to model servers end with the event loop that opened them.

LiteLLM keeps its clients for ten minutes in a table of the process and never closes those of a loop that is gone: their
sockets stayed open until garbage collection found them, and the system's limit of open files counts them all.
"""

import asyncio
import inspect
import weakref
from collections.abc import AsyncGenerator
from typing import Any

#: Per loop the generator that waits for its end, and the clients that we opened ourselves.
_waiting: weakref.WeakKeyDictionary[Any, AsyncGenerator[None, None]] = weakref.WeakKeyDictionary()
_ours: weakref.WeakKeyDictionary[Any, list[Any]] = weakref.WeakKeyDictionary()


async def close_with_the_loop(litellm: Any) -> None:
    """Have the running loop close at its end what LiteLLM and ``note_client`` opened on it; a second call does nothing."""
    loop = asyncio.get_running_loop()
    if loop not in _waiting:
        # A loop that ends closes the generators begun on it and lets them await: so whoever runs the loop (asyncio.run, a
        # notebook, a test) need not know of model servers.
        _waiting[loop] = _at_the_end(litellm)
        await anext(_waiting[loop])


def note_client(client: Any) -> None:
    """Have a client (with an ``async`` method ``close``) closed together with LiteLLM's of the running loop."""
    _ours.setdefault(asyncio.get_running_loop(), []).append(client)


async def close_connections(litellm: Any) -> None:
    """Close the clients of the running loop; a later request opens a connection anew."""
    clients = _ours.pop(asyncio.get_running_loop(), [])
    table = litellm.in_memory_llm_clients_cache
    # LiteLLM ends a client's key with the loop's identity.
    mine = f"-{id(asyncio.get_running_loop())}"
    for key in [key for key in table.cache_dict if key.endswith(mine)]:
        clients.append(table.cache_dict[key])
        table.delete_cache(key)
    for client in clients:
        close = getattr(client, "close", None)
        if inspect.iscoroutinefunction(close):
            await close()


async def _at_the_end(litellm: Any) -> AsyncGenerator[None, None]:
    try:
        yield
    finally:
        await close_connections(litellm)
