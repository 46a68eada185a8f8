"""The sentence that says how far to trust forecasts: what to do comes first, and its numbers are those of the test."""

import numpy as np
import pytest

from workbench.formatting import signed_figure
from workbench.science.comparing.paired import PairedVerdict, paired_test
from workbench.science.documents.skill_words import skill_line


def around(mean: float, clusters: int = 20) -> PairedVerdict:
    return paired_test(mean + np.tile([-1.0, 1.0], clusters // 2 + 1)[:clusters])


@pytest.mark.parametrize(
    ("mean", "verdict", "said"),
    [
        (2.0, "better", "did better than the base rate ("),
        (-2.0, "worse", "did worse than the base rate: take the base rate ("),
        (0.2, "no difference shown", "beat the base rate by no more than luck would: take the base rate ("),
        (-0.2, "no difference shown", "did no better than the base rate: take the base rate ("),
        # shown as 0.0, it beat nothing
        (0.04, "no difference shown", "did no better than the base rate: take the base rate ("),
    ],
)
def test_what_it_means_comes_first_and_the_figures_are_the_tests(
    mean: float, verdict: str, said: str
) -> None:
    test = around(mean)
    assert test.verdict == verdict
    line = skill_line(test, "40 forecasts on 20 past dates")
    first, _, figures = line.partition(" (gain in Brier Index ")
    assert f"{first} (" == f"On 40 forecasts on 20 past dates (20 independent) this way of forecasting {said}"
    low, high = map(signed_figure, test.interval or ())
    assert figures == f"{signed_figure(test.estimate)}, 95% interval {low} to {high})"


def test_too_few_say_the_threshold_and_give_no_interval() -> None:
    assert skill_line(around(2.0, 5), "5 past dates").endswith("; a verdict needs 6 independent ones)")
    assert "95% interval" not in skill_line(around(2.0, 5), "5 past dates")
    # enough for an interval, too few for so many comparisons
    many = skill_line(around(2.0, 7).judged(comparisons=30), "7 past dates")
    assert many.startswith("7 past dates (7 independent) cannot tell skill from luck: take the base rate")
    assert "95% interval" in many and many.endswith(
        "; 7 clusters can show no difference among 30 comparisons)"
    )
