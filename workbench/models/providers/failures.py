"""What an exception of LiteLLM says about the next try: how long to wait, whether the request may have been billed."""

from collections.abc import Mapping
from typing import Any

import httpx

from proxies.fetch.pacing import retry_after
from workbench.models.errors import ModelUnavailable


def unavailable(message: str, problem: Exception) -> ModelUnavailable:
    """Return the error for a transient failure, with what a run's circuit breaker and budget need to know of it."""
    status = getattr(problem, "status_code", None)
    name = type(problem).__name__
    # LiteLLM gives every exception a status and a response of its own making; only headers prove that a server spoke.
    heard = bool(headers_of(problem)) or name in (
        "RateLimitError",
        "BadGatewayError",
        "ServiceUnavailableError",
    )
    timed_out = name == "Timeout" or status == 408
    # A connection that broke may have carried the request; one that was never made has not.
    broke = name in ("APIConnectionError", "InternalServerError", "APIError") and not heard
    return ModelUnavailable(
        message,
        retry_after=asked_pause(problem),
        rate_limited=status == 429 or name == "RateLimitError",
        billed=timed_out or (broke and not _never_connected(problem)),
        heard=heard or timed_out,
    )


def _never_connected(problem: Exception) -> bool:
    """Whether the request never left: the error behind LiteLLM's says so, whose own words are the same for all."""
    cause: BaseException | None = problem
    seen: set[int] = set()
    while cause is not None and id(cause) not in seen:
        if isinstance(cause, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout):
            return True
        seen.add(id(cause))
        cause = cause.__cause__ or cause.__context__
    return False


def asked_pause(problem: Exception) -> float | None:
    """Return the seconds that the provider asked us to wait, None if it did not."""
    return retry_after(headers_of(problem))


def headers_of(holder: Any) -> Mapping[str, str]:
    """Return the headers behind an exception or a response of LiteLLM, names in lower case; empty if it kept none."""
    kept_headers: Any = getattr(holder, "litellm_response_headers", None)
    if not kept_headers:
        kept_headers = getattr(getattr(holder, "response", None), "headers", None)
    if not kept_headers:
        hidden = getattr(holder, "_hidden_params", None)
        kept_headers = hidden.get("additional_headers") if isinstance(hidden, dict) else None
    # LiteLLM puts its own prefix before a provider's headers.
    return {
        str(name).lower().removeprefix("llm_provider-"): str(value)
        for name, value in dict(kept_headers or {}).items()
    }
