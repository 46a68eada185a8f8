"""The answer in words and steps: the steps sum to it, whatever the rule, and the sentence says no figure of its own."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from math import fsum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.screens import demo_tree
from workbench.propositions import Belief, Polarity, Proposition, Rule, Tree
from workbench.synthesis import LinearRule, LogicRule, settle
from workbench.synthesis.rules.noisy_or import NoisyOrRule
from workbench.views.answer import Rest, answer_sentence, citation, rest_words, short_name, waterfall
from workbench.widgets.answer_panel import waterfall_bars

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
    if usual is None:  # all counts from 50 %, and nothing is left
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


def test_the_sentence_names_what_moves_the_answer_most_and_what_the_gap_comes_from() -> None:
    tree = tree_of(RULES[0], [0.9, 0.2, 0.5], [0.5, 0.5, 0.5], 0.6)
    assert answer_sentence(tree, 0.6) == (
        "58.5%, about what history says (60.0%); raised most by: Driver P1 holds (90.0%); lowered most by: Driver P2 holds (20.0%); "
        "the drivers together raise it, and the weighing of its drivers takes that back."
    )
    assert answer_sentence(tree, 0.2).startswith("58.5%, 38.5 points above what history says (20.0%)")
    assert answer_sentence(tree, None).startswith("58.5%; raised most by")
    assert answer_sentence(Tree.root_only("Nobody knows"), None) == "No answer yet."


#: What a sentence says of gap, drivers and rest; with ``verb`` also on which side the drivers are.
SAID: tuple[tuple[str, Callable[[float, float, float], bool]], ...] = (
    (
        r"the drivers together hardly move it: the gap comes from (?P<source>.+)",
        lambda gap, moved, rest: abs(moved) < 0.005,
    ),
    (
        r"more than half of the gap comes from the drivers, the rest from (?P<source>.+)",
        lambda gap, moved, rest: 0.5 < moved / gap < 1,
    ),
    (
        r"less than half of the gap comes from the drivers, the rest from (?P<source>.+)",
        lambda gap, moved, rest: 0 < moved / gap <= 0.5,
    ),
    (
        r"the drivers together (?P<verb>raise|lower) it: the gap comes from (?P<source>.+)",
        lambda gap, moved, rest: moved * gap < 0 < rest * gap,
    ),
    (
        r"the drivers together (?P<verb>raise|lower) it further, and (?P<source>.+) takes a part of that back",
        lambda gap, moved, rest: abs(moved) > abs(gap) and moved * gap > 0 > rest * gap,
    ),
    (
        r"the drivers together (?P<verb>raise|lower) it, and (?P<source>.+) takes that back",
        lambda gap, moved, rest: abs(gap) < 0.03 and moved * rest < 0,
    ),
)


@given(
    rule=st.sampled_from(RULES),
    p=st.lists(P, min_size=3, max_size=3),
    usual=st.lists(P, min_size=3, max_size=3),
    base=P,
    near=st.booleans(),
)
def test_what_a_sentence_says_of_the_gap_is_true_of_every_tree(
    rule: Rule, p: list[float], usual: list[float], base: float, near: bool
) -> None:
    if near:  # a rule that leaves little or nothing, and small gaps, which random numbers seldom give
        at_usual = rule.evaluate(dict(zip(NAMES, usual, strict=True)))
        base = min(1.0, max(0.0, at_usual + (base - 0.5) / 10))
        p = [u + (q - u) / 20 for u, q in zip(usual, p, strict=True)]
    steps = waterfall(tree_of(rule, p, usual, base))
    assert steps is not None and steps.source is Rest.RULE
    gap, moved = steps.end - base, fsum(step.points for step in steps.steps)
    said = rest_words(steps)
    if abs(steps.rest) < 0.02:
        assert said == ""  # the drivers explain it
        return
    found = [(match, holds) for words, holds in SAID if (match := re.fullmatch(words, said))]
    assert len(found) == 1, said
    match, holds = found[0]
    assert holds(gap, moved, steps.rest), (said, gap, moved)
    assert match["source"] == "the weighing of its drivers"
    if "verb" in match.re.groupindex:
        assert match["verb"] == ("raise" if moved > 0 else "lower")
    # No number: a reader finds gap, steps and rest as figures, and they sum.
    assert not re.search(r"\d", said)


def at(tree: Tree, node: str, p: float) -> Tree:
    """The tree with another probability there, as an edit sets it."""
    belief = tree[node].belief
    assert belief is not None
    return tree.with_belief(node, replace(belief, p=p))


def of_the_series(tree: Tree, **forecasts: float) -> Tree:
    """The tree with reports as the key-free analyst writes them: each has the forecast of its own series."""
    for name, forecast in forecasts.items():
        belief = tree[name].belief
        assert belief is not None
        record = {"record": "past outcomes", "base_rate": 0.5, "forecast": forecast}
        tree = tree.with_belief(name, replace(belief, report=json.dumps(record)))
    return tree


def test_the_gap_comes_from_the_paths_of_the_series_only_where_the_rule_was_made_for_their_forecast() -> None:
    p = dict(zip(NAMES, (0.6, 0.2, 0.3), strict=True))
    rule = RULES[0]
    forecast = rule.evaluate(p)
    tree = of_the_series(tree_of(rule, list(p.values()), None), P0=forecast, **p)
    steps = waterfall(tree)
    assert steps is not None and steps.source is Rest.SERIES
    assert "the paths of its own series" in answer_sentence(tree, 0.5)
    assert "the paths of its own series" in [bar.name for bar in waterfall_bars(steps)]
    # A driver that an edit moves changes nothing of that: its forecast is what it was.
    moved = waterfall(settle(at(tree, "P1", 0.9)))
    assert moved is not None and moved.source is Rest.SERIES and moved.rest == pytest.approx(steps.rest)
    other = waterfall(of_the_series(tree, P0=forecast + 0.001))
    assert (
        other is not None and other.source is Rest.RULE
    )  # another rule stands there than the one made for it
    by_hand = at(tree, "P0", 0.9)
    assert answer_sentence(by_hand, 0.5) == (
        "90.0%, 40.0 points above what history says (50.0%); it is the value set at the claim itself, not what its drivers make of it."
    )


def test_without_a_formula_there_are_no_steps_and_the_sentence_still_stands() -> None:
    alone = Tree.root_only("It rains on 2018-12-31").with_belief(
        "P0", Belief(p=0.3, key_factor="", report="")
    )
    assert waterfall(alone) is None
    assert answer_sentence(alone, 0.31) == "30.0%, about what history says (31.0%)."


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
        "It holds: 65.8% (base rate 74.2%), as of 2018-06-30, run 20180630-120000-5b50, sha256:0123456789ab"
    )
