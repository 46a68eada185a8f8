"""Answers of OpenAI-compatible servers brought into the documented form before LiteLLM reads them.

LiteLLM refuses a whole answer, paid for, because its content is a list of parts or its token counts are fractions, and asks
its caller to try again. The HTTP client below, under the OpenAI client, mends just these two.
"""

import json
from typing import Any

import httpx

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
        body = await response.aread()
        better = mended(body)
        if better is body:
            return response
        await response.aclose()
        headers = [
            (name, value)
            for name, value in response.headers.multi_items()
            # httpx has unpacked and joined the body by now.
            if name.lower() not in ("content-length", "content-encoding", "transfer-encoding")
        ]
        return httpx.Response(response.status_code, headers=headers, content=better, request=request)


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
    for choice in answer.get("choices") or ():
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
