"""One leaf of a finished run grounded again: a new attempt, the old on record, the nodes above by their rules."""

import asyncio

import pytest

from tests.fakes.asking_run import AskingGrounder, Provider, belief_of, open_run, sit
from workbench.agents.base import Grounding, GroundingFailure, LeafTask
from workbench.agents.evidence.base import Evidence, TraceStep
from workbench.engine.leaves.single_node import regrounding_line, reopen_leaf
from workbench.engine.proof_check import combined_faults, verify_run
from workbench.engine.record.fold import load_state
from workbench.errors import UsageError
from workbench.propositions import Belief
from workbench.store import Store
from workbench.store import events as ev
from workbench.views.run_view import view


class Second(AskingGrounder):
    """Concludes with ``p``, or fails, where a leaf is grounded again; counts what it was asked to ground."""

    def __init__(self, outcome: float | GroundingFailure | Exception) -> None:
        super().__init__(1)
        self.outcome = outcome
        self.grounded: list[str] = []

    async def ground(self, task: LeafTask) -> Grounding | GroundingFailure:
        self.grounded.append(task.node.id)
        if isinstance(self.outcome, Exception):
            raise self.outcome
        if isinstance(self.outcome, GroundingFailure):
            return self.outcome
        belief = Belief(p=self.outcome, key_factor="looked again", report="Looked again.")
        steps = (TraceStep(title="Again", text="again", p=self.outcome),)
        return Grounding(belief=belief, evidence=Evidence(steps=steps))


def finished(store: Store, **settings: int) -> str:
    run_id = open_run(store, **settings)
    sit(store, run_id, leaves=12)
    return run_id


def leaf_of(store: Store, run_id: str) -> str:
    return load_state(store, run_id).tree.leaves()[0]


def test_a_new_attempt_replaces_the_value_and_its_ancestors_follow_without_a_request(store: Store) -> None:
    run_id = finished(store)
    before = load_state(store, run_id)
    leaf = before.tree.leaves()[0]
    state = reopen_leaf(store, run_id, leaf, author="Ann", reason="new data")
    assert (state.phase, state.finished, state.tree.root.p) == ("stopped", False, before.tree.root.p)
    assert store.resolve_run("last", unfinished=True) == run_id
    again, provider = Second(0.9), Provider()
    after = sit(store, run_id, provider, leaves=12, grounder=again)
    assert again.grounded == [leaf] and provider.sent == 0
    assert after.finished and after.tree[leaf].p == 0.9
    for node in before.tree.inner():
        mean = sum(child.p or 0.0 for child in after.tree.children(node)) / len(after.tree.children(node))
        assert after.tree[node].p == pytest.approx(mean, abs=1e-12)
    moved = {
        stored.event.node for stored in store.events(run_id, after=state.seq, kinds=("node.synthesized",))
    }
    assert moved == set(before.tree.ancestors(leaf))
    # the old is on record: its event, its number in the document, and a check of the new one holds
    old = [row.event.p for row in store.events(run_id, kinds=("leaf.grounded",)) if row.event.node == leaf]  # type: ignore[attr-defined]
    assert old == [pytest.approx(belief_of(before.tree[leaf].statement)), 0.9]
    document = view(store, run_id).document()
    row = next(node for node in document["nodes"] if node["id"] == leaf)
    assert [(each["p"], each["author"], each["reason"]) for each in row["earlier"]] == [
        (before.tree[leaf].p, "Ann", "new data")
    ]
    assert combined_faults(store, after) == []
    assert not asyncio.run(verify_run(store, run_id)).differing


def test_a_new_attempt_that_comes_to_nothing_leaves_the_old_value(store: Store) -> None:
    run_id = finished(store)
    before = load_state(store, run_id)
    leaf = leaf_of(store, run_id)
    reopen_leaf(store, run_id, leaf)
    failing = Second(GroundingFailure(reason="nothing readable", retryable=False))
    after = sit(store, run_id, leaves=12, grounder=failing)
    assert after.finished and after.tree == before.tree
    assert after.trial(leaf, 1).attempt == 2 and after.trial(leaf, 1).concluded == 1
    assert combined_faults(store, after) == [] and not asyncio.run(verify_run(store, run_id)).differing


def test_of_several_trials_only_new_conclusions_count(store: Store) -> None:
    run_id = finished(store, trials=3)
    leaf = leaf_of(store, run_id)
    reopen_leaf(store, run_id, leaf)
    outcomes = iter([0.9, GroundingFailure(reason="no", retryable=False), 0.9])

    class Mixed(Second):
        async def ground(self, task: LeafTask) -> Grounding | GroundingFailure:
            self.outcome = next(outcomes)
            return await super().ground(task)

    after = sit(store, run_id, leaves=12, grounder=Mixed(0.0))
    pooled = [row.event for row in store.events(run_id, kinds=("leaf.pooled",)) if row.event.node == leaf][-1]
    assert isinstance(pooled, ev.LeafPooled)
    assert (pooled.trials, pooled.dead) == ((0.9, 0.9), 1) and after.tree[leaf].p == pytest.approx(0.9)
    assert combined_faults(store, after) == []


def test_the_price_comes_first_and_what_cannot_be_grounded_again_is_said(store: Store) -> None:
    run_id = finished(store)
    state = load_state(store, run_id)
    leaf = state.tree.leaves()[0]
    line = regrounding_line(state, leaf)
    assert line.startswith(f"evidence for {leaf} again: about ") and "recomputed by the stored rules" in line
    with pytest.raises(UsageError, match="P0 is combined from its drivers"):
        regrounding_line(state, "P0")
    with pytest.raises(UsageError, match="no driver 'P99'"):
        reopen_leaf(store, run_id, "P99")
    events = len(store.events(run_id))
    reopen_leaf(store, run_id, leaf)
    reopen_leaf(store, run_id, leaf)
    assert len(store.events(run_id)) == events + 1, "asked twice it is put on record once"


def test_a_leaf_grounded_again_when_the_outcome_is_known_is_marked(store: Store) -> None:
    from workbench.annotations.outcomes import record_outcome

    run_id = finished(store)
    leaf = leaf_of(store, run_id)
    before = view(store, run_id).document()["hindsight"]
    record_outcome(store, run_id, "yes", on="2018-12-31")
    reopen_leaf(store, run_id, leaf)
    sit(store, run_id, leaves=12, grounder=Second(0.9))
    (line,) = [line for line in view(store, run_id).document()["hindsight"] if line not in before]
    assert line.startswith(f"Hindsight: {leaf} got new evidence when the outcome was on record")
