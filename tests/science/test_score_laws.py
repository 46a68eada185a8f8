"""Laws of the scores, also by step (BLF, Fig. 12), cross-checks against other libraries, and the worked numbers of the papers."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from workbench.science.comparing.mean_intervals import Resampling, loss_interval
from workbench.science.comparing.trajectories import step_scores
from workbench.science.errors import DomainError
from workbench.science.scoring.adjusted import (
    adjusted_brier,
    market_difficulty,
    question_difficulty,
)
from workbench.science.scoring.breakdown import lead_time_curve, rebalance
from workbench.science.scoring.calibration_error import (
    bin_of,
    brier_parts,
    calibration_error,
    reliability,
)
from workbench.science.scoring.scorecard import METRICS
from workbench.science.scoring.scores import (
    accuracy,
    brier,
    brier_index,
    brier_scores,
    confidence,
    event_weights,
    index_of,
    log_loss,
    metaculus_baseline,
    metaculus_scores,
)
from workbench.science.scoring.utility import run_variance, utility_scores

PAIRS = st.integers(1, 40).flatmap(
    lambda n: st.tuples(
        hnp.arrays(float, n, elements=st.integers(0, 1000).map(lambda k: k / 1000)),
        hnp.arrays(float, n, elements=st.sampled_from([0.0, 1.0])),
    )
)


@given(PAIRS)
def test_ranges_and_the_flip_of_yes_and_no(pair: tuple[np.ndarray, np.ndarray]) -> None:
    p, o = pair
    assert 0 <= brier(p, o) <= 1 and 0 <= brier_index(p, o) <= 100 and 0 <= accuracy(p, o) <= 1
    assert metaculus_baseline(p, o) <= 100 and log_loss(p, o) >= 0
    for score in (brier, brier_index, log_loss, accuracy):
        assert score(1 - p, 1 - o) == pytest.approx(score(p, o), rel=1e-6, abs=1e-9)
    assert 0.5 <= confidence(p) <= 1


@given(PAIRS, st.integers(1, 25))
def test_the_parts_of_a_brier_score_make_that_of_binned_forecasts(
    pair: tuple[np.ndarray, np.ndarray], bins: int
) -> None:
    """Murphy (1973): reliability - resolution + uncertainty, each forecast set to the mean of its bin."""
    p, o = pair
    parts = brier_parts(p, o, bins=bins)
    codes = bin_of(p, bins=bins)
    means = np.array([p[codes == code].mean() for code in codes])
    assert parts.reliability - parts.resolution + parts.uncertainty == pytest.approx(
        brier(means, o), abs=1e-12
    )
    assert (
        0 <= parts.reliability <= 1
        and -1e-12 <= parts.resolution <= parts.uncertainty + 1e-12 <= 0.25 + 2e-12
    )
    again = brier_parts(1 - means, 1 - o, bins=1)
    assert again.resolution == pytest.approx(0.0, abs=1e-12) and again.uncertainty == pytest.approx(
        parts.uncertainty
    )


def test_the_parts_of_a_brier_score_of_rain_forecasts() -> None:
    """12,402 forecasts of rain, shares by forecast from Wilks (2006), Table 7.3: base rate 0.162, Brier score 0.0735 by its eq. 7.38."""
    said = [0.0, 0.05, *(k / 10 for k in range(1, 11))]
    came = [0.006, 0.019, 0.059, 0.15, 0.277, 0.377, 0.511, 0.587, 0.723, 0.779, 0.934, 0.933]
    share = [0.4112, 0.0671, 0.1833, 0.0986, 0.0616, 0.0366, 0.0303, 0.0275, 0.0245, 0.022, 0.017, 0.0203]
    counts = [(round(12402 * n), round(12402 * n * rate)) for n, rate in zip(share, came, strict=True)]
    p = np.repeat(said, [n for n, _ in counts])
    o = np.concatenate([np.arange(n) < yes for n, yes in counts]).astype(float)
    parts = brier_parts(p, o, bins=20)  # twelve values, each in a bin of its own
    assert parts == pytest.approx((0.0008, 0.0628, 0.1354), abs=1e-4)
    assert brier(p, o) == pytest.approx(0.0735, abs=1e-4)


@given(PAIRS)
def test_accuracy_is_that_of_true_and_of_false_claims_by_their_shares(
    pair: tuple[np.ndarray, np.ndarray],
) -> None:
    p, o = pair
    parts = {
        yes: METRICS[f"accuracy_{name}"].value(p, o, None) for yes, name in ((1.0, "true"), (0.0, "false"))
    }
    shares = {yes: float((o == yes).mean()) for yes in parts}
    assert all(math.isnan(parts[yes]) == (not shares[yes]) for yes in parts)
    assert sum(parts[yes] * share for yes, share in shares.items() if share) == pytest.approx(accuracy(p, o))


@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_the_brier_score_is_proper_exactly(truth: float, other: float) -> None:
    def expected(p: float) -> float:
        return truth * brier([p], [1]) + (1 - truth) * brier([p], [0])

    assert expected(truth) <= expected(other) + 1e-12


def test_perfect_and_hopeless() -> None:
    assert (brier([1, 0], [1, 0]), brier_index([1, 0], [1, 0]), accuracy([1, 0], [1, 0])) == (0, 100, 1)
    assert brier_index([0, 1], [1, 0]) == 0
    assert brier_index([0.5] * 3, [1, 0, 1]) == 50 and metaculus_baseline([0.5] * 3, [1, 0, 1]) == 0
    assert accuracy([0.5, 0.5], [1, 0]) == 0.5  # deciding nothing is right half the time
    assert metaculus_scores([0.0], [1])[0] == pytest.approx(100 * (1 + np.log2(1e-3)))
    assert np.isfinite(log_loss([0.0], [1]))


def test_against_scikit_learn_and_scoringrules() -> None:
    import scoringrules
    from sklearn.calibration import calibration_curve
    from sklearn.metrics import accuracy_score, brier_score_loss
    from sklearn.metrics import log_loss as sk_log_loss

    rng = np.random.default_rng(0)
    p = rng.random(500)
    o = (rng.random(500) < p).astype(float)
    assert brier(p, o) == pytest.approx(brier_score_loss(o, p), abs=1e-12)
    assert brier(p, o) == pytest.approx(float(np.mean(scoringrules.brier_score(o, p))), abs=1e-12)
    assert log_loss(p, o) == pytest.approx(sk_log_loss(o, p), abs=1e-12)
    assert log_loss(p, o) == pytest.approx(float(np.mean(scoringrules.log_score(o, p))), abs=1e-9)
    assert accuracy(p, o) == pytest.approx(accuracy_score(o, p > 0.5))
    observed, forecast = calibration_curve(o, p, n_bins=10, strategy="uniform")
    ours = reliability(p, o)
    assert np.allclose(ours.observed, observed) and np.allclose(ours.forecast, forecast)
    assert calibration_error(p, o) == pytest.approx(
        float((ours.count * abs(observed - forecast)).sum() / 500)
    )


@given(PAIRS)
def test_events_count_once_whatever_their_size(pair: tuple[np.ndarray, np.ndarray]) -> None:
    p, o = pair
    single = np.arange(len(p))
    assert (event_weights(single) == 1).all()
    twice = event_weights(np.r_[single, single])
    assert np.average(brier_scores(np.r_[p, p], np.r_[o, o]), weights=twice) == pytest.approx(brier(p, o))
    assert twice.sum() == pytest.approx(len(p))


@given(PAIRS, st.sampled_from(["width", "quantile"]), st.sampled_from(["left", "right"]), st.integers(1, 12))
def test_calibration_error_and_the_diagram(
    pair: tuple[np.ndarray, np.ndarray], how: str, closed: str, bins: int
) -> None:
    p, o = pair
    options = {"how": how, "closed": closed, "bins": bins}
    error = calibration_error(p, o, **options)  # type: ignore[arg-type]
    assert 0 <= error <= 1
    assert error >= abs(p.mean() - o.mean()) - 1e-12  # merging bins can only cancel
    diagram = reliability(p, o, how=how, bins=bins)  # type: ignore[arg-type]
    assert diagram.count.sum() == len(p)
    assert (diagram.low <= diagram.observed + 1e-12).all() and (
        diagram.observed <= diagram.high + 1e-12
    ).all()


@pytest.mark.parametrize("bins", [*range(1, 21), 100])
def test_a_decimal_on_an_edge_is_in_the_bin_that_exact_arithmetic_says(bins: int) -> None:
    exact = [Fraction(k, 1000) * bins for k in range(1001)]
    decimals = np.arange(1001) / 1000
    left = [min(math.floor(x), bins - 1) for x in exact]
    right = [max(math.ceil(x) - 1, 0) for x in exact]
    assert bin_of(decimals, bins=bins).tolist() == left
    assert bin_of(decimals, bins=bins, closed="right").tolist() == right


def test_a_computed_forecast_beside_an_edge_counts_as_on_it() -> None:
    p = [0.1 + 0.2, 0.7 + 0.1, 1.0 - 0.9]  # 0.30000000000000004, 0.7999999999999999, 0.09999999999999998
    assert bin_of(p).tolist() == [3, 8, 1]
    assert bin_of(p, closed="right").tolist() == [2, 7, 0]


def test_the_diagram_has_wilson_intervals() -> None:
    r = reliability([0.81] * 10, [1] * 5 + [0] * 5)
    assert (r.low[0], r.high[0]) == pytest.approx((0.2366, 0.7634), abs=5e-5)  # Wilson (1927) by hand


def test_adjusted_scores_keep_the_level_of_a_method_that_answered_everything() -> None:
    rng = np.random.default_rng(2)
    scores = rng.random((4, 50)) * 0.5
    difficulty = question_difficulty(scores)
    assert difficulty.mean() == pytest.approx(0, abs=1e-12)
    for row in scores:
        assert adjusted_brier(row, difficulty) == pytest.approx(row.mean())
    hard = np.argsort(difficulty)[-25:]
    assert adjusted_brier(scores[0][hard], difficulty[hard], difficulty) < scores[0][hard].mean()
    below = adjusted_brier([0.0], [0.5], [0.1])
    assert below < 0 and index_of(below) == 100  # an adjusted score may be negative, its index stops at 100
    assert market_difficulty([0.25], [1])[0] == pytest.approx(0.5625)


def test_utility_of_choices() -> None:
    single = utility_scores([[0.7, 0.2, 0.1]], [[1.1, 0.9, 1.3]])
    assert single.accuracy == 0 and single.hard == pytest.approx(0.5)
    assert single.soft == pytest.approx((0.7 * 1.1 + 0.2 * 0.9 + 0.1 * 1.3 - 0.9) / 0.4)
    assert single.brier == pytest.approx((0.49 + 0.04 + 0.81) / 3) and single.confidence == pytest.approx(0.7)
    # two tasks with unlike stakes: the pooled form weighs the larger one more
    p, u = [[0.9, 0.1], [0.9, 0.1]], [[2.0, 0.0], [1.0, 1.1]]
    assert utility_scores(p, u).hard == pytest.approx(0.5)
    assert utility_scores(p, u, normalise="pooled").hard == pytest.approx(2.0 / 2.1)
    # with two options the per-task hard score is the accuracy
    rng = np.random.default_rng(0)
    a, b = rng.random((30, 2)), rng.random((30, 2))
    many = utility_scores(list(a), list(b))
    assert many.hard == pytest.approx(many.accuracy)
    with pytest.raises(DomainError, match="pays the same"):
        utility_scores([[0.5, 0.5]], [[1.0, 1.0]])
    assert run_variance([[1, 0, 1], [1, 1, 1]]) == pytest.approx((1 / 3 + 0) / 2)


def test_breakdowns_add_up() -> None:
    rng = np.random.default_rng(3)
    p, o = rng.random(300), rng.integers(0, 2, 300).astype(float)
    label = rng.choice(["a", "b", "c"], 300)
    lead = rng.uniform(0, 100, 300)
    curve = lead_time_curve(p, o, lead, [0, 10, 50])
    assert curve.n.sum() == 300 and np.isinf(curve.high[-1])
    assert (curve.n * curve.brier).sum() / 300 == pytest.approx(brier(p, o))
    alike = lead_time_curve(
        p, o, lead, [0, 10, 50], interval=lambda scores, rows: loss_interval(scores, rows)
    )
    for low, high, class_bounds in zip(curve.low, curve.high, alike.intervals, strict=True):
        inside = (lead >= low) & (lead < high)
        assert class_bounds == loss_interval((p[inside] - o[inside]) ** 2, np.flatnonzero(inside))
    weighted = lead_time_curve(
        p, o, np.zeros(300), [0], label, interval=lambda scores, rows: label[rows].tolist()
    )
    assert sorted(weighted.intervals[0] or []) == ["a", "b", "c"]  # a row of each event
    assert (
        weighted.brier[0] == pytest.approx(np.average(brier_scores(p, o), weights=event_weights(label)))
        and weighted.n[0] == 3
    )


@given(st.integers(0, 1000), st.sampled_from([0.5, 0.25, 0.1]))
def test_rebalanced_subsets_have_their_shares(seed: int, share: float) -> None:
    label = np.array(["sports"] * 80 + ["politics"] * 12 + ["x"] * 5 + ["y"] * 5)
    shares = {"sports": share, "politics": (1 - share) / 2, "other": (1 - share) / 2}
    rows = rebalance(label, shares, seed=seed)
    assert len(set(rows.tolist())) == len(rows) and (rebalance(label, shares, seed=seed) == rows).all()
    counts = {"sports": (label[rows] == "sports").sum(), "politics": (label[rows] == "politics").sum()}
    for name, count in counts.items():
        assert abs(count - len(rows) * shares[name]) < 1
    with pytest.raises(DomainError, match="needs more events"):
        rebalance(label, {"sports": share, "poetry": 1 - share}, seed=seed)


@pytest.mark.parametrize(
    ("p", "o"),
    [([], []), ([0.5], [1, 0]), ([1.5], [1]), ([0.5], [0.5]), ([float("nan")], [1]), ([[0.5]], [[1]])],
)
def test_what_is_no_forecast_is_refused(p: object, o: object) -> None:
    for score in (
        brier,
        brier_index,
        brier_scores,
        metaculus_baseline,
        log_loss,
        accuracy,
        calibration_error,
        reliability,
    ):
        with pytest.raises(DomainError):
            score(p, o)


BELIEF = st.one_of(st.none(), st.floats(0, 1).map(lambda p: round(p, 4)))
TRIALS = st.lists(st.lists(BELIEF, min_size=1, max_size=6), min_size=1, max_size=3)
QUESTIONS = st.lists(
    st.tuples(TRIALS, st.sampled_from([0.0, 1.0]), st.sampled_from("abcdefg")), min_size=1, max_size=10
)


def last(trial: list[float | None]) -> float:
    return next((belief for belief in reversed(trial) if belief is not None), 0.5)


@given(QUESTIONS)
def test_it_begins_with_the_prior_and_ends_with_the_last_beliefs(rows: list) -> None:  # type: ignore[type-arg]
    trials, outcomes, clusters = zip(*rows, strict=True)
    scores = step_scores(trials, outcomes, clusters, resampling=Resampling(resamples=50))
    final = [sum(map(last, several)) / len(several) for several in trials]
    assert scores.brier[0] == 0.25
    assert scores.brier[-1] == pytest.approx(brier(final, outcomes), abs=1e-9)
    assert scores.n == scores.working[0] == scores.working[1] == len(rows)
    assert list(scores.working) == sorted(scores.working, reverse=True) and scores.working[-1] >= 1
    for value, bounds in zip(scores.brier, scores.intervals, strict=True):
        assert (bounds is None) == (len(set(clusters)) < 6)
        assert 0 <= value <= 1 and (bounds is None or 0 <= bounds[0] <= bounds[1] <= 1)


@given(QUESTIONS, st.integers(1, 4))
def test_steps_that_state_nothing_and_trials_said_twice_change_nothing(rows: list, more: int) -> None:  # type: ignore[type-arg]
    trials, outcomes, clusters = zip(*rows, strict=True)
    plain = step_scores(trials, outcomes, clusters, resampling=Resampling(resamples=0))
    longer = [[[*trial, *[None] * more] for trial in several] for several in trials]
    idle = step_scores(longer, outcomes, clusters, resampling=Resampling(resamples=0))
    assert idle.brier[: len(plain.brier)] == plain.brier and set(idle.brier[len(plain.brier) :]) <= {
        plain.brier[-1]
    }
    twice = step_scores(
        [[*several, *several] for several in trials], outcomes, clusters, resampling=Resampling(resamples=0)
    )
    assert twice.brier == pytest.approx(plain.brier)


def test_the_papers_trace_by_hand() -> None:
    """Algorithm 2's beliefs 0.65, 0.40, 0.35, 0.30 and a trial that stops at 0.5 after one step; it came out no."""
    scores = step_scores([[[0.65, 0.40, 0.35, 0.30], [0.5]]], [0.0], ["q"])
    assert scores.brier == pytest.approx((0.25, 0.575**2, 0.45**2, 0.425**2, 0.4**2))
    assert scores.working == (1, 1, 1, 1, 1) and scores.intervals == (None,) * 5


@pytest.mark.parametrize(
    "rows", [([], [], []), ([[]], [1.0], ["a"]), ([[[1.5]]], [1.0], ["a"]), ([[[0.5]]], [1.0], [])]
)
def test_what_cannot_be_scored_is_refused(rows: tuple) -> None:  # type: ignore[type-arg]
    with pytest.raises(DomainError):
        step_scores(*rows)
