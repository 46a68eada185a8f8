"""What holds for every HTTP client that LiteLLM makes: no key follows a redirect, and our requests are streamed and bounded.

LiteLLM makes its clients itself, one per provider, event loop and timeout, and has no setting for either.
"""

from functools import cache, wraps
from typing import Any

from workbench.models.redirects import refuse_foreign_redirects
from workbench.models.streaming.exchange import stream_through


@cache  # once per process: every model that is opened asks for it
def prepare_every_client() -> None:
    """Have each client prepared that LiteLLM makes from now on; `load_litellm` calls this once."""
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler
    from litellm.llms.openai.common_utils import BaseOpenAILLM

    # The two places where it makes the clients that `acompletion` uses; a session handed in (`litellm.aclient_session`)
    # would serve the second only, and one event loop only.
    _prepare_made_by(AsyncHTTPHandler, "create_client")
    _prepare_made_by(BaseOpenAILLM, "_get_async_http_client")


def _prepare_made_by(owner: Any, name: str) -> None:
    original = owner.__dict__[name]
    static = isinstance(original, staticmethod)
    make = original.__func__ if static else original

    @wraps(make)
    def prepared(*args: Any, **kwargs: Any) -> Any:
        client = make(*args, **kwargs)
        if client is not None:
            refuse_foreign_redirects(client)
            stream_through(client)
        return client

    setattr(owner, name, staticmethod(prepared) if static else prepared)
