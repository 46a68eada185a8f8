"""Answers of OpenAI-compatible servers brought into the documented form before LiteLLM reads them.

LiteLLM refuses a whole answer, paid for, because its content is a list of parts or its token counts are fractions, and asks
its caller to try again. The HTTP client below, under the OpenAI client, mends just these two.
"""

import json
from typing import Any

import httpx

from workbench.models.providers.account_errors import status_of_error_body
from workbench.models.providers.streaming.exchange import send_patiently

_LARGEST = 32 << 20


class MendingClient(httpx.AsyncClient):
    """Streams as the request's patience asks, and mends the JSON of chat answers on their way back."""

    async def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """Return the answer, its body mended where that is needed; called by the OpenAI client."""
        response = await send_patiently(super().send, request, **options)
        kind = response.headers.get("content-type", "")
        if not kind.startswith("application/json") or not request.url.path.endswith("/chat/completions"):
            return response
        body = utf8(await response.aread(), response.charset_encoding)
        if response.status_code == 200 and (error := error_in(body)) is not None:
            await response.aclose()
            return httpx.Response(
                status_of_error_body(error), json={"error": _as_object(error)}, request=request
            )
        better = mended(body)
        if better is response.content:
            return response
        await response.aclose()
        headers = [
            (name, value)
            for name, value in response.headers.multi_items()
            # httpx has unpacked and joined the body by now.
            if name.lower() not in ("content-length", "content-encoding", "transfer-encoding")
        ]
        return httpx.Response(response.status_code, headers=headers, content=better, request=request)


def error_in(body: bytes) -> object | None:
    """Return the error that an answer holds in place of a reply, as its sender put it; None where it holds none."""
    if len(body) > _LARGEST:
        return None
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(answer, dict) or answer.get("choices"):
        return None
    return answer.get("error") or answer.get("detail") or None


def utf8(body: bytes, named: str | None) -> bytes:
    """Return a body in UTF-8: JSON must be, and some servers send what their header names instead."""
    try:
        body.decode()
    except UnicodeDecodeError:
        if named in (None, "utf-8") or body[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return body
        try:
            return body.decode(named).encode()
        except (LookupError, UnicodeDecodeError):
            return body
    return body


def _number_of_choice(choice: object) -> float:
    number = choice.get("index") if isinstance(choice, dict) else None
    return number if isinstance(number, int) else float("inf")


def _as_object(error: object) -> object:
    return error if isinstance(error, dict) else {"message": str(error)}


def mended(body: bytes) -> bytes:
    """Return a chat answer with its content as a text and its token counts as whole numbers; anything else as it is."""
    if len(body) > _LARGEST:
        return body
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return body
    if not isinstance(answer, dict):
        return body
    changed = False
    choices = answer.get("choices")
    if isinstance(choices, list) and len(choices) > 1:
        # The first one by its own number, wherever it stands; LiteLLM numbers them anew.
        answer["choices"] = choices = sorted(choices, key=_number_of_choice)
        changed = True
    for choice in choices or ():
        message = choice.get("message") if isinstance(choice, dict) else None
        if isinstance(message, dict) and isinstance(message.get("content"), list):
            parts = [part for part in message["content"] if isinstance(part, dict)]
            message["content"] = "".join(
                str(part.get("text") or "") for part in parts if part.get("type", "text") == "text"
            )
            changed = True
    usage = answer.get("usage")
    if isinstance(usage, dict):
        whole = _whole(usage)
        changed = changed or whole != usage or any(isinstance(value, float) for value in usage.values())
        answer["usage"] = whole
    return json.dumps(answer).encode() if changed else body


def _whole(usage: dict[str, Any]) -> dict[str, Any]:
    return {
        key: round(value) if isinstance(value, float) else _whole(value) if isinstance(value, dict) else value
        for key, value in usage.items()
    }
