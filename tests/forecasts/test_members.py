"""Fitted members against the libraries that have the same models, and what each member is there for."""

from datetime import date

import numpy as np
import pytest

from workbench.forecasts.members.garch_paths import fit_garch
from workbench.forecasts.members.scaled_past import ScaledPast
from workbench.forecasts.members.smoothed_paths import fit_smoothing, smoothed_paths, theta_paths
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
    drawn = theta_paths(past, len(days), days, paths=4000, seed=1)
    assert drawn is not None and not past.logarithmic
    theirs = ThetaModel(x, period=12, deseasonalize=False).fit().forecast(len(days), theta=2)
    deviation = np.diff(x).std()
    assert np.abs(drawn.mean(axis=0) - np.asarray(theirs)).max() < 0.3 * deviation


@pytest.mark.parametrize("member", [smoothed_paths, theta_paths])
def test_a_season_is_taken_off_and_put_back(member: object) -> None:
    rng = np.random.default_rng(2)
    season = 5.0 * np.sin(2 * np.pi * np.arange(240) / 12)
    past = monthly(season + 0.3 * rng.normal(size=240) - 1.0)
    days = MONTHS.stamps(past.days[-1].item(), date(2019, 6, 30))
    drawn = member(past, len(days), days, paths=500, seed=1)  # type: ignore[operator]
    # The year ahead repeats the last one, a little flatter; without its season it would be flat.
    assert np.corrcoef(drawn.mean(axis=0), past.x[-12:])[0, 1] > 0.95
    assert np.ptp(drawn.mean(axis=0)) > 6.0
