"""The ensemble of a series: what it draws, what it learns from, and what it never looks at."""

from datetime import date

import numpy as np
import pytest

from workbench.forecasts.ensemble import Ensemble
from workbench.forecasts.member_weights import EnsembleFit, PoolCalibration, density_and_rank, fit_ensemble
from workbench.forecasts.members.scaled_past import ScaledPast
from workbench.forecasts.members.shock_paths import drawn_positions
from workbench.forecasts.series.series_history import History
from workbench.forecasts.series_paths import Calendar, Frequency, Paths
from workbench.science.arrays import FloatArray
from workbench.science.errors import DomainError, TooFewError
from workbench.science.scoring.crps import crps_of_draws

HORIZON = date(2018, 12, 31)


def walk(count: int, frequency: Frequency = "session", *, scale: float = 0.01, seed: int = 3) -> History:
    days = Calendar(frequency=frequency).stamps(date(1960, 1, 1), date(2018, 6, 29))[-count:]
    steps = scale * np.random.default_rng(seed).standard_normal(len(days))
    return History.of(days, 100 * np.exp(np.cumsum(steps)))


def reverting(count: int, *, seed: int = 5) -> History:
    rng = np.random.default_rng(seed)
    x = np.zeros(count)
    for t in range(1, count):
        x[t] = 0.95 * x[t - 1] + 0.1 * rng.standard_normal()
    x[-1] = 0.9  # far above the mean
    days = Calendar(frequency="session").stamps(date(1990, 1, 1), date(2018, 6, 29))[-count:]
    return History.of(days, 15 * np.exp(x))


def ahead(history: History, **fields: object) -> Paths:
    return Ensemble(**fields).paths(history, HORIZON, Calendar.of(history))  # type: ignore[arg-type]


def test_the_same_history_gives_the_same_paths() -> None:
    history = walk(900)
    first, again = ahead(history), ahead(history)
    assert np.array_equal(first.values, again.values) and np.array_equal(first.weights, again.weights)
    assert (first.values > 0).all() and first.last == (date(2018, 6, 29), history.values[-1])


@pytest.mark.parametrize(
    ("frequency", "count"), [("session", 800), ("day", 800), ("week", 400), ("month", 300), ("quarter", 120)]
)
def test_every_frequency_has_members_and_paths_through_the_horizon(frequency: Frequency, count: int) -> None:
    paths = ahead(walk(count, frequency), learned=False)
    assert len(paths.members) >= 5
    assert np.array_equal(paths.days, paths.calendar.stamps(paths.last[0], HORIZON))


def test_a_series_may_be_negative_or_never_move() -> None:
    days = walk(300, "month").days
    balance = History.of(days, np.cumsum(np.random.default_rng(0).normal(size=300)))
    assert (balance.values < 0).any() and (ahead(balance, learned=False).values < 0).any()
    still = ahead(History.of(days, np.full(300, 4.25)))
    assert set(still.values.ravel()) == {4.25}


@pytest.mark.parametrize(
    "values", [np.arange(1.0, 301.0), 1.01 ** np.arange(300), np.append(np.full(299, 2.0), 3.0)]
)
def test_a_series_that_always_moved_alike_has_a_forecast(values: FloatArray) -> None:
    paths = ahead(History.of(walk(300, "month").days, values), learned=False)
    assert np.isfinite(paths.values).all() and "HAR" in paths.members


def test_a_short_history_and_a_past_horizon_are_refused() -> None:
    with pytest.raises(TooFewError, match="at least 24"):
        ahead(walk(20))
    with pytest.raises(DomainError, match="no value is to come"):
        Ensemble().paths(walk(300), date(2018, 6, 29), Calendar(frequency="session"))


def test_implied_volatility_widens_the_paths_and_its_later_values_are_not_read() -> None:
    history = walk(900)
    low, high = (History.of(history.days, np.full(900, level)) for level in (8.0, 60.0))
    fields = {"members": ("implied",), "learned": False}
    narrow, wide = (np.diff(ahead(history, implied=each, **fields).quantiles([0.05, 0.95])[:, -1])[0] for each in (low, high))  # fmt: skip
    assert wide > 1.5 * narrow
    days = np.concatenate([low.days, Calendar(frequency="session").stamps(date(2018, 6, 29), HORIZON)])
    later = History.of(days, np.concatenate([low.values, np.full(len(days) - 900, 60.0)]))
    assert np.array_equal(
        ahead(history, implied=later, **fields).values, ahead(history, implied=low, **fields).values
    )


@pytest.mark.parametrize("name", ["reverting", "walk"])
def test_a_level_far_above_its_mean_is_expected_to_fall_and_a_walk_is_not(name: str) -> None:
    returns, wanders = (
        ahead(history, members=(name,), learned=False).quantiles([0.5])[0, -1] / history.values[-1]
        for history in (reverting(1500), walk(1500))
    )
    assert returns < 0.6 and wanders == pytest.approx(1.0, abs=0.1)


def test_weights_are_learned_from_cutoffs_whose_outcome_was_known() -> None:
    """Whatever follows the history given, the same cutoffs before it were scored alike: a longer history shares their scores."""
    history = walk(1500)
    seen = History(days=history.days[:1200], values=history.values[:1200])
    changed = History(days=history.days, values=np.concatenate([seen.values, 3 * history.values[1200:]]))
    fits = []
    for later in (history, changed):
        ensemble = Ensemble()
        ensemble.paths(later, HORIZON, Calendar.of(later))
        past = ScaledPast.of(seen, Calendar.of(seen))
        fits.append(ensemble.fit(past, 21))
    assert np.array_equal(fits[0].weights, fits[1].weights)
    assert fits[0].calibrations == fits[1].calibrations
    assert dict(zip(fits[0].horizons, fits[0].cutoffs, strict=True)) == {5: 33, 21: 33, 63: 11}


