"""Leaves are analyzed side by side, and the tree is the same whichever is ready first."""

import asyncio
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxies.asof.clock import Cutoff
from workbench.agents.base import AgentSettings, Brief
from workbench.agents.errors import AgentGaveUp
from workbench.engine.new_run import new_run
from workbench.engine.plan import Planning
from workbench.engine.record.recorder import Recorder
from workbench.engine.run_settings import RunSettings
from workbench.errors import UsageError
from workbench.propositions import Tree
from workbench.propositions.growth import next_leaf
from workbench.store import Store
from workbench.store import events as ev


class SlowAnalyzer:
    """Breaks a proposition into two after so many turns of the loop; one may say what another has said, or nothing."""

    def __init__(self, turns: dict[str, int], *, repeats: str = "", gives_up: str = "") -> None:
        self.turns, self.repeats, self.gives_up = turns, repeats, gives_up
        self.running = self.most = 0

    async def analyze(self, tree: Tree, *, cutoff: Any, ask: Any, on_round: Any) -> Tree:
        statement = tree.root.statement
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            for _ in range(self.turns.get(statement, 0)):
                await asyncio.sleep(0)
            if statement == self.gives_up:
                raise AgentGaveUp("analyze", "no more is known")
            names = {f"P{n}": f"{statement} {n}" for n in (1, 2)}
            if statement == self.repeats:
                names["P1"] = "claim 1 1"
            grown = tree.expand("P0", names)
            await on_round(grown)
            return grown
        finally:
            self.running -= 1


def planned(folder: Path, analyzer: SlowAnalyzer, depth: int = 3, **settings: Any) -> tuple[Tree, list[Any]]:
    store = Store(folder, durable=False)
    try:
        run_id = new_run(store, "claim", Cutoff.parse("2018-06-30"), RunSettings(depth=depth, **settings))
        gateway: Any = SimpleNamespace(asker=lambda **place: None)

        async def plan() -> Tree:
            async with Recorder(store, run_id, lambda state, event: None) as recorder:
                await Planning(recorder, analyzer, gateway, Brief()).plan()
            return recorder.state.tree

        return asyncio.run(plan()), [stored.event for stored in store.events(run_id)]
    finally:
        store.close()


LEAVES = [f"claim {n}" for n in (1, 2)] + [f"claim {n} {m}" for n in (1, 2) for m in (1, 2)]


#: The tree where everybody is ready at once, by the number of the oddity.
FIRST: dict[int, Tree] = {}


@settings(max_examples=20)  # a store and a run each
@given(turns=st.fixed_dictionaries({leaf: st.integers(0, 12) for leaf in LEAVES}), which=st.integers(0, 2))
def test_the_tree_does_not_depend_on_who_is_ready_first(
    tmp_path_factory: pytest.TempPathFactory, turns: dict[str, int], which: int
) -> None:
    odd = ({}, {"repeats": "claim 2 1"}, {"gives_up": "claim 2"})[which]
    if which not in FIRST:
        FIRST[which], _ = planned(tmp_path_factory.mktemp("one"), SlowAnalyzer({}, **odd))
    first = FIRST[which]
    second, events = planned(tmp_path_factory.mktemp("two"), SlowAnalyzer(turns, **odd))
    assert first.to_json() == second.to_json()
    left_as_leaf = [event for event in events if isinstance(event, ev.LeafKept)]
    assert len(left_as_leaf) == (which != 0)


def one_after_another(analyzer: SlowAnalyzer, target: int) -> Tree:
    """The tree that sequential expansion gives, by its definition: one leaf at a time, each seen by itself."""

    async def on_round(tree: Tree) -> None:
        return

    def analysis(statement: str) -> Tree:
        root = Tree.root_only(statement)
        return asyncio.run(analyzer.analyze(root, cutoff=None, ask=None, on_round=on_round))

    tree, done = analysis("claim"), set[str]()
    while (leaf := next_leaf(tree, target, done)) is not None:
        done.add(leaf)
        with suppress(AgentGaveUp, UsageError):
            tree = tree.graft(leaf, analysis(tree[leaf].statement))
    return tree


@pytest.mark.parametrize("target", [2, 5, 8, 12])
@pytest.mark.parametrize("odd", [{}, {"repeats": "claim 2 1"}, {"gives_up": "claim 2"}])
def test_a_target_gives_the_tree_of_one_after_another(
    tmp_path: Path, target: int, odd: dict[str, str]
) -> None:
    one_by_one = one_after_another(SlowAnalyzer({}, **odd), target)
    analyzer = SlowAnalyzer({leaf: 5 for leaf in LEAVES}, **odd)
    together, _ = planned(
        tmp_path / "two", analyzer, 1, leaf_target=target, agent=AgentSettings(max_leaves=2)
    )
    assert together.to_json() == one_by_one.to_json()
    assert analyzer.most >= (2 if target >= 4 else 1)
