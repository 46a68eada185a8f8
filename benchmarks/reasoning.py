"""Reasoning, measured: what-if against full evaluation, exact logic against enumeration, memory, and paper A's robustness plots.

Every ratio compares two ways of getting the same answer in the same run, and the answers are checked to be equal. Plots go to
``build/benchmarks`` (or the folder given as first argument).
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import time
import tracemalloc
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.arguments import parse
from workbench.propositions import ROOT, Belief, NodeId, Proposition, Rule, Tree, parent_of
from workbench.propositions.ids import child_ids
from workbench.synthesis import LinearRule, LogicRule, average_rule, evaluate, resynthesize, settle
from workbench.synthesis.rules.exact_logic import expand, probability
from workbench.synthesis.rules.formula import fold, parse_formula
from workbench.synthesis.sensitivity.leaf_noise import Noise, inject_noise
from workbench.synthesis.sensitivity.paths import path_weights, tornado

Maker = Callable[[tuple[NodeId, ...], random.Random], Rule]


def linear(children: tuple[NodeId, ...], source: random.Random) -> Rule:
    """Positive weights, most of them small, that sum to at most 1: the shape of paper A, Fig. 17."""
    drawn = [source.expovariate(1.0) for _ in children]
    total = sum(drawn) * source.uniform(1.0, 1.1)
    return LinearRule(0.0, {child: weight / total for child, weight in zip(children, drawn, strict=True)})


def logic(children: tuple[NodeId, ...], source: random.Random) -> Rule:
    """AND and OR at random, the shape of paper A, Table 14."""
    text = children[0]
    for child in children[1:]:
        text = f"({text} {source.choice(['AND', 'OR'])} {child})"
    return LogicRule(text)


def average(children: tuple[NodeId, ...], source: random.Random) -> Rule:
    """The plain mean."""
    return average_rule(children)


def grown(width: int, depth: int, make: Maker, seed: int = 0, lean: float = 0.0) -> Tree:
    """A full tree with random leaves, which may lean to true or false in log odds, and random rules, settled."""
    source = random.Random(seed)
    rows, level = [], [ROOT]
    for floor in range(depth + 1):
        below: list[NodeId] = []
        for node in level:
            children = tuple(child_ids(node, width)) if floor < depth else ()
            below += children
            belief = None if children else Belief(p=1 / (1 + math.exp(-source.gauss(lean, 1.5))))
            rule = make(children, source) if children else None
            rows.append(
                Proposition(
                    id=node, statement=f"statement {node}", children=children, belief=belief, rule=rule
                )
            )
        level = below
    return settle(Tree(rows))


def clock(work: Callable[[], object], repeats: int) -> float:
    """Median seconds of one run."""
    spent = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        spent.append(time.perf_counter() - start)
    return statistics.median(spent)


def what_if() -> None:
    tree = grown(10, 4, linear)
    leaves = tree.leaves()
    picked = iter(random.Random(1).sample(leaves, 400))
    one = clock(lambda: resynthesize(tree, {next(picked): 0.0}), 300)
    full = clock(lambda: evaluate(tree), 9)
    edited = resynthesize(tree, {leaves[77]: 0.0}).tree
    assert evaluate(edited).values == {node: edited[node].p for node in edited}
    print(
        f"what-if, {len(tree)} nodes: {one * 1e3:.3f} ms; full evaluation {full * 1e3:.1f} ms; {full / one:.0f}x (wanted 20x)"
    )
    assert full / one >= 20

    def slow_tornado(leaf: NodeId) -> list[float]:
        return sorted(evaluate(tree, {leaf: x}).values[ROOT] or 0.0 for x in (0.0, 1.0))

    fast = clock(lambda: tornado(tree), 5)
    slow = clock(lambda: slow_tornado(leaves[5]), 5) * len(leaves)
    (row,) = [row for row in tornado(tree) if row.id == leaves[5]]
    assert row.low is not None and row.high is not None
    assert np.allclose(slow_tornado(leaves[5]), [row.low, row.high], atol=1e-12)
    print(
        f"tornado of {len(leaves)} leaves: {fast * 1e3:.0f} ms in one pass; leaf by leaf {slow:.0f} s; {slow / fast:.0f}x"
    )
    print(f"beta paths of {len(tree)} nodes: {clock(lambda: path_weights(tree), 5) * 1e3:.0f} ms")


def chains() -> None:
    depth = 5_000
    rows: list[Proposition] = []
    name = ROOT
    for _ in range(depth):
        below = child_ids(name, 1)[0]
        rows.append(
            Proposition(
                id=name, statement=f"s {len(rows)}", children=(below,), rule=LinearRule(0.0, {below: 1.0})
            )
        )
        name = below
    tree = settle(Tree([*rows, Proposition(id=name, statement="the last", belief=Belief(p=0.5))]))
    assert parent_of(name) == rows[-1].id and tree.root.p == 0.5
    spent = clock(lambda: resynthesize(tree, {name: 0.25}), 3)
    print(f"what-if along a chain of {depth}: {spent * 1e3:.0f} ms, no recursion")


def twenty_variables() -> None:
    names = [f"P{i}" for i in range(1, 21)]
    source = random.Random(2)
    shuffled = source.sample(names, 20)
    entangled = " OR ".join(
        f"({a} AND NOT {b})" for a, b in [*pairwise(shuffled), (shuffled[-1], shuffled[0])]
    )
    p = {name: source.random() for name in names}
    program = parse_formula(entangled).program

    def from_scratch() -> float:
        expand.cache_clear()
        return float(probability(program, p))

    fresh = clock(from_scratch, 9)
    rule = LogicRule(entangled)
    again = clock(lambda: rule.evaluate(p), 50)

    def enumerated() -> float:
        worlds = (np.arange(2**20)[:, None] >> np.arange(20)) & 1
        truth = {name: worlds[:, place].astype(bool) for place, name in enumerate(names)}
        holds = fold(
            program, truth.__getitem__, np.logical_not, lambda o, a, b: a & b if o == "AND" else a | b
        )
        weight = np.ones(2**20)
        for name in names:
            weight *= np.where(truth[name], p[name], 1 - p[name])
        return float(weight[holds].sum())

    slow = clock(enumerated, 3)
    assert abs(enumerated() - rule.evaluate(p)) < 1e-9
    print(
        f"logic, 20 variables each twice: {fresh * 1e3:.2f} ms from scratch, {again * 1e3:.3f} ms again "
        f"({sum(len(edges) for _, edges in expand(program)[0])} rests); all 2^20 worlds with numpy {slow * 1e3:.0f} ms; {slow / fresh:.0f}x"
    )


def memory() -> None:
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    tree = grown(10, 4, linear)
    size = tracemalloc.get_traced_memory()[0] - before
    answer = resynthesize(tree, {tree.leaves()[0]: 0.0})
    more = tracemalloc.get_traced_memory()[0] - before - size
    tracemalloc.stop()
    print(
        f"memory: {size / len(tree):.0f} bytes a node; an edited copy of {len(answer.tree)} nodes adds {more / 1024:.0f} kB"
    )


def surfaces(folder: Path) -> None:
    """Paper A, Figs. 7 and 8: the rules' surfaces over two children, and how far noise in both moves them."""
    from matplotlib.figure import Figure

    axis = np.linspace(0, 1, 41)
    rules: dict[str, Rule] = {
        "linear, 0.5 and 0.5": LinearRule(0.0, {"P1": 0.5, "P2": 0.5}),
        "P1 AND P2": LogicRule("P1 AND P2"),
        "P1 OR P2": LogicRule("P1 OR P2"),
    }
    figure = Figure(figsize=(12, 7), layout="constrained")
    for column, (title, rule) in enumerate(rules.items()):
        value = np.array([[rule.evaluate({"P1": a, "P2": b}) for a in axis] for b in axis])
        slopes = [[rule.derivative({"P1": a, "P2": b}) for a in axis] for b in axis]
        noise = np.array([[np.hypot(s["P1"], s["P2"]) for s in row] for row in slopes])
        for row, (data, what) in enumerate(((value, "p of the parent"), (noise, "length of the gradient"))):
            drawn = figure.add_subplot(2, 3, 1 + column + 3 * row)
            filled = drawn.contourf(axis, axis, data, levels=np.linspace(0, 1.45 if row else 1, 16))
            figure.colorbar(filled, ax=drawn)
            drawn.set(title=f"{title}: {what}", xlabel="p of P1", ylabel="p of P2")
        print(f"sensitivity of {title}: gradient {noise.min():.2f} to {noise.max():.2f}")
    figure.savefig(folder / "surfaces.png", dpi=110)


