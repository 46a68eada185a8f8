"""Equal methods on questions that share the luck of their day are rarely told apart: the worlds of ``python -m benchmarks.shared_days``."""

import numpy as np
import pytest

from benchmarks.shared_days import Market, measure_market

WORLDS = 120
#: Three standard errors of that many worlds: the rates below are exceeded by chance once in some 700 runs.
SLACK = 3 * np.sqrt(0.06 * 0.94 / WORLDS)

pytestmark = pytest.mark.long


@pytest.mark.parametrize(("days", "most"), [(6, 0.07), (12, 0.06), (24, 0.06)])
def test_verdicts_are_as_rare_and_intervals_cover_as_often_as_they_say(days: int, most: float) -> None:
    counts = measure_market(Market(days=days, series=20), WORLDS)
    after = counts["after"]
    assert after.verdicts / WORLDS <= most + SLACK
    assert after.covered / after.shown >= 0.92 - SLACK
    assert after.brier_covered / after.brier_shown >= 0.92 - SLACK
    # The guard off: by series alone the very same worlds are told apart.
    assert counts["before"].verdicts / WORLDS > 0.15


def test_windows_that_overlap_are_told_apart_no_more_often() -> None:
    after = measure_market(Market(days=24, series=20, apart=7), WORLDS)["after"]
    assert after.verdicts / WORLDS <= 0.06 + SLACK and after.covered / after.shown >= 0.92 - SLACK


def test_questions_of_one_day_get_no_verdict() -> None:
    counts = measure_market(Market(days=1, series=50), 40)
    assert counts["after"].verdicts == 0 and counts["before"].verdicts / 40 > 0.15
