"""The tree as a Squiggle program: read by a small evaluator of the part of the language that the export writes."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.propositions import Belief, Tree
from workbench.synthesis import LinearRule, NotRepresentable, export_tree, settle
from workbench.synthesis.rules.logic import LogicRule
from workbench.synthesis.rules.noisy_or import NoisyOrRule
from workbench.synthesis.rules.vanilla import VanillaRule

P = st.floats(0.0, 1.0)


def tree_of(rule: object, p: tuple[float, float, float]) -> Tree:
    tree = (
        Tree.root_only("It rains")
        .expand("P0", {"P1": "a", "P2": "b"})
        .expand("P2", {"P2.1": "c", "P2.2": "d"})
    )
    for leaf, value in zip(("P1", "P2.1", "P2.2"), p, strict=True):
        tree = tree.with_belief(leaf, Belief(p=value, key_factor="k", report="r"))
    words = Belief(p=0.5, key_factor="k", report="r")
    tree = settle(tree.with_rule("P2", LinearRule(0.1, {"P2.1": 0.5, "P2.2": -0.1}), words))
    return settle(tree.with_rule("P0", rule, words))  # type: ignore[arg-type]


def run(program: str) -> float:
    """Run the program: assignments in order, then the name whose value counts."""
    clamp = "clamp(x) = if x < 0 then 0 else if x > 1 then 1 else x"
    names: dict[str, object] = {"clamp": lambda x: min(1.0, max(0.0, x))}
    value = None
    for line in program.splitlines():
        if not line.strip() or line.startswith("//") or line == clamp:
            continue
        name, mark, text = line.partition(" = ")
        assert re.fullmatch(r"[a-z][a-z0-9_]*", name), line
        if mark:
            assert re.fullmatch(r"[-+*() .\da-z_]+", text), text
            names[name] = eval(text, {"__builtins__": {}}, names)
        else:
            value = names[name]
    assert isinstance(value, float | int)
    return float(value)


@given(p=st.tuples(P, P, P))
@pytest.mark.parametrize(
    "rule",
    [
        LinearRule(0.1, {"P1": 0.5, "P2": 0.3}),
        LinearRule(0.1, {"P1": -0.9, "P2": 0.3}),  # leaves 0 to 1
        NoisyOrRule(0.1, {"P1": 0.8}, {"P2": 0.5}),
        LogicRule("P1 AND NOT P2"),
    ],
    ids=["linear", "held", "noisy-or", "logic"],
)
def test_the_program_computes_the_root(rule: object, p: tuple[float, float, float]) -> None:
    tree = tree_of(rule, p)
    program = export_tree(tree, "squiggle", manifest="sha256:00").text
    assert program.startswith("// manifest sha256:00\n")
    assert run(program) == pytest.approx(tree.root.p, abs=1e-9)


def test_a_leaf_with_trials_is_a_beta_unless_a_rule_is_held_at_a_bound() -> None:
    spread = {"P1": 0.01}
    free = export_tree(
        tree_of(LinearRule(0.1, {"P1": 0.5, "P2": 0.3}), (0.5, 0.5, 0.5)), "squiggle", variances=spread
    )
    assert "p1 = beta({mean: 0.5, stdev: 0.1})" in free.text and free.notes == ()
    held = export_tree(
        tree_of(LinearRule(0.1, {"P1": -0.9, "P2": 0.3}), (0.5, 0.5, 0.5)), "squiggle", variances=spread
    )
    assert "beta" not in held.text.replace("// ", "") and "plain numbers" in held.notes[0]


def test_a_rule_without_a_function_is_refused() -> None:
    tree = Tree.root_only("It rains").expand("P0", {"P1": "a"})
    tree = tree.with_belief("P1", Belief(p=0.5, key_factor="k", report="r"))
    with pytest.raises(NotRepresentable, match="has no value"):
        export_tree(tree, "squiggle")
    stated = tree.with_rule("P0", VanillaRule(), Belief(p=0.4, key_factor="k", report="r"))
    assert run(export_tree(stated, "squiggle").text) == 0.4
