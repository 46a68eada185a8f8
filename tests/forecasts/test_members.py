"""Fitted members against the libraries that have the same models, and what each member is there for."""

from datetime import date

import numpy as np
import pytest

from workbench.forecasts.ensemble import Ensemble
from workbench.forecasts.members.garch_paths import fit_garch
from workbench.forecasts.members.level_paths import ongoing_paths, pull_of
from workbench.forecasts.members.scaled_past import ScaledPast
from workbench.forecasts.members.smoothed_paths import fit_smoothing, theta_paths
from workbench.forecasts.series.series_history import History
from workbench.forecasts.series_paths import Calendar
from workbench.science.arrays import FloatArray

MONTHS = Calendar(frequency="month")


def monthly(values: FloatArray) -> ScaledPast:
    days = MONTHS.stamps(date(1900, 1, 1), date(2018, 6, 30))[-len(values) :]
    return ScaledPast.of(History.of(days, values), MONTHS)


def trending(count: int = 240) -> FloatArray:
    rng = np.random.default_rng(4)
    return 0.4 * np.arange(count) + np.cumsum(rng.normal(size=count)) + 2.0 * rng.normal(size=count) - 50.0


def test_garch_parameters_are_as_likely_as_those_of_arch() -> None:
    from arch import arch_model

    rng = np.random.default_rng(1)
    shocks, variance = np.empty(2000), 1.0
    for t in range(2000):
        shocks[t] = np.sqrt(variance) * rng.standard_normal()
        variance = 0.04 + (0.02 + 0.12 * (shocks[t] < 0)) * shocks[t] ** 2 + 0.88 * variance
    shocks = (shocks - shocks.mean()) / shocks.std()
    model = arch_model(shocks, mean="Zero", vol="GARCH", p=1, o=1, q=1, rescale=False)
    theirs = model.fit(disp="off", show_warning=False)
    ours = model.fix(list(fit_garch(shocks.tobytes())))
    assert ours.loglikelihood > theirs.loglikelihood - 0.1
    assert np.asarray(ours.params) == pytest.approx(np.asarray(theirs.params), abs=0.03)


def test_garch_parameters_of_heavy_tails_are_possible_ones() -> None:
    """A warning of numpy would fail this: the search tries far numbers for one of these."""
    for seed in range(40):
        shocks = np.random.default_rng(seed).standard_t(2, 100)
        fit = fit_garch(((shocks - shocks.mean()) / shocks.std()).tobytes())
        assert np.isfinite(list(fit)).all() and fit.beta >= 0.0 and fit.omega > 0.0


def test_a_damped_trend_errs_no_more_than_that_of_statsmodels() -> None:
    from statsmodels.tsa.holtwinters import ExponentialSmoothing

    x = trending()
    model = ExponentialSmoothing(
        x,
        trend="add",
        damped_trend=True,
        initialization_method="known",
        initial_level=x[0],
        initial_trend=0.0,
    )
    theirs = model.fit(optimized=True, remove_bias=False)
    ours, _, _ = fit_smoothing(x.tobytes(), False).states(x)
    assert (ours[12:] ** 2).mean() < 1.01 * (np.asarray(theirs.resid)[13:] ** 2).mean()


def test_the_middle_of_theta_is_the_forecast_of_statsmodels() -> None:
    from statsmodels.tsa.forecasting.theta import ThetaModel

    x = trending()
    past = monthly(x)
    days = MONTHS.stamps(past.days[-1].item(), date(2019, 6, 30))
    drawn = theta_paths(past, len(days), paths=4000, seed=1)
    assert drawn is not None and not past.logarithmic
    theirs = ThetaModel(x, period=12, deseasonalize=False).fit().forecast(len(days), theta=2)
    deviation = np.diff(x).std()
    assert np.abs(drawn.mean(axis=0) - np.asarray(theirs)).max() < 0.3 * deviation


@pytest.mark.parametrize("noise", [0.3, 3.0])
def test_every_member_knows_an_evident_season(noise: float) -> None:
    rng = np.random.default_rng(2)
    season = 5.0 * np.sin(2 * np.pi * np.arange(252) / 12)
    past = monthly(season[:240] + noise * rng.normal(size=240) - 1.0)
    days = MONTHS.stamps(past.days[-1].item(), date(2019, 6, 30))
    drawn = Ensemble().draws_at(monthly(np.append(past.x, np.zeros(12))), 240, 12)
    for name, paths in drawn.items():
        if paths is not None:
            middle = paths.mean(axis=0)
            assert np.corrcoef(middle - np.linspace(middle[0], middle[-1], 12), season[240:])[0, 1] > 0.8, (
                name
            )
    # What is left of it is no more than the error of twelve means of noise over the years that count.
    assert np.abs(past.season_of(days) - season[240:]).max() < noise


