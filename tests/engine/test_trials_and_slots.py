"""Dead trials, time limits, kernels that do not start, and the slots of kernels: what a leaf goes through beside its model."""

import asyncio
import errno
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.errors import KernelStartFailed
from tests.fakes.asking_run import AskingGrounder, Provider, open_run, sit, work
from tests.fakes.small_run import RUN
from workbench.agents.base import Grounding, GroundingFailure, LeafTask
from workbench.engine.leaves import grounding as trial_grounding
from workbench.engine.leaves.leaf_notebook import KernelSlots
from workbench.engine.record.fold import fold, load_state
from workbench.engine.record.state import RunState
from workbench.engine.run_settings import RunSettings
from workbench.errors import BudgetStop, ProviderError
from workbench.resources import ResourceStop
from workbench.store import Event, Store, StoredEvent
from workbench.store import events as ev


class Odd(AskingGrounder):
    """Like its parent, but for the trials that `odd` says something about."""

    def __init__(self, odd: Callable[[LeafTask, int], Any]) -> None:
        super().__init__(1)
        self.odd = odd
        self.calls: dict[str, int] = {}

    async def ground(self, task: LeafTask) -> Grounding | GroundingFailure:
        number = self.calls[task.node.id] = self.calls.get(task.node.id, 0) + 1
        outcome = self.odd(task, number)
        if isinstance(outcome, GroundingFailure):
            return outcome
        if outcome is not None:
            await outcome
        return await super().ground(task)


def test_a_leaf_whose_trials_are_all_dead_stops_the_run_and_the_others_are_kept(store: Store) -> None:
    dead = GroundingFailure(reason="no reply could be read", retryable=False)
    grounder = Odd(lambda task, number: dead if task.node.id == "P1" else None)
    run_id = open_run(store, trials=2)
    with pytest.raises(ProviderError, match=r"P1 failed for good .*; 1 of 2 drivers have theirs"):
        sit(store, run_id, leaves=2, grounder=grounder)
    assert [stored.event.node for stored in store.events(run_id, kinds=("leaf.pooled",))] == ["P2"]


@pytest.mark.parametrize("again", [False, True], ids=["the same attempt", "another attempt"])
def test_a_leafs_time_is_that_of_all_its_sittings_and_attempts(store: Store, again: bool) -> None:
    """The log says that P1 has worked for 100 of its 60 seconds: nothing waits for it any more."""
    grounder = Odd(lambda task, number: asyncio.Event().wait() if task.node.id == "P1" else None)
    run_id = open_run(store, leaf_budget_seconds=60.0)
    place: dict[str, Any] = {"node": "P1", "trial": 1, "attempt": 1}
    ended = (
        ev.LeafFailed(**place, reason="no proof", final=False)
        if again
        else ev.LeafWaiting(**place, reason="")
    )
    store.append(run_id, ev.LeafStarted(**place), at_utc="2026-01-01T00:00:00Z")
    store.append(run_id, ended, at_utc="2026-01-01T00:01:40Z")
    with pytest.raises(ProviderError, match="--set leaf_budget_seconds"):
        asyncio.run(
            asyncio.wait_for(work(store, run_id, Provider(), leaves=2, grounder=grounder), timeout=30)
        )
    state = load_state(store, run_id)
    assert state.trial("P1", 1).open and state.trial("P1", 1).attempt == 1 + again
    assert state.tree["P2"].belief is not None


def test_a_runs_time_ends_it_resumable(store: Store) -> None:
    grounder = Odd(lambda task, number: asyncio.Event().wait() if number == 1 else None)
    run_id = open_run(store, budget_seconds=0.5)
    with pytest.raises(BudgetStop, match="--budget-seconds"):
        sit(store, run_id, leaves=2, grounder=grounder)
    state = load_state(store, run_id)
    assert state.stopped is not None and state.stopped.why == "budget"
    assert state.worked_seconds >= 0.5


def test_a_kernel_that_does_not_start_opens_no_new_attempt(store: Store) -> None:
    async def failing() -> None:
        raise KernelStartFailed("the kernel did not come up")

    grounder = Odd(lambda task, number: failing() if (task.node.id, number) == ("P1", 1) else None)
    run_id = open_run(store)
    with pytest.raises(ProviderError, match="did not come up"):
        sit(store, run_id, leaves=2, grounder=grounder)
    assert load_state(store, run_id).trial("P1", 1).open
    state = sit(store, run_id, leaves=2, grounder=grounder)
    assert state.finished and state.trial("P1", 1).attempt == 1
    assert not store.events(run_id, kinds=("leaf.failed",))


