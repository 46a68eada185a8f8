"""A streamed reply is the plain one, however a server streams it, and silence is told from work."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from workbench.models.base import Message, ModelReply, ModelRequest
from workbench.models.errors import ModelUnavailable
from workbench.models.model_options import RetrySettings
from workbench.models.providers.litellm_client import LiteLLMModel

ASK = ModelRequest(messages=(Message(role="user", content="hello"),), stage="step", cutoff="2018-06-30")
Handler = Callable[[dict[str, Any], asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def server(handler: Handler) -> AsyncIterator[tuple[str, list[dict[str, Any]]]]:
    bodies: list[dict[str, Any]] = []
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            (length,) = (
                int(line.split(b":")[1])
                for line in head.lower().split(b"\r\n")
                if line.startswith(b"content-length")
            )
            body = json.loads(await reader.readexactly(length))
            bodies.append(body)
            await handler(body, writer)
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1", bodies
    finally:
        listening.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def head(kind: str, status: str = "200 OK", **headers: str) -> bytes:
    more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nConnection: close\r\n{more}\r\n".encode()


def events(text: str, *, end: bool = True, usage: bool = True) -> list[bytes]:
    pieces: list[dict[str, Any]] = [
        {"id": "1", "model": "x", "choices": [{"index": 0, "delta": {"content": text[n : n + 3]}}]}
        for n in range(0, len(text), 3)
    ]
    if end:
        pieces.append(
            {"id": "1", "model": "x", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
        )
        if usage:
            pieces.append({"id": "1", "choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 9}})
    lines = [b"data: " + json.dumps(piece).encode() + b"\n\n" for piece in pieces]
    return [*lines, b"data: [DONE]\n\n"] if end else lines


async def complete(url: str, *, silence: float = 5.0, total: float = 20.0) -> ModelReply:
    retries = RetrySettings(attempts=1, timeout=silence, total=total)
    return await LiteLLMModel("openai/x", api_base=url, retries=retries).complete(ASK)


async def test_the_limits_in_the_headers_are_reported() -> None:
    async def stream(body: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        writer.write(head("text/event-stream", x_ratelimit_limit_requests="60") + b"".join(events("yes")))

    seen: list[Any] = []
    async with server(stream) as (url, _):
        model = LiteLLMModel("openai/x", api_base=url, retries=RetrySettings(attempts=1))
        model.report_limits(seen.append)
        await model.complete(ASK)
    assert seen and seen[0]["x-ratelimit-limit-requests"] == "60"


async def test_a_refusal_for_too_many_calls_says_how_long_to_wait() -> None:
    async def busy(body: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        error = {"error": {"message": "slow down", "type": "rate_limit"}}
        writer.write(head("application/json", "429 Too Many", Retry_After="77") + json.dumps(error).encode())

    async with server(busy) as (url, _):
        with pytest.raises(ModelUnavailable) as stopped:
            await complete(url)
    error = stopped.value
    assert (error.retry_after, error.rate_limited, error.billed, error.heard) == (77.0, True, False, True)


async def test_a_server_that_is_not_there_billed_nothing() -> None:
    with pytest.raises(ModelUnavailable) as stopped:
        await complete("http://127.0.0.1:9/v1")
    assert not stopped.value.billed and not stopped.value.heard
