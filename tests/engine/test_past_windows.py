"""The band of an answer: how far chance may move leaves that rest on past windows, and how far refits of the rules spread."""

import json
from datetime import date, timedelta
from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.screens import demo_tree
from workbench.formatting import percent
from workbench.propositions import Belief, Polarity, Tree
from workbench.questions.series.series_leaf import RECORD
from workbench.store.events import NodeRefitted, NumberSpread
from workbench.synthesis import LinearRule, settle
from workbench.whatif.band import (
    Band,
    PastWindows,
    past_windows,
    refits_band,
    window_correlation,
    windows_band,
)

START = date(2010, 1, 1)
#: Outcomes of past weeks, and by how many weeks the first lies after the start.
history = st.tuples(st.text("01x", min_size=1, max_size=40), st.integers(0, 30))


def line(statement: str, p: float, bits: str, effective: float, start: date = START) -> str:
    facts = {"statement": statement, "p": p, "bits": bits, "effective_windows": effective}
    return f"A report.\n\n{record_line(facts, start)}"


def record_line(facts: dict[str, object], start: date = START) -> str:
    every = {"record": RECORD, "kind": "leaf", "base_rate": 0.5, "horizon_days": 5}
    return json.dumps({**every, **facts, "weeks_from": start.isoformat()})


def tree_of(*leaves: tuple[float, str, float], later: int = 0) -> Tree:
    """A claim that is the mean of leaves with these p, outcomes and separate windows."""
    names = {f"P{number}": f"Reason {number} holds" for number in range(1, len(leaves) + 1)}
    tree = Tree.root_only("The claim").expand("P0", names, dict.fromkeys(names, Polarity.POSITIVE))
    for (node, statement), (p, bits, effective) in zip(names.items(), leaves, strict=True):
        report = line(statement, p, bits, effective, START + timedelta(days=later))
        tree = tree.with_belief(node, Belief(p=p, key_factor="", report=report))
    rule = LinearRule(0.0, dict.fromkeys(names, 1 / len(leaves)))
    return settle(tree.with_rule("P0", rule, None))


def windows(bits: str, weeks_later: int = 0) -> PastWindows:
    start = START + timedelta(weeks=weeks_later)
    tree = Tree.root_only("It holds")
    (found,) = past_windows(
        tree.with_belief("P0", Belief(p=0.5, key_factor="", report=line("It holds", 0.5, bits, 1.0, start)))
    ).values()
    return found


def by_weeks(bits: str, weeks_later: int) -> dict[int, float]:
    known = {week + weeks_later: float(bit) for week, bit in enumerate(bits) if bit != "x"}
    mean = sum(known.values()) / max(1, len(known))
    return {week: value - mean for week, value in known.items()}


@given(history, history)
def test_errors_go_together_as_the_outcomes_of_common_weeks_did(
    one: tuple[str, int], other: tuple[str, int]
) -> None:
    """As a plain loop over the weeks would have it."""
    first, second = by_weeks(*one), by_weeks(*other)
    norm = sqrt(sum(v * v for v in first.values()) * sum(v * v for v in second.values()))
    expected = (
        sum(first[week] * second[week] for week in first.keys() & second.keys()) / norm if norm else 0.0
    )
    found = window_correlation({"P1": windows(*one), "P2": windows(*other)})
    assert found.get(frozenset(("P1", "P2")), 0.0) == pytest.approx(expected, abs=1e-9)


@given(st.lists(history, min_size=2, max_size=6))
def test_the_correlations_of_all_leaves_are_a_matrix_that_can_be(histories: list[tuple[str, int]]) -> None:
    named = {f"P{number}": windows(*each) for number, each in enumerate(histories, 1)}
    matrix = np.eye(len(named))
    for pair, rho in window_correlation(named).items():
        a, b = (int(name[1:]) - 1 for name in pair)
        matrix[a, b] = matrix[b, a] = rho
    assert np.linalg.eigvalsh(matrix).min() > -1e-9


def test_the_same_past_errs_as_one_and_the_opposite_past_cancels() -> None:
    """Two leaves, p 0.5 on 25 windows each: sd 0.1; their mean has 0.1 if alike, 0 if opposite, 0.0707 if apart."""
    for second, sd in (("0110", 0.1), ("1001", 0.0), ("0011", sqrt(0.005))):
        band = windows_band(tree_of((0.5, "0110", 4.0), (0.5, second, 4.0)))
        assert band is not None
        # 4 separate windows: sd 0.25 a leaf.
        assert band.high - 0.5 == pytest.approx(1.6449 * 2.5 * sd, abs=1e-4)
    assert "not certainty" in windows_band(tree_of((0.5, "0110", 4.0), (0.5, "1001", 4.0))).line()  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "record",
    [
        line("Another statement", 0.6, "01", 1.0),
        line("It holds", 0.7, "01", 1.0),  # another p: pooled, or set since
        line("It holds", 0.6, "0" * 6000, 1.0),
        line("It holds", 0.6, "012", 1.0),
        line("It holds", 0.6, "01", 0.0),
        line("It holds", 0.6, "01", 3.0),
        line("It holds", 0.6, "01", 1.0).replace("2010-01-01", "2010-02-31"),
        line("It holds", 0.6, "01", 1.0)[:-9],
        f'{{"record": "{RECORD}"}}',
        "[" * 5000,
        "",
    ],
)
def test_what_is_no_record_of_this_leaf_gives_no_band(record: str) -> None:
    tree = Tree.root_only("It holds").with_belief("P0", Belief(p=0.6, key_factor="", report=record))
    assert past_windows(tree) == {} and windows_band(tree) is None


