"""Ranges that an analyst types in place of a probability: the band they give the claim, the tornado, and that they are kept."""

import math
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.screens import RUN, make_run
from tests.propositions.strategies import probabilities
from tests.synthesis.strategies import linear_trees
from workbench.engine.record.fold import load_state
from workbench.errors import UsageError
from workbench.propositions import Belief, ProbabilityOutOfRange, Tree
from workbench.store import Store
from workbench.synthesis import LinearRule, settle, tree_from_json
from workbench.synthesis.sensitivity.sampling import range_band
from workbench.synthesis.whatif.edits import SetValue, Unpin, edit_from_json, play
from workbench.synthesis.whatif.evaluation import reachable_ranges, typed_ranges
from workbench.whatif.edit_request import EditRequest
from workbench.whatif.saved_scenarios import save_scenario
from workbench.whatif.tree_documents import band_of_ranges, scenario_table, sensitivity_rows
from workbench.whatif.typed_values import parse_value
from workbench.widgets.edits.edit_session import WhatIfSession


def linear(**weights: float) -> Tree:
    tree = Tree.root_only("r").expand("P0", {leaf: f"driver {leaf}" for leaf in weights})
    for leaf in weights:
        tree = tree.with_belief(leaf, Belief(p=0.5))
    return settle(tree.with_rule("P0", LinearRule(0.1, weights)))


def ranged(tree: Tree, **ranges: tuple[float, float]) -> Tree:
    edits = [
        SetValue(node=node, p=(low + high) / 2, low=low, high=high) for node, (low, high) in ranges.items()
    ]
    return play(tree, edits).tree


def test_one_range_moves_the_claim_as_a_uniform_value_does() -> None:
    band = band_of_ranges(ranged(linear(P1=0.5, P2=0.25), P1=(0.6, 0.8)))
    # 0.1 + 0.5 U(0.6, 0.8) + 0.125: of its width of 0.1 the central 90% leave a twentieth at each end
    assert (band["low"], band["high"]) == (pytest.approx(0.53, abs=0.001), pytest.approx(0.62, abs=0.001))
    assert band["mean"] == pytest.approx(0.575, abs=0.001) and band["ranges"] == {"P1": [0.6, 0.8]}


def test_independent_ranges_add_their_variances_and_the_band_covers_nine_draws_in_ten() -> None:
    weights, ranges = (
        {"P1": 0.3, "P2": -0.2, "P3": 0.25},
        {"P1": (0.1, 0.9), "P2": (0.2, 0.4), "P3": (0.0, 1.0)},
    )
    tree = ranged(linear(**weights), **ranges)
    band = range_band(tree, ranges)
    exact = sum((weights[leaf] * (high - low)) ** 2 / 12 for leaf, (low, high) in ranges.items())
    assert band["variance"] == pytest.approx(exact, rel=0.03)
    draws = np.random.default_rng(7)
    inside = 0
    for _ in range(1000):
        root = 0.1 + sum(weights[leaf] * draws.uniform(low, high) for leaf, (low, high) in ranges.items())
        inside += band["low"] <= root <= band["high"]
    assert abs(inside / 1000 - 0.9) < 4 * math.sqrt(0.9 * 0.1 / 1000)


@settings(max_examples=30)
@given(linear_trees(), st.data())
def test_no_band_passes_what_the_ranges_can_reach(tree: Tree, data: st.DataObject) -> None:
    leaf = data.draw(st.sampled_from(list(tree.leaves())))
    low, high = sorted((data.draw(probabilities), data.draw(probabilities)))
    after = play(tree, [SetValue(node=leaf, p=low + (high - low) / 2, low=low, high=high)]).tree
    fixed = {node: (after[node].p, after[node].p) for node in after.leaves() if after[node].p is not None}
    least, most = reachable_ranges(after, {**fixed, leaf: (low, high)})["P0"]
    band = range_band(after, typed_ranges(after), samples=200)
    assert least - 1e-9 <= band["low"] <= band["high"] <= most + 1e-9
    bar = next(row for row in sensitivity_rows(after) if row["id"] == leaf)
    # the tornado's bar spans the range that was given, and no longer 0 to 1
    assert bar["low"] == pytest.approx(least, abs=1e-9) and bar["high"] == pytest.approx(most, abs=1e-9)


def test_a_range_at_a_driver_with_drivers_of_its_own_holds_it() -> None:
    tree = Tree.root_only("r").expand("P0", {"P1": "a", "P2": "b"}).expand("P1", {"P1.1": "below"})
    tree = tree.with_belief("P1.1", Belief(p=0.5)).with_belief("P2", Belief(p=0.5))
    tree = tree.with_rule("P1", LinearRule(0.0, {"P1.1": 1.0}))
    tree = settle(tree.with_rule("P0", LinearRule(0.1, {"P1": 0.5, "P2": 0.25})))
    after = ranged(tree, P1=(0.6, 0.8))
    assert after["P1"].pinned and band_of_ranges(after)["low"] == pytest.approx(0.53, abs=0.001)
    assert band_of_ranges(play(after, [Unpin(node="P1")]).tree) is None


@pytest.mark.parametrize("text", ["60-80%", "60%-80%", "60 % to 80 %", "0.6-0.8", "0.6 to 0.8", "60\u201380%", [0.6, 0.8], (0.6, "80%")])  # fmt: skip
def test_a_range_is_read_as_people_write_it(text: object) -> None:
    assert parse_value(text) == (0.7, 0.6, 0.8)


@pytest.mark.parametrize(
    "text", ["80-60%", "60-180%", "-0.2", "0.2-", "a-b", [0.1], [0.1, 0.2, 0.3], "0.1-0.2-0.3"]
)
def test_what_is_no_range_is_refused(text: object) -> None:
    with pytest.raises(UsageError):
        parse_value(text)


def test_a_range_is_written_and_read_back_with_the_edit_and_the_tree() -> None:
    edit = SetValue(node="P1", p=0.7, low=0.6, high=0.8)
    assert edit_from_json(edit.to_json()) == edit
    tree = ranged(linear(P1=0.5), P1=(0.6, 0.8))
    assert typed_ranges(tree_from_json(tree.to_json())) == {"P1": (0.6, 0.8)}
    for low, high in ((0.8, 0.9), (None, 0.9), (0.9, 0.6)):
        with pytest.raises(ProbabilityOutOfRange):
            SetValue(node="P1", p=0.7, low=low, high=high)


def test_a_range_is_kept_in_a_scenario_and_read_by_page_and_request_alike(tmp_path: Path) -> None:
    make_run(tmp_path)
    with closing(Store(tmp_path)) as store:
        state = load_state(store, RUN)
        leaf = next(iter(state.tree.leaves()))
        edits = EditRequest.read({"values": {leaf: "20-40%"}}).edits(state.tree)
        session = WhatIfSession(state.tree)
        session.edit(leaf, "20-40%")
        assert session.edits == edits and session.tree == play(state.tree, edits).tree
        save_scenario(store, RUN, "wide", edits, author="Ann")
        after = load_state(store, RUN)
        (row,) = scenario_table(after.tree, after.scenarios)["scenarios"]
        assert row["band"]["ranges"] == {leaf: [0.2, 0.4]}
        assert row["band"]["low"] <= row["root"] <= row["band"]["high"]
        assert "band" not in scenario_table(state.tree, state.scenarios)
