"""What it would take, and the assumption as a driver: laws over drawn trees, and worked numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.screens import demo_tree
from workbench.errors import UsageError
from workbench.propositions import Belief, Tree
from workbench.synthesis import Assumption, LinearRule, LogicRule, resynthesize, settle
from workbench.synthesis.sensitivity.assumptions import assume, assumed_by, assumption_rows
from workbench.synthesis.sensitivity.required_changes import ways_to_reach
from workbench.whatif.tree_documents import driver_rows, sensitivity_rows


@given(target=st.floats(0, 1))
def test_each_way_leads_to_the_target_when_it_is_played(target: float) -> None:
    tree = demo_tree()
    answer = ways_to_reach(tree, target)
    for way in answer.alone:
        assert resynthesize(tree, {way.id: way.needed}).after == pytest.approx(target, abs=1e-9)
    together = {way.id: way.needed for way in answer.together}
    if answer.share is None:
        assert not answer.low <= target <= answer.high
    else:
        assert resynthesize(tree, together).after == pytest.approx(target, abs=1e-9)


def test_a_leaf_that_cannot_do_it_alone_is_not_named() -> None:
    # P2.1 moves the root by 0.25 x 0.8 = 0.2 at most, from 0.558 to 0.758 (tests/fakes/screens.py): 0.5 is beyond it
    answer = ways_to_reach(demo_tree(), 0.5)
    assert "P2.1" not in {way.id for way in answer.alone}
    assert ways_to_reach(demo_tree(), 0.6).alone


def logic_tree(norm: str = "product", *, naive: bool = False) -> Tree:
    tree = Tree.root_only("Peace holds").expand("P0", {"P1": "Talks go on", "P2": "Aid is paid"})
    for node, p in (("P1", 0.8), ("P2", 0.5)):
        tree = tree.with_belief(node, Belief(p=p))
    rule = LogicRule(
        "(P1 AND P2) OR (P1 AND PA)",
        Assumption(detail="No third party", probability=0.9),
        norm=norm,  # type: ignore[arg-type]
        naive=naive,
    )
    return settle(tree.with_rule("P0", rule))


@given(target=st.floats(0.05, 0.6), norm=st.sampled_from(["product", "minmax"]), naive=st.booleans())
def test_curves_that_are_no_straight_lines_are_searched(target: float, norm: str, naive: bool) -> None:
    tree = logic_tree(norm, naive=naive)
    for way in ways_to_reach(tree, target).alone:
        assert resynthesize(tree, {way.id: way.needed}).after == pytest.approx(target, abs=1e-6)


def test_the_assumption_is_a_row_of_the_tornado() -> None:
    # 0.8 x (1 - 0.5 x (1 - PA)): 0.4 at PA = 0, 0.8 at PA = 1, 0.76 at 0.9 (the class docstring of LogicRule)
    (row,) = assumption_rows(logic_tree())
    assert (row.id, row.p) == ("PA", 0.9)
    assert (row.low, row.high) == (pytest.approx(0.4), pytest.approx(0.8))
    assert row.path_weight == pytest.approx(0.4)
    assert [each.id for each in driver_rows(logic_tree())] == ["P1", "PA", "P2"]
    assert assumption_rows(demo_tree()) == []


def test_an_assumption_of_an_inner_node_moves_the_root_through_its_path() -> None:
    tree = Tree.root_only("A claim holds").expand("P0", {"P1": "A part holds", "P2": "Another part holds"})
    tree = tree.expand("P1", {"P1.1": "The first half of the part holds"})
    for node, p in (("P1.1", 0.5), ("P2", 0.5)):
        tree = tree.with_belief(node, Belief(p=p))
    tree = tree.with_rule("P1", LogicRule("P1.1 AND PA", Assumption(detail="calm", probability=0.5)))
    tree = settle(tree.with_rule("P0", LinearRule(0.1, {"P1": 0.5, "P2": 0.2})))
    (row,) = assumption_rows(tree)
    assert row.id == "P1.PA" and row.path_weight == pytest.approx(0.5 * 0.5)
    pinned = tree.set_p("P1", 0.5)
    assert assumption_rows(pinned) == []  # below a hold nothing moves


def test_names_of_assumptions_are_told_from_those_of_propositions() -> None:
    assert [assumed_by(name) for name in ("PA", "P2.PA", "P2.1", "P1")] == ["P0", "P2", None, None]
    with pytest.raises(UsageError, match="no assumption PA"):
        assume(LinearRule(0.1, {"P1": 0.5}).to_json(), "P0", 0.4)


@given(reference=st.floats(0, 1))
def test_contributions_sum_to_the_distance_from_all_leaves_at_the_reference(reference: float) -> None:
    tree = demo_tree()  # linear, and held at no bound
    rows = sensitivity_rows(tree, reference)
    there = resynthesize(tree, dict.fromkeys(tree.leaves(), reference)).after
    assert sum(row["contribution"] for row in rows) == pytest.approx(
        (tree.root.p or 0) - (there or 0), abs=1e-12
    )
