"""The band around a chance of the ensemble holds the chance that is true of the simulated world as often as it says."""

from collections import defaultdict
from datetime import date

import numpy as np
import pytest
from scipy.signal import lfilter

from workbench.forecasts.ensemble import Ensemble
from workbench.forecasts.reading import Reading, chance, statistics
from workbench.forecasts.separate_windows import chance_variance, separate_windows
from workbench.forecasts.series.series_history import History
from workbench.forecasts.series_paths import Calendar, Paths
from workbench.science.arrays import FloatArray

pytestmark = pytest.mark.long

CALENDAR = Calendar(frequency="weekday")
DAYS = CALENDAR.stamps(date(2005, 1, 1), date(2018, 6, 29))[-252 * 12 :]
AHEAD = CALENDAR.stamps(date(2018, 6, 29), date(2018, 12, 31))[:60]
#: What is left of a level after a day: half-lives of two and of nine months.
KEPT = {"level": 0.985, "spread": 0.996}
HISTORIES = 60


def world(kind: str, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """A past, and 4,000 futures that may follow it, both as values."""
    if kind not in KEPT:
        x = np.cumsum(0.0003 + 0.01 * rng.standard_normal(len(DAYS)))
        return 100 * np.exp(x), 100 * np.exp(x[-1] + np.cumsum(0.0003 + 0.01 * rng.standard_normal((4000, 60)), axis=1))  # fmt: skip
    keep = KEPT[kind]
    x = 0.05 * lfilter([1.0], [1.0, -keep], rng.standard_normal(len(DAYS) + 2000))[2000:]
    shocks = 0.05 * rng.standard_normal((4000, 60))
    ahead = lfilter([1.0], [1.0, -keep], shocks, axis=1) + x[-1] * keep ** np.arange(1, 61)
    return (100 * np.exp(x), 100 * np.exp(ahead)) if kind == "level" else (3 + x, 3 + ahead)


def reading(kind: str, steps: int, days: np.ndarray) -> Reading:
    end = days[steps - 1].item()
    if kind == "higher":
        return Reading(series=("X",), transformation="change", comparison="above", level=0.0, end=end)
    if kind == "average":
        return Reading(series=("X",), transformation="average_gap", lag=200, comparison="above", level=0.0, end=end)  # fmt: skip
    return Reading(series=("X",), comparison="above", level=100.0 if kind == "level" else 3.0, end=end)


@pytest.mark.parametrize("kind", ["higher", "level", "average", "spread"])
def test_the_central_90_percent_holds_the_true_chance(kind: str) -> None:
    held: dict[tuple[int, str], list[bool]] = defaultdict(list)
    for seed in range(HISTORIES):
        values, futures = world(kind, np.random.default_rng(seed))
        known = History.of(DAYS, values)
        paths = Ensemble(learned=False, each=200).paths(known, AHEAD[-1].item(), CALENDAR)
        truth = Paths.of(futures, AHEAD, known=known, calendar=CALENDAR)
        scale = values if kind == "spread" else np.log(values)
        windows = np.lib.stride_tricks.sliding_window_view(scale, 61)
        moves = scale[-1] + windows[::5, 1:] - windows[::5, :1]
        past = Paths.of(moves if kind == "spread" else np.exp(moves), AHEAD, known=known, calendar=CALENDAR)
        for steps in (5, 20, 60):
            asked = reading(kind, steps, AHEAD)
            found, error = chance(asked, paths), chance(asked, truth).p
            separate = separate_windows(statistics(asked, past) > asked.level, steps / 5)
            weights = [1.0] * len(paths.members)
            members = list(found.by_member.values())
            for name, variance in (
                ("both", chance_variance(found.p, separate, members, weights)),
                ("past", chance_variance(found.p, separate)),
                ("members", chance_variance(found.p, separate, members, weights) - chance_variance(found.p, separate)),
            ):  # fmt: skip
                held[steps, name].append(abs(found.p - error) <= 1.6449 * np.sqrt(max(variance, 0.0)) + 1e-3)
    shares = {key: float(np.mean(each)) for key, each in held.items()}
    # Two standard errors of 60 histories are 8 points.
    assert min(shares[steps, "both"] for steps in (5, 20, 60)) >= 0.82, shares
    # The control: for some horizon of every claim one of the two errors alone is too little.
    alone = min(shares[steps, name] for steps in (5, 20, 60) for name in ("past", "members"))
    assert alone < min(0.9, min(shares[steps, "both"] for steps in (5, 20, 60)) + 1e-9), shares
