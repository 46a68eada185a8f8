"""The example on every endpoint's page runs: read from the documentation, run as a cell would, against the emulators."""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from proxies.asof.clock import Cutoff
from proxies.broker import open_broker
from proxies.catalogue import Endpoint, api_doc, load_catalogue
from proxies.errors import CutoffRefused
from proxies.ledger import Address, Answer, MemoryLedger
from tests.fakes.upstream_world import World
from tests.proxies.worlds import WorldTransport, ask_for, close_loop, in_loop, settings

CATALOGUE = load_catalogue()
# later than every window an example asks for
CUTOFF = Cutoff.parse("2026-06-01")


@pytest.fixture(scope="module", autouse=True)
def one_loop() -> Iterator[None]:
    yield
    close_loop()


def example_of(endpoint: Endpoint) -> str:
    (code,) = re.findall(r"```python\n(.*?)\n```", api_doc(CATALOGUE, [endpoint.path]), re.DOTALL)
    return str(code)


async def told(endpoint: Endpoint, path: str, params: dict[str, Any], world: World) -> Answer:
    broker = open_broker(settings("http://world"), transport=lambda info: WorldTransport(world.answer))
    try:
        address = Address(run="r", node="P1", trial=1, attempt=1, stage="cell", step=0, retry=0)
        return await broker.session(CUTOFF, MemoryLedger()).call(path, params, address)
    finally:
        await broker.aclose()


def test_the_examples_of_the_documentation_run() -> None:
    for endpoint in CATALOGUE:
        run_example(endpoint)


def run_example(endpoint: Endpoint) -> None:
    # rows of 2023, when most examples ask
    moments = [
        Cutoff.parse(day).instant + timedelta(hours=15) for day in ("2023-01-05", "2023-02-01", "2023-03-30")
    ]
    world = World(CUTOFF.instant, moments, [])
    world.snapshot = endpoint.as_of.policy == "snapshot_refused"
    ask_for(endpoint, world)
    answers: list[Answer] = []

    def call_api(path: str, params: dict[str, Any]) -> Any:
        answers.append(in_loop(told(endpoint, path, params, world)))  # type: ignore[arg-type]
        return answers[-1].data

    names: dict[str, Any] = {"CALL_API": call_api}
    if world.snapshot:
        with pytest.raises(CutoffRefused, match="holds present values only"):
            exec(example_of(endpoint), names)
        return
    if endpoint.as_of.until:
        with pytest.raises(CutoffRefused, match="holds nothing after"):
            exec(example_of(endpoint), names)
        return
    exec(example_of(endpoint), names)
    assert answers[0].meta["endpoint"] == endpoint.path
    text = answers[0].body.decode()
    assert names["data"], "the example gives something"
    assert not {token for token in world.late if token in text}
    if world.early:
        assert {token for token in world.early if token in text}, text[:300]