def ranking(truth: list[bool], p: list[float]) -> float:
    """Chance that a true root has a higher p than a false one (area under the ROC curve); ties count half."""
    yes = [value for value, holds in zip(p, truth, strict=True) if holds]
    no = [value for value, holds in zip(p, truth, strict=True) if not holds]
    wins = sum((a > b) + 0.5 * (a == b) for a in yes for b in no)
    return wins / (len(yes) * len(no))


def noise_study(folder: Path) -> None:
    """Paper A, Fig. 5 on synthetic trees: what leaf noise does to the root and to what the root still knows.

    Half of the roots are true; the leaves lean to the truth by half a unit of log odds. Rules are random.
    """
    from matplotlib.figure import Figure

    levels = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0]
    kinds: tuple[Noise, ...] = ("normal", "uncertain", "reverse")
    makers: dict[str, Maker] = {"linear": linear, "average": average, "logic": logic}
    truth = [seed % 2 == 0 for seed in range(160)]
    forests = {
        name: [grown(4, 2, make, seed, 0.5 if holds else -0.5) for seed, holds in enumerate(truth)]
        for name, make in makers.items()
    }
    figure = Figure(figsize=(12, 6.5), layout="constrained")
    for column, kind in enumerate(kinds):
        tops = figure.add_subplot(2, 3, 1 + column), figure.add_subplot(2, 3, 4 + column)
        told = []
        for name, trees in forests.items():
            moves, areas = [], []
            for level in levels:
                roots = [
                    inject_noise(tree, kind, level, seed=i).root.p or 0.0 for i, tree in enumerate(trees)
                ]
                moves.append(
                    statistics.mean(abs((t.root.p or 0.0) - p) for t, p in zip(trees, roots, strict=True))
                )
                areas.append(ranking(truth, roots))
            tops[0].plot(levels, moves, marker="o", label=name)
            tops[1].plot(levels, areas, marker="o", label=name)
            at = levels.index(0.3)
            told.append(f"{name} moves {moves[at]:.3f}, ranks {areas[0]:.3f} -> {areas[at]:.3f}")
        tops[0].set(title=f"{kind} noise", ylabel="mean move of the root", ylim=(0, None))
        tops[1].set(xlabel="noise level", ylabel="area under the ROC curve", ylim=(0.0, 1.0))
        tops[1].axhline(0.5, color="grey", linewidth=0.8)
        tops[0].legend()
        print(f"{kind} noise of 0.3 at 16 leaves: {'; '.join(told)}")
    figure.savefig(folder / "noise.png", dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("build/benchmarks"), help="where the plots go")
    folder = parse(parser).folder
    folder.mkdir(parents=True, exist_ok=True)
    what_if()
    chains()
    twenty_variables()
    memory()
    surfaces(folder)
    noise_study(folder)
    print(f"plots: {folder / 'surfaces.png'}, {folder / 'noise.png'}")


if __name__ == "__main__":
    main()
