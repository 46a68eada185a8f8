import copy
import pickle
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.propositions.strategies import bare_trees, grounded_trees
from workbench.errors import UsageError
from workbench.propositions import (
    ROOT,
    Belief,
    CycleError,
    DuplicateId,
    DuplicateStatement,
    IdMismatch,
    NotExpandable,
    OrphanNode,
    Polarity,
    ProbabilityOutOfRange,
    Proposition,
    Tree,
    TreeError,
    TreeFormatError,
    UnknownNode,
    parent_of,
    parse_id,
)


def small() -> Tree:
    tree = Tree.root_only("Rates are cut this year")
    tree = tree.expand("P0", {"P1": "Inflation slows", "P2": "Jobs are lost", "P10": "Banks fail"})
    return tree.expand(
        "P2", {"P2.1": "A hard recession starts", "P2.2": "Claims rise"}, {"P2.1": Polarity.POSITIVE}
    )


def test_every_node_is_found_also_behind_an_earlier_sibling() -> None:
    tree = small()
    assert [tree[node].id for node in ("P1", "P2", "P2.1", "P2.2", "P10")] == [
        "P1",
        "P2",
        "P2.1",
        "P2.2",
        "P10",
    ]
    assert tree.ids() == ("P0", "P1", "P2", "P2.1", "P2.2", "P10")
    assert tree.leaves() == ("P1", "P2.1", "P2.2", "P10")
    assert tree.inner() == ("P0", "P2")
    assert tree.ancestors("P2.1") == ("P2", "P0") and tree.ancestors(ROOT) == ()
    assert [child.id for child in tree.children("P2")] == ["P2.1", "P2.2"]
    assert tree.below("P0") == ("P1", "P2", "P2.1", "P2.2", "P10") and tree.depth == 2


def test_an_unknown_id_names_the_nearest() -> None:
    with pytest.raises(UnknownNode) as caught:
        small()["P2.11"]
    assert "P2.1" in str(caught.value) and not str(caught.value).startswith('"')
    assert isinstance(caught.value, KeyError) and isinstance(caught.value, UsageError)
    assert isinstance(pickle.loads(pickle.dumps(caught.value)), UnknownNode)


@given(bare_trees())
def test_ids_are_complete_and_in_natural_depth_first_order(tree: Tree) -> None:
    assert list(tree.ids()) == sorted(tree.ids(), key=parse_id)
    assert set(tree.leaves()) | set(tree.inner()) == set(tree.ids()) == set(tree)
    for node in tree.ids():
        assert tree.parent(node) == parent_of(node)
        assert all(child.id in tree[node].children for child in tree.children(node))
        assert set(tree.below(node)) == {x for x in tree.ids() if node in tree.ancestors(x)}
    assert tree.in_order(reversed(tree.ids())) == tree.ids()


@given(grounded_trees())
def test_json_gives_back_an_equal_tree(tree: Tree) -> None:
    assert Tree.from_json(tree.to_json()) == tree
    assert pickle.loads(pickle.dumps(tree)) == tree == copy.deepcopy(tree)


@pytest.mark.parametrize(
    ("children", "error"),
    [
        ({"P2.1": "x"}, DuplicateId),
        ({"P2.3": "x"}, IdMismatch),
        ({"P1.1.1": "x"}, IdMismatch),
        ({"Px": "x"}, IdMismatch),
        ({"P1.1": "Inflation slows."}, DuplicateStatement),
        ({"P1.1": "a", "P1.2": "A "}, DuplicateStatement),
        ({"P1.1": "  "}, TreeFormatError),
        ({}, NotExpandable),
    ],
)
def test_bad_children_are_refused(children: dict[str, str], error: type[TreeError]) -> None:
    with pytest.raises(error):
        small().expand("P1", children)


