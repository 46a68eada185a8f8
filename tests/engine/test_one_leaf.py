"""A sitting that is kept to some nodes: a failed one tried again by itself, its price first, the others as they were."""

from pathlib import Path
from typing import Any

import pytest

from tests.fakes.asking_run import AskingGrounder, Provider, open_run, sit, undisturbed
from workbench.agents.base import Grounding, GroundingFailure, LeafTask
from workbench.agents.errors import AgentGaveUp
from workbench.engine.leaves.single_node import trying_line
from workbench.engine.leaves.traversal import LeavesLeft
from workbench.engine.new_run import Agents
from workbench.engine.record.fold import load_state
from workbench.engine.run_settings import RunSettings
from workbench.errors import ProviderError, UsageError
from workbench.propositions import Proposition
from workbench.store import Store

LEAVES = 6


class Choosy(AskingGrounder):
    """Fails for good at some leaves; counts what it was asked to ground."""

    def __init__(self, *failing: str) -> None:
        super().__init__(1)
        self.failing = failing
        self.grounded: list[str] = []

    async def ground(self, task: LeafTask) -> Grounding | GroundingFailure:
        self.grounded.append(task.node.id)
        if task.node.id in self.failing:
            return GroundingFailure(reason="no proof could be read", retryable=False)
        return await super().ground(task)


def sitting(store: Store, run_id: str, grounder: Choosy, only: tuple[str, ...] = ()) -> Provider:
    provider = Provider()
    sit(store, run_id, provider, leaves=LEAVES, grounder=grounder, only=only)
    return provider


class Halting:
    """The plain mean of the children, but for nodes at which it gives up; counts what it was asked for."""

    stages = ("linear",)

    def __init__(self, *failing: str) -> None:
        self.failing = failing
        self.asked: list[str] = []
        self._mean = Agents(RunSettings(rule="average")).synthesizer

    async def synthesize(self, node: Proposition, children: Any, **more: Any) -> Any:
        self.asked.append(node.id)
        if node.id in self.failing:
            raise AgentGaveUp(node.id, "no rule could be read")
        return await self._mean.synthesize(node, children, **more)


def combining(store: Store, run_id: str, synthesizer: Halting, only: tuple[str, ...] = ()) -> Choosy:
    grounder = Choosy()
    sit(store, run_id, leaves=20, grounder=grounder, synthesizer=synthesizer, only=only)
    return grounder


def failed_at(store: Store, count: int) -> tuple[str, list[str]]:
    """A run at whose first ``count`` leaves the grounder gave up."""
    run_id = open_run(store)
    with pytest.raises(ProviderError):
        sitting(store, run_id, Choosy(*[f"P{number}" for number in range(1, count + 1)]))
    state = load_state(store, run_id)
    failed = [leaf for leaf in state.tree.leaves() if state.node_status(leaf) == "failed"]
    assert state.phase == "failed" and len(failed) == count
    return run_id, failed


def test_only_the_leaf_is_worked_on_and_the_others_stay_as_they_are(store: Store) -> None:
    run_id, failed = failed_at(store, 3)
    for before, leaf in zip(range(3), failed, strict=True):
        attempts = {key: trial.attempt for key, trial in load_state(store, run_id).trials.items()}
        again = Choosy()
        last = before == 2
        if last:
            provider = sitting(store, run_id, again, (leaf,))
        else:
            with pytest.raises(LeavesLeft, match=f"{leaf} has its value"):
                sitting(store, run_id, again, (leaf,))
            provider = None
        state = load_state(store, run_id)
        assert again.grounded == [leaf] and state.node_status(leaf) == "grounded"
        assert {key for key, trial in state.trials.items() if trial.attempt != attempts[key]} == {(leaf, 1)}
        assert [each for each in failed if state.node_status(each) == "failed"] == failed[before + 1 :]
        assert state.phase == ("done" if last else "stopped")
        assert last is (provider is not None)
    assert state.finished and state.tree.root.p is not None


def test_a_failed_synthesis_is_tried_alone_and_no_leaf_with_it(store: Store, tmp_path: Path) -> None:
    run_id = open_run(store)
    with pytest.raises(ProviderError, match="P2, P5 failed for good"):
        combining(store, run_id, Halting("P2", "P5"))
    state = load_state(store, run_id)
    line = trying_line(state, ["P2"])
    assert line.startswith("trying P2: about ") and line.endswith("; P5 left as they are")
    assert trying_line(state, ["P2", "P5"]).endswith("; then P0 combined")
    with pytest.raises(UsageError, match="P0 waits for P2, P5"):
        combining(store, run_id, Halting(), ("P0",))
    with pytest.raises(UsageError, match="P1 has its value"):
        combining(store, run_id, Halting(), ("P1",))
    again = Halting()
    with pytest.raises(LeavesLeft, match="P2 has its value; P5 still without"):
        combining(store, run_id, again, ("P2",))
    assert again.asked == ["P2"] and load_state(store, run_id).phase == "stopped"
    with pytest.raises(ProviderError, match="P5 failed for good"):
        combining(store, run_id, Halting("P5"), ("P5",))
    last = Halting()
    grounder = combining(store, run_id, last, ("P5",))
    assert last.asked == ["P5", "P0"] and grounder.grounded == []
    state = load_state(store, run_id)
    assert state.finished and state.tree.root.p == undisturbed(tmp_path / "whole", 20)


def test_what_is_no_leaf_without_a_value_is_refused_and_nothing_is_asked(store: Store) -> None:
    run_id, failed = failed_at(store, 1)
    state = load_state(store, run_id)
    known = next(leaf for leaf in state.tree.leaves() if leaf not in failed)
    for place, line in ((known, "has its value"), ("P0", f"waits for {failed[0]}")):
        with pytest.raises(UsageError, match=line):
            trying_line(state, [place])
        with pytest.raises(UsageError, match=line):
            sitting(store, run_id, Choosy(), (place,))
    kinds = [stored.event.kind for stored in store.events(run_id)]
    assert kinds.count("run.resumed") == 0
