from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.errors import UsageError
from workbench.propositions import Polarity
from workbench.synthesis import (
    InterceptTooLarge,
    LinearRule,
    MissingWeight,
    OutOfUnitInterval,
    PolarityConflict,
    RuleError,
    RuleFormatError,
    RuleLimits,
    UnknownChild,
    UnknownRule,
    WeightOutOfRange,
    check_unit,
    checked_value,
    rule_from_json,
)

rules = st.builds(
    LinearRule,
    st.floats(-0.1, 0.1),
    st.dictionaries(st.integers(1, 20).map("P{}".format), st.floats(-1, 1), min_size=1, max_size=6),
)


@given(rules, st.data())
def test_the_derivative_is_the_beta_and_the_range_holds(rule: LinearRule, data: st.DataObject) -> None:
    p = {child: data.draw(st.floats(0, 1)) for child in rule.weights}
    low, high = rule.reachable()
    value = rule.evaluate(p)
    assert rule.derivative(p) == rule.weights
    assert low - 1e-12 <= value <= high + 1e-12
    for child, weight in rule.weights.items():
        step = rule.evaluate({**p, child: 1.0}) - rule.evaluate({**p, child: 0.0})
        assert step == pytest.approx(weight, abs=1e-12)


@given(rules)
def test_json_gives_back_the_rule(rule: LinearRule) -> None:
    assert rule_from_json(rule.to_json()) == rule


@given(rules)
def test_a_removed_child_drops_out_and_an_added_one_has_no_say(rule: LinearRule) -> None:
    grown = rule.with_child("P1.1")
    p = dict.fromkeys(grown.weights, 0.7)
    assert grown.evaluate(p) == rule.evaluate(p)
    assert grown.without("P1.1") == rule
    first = next(iter(rule.weights))
    left = rule.without(first)
    if left is None:
        assert len(rule.weights) == 1
    else:
        assert left.evaluate(p) == pytest.approx(rule.evaluate({**p, first: 0.0}), abs=1e-12)


def test_worked_value_of_equation_2() -> None:
    rule = LinearRule(0.04, {"P1": 0.5, "P2": 0.3, "P10": -0.2})
    assert rule.evaluate({"P1": 0.8, "P2": 0.6, "P10": 0.5}) == pytest.approx(0.52, abs=1e-15)
    assert rule.reachable() == pytest.approx((-0.16, 0.84))
    assert rule.reachable({"P1": (0.8, 0.8), "P2": (0.6, 0.6)}) == pytest.approx((0.42, 0.62))


@pytest.mark.parametrize(
    ("intercept", "weights", "error"),
    [
        (0.1, {"P1": 1.0, "P2": -1.0}, None),
        (-0.1, {"P1": 0.0, "P2": 0.0}, None),
        (0.1001, {"P1": 0.5, "P2": -0.5}, InterceptTooLarge),
        (-0.2, {"P1": 0.5, "P2": -0.5}, InterceptTooLarge),
        (float("nan"), {"P1": 0.5, "P2": -0.5}, InterceptTooLarge),
        (0.0, {"P1": 1.01, "P2": 0.0}, WeightOutOfRange),
        (0.0, {"P1": 0.5, "P2": -1.5}, WeightOutOfRange),
        (0.0, {"P1": float("nan"), "P2": -0.5}, WeightOutOfRange),
        (0.0, {"P1": -0.1, "P2": -0.5}, PolarityConflict),
        (0.0, {"P1": 0.1, "P2": 0.5}, PolarityConflict),
        (0.0, {"P1": 0.1}, MissingWeight),
        (0.0, {"P1": 0.1, "P2": -0.1, "P3": 0.1}, UnknownChild),
    ],
)
def test_creation_is_checked(
    intercept: float, weights: dict[str, float], error: type[RuleError] | None
) -> None:
    rule = LinearRule(intercept, weights)
    polarities = {"P1": Polarity.POSITIVE, "P2": Polarity.NEGATIVE}
    if error is None:
        rule.validate(("P1", "P2"), polarities)
    else:
        with pytest.raises(error) as caught:
            rule.validate(("P1", "P2"), polarities)
        assert isinstance(caught.value, UsageError) and type(caught.value) is error


def test_an_analyst_may_overrule_a_sign_and_a_preset_the_bound() -> None:
    LinearRule(0.0, {"P1": -0.3}).validate(
        ("P1",), {"P1": Polarity.POSITIVE}, RuleLimits(overrule_polarity=True)
    )
    LinearRule(0.3, {"P1": 0.3}).validate(("P1",), limits=RuleLimits(intercept_max=0.3))


def test_a_value_outside_the_unit_interval_is_refused_at_creation() -> None:
    rule = LinearRule(0.1, {"P1": 0.9, "P2": 0.5})
    assert checked_value(rule, ("P1", "P2"), {}, {"P1": 0.9, "P2": 0.1}) == pytest.approx(0.96)
    with pytest.raises(OutOfUnitInterval, match=r"gives 1\.36"):
        checked_value(rule, ("P1", "P2"), {}, {"P1": 0.9, "P2": 0.9})
    assert check_unit(1 + 1e-12) == 1.0 and check_unit(-1e-12) == 0.0


def test_what_is_allowed_but_odd_is_said() -> None:
    assert LinearRule(0.1, {"P1": 0.05}).warnings()[0].startswith("the intercept 0.1 outweighs")
    assert "can leave [0, 1]" in LinearRule(0.0, {"P1": 0.9, "P2": 0.9}).warnings()[0]
    assert LinearRule(0.0, {"P1": 0.5, "P2": 0.5}).warnings() == []


def test_strict_semantics_promise_a_range_inside_the_unit_interval() -> None:
    assert LinearRule(0.2, {"P1": 0.5, "P2": -0.2}, "strict").table_problem() is None
    with pytest.raises(WeightOutOfRange, match="normalise"):
        LinearRule(0.1, {"P1": 0.5, "P2": -0.2}, "strict")
    assert "reaches [-0.1, 0.6]" in (LinearRule(0.1, {"P1": 0.5, "P2": -0.2}).table_problem() or "")


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ({"name": "linear", "intercept": 0}, RuleFormatError),
        ({"name": "linear", "intercept": "0", "weights": {}}, RuleFormatError),
        ({"name": "linear", "intercept": 0, "weights": {"P1": None}}, RuleFormatError),
        ({"name": "linear", "intercept": 0, "weights": {"1": 0.5}}, RuleFormatError),
        ({"name": "linear", "intercept": 0, "weights": [0.5]}, RuleFormatError),
        ({"name": "linear", "intercept": float("inf"), "weights": {"P1": 1}}, RuleFormatError),
        ({"name": "linear", "intercept": 0, "weights": {"P1": 1}, "bias": 1}, RuleFormatError),
        ({"name": "linear", "intercept": 0, "weights": {"P1": 1}, "semantics": "loose"}, RuleFormatError),
        ({"name": "quadratic"}, UnknownRule),
        ({"intercept": 0}, RuleFormatError),
        ([], RuleFormatError),
    ],
)
def test_a_rule_that_cannot_be_read_says_why(data: Any, error: type[RuleError]) -> None:
    with pytest.raises(error) as caught:
        rule_from_json(data)
    assert "\n" not in str(caught.value)