def test_only_an_ungrounded_leaf_is_expanded() -> None:
    with pytest.raises(NotExpandable, match="children already"):
        small().expand("P2", {"P2.3": "x"})
    with pytest.raises(NotExpandable, match="has its value already"):
        small().with_belief("P1", Belief(p=0.5)).expand("P1", {"P1.1": "x"})
    with pytest.raises(UnknownNode):
        small().expand("P3", {"P3.1": "x"})
    with pytest.raises(IdMismatch, match="polarity"):
        small().expand("P1", {"P1.1": "x"}, {"P1.2": Polarity.NEGATIVE})


def node(node_id: str, *children: str, parent: object = "by id") -> dict[str, object]:
    row: dict[str, object] = {"id": node_id, "statement": f"statement {node_id}", "children": list(children)}
    return row if parent == "by id" else {**row, "parent": parent}


@pytest.mark.parametrize(
    ("rows", "error"),
    [
        ([node("P0", "P1"), node("P1"), node("P1")], DuplicateId),
        ([node("P0", "P1"), node("P1", parent="P1.1"), node("P1.1", parent="P1")], CycleError),
        ([node("P0", "P1"), node("P1", parent="P1")], CycleError),
        ([node("P0", "P1"), node("P1", "P0")], CycleError),
        ([node("P0", "P1"), node("P1", "P1.1"), node("P1.1", "P1")], CycleError),
        ([node("P0", "P1"), node("P1"), node("P2.1")], OrphanNode),
        ([node("P0"), node("P1")], OrphanNode),
        ([node("P1")], OrphanNode),
        ([node("P0"), node("P1", parent=None)], IdMismatch),
        ([node("P0", "P1", "P2"), node("P1"), node("P2", parent="P1")], IdMismatch),
        ([node("P0", "P1", "P1"), node("P1")], IdMismatch),
        ([node("P0", "P1")], UnknownNode),
        ([node("P0", "P1"), {**node("P1"), "statement": "statement P0"}], DuplicateStatement),
        ([{"id": "P0"}], TreeFormatError),
        ([{**node("P0"), "colour": "red"}], TreeFormatError),
        ([{**node("P0"), "statement": 3}], TreeFormatError),
        ([{**node("P0"), "belief": {"p": 1.2}}], ProbabilityOutOfRange),
        ([{**node("P0"), "belief": {"p": 0.2, "mood": 1}}], TreeFormatError),
        ([{**node("P0"), "rule": {"name": "linear"}}], TreeFormatError),
        ([{**node("P0", "P1"), "polarities": {"P1": "Sideways"}}, node("P1")], TreeFormatError),
        ([], TreeFormatError),
    ],
)
def test_what_is_not_one_tree_is_refused(rows: list[dict[str, object]], error: type[TreeError]) -> None:
    with pytest.raises(error) as caught:
        Tree.from_json({"nodes": rows})
    assert type(caught.value) is error
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("p", [1.2, -0.1, float("nan"), float("inf"), "0.5", None, True])
def test_a_soft_truth_value_lies_in_the_unit_interval(p: object) -> None:
    with pytest.raises(ProbabilityOutOfRange):
        Belief(p=p)  # type: ignore[arg-type]
    with pytest.raises(ProbabilityOutOfRange):
        small().set_p("P1", p)  # type: ignore[arg-type]


def test_edits_leave_the_tree_before_as_it_was() -> None:
    tree = small().with_belief("P1", Belief(p=0.4, report="why"))
    before = tree.to_json()
    edited = tree.set_p("P1", 0.9)
    edited = edited.remove_node("P2.1").add_child("P2", "Wages fall", polarity=Polarity.NEGATIVE)
    edited = edited.restate("P10", "A large bank fails")
    assert tree.to_json() == before
    assert edited["P2"].children == ("P2.2", "P2.3") and edited["P2"].refit_due
    assert edited["P2"].polarities == {"P2.3": Polarity.NEGATIVE}
    assert edited["P1"].belief == Belief(p=0.9, report="why", source="analyst")
    assert edited["P1"].model_belief == Belief(p=0.4, report="why")
    assert edited.unpin("P1")["P1"] == tree["P1"]


