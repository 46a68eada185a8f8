"""Whether intervals hold the truth as often as they say, equal methods are rarely told apart, and a method that is worse is found.

The same worlds as ``python -m benchmarks.interval_coverage``, seeded; each guard is shown to fail with a planted wrong method.
"""

from collections.abc import Callable

import numpy as np
import pytest

from benchmarks import interval_coverage as bench
from benchmarks.shared_days import Market, measure_market
from workbench.science.comparing import mean_intervals as intervals
from workbench.science.scoring.calibration_error import (
    calibrated_error,
    calibration_error,
    debiased_calibration_error,
)
from workbench.science.scoring.utility import TaskValues

SMALL = ("20 independent", "20 questions of 3 dates", "one cluster of 10 beside 20 single")
#: 95 % within 92 to 97 %, and three standard errors of the worlds drawn.
LEAST, MOST = 0.92, 0.97
IntervalOfMean = Callable[[np.ndarray, np.ndarray], list[float]]


def scenario(name: str) -> bench.Scenario:
    return next(each for each in bench.SCENARIOS if each.name == name)


def outside(table: dict[str, bench.Coverage], worlds: int) -> dict[str, float]:
    """Quantities whose coverage is too low by more than chance explains, but average returns: theirs is the paper's own bootstrap."""
    slack = 3 * np.sqrt(0.05 * 0.95 / worlds)
    return {
        name: each.share
        for name, each in table.items()
        if each.shown and each.share < LEAST - slack and not name.startswith("return")
    }


@pytest.mark.long
@pytest.mark.parametrize("name", SMALL)
def test_intervals_cover_in_few_worlds(name: str) -> None:
    table, errors = bench.measure(scenario(name), 60)
    assert outside(table, 60) == {}
    assert errors.wrong / errors.worlds <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 60)


@pytest.mark.long
def test_intervals_of_choices_cover_and_dates_taken_for_assets_do_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert outside(bench.measure_choices(20, 3, 100), 100) == {}

    def alone(
        values: TaskValues, clusters: np.ndarray, **settings: intervals.Resampling
    ) -> dict[str, intervals.Bounds]:
        return intervals.utility_intervals(values, np.arange(len(clusters)), **settings)

    monkeypatch.setattr(bench, "utility_intervals", alone)
    assert outside(bench.measure_choices(10, 10, 100), 100).keys() == {"accuracy", "hard", "soft"}


@pytest.mark.long
def test_a_planted_difference_is_found_and_more_often_in_more_questions() -> None:
    found = [bench.measure(scenario(f"{n} independent"), 30)[1].found for n in (20, 200)]
    assert found[0] < found[1] and found[1] >= 9


def moved_by_order(method: IntervalOfMean) -> float:
    """How far an interval moves when the same events stand in another order, their clusters under other names."""
    rng = np.random.default_rng(5)
    losses, clusters, order = rng.random(15) ** 2, rng.integers(0, 9, 15), rng.permutation(15)
    names = np.array(list("abcdefghi"))[clusters]
    plain, shuffled = method(losses, clusters), method(losses[order], names[order])
    return float(np.abs(np.subtract(plain, shuffled)).max())


def moved_by_scale(method: IntervalOfMean) -> float:
    """How far the interval of losses in other units lies from the plain one in these units."""
    rng = np.random.default_rng(5)
    losses, clusters = rng.random(15) ** 2, rng.integers(0, 9, 15)
    plain = 100.0 * np.array(method(losses, clusters)) - 3.0
    return float(np.abs(plain - method(100.0 * losses - 3.0, clusters)).max())


def of_mean(losses: np.ndarray, clusters: np.ndarray) -> list[float]:
    return intervals.mean_intervals([losses], clusters)[0] or []


def test_order_labels_and_scale_change_no_interval() -> None:
    assert moved_by_order(of_mean) < 1e-9 and moved_by_scale(of_mean) < 1e-7
    rng = np.random.default_rng(5)
    losses, clusters = rng.random(15) ** 2, rng.integers(0, 9, 15)
    once = intervals.loss_interval(losses, clusters)
    assert intervals.loss_interval(4 * losses, clusters, most=np.inf) == pytest.approx(
        [4 * end for end in once or []]
    )


def test_shares_are_certain_of_nothing_and_one_cluster_is_no_sample() -> None:
    assert (intervals.share_interval(np.ones(20), np.arange(20)) or [1.0])[0] < 0.87
    assert intervals.share_interval(np.ones(40), np.repeat([0, *range(1, 21)], [20, *[1] * 20])) is None
    even = intervals.share_interval([1, 0] * 20, np.arange(40))
    together = intervals.share_interval([1] * 20 + [0] * 20, np.repeat(np.arange(8), 5))
    assert even is not None and together is not None
    assert together[1] - together[0] > 1.7 * (even[1] - even[0])


def test_a_calibrated_forecaster_is_expected_to_show_what_it_shows() -> None:
    rng = np.random.default_rng(6)
    p = rng.beta(2, 2, 50)
    seen = [
        (calibration_error(p, o), debiased_calibration_error(p, o)) for o in (rng.random((300, 50)) < p) * 1.0
    ]
    plain, debiased = np.array(seen).T
    expected = calibrated_error(p)
    assert plain.mean() == pytest.approx(expected.expected, abs=0.01)
    assert (plain > expected.high).mean() == pytest.approx(0.05, abs=0.04)
    assert debiased.mean() < 0.6 * plain.mean()


WORLDS = 120
#: Three standard errors of that many worlds: the rates below are exceeded by chance once in some 700 runs.
SLACK = 3 * np.sqrt(0.06 * 0.94 / WORLDS)


@pytest.mark.long
@pytest.mark.parametrize(("days", "most"), [(6, 0.07), (12, 0.06), (24, 0.06)])
def test_verdicts_are_as_rare_and_intervals_cover_as_often_as_they_say(days: int, most: float) -> None:
    counts = measure_market(Market(days=days, series=20), WORLDS)
    after = counts["after"]
    assert after.verdicts / WORLDS <= most + SLACK
    assert after.covered / after.shown >= 0.92 - SLACK
    assert after.brier_covered / after.brier_shown >= 0.92 - SLACK
    # The guard off: by series alone the very same worlds are told apart.
    assert counts["before"].verdicts / WORLDS > 0.15


@pytest.mark.long
def test_windows_that_overlap_are_told_apart_no_more_often() -> None:
    after = measure_market(Market(days=24, series=20, apart=7), WORLDS)["after"]
    assert after.verdicts / WORLDS <= 0.06 + SLACK and after.covered / after.shown >= 0.92 - SLACK


@pytest.mark.long
def test_questions_of_one_day_get_no_verdict() -> None:
    counts = measure_market(Market(days=1, series=50), 40)
    assert counts["after"].verdicts == 0 and counts["before"].verdicts / 40 > 0.15
