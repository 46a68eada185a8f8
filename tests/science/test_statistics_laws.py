"""Laws of the bootstrap, the additive and the mixed model, agreement and sample size."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.science.comparing.agreement import consensus_matrix, mcnemar, mcnemar_matrix
from workbench.science.comparing.bootstrap import (
    index_means,
    opposite_share,
    percentile_interval,
    resample_counts,
    resampled_means,
    stratified_index,
    symmetric_interval,
)
from workbench.science.comparing.comparison import sample_size_hint
from workbench.science.comparing.mixed import index_contrast, mixed_model
from workbench.science.comparing.paired import holm
from workbench.science.errors import DomainError
from workbench.science.scoring.adjusted import additive_effects, two_way_anova


@pytest.mark.parametrize("draws", ["index", "multinomial"])
def test_both_ways_of_drawing_are_multinomial(draws: str) -> None:
    counts = resample_counts(50, 4000, np.random.default_rng(0), draws)  # type: ignore[arg-type]
    assert (counts.sum(axis=1) == 50).all() and counts.min() >= 0
    assert counts.mean() == pytest.approx(1.0)
    assert counts.var() == pytest.approx(49 / 50, rel=0.02)
    pairs = np.cov(counts[:, 0], counts[:, 1])[0, 1]
    assert pairs == pytest.approx(-1 / 50, abs=0.05)


def coverage(make: object, runs: int, seed: int) -> float:
    rng = np.random.default_rng(seed)
    hits = 0
    for run in range(runs):
        sample = rng.exponential(size=60)
        drawn = resampled_means(sample, resamples=800, seed=run)[:, 0]
        interval = make(float(sample.mean()), drawn)  # type: ignore[operator]
        hits += interval.low <= 1.0 <= interval.high
    return hits / runs


@pytest.mark.parametrize("make", [symmetric_interval, percentile_interval])
def test_intervals_cover_about_as_often_as_they_say(make: object) -> None:
    assert 0.88 <= coverage(make, 300, 1) <= 0.98  # 95 %, a little less for skewed data of 60


@pytest.mark.parametrize("resamples", [1, 2, 7, 20, 100, 300, 1000])
def test_the_symmetric_interval_reaches_the_exact_rank(resamples: int) -> None:
    """Rank ceil(level B) of the distances, in exact arithmetic: 0.55 * 100 is 55.00000000000001 to a float."""
    for percent in range(1, 100):
        rank = math.ceil(Fraction(percent, 100) * resamples)
        interval = symmetric_interval(0.0, np.arange(1.0, resamples + 1), level=percent / 100)
        assert interval.high == rank and interval.low == -rank


def test_a_real_difference_is_found_and_mirrors() -> None:
    rng = np.random.default_rng(1)
    o = rng.integers(0, 2, 300)
    good, bad = np.abs(o - 0.2), np.abs(o - 0.4) + rng.normal(0, 0.05, 300)
    briers = np.column_stack([(good - o) ** 2, (bad - o) ** 2])
    table = stratified_index(briers, ("good", "bad"), np.repeat(["market", "dataset"], 150))
    result, back = table.pair("good", "bad", "overall"), table.pair("bad", "good", "overall")
    assert result.difference > 0 and result.low > 0 and result.p_two_sided < 0.001 and result.stars == "***"
    assert back.difference == pytest.approx(-result.difference) and back.low == pytest.approx(-result.high)
    halves = [table.estimates[part][0] for part in ("market", "dataset")]
    assert result.a == pytest.approx(np.mean(halves))
    assert table.pair("good", "good", "overall").p_one_sided == 1.0
    assert opposite_share(0.0, np.zeros(4)) == 1.0
    assert index_means(np.array([-0.1, 0.0, 1.0])).tolist() == [100.0, 100.0, 0.0]


def test_bootstrap_refusals() -> None:
    for bad in ([], [float("nan")], np.zeros((0, 2))):
        with pytest.raises(DomainError):
            resampled_means(bad)
    with pytest.raises(DomainError):
        resampled_means([1.0], resamples=0)
    with pytest.raises(DomainError):
        symmetric_interval(0.0, [], level=0.9)


def unbalanced(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(5, 1)) + rng.normal(size=(1, 40)) + rng.normal(0, 0.3, (5, 40))
    scores[rng.random((5, 40)) < 0.3] = np.nan
    scores[:, np.isnan(scores).all(axis=0)] = 0.0
    i, j = np.nonzero(np.isfinite(scores))
    return scores, scores[i, j], i, j


@pytest.mark.parametrize("seed", range(3))
def test_on_unbalanced_data_the_additive_fit_is_least_squares_by_statsmodels(seed: int) -> None:
    import statsmodels.api as sm

    scores, y, i, j = unbalanced(seed)
    x = np.column_stack([np.ones(len(y)), np.eye(5)[i][:, 1:], np.eye(40)[j][:, 1:]])
    beta = sm.OLS(y, x).fit().params
    fit = additive_effects(scores)
    method = np.r_[0, beta[1:5]]
    question = np.r_[0, beta[5:]]
    assert np.allclose(fit.method, method - method.mean(), atol=1e-7)
    assert np.allclose(fit.question, question - question.mean(), atol=1e-7)
    assert fit.mean == pytest.approx(beta[0] + method.mean() + question.mean(), abs=1e-7)


def test_methods_that_share_no_question_are_refused() -> None:
    nan = float("nan")
    with pytest.raises(DomainError, match="position 1 has no score"):
        additive_effects([[1.0, nan], [2.0, nan]])
    with pytest.raises(DomainError):
        additive_effects([])


def test_anova_agrees_with_statsmodels_on_balanced_data() -> None:
    import pandas as pd
    from statsmodels.formula.api import ols
    from statsmodels.stats.anova import anova_lm

    rng = np.random.default_rng(2)
    frame = pd.DataFrame(
        [(m, q, rng.normal(m * 0.3 + q * 0.2)) for m in range(3) for q in range(6) for _ in range(4)],
        columns=["method", "question", "score"],
    )
    ours = two_way_anova(frame.score, frame.method, frame.question)
    theirs = anova_lm(ols("score ~ C(method) + C(question)", frame).fit())
    parts = ("method", "question", "residual")
    assert [ours[f"SS_{part}"] for part in parts] == pytest.approx(theirs["sum_sq"].tolist())
    assert [ours["F_method"], ours["F_question"]] == pytest.approx(theirs["F"].tolist()[:2])
    assert sum(ours[f"pct_{part}"] for part in parts) == pytest.approx(100)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.filterwarnings("ignore::statsmodels.tools.sm_exceptions.ConvergenceWarning")
def test_the_mixed_model_is_statsmodels(seed: int) -> None:
    import statsmodels.api as sm

    _, y, i, j = unbalanced(seed)
    fit = mixed_model(y, i, j)
    theirs = sm.MixedLM(y, np.eye(5)[i], groups=j).fit(reml=True, method="lbfgs")
    assert np.allclose(fit.mean, theirs.fe_params, atol=1e-4)
    assert fit.noise_variance == pytest.approx(theirs.scale, rel=1e-3)
    assert fit.question_variance == pytest.approx(float(theirs.cov_re[0, 0]), rel=1e-2)
    contrast = np.array([1, -1, 0, 0, 0])
    error = float(np.sqrt(contrast @ theirs.cov_params()[:5, :5] @ contrast))
    gap, ours = fit.contrast("0", "1")
    assert gap == pytest.approx(float(contrast @ theirs.fe_params), abs=1e-4) and ours == pytest.approx(
        error, rel=1e-3
    )


def test_a_mixed_model_without_question_effects_has_variance_zero() -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(size=400)
    y[::2] -= y[::2].mean()
    fit = mixed_model(y, np.tile(["a", "b"], 200), np.repeat(np.arange(200), 2))
    assert 0 <= fit.question_variance < 0.2
    plain = index_contrast(fit, "a", "a")
    assert plain.difference == 0


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_mcnemar_is_the_exact_binomial_test(pairs: list[tuple[bool, bool]]) -> None:
    from scipy.stats import binomtest

    a, b = (np.array(column) for column in zip(*pairs, strict=True))
    result = mcnemar(a, b)
    n = result.only_a + result.only_b
    assert result.p == pytest.approx(binomtest(result.only_a, n, 0.5).pvalue if n else 1.0, abs=1e-12)
    assert mcnemar(b, a).p == pytest.approx(result.p)


def test_matrices_of_agreement() -> None:
    nan = float("nan")
    forecasts = {"a": [0.9, 0.8, 0.1], "b": [0.9, 0.2, 0.1], "c": [nan, nan, 0.9]}
    names, agree = consensus_matrix(forecasts)
    assert names == ["a", "b", "c"] and agree[0, 1] == pytest.approx(2 / 3) and agree[0, 2] == 0.0
    _, p = mcnemar_matrix(forecasts, [1, 1, 0])
    assert (np.diag(p) == 1).all() and p[0, 1] == 1.0 and np.allclose(p, p.T)
    assert np.isnan(consensus_matrix({"a": [0.5, nan], "b": [nan, 0.5]})[1][0, 1])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_p_values_are_corrected_as_statsmodels_does(values: list[float]) -> None:
    from statsmodels.stats.multitest import multipletests

    p = {str(place): value for place, value in enumerate(values)}
    assert list(holm(p).values()) == pytest.approx(multipletests(values, method="holm")[1].tolist())


def test_the_sample_size_hint_agrees_with_statsmodels_and_simulation() -> None:
    from statsmodels.stats.power import TTestPower

    rng = np.random.default_rng(1)
    gap = rng.normal(0.1, 1.0, 100)
    hint = sample_size_hint(gap)
    effect = abs(gap.mean()) / gap.std(ddof=1)
    assert hint.needed == pytest.approx(TTestPower().solve_power(effect, power=0.8, alpha=0.05), rel=0.03)
    assert hint.needed is not None and "you would need" in hint.sentence()
    mean, deviation = gap.mean(), gap.std(ddof=1)
    drawn = rng.normal(mean, deviation, (2000, hint.needed))
    z = drawn.mean(axis=1) / (drawn.std(axis=1, ddof=1) / np.sqrt(hint.needed))
    assert 0.75 < (np.abs(z) > 1.96).mean() < 0.85
    assert sample_size_hint([1.0, -1.0]).needed is None
    assert "are enough" in sample_size_hint(rng.normal(1, 0.5, 50)).sentence()
    clustered = sample_size_hint(np.repeat(gap, 3), clusters=np.repeat(np.arange(100), 3))
    assert clustered == hint
