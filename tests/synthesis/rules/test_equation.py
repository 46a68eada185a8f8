"""The printed equation of every rule, recomputed by a reader who has nothing but the line and the children's values."""

import re
from itertools import product
from math import exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.synthesis.strategies import CHILDREN, RULES, shares
from workbench.synthesis import (
    VanillaRule,
    rule_names,
)

PRINTED = 0.0005  # a p is printed to a tenth of a percent
POOLED = re.compile(r"sigmoid\((.*?) × logit\((.*)\) \+ (.*?) × logit\((.*)\)\)")
ID = re.compile(r"P[0-9]+(?:\.[0-9]+)*|PA")


def recomputed(line: str, p: dict[str, float]) -> float:
    """What the line comes to; AND, OR and NOT are probabilities of independent propositions unless it says otherwise."""
    if pooled := POOLED.fullmatch(line):
        tree_weight, tree, direct_weight, direct = pooled.groups()
        logits = [
            log(held / (1 - held))
            for held in (min(max(recomputed(part, p), 1e-4), 1 - 1e-4) for part in (tree, direct))
        ]
        return 1 / (1 + exp(-float(tree_weight) * logits[0] - float(direct_weight) * logits[1]))
    sum_of_products = re.sub(r" \([a-z].*\)$", "", line)  # a remark at the end
    if not re.search(r"AND|OR|NOT|PA|^P[\d.]+$|, ", line):
        python = sum_of_products.replace("×", "*").replace("−", "-")
        assert re.fullmatch(r"[P0-9.+*/() -]*", python), line
        return float(eval(ID.sub(lambda match: repr(p[match[0]]), python)))
    formula, *remarks = line.split(", ")
    values = dict(p)
    for remark in remarks:
        if remark.startswith("with PA = "):
            values["PA"] = float(remark.removeprefix("with PA = "))
    if "AND as the least" in remarks:
        return by_operators(formula, values, lambda a, b: min(a, b), lambda a, b: max(a, b))
    if "copies of a proposition counted as independent" in remarks:
        return by_operators(formula, values, lambda a, b: a * b, lambda a, b: a + b - a * b)
    names = sorted(set(ID.findall(formula)))
    total = 0.0
    for world in product((0.0, 1.0), repeat=len(names)):
        truth = dict(zip(names, world, strict=True))
        chance = 1.0
        for name, bit in truth.items():
            chance *= values[name] if bit else 1 - values[name]
        total += chance * by_operators(formula, truth, lambda a, b: a * b, lambda a, b: a + b - a * b)
    return total


class Number(float):
    """Lets Python's parser read the formula: & for AND, | for OR, ~ for NOT."""

    both: object
    either: object

    def __and__(self, other: float) -> "Number":
        return Number(type(self).both(self, other))  # type: ignore[operator]

    def __or__(self, other: float) -> "Number":
        return Number(type(self).either(self, other))  # type: ignore[operator]

    def __invert__(self) -> "Number":
        return Number(1 - self)


def by_operators(formula: str, values: dict[str, float], both: object, either: object) -> float:
    Number.both, Number.either = staticmethod(both), staticmethod(either)  # type: ignore[arg-type]
    python = ID.sub(lambda match: f"N({values[match[0]]!r})", formula)
    python = python.replace("AND", "&").replace("OR", "|").replace("NOT", "~")
    return float(eval(python, {"N": Number}))


def test_every_installed_rule_with_a_number_is_recomputed() -> None:
    assert set(rule_names()) == {*RULES, "vanilla"}
    assert VanillaRule().equation() == "judged by the model, no formula"


@pytest.mark.parametrize("kind", RULES)
@given(data=st.data())
def test_the_printed_equation_gives_the_value(kind: str, data: st.DataObject) -> None:
    rule = data.draw(RULES[kind])
    p = dict(zip(CHILDREN, data.draw(shares), strict=True))
    line = rule.equation()
    assert "\n" not in line
    assert recomputed(line, p) == pytest.approx(rule.evaluate(p), abs=PRINTED)
