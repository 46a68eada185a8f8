"""Marks that an evaluation leaves: stale where a value is missing, saturated where a rule leaves [0, 1] on either side."""

from dataclasses import replace

import pytest

from workbench.propositions import Belief, Tree
from workbench.synthesis import LinearRule, VanillaRule, evaluate, play, resynthesize, settle
from workbench.synthesis.whatif.edits import SetValue
from workbench.synthesis.whatif.evaluation import is_saturated


def three(rule: LinearRule, p1: float = 0.8, p2: float = 0.5) -> Tree:
    tree = Tree.root_only("r").expand("P0", {"P1": "a", "P2": "b"})
    tree = tree.with_belief("P1", Belief(p=p1)).with_belief("P2", Belief(p=p2))
    return settle(tree.with_rule("P0", rule))


def test_a_settled_node_that_loses_a_childs_value_is_stale_and_keeps_its_words() -> None:
    tree = three(LinearRule(0.0, {"P1": 0.5, "P2": 0.2}))
    assert tree.root.p == 0.5 and not tree.root.stale
    bare = settle(tree.with_propositions([replace(tree["P1"], belief=None)]))
    assert bare.root.stale and bare.root.p is None and bare.root.belief == tree.root.belief
    assert settle(bare) == bare
    # and is brought up to date as soon as the value is back
    back = settle(bare.with_belief("P1", Belief(p=1.0)))
    assert not back.root.stale and back.root.p == pytest.approx(0.6)


def test_staleness_climbs_through_a_node_without_a_function() -> None:
    tree = three(LinearRule(0.0, {"P1": 0.5, "P2": 0.2}), 0.8, 0.5)
    below = Tree([*tree.propositions()]).add_child("P2", "c").set_p("P2.1", 0.4)
    held = below.with_rule("P2", VanillaRule(), Belief(p=0.3))
    assert settle(held).root.p == pytest.approx(0.46)
    stale = settle(held.with_propositions([replace(held["P2"], stale=True)]))
    assert stale["P2"].stale and stale.root.stale


@pytest.mark.parametrize(
    ("rule", "raw", "value", "saturated"),
    [
        (LinearRule(-0.1, {"P1": 0.1, "P2": -0.4}), -0.22, 0.0, True),
        (LinearRule(0.1, {"P1": 1.0, "P2": 0.5}), 1.15, 1.0, True),
        (LinearRule(0.0, {"P1": 0.5, "P2": -0.8}), 0.0, 0.0, False),
        (LinearRule(0.2, {"P1": 1.0, "P2": 0.0}), 1.0, 1.0, False),
        (LinearRule(0.1, {"P1": 0.5, "P2": 0.2}), 0.6, 0.6, False),
    ],
)
def test_a_value_held_at_either_bound_is_saturated(
    rule: LinearRule, raw: float, value: float, saturated: bool
) -> None:
    tree = three(rule)
    here = evaluate(tree)
    assert here.raw["P0"] == pytest.approx(raw, abs=1e-12) and here.root == pytest.approx(value, abs=1e-12)
    assert is_saturated(here.raw["P0"]) == saturated
    again = resynthesize(three(rule, 0.8, 0.1), {"P2": 0.5})
    assert again.saturated == ({"P0": here.raw["P0"]} if saturated else {}) and again.after == here.root


def test_a_later_edit_takes_an_earlier_ones_saturation_back() -> None:
    tree = three(LinearRule(0.1, {"P1": 1.0, "P2": 0.5}), 0.2, 0.2)
    over = [SetValue(node="P1", p=1.0), SetValue(node="P2", p=1.0)]
    assert play(tree, over).saturated == {"P0": pytest.approx(1.6)}
    assert play(tree, [*over, SetValue(node="P1", p=0.1)]).saturated == {}
