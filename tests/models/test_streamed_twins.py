"""For each family of providers: the reply read from a stream is the plain one, and a bad line is told from slow work."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from tests.fakes.loopback import Recorded
from tests.fakes.provider_shapes import FAMILIES, KEY, SCHEMA, request
from tests.fakes.streamed_shapes import SHAPES, Said
from tests.models.test_streaming import head, server
from workbench.models.base import ModelReply, Usage
from workbench.models.costs import ESTIMATED, Price, with_sound_usage
from workbench.models.errors import ModelUnavailable
from workbench.models.model_options import RetrySettings
from workbench.models.providers.litellm_client import LiteLLMModel

#: All but Ollama, which is asked plainly where tools are on offer: LiteLLM makes one call of several that it recorded.
STREAMED = [name for name in FAMILIES if name != "ollama"]
REPLIES = {
    "text": Said("The last value is above — ja 🎯"),
    "thoughts": Said("hi", thoughts="First I look.\nThen I think."),
    "call": Said(calls=(("look_up", {"q": "y", "n": [1, {"ü": None}]}),)),
    "calls": Said("I look twice.", calls=(("look_up", {"q": "a"}), ("look_up", {"q": "b"}))),
    "cut": Said("The last va", cut=True),
    "schema": Said('{"p_true": 0.62}'),
}


def client(name: str, url: str, **options: float) -> LiteLLMModel:
    family = FAMILIES[name]
    settings = {"timeout": 20, "total": 30, **options}
    retries = RetrySettings(attempts=1, **settings)  # type: ignore[arg-type]
    return LiteLLMModel(family.model, api_base=url + family.base, api_key=KEY, retries=retries)


def asks_to_stream(path: str, body: dict[str, Any], _headers: dict[str, str]) -> bool:
    return bool(body.get("stream")) or ":streamGenerateContent" in path


def comparable(reply: ModelReply, name: str) -> ModelReply:
    """The reply without what differs from call to call: its time, and the ids that LiteLLM draws where a family has none."""
    calls = reply.tool_calls
    if name in ("gemini", "ollama"):
        calls = tuple(replace(call, id="") for call in calls)
    return replace(reply, seconds=0.0, tool_calls=calls)


@pytest.mark.parametrize("name", STREAMED)
async def test_the_reply_read_from_a_stream_is_the_plain_one(name: str, recorded: Recorded) -> None:
    shape, model = SHAPES[name], client(name, recorded.url)
    for said in REPLIES.values():
        whole = shape.whole(said)
        ask = request(reply_schema=SCHEMA) if said is REPLIES["schema"] else request()
        recorded.answers = [
            (200, whole, {}),
            (200, b"".join(shape.wire(whole, [3, 1, 5])), {"Content-Type": shape.kind}),
        ]
        plain, streamed = await model.complete(ask), await model.complete(ask)
        assert comparable(streamed, name) == comparable(plain, name)
        assert (plain.text, len(plain.tool_calls)) == (said.text, len(said.calls))
        assert (plain.usage.input_tokens, plain.usage.output_tokens) == (1000, 5)
        assert (plain.finish == "truncated") == said.cut
    assert all(asks_to_stream(*asked) for asked in recorded.requests)


@pytest.mark.parametrize("name", STREAMED)
async def test_a_provider_that_refuses_stream_is_asked_without_from_then_on(
    name: str, recorded: Recorded
) -> None:
    refusal = {"error": {"message": "your organization must be verified to stream", "param": "stream"}}
    whole = SHAPES[name].whole(Said("whole"))
    recorded.answers = [(400, refusal, {}), (200, whole, {}), (200, whole, {})]
    model = client(name, recorded.url)
    assert [(await model.complete(request())).text for _ in range(2)] == ["whole", "whole"]
    assert [asks_to_stream(*asked) for asked in recorded.requests] == [True, False, False]


async def test_ollama_is_asked_plainly_where_tools_are_on_offer(recorded: Recorded) -> None:
    shape, model = SHAPES["ollama"], client("ollama", recorded.url)
    recorded.answers = [
        (200, shape.whole(REPLIES["calls"]), {}),
        (200, b"".join(shape.wire(shape.whole(Said("hi")), [3])), {"Content-Type": shape.kind}),
    ]
    calls = await model.complete(request())
    text = await model.complete(replace(request(), tools=()))
    assert (len(calls.tool_calls), text.text) == (2, "hi")
    assert [asks_to_stream(*asked) for asked in recorded.requests] == [False, True]


async def test_counts_that_are_refused_cost_no_streaming_and_are_estimated(recorded: Recorded) -> None:
    refusal = {"message": "Extra inputs are not permitted", "loc": ["body", "stream_options"]}
    shape = SHAPES["vllm"]
    whole = shape.whole(Said("counted by nobody"))
    pieces = shape.wire(whole, [4])
    uncounted = b"".join(pieces[:-2] + pieces[-1:])
    sse = {"Content-Type": shape.kind}
    recorded.answers = [(422, refusal, {}), (200, uncounted, sse), (200, uncounted, sse)]
    model = client("vllm", recorded.url)
    replies = [await model.complete(request()) for _ in range(2)]
    assert [reply.text for reply in replies] == ["counted by nobody"] * 2
    bodies = recorded.bodies
    assert [body.get("stream") for body in bodies] == [True, True, True]
    assert ["stream_options" in body for body in bodies] == [True, False, False]
    assert replies[0].usage == Usage()
    charged = with_sound_usage(replies[0], request(), Price(1e-6, 1e-6))
    assert ESTIMATED in charged.notes and charged.usage.input_tokens and charged.cost_usd


#: A family for each wire.
WIRES = ("anthropic", "gemini", "openai-responses", "mistral", "ollama")
SILENT = Said("a reply of some length, of which the end never comes")


@pytest.mark.parametrize("name", WIRES)
async def test_silence_in_the_middle_is_transient_and_billed_once(name: str) -> None:
    shape = SHAPES[name]
    first, second, *_ = shape.wire(shape.whole(SILENT), [4])

    async def silent(body: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        writer.write(head(shape.kind) + first + second)
        await writer.drain()
        await asyncio.sleep(60)

    # Ollama, asked plainly, has no pieces to be silent between: there the total ends it.
    limits = {"total": 2} if name == "ollama" else {}
    async with server(silent) as (url, bodies):
        with pytest.raises(ModelUnavailable) as stopped:
            await client(name, url.removesuffix("/v1"), timeout=0.3, **limits).complete(request())
    assert stopped.value.billed and stopped.value.heard and len(bodies) == 1


@pytest.mark.parametrize("name", WIRES)
async def test_a_reply_that_breaks_off_is_transient_and_not_asked_again_behind_our_back(name: str) -> None:
    shape = SHAPES[name]
    pieces = shape.wire(shape.whole(SILENT), [4])

    async def half(body: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        writer.write(head(shape.kind) + b"".join(pieces[: len(pieces) // 2]))

    async with server(half) as (url, bodies):
        with pytest.raises(ModelUnavailable) as stopped:
            await client(name, url.removesuffix("/v1")).complete(request())
    assert stopped.value.billed and len(bodies) == 1


@pytest.mark.parametrize("kind", ["stream", "plain"])
@pytest.mark.parametrize("name", WIRES)
async def test_a_drip_of_bytes_ends_at_the_total(name: str, kind: str) -> None:
    shape = SHAPES[name]

    async def drip(body: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        writer.write(head(shape.kind if kind == "stream" else "application/json"))
        while True:
            writer.write(b": still here\n\n" if kind == "stream" else b" ")
            await writer.drain()
            await asyncio.sleep(0.02)

    async with server(drip) as (url, bodies):
        with pytest.raises(ModelUnavailable) as stopped:
            await client(name, url.removesuffix("/v1"), timeout=5, total=0.4).complete(request())
    assert stopped.value.billed and len(bodies) == 1


def line(*pieces: tuple[float, bytes]) -> Any:
    """A server that sends pieces of a stream, each after a pause."""

    async def sends(body: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        writer.write(head("text/event-stream"))
        for pause, piece in pieces:
            await writer.drain()
            await asyncio.sleep(pause)
            writer.write(piece)

    return server(sends)


async def test_a_model_that_reasons_may_be_silent_before_its_first_word_and_not_after(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def asked(name: str, *pieces: tuple[float, bytes]) -> ModelReply:
        async with line(*pieces) as (url, _):
            monkeypatch.setenv("OPENAI_API_BASE", url)
            monkeypatch.setenv("OPENAI_API_KEY", KEY)
            retries = RetrySettings(attempts=1, timeout=0.2, total=5)
            return await LiteLLMModel(name, retries=retries).complete(request())

    start, word, *rest = SHAPES["openai-chat"].wire(chat_says("hi"), [1])
    thinks = [(0, start), (0.6, word + b"".join(rest))]
    assert (await asked("openai/gpt-5-mini", *thinks)).text == "hi"
    with pytest.raises(ModelUnavailable, match="silent"):
        await asked("openai/gpt-4o", *thinks)
    with pytest.raises(ModelUnavailable, match="silent"):
        await asked("openai/gpt-5-mini", (0, start + word), (0.6, b"".join(rest)))


def chat_says(text: str) -> dict[str, Any]:
    return SHAPES["openai-chat"].whole(Said(text))
