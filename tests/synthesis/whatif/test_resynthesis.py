import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.propositions.strategies import probabilities
from tests.synthesis.strategies import linear_trees, with_leaves
from workbench.propositions import Belief, ProbabilityOutOfRange, Proposition, Tree, UnknownNode
from workbench.synthesis import LinearRule, evaluate, resynthesize, settle
from workbench.synthesis.sensitivity.paths import path_weights, swings, tornado
from workbench.synthesis.whatif.evaluation import clamp, refresh


def rates() -> Tree:
    """Root 0.58; P2.1 has p 0.5, weight 0.5 to P2, which weighs 0.4 on the root (FEATURES A12)."""
    tree = Tree.root_only("The Federal Reserve cuts rates this year")
    tree = tree.expand("P0", {"P1": "Inflation slows", "P2": "The labour market weakens"})
    tree = tree.expand("P2", {"P2.1": "A hard recession starts", "P2.2": "Claims rise"})
    for node, p in {"P1": 0.9, "P2.1": 0.5, "P2.2": 0.7}.items():
        tree = tree.with_belief(node, Belief(p=p))
    tree = tree.with_rule("P2", LinearRule(0.05, {"P2.1": 0.5, "P2.2": 0.5}))
    return settle(tree.with_rule("P0", LinearRule(0.04, {"P1": 0.31111111111111111, "P2": 0.4})))


def test_a_path_weight_times_p_of_a_tenth_falls_by_exactly_a_tenth() -> None:
    tree = rates()
    assert tree.root.p == pytest.approx(0.58, abs=1e-12)
    answer = resynthesize(tree, {"P2.1": 0.0})
    assert answer.before is not None and answer.after is not None
    assert answer.before - answer.after == pytest.approx(0.10, abs=1e-12)
    assert [c.id for c in answer.changed] == ["P0", "P2", "P2.1"]
    assert answer.tree["P1"] is tree["P1"] and answer.tree["P2.2"] is tree["P2.2"]
    assert answer.stale == () and tree.root.p == pytest.approx(0.58, abs=1e-12)


@given(linear_trees())
def test_synthesis_stays_in_the_unit_interval(tree: Tree) -> None:
    result = evaluate(tree)
    assert all(value is not None and 0 <= value <= 1 for value in result.values.values())
    assert all(result.values[node] == clamp(raw) for node, raw in result.raw.items())


@given(linear_trees(), st.data())
def test_values_move_their_ancestors_alone(tree: Tree, data: st.DataObject) -> None:
    picked = data.draw(st.dictionaries(st.sampled_from(tree.ids()), probabilities, min_size=1, max_size=3))
    answer = resynthesize(tree, picked)
    assert answer.before == tree.root.p
    moved = {change.id for change in answer.changed}
    allowed = set(picked) | {a for node in picked for a in tree.ancestors(node)}
    assert set(picked) <= moved <= allowed
    assert all(answer.tree[node] is tree[node] for node in tree.ids() if node not in allowed)


@given(linear_trees(), st.data())
def test_a_pinned_node_hides_what_lies_below(tree: Tree, data: st.DataObject) -> None:
    node = data.draw(st.sampled_from(tree.inner() or tree.ids()))
    pinned = resynthesize(tree, {node: 0.25}).tree
    below = pinned.below(node)
    if below:
        answer = resynthesize(pinned, dict.fromkeys(below, 0.9))
        assert answer.after == answer.before == pinned.root.p
        assert all(answer.tree[other] is pinned[other] for other in (node, *pinned.ancestors(node)))
        released = refresh(answer.tree, answer.tree.unpin(node), [node]).tree
        assert evaluate(released).values == {n: released[n].p for n in released}


@given(linear_trees(tame=True))
def test_contributions_are_path_weight_times_p_and_sum_to_the_root(tree: Tree) -> None:
    rows = tornado(tree)
    weights = path_weights(tree)
    for row in rows:
        assert row.path_weight is not None and row.p is not None
        assert row.contribution == pytest.approx(weights[row.id] * row.p)  # type: ignore[operator]
        expected = sorted(resynthesize(tree, {row.id: x}).after or 0.0 for x in (0.0, 1.0))
        assert [row.low, row.high] == pytest.approx(expected, abs=1e-12)
    at_zero = with_leaves(tree, dict.fromkeys(tree.leaves(), 0.0))
    assert tree.root.p is not None and at_zero.root.p is not None
    assert sum(row.contribution or 0 for row in rows) == pytest.approx(tree.root.p - at_zero.root.p, abs=1e-9)


@given(linear_trees(), st.data())
def test_the_one_pass_swing_equals_recomputation_also_where_values_are_held(
    tree: Tree, data: st.DataObject
) -> None:
    node = data.draw(st.sampled_from(tree.ids()))
    x = data.draw(probabilities)
    swing = swings(tree)[node]
    assert swing is not None
    assert swing(x) == pytest.approx(resynthesize(tree, {node: x}).after, abs=1e-9)


@pytest.mark.parametrize(
    ("edits", "error"), [({"P9": 0.5}, UnknownNode), ({"P1": 1.2}, ProbabilityOutOfRange)]
)
def test_bad_edits_are_refused(edits: dict[str, float], error: type[Exception]) -> None:
    with pytest.raises(error):
        resynthesize(rates(), edits)


def test_a_tree_without_values_has_none_and_nothing_is_stale() -> None:
    tree = (
        Tree.root_only("r")
        .expand("P0", {"P1": "a", "P2": "b"})
        .with_rule("P0", LinearRule(0, {"P1": 0.5, "P2": 0.5}))
    )
    answer = resynthesize(tree, {"P1": 0.5})
    assert (answer.before, answer.after, answer.stale) == (None, None, ())
    assert resynthesize(answer.tree, {"P2": 0.5}).after == 0.5


def chain(depth: int) -> Tree:
    rows, name = (
        [Proposition(id="P0", statement="s0", children=("P1",), rule=LinearRule(0.0, {"P1": 1.0}))],
        "P1",
    )
    for level in range(1, depth + 1):
        below = f"{name}.1"
        if level < depth:
            rows.append(
                Proposition(
                    id=name, statement=f"s{level}", children=(below,), rule=LinearRule(0.0, {below: 1.0})
                )
            )
        else:
            rows.append(Proposition(id=name, statement=f"s{level}", belief=Belief(p=0.5)))
        name = below
    return settle(Tree(rows))


def test_a_chain_deeper_than_the_recursion_limit_is_evaluated_and_edited() -> None:
    depth = 5_000
    assert sys.getrecursionlimit() < depth
    tree = chain(depth)
    leaf = tree.leaves()[0]
    assert tree.root.p == 0.5
    answer = resynthesize(tree, {leaf: 0.75})
    assert answer.after == 0.75 and len(answer.changed) == depth + 1
    assert path_weights(tree)[leaf] == 1.0 and tornado(tree)[0].high == 1.0
