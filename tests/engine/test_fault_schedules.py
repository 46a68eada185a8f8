"""Whatever a provider does wrong costs time: the root is the same, nothing that was answered is bought twice."""

import asyncio
import os
import random
import re
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.asking_run import FakeTime, Provider, open_run, undisturbed, work
from workbench.engine.access.model_gateway import spending
from workbench.engine.access.outage import ProviderDown, Timing
from workbench.engine.record.state import RunState
from workbench.errors import WorkbenchError
from workbench.models.base import ModelReply, ModelRequest, Usage
from workbench.models.errors import ModelRefused, ModelUnavailable
from workbench.store import ModelLedger, Store

LEAVES = 7

#: Transient trouble, as the client reports it. Half a body, a reset, silence and a slow drip may have been billed.
TRANSIENT: dict[str, Any] = {
    "timeout": lambda draw: ModelUnavailable("timeout", billed=True, heard=True),
    "429 with Retry-After": lambda draw: ModelUnavailable(
        "429", rate_limited=True, retry_after=draw.choice([1.0, 30.0, 120.0]), heard=True
    ),
    "429": lambda draw: ModelUnavailable("429", rate_limited=True, heard=True),
    "5xx": lambda draw: ModelUnavailable("503", heard=True),
    "reset": lambda draw: ModelUnavailable("reset", billed=True),
    "half a body": lambda draw: ModelUnavailable("broke off", billed=True, heard=True),
    "silence": lambda draw: ModelUnavailable("silent", billed=True, heard=True),
    "slow drip": lambda draw: ModelUnavailable("no end", billed=True, heard=True),
}


class FaultyProvider(Provider):
    """Goes wrong as a seed says: single faults, outages of some minutes, odd replies, jumps of the clock."""

    def __init__(self, seed: int, time: FakeTime, *, mixed: bool) -> None:
        super().__init__()
        self.draw = random.Random(seed)
        self.time = time
        self.rate = self.draw.choice([0.05, 0.2, 0.5])
        self.odd = self.draw.choice([0.0, 0.1])
        self.outages = [
            (start, start + self.draw.uniform(5, 600))
            for start in (1000 + self.draw.uniform(0, 60) for _ in range(self.draw.randrange(3)))
        ]
        self.hard = 0.02 if mixed else 0.0
        self.lasting = mixed and self.draw.random() < 0.3  # an outage longer than anybody waits

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.sent += 1
        await self.time.sleep(self.draw.lognormvariate(-1.6, 0.5))
        if self.draw.random() < 0.01:
            self.time.now += self.draw.choice([60.0, 600.0])  # the machine slept
        down = any(start < self.time.now < end for start, end in self.outages)
        if down or (self.lasting and self.sent > 12):
            raise ModelUnavailable("503", heard=True)
        if self.draw.random() < self.hard:
            raise ModelRefused("content filter")
        if self.draw.random() < self.rate:
            raise TRANSIENT[self.draw.choice(sorted(TRANSIENT))](self.draw)
        if self.draw.random() < self.odd:
            return self.answer(request, text=self.draw.choice(["", "cut off in the mid"]))
        usage = self.draw.choice([None, None, Usage(), Usage(input_tokens=-3, output_tokens=0)])
        return self.answer(request, usage=usage)


def sitting(store: Store, run_id: str, model: Provider, time: FakeTime) -> RunState | WorkbenchError:
    timing = Timing(time.clock, time.sleep, random.Random(5).random)

    async def run() -> RunState | WorkbenchError:
        try:
            state: RunState = await time.drive(work(store, run_id, model, leaves=LEAVES, timing=timing))
        except WorkbenchError as error:
            return error
        return state

    return asyncio.run(run())


def schedules(mixed: bool) -> list[int]:
    """8 of each sort in the suite; more where somebody asks for them (`make soak`)."""
    return list(range(int(os.environ.get("FAULT_SCHEDULES", "16")) // 2))


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> float:
    return undisturbed(tmp_path_factory.mktemp("undisturbed"), LEAVES)


@pytest.mark.parametrize("seed", schedules(False))
def test_transient_trouble_ends_right_and_nothing_is_bought_twice(
    tmp_path: Path, right: float, seed: int
) -> None:
    store, time = Store(tmp_path, durable=False), FakeTime()
    try:
        provider = FaultyProvider(seed, time, mixed=False)
        run_id = open_run(store)
        state = sitting(store, run_id, provider, time)
        if isinstance(state, ProviderDown):
            # Outages and jumps of the clock in a row may last longer than a run waits; nothing else may stop it.
            silent = re.search(r"silent for (\d+) s", str(state))
            assert silent and int(silent[1]) >= 900 and provider.outages, state
            provider.outages.clear()
            state = sitting(store, run_id, provider, time)
        assert isinstance(state, RunState), state
        assert state.finished and state.tree.root.p == right
        assert_bought_once(store, run_id, provider)
        assert all(state.verified(leaf) for leaf in state.tree.leaves())
    finally:
        store.close()


def assert_bought_once(store: Store, run_id: str, provider: Provider) -> None:
    """Every answer is in the ledger, at an address of its own; only another attempt may say the same words again."""
    places = store.query(
        "SELECT node, trial, attempt, stage, step, retry FROM model_calls WHERE run_id = ?", (run_id,)
    )
    assert len({tuple(place) for place in places}) == len(places) == sum(provider.answered.values())
    if not store.events(run_id, kinds=("leaf.failed",)):
        assert set(provider.answered.values()) == {1}


def _mixed(folder: Path, seed: int) -> tuple[list[RunState | WorkbenchError], Provider, Store]:
    store, time = Store(folder, durable=False), FakeTime()
    provider = FaultyProvider(1000 + seed, time, mixed=True)
    run_id = open_run(store)
    ends: list[RunState | WorkbenchError] = []
    for _ in range(6):
        ends.append(sitting(store, run_id, provider, time))
        if isinstance(ends[-1], RunState):
            break
        provider.lasting = False
        time.now += 3600
        provider.outages.clear()
    assert spending(store, run_id).calls >= ModelLedger(store).count(run_id)
    return ends, provider, store


@pytest.mark.parametrize("seed", schedules(True))
def test_mixed_trouble_ends_right_or_can_be_resumed(tmp_path: Path, right: float, seed: int) -> None:
    ends, provider, store = _mixed(tmp_path, seed)
    assert_bought_once(store, store.run_ids()[0], provider)
    store.close()
    for stopped in ends[:-1]:
        assert isinstance(stopped, WorkbenchError) and stopped.exit_code in (3, 4)
    last = ends[-1]
    assert isinstance(last, RunState), last
    assert last.finished and last.tree.root.p == right
