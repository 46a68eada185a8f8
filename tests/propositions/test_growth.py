import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.propositions.strategies import bare_trees
from workbench.propositions import Belief, Tree, TreeError
from workbench.propositions.growth import next_leaf, recursion_round, trim
from workbench.propositions.ids import child_ids


def branch(name: str, width: int) -> Tree:
    """An analysis in local ids, as a recursive analyzer answers."""
    return Tree.root_only(name).expand("P0", {child: f"{name}/{child}" for child in child_ids("P0", width)})


def test_two_rounds_of_recursion_give_one_tree_with_the_right_ids() -> None:
    tree = branch("root", 8)
    for leaf in recursion_round(tree):
        tree = tree.graft(leaf, branch(leaf, 8))
    assert len(tree.leaves()) == 64 and len(tree) == 73 and tree.depth == 2
    assert tree["P7.3"].statement == "P7/P3" and tree.root.statement == "root"
    assert recursion_round(tree, done=tree.leaves()) == ()
    grounded = tree.with_belief("P1.1", Belief(p=0.5))
    assert "P1.1" not in recursion_round(grounded)


@given(st.integers(1, 100))
def test_sequential_expansion_stops_at_its_target(target: int) -> None:
    tree, done = Tree.root_only("root"), []
    while (leaf := next_leaf(tree, target, done)) is not None:
        done.append(leaf)
        tree = tree.graft(leaf, branch(leaf, 5))
    assert target <= len(tree.leaves()) < target + 5
    depths = [leaf.count(".") for leaf in tree.leaves() if leaf != "P0"]
    assert not depths or max(depths) - min(depths) <= 1


def test_expansion_ends_when_every_leaf_was_tried_and_refuses_no_target() -> None:
    assert next_leaf(branch("root", 3), 10, ["P1", "P2", "P3"]) is None
    with pytest.raises(TreeError):
        next_leaf(Tree.root_only("r"), 0)


@given(bare_trees(), st.integers(1, 12))
def test_trimming_takes_only_the_last_round(tree: Tree, most: int) -> None:
    last = [node for node in tree.ids() if node.count(".") == tree.depth - 1 and node != "P0"]
    try:
        cut = trim(tree, most, last)
    except TreeError:
        return
    assert len(cut.leaves()) <= max(most, 1)
    assert set(tree) - set(cut) <= set(last)
    assert all(tree[node].children == () or cut[node].children for node in cut if node in tree)
    if len(tree.leaves()) <= most:
        assert cut == tree


def test_a_tree_that_cannot_be_cut_back_says_so() -> None:
    with pytest.raises(TreeError, match="cannot be cut back to 2"):
        trim(branch("r", 5), 2, ["P5"])
    assert trim(branch("r", 5), 4, ["P4", "P5"]).leaves() == ("P1", "P2", "P3", "P4")
