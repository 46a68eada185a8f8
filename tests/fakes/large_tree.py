"""Valued trees of thousands of propositions, and finished runs that hold them."""

from contextlib import closing
from pathlib import Path

from tests.fakes.stored_run import RunWriter
from workbench.engine.record.state import IMPORTED_TREE
from workbench.engine.run_settings import RunSettings
from workbench.propositions import ROOT, Belief, Proposition, Tree, child_id
from workbench.store import Store
from workbench.synthesis import LinearRule, settle


def large_tree(size: int, fan: int = 10) -> Tree:
    """Return a valued tree of ``size`` propositions, breadth first, each inner one with up to ``fan`` children."""
    children: dict[str, list[str]] = {ROOT: []}
    waiting = [ROOT]
    while len(children) < size:
        parent = waiting.pop(0)
        for number in range(1, min(fan, size - len(children)) + 1):
            child = child_id(parent, number)
            children[parent].append(child)
            children[child] = []
            waiting.append(child)
    made = []
    for place, (node, below) in enumerate(children.items()):
        weights = {
            child: round(0.9 / len(below), 4) * (-1 if number % 4 == 3 else 1)
            for number, child in enumerate(below)
        }
        made.append(
            Proposition(
                id=node,
                statement=f"Proposition {place} of the large tree holds on 2018-12-31, as its sources have it",
                belief=Belief(p=0.2 + 0.6 * (place % 17) / 17, key_factor=f"What decides number {place}."),
                children=tuple(below),
                rule=LinearRule(0.2, weights) if below else None,
            )
        )
    return settle(Tree(made))


def make_large_run(home: Path, size: int, run_id: str) -> str:
    """Write a finished run with a tree from a file into a data folder; return its id."""
    tree = large_tree(size)
    with closing(Store(home)) as store:
        run = RunWriter(store, run_id)
        run.start(tree.root.statement, settings=RunSettings(model=IMPORTED_TREE))
        run.plan(tree)
        run.finish(tree.root.p)
    return run_id
