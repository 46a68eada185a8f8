"""Time-series models: recovery of simulated processes, laws of exceedance, and the paper's formulas by hand."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from workbench.forecasts.series.exceedance import exceedance, make_model, model_names
from workbench.forecasts.series.seasonal import Knn, PriorYear
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
