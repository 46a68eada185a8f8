"""What ends later is never the less likely of two claims of which the earlier implies it, also when each is asked by itself."""

from dataclasses import replace
from datetime import date, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.forecasts import ensemble as ensemble_module
from workbench.forecasts.ensemble import Ensemble
from workbench.forecasts.joint_paths import joint_paths
from workbench.forecasts.member_weights import EnsembleFit, fit_ensemble
from workbench.forecasts.reading import Reading, chance
from workbench.forecasts.series.series_history import History
from workbench.forecasts.series_paths import Calendar, Combination, Frequency
from workbench.science.arrays import FloatArray

CUTOFF = date(2018, 6, 29)
FREQUENCIES: tuple[Frequency, ...] = ("session", "day", "week", "month", "quarter")


@st.composite
def series(draw: st.DrawFn) -> History:
    """A random series that wanders or returns to its mean, of any frequency, above 0 or not."""
    frequency = draw(st.sampled_from(FREQUENCIES))
    daily = frequency in ("session", "day")
    count = draw(st.integers(520, 900) if daily else st.integers(60, 200))
    days = Calendar(frequency=frequency).stamps(date(1960, 1, 1), CUTOFF)[-count:]
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    x, keep = np.zeros(count), draw(st.sampled_from([1.0, 0.97]))
    for place, shock in enumerate(rng.standard_t(4, count - 1)):
        x[place + 1] = keep * x[place] + 0.01 * shock
    return History.of(days, 100 * np.exp(x) if draw(st.booleans()) else 1000 * x)


@st.composite
def claims(draw: st.DrawFn, history: History) -> tuple[Reading, Reading]:
    """Two claims of which the first implies the second: they differ in their end alone."""
    calendar = Calendar.of(history)
    step = history.values[1:] - history.values[:-1]
    level = float(history.values[-1] + draw(st.integers(-6, 6)) * step.std())
    up = draw(st.booleans())
    kind = draw(st.sampled_from(["touch", "steps", "drawdown"]))
    start = history.days[-draw(st.integers(1, 6))].item()
    first, second = sorted(
        draw(st.lists(st.integers(1, 140 if len(history) > 500 else 14), min_size=2, max_size=2, unique=True))
    )
    stamps = calendar.stamps(history.days[-1].item(), CUTOFF + timedelta(days=9 * 366))
    earlier = Reading(
        series=("X",),
        statistic="steps" if kind == "steps" else "highest" if up and kind == "touch" else "lowest",
        comparison="at_least" if up and kind == "touch" else "at_most",
        transformation="from_peak" if kind == "drawdown" and (history.values > 0).all() else "value",
        level=-float(draw(st.integers(1, 20))) if kind == "drawdown" else level,
        times=draw(st.integers(1, 4)) if kind == "steps" else 1,
        start=start,
        end=stamps[min(first, len(stamps) - 2)].item(),
    )
    return earlier, replace(earlier, end=stamps[min(second, len(stamps) - 1)].item())


def asked(reading: Reading, history: History) -> float:
    """The chance of a claim that is asked by itself."""
    calendar = Calendar.of(history)
    return chance(reading, Ensemble(each=40).paths(history, reading.end, calendar)).p


@pytest.mark.long
@settings(max_examples=25, deadline=None)
@given(data=st.data(), history=series())
def test_a_later_date_is_never_the_less_likely(data: st.DataObject, history: History) -> None:
    earlier, later = data.draw(claims(history))
    assert asked(earlier, history) <= asked(later, history) + 1e-12
    never = replace(earlier, never=True), replace(later, never=True)
    assert asked(never[0], history) >= asked(never[1], history) - 1e-12


@settings(max_examples=4, deadline=None)
@given(history=series(), other=st.integers(0, 1000), kind=st.sampled_from(["ratio", "difference"]))
def test_of_two_series_drawn_together_too(history: History, other: int, kind: Combination) -> None:
    steps = 0.01 * np.random.default_rng(other).standard_normal(len(history))
    pair = [history, History.of(history.days, 50 * np.exp(np.cumsum(steps)))]
    calendar = Calendar.of(history)
    stamps = calendar.stamps(history.days[-1].item(), CUTOFF + timedelta(days=9 * 366))
    drawn = []
    for count in (3, 12):
        first, second = joint_paths(Ensemble(each=30), pair, stamps[count - 1].item(), calendar)
        drawn.append(first.combine(second, kind))
    assert np.array_equal(drawn[0].weights, drawn[1].weights)
    assert drawn[0].values == pytest.approx(drawn[1].values[:, :3], rel=1e-9)


def walk(count: int = 1600) -> History:
    days = Calendar(frequency="session").stamps(date(1990, 1, 1), CUTOFF)[-count:]
    return History.of(days, 100 * np.exp(0.01 * np.cumsum(np.random.default_rng(3).standard_t(3, count))))


@pytest.mark.parametrize("member", Ensemble().members)
def test_how_far_it_is_drawn_changes_nothing_of_a_members_paths(member: str) -> None:
    """The law's reason. Through 23 sessions a horizon of a month is enough, from 24 on the next one is learned from too."""
    months = np.datetime64("2001-11") + np.arange(200)
    for history in (walk(), History.of(months.astype("datetime64[D]"), walk(200).values)):
        implied = History.of(history.days, np.full(len(history), 20.0)) if member == "implied" else None
        calendar = Calendar.of(history)
        stamps = calendar.stamps(history.days[-1].item(), CUTOFF + timedelta(days=40 * 366))
        ensemble = Ensemble(members=(member, "walk"), each=20, implied=implied)
        whole = ensemble.paths(history, stamps[139].item(), calendar)
        for count in (1, 23, 24, 70):
            near = ensemble.paths(history, stamps[count - 1].item(), calendar)
            assert near.values == pytest.approx(whole.values[:, :count], rel=1e-9), count
            assert np.array_equal(near.weights, whole.weights)


def test_weights_of_each_horizons_own_would_break_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: weighed at the horizon asked about, as it was, members change their shares with the date."""

    def own(scores: dict[int, FloatArray], weighed: int) -> EnsembleFit:
        return fit_ensemble(scores, max(scores))

    history = walk()
    calendar = Calendar.of(history)
    monkeypatch.setattr(ensemble_module, "fit_ensemble", own)
    near, far = (
        Ensemble(each=40).paths(history, CUTOFF + timedelta(days=days), calendar) for days in (96, 103)
    )
    broken = 0
    for level in np.linspace(0.85, 1.15, 41) * history.values[-1]:
        touch = Reading(series=("X",), statistic="highest", comparison="at_least", level=level, end=near.days[-1].item())  # fmt: skip
        broken += chance(touch, near).p > chance(replace(touch, end=far.days[-1].item()), far).p
    assert broken
