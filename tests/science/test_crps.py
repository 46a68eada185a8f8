"""Scores of distributions: laws, and the same numbers from another library."""

import numpy as np
import pytest
import scoringrules
from hypothesis import given
from hypothesis import strategies as st

from workbench.science.errors import DomainError
from workbench.science.scoring.crps import (
    crps_of_draws,
    crps_of_quantiles,
    interval_coverage,
    pit_of_draws,
)

NUMBERS = st.integers(-400, 400).map(lambda k: k / 8)
DRAWS = st.lists(NUMBERS, min_size=1, max_size=30)


@given(DRAWS, NUMBERS)
def test_the_crps_of_draws_is_that_of_scoringrules(draws: list[float], y: float) -> None:
    theirs = scoringrules.crps_ensemble(np.array(y), np.array(draws), estimator="nrg")
    assert crps_of_draws(draws, y) == pytest.approx(float(theirs), abs=1e-9)


@given(st.lists(st.tuples(NUMBERS, st.integers(1, 5)), min_size=1, max_size=12), NUMBERS)
def test_a_weight_is_as_good_as_a_repetition(pairs: list[tuple[float, int]], y: float) -> None:
    values, weights = zip(*pairs, strict=True)
    repeated = [value for value, count in pairs for _ in range(count)]
    assert crps_of_draws(values, y, weights) == pytest.approx(crps_of_draws(repeated, y), abs=1e-9)
    assert pit_of_draws(values, y, weights) == pytest.approx(pit_of_draws(repeated, y), abs=1e-9)


@given(st.lists(NUMBERS, min_size=1, max_size=19), NUMBERS)
def test_the_crps_of_quantiles_is_that_of_scoringrules(values: list[float], y: float) -> None:
    quantiles = np.sort(values)
    levels = np.arange(1, len(values) + 1) / (len(values) + 1)
    theirs = scoringrules.crps_quantile(np.array(y), quantiles, levels)
    assert crps_of_quantiles(levels, quantiles, y) == pytest.approx(float(theirs), abs=1e-9)


def test_many_quantiles_score_as_the_draws_they_are_of() -> None:
    draws = np.random.default_rng(5).standard_normal(4000)
    levels = np.arange(1, 200) / 200
    quantiles = np.quantile(draws, levels)
    for y in (-2.0, 0.1, 3.0):
        assert crps_of_quantiles(levels, quantiles, y) == pytest.approx(crps_of_draws(draws, y), rel=0.03)


@pytest.mark.parametrize(
    ("draws", "weights"),
    [([], None), ([1.0], [1.0, 2.0]), ([1.0], [-1.0]), ([1.0], [0.0]), ([float("nan")], None)],
)
def test_what_is_no_distribution_is_refused(draws: list[float], weights: list[float] | None) -> None:
    with pytest.raises(DomainError):
        crps_of_draws(draws, 1.0, weights)


def test_levels_and_outcomes_out_of_range_are_refused() -> None:
    for levels in ([0.0], [1.0], [0.5, 0.6]):
        with pytest.raises(DomainError):
            crps_of_quantiles(levels, [1.0], 1.0)
    with pytest.raises(DomainError):
        pit_of_draws([1.0], float("inf"))
    with pytest.raises(DomainError):
        interval_coverage([], 0.9)
