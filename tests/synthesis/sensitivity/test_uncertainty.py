import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.propositions.strategies import probabilities
from tests.synthesis.exchange.test_export import mixed_trees
from tests.synthesis.strategies import linear_trees, with_leaves
from workbench.propositions import Belief, Tree
from workbench.synthesis import (
    Assumption,
    LinearRule,
    LogicRule,
    NoisyOrRule,
    SensitivityError,
    VanillaRule,
    average_rule,
    evaluate,
    settle,
)
from workbench.synthesis.sensitivity.columns import root_columns
from workbench.synthesis.sensitivity.information import ground_next, value_of_information
from workbench.synthesis.sensitivity.rule_refits import refit_spread
from workbench.synthesis.sensitivity.sampling import beta_columns, beta_shape
from workbench.synthesis.sensitivity.uncertainty import (
    is_linear,
    root_uncertainty,
    source_correlation,
    trial_moments,
)
from workbench.synthesis.whatif.evaluation import reachable_ranges


def two(rule: Any, p1: float = 0.6, p2: float = 0.3) -> Tree:
    tree = Tree.root_only("r").expand("P0", {"P1": "a", "P2": "b"})
    tree = tree.with_belief("P1", Belief(p=p1)).with_belief("P2", Belief(p=p2))
    return settle(tree.with_rule("P0", rule))


@given(st.one_of(linear_trees(), mixed_trees()), st.data())
def test_columns_equal_one_evaluation_per_row(tree: Tree, data: st.DataObject) -> None:
    rows = data.draw(
        st.lists(
            st.lists(probabilities, min_size=len(tree.leaves()), max_size=len(tree.leaves())),
            min_size=1,
            max_size=4,
        )
    )
    columns = {leaf: np.array([row[i] for row in rows]) for i, leaf in enumerate(tree.leaves())}
    roots = root_columns(tree, columns)
    for row, root in zip(rows, roots, strict=True):
        expected = with_leaves(tree, dict(zip(tree.leaves(), row, strict=True))).root.p
        assert root == pytest.approx(expected, abs=1e-9)


def test_a_constant_formula_has_columns_too() -> None:
    tree = two(LogicRule("P1 AND NOT P1"))
    assert root_columns(tree, {"P1": np.array([0.1, 0.5])}).tolist() == [0.0, 0.0]


@given(linear_trees(tame=True), st.data())
def test_the_linear_variance_equals_the_textbook_and_the_shares_sum_to_it(
    tree: Tree, data: st.DataObject
) -> None:
    leaves = tree.leaves()
    p = evaluate(tree).values
    variances = {leaf: (p[leaf] or 0) * (1 - (p[leaf] or 0)) * data.draw(st.floats(0, 1)) for leaf in leaves}
    sources = {leaf: data.draw(st.sets(st.sampled_from("abcd"), max_size=3)) for leaf in leaves}
    rho = source_correlation(sources)
    # the gradient by differences, the covariance matrix in full
    zero = with_leaves(tree, dict.fromkeys(leaves, 0.0)).root.p
    w = (
        np.array([with_leaves(tree, {**dict.fromkeys(leaves, 0.0), leaf: 1.0}).root.p for leaf in leaves])
        - zero
    )
    sd = np.array([math.sqrt(variances[leaf]) for leaf in leaves])
    corr = np.array([[1.0 if a == b else rho.get(frozenset((a, b)), 0.0) for b in leaves] for a in leaves])
    assert np.linalg.eigvalsh(corr).min() > -1e-9 or any(not s for s in sources.values())
    expected = float(w @ (corr * np.outer(sd, sd)) @ w)
    result = root_uncertainty(tree, variances, rho)
    assert result.method == "exact" and result.variance == pytest.approx(max(0, expected), abs=1e-9)
    assert sum(result.shares.values()) == pytest.approx(expected, abs=1e-9)
    assert 0 <= result.low <= result.mean + 1e-9 and result.mean - 1e-9 <= result.high <= 1


def test_the_simulated_variance_of_a_linear_tree_is_the_exact_one() -> None:
    tree = two(LinearRule(0.1, {"P1": 0.5, "P2": 0.4}))
    variances, rho = {"P1": 0.02, "P2": 0.01}, {frozenset(("P1", "P2")): 0.5}
    exact = root_uncertainty(tree, variances, rho)
    assert exact.variance == pytest.approx(
        0.25 * 0.02 + 0.16 * 0.01 + 2 * 0.5 * 0.4 * 0.5 * math.sqrt(0.0002)
    )
    drawn = root_uncertainty(tree, variances, rho, method="monte-carlo", samples=60_000, seed=1)
    assert drawn.variance == pytest.approx(exact.variance, rel=0.03) and drawn.mean == pytest.approx(
        exact.mean, abs=0.002
    )
    assert drawn == root_uncertainty(tree, variances, rho, method="monte-carlo", samples=60_000, seed=1)


