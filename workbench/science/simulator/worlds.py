"""Worlds with known truth, and how grounders err in them: trees whose leaves have true soft truth values, under rules of their own.

A world says what is true of the root (`World.truth`) for any truth of its leaves; what a synthesizer computes from flawed leaves
is the same tree with flawed values, or another tree of the same shape (a linear rule fitted to a logic world). Trees and rules are
the workbench's own (`workbench.synthesis`), so that nothing here is a second evaluator.
"""

from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from workbench.propositions import Belief, NodeId, Tree
from workbench.science.arrays import FloatArray, logit, sigmoid
from workbench.science.errors import DomainError
from workbench.synthesis import LinearRule, LogicRule
from workbench.synthesis.sensitivity.columns import root_columns

WorldKind = Literal["linear", "logic"]


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A tree with its true rules."""

    #: ``linear``: every inner node a weighted mean of its children; ``logic``: AND and OR in turn, AND at the root.
    kind: WorldKind
    #: Its leaves hold 0.5; truths are given in columns.
    tree: Tree

    @property
    def leaves(self) -> tuple[NodeId, ...]:
        """Ids of the leaves, in order; the columns of `truth`."""
        return self.tree.leaves()

    def truth(self, values: FloatArray) -> FloatArray:
        """The root's true soft truth value for each row."""
        columns = {leaf: np.ascontiguousarray(values[:, place]) for place, leaf in enumerate(self.leaves)}
        return np.asarray(root_columns(self.tree, columns))

    def draw_truths(self, rows: int, rng: np.random.Generator, *, spread: float = 2.0) -> FloatArray:
        """True values of the leaves, Beta(spread, spread), shape (rows, leaves); a larger spread is closer to 0.5."""
        return rng.beta(spread, spread, size=(rows, len(self.leaves)))


def make_world(kind: WorldKind, *, branching: int = 3, depth: int = 2, seed: int = 0) -> World:
    """Make a full tree of ``branching ** depth`` leaves with rules of a kind.

    Linear weights are Dirichlet(5) shares, so that each node is a proper mean of its children (paper A, App. B's condition).

    Raises `DomainError` for another kind, fewer than two children, no level, or more than 4,096 leaves.
    """
    if kind not in get_args(WorldKind):
        raise DomainError(f"a world is one of {', '.join(get_args(WorldKind))}, not {kind!r}")
    # the depth first: two to the power of a thousand million is minutes
    if branching < 2 or not 1 <= depth <= 12 or branching**depth > 4096:
        raise DomainError(
            "a world branches at least into 2, has at least 1 level, and at most 4,096 drivers at its ends"
        )
    rng = np.random.default_rng(seed)
    tree = Tree.root_only("the claim of a simulated world")
    level: list[NodeId] = ["P0"]
    for step in range(depth):
        below: list[NodeId] = []
        for node in level:
            prefix = "P" if node == "P0" else f"{node}."
            children = {f"{prefix}{number}": f"part {prefix}{number}" for number in range(1, branching + 1)}
            tree = tree.expand(node, children)
            rule: LinearRule | LogicRule
            if kind == "logic":
                rule = LogicRule((" OR " if step % 2 else " AND ").join(children))
            else:
                shares = rng.dirichlet(np.full(branching, 5.0)).tolist()
                rule = LinearRule(0.0, dict(zip(children, shares, strict=True)))
            tree = tree.with_propositions([replace(tree[node], rule=rule, belief=Belief(p=0.5))])
            below += children
        level = below
    leaves = [replace(tree[leaf], belief=Belief(p=0.5)) for leaf in level]
    return World(kind=kind, tree=tree.with_propositions(leaves))


def linear_reading(world: World, truths: FloatArray) -> World:
    """A world of the same shape whose rules are linear, each fitted by least squares to what the true rule gives.

    It is what a linear synthesizer at its best makes of a world that is not linear; weights may be anything the data ask for.
    """
    columns: dict[NodeId, FloatArray] = {leaf: truths[:, place] for place, leaf in enumerate(world.leaves)}
    tree = world.tree
    for node in reversed(world.tree.ids()):
        rule = world.tree[node].rule
        if rule is None:
            continue
        children = list(world.tree[node].children)
        below = np.column_stack([columns[child] for child in children])
        columns[node] = np.asarray(
            rule.columns({child: columns[child] for child in children}), dtype=np.float64
        )
        design = np.column_stack([np.ones(len(below)), below])
        solution = np.linalg.lstsq(design, columns[node], rcond=None)[0]
        fitted = LinearRule(
            float(solution[0]), {child: float(w) for child, w in zip(children, solution[1:], strict=True)}
        )
        tree = tree.with_propositions([replace(tree[node], rule=fitted)])
    return World(kind="linear", tree=tree)


LeafNoise = Literal["normal", "uncertain", "reverse"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GrounderErrors:
    """Errors of the leaves' values, on their own scale, held inside [0, 1]."""

    #: Added to every leaf.
    bias: float = 0.0
    #: Standard deviation of the random error of a leaf.
    sd: float = 0.0
    #: Of the errors of any two leaves, in [0, 1]: siblings that read the same sources.
    correlation: float = 0.0
    #: noise, level: ``normal``: N(0, level) more; ``uncertain``: 0.5 with probability level; ``reverse``: 1 - p with probability level.
    noise: LeafNoise = "normal"
    level: float = 0.0

    def __post_init__(self) -> None:
        if self.sd < 0 or not 0 <= self.correlation <= 1 or not 0 <= self.level <= 1:
            raise DomainError("an sd is at least 0, a correlation and a level of noise lie in [0, 1]")
        if self.noise not in get_args(LeafNoise):
            raise DomainError(f"noise is one of {', '.join(get_args(LeafNoise))}, not {self.noise!r}")

    def apply(self, truths: FloatArray, rng: np.random.Generator) -> FloatArray:
        """What the grounder says of leaves with these truths, shape (rows, leaves)."""
        rows, leaves = truths.shape
        shared = rng.normal(size=(rows, 1))
        own = rng.normal(size=(rows, leaves))
        error = np.sqrt(self.correlation) * shared + np.sqrt(1 - self.correlation) * own
        values = truths + self.bias + self.sd * error
        if self.noise == "normal":
            values = values + self.level * rng.normal(size=truths.shape)
        values = values.clip(0.0, 1.0)
        if self.noise != "normal":
            hit = rng.random(truths.shape) < self.level
            values = np.where(hit, 0.5 if self.noise == "uncertain" else 1.0 - values, values)
        return np.asarray(values)


def crowd_prices(truth: FloatArray, rng: np.random.Generator, *, sd: float = 0.5) -> FloatArray:
    """A market's prices of the root, strictly inside (0, 1): the truth seen through an error of ``sd`` in logits."""
    price = sigmoid(logit(truth) + sd * rng.normal(size=truth.shape))
    return np.asarray(np.clip(price, 0.001, 0.999))
