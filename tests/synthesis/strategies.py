"""Random rules, and random grounded and synthesized trees."""

from dataclasses import replace

from hypothesis import strategies as st

from tests.propositions.strategies import bare_trees, probabilities
from workbench.propositions import Belief, Polarity, Rule, Tree
from workbench.synthesis import (
    Assumption,
    LinearRule,
    LogicRule,
    NoisyOrRule,
    PooledRule,
    average_rule,
    random_rule,
    settle,
)
from workbench.synthesis.rules.linear import strict

weights = st.floats(-1, 1).map(lambda x: round(x, 6))


CHILDREN = ("P1", "P2", "P10", "P1.2")

unit = st.floats(0, 1)
four_weights = st.lists(st.floats(-1, 1), min_size=4, max_size=4).map(
    lambda x: dict(zip(CHILDREN, x, strict=True))
)
shares = st.lists(unit, min_size=4, max_size=4)
signs = st.fixed_dictionaries({child: st.sampled_from(Polarity) for child in CHILDREN})
formulas = st.recursive(
    st.sampled_from([*CHILDREN, "PA"]),
    lambda inner: st.one_of(
        inner.map("NOT ({})".format),
        st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(" ".join).map("({})".format),
    ),
    max_leaves=8,
)
linear = st.builds(LinearRule, st.floats(-0.1, 0.1), four_weights)
RULES: dict[str, st.SearchStrategy[Rule]] = {
    "linear": linear | linear.map(strict),
    "logic": st.builds(
        lambda text, q, norm, naive: LogicRule(text, Assumption(detail="rest", probability=q), norm, naive),
        formulas,
        unit,
        st.sampled_from(["product", "minmax"]),
        st.booleans(),
    ),
    "noisy-or": st.builds(
        lambda leak, w, cut: NoisyOrRule(
            leak,
            dict(list(zip(CHILDREN, w, strict=True))[:cut]),
            dict(list(zip(CHILDREN, w, strict=True))[cut:]),
        ),
        unit,
        shares,
        st.integers(0, 4),
    ),
    "average": st.builds(
        lambda s, aware: average_rule(CHILDREN, s, polarity_aware=aware), signs, st.booleans()
    ),
    "random": st.builds(
        lambda s, seed, aware: random_rule(CHILDREN, s, seed=seed, polarity_aware=aware),
        signs,
        st.integers(0, 10**6),
        st.booleans(),
    ),
    "pooled": st.builds(
        PooledRule,
        st.lists(st.floats(0, 0.25), min_size=4, max_size=4).map(
            lambda x: LinearRule(0.05, dict(zip(CHILDREN, x, strict=True)))
        ),
        st.floats(0.01, 0.99),
        unit,
    ),
}


@st.composite
def free_linear(draw: st.DrawFn, tree: Tree, node: str) -> Rule:
    """A linear rule with the stated signs, which may leave [0, 1]."""
    signs = tree[node].polarities
    drawn = {}
    for child in tree[node].children:
        weight = draw(weights)
        sign = signs.get(child)
        drawn[child] = weight if sign is None else abs(weight) * (1 if sign is Polarity.POSITIVE else -1)
    return LinearRule(draw(st.floats(-0.1, 0.1)), drawn)


@st.composite
def tame_linear(draw: st.DrawFn, tree: Tree, node: str) -> Rule:
    """A linear rule that stays inside [0, 1] whatever the children say."""
    signs = tree[node].polarities
    children = tree[node].children
    shares = [draw(st.floats(0, 1)) for _ in children]
    total = sum(shares) + draw(st.floats(0.01, 1))
    drawn = {
        child: share / total * (-1 if signs.get(child) is Polarity.NEGATIVE else 1)
        for child, share in zip(children, shares, strict=True)
    }
    return LinearRule(-sum(w for w in drawn.values() if w < 0), drawn)


@st.composite
def linear_trees(draw: st.DrawFn, max_nodes: int = 16, *, tame: bool = False) -> Tree:
    """Trees with linear rules and settled values."""
    tree = draw(bare_trees(max_nodes))
    for leaf in tree.leaves():
        tree = tree.with_belief(leaf, Belief(p=draw(probabilities)))
    for node in tree.inner():
        tree = tree.with_rule(node, draw((tame_linear if tame else free_linear)(tree, node)))
    return settle(tree)


def with_leaves(tree: Tree, values: dict[str, float]) -> Tree:
    """The tree with other leaf values and everything above recomputed, by a path the code under test does not share."""
    changed = [replace(tree[leaf], belief=Belief(p=p), stale=False) for leaf, p in values.items()]
    return settle(tree.with_propositions(changed))
