"""Worlds with known truth: the formulas they must follow, and what they say of the papers' claims."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.science.comparing.clusters import cluster_count, day_count, event_clusters
from workbench.science.errors import DomainError
from workbench.science.scoring.scores import brier
from workbench.science.simulator.simulated_exams import exam_from_settings, simulate_exam
from workbench.science.simulator.studies import Study, claims_of, run_study
from workbench.science.simulator.worlds import GrounderErrors, crowd_prices, linear_reading, make_world
from workbench.synthesis.sensitivity.paths import path_weights

kinds = st.sampled_from(["linear", "logic"])


@settings(max_examples=25)
@given(kinds, st.integers(2, 4), st.integers(1, 2), st.integers(0, 5))
def test_leaves_without_error_give_the_truth_and_all_stays_in_the_unit_interval(
    kind: str, branching: int, depth: int, seed: int
) -> None:
    world = make_world(kind, branching=branching, depth=depth, seed=seed)  # type: ignore[arg-type]
    rng = np.random.default_rng(seed)
    truths = world.draw_truths(20, rng)
    assert truths.shape == (20, branching**depth)
    assert np.array_equal(GrounderErrors().apply(truths, rng), truths)
    said = GrounderErrors(bias=0.3, sd=1.0, noise="reverse", level=0.5).apply(truths, rng)
    assert ((said >= 0) & (said <= 1)).all() and ((world.truth(said) >= 0) & (world.truth(said) <= 1)).all()


def test_a_logic_world_is_and_over_or() -> None:
    world = make_world("logic", branching=2, depth=2)
    # (1 - (1-.5)(1-.5)) x (1 - (1-.2)(1-.9)) = .75 x .92
    assert world.truth(np.array([[0.5, 0.5, 0.2, 0.9]]))[0] == pytest.approx(0.69)


def test_the_root_s_variance_is_that_of_the_formula() -> None:
    """s² (r (sum w)² + (1 - r) sum w²), paper A, section 3: 0.01 x (0.3 + 0.7 sum w²)."""
    world = make_world("linear", branching=4, depth=1, seed=1)
    weights = np.array([path_weights(world.tree)[leaf] for leaf in world.leaves], dtype=float)
    rng = np.random.default_rng(0)
    truths = np.full((200_000, 4), 0.5)
    root = world.truth(GrounderErrors(sd=0.1, correlation=0.3).apply(truths, rng))
    assert root.var() == pytest.approx(0.01 * (0.3 + 0.7 * (weights**2).sum()), rel=0.02)


def test_a_linear_reading_of_a_linear_world_is_that_world() -> None:
    world = make_world("linear", branching=3, depth=2, seed=3)
    truths = world.draw_truths(300, np.random.default_rng(1))
    assert np.allclose(linear_reading(world, truths).truth(truths), world.truth(truths))


def test_a_difference_of_nothing_is_not_shown_and_signs_decide() -> None:
    noise = np.random.default_rng(0).normal(size=40)
    rows = [("a", "y", noise - noise.mean()), ("b", "y", noise + 2), ("c", "y", noise - 2)]
    assert [claim.verdict for claim in claims_of(*rows)] == [
        "no difference shown",
        "supported",
        "contradicted",
    ]


def test_claims_of_a_study_are_one_family() -> None:
    """Of forty claims without anything in them some show a difference by themselves, and none together."""
    draws = np.random.default_rng(2).normal(size=(40, 40))
    alone = [claims_of(("x", "y", row))[0].verdict for row in draws]
    together = claims_of(*((f"x{number}", "y", row) for number, row in enumerate(draws)))
    assert {"supported", "contradicted"} & set(alone)
    assert {claim.verdict for claim in together} == {"no difference shown"}
    assert all(claim.p_holm >= 0.05 for claim in together)


@cache
def study(name: str) -> Study:
    return run_study(name)


def verdicts(name: str) -> dict[str, str]:
    return {claim.statement: claim.verdict for claim in study(name).claims}


@pytest.mark.long
def test_noise_moves_logic_more_but_a_linear_reading_pays_only_under_strong_noise() -> None:
    found = verdicts("noise")
    assert all(verdict == "supported" for claim, verdict in found.items() if "moves the claim" in claim)
    assert found["normal 0.3: a linear reading of a logic world errs less than its true rules"] == "supported"
    assert (
        found["normal 0.1: a linear reading of a logic world errs less than its true rules"] == "contradicted"
    )


def test_more_leaves_lower_variance_but_correlated_siblings_set_a_floor() -> None:
    found = verdicts("leaves")
    assert found["correlation 0: 64 drivers give a lower variance than 4"] == "supported"
    assert [v for claim, v in found.items() if "in proportion" in claim] == ["contradicted"]
    floor = 0.3 * 0.15**2
    assert all(row.low > floor * 0.95 for row in study("leaves").estimates if "0.3" in row.setting)


def test_depth_alone_takes_no_bias_away() -> None:
    assert list(verdicts("depth").values()) == ["no difference shown", "supported"]
    assert all(
        row.low - 0.002 < 0.1 < row.high + 0.002
        for row in study("depth").estimates
        if "as biased" in row.setting
    )


def test_pooling_and_a_crowd_help() -> None:
    assert set(verdicts("crowd").values()) == {"supported"}


@given(st.integers(1, 300))
def test_the_questions_of_an_exam_are_as_many_clusters_and_days(questions: int) -> None:
    """Their luck is drawn apart: nothing ties two of them."""
    events = simulate_exam("linear", questions=questions, seed=1).events()
    assert cluster_count(event_clusters(events)) == day_count(events) == questions


def test_an_exam_scores_the_truth_best_and_repeats_itself() -> None:
    exam = simulate_exam("logic", questions=2000, seed=5)
    assert np.array_equal(exam.outcome, simulate_exam("logic", questions=2000, seed=5).outcome)
    errors = GrounderErrors(bias=0.1, sd=0.2)
    said = np.array([exam.forecast(row, errors, "leaf", seed=1, trial=1) for row in range(2000)])
    assert brier(exam.truth, exam.outcome) < brier(exam.price, exam.outcome) and brier(
        exam.truth, exam.outcome
    ) < brier(said, exam.outcome)
    assert exam.forecast(7, errors, "own", seed=1, trial=1) == exam.forecast(
        7, errors, "own", seed=1, trial=1
    )
    assert exam.forecast(7, errors, "own", seed=1, trial=1) != exam.forecast(
        7, errors, "own", seed=1, trial=2
    )


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: make_world("round"), "linear, logic"),  # type: ignore[arg-type]
        (lambda: make_world("linear", branching=1), "branches at least into 2"),
        (lambda: GrounderErrors(sd=-1), "sd is at least 0"),
        (lambda: GrounderErrors(noise="loud"), "noise is one of"),  # type: ignore[arg-type]
        (lambda: simulate_exam(questions=0), "1 to 100,000"),
        (lambda: exam_from_settings({"size": 3}), "no setting 'size'"),
        (lambda: exam_from_settings({"kind": 3}), "a world is one of"),
        (lambda: exam_from_settings({"questions": "many"}), "cannot be set so"),
        (lambda: run_study("luck"), "luck"),
    ],
)
def test_a_world_that_cannot_be_is_refused(make: object, says: str) -> None:
    with pytest.raises(DomainError if says != "luck" else Exception, match=says):
        make()  # type: ignore[operator]


def test_prices_stay_strictly_inside() -> None:
    prices = crowd_prices(np.array([0.0, 1.0, 0.5]), np.random.default_rng(0), sd=9.0)
    assert ((prices > 0) & (prices < 1)).all()


@pytest.mark.parametrize(
    "settings",
    [5, "x", [["kind", "linear"]], {"depth": 2}, {"seed": -1}, {"seed": "x"}],
)
def test_settings_that_are_none_are_refused(settings: Any) -> None:
    with pytest.raises(DomainError):
        exam_from_settings(settings)
    assert len(exam_from_settings({"questions": 3}).outcome) == 3
