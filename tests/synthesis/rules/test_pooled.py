"""The rule of a claim that was forecast by its drivers and directly: laws of the logit mean, and the rule of the drivers inside."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.propositions import ROOT, Belief, Polarity, Tree
from workbench.synthesis import (
    LinearRule,
    PooledRule,
    RuleFormatError,
    VanillaRule,
    resynthesize,
    rule_from_json,
    settle,
)
from workbench.whatif.edit_request import EditRequest

CHANCES = st.floats(0.001, 0.999)
SHARES = st.floats(0.0, 1.0)


def logit(p: float) -> float:
    return math.log(p / (1 - p))


def by_hand(direct: float, tree: float, weight: float) -> float:
    return 1 / (1 + math.exp(-((1 - weight) * logit(direct) + weight * logit(tree))))


def linear(weights: tuple[float, float, float]) -> LinearRule:
    return LinearRule(weights[0], {"P1": weights[1], "P2": weights[2]})


def claim(rule: PooledRule, p1: float = 0.5, p2: float = 0.5) -> Tree:
    tree = Tree.root_only("The bill passes").expand(
        ROOT, {"P1": "The house votes", "P2": "The president signs"}, dict.fromkeys(("P1", "P2"), Polarity.POSITIVE)
    )  # fmt: skip
    for node, p in (("P1", p1), ("P2", p2)):
        tree = tree.with_belief(node, Belief(p=p))
    return settle(tree.with_rule(ROOT, rule))


@given(CHANCES, CHANCES, SHARES)
def test_it_is_the_logit_mean_by_hand(direct: float, tree: float, weight: float) -> None:
    rule = PooledRule(LinearRule(0.0, {"P1": 1.0}), direct, weight)
    assert rule.evaluate({"P1": tree}) == pytest.approx(by_hand(direct, tree, weight), abs=1e-12)
    assert min(direct, tree) - 1e-12 <= rule.evaluate({"P1": tree}) <= max(direct, tree) + 1e-12


@given(CHANCES, CHANCES)
def test_an_edit_of_the_drivers_moves_the_tree_and_leaves_the_direct_part(p: float, direct: float) -> None:
    base = claim(PooledRule(LinearRule(0.02, {"P1": 0.5, "P2": 0.4}), direct, 0.5))
    edited = resynthesize(base, {"P1": p, "P2": p}).tree
    rule = edited.root.rule
    assert isinstance(rule, PooledRule) and rule.direct == direct
    assert edited.root.p == pytest.approx(by_hand(direct, 0.02 + 0.9 * p, 0.5), abs=1e-12)
    undone = resynthesize(edited, {"P1": 0.5, "P2": 0.5}).tree
    assert undone.root.p == pytest.approx(base.root.p, abs=1e-12)


def test_a_weight_is_edited_inside_and_a_rule_as_a_whole() -> None:
    tree = claim(PooledRule(LinearRule(0.02, {"P1": 0.5, "P2": 0.4}), 0.7, 0.5))
    (weight,) = EditRequest(weights={"P2": 0.1}).edits(tree)
    assert weight.rule == PooledRule(LinearRule(0.02, {"P1": 0.5, "P2": 0.1}), 0.7, 0.5).to_json()
    whole = LinearRule(0.0, {"P1": 1.0, "P2": 0.0}).to_json()
    (rule,) = EditRequest(rules={"P0": whole}).edits(tree)
    assert rule.rule == whole


@pytest.mark.parametrize(
    "data",
    [
        {"name": "pooled", "direct": 0.5, "tree_weight": 0.5},
        {"name": "pooled", "rule": {"name": "linear", "intercept": 0, "weights": {}}, "direct": 0.5},
        {"name": "pooled", "rule": {"name": "vanilla"}, "direct": 1.5, "tree_weight": 0.5},
        {"name": "pooled", "rule": {"name": "vanilla"}, "direct": True, "tree_weight": 0.5},
        {"name": "pooled", "rule": {"name": "vanilla"}, "direct": 0.5, "tree_weight": float("nan")},
        {
            "name": "pooled", "direct": 0.5, "tree_weight": 0.5,
            "rule": {"name": "pooled", "rule": {"name": "vanilla"}, "direct": 0.5, "tree_weight": 0.5},
        },
    ],
)  # fmt: skip
def test_what_is_no_pooled_rule_is_refused(data: dict[str, object]) -> None:
    with pytest.raises(RuleFormatError):
        rule_from_json(data)


def test_rules_without_a_function_and_rules_nobody_has_can_be_inside() -> None:
    pooled = rule_from_json(
        {"name": "pooled", "rule": {"name": "vanilla"}, "direct": 0.5, "tree_weight": 0.5}
    )
    assert pooled == PooledRule(VanillaRule(), 0.5, 0.5) and not pooled.numeric
    stranger = {"name": "pooled", "rule": {"name": "nobodys"}, "direct": 0.5, "tree_weight": 0.5}
    assert rule_from_json(stranger, missing="keep").to_json() == stranger
