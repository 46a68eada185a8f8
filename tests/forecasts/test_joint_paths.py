"""Series drawn together: coherent claims about two, and each alone as it is by itself."""

from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from workbench.forecasts.ensemble import Ensemble
from workbench.forecasts.joint_paths import joint_paths
from workbench.forecasts.reading import Reading, chance
from workbench.forecasts.series.series_history import History
from workbench.forecasts.series_paths import Calendar, Paths, combined_history
from workbench.science.arrays import FloatArray
from workbench.science.errors import DomainError, TooFewError

SESSIONS = Calendar(frequency="session")
DAYS = SESSIONS.stamps(date(2010, 1, 1), date(2018, 6, 29))[-900:]
END = date(2018, 9, 28)
EQUAL = Ensemble(learned=False, each=400)
BEATS = Reading(series=("A", "B"), combination="ratio", transformation="growth", comparison="above", level=0.0, start=DAYS[-1].item(), end=END)  # fmt: skip


def pair(correlation: float, *, seed: int = 1) -> list[History]:
    shocks = np.random.default_rng(seed).standard_normal((2, len(DAYS)))
    shocks[1] = correlation * shocks[0] + np.sqrt(1 - correlation**2) * shocks[1]
    return [History.of(DAYS, 100 * np.exp(np.cumsum(0.01 * row))) for row in shocks]


def steps(paths: Paths) -> FloatArray:
    return np.diff(np.log(paths.values), axis=1).ravel()


def test_a_series_differs_from_itself_by_nothing() -> None:
    first, _ = pair(0.5)
    one, two = joint_paths(EQUAL, [first, first], END, SESSIONS)
    assert not one.combine(two, "difference").values.any()
    assert chance(BEATS, one.combine(two, "ratio")).p == 0.0


@pytest.mark.parametrize("learned", [False, True])
def test_one_beats_the_other_or_is_beaten_or_ties(learned: bool) -> None:
    ensemble = replace(EQUAL, learned=learned)
    one, two = joint_paths(ensemble, pair(0.5), END, SESSIONS)
    for a, b in ((one, two), joint_paths(ensemble, pair(0.5)[::-1], END, SESSIONS)):
        beats, beaten = chance(BEATS, a.combine(b, "ratio")).p, chance(BEATS, b.combine(a, "ratio")).p
        ties = chance(replace(BEATS, comparison="between", upper=1e-12), a.combine(b, "ratio")).p
        assert beats + beaten + ties == pytest.approx(1.0, abs=1e-12)
    # In whatever order they are named.
    again, _ = joint_paths(ensemble, pair(0.5), END, SESSIONS)
    assert np.array_equal(b.weights, again.weights) and np.array_equal(b.values, again.values)


@pytest.mark.parametrize("correlation", [-0.6, 0.0, 0.9])
def test_they_move_together_as_they_did(correlation: float) -> None:
    one, two = joint_paths(EQUAL, pair(correlation), END, SESSIONS)
    assert np.corrcoef(steps(one), steps(two))[0, 1] == pytest.approx(correlation, abs=0.1)
    # The control: each drawn by itself, in another order of rows, does not.
    shuffled = two.values[np.random.default_rng(0).permutation(len(two.values))]
    assert abs(np.corrcoef(steps(one), np.diff(np.log(shuffled), axis=1).ravel())[0, 1]) < 0.05
    spread = np.log(one.values[:, -1] / two.values[:, -1]).std()
    alone = np.sqrt(sum(np.log(each.values[:, -1]).var() for each in (one, two)))
    assert spread == pytest.approx(alone * np.sqrt(1 - correlation), rel=0.15)


def test_each_alone_is_distributed_as_by_itself() -> None:
    """To a tenth of the deviation in every quantile, and exactly so for members of equal weight."""
    shares = [0.05, 0.25, 0.5, 0.75, 0.95]
    histories = pair(0.5)
    members = tuple(name for name in Ensemble().members if name not in ("analogues", "implied"))
    for learned in (False, True):
        ensemble = replace(EQUAL, learned=learned, members=members)
        for history, paths in zip(histories, joint_paths(ensemble, histories, END, SESSIONS), strict=True):
            alone = ensemble.paths(history, END, SESSIONS)
            gap = np.abs(paths.quantiles(shares)[:, -1] - alone.quantiles(shares)[:, -1]).max()
            assert gap <= (0.1 * alone.values[:, -1].std() if learned else 0.0)


def test_what_is_known_of_one_alone_is_on_all_of_its_paths() -> None:
    first, second = pair(0.5)
    behind = History(days=second.days[:-5], values=second.values[:-5])
    one, two = joint_paths(EQUAL, [first, behind], END, SESSIONS)
    assert np.array_equal(one.days, two.days) and one.days[0] == DAYS[-5]
    assert one.values[:, :5] == pytest.approx(np.broadcast_to(first.values[-5:], (len(one.values), 5)))
    assert two.values[:, 4].std() > 0 and one.values[:, 5].std() > 0
    ratio = one.combine(two, "ratio")
    assert np.array_equal(ratio.known.values, combined_history(first, behind, "ratio").values)


def test_a_path_of_a_price_below_0_has_a_ratio_and_a_series_below_0_has_none() -> None:
    first, _ = pair(0.5)
    one, two = joint_paths(EQUAL, [first, first], END, SESSIONS)
    fallen = replace(two, values=np.where(np.arange(len(two.values))[:, None] == 3, -5.0, two.values))
    assert one.combine(fallen, "ratio").values.min() > 0.0
    with pytest.raises(DomainError, match="above 0"):
        one.combine(replace(fallen, known=History.of(DAYS, first.values - 200.0)), "ratio")


def test_a_series_that_never_moved_and_one_without_a_common_day() -> None:
    first, _ = pair(0.5)
    still = History.of(DAYS, np.full(len(DAYS), 4.0))
    one, two = joint_paths(EQUAL, [first, still], END, SESSIONS)
    assert set(two.values.ravel()) == {4.0} and len(two.values) == len(one.values)
    older = History.of(DAYS - 10_000, first.values)
    with pytest.raises(DomainError, match="no day in common"):
        joint_paths(EQUAL, [first, older], END, SESSIONS)
    with pytest.raises(TooFewError):
        joint_paths(EQUAL, [first, History(days=still.days[-9:], values=still.values[-9:])], END, SESSIONS)
