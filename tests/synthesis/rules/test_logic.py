from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.synthesis import (
    FormulaError,
    MissingWeight,
    RuleFormatError,
    RuleLimits,
    UnknownChild,
)
from workbench.synthesis.rules import exact_logic
from workbench.synthesis.rules.formula import occurrences, parse_formula, render, without_variable
from workbench.synthesis.rules.logic import Assumption, LogicRule, frechet

names = st.sampled_from(["P1", "P2", "P10", "P1.1", "P1.10", "PA"])
formulas = st.recursive(
    names,
    lambda inner: st.one_of(
        inner.map("NOT {}".format),
        inner.map("NOT ({})".format),
        st.tuples(inner, st.sampled_from(["AND", "OR", "and", "|", "∧"]), inner).map(
            lambda t: f"({t[0]} {t[1]} {t[2]})"
        ),
    ),
    max_leaves=10,
)
unit = st.floats(0, 1)


@st.composite
def entangled(draw: st.DrawFn) -> str:
    """Formulas of three variables with four to eight copies."""
    literals = draw(
        st.lists(st.sampled_from(["P1", "P2", "P10", "NOT P1", "NOT P10"]), min_size=4, max_size=8)
    )
    text = literals[0]
    for literal in literals[1:]:
        joined = f"{text} {draw(st.sampled_from(['AND', 'OR']))} {literal}"
        text = draw(st.sampled_from([f"({joined})", f"({literal} OR {text})", f"(NOT ({joined}) AND P2)"]))
    return text


def rule_of(text: str, q: float = 0.5, **how: Any) -> LogicRule:
    return LogicRule(text, Assumption(detail="the rest", probability=q) if "PA" in text else None, **how)


def holds(text: str, world: dict[str, bool]) -> bool:
    """The formula in one world, by Python's own operators."""
    python = text.replace("|", " or ").replace("∧", " and ")
    for word in ("AND", "OR", "NOT"):
        python = python.replace(word, f" {word.lower()} ")
    renamed = {name: "v" + name.replace(".", "_") for name in sorted(world, key=len, reverse=True)}
    for name, variable in renamed.items():
        python = python.replace(name, variable.replace("P", "Q"))
    return bool(
        eval(python, {}, {variable.replace("P", "Q"): world[name] for name, variable in renamed.items()})
    )


def by_enumeration(text: str, p: dict[str, float]) -> float:
    total = 0.0
    used = [name for name in p if name in parse_formula(text).variables]
    for bits in product((False, True), repeat=len(used)):
        if holds(text, dict(zip(used, bits, strict=True))):
            weight = 1.0
            for name, bit in zip(used, bits, strict=True):
                weight *= p[name] if bit else 1 - p[name]
            total += weight
    return total


@given(st.one_of(formulas, entangled()), st.lists(unit, min_size=6, max_size=6))
def test_value_and_derivative_equal_brute_force_enumeration(text: str, values: list[float]) -> None:
    p = dict(zip(["P1", "P2", "P10", "P1.1", "P1.10", "PA"], values, strict=True))
    rule = rule_of(text, p["PA"])
    assert rule.evaluate(p) == pytest.approx(by_enumeration(text, p), abs=1e-12)
    for child, slope in rule.derivative(p).items():
        ends = [by_enumeration(text, {**p, child: end}) for end in (0.0, 1.0)]
        assert slope == pytest.approx(ends[1] - ends[0], abs=1e-12)


@given(formulas)
def test_rendering_keeps_the_meaning(text: str) -> None:
    program = parse_formula(text).program
    again = render(program)
    assert render(parse_formula(again).program) == again
    p = {"P1": 0.1, "P2": 0.3, "P10": 0.5, "P1.1": 0.7, "P1.10": 0.9}
    assert rule_of(again).evaluate(p) == pytest.approx(rule_of(text).evaluate(p), abs=1e-12)
    for name in parse_formula(text).variables:
        left = without_variable(program, name)
        assert left is None or name not in left


@given(formulas, st.dictionaries(names, unit, min_size=6, max_size=6))
def test_frechet_bounds_hold_the_independent_value(text: str, p: dict[str, float]) -> None:
    low, high = frechet(parse_formula(text), {name: (value, value) for name, value in p.items()})
    assert low - 1e-12 <= by_enumeration(text, p) <= high + 1e-12


# paper A, Table 14, with P(PA) as printed; every child at 0.6; the right-hand sides are worked by hand:
# 1 - (1 - .6)(1 - .6(1 - .4 * .35)) = .8064; .6^3 .8 = .1728; .216 + .784 * .05 = .2552; .216 * .85 = .1836;
# .6^4 .4 = .05184, .05184 + .94816 * .7 = .715552; .216 * (1 - .4 * .25) = .1944; .36 * .8 = .288;
# 1 - .64 * .64 * (1 - .18) = .664128; .6 * (1 - .4 * .9) = .384
TABLE_14 = [
    ("(P1.1.1) OR (P1.1.2 AND P1.1.3) OR (P1.1.2 AND PA)", 0.65, 0.8064),
    ("(P1 AND P2 AND P3 AND PA)", 0.8, 0.1728),
    ("(P1 AND P2 AND P3) OR PA", 0.05, 0.2552),
    ("(P1 AND P2 AND P3 AND PA)", 0.85, 0.1836),
    ("(P1.1 AND P1.2 AND P1.3 AND P1.5 AND NOT P1.4) OR PA", 0.7, 0.715552),
    ("(P1.1 AND P1.3 AND P1.4 AND (P1.2 OR PA))", 0.75, 0.1944),
    ("(P1 AND P2) AND PA", 0.8, 0.288),
    ("(P1.1 AND P1.2) OR (P1.5 AND P1.6) OR (P1.3 AND P1.4 AND PA)", 0.5, 0.664128),
    ("P1 AND (P2 OR PA)", 0.1, 0.384),
    ("(P1 AND P2 AND PA)", 0.85, 0.306),
]


