"""What a model server may send is bounded, however it comes and however it is packed; a reply that has come to its end is kept."""

import asyncio
import gzip
import json
import tracemalloc
from typing import Any

import pytest

from tests.fakes.hostile_files import gzip_bomb
from tests.models.test_streaming import ASK, events, head, server
from workbench.models.base import ModelReply
from workbench.models.errors import ModelUnavailable
from workbench.models.model_options import RetrySettings
from workbench.models.providers import reply_bounds, wire
from workbench.models.providers.litellm_client import LiteLLMModel

#: The client of a server of one's own, and the two that LiteLLM makes.
MODELS = ["openai/x", "anthropic/claude-3-5-haiku-20241022", "gemini/gemini-1.5-flash"]
BOUND = 1_000_000
SENT = 30 * BOUND


@pytest.fixture(autouse=True)
def small_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reply_bounds, "MOST_BYTES", BOUND)


async def ask(model: str, url: str) -> ModelReply:
    retries = RetrySettings(attempts=1, timeout=10, total=30)
    asked = LiteLLMModel(model, api_base=url, api_key="sk-none-of-mine", retries=retries)
    return await asked.complete(ASK)


ENDLESS = {
    "a plain reply": head("application/json") + b"{",
    "an error": head("application/json", "500 Oh") + b"{",
    "a refusal": head("application/json", "400 Oh") + b"{",
    "a stream of one line": head("text/event-stream") + b"data: ",
    "the body of a redirect": head("text/html", "307 There", Location="/again"),
}


@pytest.mark.parametrize(
    ("model", "begin"),
    [
        *((MODELS[0], begin) for begin in ENDLESS.values()),
        *((model, ENDLESS["a plain reply"]) for model in MODELS[1:]),
    ],
)
async def test_a_reply_without_end_is_given_up_at_the_bound(model: str, begin: bytes) -> None:
    sent = 0

    async def endless(body: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(begin)
        while sent < SENT:
            writer.write(b" " * 100_000)
            await writer.drain()
            sent += 100_000

    async with server(endless) as (url, _):
        with pytest.raises(Exception) as stopped:
            await ask(model, url)
    # what is under way in the sockets comes on top
    assert sent < SENT / 2, f"{type(stopped.value).__name__}: {stopped.value}"
    assert "sk-none-of-mine" not in str(stopped.value)


@pytest.mark.parametrize(
    ("model", "kind", "coding"),
    [
        *(
            (MODELS[0], "application/json", coding)
            for coding in ("gzip", "gzip, gzip", "deflate, gzip", "zstd", "br")
        ),
        *((model, "text/event-stream", "gzip") for model in MODELS),
    ],
)
async def test_a_packed_reply_takes_no_more_memory_than_the_bound(model: str, kind: str, coding: str) -> None:
    packed = gzip.compress(gzip_bomb(), mtime=0) if coding == "gzip, gzip" else gzip_bomb()

    async def bomb(body: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        writer.write(head(kind, Content_Encoding=coding) + packed)
        await writer.drain()

    async with server(bomb) as (url, _):
        LiteLLMModel(model, api_base=url, api_key="k")  # LiteLLM itself is loaded before the count
        tracemalloc.start()
        try:
            with pytest.raises(ModelUnavailable):
                await ask(model, url)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 60_000_000


@pytest.mark.parametrize("coding", ["gzip", "x-gzip", "identity", ""])
async def test_an_honest_reply_comes_whole_in_the_coding_that_was_asked_for(coding: str) -> None:
    async def honest(body: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        body_sent = b"".join(events("the whole answer"))
        packed = gzip.compress(body_sent) + b"more" if "gzip" in coding else body_sent
        more = {"Content_Encoding": coding} if coding else {}
        writer.write(head("text/event-stream", **more) + packed)

    async with server(honest) as (url, _):
        assert (await ask("openai/x", url)).text == "the whole answer"


async def test_a_gzip_that_is_cut_short_is_no_shorter_reply() -> None:
    whole = gzip.compress(
        json.dumps(
            {"choices": [{"index": 0, "message": {"role": "assistant", "content": "x" * 999}}]}
        ).encode()
    )

    async def cut(body: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        writer.write(head("application/json", Content_Encoding="gzip") + whole[:-9])

    async with server(cut) as (url, _):
        with pytest.raises(ModelUnavailable):
            await ask("openai/x", url)


@pytest.mark.parametrize("after", ["drips", "floods", "breaks"])
async def test_a_reply_that_was_whole_is_kept_whatever_its_server_does_after(
    after: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is paid for: asked again, it would be paid for twice."""
    monkeypatch.setattr(wire, "AFTER_THE_END", 0.5)

    async def goes_on(body: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        chunks = b"".join(events("paid for")[:-1])
        begin = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        writer.write(begin + b"%x\r\n%b\r\n" % (len(chunks), chunks))
        await writer.drain()
        while after != "breaks":
            piece = b": still here\n" * (10_000 if after == "floods" else 1)
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await writer.drain()
            await asyncio.sleep(0 if after == "floods" else 0.05)

    async with server(goes_on) as (url, bodies):
        retries = RetrySettings(attempts=1, timeout=2, total=4)
        model = LiteLLMModel("openai/x", api_base=url, retries=retries)
        reply = await model.complete(ASK)
    assert (reply.text, reply.usage.output_tokens, len(bodies)) == ("paid for", 9, 1)