def test_a_pinned_inner_node_keeps_the_models_value_beside() -> None:
    tree = small().with_belief("P2", Belief(p=0.3))
    pinned = tree.set_p("P2", 0.8)
    assert pinned["P2"].pinned and not pinned.set_p("P1", 0.1)["P1"].pinned
    regrounded = pinned.with_belief("P2", Belief(p=0.35))
    assert regrounded["P2"].p == 0.8
    assert regrounded.unpin("P2")["P2"].p == 0.35
    assert tree.pin("P2")["P2"].p == 0.3 and tree.pin("P2")["P2"].pinned
    with pytest.raises(TreeError, match="no value"):
        small().pin("P2")


def test_words_that_change_make_the_belief_stale_unless_kept() -> None:
    tree = small().with_belief("P1", Belief(p=0.4))
    assert tree.restate("P1", "Inflation halves")["P1"].p is None
    assert tree.restate("P1", "Inflation slows down", keep_belief=True)["P1"].p == 0.4
    with pytest.raises(DuplicateStatement):
        tree.restate("P1", "Jobs are lost")
    again = tree.restate("P1", "Prices calm").expand("P10", {"P10.1": "Inflation slows"})
    assert again["P10.1"].statement == "Inflation slows"


def test_a_branch_is_removed_whole_and_the_root_never() -> None:
    assert small().remove_node("P2").ids() == ("P0", "P1", "P10")
    with pytest.raises(TreeError, match="the claim itself"):
        small().remove_node("P0")


def test_values_cannot_smuggle_in_another_shape() -> None:
    with pytest.raises(TreeError, match="expand"):
        small().with_propositions([Proposition(id="P1", statement="Other words")])


@given(grounded_trees(), st.data())
@settings(max_examples=50)
def test_removing_what_was_added_restores_the_shape(tree: Tree, data: st.DataObject) -> None:
    parent = data.draw(st.sampled_from(tree.ids()))
    grown = tree.add_child(parent, "an added statement")
    (new,) = set(grown) - set(tree)
    assert grown[new].statement == "an added statement"
    assert grown.remove_node(new).ids() == tree.ids()


def test_chains_of_thousands_need_no_recursion() -> None:
    depth = 5_000
    rows = [Proposition(id="P0", statement="s0", children=("P1",))]
    name = "P1"
    for level in range(1, depth + 1):
        below = f"{name}.1"
        rows.append(Proposition(id=name, statement=f"s{level}", children=(below,) if level < depth else ()))
        name = below
    assert sys.getrecursionlimit() < depth
    tree = Tree(reversed(rows))
    assert len(tree) == depth + 1 and tree.depth == depth and len(tree.leaves()) == 1
    assert len(tree.ancestors(tree.leaves()[0])) == depth
    assert Tree.from_json(tree.to_json()) == tree


def test_a_branch_in_local_ids_is_grafted_back_under_its_leaf() -> None:
    tree = small()
    branch = Tree.root_only("whatever the sub-analysis calls it").expand(
        "P0", {"P1": "Output falls", "P2": "Spending falls"}, {"P2": Polarity.NEGATIVE}, "both feed it"
    )
    branch = branch.expand("P2", {"P2.1": "Wages fall"})
    whole = tree.graft("P2.1", branch)
    assert whole.below("P2.1") == ("P2.1.1", "P2.1.2", "P2.1.2.1")
    assert whole["P2.1"].statement == "A hard recession starts"
    assert whole["P2.1"].polarities == {"P2.1.2": Polarity.NEGATIVE}
    assert whole["P2"].polarities == tree["P2"].polarities
    assert [whole[node].statement for node in whole.below("P2.1")] == [
        "Output falls",
        "Spending falls",
        "Wages fall",
    ]
    assert whole["P2.1"].causality == "both feed it"
    with pytest.raises(DuplicateStatement):
        tree.graft("P2.1", Tree.root_only("x").expand("P0", {"P1": "Claims rise"}))
    with pytest.raises(NotExpandable):
        tree.graft("P2", branch)
