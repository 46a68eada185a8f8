"""What a model call costs above a bare call of LiteLLM: by our client, and by a run, which keeps budget, pace, ledger and log.

    python -m benchmarks.model_calls [--calls 200] [--rounds 5]

A scripted server on loopback, in a process of its own, answers at once. The three ways take turns, call by call, in one process;
each round gives medians, the table has the median of the rounds' differences and, in brackets, the least and the greatest. One
call at a time: what calls side by side share (a commit of the log) is paid here by one.
"""

import argparse
import asyncio
import multiprocessing
import multiprocessing.connection
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from benchmarks.arguments import parse
from proxies.ledger import Address
from tests.fakes.asking_run import open_run
from tests.fakes.loopback import serving_json
from workbench.engine.access.model_gateway import run_gateway
from workbench.engine.record.fold import load_state
from workbench.models.base import Message, ModelRequest, NodeRef
from workbench.models.providers.listed import load_litellm
from workbench.models.providers.litellm_client import LiteLLMModel
from workbench.store import Store
from workbench.store.writer import BatchWriter

MODEL = "openai/scripted"
KEY = "none-needed"
TEXT = "The last value is above the line. " * 20
REPLY = {
    "id": "x",
    "object": "chat.completion",
    "created": 0,
    "model": "scripted",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": TEXT}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 500, "completion_tokens": 140, "total_tokens": 640},
}
Call = Callable[[int], Awaitable[Any]]


def serve(end: multiprocessing.connection.Connection) -> None:
    """Answer every request the same until the other end says so."""
    with serving_json(lambda path, body, headers: (200, REPLY, {})) as url:
        end.send(url)
        end.recv()


def words(number: int) -> str:
    """The text of a request; no two are equal."""
    return f"Question {number}. " + "Say what the values tell. " * 80


async def measure(url: str, home: Path, calls: int, rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Return (wall, processor) milliseconds of a call, by way and round."""
    litellm = load_litellm()
    store, model = Store(home), LiteLLMModel(MODEL, api_base=url, api_key=KEY)
    run_id, writer = open_run(store), BatchWriter(store)
    gateway = run_gateway(store, load_state(store, run_id), model, writer=writer)

    def request(number: int) -> ModelRequest:
        messages = (Message(role="user", content=words(number)),)
        node = NodeRef(id="P1", statement="The claim holds")
        return ModelRequest(messages=messages, stage="step", cutoff="2018-06-30", nodes=(node,))

    async def bare(number: int) -> None:
        await litellm.acompletion(
            model=MODEL,
            api_base=url,
            api_key=KEY,
            max_retries=0,
            messages=[{"role": "user", "content": words(number)}],
        )

    async def client(number: int) -> None:
        assert (await model.complete(request(number))).text.strip() == TEXT.strip()

    async def run(number: int) -> None:
        address = Address(run=run_id, node="P1", trial=1, attempt=1, stage="step", step=number, retry=0)
        assert (await gateway.ask(address, request(number))).usage.input_tokens == 500

    ways: dict[str, Call] = {"bare LiteLLM": bare, "our client": client, "a run": run}
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    number = 0
    try:
        for measured in [False, *[True] * rounds]:
            times: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
            for _ in range(calls if measured else 10):  # the first ones connect and import
                for name, call in ways.items():
                    number += 1
                    used, began = time.process_time(), time.perf_counter()
                    await call(number)
                    times[name].append((time.perf_counter() - began, time.process_time() - used))
            if measured:
                for name, pairs in times.items():
                    wall, used = (1000 * statistics.median(side) for side in zip(*pairs, strict=True))
                    found[name].append((wall, used))
    finally:
        await writer.aclose()
        store.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=200, help="of each way in a round")
    parser.add_argument("--rounds", type=int, default=5)
    options = parse(parser, calls=2, rounds=1)
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    server = context.Process(target=serve, args=(there,), daemon=True)
    server.start()
    try:
        with tempfile.TemporaryDirectory() as folder:
            found = asyncio.run(measure(here.recv(), Path(folder), options.calls, options.rounds))
    finally:
        here.send("end")
        server.join()
    base = found["bare LiteLLM"]
    print(f"{'':14} {'wall ms':>8} {'cpu ms':>8}   above bare LiteLLM: wall ms, cpu ms")
    for name, pairs in found.items():
        middle = [statistics.median(side) for side in zip(*pairs, strict=True)]
        above = [
            sorted(mine[side] - bare[side] for mine, bare in zip(pairs, base, strict=True)) for side in (0, 1)
        ]
        spread = ", ".join(
            f"{statistics.median(side):+.2f} ({side[0]:+.2f} to {side[-1]:+.2f})" for side in above
        )
        print(f"{name:14} {middle[0]:8.2f} {middle[1]:8.2f}   {spread}", flush=True)


if __name__ == "__main__":
    main()
