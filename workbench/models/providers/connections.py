"""Guard connections to model servers: none outlives its event loop, keys follow no redirect, replies are bounded."""

import asyncio
import inspect
import weakref
from collections.abc import AsyncGenerator
from functools import cache, wraps
from typing import Any

import httpx

from workbench.models.providers.reply_bounds import CODINGS, bound_reply
from workbench.models.providers.wire import observe


def guard_replies(client: Any) -> None:
    """Install the refusal of redirects and the bounds of replies in an HTTP client, once."""
    hooks = client.event_hooks["response"]
    if bound_reply not in hooks:
        hooks += [refuse_foreign_redirect, bound_reply]
        client.headers.update(CODINGS)


async def refuse_foreign_redirect(response: Any) -> None:
    """Raise for a redirect to another scheme, host or port, before httpx follows it."""
    if not response.has_redirect_location:
        return
    origin, target = response.url, response.url.join(response.headers["location"])
    if (origin.scheme, origin.host, origin.port) != (target.scheme, target.host, target.port):
        raise httpx.UnsupportedProtocol(
            f"{origin.host} redirects to {target.host}, which gets no request: API keys and prompts go only to the server that you named"
        )


@cache  # once per process: every model that is opened asks for it
def prepare_every_client() -> None:
    """Prepare each client that LiteLLM makes from now on; called once, by `load_litellm`."""
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler
    from litellm.llms.openai.common_utils import BaseOpenAILLM

    # The two places where it makes the clients that `acompletion` uses; a session handed in (`litellm.aclient_session`)
    # would serve the second only, and one event loop only.
    _prepare_made_by(AsyncHTTPHandler, "create_client")
    _prepare_made_by(BaseOpenAILLM, "_get_async_http_client")
    _give_streams_their_loop(AsyncHTTPHandler)


def _give_streams_their_loop(handler: Any) -> None:
    import litellm
    from litellm.llms.custom_httpx.http_handler import get_async_httpx_client

    class OfTheLoop(handler):  # type: ignore[misc]
        def __init__(self) -> None:
            """Open nothing."""

        async def post(self, *args: Any, **options: Any) -> Any:
            return await get_async_httpx_client(llm_provider="streams").post(*args, **options)

        def __del__(self) -> None:
            """Close nothing."""

    litellm.module_level_aclient = OfTheLoop()


def _prepare_made_by(owner: Any, name: str) -> None:
    original = owner.__dict__[name]
    static = isinstance(original, staticmethod)
    make = original.__func__ if static else original

    @wraps(make)
    def prepared(*args: Any, **kwargs: Any) -> Any:
        client = make(*args, **kwargs)
        if client is not None:
            guard_replies(client)
            observe(client)
        return client

    setattr(owner, name, staticmethod(prepared) if static else prepared)


#: Per loop the generator that waits for its end.
_waiting: weakref.WeakKeyDictionary[Any, AsyncGenerator[None, None]] = weakref.WeakKeyDictionary()


async def close_with_the_loop(litellm: Any) -> None:
    """Close, at the running loop's end, what LiteLLM opened on it; a second call does nothing."""
    loop = asyncio.get_running_loop()
    if loop not in _waiting:
        # A loop that ends closes the generators begun on it and lets them await: so whoever runs the loop (asyncio.run, a
        # notebook, a test) need not know of model servers.
        _waiting[loop] = _at_the_end(litellm)
        await anext(_waiting[loop])


async def close_connections(litellm: Any) -> None:
    """Close the clients of the running loop; a later request opens new ones."""
    clients = []
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
