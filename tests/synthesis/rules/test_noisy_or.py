import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.propositions import Polarity
from workbench.synthesis import (
    MissingWeight,
    NoFunction,
    NoisyOrRule,
    PolarityConflict,
    RuleFormatError,
    UnknownChild,
    VanillaRule,
    WeightOutOfRange,
    average_rule,
    checked_value,
    random_rule,
    rule_from_json,
)

unit = st.floats(0, 1)


def test_worked_value_with_leak_and_inhibitor() -> None:
    # (1 - 0.9 * (1 - 0.4)(1 - 0.2)) (1 - 0.1) = (1 - 0.432) * 0.9
    assert NoisyOrRule(0.1, {"P1": 0.8, "P2": 0.5}, {"P3": 0.5}).evaluate(
        {"P1": 0.5, "P2": 0.4, "P3": 0.2}
    ) == (pytest.approx(0.5112, abs=1e-12))


def test_creation_is_checked() -> None:
    rule = NoisyOrRule(0.0, {"P1": 0.5}, {"P2": 0.5})
    rule.validate(("P1", "P2"), {"P1": Polarity.POSITIVE, "P2": Polarity.NEGATIVE})
    with pytest.raises(PolarityConflict):
        rule.validate(("P1", "P2"), {"P1": Polarity.NEGATIVE})
    with pytest.raises(MissingWeight):
        rule.validate(("P1", "P2", "P3"))
    with pytest.raises(UnknownChild):
        rule.validate(("P1",))
    with pytest.raises(WeightOutOfRange):
        NoisyOrRule(-0.1, {"P1": 0.5})
    with pytest.raises(RuleFormatError):
        NoisyOrRule(0.1, {"P1": 0.5}, {"P1": 0.5})
    assert rule.without("P1") == NoisyOrRule(0.0, {}, {"P2": 0.5})
    assert rule.with_child("P3").weights == {"P1": 0.5, "P3": 0.0}
    assert NoisyOrRule(0.0, {"P1": 1.0}).without("P1") is None


def test_vanilla_has_no_function() -> None:
    rule = rule_from_json({"name": "vanilla"})
    assert rule == VanillaRule() and not rule.numeric and rule.reachable() == (0.0, 1.0)
    with pytest.raises(NoFunction, match="--full"):
        rule.evaluate({})
    with pytest.raises(NoFunction):
        rule.derivative({})
    assert rule.without("P1") == rule.with_child("P1") == rule
    assert checked_value(rule, ("P1",), {}, {"P1": 0.5}) is None


@given(st.lists(unit, min_size=1, max_size=6), st.integers())
def test_the_ablations_are_means(values: list[float], seed: int) -> None:
    ids = tuple(f"P{i}" for i in range(1, len(values) + 1))
    p = dict(zip(ids, values, strict=True))
    plain = average_rule(ids)
    assert plain.evaluate(p) == pytest.approx(sum(values) / len(values))
    drawn = random_rule(ids, seed=seed)
    assert sum(drawn.weights.values()) == pytest.approx(1) and min(drawn.weights.values()) >= 0
    assert drawn == random_rule(ids, seed=seed) and rule_from_json(drawn.to_json()) == drawn
    assert min(values) - 1e-9 <= drawn.evaluate(p) <= max(values) + 1e-9
    turned = {child: Polarity.NEGATIVE for child in ids}
    for aware in (
        average_rule(ids, turned, polarity_aware=True),
        random_rule(ids, turned, seed=seed, polarity_aware=True),
    ):
        assert aware.evaluate(p) + 1e-12 >= 0 and rule_from_json(aware.to_json()) == aware
    mirrored = average_rule(ids, turned, polarity_aware=True).evaluate(p)
    assert mirrored == pytest.approx(1 - plain.evaluate(p), abs=1e-12)


def test_random_weights_are_dirichlet_one() -> None:
    # the first of three Dirichlet(1) shares has mean 1/3 and variance 2/36
    draws = [random_rule(("P1", "P2", "P3"), seed=seed).weights["P1"] for seed in range(4000)]
    mean = sum(draws) / len(draws)
    assert mean == pytest.approx(1 / 3, abs=0.015)
    assert sum((x - mean) ** 2 for x in draws) / len(draws) == pytest.approx(2 / 36, abs=0.004)
