import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.synthesis.strategies import linear_trees
from workbench.propositions import Belief, Polarity, Tree
from workbench.synthesis import LinearRule, LogicRule, NoisyOrRule, SensitivityError, settle
from workbench.synthesis.coherence.findings import (
    NestedClaims,
    check_forecasts,
    check_nested,
    check_statements,
    check_tree,
    find_nested,
)


def test_thresholds_and_dates_nest() -> None:
    statements = {
        "x": "The VIX closes above 20 on 2018-12-31",
        "y": "the VIX closes above 15.5 on 2018-12-31.",
        "z": "The VIX closes above 25 on 2018-12-31",
        "u": "Rates are cut by 2018-09-30",
        "v": "Rates are cut by 2018-12-31",
        "w": "Oil falls below $50 in May",
        "q": "Oil falls below $60 in May",
        "n": "The VIX does not close above 20 by 2018-12-31",
        "m": "The VIX does not close above 20 by 2018-11-30",
        "s": "The VIX stays above 20 by 2018-12-31",
        "t": "The VIX stays above 20 by 2018-11-30",
    }
    groups = find_nested(statements)
    assert groups == [
        NestedClaims(ids=("z", "x", "y"), what="threshold"),
        NestedClaims(ids=("u", "v"), what="date"),
        NestedClaims(ids=("w", "q"), what="threshold"),
    ]
    p = {"x": 0.3, "y": 0.4, "z": 0.35, "u": 0.5, "v": 0.4, "w": 0.2, "q": 0.2}
    found = check_nested(groups, p)
    assert [(f.ids, round(f.gap or 0, 12)) for f in found] == [(("z", "x"), -0.05), (("u", "v"), -0.1)]


def test_numbers_that_are_names_are_no_thresholds() -> None:
    assert (
        find_nested({"a": "The S&P 500 closes above its mean", "b": "The S&P 400 closes above its mean"})
        == []
    )
    assert find_nested(
        {"a": "GDP is between above 2 and below 3", "b": "GDP is between above 2 and below 4"}
    ) == [NestedClaims(ids=("a", "b"), what="threshold")]


def test_repeated_and_negated_siblings_are_found_by_their_words() -> None:
    found = check_statements(
        {
            "P1": "The labour market weakens in 2018",
            "P2": "the labour markets weakens in 2018.",
            "P3": "The labour market does not weaken in 2018",
            "P4": "The labour market strengthens in 2018",
            "P5": "Oil closes above 50",
            "P6": "Oil closes below 50",
            "P7": "Oil closes below 60",
        }
    )
    kinds = {f.ids: f.kind for f in found}
    assert kinds[("P1", "P2")] == "duplicate"
    assert kinds[("P1", "P4")] == "negated" and kinds[("P5", "P6")] == "negated"
    assert ("P6", "P7") not in kinds
    assert {f.kind for f in check_statements({"a": "Banks fail", "b": "Banks do not fail"})} == {"negated"}


def test_a_sign_against_its_polarity_is_found_for_every_rule() -> None:
    tree = Tree.root_only("r").expand(
        "P0", {"P1": "growth", "P2": "war"}, {"P1": Polarity.POSITIVE, "P2": Polarity.NEGATIVE}
    )
    tree = tree.with_belief("P1", Belief(p=0.6)).with_belief("P2", Belief(p=0.3))
    for good in (
        LinearRule(0, {"P1": 0.5, "P2": -0.1}),
        LogicRule("P1 AND NOT P2"),
        NoisyOrRule(0, {"P1": 1.0}, {"P2": 0.5}),
    ):
        assert check_tree(settle(tree.with_rule("P0", good))) == []
    for bad in (
        LinearRule(0, {"P1": 0.5, "P2": 0.1}),
        LogicRule("P1 AND P2"),
        NoisyOrRule(0, {"P1": 1.0, "P2": 0.5}),
    ):
        (finding,) = check_tree(settle(tree.with_rule("P0", bad)))
        assert finding.kind == "polarity" and finding.ids == ("P0", "P2") and (finding.gap or 0) > 0


def test_a_held_parent_outside_the_frechet_bounds_is_found() -> None:
    tree = Tree.root_only("r").expand("P0", {"P1": "growth", "P2": "peace"})
    tree = tree.with_belief("P1", Belief(p=0.8)).with_belief("P2", Belief(p=0.7))
    tree = settle(tree.with_rule("P0", LogicRule("P1 AND P2")))
    assert check_tree(tree) == [] == check_tree(tree.set_p("P0", 0.69)) == check_tree(tree.set_p("P0", 0.51))
    (finding,) = check_tree(tree.set_p("P0", 0.9))
    assert finding.kind == "frechet" and finding.gap == pytest.approx(0.2)
    assert check_tree(tree.set_p("P0", 0.4))[0].gap == pytest.approx(-0.1)


@given(linear_trees())
def test_a_tree_made_with_its_polarities_has_no_polarity_finding(tree: Tree) -> None:
    assert [f for f in check_tree(tree) if f.kind in ("polarity", "frechet")] == []


def test_across_forecasts() -> None:
    p = {"a": 0.6, "b": 0.6, "c": 0.2, "d": 0.6}
    words = {
        "a": "Banks fail",
        "b": "Banks do not fail",
        "c": "Oil closes above 50",
        "d": "Oil closes above 60",
    }
    found = check_forecasts(p, words, exclusive=[("a", "b")])
    assert [f.kind for f in found] == ["exclusive", "nested", "negated"]
    assert found[2].gap == pytest.approx(0.2) and found[0].to_json()["ids"] == ["a", "b"]
    with pytest.raises(SensitivityError, match="no forecast z"):
        check_forecasts(p, exclusive=[("a", "z")])


@given(st.lists(st.floats(0, 1), min_size=2, max_size=6))
def test_sorted_probabilities_are_never_incoherent(values: list[float]) -> None:
    keys = tuple(f"k{i}" for i in range(len(values)))
    assert (
        check_nested([NestedClaims(ids=keys, what="threshold")], dict(zip(keys, sorted(values), strict=True)))
        == []
    )
