"""Interpret a failed request: its status, its words, how long to wait, whether it may have been billed.

The wire is asked first. LiteLLM's exceptions have statuses and responses of its own making.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

import httpx

from proxies.fetch.pacing import reset_seconds, retry_after
from workbench.models.errors import ModelUnavailable
from workbench.models.providers.account_errors import status_of_error_body
from workbench.models.providers.wire import Exchange

_DELAY = re.compile(
    r"retryDelay\W+([\d.]+s)|(?:retry|try again) in (?:about )?((?:[\d.]+(?:ms|h|m|s))+)", re.IGNORECASE
)
_BAD_REQUEST = ("invalid_request_error", "invalid_argument", "")
_TOOL_USE_FAILED = re.compile(r"tool_use_failed|did not call a tool", re.IGNORECASE)


def status_of(problem: Exception, exchange: Exchange) -> int | None:
    """Return the status of a failure: of the response, of an error in a reply's place, else LiteLLM's."""
    if exchange.status is not None and exchange.status >= 400:
        return exchange.status
    if exchange.error is not None:
        return status_of_error_body(exchange.error)
    status = getattr(problem, "status_code", None)
    if exchange.status == 200 and status != 408:
        return 502  # what LiteLLM could not read was no refusal, whatever it makes of that
    return status if isinstance(status, int) else None


def body_of(problem: Exception, exchange: Exchange) -> str:
    """Return the provider's whole error as text; LiteLLM's words if the provider sent none."""
    if not exchange.error:
        return re.sub(r"^(litellm\.\w+: )+", "", str(problem))
    return (
        exchange.error if isinstance(exchange.error, str) else json.dumps(exchange.error, ensure_ascii=False)
    )


def words_of(body: str, error: object) -> str:
    """Extract the sentence of an error, with its code and the field that it names; else return the whole body.

    >>> words_of("", {"message": "Bad value", "type": "invalid_request_error", "param": "temperature", "code": None})
    'Bad value (temperature)'
    >>> words_of("", {"object": "error", "message": {"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]}})
    'Extra inputs are not permitted (body, seed)'
    """
    # Mistral puts what is wrong into the message, as a list of complaints; the first one counts.
    fields = error if isinstance(error, dict) else {}
    match fields.get("message"):
        case {"detail": [dict(first), *_]}:
            fields = first
    sentence = fields.get("message") or fields.get("msg")
    if not isinstance(sentence, str) or not sentence or "metadata" in fields:
        return body
    # The types of bad requests say nothing, in words that count below as a refusal of some part.
    named = [fields.get(name) for name in ("type", "status", "code", "param")]
    named += fields["loc"] if isinstance(fields.get("loc"), list) else []
    hints = [hint for hint in named if isinstance(hint, str) and hint.lower() not in _BAD_REQUEST]
    return f"{sentence} ({', '.join(dict.fromkeys(hints))})" if hints else sentence


def failed_generation(body: str) -> str | None:
    """Return a model's text that its provider could not parse as a tool call; None for any other failure.

    >>> failed_generation('{"error": {"code": "tool_use_failed", "failed_generation": "<function=look>"}}')
    '<function=look>'
    """
    if not _TOOL_USE_FAILED.search(body):
        return None
    return _field(body, "failed_generation") or ""


def _field(value: Any, name: str) -> str | None:
    """Find a field anywhere in an error; OpenRouter passes on another provider's error as text."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    if not isinstance(value, dict):
        return None
    found = (_field(inner, name) for inner in value.values())
    field = value.get(name)
    return field if isinstance(field, str) else next(filter(None, found), None)


def asked_pause(body: str, headers: Mapping[str, str]) -> float | None:
    """Parse the seconds that the provider asked to wait, from headers, fields or words; None if it did not.

    >>> asked_pause("Quota exceeded. Please retry in 20.04s.", {}), asked_pause('"retryDelay": "7s"', {})
    (20.04, 7.0)
    """
    if (seconds := retry_after(headers)) is not None:
        return seconds
    match = _DELAY.search(body)
    return reset_seconds((match[1] or match[2]).rstrip(".")) if match else None


def unavailable(message: str, problem: Exception, exchange: Exchange, body: str) -> ModelUnavailable:
    """Build the error for a transient failure, with the facts for a run's circuit breaker and budget."""
    status = status_of(problem, exchange)
    timed_out = status == 408
    answered = exchange.error is not None or (exchange.status or 0) >= 400
    return ModelUnavailable(
        message,
        retry_after=asked_pause(body, exchange.headers),
        rate_limited=status == 429,
        # A line that broke, or was silent, may have carried the request; one that was never made has not.
        billed=not answered and not _never_connected(problem),
        heard=exchange.status is not None or timed_out,
    )


def _never_connected(problem: Exception) -> bool:
    """Whether the request was never sent, by the error behind LiteLLM's, whose own words are the same for all."""
    cause: BaseException | None = problem
    visited: set[int] = set()
    while cause is not None and id(cause) not in visited:
        if isinstance(cause, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout):
            return True
        visited.add(id(cause))
        cause = cause.__cause__ or cause.__context__
    return False
