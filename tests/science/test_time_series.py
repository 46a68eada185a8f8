"""Time-series models: recovery of simulated processes, laws of exceedance, and the paper's formulas by hand."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from workbench.forecasts.series.exceedance import exceedance, make_model, model_names
from workbench.forecasts.series.seasonal import Knn, PriorYear, cyclic_distance, day_of_year
from workbench.forecasts.series.series_history import History
from workbench.forecasts.series.trend import Hybrid, Linear, SafeLinear
from workbench.science.errors import DomainError, NotMonotone, TooFewError, UnknownName

START = np.datetime64("2010-01-04")


def daily(values: np.ndarray) -> History:
    return History.of(START + np.arange(len(values)), values)


def ask(model: object, history: History, ahead: list[int], levels: list[float]) -> np.ndarray:
    end = history.days[-1]
    days = [end + step for step in ahead]
    return exceedance(model, history, cutoff=str(end + 1), targets=days, levels=levels)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(3))
def test_a_random_walk_is_recovered(seed: int) -> None:
    """Exceedance by the walk against the truth of the simulated one: a year of steps gives its deviation within a tenth."""
    rng = np.random.default_rng(seed)
    history = daily(np.cumsum(rng.normal(0, 2.0, 2000)))
    last, ahead = history.values[-1], [1, 5, 20, 60]
    levels = [last - 6, last - 1, last, last + 3, last + 12]
    truth = norm.sf((np.array(levels)[None, :] - last) / (2.0 * np.sqrt(np.array(ahead))[:, None]))
    assert np.abs(ask(make_model("walk"), history, ahead, levels) - truth).max() < 0.05


MODELS: list[Callable[[], object]] = [
    Knn,
    PriorYear,
    Linear,
    SafeLinear,
    Hybrid,
    lambda: make_model("walk"),
]


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from(range(len(MODELS))),
    st.lists(st.floats(-50, 250), min_size=1, max_size=6),
    st.lists(st.integers(1, 400), min_size=1, max_size=4),
)
def test_chances_never_rise_with_the_level_and_ignore_what_comes_after_the_cutoff(
    seed: int, which: int, levels: list[float], ahead: list[int]
) -> None:
    rng = np.random.default_rng(seed)
    values = np.abs(100 + np.cumsum(rng.normal(0, 1, 900))) + 1
    model = MODELS[which]()
    full = daily(values)
    cutoff = full.days[600]
    targets = [cutoff + step - 1 for step in ahead]
    p = exceedance(model, full, cutoff=str(cutoff), targets=targets, levels=levels)  # type: ignore[arg-type]
    assert p.shape == (len(ahead), len(levels)) and ((p >= 0) & (p <= 1)).all()
    order = np.argsort(levels)
    assert (np.diff(p[:, order], axis=1) <= 1e-12).all()
    changed = values.copy()
    changed[600:] = 1e6
    again = exceedance(model, daily(changed), cutoff=str(cutoff), targets=targets, levels=levels)  # type: ignore[arg-type]
    assert (p == again).all()
    single = exceedance(model, full, cutoff=str(cutoff), targets=targets[:1], levels=levels[:1])  # type: ignore[arg-type]
    assert single[0, 0] == pytest.approx(p[0, 0], abs=1e-12)  # many horizons at once are the single ones


def test_seasonal_neighbours_by_hand() -> None:
    days = ["2017-07-10", "2018-07-01", "2018-07-22", "2019-07-08", "2019-12-31", "2020-01-02"]
    history = History.of(days, [20.0, 30.0, 99.0, 10.0, 0.0, 0.0])
    # 12 July +- 10 days: 20, 30, 99 and 10 qualify (1 July is 11 days off: not)
    p = exceedance(Knn(), history, cutoff="2020-01-03", targets=["2020-07-12"], levels=[15.0])
    assert p[0, 0] == (2 + 1) / (3 + 2)
    # New Year: 31 December and 2 January are 2 apart
    near = exceedance(Knn(window=2), history, cutoff="2020-01-03", targets=["2021-01-01"], levels=[-1.0])
    assert near[0, 0] == (2 + 1) / (2 + 2)
    assert (
        exceedance(Knn(window=2), history, cutoff="2020-01-03", targets=["2020-04-01"], levels=[0.0])[0, 0]
        == 0.5
    )


def test_leap_days_are_the_day_before() -> None:
    leap = np.array(
        ["2020-02-28", "2020-02-29", "2020-03-01", "2019-03-01", "2020-12-31"], dtype="datetime64[D]"
    )
    assert day_of_year(leap).tolist() == [59, 59, 60, 60, 365]
    assert cyclic_distance(np.array([1, 365, 100]), np.array([365, 1, 300])).tolist() == [1, 1, 165]
    history = daily(np.arange(1000.0))
    assert exceedance(
        PriorYear(), history, cutoff="2012-09-30", targets=["2016-02-29"], levels=[0.0]
    ).shape == (1, 1)


def test_prior_years_reach_back_five_years_only() -> None:
    history = History.of(["2010-06-01", "2016-06-01", "2019-12-31"], [100.0, 0.0, 0.0])
    p = exceedance(PriorYear(), history, cutoff="2020-01-01", targets=["2020-06-03"], levels=[50.0])
    assert p[0, 0] == 1 / 3  # only the 0 of 2016 counts
    assert exceedance(Knn(), history, cutoff="2020-01-01", targets=["2020-06-03"], levels=[50.0])[0, 0] == 0.5


def test_refusals() -> None:
    history = daily(np.arange(10.0))
    with pytest.raises(UnknownName):
        make_model("oracle")
    assert [make_model(name).name for name in model_names()][:2] == ["knn", "linear"]
    with pytest.raises(DomainError, match="two values"):
        History.of(["2020-01-01", "2020-01-01"], [1, 2])
    with pytest.raises(DomainError):
        History.of(["2020-01-01"], [float("nan")])
    with pytest.raises(TooFewError, match="no value before"):
        exceedance(Linear(), history, cutoff="2000-01-01", targets=["2000-01-02"], levels=[1])
    with pytest.raises(DomainError):
        ask(Linear(), history, [1], [float("nan")])
    with pytest.raises(DomainError, match="lies before the cutoff"):
        exceedance(Linear(), history, cutoff="2010-01-10", targets=["2010-01-09"], levels=[1])

    class Broken:
        name = "broken"

        def chances(self, history: History, targets: object, levels: np.ndarray) -> np.ndarray:
            return np.linspace(0, 1, len(levels))[None, :]

    with pytest.raises(NotMonotone, match="easier to pass"):
        ask(Broken(), history, [1], [1.0, 2.0])
