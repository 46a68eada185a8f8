"""Laws that every installed rule with a function keeps, whatever its coefficients and its children's values."""

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.synthesis.strategies import CHILDREN, RULES
from workbench.propositions import Rule
from workbench.synthesis import LogicRule, NoisyOrRule, PooledRule, rule_from_json

every_rule = pytest.mark.parametrize("name", RULES)
points = st.fixed_dictionaries(dict.fromkeys(CHILDREN, st.floats(0, 1)))
# No two of these, nor one and the negation of another, are equal: least and greatest have a slope there.
apart = st.permutations([0.1, 0.23, 0.37, 0.52]).map(lambda values: dict(zip(CHILDREN, values, strict=True)))


def drawn(data: st.DataObject, name: str) -> Rule:
    return data.draw(RULES[name])


@every_rule
@given(data=st.data(), p=points)
@settings(max_examples=40)
def test_a_rule_is_stored_and_computes_many_rows_as_one(
    name: str, data: st.DataObject, p: dict[str, float]
) -> None:
    rule = drawn(data, name)
    assert rule_from_json(rule.to_json()) == rule and rule.name == name
    rows = [p, dict(zip(CHILDREN, reversed(p.values()), strict=True))]
    columns = rule.columns({child: np.array([row[child] for row in rows]) for child in CHILDREN})
    assert np.broadcast_to(columns, 2) == pytest.approx([rule.evaluate(row) for row in rows], abs=1e-9)


@every_rule
@given(data=st.data(), p=points)
@settings(max_examples=40)
def test_a_value_lies_in_the_reach_of_its_box_and_a_multilinear_rule_reaches_the_corners(
    name: str, data: st.DataObject, p: dict[str, float]
) -> None:
    rule, other = drawn(data, name), data.draw(points)
    box = {child: (min(p[child], other[child]), max(p[child], other[child])) for child in CHILDREN}
    low, high = rule.reachable(box)
    assert low - 1e-9 <= rule.evaluate(p) <= high + 1e-9
    if rule.multilinear:
        corners = [
            rule.evaluate(dict(zip(CHILDREN, corner, strict=True))) for corner in product(*box.values())
        ]
        assert (low, high) == pytest.approx((min(corners), max(corners)), abs=1e-12)
        worlds = list(product((0.0, 1.0), repeat=4))
        chances = [
            np.prod([p[c] if bit else 1 - p[c] for c, bit in zip(CHILDREN, world, strict=True)])
            for world in worlds
        ]
        table = [rule.evaluate(dict(zip(CHILDREN, world, strict=True))) for world in worlds]
        assert rule.evaluate(p) == pytest.approx(float(np.dot(chances, table)), abs=1e-12)


@every_rule
@given(data=st.data(), p=apart)
@settings(max_examples=60)
def test_a_derivative_is_the_slope(name: str, data: st.DataObject, p: dict[str, float]) -> None:
    rule = drawn(data, name)
    if isinstance(rule, PooledRule):
        assume(0.01 < rule.tree(p) < 0.99)
    if isinstance(rule, LogicRule) and rule.assumption is not None:
        rule = LogicRule(
            rule.formula, type(rule.assumption)(detail="", probability=0.71), rule.norm, rule.naive
        )
    slopes = rule.derivative(p)
    assert set(slopes) == set(rule.named_children())
    for child, slope in slopes.items():
        low, high = (0.0, 1.0) if rule.multilinear else (p[child] - 1e-6, p[child] + 1e-6)
        rise = rule.evaluate({**p, child: high}) - rule.evaluate({**p, child: low})
        assert slope == pytest.approx(rise / (high - low), abs=1e-12 if rule.multilinear else 1e-5)


@every_rule
@given(data=st.data(), p=points)
@settings(max_examples=40)
def test_a_child_is_turned_taken_in_and_left_out(name: str, data: st.DataObject, p: dict[str, float]) -> None:
    rule = drawn(data, name)
    for child in rule.named_children():
        once = rule.turned(child)
        assert once is not None
        twice = once.turned(child)
        assert twice is not None
        assert twice.evaluate(p) == pytest.approx(rule.evaluate(p), abs=1e-12)
        if not isinstance(rule, NoisyOrRule):
            mirrored = rule.evaluate({**p, child: 1 - p[child]})
            assert once.evaluate(p) == pytest.approx(mirrored, abs=1e-9)
    grown = rule.with_child("P77")
    assert grown.evaluate({**p, "P77": 0.7}) == rule.evaluate(p) and grown.without("P77") == rule
