"""Connections to model servers end with the event loop that opened them, whoever ran that loop."""

import asyncio
import os
import time
from pathlib import Path

import pytest

from tests.fakes.loopback import serving_json
from tests.models.test_litellm_client import ASK, Provider
from workbench.models.providers.litellm_client import LiteLLMModel
from workbench.models.registry import open_model

#: One that LiteLLM opens the client for, and one that gets a client of ours.
NAMES = ["hosted_vllm/x", "openai/x"]


def sockets() -> int:
    count = 0
    for entry in Path("/proc/self/fd").iterdir():
        try:
            count += os.readlink(entry).startswith("socket:")
        except FileNotFoundError:
            continue  # the folder's own descriptor
    return count


async def ask(name: str, times: int) -> int:
    """Ask; the number of sockets while the loop still runs."""
    with serving_json((provider := Provider()).answer) as url:
        model = open_model(name, api_base=f"{url}/v1", api_key="x")
        assert isinstance(model, LiteLLMModel)
        for _ in range(times):
            provider.says("hi")
            assert (await model.complete(ASK)).text == "hi"
        return sockets()


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts descriptors in /proc")
@pytest.mark.parametrize("name", NAMES)
def test_no_connection_outlives_its_loop(name: str) -> None:
    asyncio.run(ask(name, 1))
    before = sockets()
    for _ in range(3):
        asyncio.run(ask(name, 2))
    # The server is in this process too, and a thread of its own closes its end.
    deadline = time.monotonic() + 60
    while sockets() > before and time.monotonic() < deadline:
        time.sleep(0.02)
    assert sockets() <= before
