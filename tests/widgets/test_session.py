import threading

import pytest

from tests.fakes.screens import demo_tree
from workbench.errors import UsageError
from workbench.propositions import Belief, Tree
from workbench.propositions.edits import RemoveNode, SetValue
from workbench.synthesis import LinearRule, resynthesize, rule_from_json, rule_names, settle
from workbench.whatif.typed_values import parse_probability
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
    changed = session.edit("P2.1", "0.0")
    assert [row["id"] for row in changed] == ["P0", "P2", "P2.1"]
    assert all(session.rows[node] == before[node] for node in ("P1", "P1.1", "P1.2", "P2.2", "P2.3", "P3"))


def test_the_root_falls_by_path_weight_times_p() -> None:
    # path weight 0.25 * 0.80 = 0.20, p 0.5: exactly 0.10 (FEATURES A12)
    session = WhatIfSession(demo_tree())
    session.edit("P2.1", "0")
    assert session.now.before is not None and session.now.after is not None
    assert session.now.before - session.now.after == pytest.approx(0.10, abs=1e-12)


def test_many_edits_equal_one_resynthesis_in_any_order() -> None:
    edits = {"P2.1": 0.9, "P1.2": 0.1, "P3": 0.66}
    forward, backward = WhatIfSession(demo_tree()), WhatIfSession(demo_tree())
    for node, p in edits.items():
        forward.edit(node, str(p))
    for node, p in reversed(edits.items()):
        backward.edit(node, str(p))
    expected = resynthesize(demo_tree(), edits)
    assert forward.now.after == backward.now.after == expected.after
    assert forward.rows == backward.rows


def test_an_edited_inner_node_is_pinned_and_its_children_lose_their_say() -> None:
    session = WhatIfSession(demo_tree())
    session.edit("P1", "0.9")
    assert [mark["name"] for mark in session.rows["P1"]["marks"]] == ["pinned"]
    assert session.rows["P1.1"]["inert"] and not session.rows["P2.1"]["inert"]
    root = session.now.after
    session.edit("P1.1", "0.0")
    assert session.now.after == root


def test_reset_unpins_and_brings_back_every_row() -> None:
    session = WhatIfSession(demo_tree())
    before = dict(session.rows)
    session.edit("P1", "0.9")
    session.reset("P1")
    assert session.rows == before and session.values == {}


def test_reset_all_takes_every_edit_back() -> None:
    session = WhatIfSession(demo_tree())
    before = dict(session.rows)
    session.edit("P1", "0.9")
    session.edit("P2.1", "0.1")
    session.reset_all()
    assert session.rows == before


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


def test_the_number_of_before_the_edits_resets_a_row_and_is_one_step_of_undo() -> None:
    session = WhatIfSession(rounded_tree())
    before = dict(session.rows)
    session.edit("P1", "0.2")
    session.edit("P1", "0.7153")
    assert session.edits == () and session.rows == before
    session.undo()
    assert session.values == {"P1": 0.2}


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


@pytest.mark.parametrize(
    ("typed", "p"), [("0", 0.0), ("1", 1.0), (" .25 ", 0.25), ("35%", 0.35), (0.5, 0.5), ("1e-3", 0.001)]
)
def test_numbers_from_0_to_1_are_read(typed: object, p: float) -> None:
    assert parse_probability(typed) == p


def test_an_unknown_node_is_refused() -> None:
    with pytest.raises(UsageError, match="no driver 'P9'"):
        WhatIfSession(demo_tree()).edit("P9", "0.5")


def test_a_value_held_at_its_bound_is_marked_saturated() -> None:
    tree = Tree.root_only("Rates are cut").expand("P0", {"P1": "Growth slows", "P2": "Prices jump"})
    tree = tree.with_belief("P1", Belief(p=0.6)).with_belief("P2", Belief(p=0.2))
    session = WhatIfSession(settle(tree.with_rule("P0", LinearRule(0.0, {"P1": 0.9, "P2": -0.8}))))
    session.edit("P1", "0.0")
    row = session.rows["P0"]
    assert row["text"] == "0.0%"
    assert [(mark["name"], mark["why"]) for mark in row["marks"]] == [
        ("saturated", "the rule gives -0.160; it is held inside 0 to 1")
    ]


@pytest.mark.skipif("vanilla" not in rule_names(), reason="no vanilla rule in this build")
def test_a_node_without_a_formula_turns_stale_and_shows_no_number() -> None:
    tree = (
        Tree.root_only("Rates are cut").expand("P0", {"P1": "Growth slows"}).with_belief("P1", Belief(p=0.6))
    )
    session = WhatIfSession(tree.with_rule("P0", rule_from_json({"name": "vanilla"}), Belief(p=0.5)))
    session.edit("P1", "0.1")
    row = session.rows["P0"]
    assert (row["text"], row["base_text"], row["stale"]) == ("–", "50.0%", True)
    session.reset("P1")
    assert session.rows["P0"]["text"] == "50.0%"


def test_a_new_edit_forgets_what_was_taken_back() -> None:
    session = WhatIfSession(demo_tree())
    session.edit("P3", "0.6")
    session.undo()
    assert session.can_redo
    session.edit("P2.1", "0.1")
    assert not session.can_redo and session.redo() == [] and session.values == {"P2.1": 0.1}


def test_a_removed_branch_takes_the_values_set_in_it_along() -> None:
    session = WhatIfSession(demo_tree())
    for node in ("P2", "P2.1", "P3"):
        session.edit(node, "0.2")
    session.change([RemoveNode(node="P2")])
    assert session.values == {"P3": 0.2} and "P2" not in session.tree


def test_a_value_that_an_answer_came_on_top_of_is_taken_back_too() -> None:
    session = WhatIfSession(demo_tree())
    session.edit("P1", "0.9")
    session.take_answer([SetValue(node="P3", p=0.4)])
    assert session.tree["P1"].pinned and session.values == {}
    session.reset("P1")
    assert not session.tree["P1"].pinned
    assert session.now.after == resynthesize(demo_tree(), {"P3": 0.4}).after


def test_an_ungrounded_tree_shows_dashes() -> None:
    session = WhatIfSession(Tree.root_only("Rates are cut").expand("P0", {"P1": "Growth slows"}))
    assert [row["text"] for row in session.rows.values()] == ["–", "–"]
    assert session.rows["P1"]["value"] == ""


def test_edits_from_two_threads_lose_nothing() -> None:
    session = WhatIfSession(demo_tree())
    seen: list[float | None] = []
    session.subscribe(lambda: seen.append(session.now.after))

    def work(node: str) -> None:
        for step in range(40):
            session.edit(node, str(step / 50))

    threads = [threading.Thread(target=work, args=(node,)) for node in ("P1.1", "P2.1", "P3")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    last = {"P1.1": 0.78, "P2.1": 0.78, "P3": 0.78}
    assert session.values == last
    assert session.now.after == resynthesize(demo_tree(), last).after == seen[-1]
    assert len(seen) == 120
