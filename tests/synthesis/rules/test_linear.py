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
    RuleLimits,
    UnknownChild,
    WeightOutOfRange,
    checked_value,
)
from workbench.synthesis.rules.linear import check_unit, rule_of_reply

rules = st.builds(
    LinearRule,
    st.floats(-0.1, 0.1),
    st.dictionaries(st.integers(1, 20).map("P{}".format), st.floats(-1, 1), min_size=1, max_size=6),
)


CHILDREN = ("P1", "P2", "P3", "P10")


@st.composite
def negated_forms(draw: st.DrawFn) -> tuple[float, dict[str, float], dict[str, Polarity]]:
    """Constant and weights of 0 or more, with the polarity of each child."""
    weights = draw(st.dictionaries(st.sampled_from(CHILDREN), st.floats(0, 1), min_size=1))
    polarities = {child: draw(st.sampled_from(Polarity)) for child in weights}
    return draw(st.floats(-0.1, 0.1)), weights, polarities


def by_hand(b0: float, weights: dict[str, float], against: set[str], p: dict[str, float]) -> float:
    """The form that models are shown: a child that speaks against counts through its negation."""
    return b0 + sum(w * (1 - p[child] if child in against else p[child]) for child, w in weights.items())


@given(negated_forms(), st.lists(st.floats(0, 1), min_size=4, max_size=4))
def test_both_forms_of_a_rule_give_the_same_value_sensitivity_and_removal(
    form: tuple[float, dict[str, float], dict[str, Polarity]], values: list[float]
) -> None:
    b0, weights, polarities = form
    against = {child for child in weights if polarities[child] is Polarity.NEGATIVE}
    p = dict(zip(CHILDREN, values, strict=True))
    rule = rule_of_reply(b0, weights, polarities)
    rule.validate(tuple(weights), polarities)
    assert rule.evaluate(p) == pytest.approx(by_hand(b0, weights, against, p), abs=1e-12)
    slopes = rule.derivative(p)
    for child in weights:
        ends = [by_hand(b0, weights, against, {**p, child: x}) for x in (0.0, 1.0)]
        assert slopes[child] == pytest.approx(ends[1] - ends[0], abs=1e-12)
        if (left := rule.without(child)) is not None:
            # a removed child counts as false, so one that spoke against now speaks for the parent in full
            assert left.evaluate(p) == pytest.approx(
                by_hand(b0, weights, against, {**p, child: 0.0}), abs=1e-12
            )
    corners = [by_hand(b0, weights, against, dict.fromkeys(CHILDREN, 0.0) | dict.fromkeys(against, 1.0))]
    corners.append(by_hand(b0, weights, against, dict.fromkeys(CHILDREN, 1.0) | dict.fromkeys(against, 0.0)))
    assert rule.reachable() == pytest.approx((corners[0], corners[1]), abs=1e-12)
    assert rule.literals().leak == pytest.approx(b0, abs=1e-12)


@given(rules)
def test_a_signed_reply_is_read_as_signed(rule: LinearRule) -> None:
    signs = {child: Polarity.NEGATIVE if w < 0 else Polarity.POSITIVE for child, w in rule.weights.items()}
    assert rule_of_reply(rule.intercept, rule.weights, signs) == rule


def test_a_reply_in_both_forms_at_once_is_refused() -> None:
    against = {"P1": Polarity.NEGATIVE, "P2": Polarity.NEGATIVE}
    with pytest.raises(PolarityConflict, match="weight of P1 is negative and that of P2 is not"):
        rule_of_reply(0.5, {"P1": -0.5, "P2": 0.5}, against)
    # a child without a polarity may speak against; then the sign of the others says in which form
    with pytest.raises(PolarityConflict):
        rule_of_reply(0.5, {"P2": 0.5, "P3": -0.5}, against)
    # a Positive child with a negative weight is a conflict of its own, met when the rule is checked
    rule = rule_of_reply(0.5, {"P1": 0.5, "P3": -0.5}, {**against, "P3": Polarity.POSITIVE})
    with pytest.raises(PolarityConflict, match="P3 is stated as Positive"):
        rule.validate(("P1", "P3"), {**against, "P3": Polarity.POSITIVE})


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
        (0.1001, {"P1": 0.5, "P2": 0.0}, InterceptTooLarge),
        (0.6, {"P1": 0.4, "P2": -0.5}, None),
        (0.6001, {"P1": 0.4, "P2": -0.5}, InterceptTooLarge),
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
    assert LinearRule(0.1, {"P1": 0.05}).warnings()[0].startswith("the constant 0.1 outweighs")
    assert "0.3 is above 0.1" in LinearRule(0.7, {"P1": 0.3, "P2": -0.4}).warnings()[0]
    assert "can leave [0, 1]" in LinearRule(0.0, {"P1": 0.9, "P2": 0.9}).warnings()[0]
    assert "stays below 0.5: it reaches [0, 0.4]" in LinearRule(0.0, {"P1": 0.4}).warnings()[0]
    assert "stays above 0.5: it reaches [0.51, 0.9]" in LinearRule(0.9, {"P1": -0.39}).warnings()[-1]
    assert LinearRule(0.0, {"P1": 0.5, "P2": 0.5}).warnings() == []
    assert LinearRule(0.9, {"P1": -0.2, "P2": -0.7}).warnings() == []


def test_strict_semantics_promise_a_range_inside_the_unit_interval() -> None:
    assert LinearRule(0.2, {"P1": 0.5, "P2": -0.2}, "strict").table_problem() is None
    with pytest.raises(WeightOutOfRange, match="normalise"):
        LinearRule(0.1, {"P1": 0.5, "P2": -0.2}, "strict")
    assert "reaches [-0.1, 0.6]" in (LinearRule(0.1, {"P1": 0.5, "P2": -0.2}).table_problem() or "")