def test_ensembles_of_a_series_at_several_cutoffs_score_a_past_cutoff_once() -> None:
    """A record of 120 cutoffs rests on it: members are compared at the same horizons, whatever the day that is asked about."""
    history = walk(1000, seed=11)
    scores: dict[str, np.ndarray] = {}
    counts = []
    for count in (1000, 998, 995):
        seen = History(days=history.days[:count], values=history.values[:count])
        Ensemble(each=50, scores=scores).paths(seen, HORIZON, Calendar.of(seen))
        counts.append(len(scores))
    assert counts[0] > 2 and counts == [counts[0]] * 3
    Ensemble(each=50, scores=scores, members=("walk", "HAR")).paths(history, HORIZON, Calendar.of(history))
    assert len(scores) == 2 * counts[0]


def test_between_two_horizons_the_calibration_lies_between_theirs_and_beyond_them_it_is_theirs() -> None:
    """Worked by hand: 11 steps are half way from 5.5, through which a week counts, to 22 by the logarithm."""
    near, far = PoolCalibration(1.0, 0.0, 0.1, 0.2), PoolCalibration(2.0, 0.4, 0.3, 0.2)
    fit = EnsembleFit(weights=np.ones(1), horizons=(5, 22), cutoffs=(9, 9), calibrations=(near, far))
    found = fit.on_steps(np.array([1.0, 5.5, 11.0, 22.0, 99.0]))
    assert found.spread == pytest.approx([1.0, 1.0, 1.5, 2.0, 2.0])
    assert found.shift == pytest.approx([0.0, 0.0, 0.2, 0.4, 0.4])
    assert found.spread_error == pytest.approx([0.1, 0.1, 0.2, 0.3, 0.3])


def test_weights_do_not_hang_on_how_far_a_forecast_reaches() -> None:
    history = walk(1500)
    past = ScaledPast.of(history, Calendar.of(history))
    near, far = (Ensemble().fit(past, steps) for steps in (3, 300))
    assert np.array_equal(near.weights, far.weights)
    assert far.horizons == (5, 21, 63, 126, 252, 504) and near.calibrations == far.calibrations[:3]


def test_a_better_member_earns_weight_and_few_cutoffs_earn_little() -> None:
    densities = np.column_stack([np.full(60, 2.0), np.full(60, 1.0), np.full(60, np.nan)])
    ranks = np.tile([0.5, 0.5, np.nan], (60, 1))
    table = np.stack([densities, ranks], axis=1)
    many, few = fit_ensemble({21: table}, 21).weights, fit_ensemble({21: table[:3]}, 21).weights
    assert many[0] > few[0] > 1 / 3 and many[0] > 2 * many[1]
    assert many.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(("truth", "wider"), [(3.0, True), (0.3, False)])
def test_a_pool_that_was_too_narrow_is_widened(truth: float, wider: bool) -> None:
    rng = np.random.default_rng(0)
    pairs = [density_and_rank(rng.standard_normal(300), truth * rng.standard_normal()) for _ in range(80)]
    (fit,) = fit_ensemble({21: np.array(pairs)[:, :, None]}, 21).calibrations
    assert (fit.spread > 1.3) if wider else (fit.spread < 0.7)


def test_a_pool_that_was_right_is_left_as_wide_as_it_is() -> None:
    rng = np.random.default_rng(0)
    spreads = []
    for _ in range(20):
        pairs = [density_and_rank(rng.standard_normal(250), rng.standard_normal()) for _ in range(400)]
        (fit,) = fit_ensemble({21: np.array(pairs)[:, :, None]}, 21).calibrations
        spreads.append(fit.spread)
    # A rank smoothed as the density is gives 0.97.
    assert np.mean(spreads) == pytest.approx(1.0, abs=0.015)


def test_what_is_not_published_yet_is_part_of_the_horizon() -> None:
    """Months are out two months late: at a cutoff these two are forecast too. A lag of zero would look better, and is what
    tests/backtests/test_claim_record.py refuses."""
    history = walk(300, "month")
    months = Calendar(frequency="month")
    ensemble = Ensemble(members=("walk", "filtered shocks"), learned=False, each=200)
    errors = []
    for count in range(120, 295, 4):
        end, came = history.days[count + 2].item(), float(history.values[count + 2])
        row = []
        for unpublished in (2, 0):
            seen = History(
                days=history.days[: count - unpublished], values=history.values[: count - unpublished]
            )
            paths = ensemble.paths(seen, end, months)
            assert len(paths.days) == 3 + unpublished
            row.append(crps_of_draws(np.log(paths.values[:, -1]), np.log(came), paths.weights))
        errors.append(row)
    honest, flattered = np.mean(errors, axis=0)
    assert flattered < 0.9 * honest


def test_shocks_are_drawn_in_stretches() -> None:
    drawn = drawn_positions(1000, 50, 200, seed=1)
    follows = (np.diff(drawn, axis=1) % 1000 == 1).mean()
    assert 0.87 < follows < 0.93
    assert drawn.min() >= 0 and drawn.max() < 1000


def test_intervals_hold_what_comes_of_a_walk_about_as_often_as_they_say() -> None:
    history = walk(2400, scale=0.01)
    held = []
    ensemble = Ensemble(members=("filtered shocks", "walk", "reverting"), each=300, learned=False)
    for count in range(600, 2370, 25):
        seen = History(days=history.days[:count], values=history.values[:count])
        paths = ensemble.paths(seen, history.days[count + 20].item(), Calendar(frequency="session"))
        low, high = paths.quantiles([0.1, 0.9])[:, -1]
        held.append(low <= history.values[count + 20] <= high)
    assert 0.7 < np.mean(held) < 0.9
