import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.synthesis.strategies import linear_trees
from workbench.propositions import ProbabilityOutOfRange, Tree
from workbench.synthesis import SensitivityError, evaluate
from workbench.synthesis.coherence.option_sets import (
    PAPER_THRESHOLD,
    analyzed_options,
    decide,
    option_probabilities,
)
from workbench.synthesis.sensitivity.leaf_noise import inject_noise, noisy_values

KINDS = st.sampled_from(["normal", "uncertain", "reverse"])


@given(linear_trees(), KINDS, st.floats(0, 1), st.integers(0, 99))
def test_noise_is_repeatable_and_leaves_a_settled_tree(
    tree: Tree, kind: Any, level: float, seed: int
) -> None:
    noisy = inject_noise(tree, kind, level, seed=seed)
    assert noisy == inject_noise(tree, kind, level, seed=seed)
    assert {node: noisy[node].p for node in noisy} == evaluate(noisy).values
    assert inject_noise(tree, kind, 0.0, seed=seed) == tree


def test_each_kind_does_what_it_says() -> None:
    values = {f"P{i}": 0.3 for i in range(1, 4001)}
    uncertain = noisy_values(values, "uncertain", 0.25, 1)
    assert set(uncertain.values()) == {0.3, 0.5}
    assert sum(p == 0.5 for p in uncertain.values()) / 4000 == pytest.approx(0.25, abs=0.03)
    assert set(noisy_values(values, "reverse", 1.0, 1).values()) == {0.7}
    normal = list(noisy_values({key: 0.5 for key in values}, "normal", 0.1, 1).values())
    mean = sum(normal) / 4000
    assert mean == pytest.approx(0.5, abs=0.01)
    assert (sum((p - mean) ** 2 for p in normal) / 4000) ** 0.5 == pytest.approx(0.1, abs=0.01)
    assert all(0 <= p <= 1 for p in noisy_values(values, "normal", 1.0, 1).values())
    assert noisy_values(values, "normal", 0.1, 1) != noisy_values(values, "normal", 0.1, 2)
    shuffled = list(values)
    random.Random(0).shuffle(shuffled)
    assert noisy_values({key: 0.3 for key in shuffled}, "normal", 0.1, 1) == noisy_values(
        values, "normal", 0.1, 1
    )


def test_bad_noise_is_refused() -> None:
    with pytest.raises(SensitivityError):
        noisy_values({}, "pink", 0.1, 1)  # type: ignore[arg-type]
    with pytest.raises(ProbabilityOutOfRange):
        noisy_values({}, "normal", 1.1, 1)
    assert inject_noise(Tree.root_only("r"), "normal", 1.0, seed=1) == Tree.root_only("r")


def test_two_exclusive_options_need_one_analysis() -> None:
    assert analyzed_options(["up", "down"]) == ("up",)
    assert analyzed_options(["up", "down"], binary_simplification=False) == ("up", "down")
    assert analyzed_options(["a", "b", "c"]) == ("a", "b", "c")
    with pytest.raises(SensitivityError):
        analyzed_options(["a", "a"])


@given(st.dictionaries(st.sampled_from("abcde"), st.floats(0, 1), min_size=2))
def test_option_probabilities_sum_to_one(p: dict[str, float]) -> None:
    found = option_probabilities(list(p), p)
    assert sum(found.values()) == pytest.approx(1.0)


def test_decisions_are_strictly_above_the_threshold() -> None:
    assert not decide(0.5) and decide(0.51) and not decide(0.7, PAPER_THRESHOLD)
    assert option_probabilities(["a", "b"], {"a": 0.0, "b": 0.0}) == {"a": 0.5, "b": 0.5}
    with pytest.raises(SensitivityError):
        option_probabilities(["a", "b", "c"], {"a": 0.2})
