"""A request that is cancelled while LiteLLM prepares it leaves no warning on a person's stderr."""

import asyncio
import gc
import re
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from workbench.models.base import Message, ModelRequest
from workbench.models.providers.listed import NEVER_AWAITED, load_litellm
from workbench.models.providers.litellm_client import LiteLLMModel

ASK = ModelRequest(messages=(Message(role="user", content="hello"),), stage="step", cutoff="2018-06-30")


class Preparation:
    """LiteLLM's preparation with a gate before its end, so that a cancellation can come into it."""

    def __init__(self, original: Callable[..., Any]) -> None:
        self._original = original
        self.entered, self.gate, self.left = threading.Event(), threading.Event(), threading.Event()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.entered.set()
        assert self.gate.wait(60)
        try:
            return self._original(*args, **kwargs)
        finally:
            self.left.set()


@pytest.fixture
def preparation(monkeypatch: pytest.MonkeyPatch) -> Iterator[Preparation]:
    litellm = load_litellm()
    gated = Preparation(litellm.main.completion)
    monkeypatch.setattr(litellm.main, "completion", gated)
    yield gated
    gated.gate.set()


async def cancelled(preparation: Preparation, name: str, *, before_the_end: bool) -> list[str]:
    """Cancel a request in its preparation, or right after that and before its coroutine is begun; return the warnings."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model = LiteLLMModel(name, api_base="http://127.0.0.1:9/v1", api_key="x")
        task = asyncio.ensure_future(model.complete(ASK))
        await asyncio.to_thread(preparation.entered.wait, 60)
        if not before_the_end:
            # The loop does nothing between the end of the preparation and the cancellation, as when another leaf is at work.
            preparation.gate.set()
            assert preparation.left.wait(60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        preparation.gate.set()
        await asyncio.to_thread(preparation.left.wait, 60)
        await asyncio.get_running_loop().shutdown_default_executor()
        del task
        gc.collect()
    return [str(item.message) for item in seen if "never awaited" in str(item.message)]


@pytest.mark.parametrize("name", ["openai/x", "hosted_vllm/x", "anthropic/x", "mistral/x"])
@pytest.mark.parametrize("before_the_end", [True, False])
async def test_a_cancelled_request_leaves_no_warning_of_another_kind(
    preparation: Preparation, name: str, before_the_end: bool
) -> None:
    left = await cancelled(preparation, name, before_the_end=before_the_end)
    assert all(re.match(NEVER_AWAITED, warning) for warning in left), left
