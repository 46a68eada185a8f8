"""The answer in words and steps: the steps sum to it, whatever the rule, and the sentence says no figure of its own."""

import json
import re
from dataclasses import replace
from itertools import permutations
from math import fsum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.propositions import Belief, Polarity, Proposition, Rule, Tree
from workbench.synthesis import LinearRule, LogicRule, settle
from workbench.synthesis.rules.noisy_or import NoisyOrRule
from workbench.views.answer import Rest, Waterfall, answer_sentence, short_name, waterfall
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
    total = fsum([steps.start, *(part.points for part in steps.parts)])
    assert total == pytest.approx(steps.end, abs=1e-5)
    if usual is None:  # all counts from 50 %, and nothing is left
        assert all(part.node for part in steps.parts)
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
    for part in steps.parts:
        if part.node is not None:
            assert part.points == pytest.approx(moved[part.node], abs=1e-12)


TOLD = re.compile(
    r'(?:"(?P<driver>[^"]+)" \([^)]*\)|(?P<rest>the [^".]+?)) (?P<verb>adds?|takes? off) (?P<points>\d+\.\d)',
    re.IGNORECASE,
)


@given(count=st.integers(2, 9), data=st.data())
def test_the_largest_part_comes_first_and_the_words_add_up_to_the_gap(
    count: int, data: st.DataObject
) -> None:
    names = [f"P{place}" for place in range(1, count + 1)]
    p, usual = (data.draw(st.lists(P, min_size=count, max_size=count)) for _ in range(2))
    tree = Tree.root_only("It holds").expand(
        "P0", {name: f"Driver {name} holds" for name in names}, dict.fromkeys(names, Polarity.POSITIVE), ""
    )
    for name, now, before in zip(names, p, usual, strict=True):
        report = json.dumps({"base_rate": before})
        tree = tree.with_belief(name, Belief(p=now, key_factor="", report=report))
    words = Belief(p=0.5, key_factor="", report=json.dumps({"base_rate": 0.4}))
    tree = settle(tree.with_rule("P0", LinearRule(0.05, dict.fromkeys(names, 0.9 / count)), words))
    told = [*TOLD.finditer(answer_sentence(tree, 0.4))]
    total = fsum(float(match["points"]) * (1 if match["verb"].startswith("add") else -1) for match in told)
    assert total == pytest.approx(
        100 * ((tree.root.p or 0.0) - 0.4), abs=0.05 * (len(told) + 2) + 0.05 * count
    )
    assert len(told) <= 3
    steps = waterfall(tree)
    if steps is not None and told:
        assert told[0]["points"] == f"{100 * abs(steps.parts[0].points):.1f}"


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


def test_the_simulation_has_its_share_only_where_the_rule_was_made_for_its_forecast() -> None:
    p = dict(zip(NAMES, (0.6, 0.2, 0.3), strict=True))
    rule = RULES[0]
    forecast = rule.evaluate(p)
    tree = of_the_series(tree_of(rule, list(p.values()), None), P0=forecast, **p)
    steps = waterfall(tree)
    assert steps is not None and steps.source is Rest.SERIES and steps.set_by_series
    assert str(Rest.SERIES) in answer_sentence(tree, 0.5).casefold()
    assert str(Rest.SERIES) in [bar.name for bar in waterfall_bars(steps)]
    assert answer_sentence(tree, 0.5).endswith("The simulation sets this number; the drivers explain it.")
    # A driver that an edit moves has its say, and changes nothing of what the simulation adds.
    moved = waterfall(settle(at(tree, "P1", 0.9)))
    assert moved is not None and moved.source is Rest.SERIES and not moved.set_by_series

    def rest(steps: Waterfall) -> float:
        return next(part.points for part in steps.parts if part.node is None)

    assert rest(moved) == pytest.approx(rest(steps))
    other = waterfall(of_the_series(tree, P0=forecast + 0.001))
    # another rule stands there than the one made for it
    assert other is not None and other.source is Rest.RULE and not other.set_by_series
    by_hand = answer_sentence(at(tree, "P0", 0.9), 0.5)
    assert by_hand.startswith("90.0%, 40.0 points above") and not TOLD.search(by_hand)


def test_without_a_formula_there_are_no_steps_and_the_sentence_still_stands() -> None:
    alone = Tree.root_only("It rains on 2018-12-31").with_belief(
        "P0", Belief(p=0.3, key_factor="", report="")
    )
    assert waterfall(alone) is None
    assert answer_sentence(alone, 0.31) == "30.0%, 1.0 points below the base rate (31.0%)."
    assert answer_sentence(Tree.root_only("Nobody knows"), None) == "No answer yet."


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
