"""No key goes where a server redirects to: LiteLLM's connections answer a redirect to another origin with an error.

httpx follows redirects and drops ``Authorization`` on the way to another origin, and nothing else: Anthropic's ``x-api-key``,
Gemini's ``x-goog-api-key`` and Azure's ``api-key`` went along (seen on loopback), and the prompt with them.
"""

from functools import cache, wraps
from typing import Any


@cache  # once per process: every model that is opened asks for it
def refuse_foreign_redirects() -> None:
    """Put the refusal into every connection that LiteLLM opens from now on; `load_litellm` calls this once."""
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler
    from litellm.llms.openai.common_utils import BaseOpenAILLM

    # The two places where it makes the clients that `acompletion` uses; a session handed in (`litellm.aclient_session`)
    # would serve the second only, and one event loop only.
    _guard_factory(AsyncHTTPHandler, "create_client")
    _guard_factory(BaseOpenAILLM, "_get_async_http_client")


def _guard_factory(owner: Any, name: str) -> None:
    original = owner.__dict__[name]
    static = isinstance(original, staticmethod)
    make = original.__func__ if static else original

    @wraps(make)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        client = make(*args, **kwargs)
        if client is not None and refuse_foreign_redirect not in client.event_hooks["response"]:
            client.event_hooks["response"].append(refuse_foreign_redirect)
        return client

    setattr(owner, name, staticmethod(guarded) if static else guarded)


async def refuse_foreign_redirect(response: Any) -> None:
    """Raise for a redirect to another scheme, host or port; httpx calls this with each answer before it follows it."""
    import httpx

    if not response.has_redirect_location:
        return
    origin, target = response.url, response.url.join(response.headers["location"])
    if (origin.scheme, origin.host, origin.port) != (target.scheme, target.host, target.port):
        raise httpx.UnsupportedProtocol(
            f"{origin.host} redirects to {target.host}, which is not asked: keys and prompts stay with the server that was named"
        )
