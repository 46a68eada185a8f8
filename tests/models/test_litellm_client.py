"""The LiteLLM client against a small OpenAI-compatible server on loopback: no key, no outside network."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.fakes.loopback import Recorded, serving_json
from workbench.models.base import Message, ModelRequest
from workbench.models.errors import MissingProviderKey, ModelRefused, ModelUnavailable, UnknownModel
from workbench.models.model_options import RetrySettings
from workbench.models.providers.litellm_client import MALFORMED, LiteLLMModel, redact
from workbench.models.registry import open_model

ASK = ModelRequest(messages=(Message(role="user", content="hello"),), stage="step", cutoff="2018-06-30")


class Provider(Recorded):
    """A small OpenAI-compatible server."""

    @property
    def asked(self) -> list[tuple[dict[str, Any], str | None]]:
        return [(body, headers.get("authorization")) for _, body, headers in self.requests]

    def says(
        self, text: str | None = "hi", *, usage: bool = True, finish: str = "stop", **message: Any
    ) -> None:
        body: dict[str, Any] = {
            "id": "1",
            "object": "chat.completion",
            "created": 1,
            "model": "x",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": finish,
                    "message": {"role": "assistant", "content": text, **message},
                }
            ],
        }
        if usage:
            body["usage"] = {
                "prompt_tokens": 11,
                "completion_tokens": 5,
                "total_tokens": 16,
                "prompt_tokens_details": {"cached_tokens": 4},
            }
        self.answers.append((200, body, {}))

    def fails(
        self, status: int, text: str = "no", headers: dict[str, str] | None = None, code: str = "c"
    ) -> None:
        self.answers.append((status, {"error": {"message": text, "type": "t", "code": code}}, headers or {}))


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    fake = Provider()
    with serving_json(fake.answer) as address:
        fake.url = f"{address}/v1"
        yield fake


class Waits:
    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def client(provider: Provider, name: str = "openai/x", **options: Any) -> tuple[LiteLLMModel, Waits]:
    waits = Waits()
    retries = options.pop("retries", RetrySettings(attempts=3, first_wait=1.0, longest_wait=5.0, timeout=20))
    model = LiteLLMModel(
        name, api_base=provider.url, retries=retries, sleep=waits, jitter=lambda: 1.0, **options
    )
    return model, waits


async def test_a_key_that_is_set_is_used_and_the_placeholder_is_not(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-from-environment")
    provider.says()
    provider.says()
    await client(provider)[0].complete(ASK)
    await client(provider, api_key="sk-given")[0].complete(ASK)
    assert [authorization for _, authorization in provider.asked] == [
        "Bearer sk-from-environment",
        "Bearer sk-given",
    ]


@pytest.mark.parametrize("arguments", ["{not json", "[1]", ""])
async def test_tool_arguments_that_are_no_object_are_handed_on_as_such(
    provider: Provider, arguments: str
) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "retrieve_api_doc", "arguments": arguments}}
    provider.says(None, finish="tool_calls", tool_calls=[call])
    (found,) = (await client(provider)[0].complete(ASK)).tool_calls
    assert found.arguments == ({MALFORMED: arguments} if arguments else {})


@pytest.mark.parametrize("status", [429, 500, 502, 503])
async def test_transient_failures_are_tried_again_by_us_alone(provider: Provider, status: int) -> None:
    provider.fails(status)
    provider.fails(status)
    provider.says("at last")
    model, waits = client(provider)
    reply = await model.complete(ASK)
    assert reply.text == "at last"
    assert len(provider.asked) == 3
    assert waits.seconds == [1.0, 2.0]
    assert "answered at attempt 3" in reply.notes


async def test_retries_end(provider: Provider) -> None:
    for _ in range(3):
        provider.fails(503, "overloaded")
    model, waits = client(provider)
    with pytest.raises(ModelUnavailable, match=r"3 attempts.*overloaded"):
        await model.complete(ASK)
    assert len(provider.asked) == 3
    assert len(waits.seconds) == 2


@pytest.mark.parametrize("body", [{"choices": []}, {"id": "1", "choices": None}, {"hello": 1}, [], "text"])
async def test_an_answer_without_a_reply_is_tried_again_and_then_given_up(
    provider: Provider, body: Any
) -> None:
    for _ in range(3):
        provider.answers.append((200, body, {}))
    with pytest.raises(ModelUnavailable, match="3 attempts"):
        await client(provider)[0].complete(ASK)


@pytest.mark.parametrize(
    ("status", "words"), [(400, "refuses"), (401, "refuses the key"), (404, "knows no model")]
)
async def test_final_failures_are_not_tried_again_and_show_no_key(
    provider: Provider, status: int, words: str
) -> None:
    provider.fails(status, "bad: sk-verysecret123 is wrong")
    model, waits = client(provider, api_key="sk-verysecret123")
    with pytest.raises(ModelRefused, match=words) as refused:
        await model.complete(ASK)
    assert "verysecret" not in str(refused.value)
    assert "[key]" in str(refused.value)
    assert "\n" not in str(refused.value)
    assert refused.value.__cause__ is None
    assert (len(provider.asked), waits.seconds) == (1, [])
    assert "verysecret" not in repr(model)


async def test_a_missing_key_is_the_callers_to_set(provider: Provider) -> None:
    model = LiteLLMModel("openai/gpt-4o", retries=RetrySettings(attempts=1))
    with pytest.raises(MissingProviderKey, match="OPENAI_API_KEY"):
        await model.complete(ASK)


@pytest.mark.parametrize("name", ["gpt-4o", "offline/other", "/x", "x/", "", "nosuchprovider/x"])
def test_unknown_models_are_one_line_that_names_what_works(name: str) -> None:
    with pytest.raises(UnknownModel, match="offline/analyst") as unknown:
        open_model(name)
    assert "\n" not in str(unknown.value)


def test_keys_are_taken_out_of_any_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "abcdef123456")
    text = redact("x sk-abc12345 Bearer tok.en-123456 https://h?key=ABCDEFGH1 abcdef123456")
    for secret in ("sk-abc", "tok.en", "ABCDEFGH1", "abcdef123456"):
        assert secret not in text
