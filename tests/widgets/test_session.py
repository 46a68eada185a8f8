import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.screens import demo_tree
from workbench.errors import UsageError
from workbench.formatting import percent
from workbench.propositions import Belief, Tree
from workbench.synthesis import LinearRule, resynthesize, settle
from workbench.synthesis.whatif.edits import RemoveNode, SetRule
from workbench.widgets.edits.edit_session import WhatIfSession

GROUNDED = 0.715278


def rounded_tree() -> Tree:
    """A leaf whose field shows fewer decimals than it has."""
    tree = Tree.root_only("Rates are cut").expand("P0", {"P1": "Growth slows"})
    tree = tree.with_belief("P1", Belief(p=GROUNDED))
    return settle(tree.with_rule("P0", LinearRule(0.0, {"P1": 0.9})))


def test_an_edited_leaf_moves_its_ancestors_and_nothing_else() -> None:
    session = WhatIfSession(demo_tree())
    before = dict(session.rows)
    session.edit("P2.1", "0.0")
    assert session.changed == {"P0", "P2", "P2.1"}
    assert all(session.rows[node] == before[node] for node in ("P1", "P1.1", "P1.2", "P2.2", "P2.3", "P3"))


@pytest.mark.parametrize(
    "typed", ["1.2", "-0.1", "abc", "", "nan", "inf", "0,5", "120%", "1_0", None, "0x1", "1e400"]
)
def test_what_is_no_probability_is_refused_and_changes_nothing(typed: object) -> None:
    session = WhatIfSession(demo_tree())
    session.edit("P3", "0.6")
    before = dict(session.rows)
    with pytest.raises(UsageError, match="is not a probability: type a number from 0 to 1"):
        session.edit("P2.1", typed)
    assert session.rows == before and session.values == {"P3": 0.6}


@pytest.mark.parametrize(
    ("typed", "edited"),
    [
        (" 0.7153 ", False),
        ("71.53%", False),
        ("71.5%", False),  # the row's own percentage
        (str(GROUNDED), False),
        ("0.7152", True),
        ("71.52%", True),
        ("0.715", True),
        (f"{GROUNDED + 1e-6:.8f}", True),  # more decimals than the field shows: somebody means it
    ],
)
def test_the_number_that_a_row_shows_is_no_edit_however_it_is_rounded(typed: str, edited: bool) -> None:
    session = WhatIfSession(rounded_tree())
    before = dict(session.rows)
    session.edit("P1", typed)
    assert bool(session.edits) is session.can_undo is edited
    assert (session.rows == before) is not edited


def test_an_inner_node_is_pinned_at_its_number_of_before_where_that_is_not_what_follows_from_its_children() -> (
    None
):
    session = WhatIfSession(demo_tree())
    shown = session.rows["P1"]["value"]
    session.edit("P1.1", "0.01")
    assert session.rows["P1"]["value"] != shown
    session.edit("P1", shown)
    assert session.tree["P1"].pinned and session.rows["P1"]["value"] == shown
    session.reset("P1.1")
    session.edit("P1", "0.9")
    session.edit("P1", shown)  # its children say so again
    assert session.edits == () and not session.tree["P1"].pinned


def test_a_new_edit_forgets_what_was_taken_back() -> None:
    session = WhatIfSession(demo_tree())
    session.edit("P3", "0.6")
    session.undo()
    assert session.can_redo
    session.edit("P2.1", "0.1")
    session.redo()
    assert not session.can_redo and session.values == {"P2.1": 0.1}


def test_a_removed_branch_takes_the_values_set_in_it_along() -> None:
    session = WhatIfSession(demo_tree())
    for node in ("P2", "P2.1", "P3"):
        session.edit(node, "0.2")
    session.change([RemoveNode(node="P2")])
    assert session.values == {"P3": 0.2} and "P2" not in session.tree


def test_a_value_that_an_answer_came_on_top_of_is_taken_back_too() -> None:
    session = WhatIfSession(demo_tree())
    session.edit("P1", "0.9")
    rule = demo_tree()["P0"].rule
    assert rule is not None
    session.open((*session.edits, SetRule(node="P0", rule=rule.to_json())))
    assert session.tree["P1"].pinned and session.values == {}
    session.reset("P1")
    assert not session.tree["P1"].pinned
    assert session.now.after == resynthesize(demo_tree(), {}).after


def test_an_ungrounded_tree_shows_dashes() -> None:
    session = WhatIfSession(Tree.root_only("Rates are cut").expand("P0", {"P1": "Growth slows"}))
    assert [row["text"] for row in session.rows.values()] == ["–", "–"]
    assert session.rows["P1"]["value"] == ""


@given(st.lists(st.integers(0, 1000), min_size=2, max_size=2, unique=True).map(sorted))
def test_a_row_shows_the_range_that_was_typed_and_takes_its_own_text_again(ends: list[int]) -> None:
    low, high = (end / 1000 for end in ends)
    session = WhatIfSession(demo_tree())
    session.edit("P3", [low, high])
    row = session.rows["P3"]
    assert row["text"] == f"{100 * low:g}–{100 * high:g}%" and row["p"] == pytest.approx((low + high) / 2)
    edits = session.edits
    session.edit("P3", row["value"])
    assert session.edits == edits
    session.edit("P3", row["p"])
    assert session.rows["P3"]["text"] == percent(row["p"]), "its middle, typed, is a number"
