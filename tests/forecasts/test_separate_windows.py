"""Bands of a past share hold the true one as often as they say, whatever makes the windows go together."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import lfilter

from workbench.forecasts.separate_windows import separate_windows
from workbench.science.arrays import FloatArray

DAYS = 252 * 24
Series = Callable[[np.random.Generator, int], FloatArray]


def higher(rng: np.random.Generator, days: int) -> FloatArray:
    walk = np.cumsum(0.0003 + 0.01 * rng.standard_normal(DAYS + days))
    return walk[days:] > walk[:-days]


def level_with(keep: float) -> Series:
    def outcomes(rng: np.random.Generator, days: int) -> FloatArray:
        level = lfilter([1.0], [1.0, -keep], rng.standard_normal(DAYS + days + 2000))[2000:]
        return level[days:] > 0

    return outcomes


def above_average(rng: np.random.Generator, days: int) -> FloatArray:
    closes = np.exp(np.cumsum(0.0003 + 0.01 * rng.standard_normal(DAYS + days + 200)))
    means = np.convolve(closes, np.full(200, 1 / 200), "valid")
    return (closes[199:] > means)[days:]


@pytest.mark.parametrize("days", [5, 20, 60])
@pytest.mark.parametrize(
    ("name", "outcomes"),
    [
        ("higher", higher),
        ("level", level_with(0.985)),
        ("average", above_average),
        ("spread", level_with(0.996)),
    ],
)
def test_the_central_90_percent_holds_the_true_share(name: str, outcomes: Series, days: int) -> None:
    rng = np.random.default_rng(7)
    histories = [outcomes(rng, days)[::5].astype(float) for _ in range(200)]
    shares = np.array([history.mean() for history in histories])
    truth = 0.5 if name in ("level", "spread") else float(shares.mean())
    numbers = np.array([separate_windows(history, days / 5) for history in histories])
    half = 1.6449 * np.sqrt(shares * (1 - shares) / numbers)
    held = float((np.abs(shares - truth) <= half).mean())
    # Two standard errors of 200 histories are 4 points.
    assert 0.81 <= held <= 0.98, held
    if name != "higher":
        by_overlap = 1.6449 * np.sqrt(shares * (1 - shares) * (days / 5) / len(histories[0]))
        assert (np.abs(shares - truth) <= by_overlap).mean() < held


@given(st.lists(st.booleans(), max_size=60), st.floats(0.2, 20))
def test_no_number_is_below_one_or_above_what_does_not_overlap(outcomes: list[bool], overlap: float) -> None:
    number = separate_windows(outcomes, overlap)
    assert 1.0 <= number <= max(len(outcomes) / max(overlap, 1.0), 1.0)
