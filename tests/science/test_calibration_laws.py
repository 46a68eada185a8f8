"""Laws of Platt scaling, its leave-one-out, saved calibrations, thresholds and priors."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from workbench.science.arrays import EPS, logit, sigmoid
from workbench.science.calibrating import logistic
from workbench.science.calibrating.calibration import (
    Calibration,
    fit_calibration,
    fit_platt,
    fit_threshold,
    horizon_class,
    leave_out_calibration,
    leave_out_platt,
    load_calibration,
    save_calibration,
)
from workbench.science.calibrating.priors import empirical_prior, static_prior, temporal_prior
from workbench.science.errors import CalibrationError, DomainError, TooFewError

INSIDE = hnp.arrays(float, st.integers(1, 20), elements=st.floats(EPS, 1 - EPS))


@pytest.mark.parametrize("size", [1, 3])
def test_leave_out_by_series_is_the_exact_one(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    p, o, group, _ = resolved(5, n=1200)
    folds = np.arange(len(p)) // size
    result = leave_out_platt(p, o, group, folds)
    monkeypatch.setattr(logistic, "_MANY", len(p))
    assert np.allclose(result, leave_out_platt(p, o, group, folds), atol=1e-8)


def resolved(seed: int, n: int = 150, groups: int = 4, slope: float = 0.6) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    group = rng.integers(0, groups, n)
    z = rng.normal(0, 2, n)
    outcome = (rng.random(n) < sigmoid(slope * z + 0.5 * np.sin(group))).astype(float)
    return sigmoid(z), outcome, group, np.repeat(np.arange((n + 2) // 3), 3)[:n]


@given(INSIDE)
def test_slope_one_and_offset_zero_is_the_identity(p: np.ndarray) -> None:
    assert np.allclose(Calibration(slope=1.0, offset=0.0).apply(p), p, atol=1e-12)


def test_the_global_fit_agrees_with_scikit_learn() -> None:
    from sklearn.linear_model import LogisticRegression

    p, o, _, _ = resolved(3)
    model = LogisticRegression(C=1e6, tol=1e-10, max_iter=1000).fit(logit(p)[:, None], o)
    fit = fit_platt(p, o)
    assert fit.slope == pytest.approx(model.coef_[0, 0], abs=1e-4)
    assert fit.offset == pytest.approx(model.intercept_[0], abs=1e-4)


def test_a_huge_penalty_is_the_global_fit_and_flipping_flips() -> None:
    p, o, group, _ = resolved(4)
    flat, stiff = fit_platt(p, o), fit_platt(p, o, group, penalty=1e9)
    assert stiff.slope == pytest.approx(flat.slope, abs=1e-6)
    assert max(abs(delta) for delta in stiff.deltas["group"].values()) < 1e-6
    mirrored = fit_platt(1 - p, 1 - o, group)
    plain = fit_platt(p, o, group)
    assert mirrored.slope == pytest.approx(plain.slope, abs=1e-7)
    assert mirrored.offset == pytest.approx(-plain.offset, abs=1e-6)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("by", ["event", "question"])
def test_leave_out_is_a_refit_without_the_fold(seed: int, grouped: bool, by: str) -> None:
    p, o, group, question = resolved(seed, n=90)
    groups = group if grouped else None
    folds = question if by == "question" else np.arange(len(p))
    result = leave_out_platt(p, o, groups, folds if by == "question" else None)
    for label in np.unique(folds):
        rest = folds != label
        fit = fit_platt(p[rest], o[rest], None if groups is None else groups[rest])
        wanted = fit.apply(p[~rest], None if groups is None else {"group": groups[~rest]})
        assert np.allclose(result[~rest], wanted, atol=1e-8), label


@pytest.mark.parametrize("fit", [fit_platt, leave_out_platt, fit_calibration])
def test_the_smallest_number_of_forecasts_is_enough_and_fewer_is_not(fit: Callable[..., object]) -> None:
    p, o = [0.2, 0.4, 0.6, 0.8, 0.3], [0, 1, 0, 1, 0]
    fit(p * 2, o * 2)
    with pytest.raises(TooFewError, match="9 resolved forecasts, calibration wants at least 10"):
        fit((p * 2)[:9], (o * 2)[:9])
    fit_calibration(p, o, minimum=5)
    with pytest.raises(TooFewError):
        fit_calibration(p, o, minimum=6)


def test_what_cannot_be_calibrated_is_refused() -> None:
    with pytest.raises(TooFewError, match="too few to use: 5"):
        fit_platt([0.5] * 5, [0, 1, 0, 1, 0])
    with pytest.raises(TooFewError, match="1 Yes and 19 No"):
        fit_platt([0.5] * 20, [1] + [0] * 19)
    with pytest.raises(DomainError):
        fit_platt([0.5] * 20, [0.5] * 20)
    with pytest.raises(DomainError):
        fit_platt([0.5, float("nan")] * 10, [0, 1] * 10)
    with pytest.raises(DomainError, match="above 0"):
        fit_platt([0.5] * 20, [0, 1] * 10, ["a"] * 20, penalty=0.0)


@pytest.mark.parametrize("factors", [(), ("source",), ("source", "topic", "horizon")])
def test_a_saved_calibration_reloads_exactly(tmp_path: Path, factors: tuple[str, ...]) -> None:
    p, o, group, question = resolved(11)
    labels = {"source": group, "topic": question % 3, "horizon": horizon_class(question % 200)}
    chosen = {name: labels[name] for name in factors}
    model = fit_calibration(p, o, chosen, threshold=True, learned_from="a test")
    save_calibration(model, tmp_path / "model.json")
    again = load_calibration(tmp_path / "model.json")
    assert again == model
    assert np.abs(again.apply(p, chosen) - model.apply(p, chosen)).max() <= 1e-12
    assert [file.name for file in tmp_path.iterdir()] == ["model.json"]
    if factors == ("source",):
        free = fit_platt(p, o, group).slope  # without the prior
        assert min(free, 1.0) < model.slope < max(free, 1.0)


def test_a_calibration_counts_questions_and_is_worth_what_it_does_for_those_left_out() -> None:
    p, o, _, question = resolved(11)
    with pytest.raises(TooFewError, match="questions"):
        fit_calibration(p, o, questions=np.arange(len(p)) % 20, minimum=50)
    left_out = leave_out_calibration(p, o, question)
    for each in np.unique(question)[:5]:
        rest = question != each
        assert np.allclose(left_out[~rest], fit_calibration(p[rest], o[rest]).apply(p[~rest]), atol=1e-6)


def test_a_group_never_seen_has_no_offset() -> None:
    model = Calibration(slope=1.0, offset=0.0, deltas={"source": {"fred": 2.0}})
    assert model.apply([0.3, 0.3], {"source": ["fred", "new"]}).round(3).tolist() == [0.76, 0.3]
    assert model.unseen({"source": ["new", "fred", "new"]}) == {"source": ["new"]}
    with pytest.raises(CalibrationError):
        model.apply([0.3])
    with pytest.raises(CalibrationError):
        model.decide([0.3])


@pytest.mark.parametrize("broken", [[], {}, {"format": "x"}, {"slope": 1}])
def test_a_broken_calibration_is_refused(tmp_path: Path, broken: object) -> None:
    path = tmp_path / "model.json"
    path.write_text(json.dumps(broken))
    with pytest.raises(CalibrationError):
        load_calibration(path)
    with pytest.raises(CalibrationError, match="cannot be read"):
        load_calibration(tmp_path / "none.json")


@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.6, 0.9, 1.0]), st.booleans()),
        min_size=1,
        max_size=30,
    )
)
def test_no_other_cut_is_right_more_often(pairs: list[tuple[float, bool]]) -> None:
    p, o = np.array([a for a, _ in pairs]), np.array([float(b) for _, b in pairs])
    fit = fit_threshold(p, o)
    scores = [((p > cut) == (o == 1)).mean() for cut in np.linspace(-0.0, 1, 201)]
    assert fit.accuracy >= max(scores) - 1e-12
    assert fit.accuracy == pytest.approx(((p > fit.threshold) == (o == 1)).mean())
    assert fit.accuracy_at_half == pytest.approx(((p > 0.5) == (o == 1)).mean())


def test_priors_by_hand() -> None:
    assert static_prior("acled", "increase") == 0.225 and static_prior("x") is None
    rates = empirical_prior(["a"] * 4 + ["b"], [1, 1, 1, 0, 0], strength=2.0)
    assert rates["a"] == pytest.approx((3 + 2 * 0.6) / 6) and rates["b"] == pytest.approx((0 + 1.2) / 3)
    laplace = temporal_prior(
        ["g", "g"],
        ["q", "r"],
        ["2025-01-01", "2025-06-01"],
        ["2025-02-01"] * 2,
        [1, 0],
        pseudo_yes=1,
        pseudo_no=1,
    )
    assert laplace.p.tolist() == [0.5, pytest.approx(2 / 3)]
    with pytest.raises(DomainError):
        horizon_class([-1])