@given(st.floats(0, 0.2), st.floats(0, 0.2), st.floats(0, 0.2))
def test_refitted_weights_only_widen_a_band_and_add_as_independent_errors(
    low: float, high: float, half: float
) -> None:
    band = Band(low=0.5 - low, high=0.5 + high, origin="o")
    wider = band.widened(Band(low=0.5 - half, high=0.5 + half, origin="r", repeats="refits"))
    assert wider.low <= band.low + 1e-12 and wider.high >= band.high - 1e-12
    assert wider.high - wider.low == pytest.approx(2 * sqrt(((low + high) / 2) ** 2 + half**2))
    assert band.widened(None) == band


def test_what_the_models_of_a_leaf_disagree_about_widens_its_band_and_too_few_windows_give_none() -> None:
    def found(effective: float, **models: float) -> PastWindows:
        facts = {"statement": "It holds", "p": 0.5, "bits": "0110" * 30, "effective_windows": effective}
        said = {**facts, "models": models, "weights": dict.fromkeys(models, 0.5)} if models else facts
        report = record_line(said)
        (windows,) = past_windows(
            Tree.root_only("It holds").with_belief("P0", Belief(p=0.5, key_factor="", report=report))
        ).values()
        return windows

    alone, agree, differ = found(25.0), found(25.0, a=0.5, b=0.5), found(25.0, a=0.4, b=0.6)
    assert alone.variance(0.5) == agree.variance(0.5) == pytest.approx(0.01)
    assert differ.variance(0.5) == pytest.approx(0.02)
    assert "chance in 25.0" in alone.line(0.5) and "disagreement between 2 models" in differ.line(0.5)
    assert "too few" in found(1.4).line(0.5)
    assert windows_band(tree_of((0.5, "0110", 1.4), (0.5, "0111", 4.0))) is None
    assert windows_band(tree_of((0.5, "0110", 2.0), (0.5, "0111", 4.0))) is not None


@given(st.floats(0, 1), st.floats(2, 500))
def test_a_leafs_own_band_holds_its_p_and_stays_within_probabilities(p: float, effective: float) -> None:
    found = PastWindows(first=1, outcomes=np.ones(1, dtype=np.int64), effective=effective)
    low, high = found.band(p)
    assert 0.0 <= low <= p <= high <= 1.0 and found.to_json(p)["low"] == low
    assert percent(low) in found.line(p) and percent(high) in found.line(p)


def test_a_root_that_is_a_forecast_has_its_own_band_until_a_driver_is_edited() -> None:
    """A claim at 0.5 whose forecast errs by 0.05, above drivers whose shares would give another band."""
    tree = tree_of((0.5, "0110" * 30, 8.0), (0.5, "0101" * 30, 8.0))
    of_drivers = windows_band(tree)
    facts = {"statement": tree.root.statement, "p": 0.5, "bits": "0110" * 30, "effective_windows": 30.0}
    said = {**facts, "models": {"a": 0.4, "b": 0.6}, "weights": {"a": 0.5, "b": 0.5}, "error": 0.05}

    def with_root(record: dict[str, object]) -> Tree:
        report = record_line(record)
        return tree.with_belief("P0", Belief(p=0.5, key_factor="", report=report))

    band = windows_band(with_root(said))
    assert band is not None and (band.low, band.high) == pytest.approx((0.5 - 0.0822, 0.5 + 0.0822), abs=1e-4)
    assert "disagreement between 2 models" in band.line() and "not how certain the event" in band.line()
    # The controls: a record of another p, as after an edit, and one without an error, as of earlier runs.
    for other in ({**said, "p": 0.6}, facts):
        assert windows_band(with_root(other)) == of_drivers
    for wrong in (-0.1, 1.5, "wide", float("nan")):
        assert windows_band(with_root({**said, "error": wrong})) == of_drivers
    assert windows_band(with_root({**said, "effective_windows": 1.3})) is None


def refitted(node: str, sd: float, *, count: int = 5, failed: int = 0) -> NodeRefitted:
    p = demo_tree()[node].p
    assert p is not None
    value = NumberSpread(mean=p, sd=sd, low=p - sd, high=p + sd)
    return NodeRefitted(node=node, count=count, failed=failed, value=value)


def test_the_spread_of_each_node_is_carried_up_by_its_weight() -> None:
    """P2 has weight 0.25 in P0: sd = sqrt((0.25 x 0.04)^2 + 0.02^2) = 0.02236, times 1.6449 = 0.03678."""
    tree = demo_tree()
    band = refits_band(tree, {"P2": refitted("P2", 0.04), "P0": refitted("P0", 0.02)})
    assert band is not None and tree.root.p is not None
    assert (band.low, band.high) == pytest.approx((tree.root.p - 0.03678, tree.root.p + 0.03678), abs=1e-5)
    assert "5 refits of the weights of 2 combined drivers" in band.line()
    assert "not how certain the event" in band.line()


def test_there_is_no_band_of_one_usable_refit_or_none() -> None:
    lone = refitted("P2", 0.0, count=3, failed=2)
    failed = NodeRefitted(node="P0", count=3, failed=3)
    assert refits_band(demo_tree(), {"P2": lone, "P0": failed}) is None
    assert refits_band(demo_tree(), {}) is None