@given(st.integers(1, 4), st.lists(st.sampled_from(["run", "away", "cancel"]), max_size=25))
def test_cells_at_once_are_bounded_and_no_slot_is_lost(most: int, kinds: list[str]) -> None:
    async def go() -> None:
        slots, computing, seen = KernelSlots(most, notebooks=1), 0, 0

        async def cell(kind: str) -> None:
            nonlocal computing, seen
            async with slots.run():
                computing += 1
                seen = max(seen, computing)
                await asyncio.sleep(0)
                if kind == "away":
                    computing -= 1
                    with slots.away():
                        await asyncio.sleep(0)
                    computing += 1
                await asyncio.sleep(0)
                computing -= 1

        tasks = [asyncio.create_task(cell(kind)) for kind in kinds]
        await asyncio.sleep(0)
        for task, kind in zip(
            tasks[most:], kinds[most:], strict=True
        ):  # these wait: the others hold the slots
            if kind == "cancel":
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        # A cell that comes back from its data never queues, so as many more may compute as were away.
        assert seen <= most + kinds.count("away") and (kinds.count("away") or seen <= most)
        assert slots.running == 0

    asyncio.run(go())


def test_a_cell_that_waits_for_data_lets_another_compute() -> None:
    async def go() -> None:
        slots = KernelSlots(1, notebooks=1)
        data, other = asyncio.Event(), asyncio.Event()

        async def asking() -> None:
            async with slots.run():
                with slots.away():
                    await data.wait()

        async def computing() -> None:
            async with slots.run():
                other.set()

        first, second = asyncio.create_task(asking()), asyncio.create_task(computing())
        await asyncio.wait_for(other.wait(), 30)  # for ever, if the slot were held
        data.set()
        await asyncio.gather(first, second)
        assert slots.running == 0

    asyncio.run(go())


def test_a_check_that_a_stop_left_out_is_made_up(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    async def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    run_id = open_run(store)
    with monkeypatch.context() as patched, pytest.raises(ResourceStop, match="the disk is full"):
        patched.setattr(trial_grounding, "verify_trial", full)
        sit(store, run_id, leaves=2)
    assert None in {load_state(store, run_id).verified(leaf) for leaf in ("P1", "P2")}
    state = sit(store, run_id, leaves=2)
    assert state.finished and state.verified("P1") and state.verified("P2")


STARTED = ev.RunStarted(
    statement="s",
    cutoff="2018-06-30",
    cutoff_instant="2018-06-30T04:00:00Z",
    settings=RunSettings().to_json(),
)


LEAF = {"node": "P0", "trial": 1}


def folded(store: Store, *events: tuple[int, Event]) -> RunState:
    """The state after events at these seconds."""
    rows = [(0, STARTED), *events]
    return fold(
        store,
        [
            StoredEvent(seq, RUN, f"2026-01-01T00:{second // 60:02}:{second % 60:02}Z", event)
            for seq, (second, event) in enumerate(rows, 1)
        ],
    )


def test_a_leafs_time_is_that_of_all_its_attempts_and_sittings(store: Store) -> None:
    def leaf(attempt: int) -> ev.LeafStarted:
        return ev.LeafStarted(**LEAF, attempt=attempt)

    state = folded(
        store,
        (10, leaf(1)),
        (15, ev.LeafFailed(**LEAF, attempt=1, reason="malformed", final=False)),  # 5 s
        (20, leaf(2)),
        (27, ev.RunWaiting(provider="x", reason="503")),  # killed after this: 7 s
        (3000, ev.RunResumed()),
        (3004, ev.LeafWaiting(**LEAF, attempt=2, reason="no answer")),  # 4 s
        (3010, ev.RunStopped(why="outage", detail="")),
        (3100, ev.RunResumed()),
        (3101, ev.RunStopped(why="interrupt", detail="")),  # 1 s
    )
    assert state.trial("P0", 1).until("2026-01-01T10:00:00Z") == pytest.approx(17)