@pytest.mark.parametrize(("text", "q", "expected"), TABLE_14)
def test_the_formulas_of_table_14(text: str, q: float, expected: float) -> None:
    rule = rule_of(text, q)
    rule.validate(rule.children, limits=RuleLimits(require_pa=True))
    assert rule.evaluate(dict.fromkeys(rule.children, 0.6)) == pytest.approx(expected, abs=1e-12)


def test_copies_of_a_variable_are_one_variable_unless_naive() -> None:
    text, p = "(P1 AND P2) OR (P1 AND PA)", {"P1": 0.8, "P2": 0.5}
    assert rule_of(text, 0.9).evaluate(p) == pytest.approx(0.76)
    assert rule_of(text, 0.9, naive=True).evaluate(p) == pytest.approx(0.832)
    assert rule_of("P1 AND NOT P1").evaluate({"P1": 0.5}) == 0.0
    assert rule_of("P1 AND NOT P1", naive=True).evaluate({"P1": 0.5}) == 0.25
    assert rule_of("P1 AND NOT P2", norm="minmax").evaluate({"P1": 0.7, "P2": 0.4}) == 0.6
    assert rule_of("P1 OR P1", naive=True).warnings()[0].startswith("copies of a variable")
    assert not rule_of("P1 OR P1", naive=True).multilinear and rule_of("P1 OR P2", naive=True).multilinear


def test_not_binds_before_and_before_or() -> None:
    assert parse_formula("NOT P1 AND P2 OR P3").program == parse_formula("((NOT P1) AND P2) OR P3").program
    assert parse_formula("P1 OR P2 AND P3").program == parse_formula("P1 OR (P2 AND P3)").program
    assert parse_formula("P1 && !P2 || ~P3").program == parse_formula("(P1 AND NOT P2) OR NOT P3").program
    assert occurrences(parse_formula("P1 AND NOT (P2 OR NOT P1)").program) == {"P1": {1}, "P2": {-1}}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "ends too early"),
        ("P1 AND", "ends too early"),
        ("P1 P2", "AND, OR or \\)"),
        ("AND P1", "a proposition, NOT or \\("),
        ("(P1", "never closed"),
        ("P1)", "nothing opened"),
        ("()", "a proposition"),
        ("P1 XOR P2", "neither a proposition"),
        ("P01 AND P2", "neither"),
        ("P1.0", "neither"),
        ("P1NOT", "neither"),
        ("P1 NOT P2", "AND, OR"),
        ("P1 AND __import__('os')", "neither"),
    ],
)
def test_what_is_no_formula_is_refused_with_its_place(text: str, why: str) -> None:
    with pytest.raises(FormulaError, match=why) as caught:
        parse_formula(text)
    assert "character" in str(caught.value)


def test_a_formula_must_fit_its_node() -> None:
    rule = rule_of("P1 AND P2")
    with pytest.raises(UnknownChild):
        rule.validate(("P1",))
    with pytest.raises(MissingWeight, match="P10"):
        rule.validate(("P1", "P2", "P10"))
    with pytest.raises(RuleFormatError, match="must name PA"):
        rule.validate(("P1", "P2"), limits=RuleLimits(require_pa=True))
    with pytest.raises(RuleFormatError, match="needs an assumption"):
        LogicRule("P1 AND PA")


def test_a_removed_child_leaves_its_and_or_or() -> None:
    rule = rule_of("(P1 AND NOT P2) OR (P2 AND PA)", 0.3)
    left = rule.without("P2")
    assert left is not None and left.formula == "P1 OR PA" and left.without("P1") is None
    gone = rule_of("P1 AND (P2 OR P3)").without("P1")
    assert gone is not None and gone.formula == "P2 OR P3"
    assert rule.with_child("P3") == rule == rule.without("P3")


def test_twenty_variables_each_twice_leave_few_rests_and_are_exact() -> None:
    ring = " OR ".join(f"(P{i} AND NOT P{i % 20 + 1})" for i in range(1, 21))
    p = {f"P{i}": i / 21 for i in range(1, 21)}
    # false only where all are equal
    together, none = 1.0, 1.0
    for value in p.values():
        together, none = together * value, none * (1 - value)
    assert rule_of(ring).evaluate(p) == pytest.approx(1 - together - none, abs=1e-12)
    levels, _ = exact_logic.expand(parse_formula(ring).program)
    assert sum(len(edges) for _, edges in levels) < 120  # of 2^20 worlds


def test_a_formula_too_entangled_for_an_exact_value_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    # every variable twice, its copies far apart: after ten variables there are 2^10 different rests
    apart = " AND ".join(f"(P{i} OR P{(7 * i) % 23 + 1})" for i in range(1, 23))
    monkeypatch.setattr(exact_logic, "MAX_TOKENS", 5_000)
    p = {f"P{i}": 0.5 for i in range(1, 24)}
    with pytest.raises(FormulaError, match="too entangled"):
        exact_logic.probability(parse_formula(apart).program, p)
    monkeypatch.undo()
    assert 0 < exact_logic.probability(parse_formula(apart).program, p) < 1