def test_logic_is_simulated_and_meets_the_closed_form() -> None:
    tree = two(LogicRule("P1 AND P2"))
    result = root_uncertainty(tree, {"P1": 0.02, "P2": 0.03}, samples=80_000)
    # variance of a product of independent variables
    expected = 0.02 * 0.03 + 0.02 * 0.3**2 + 0.03 * 0.6**2
    assert result.method == "monte-carlo" and result.variance == pytest.approx(expected, rel=0.03)
    first = root_uncertainty(tree, {"P1": 0.02, "P2": 0.03}, method="first-order")
    assert first.variance == pytest.approx(0.02 * 0.3**2 + 0.03 * 0.6**2)


def test_a_rule_that_can_saturate_is_not_linear() -> None:
    assert not is_linear(two(LinearRule(0.1, {"P1": 0.9, "P2": 0.4})))
    assert is_linear(two(LinearRule(0.0, {"P1": 0.5, "P2": 0.5})))
    assert not is_linear(two(NoisyOrRule(0.0, {"P1": 0.5, "P2": 0.5})))


@pytest.mark.parametrize(
    ("variances", "correlation"),
    [
        ({"P1": 0.25}, {}),
        ({"P1": -0.1}, {}),
        ({"P0": 0.1}, {}),
        ({"P1": 0.1, "P2": 0.1}, {frozenset(("P1", "P2")): 1.5}),
        ({"P1": 0.1}, {frozenset(("P1",)): 0.5}),
    ],
)
def test_impossible_inputs_are_refused(
    variances: dict[str, float], correlation: dict[frozenset[str], float]
) -> None:
    with pytest.raises(SensitivityError):
        root_uncertainty(two(average_rule(("P1", "P2"))), variances, correlation)


def test_no_value_no_uncertainty_and_contradicting_correlations_are_refused() -> None:
    with pytest.raises(SensitivityError, match="no value"):
        root_uncertainty(Tree.root_only("r"), {})
    with pytest.raises(SensitivityError, match="cannot all hold"):
        pairs = {frozenset("ab"): 0.9, frozenset("bc"): 0.9, frozenset("ac"): -0.9}
        beta_columns(dict.fromkeys("abc", 0.5), dict.fromkeys("abc", 0.01), pairs, samples=5, seed=0)
    with pytest.raises(SensitivityError):
        beta_shape(0.5, 0.25)


def test_trial_moments_and_source_correlation_by_hand() -> None:
    assert trial_moments({"P1": [0.2, 0.4, 0.6], "P2": [0.5]}) == {"P1": pytest.approx(0.04 / 3)}
    rho = source_correlation({"P1": ["a", "b"], "P2": ["b"], "P3": ["c"], "P4": []})
    assert rho == {frozenset(("P1", "P2")): pytest.approx(1 / math.sqrt(2))}


@given(st.one_of(linear_trees(), mixed_trees()), st.data())
def test_the_root_stays_in_its_reachable_range_and_reaches_its_ends(tree: Tree, data: st.DataObject) -> None:
    spans = {
        leaf: tuple(sorted((data.draw(probabilities), data.draw(probabilities)))) for leaf in tree.leaves()
    }
    low, high = reachable_ranges(tree, spans)["P0"]  # type: ignore[arg-type]
    inside = {leaf: a + (b - a) * data.draw(st.floats(0, 1)) for leaf, (a, b) in spans.items()}
    assert low - 1e-9 <= (with_leaves(tree, inside).root.p or 0) <= high + 1e-9
    if len(spans) <= 5:
        corners = np.array(np.meshgrid(*spans.values())).reshape(len(spans), -1)
        roots = root_columns(tree, dict(zip(spans, corners, strict=True)))
        assert (roots.min(), roots.max()) == (pytest.approx(low, abs=1e-9), pytest.approx(high, abs=1e-9))


def test_what_is_held_does_not_reach_further() -> None:
    tree = two(LinearRule(0.0, {"P1": 0.5, "P2": 0.5}))
    assert reachable_ranges(tree)["P0"] == (0.0, 1.0)
    assert reachable_ranges(tree.set_p("P0", 0.4))["P0"] == (0.4, 0.4)
    assert reachable_ranges(two(LinearRule(0.1, {"P1": 0.9, "P2": -0.5})), raw=True)["P0"] == pytest.approx(
        (-0.4, 1.0)
    )


# -- value of information, against brute force on three hand trees

HAND_TREES = {
    "linear": two(LinearRule(0.1, {"P1": 0.5, "P2": 0.3})),
    "logic": two(LogicRule("P1 AND (NOT P2 OR PA)", Assumption(detail="rest", probability=0.4))),
    "noisy-or": two(NoisyOrRule(0.05, {"P1": 0.7}, {"P2": 0.6})),
}


