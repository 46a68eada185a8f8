from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.synthesis.strategies import linear_trees
from tests.synthesis.whatif.test_scenarios import three_levels
from workbench.propositions import Tree
from workbench.synthesis import SensitivityError, VanillaRule
from workbench.synthesis.sensitivity.leaf_noise import noise_study


@settings(max_examples=20)
@given(linear_trees(), st.sampled_from(["normal", "uncertain", "reverse"]), st.integers(0, 99))
def test_a_study_is_repeatable_and_silence_moves_nothing(tree: Tree, kind: Any, seed: int) -> None:
    study = noise_study(tree, kind, 0.2, draws=5, seed=seed)
    assert study == noise_study(tree, kind, 0.2, draws=5, seed=seed)
    assert noise_study(tree, kind, 0.2, draws=8, seed=seed)["values"][:5] == study["values"]
    assert all(0.0 <= value <= 1.0 for value in study["values"])
    calm = noise_study(tree, kind, 0.0, draws=3, seed=seed)
    assert calm["values"] == pytest.approx([tree.root.p] * 3, abs=1e-12) and calm["sd"] == pytest.approx(
        0.0, abs=1e-12
    )


def test_the_spread_is_that_of_the_linear_rule() -> None:
    # root = 0.5 P1 + 0.4 (0.5 P2.1 + 0.5 P2.2): sd 0.02 x sqrt(0.25 + 0.04 + 0.04) when nothing is cut off at 0 or 1
    study = noise_study(three_levels(), "normal", 0.02, draws=3000, seed=1)
    assert study["sd"] == pytest.approx(0.02 * 0.33**0.5, rel=0.05)
    assert study["mean"] == pytest.approx(0.69, abs=0.001)
    assert study["quantiles"]["5"] < study["quantiles"]["50"] < study["quantiles"]["95"]
    assert study["quantiles"]["95"] - study["quantiles"]["5"] == pytest.approx(
        2 * 1.645 * study["sd"], rel=0.06
    )


def test_reversing_every_leaf_gives_one_value() -> None:
    study = noise_study(three_levels(), "reverse", 1.0, draws=2, seed=0)
    assert study["values"] == pytest.approx([0.5 * 0.1 + 0.4 * (0.5 * 0.5 + 0.5 * 0.3)] * 2)


def test_what_cannot_be_studied_is_refused() -> None:
    with pytest.raises(SensitivityError, match="at least 2 draws"):
        noise_study(three_levels(), "normal", 0.1, draws=1, seed=0)
    with pytest.raises(SensitivityError, match="P2 has no function"):
        noise_study(three_levels(VanillaRule()), "normal", 0.1, draws=5, seed=0)
    with pytest.raises(SensitivityError, match="no value"):
        noise_study(Tree.root_only("r"), "normal", 0.1, draws=5, seed=0)
