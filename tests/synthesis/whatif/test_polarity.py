"""The polarity of a proposition as an edit of its own: what it does to the rule above, and that it can be taken back."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.synthesis.exchange.test_export import mixed_trees
from workbench.propositions import Belief, Polarity, Rule, Tree, TreeError
from workbench.synthesis import (
    LinearRule,
    VanillaRule,
    settle,
)
from workbench.synthesis.whatif.edits import SetPolarity, full_plan, play

sides = st.sampled_from(Polarity)


@given(mixed_trees(8), sides, st.data())
@settings(max_examples=60)
def test_after_the_edit_the_rule_says_what_is_stated(tree: Tree, side: Polarity, data: st.DataObject) -> None:
    below = [node for node in tree.ids() if node != "P0"]
    if not below:
        return
    node = data.draw(st.sampled_from(below))
    after = play(tree, [SetPolarity(node=node, polarity=side)]).tree
    parent = tree.parent(node)
    assert parent is not None
    above = after[parent]
    assert above.polarities[node] is side
    assert tree.to_json() != after.to_json() or tree[parent].polarities.get(node) is side
    if above.rule is None or not above.rule.numeric or node not in above.rule.named_children():
        return
    slope = above.rule.derivative(dict.fromkeys(above.children, 0.5)).get(node, 0.0)
    assert slope >= -1e-12 if side is Polarity.POSITIVE else slope <= 1e-12
    # the same again changes nothing more
    assert play(after, [SetPolarity(node=node, polarity=side)]).tree == after


def small_tree(rule: Rule) -> Tree:
    tree = Tree.root_only("r").expand("P0", {"P1": "a", "P2": "b"}, {"P1": Polarity.POSITIVE})
    for leaf, p in {"P1": 0.8, "P2": 0.4}.items():
        tree = tree.with_belief(leaf, Belief(p=p))
    return settle(tree.with_rule("P0", rule, Belief(p=0.7)))


def test_a_proposition_that_turns_counts_as_its_negation_with_the_same_weight() -> None:
    tree = small_tree(LinearRule(0.1, {"P1": 0.5, "P2": 0.3}))
    answer = play(tree, [SetPolarity(node="P1", polarity=Polarity.NEGATIVE)])
    assert answer.tree["P0"].rule == LinearRule(0.6, {"P1": -0.5, "P2": 0.3})
    assert answer.after == pytest.approx(0.1 + 0.5 * (1 - 0.8) + 0.3 * 0.4)
    assert [change.id for change in answer.changed] == ["P0", "P1"]
    assert full_plan(answer.tree, [SetPolarity(node="P1", polarity=Polarity.NEGATIVE)]) == ("P0",)


def test_without_a_function_the_parent_waits_for_a_synthesis() -> None:
    answer = play(small_tree(VanillaRule()), [SetPolarity(node="P1", polarity=Polarity.NEGATIVE)])
    assert answer.after is None and answer.stale == ("P0",)


def test_the_root_has_no_polarity() -> None:
    with pytest.raises(TreeError, match="the claim has no polarity"):
        play(small_tree(VanillaRule()), [SetPolarity(node="P0", polarity=Polarity.NEGATIVE)])