@pytest.mark.parametrize("kind", ["walk", "noise", "autoregression"])
def test_what_has_no_season_is_given_none(kind: str) -> None:
    found = 0
    for seed in range(100):
        shocks = np.random.default_rng(seed).standard_t(4, size=180)
        share = {"walk": 1.0, "noise": 0.0, "autoregression": 0.8}[kind]
        values = [shocks[0]]
        for shock in shocks[1:].tolist():
            values.append(share * values[-1] + shock)
        found += bool(monthly(np.array(values)).season.any())
    assert found <= 5


def test_sales_of_every_day_have_the_season_of_their_week() -> None:
    days = np.datetime64("2017-01-01") + np.arange(371)
    week = np.array([0.0, 1.0, 2.0, 3.0, 2.0, 9.0, -17.0])
    values = 50.0 + week[np.arange(371) % 7] + np.random.default_rng(3).normal(size=371)
    history = History.of(days[:364], values[:364])
    calendar = Calendar.of(history)
    past = ScaledPast.of(history, calendar)
    paths = Ensemble(each=200).paths(history, days[-1].item(), calendar)
    assert past.season.shape == (7,)
    assert np.abs(paths.quantiles([0.5])[0] - values[364:]).max() < 6.0


def test_changes_that_went_on_go_on() -> None:
    rng = np.random.default_rng(5)
    moves = [0.0]
    for shock in rng.normal(size=300).tolist():
        moves.append(0.7 * moves[-1] + shock)
    past = monthly(np.cumsum([*moves, 6.0]) - 1000.0)
    drawn = ongoing_paths(past, 12, paths=2000, seed=1)
    assert drawn is not None
    # Of a step of 6 some 0.7 comes again, then half of it; all of it together 6 * 0.7 / 0.3 = 14.
    middle = drawn.mean(axis=0) - past.x[-1]
    assert middle[0] == pytest.approx(4.2, abs=1.0) and 8.0 < middle[-1] < 18.0


def returning(seed: int, *, left: float = 0.7, count: int = 360) -> FloatArray:
    """Return a level whose logarithm returns to that of 3; it ends two deviations below."""
    values = [0.0]
    for shock in np.random.default_rng(seed).normal(size=count).tolist():
        values.append(left * values[-1] + 0.1 * shock)
    values[-1] = -0.2 / np.sqrt(1.0 - left**2)
    return np.asarray(3.0 * np.exp(values))


def test_of_walks_one_in_twenty_seems_to_return_and_levels_that_return_are_seen() -> None:
    walks = [monthly(np.cumsum(np.random.default_rng(seed).normal(size=240))) for seed in range(200)]
    # 5 % of 200, and three standard errors.
    assert sum(pull_of(past).evident for past in walks) <= 20
    assert sum(pull_of(monthly(returning(seed))).evident for seed in range(50)) >= 40


@pytest.mark.parametrize("name", ["walk", "filtered shocks", "HAR"])
def test_members_that_draw_shocks_know_that_a_low_level_returns(name: str) -> None:
    """Two deviations below and half a year ahead: by a walk the 5 % lie 0.40 below in logarithms, by the truth 0.02 above; half of that is learned."""
    far = []
    for seed in range(8):
        history = History.of(MONTHS.stamps(date(1900, 1, 1), date(2018, 6, 30))[-361:], returning(seed))
        paths = Ensemble(members=(name,), learned=False).paths(history, date(2018, 12, 1), MONTHS)
        far.append(float(np.log(paths.quantiles([0.05])[0, -1] / history.values[-1])))
    level, spread = -0.2 / np.sqrt(1.0 - 0.7**2), 0.1 * np.sqrt((1.0 - 0.7**12) / (1.0 - 0.7**2))
    truth = (0.7**6 - 1.0) * level - 1.645 * spread
    walk = -1.645 * 0.1 * np.sqrt(6)
    assert abs(np.mean(far) - truth) < 0.6 * (truth - walk)
