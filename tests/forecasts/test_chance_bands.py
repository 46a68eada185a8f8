"""The band around a chance of the ensemble holds the chance that is true of the simulated world as often as it says."""

import numpy as np
import pytest

from benchmarks.chance_bands import AHEAD, CALENDAR, DAYS, held_by_band, world
from workbench.forecasts.chance_error import chance_error
from workbench.forecasts.ensemble import Ensemble
from workbench.forecasts.reading import Reading, chance
from workbench.forecasts.series.series_history import History

pytestmark = pytest.mark.long

HISTORIES = 40


@pytest.mark.parametrize("kind", ["higher", "level", "average", "spread"])
def test_the_central_90_percent_holds_the_true_chance(kind: str) -> None:
    """With equal weights, for time; docs/science/scores.md has 200 histories with learned ones."""
    ensemble = Ensemble(learned=False)
    shares = {name: held.mean(axis=0) for name, held in held_by_band(kind, ensemble, HISTORIES).items()}
    # Two standard errors are 5 points for the three horizons together, 9 for one.
    assert 0.85 <= shares["band"].mean() <= 0.97 and shares["band"].min() >= 0.82, shares
    # The controls: what the members disagree about is too little, and a band of counted windows is too wide.
    assert shares["members alone"].min() < min(0.85, shares["band"].min()), shares
    if kind == "higher":
        assert shares["counted windows"][-1] > shares["band"][-1] + 0.03


def test_a_chance_that_is_decided_or_of_a_series_that_never_moved_has_no_error() -> None:
    ensemble = Ensemble(learned=False, each=50)
    still = History.of(DAYS, np.full(len(DAYS), 4.0))
    moved = History.of(DAYS, world("higher", np.random.default_rng(0))[0])
    for known, asked in (
        (still, Reading(series=("X",), comparison="above", level=3.0, end=AHEAD[4].item())),
        (
            moved,
            Reading(
                series=("X",), statistic="highest", comparison="above", level=1.0, start=DAYS[-9].item(), end=AHEAD[4].item()
            ),
        ),
    ):  # fmt: skip
        paths = ensemble.paths(known, AHEAD[4].item(), CALENDAR)
        answer = chance(asked, paths)
        assert answer.p == 1.0 and chance_error(answer, asked, paths, ensemble) == 0.0
