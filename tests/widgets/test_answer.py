"""The answer in words and steps: the steps sum to it, whatever the rule, and the sentence says no figure of its own."""

import json
from itertools import permutations
from math import fsum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.screens import demo_tree
from workbench.propositions import Belief, Polarity, Proposition, Rule, Tree
from workbench.synthesis import LinearRule, LogicRule, settle
from workbench.synthesis.rules.noisy_or import NoisyOrRule
from workbench.views.answer import answer_sentence, citation, short_name, waterfall, whole
from workbench.widgets.panels import waterfall_bars

NAMES = ("P1", "P2", "P3")
P = st.floats(0, 1)


def tree_of(rule: Rule, p: list[float], usual: list[float] | None, base: float | None = None) -> Tree:
    """A claim with three drivers; their reports carry base rates where ``usual`` names them."""
    tree = Tree.root_only("The claim holds on 2018-12-31").expand(
        "P0",
        {name: f"Driver {name} holds on 2018-12-31" for name in NAMES},
        dict.fromkeys(NAMES, Polarity.POSITIVE),
        "",
    )
    for place, name in enumerate(NAMES):
        record = "" if usual is None else json.dumps({"base_rate": usual[place]})
        tree = tree.with_belief(name, Belief(p=p[place], key_factor="", report=record))
    words = Belief(p=0.5, key_factor="", report="" if base is None else json.dumps({"base_rate": base}))
    return settle(tree.with_rule("P0", rule, words))


RULES: list[Rule] = [
    LinearRule(0.1, {"P1": 0.3, "P2": 0.2, "P3": 0.35}),
    NoisyOrRule(0.1, {"P1": 0.4, "P2": 0.7}, {"P3": 0.5}),
    LogicRule("(P1 AND NOT P2) OR P3", None),
]


@given(
    rule=st.sampled_from(RULES),
    p=st.lists(P, min_size=3, max_size=3),
    usual=st.none() | st.lists(P, min_size=3, max_size=3),
    base=P,
)
def test_the_steps_sum_to_the_answer(
    rule: Rule, p: list[float], usual: list[float] | None, base: float
) -> None:
    tree = tree_of(rule, p, usual, base)
    steps = waterfall(tree)
    assert steps is not None and steps.from_base_rate == (usual is not None)
    assert steps.end == tree.root.p
    total = fsum([steps.start, *(step.points for step in steps.steps), steps.rest])
    assert total == pytest.approx(steps.end, abs=1e-12)
    if usual is None:  # all counts from 50 %, and nothing is left unexplained
        assert steps.rest == pytest.approx(0, abs=1e-12)
    else:
        assert steps.start == base
    bars = waterfall_bars(steps)
    assert [bar.width for bar in bars if bar.points is None] == [0, 0]  # a level on a cut axis has no length
    assert all(-1e-9 <= bar.left <= bar.left + bar.width <= 1 + 1e-9 for bar in bars)


@given(p=st.lists(P, min_size=3, max_size=3), usual=st.lists(P, min_size=3, max_size=3))
def test_a_step_is_the_average_over_the_orders_in_which_drivers_change(
    p: list[float], usual: list[float]
) -> None:
    rule = RULES[1]
    steps = waterfall(tree_of(rule, p, usual, 0.5))
    assert steps is not None
    moved = dict.fromkeys(NAMES, 0.0)
    for order in permutations(range(3)):
        point = dict(zip(NAMES, usual, strict=True))
        for place in order:
            before = rule.evaluate(point)
            point[NAMES[place]] = p[place]
            moved[NAMES[place]] += (rule.evaluate(point) - before) / 6
    for step in steps.steps:
        assert step.points == pytest.approx(moved[step.node], abs=1e-12)


def test_a_driver_at_what_is_usual_for_it_moves_nothing() -> None:
    steps = waterfall(tree_of(RULES[0], [0.7, 0.4, 0.2], [0.7, 0.4, 0.2], 0.42))
    assert steps is not None and [step.points for step in steps.steps] == [0, 0, 0]


def test_the_sentence_names_what_moves_the_answer_most_and_says_what_nobody_explains() -> None:
    tree = tree_of(RULES[0], [0.9, 0.2, 0.5], [0.5, 0.5, 0.5], 0.6)
    assert answer_sentence(tree, 0.6) == (
        "58 %, about what history says (60 %); most for it: Driver P1 holds (90 %); most against it: Driver P2 holds "
        "(20 %); no driver explains 8 points of the gap."
    )
    assert answer_sentence(tree, 0.2).startswith("58 %, 38 points above what history says (20 %)")
    assert answer_sentence(tree, None).startswith("58 %; most for it")
    assert answer_sentence(Tree.root_only("Nobody knows"), None) == "No answer yet."


def test_without_a_formula_there_are_no_steps_and_the_sentence_still_stands() -> None:
    alone = Tree.root_only("It rains on 2018-12-31").with_belief(
        "P0", Belief(p=0.3, key_factor="", report="")
    )
    assert waterfall(alone) is None
    assert answer_sentence(alone, 0.31) == "30 %, about what history says (31 %)."


@given(P)
def test_a_share_in_whole_percents_never_reads_as_certain_unless_it_is(p: float) -> None:
    assert (whole(p) in ("0 %", "100 %")) == (p in (0.0, 1.0)) or whole(p) in ("0.0 %", "100.0 %")


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("WTI crude oil closes higher on 2018-12-31 than on 2018-06-29", "WTI crude oil closes higher"),
        ("The index closes higher on 2018-09-28 than on 2018-06-29", "The index closes higher on 2018-09-28"),
        ("The VIX closes at or below 16 on 2018-12-31", "The VIX closes at or below 16"),
        ("The S&P 500 never closes 5 % lower through 2018-12-31", "The S&P 500 never closes 5 % lower"),
        ("A trade war breaks out", "A trade war breaks out"),
    ],
)
def test_a_short_name_leaves_out_the_dates_that_the_claim_names(statement: str, name: str) -> None:
    claim = "The S&P 500 closes higher on 2018-12-31 than on 2018-06-29"
    assert short_name(Proposition(id="P1", statement=statement), claim) == name


def test_a_citation_names_number_base_rate_cutoff_run_and_hash() -> None:
    document = {
        "root": {"p": demo_tree().root.p},
        "base_rate": 0.742,
        "statement": "It holds",
        "cutoff": "2018-06-30",
        "run_id": "20180630-120000-5b50",
        "manifest_id": "sha256:0123456789abcdef",
    }
    assert citation(document) == (
        "It holds: 66 % (base rate 74 %), as of 2018-06-30, run 20180630-120000-5b50, sha256:0123456789ab"
    )