@pytest.mark.parametrize("name", HAND_TREES)
def test_value_of_information_equals_brute_force(name: str) -> None:
    tree = HAND_TREES[name]
    rows = {row.id: row for row in value_of_information(tree)}
    rule = tree.root.rule
    assert rule is not None
    draws = np.random.default_rng(7)
    size = 400_000
    world = {leaf: (draws.random(size) < (tree[leaf].p or 0)).astype(float) for leaf in ("P1", "P2")}
    truth = (draws.random(size) < rule.columns(world)).astype(float)
    blind = (truth - (tree.root.p or 0)) ** 2
    for leaf, row in rows.items():
        known = np.where(
            world[leaf] == 1, with_leaves(tree, {leaf: 1.0}).root.p, with_leaves(tree, {leaf: 0.0}).root.p
        )
        cut = float((blind - (truth - known) ** 2).mean())
        assert row.resolve == pytest.approx(
            cut, abs=4 * float((blind - (truth - known) ** 2).std()) / math.sqrt(size)
        )


@pytest.mark.parametrize("name", ["linear", "noisy-or"])
def test_another_trial_cuts_the_variance_as_said(name: str) -> None:
    tree = HAND_TREES[name]
    trials = {"P1": [0.5, 0.6, 0.7], "P2": [0.3]}
    (row,) = [row for row in value_of_information(tree, trials, assumed_sd=None) if row.id == "P1"]
    one = 3 * trial_moments({"P1": trials["P1"]})["P1"]
    assert row.trial_sd == pytest.approx(math.sqrt(one)) and row.trials == 3
    slope = ((with_leaves(tree, {"P1": 1.0}).root.p or 0) - (with_leaves(tree, {"P1": 0.0}).root.p or 0)) ** 2
    assert row.reground == pytest.approx(slope * (one / 3 - one / 4))


def test_ground_next_ranks_by_what_a_dollar_buys() -> None:
    tree = HAND_TREES["linear"]
    by_cut = ground_next(value_of_information(tree))
    assert [row.id for row in by_cut] == ["P1", "P2"]
    dear = ground_next(value_of_information(tree, costs={"P1": 10.0, "P2": 0.1}))
    assert [row.id for row in dear] == ["P2", "P1"] and dear[0].per_dollar == pytest.approx(
        (dear[0].reground or 0) / 0.1
    )
    gratis = ground_next(value_of_information(tree, costs={"P1": 0.0, "P2": 0.0}))
    assert [row.id for row in gratis] == ["P1", "P2"] and gratis[0].to_json()["per_dollar"] is None
    bare = Tree.root_only("r").expand("P0", {"P1": "a", "P2": "b"}).with_belief("P1", Belief(p=0.5))
    assert [row.id for row in ground_next(value_of_information(bare))] == ["P2", "P1"]
    with pytest.raises(SensitivityError):
        value_of_information(tree, costs={"P1": -1.0})
    minmax = two(LogicRule("P1 AND P2", norm="minmax"))
    assert value_of_information(minmax)[1].resolve == pytest.approx(0.3 * 0.7 * 0.36)


# -- refits and uncertain weights


def test_refits_show_spread_and_sign_flips() -> None:
    rules = [LinearRule(0.0, {"P1": w, "P2": v}) for w, v in ((0.5, 0.1), (0.4, -0.1), (0.6, 0.2))]
    found = refit_spread(rules, {"P1": 0.5, "P2": 0.5})
    assert found.count == 3 and found.coefficients["P1"].mean == pytest.approx(0.5)
    assert found.coefficients["P1"].sd == pytest.approx(0.1) and not found.coefficients["P1"].flips
    assert found.coefficients["P2"].flips and "P2 changes sign" in found.warnings[0]
    assert found.value.low == pytest.approx(0.15) and found.value.high == pytest.approx(0.4)
    formulas = refit_spread(
        [LogicRule("P1 AND P2"), LogicRule("(P1) and P2"), LogicRule("P1 OR P2")], {"P1": 0.5, "P2": 0.5}
    )
    assert (
        formulas.formulas == {"P1 AND P2": 2, "P1 OR P2": 1}
        and "2 different formulas" in formulas.warnings[0]
    )
    noisy = refit_spread([NoisyOrRule(0.1, {"P1": 0.5}, {"P2": 0.2})], {"P1": 0.5, "P2": 0.5})
    assert noisy.coefficients["P2"].mean == -0.2 and noisy.coefficients["intercept"].sd == 0.0
    for bad in ([], [VanillaRule()], [LinearRule(0, {"P1": 1}), LogicRule("P1")]):
        with pytest.raises(SensitivityError):
            refit_spread(bad, {"P1": 0.5})  # type: ignore[arg-type]
