"""Laws of pooling, shrinkage, ensembles and elicitation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from workbench.science.arrays import EPS, logit, sigmoid
from workbench.science.errors import DomainError, UnknownName
from workbench.science.pooling.elicitation import both_directions, prompt_ensemble, self_consistency
from workbench.science.pooling.ensembles import (
    divergence_matrix,
    greedy_ensemble,
    greedy_leave_out,
    jensen_shannon,
)
from workbench.science.pooling.pool import (
    POOLINGS,
    pool,
    pool_logit_mean,
    pool_mean,
)
from workbench.science.pooling.shrinkage import bayes_weight, floor_weight, shrink, trial_logits
from workbench.science.pooling.tuning import (
    FLOOR_GRID,
    VARIANCE_GRID,
    ShrinkGrid,
    tune_in_sample,
    tune_leave_out,
)
from workbench.science.recipe import Recipe, prepare
from workbench.science.tables import Events

INSIDE = st.floats(EPS, 1 - EPS)
TRIALS = hnp.arrays(float, st.tuples(st.integers(1, 6), st.integers(1, 6)), elements=INSIDE)
WITH_HOLES = hnp.arrays(
    float, st.tuples(st.integers(1, 6), st.integers(1, 6)), elements=st.one_of(INSIDE, st.just(float("nan")))
)

RULES = [*POOLINGS, "mean:2", "logit-mean:3", "median:2", "first:1"]


@given(st.lists(INSIDE, min_size=1, max_size=5), st.integers(1, 7), st.sampled_from(RULES))
def test_equal_trials_change_nothing(values: list[float], number: int, how: str) -> None:
    trials = np.repeat(np.array(values)[:, None], number, axis=1)
    assert np.allclose(pool(trials, how), values, atol=1e-12)


@given(TRIALS, st.sampled_from(["mean", "median", "logit-mean"]))
def test_a_pool_lies_between_its_trials_whatever_their_order(trials: np.ndarray, how: str) -> None:
    p = pool(trials, how)
    assert (p >= trials.min(axis=1) - 1e-12).all() and (p <= trials.max(axis=1) + 1e-12).all()
    assert np.allclose(p, pool(trials[:, ::-1], how), atol=1e-12)


@given(TRIALS, st.sampled_from(["mean", "median", "logit-mean"]))
def test_flipping_yes_and_no_flips_the_pool(trials: np.ndarray, how: str) -> None:
    assert np.allclose(pool(1 - trials, how), 1 - pool(trials, how), atol=1e-9)


@given(WITH_HOLES, st.sampled_from(RULES))
def test_a_missing_trial_is_as_if_it_never_was(trials: np.ndarray, how: str) -> None:
    p = pool(trials, how)
    for row, value in zip(trials, p, strict=True):
        remaining = row[np.isfinite(row)]
        if len(remaining):
            assert np.isclose(value, pool(remaining[None, :], how)[0], atol=1e-12)
        else:
            assert np.isnan(value)


@given(WITH_HOLES, st.integers(1, 7))
def test_the_average_over_subsets_of_means_is_the_mean(trials: np.ndarray, size: int) -> None:
    assert np.allclose(pool(trials, f"mean:{size}"), pool_mean(trials), atol=1e-12, equal_nan=True)


def test_the_average_over_pairs_by_hand() -> None:
    # logit means of the pairs of 0.2, 0.2, 0.8 are 0.2, 0.5, 0.5 (BLF, App. D.4: their average)
    assert pool([[0.2, 0.2, 0.8]], "logit-mean:2")[0] == pytest.approx(0.4, abs=1e-12)


@pytest.mark.parametrize("name", ["mode", "mean:0", "mean:", "mean:-1", "mean:2:3", "mean:²", "shrink-std:2"])
def test_a_pooling_that_does_not_exist_is_named(name: str) -> None:
    with pytest.raises(UnknownName, match="known: mean, median, logit-mean, first, mean:k"):
        pool([[0.1, 0.2]], name)


@given(TRIALS)
def test_the_mean_pool_never_scores_worse_than_its_trials_on_average(trials: np.ndarray) -> None:
    for outcome in (0.0, 1.0):
        pooled = (pool_mean(trials) - outcome) ** 2
        assert (pooled <= ((trials - outcome) ** 2).mean(axis=1) + 1e-12).all()


def test_the_logit_mean_shifts_with_the_evidence() -> None:
    trials = np.array([[0.2, 0.6, 0.7]])
    shifted = sigmoid(logit(trials) + 0.8)
    assert np.isclose(logit(pool_logit_mean(shifted))[0], logit(pool_logit_mean(trials))[0] + 0.8)


def test_dead_trials_by_either_policy() -> None:
    nan = float("nan")
    trials = np.array([[0.95, 0.95, 0.95, 0.95, nan], [nan] * 5])
    events = Events.of([1, 0])

    def forecast(how: str, dead: str) -> float:
        ready = prepare(trials, events, Recipe(pool=how, dead=dead))
        assert ready.rows.tolist() == [0]  # an event without any live trial has no forecast
        return float(ready.p[0])

    assert forecast("logit-mean", "drop") == pytest.approx(0.95)
    # BLF, App. C.8: a dead trial of five costs about 4 points of the logit mean, about 9 of the arithmetic mean
    assert 0.95 - forecast("logit-mean", "impute") == pytest.approx(0.0366, abs=1e-3)
    assert 0.95 - forecast("mean", "impute") == pytest.approx(0.09)
    with pytest.raises(UnknownName):
        Recipe(dead="guess")


@pytest.mark.parametrize("bad", [[[0.5, 1.1]], [[-0.1]], [0.5], [[]]])
def test_what_is_no_trial_matrix_is_refused(bad: object) -> None:
    with pytest.raises(DomainError):
        pool_mean(bad)


@given(TRIALS, st.floats(0, 1), st.floats(0, 3), INSIDE)
def test_shrinkage_lies_between_mean_and_prior(
    trials: np.ndarray, floor: float, slope: float, prior: float
) -> None:
    logits = trial_logits(trials)
    p = shrink(logits.mean, floor_weight(logits.spread, floor, slope), prior)
    mean = pool_logit_mean(trials)
    assert (p >= np.minimum(mean, prior) - 1e-9).all() and (p <= np.maximum(mean, prior) + 1e-9).all()
    assert np.allclose(shrink(logits.mean, 1.0, prior), mean, atol=1e-12)
    assert np.allclose(shrink(logits.mean, 0.0, prior), prior, atol=1e-12)


def test_spread_is_the_sample_deviation_unless_told() -> None:
    trials = np.array([[0.2, 0.5, 0.9, float("nan")]])
    y = logit(trials[0, :3])
    assert trial_logits(trials).spread[0] == pytest.approx(y.std(ddof=1))
    assert trial_logits(trials, ddof=0).spread[0] == pytest.approx(y.std())
    with pytest.raises(DomainError):
        trial_logits(trials, ddof=2)


def test_the_bayes_weight_grows_with_trials_and_falls_with_disagreement() -> None:
    more = bayes_weight([1, 5, 50], [1.0, 1.0, 1.0], 0.5)
    assert (np.diff(more) > 0).all()
    assert bayes_weight([5], [0.0], 0.5)[0] == 1.0
    # eq. 9 is the posterior mean of a normal model
    precision = 5 / 2.0 + 1 / 0.5
    assert bayes_weight([5], [2.0], 0.5)[0] == pytest.approx((5 / 2.0) / precision)


def tuning_data(seed: int, events: int = 60) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = rng.normal(0, 1.5, events)
    trials = sigmoid(truth[:, None] + rng.normal(0, 1.5, (events, 5)))
    outcome = (rng.random(events) < sigmoid(truth)).astype(float)
    return trials, np.clip(rng.random(events), 0.05, 0.95), outcome, np.repeat(np.arange(events // 3), 3)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("grid", [FLOOR_GRID, VARIANCE_GRID], ids=["floor", "variance"])
def test_leave_out_tuning_is_a_refit_without_the_fold(grid: ShrinkGrid, seed: int) -> None:
    trials, prior, outcome, question = tuning_data(seed)
    logits = trial_logits(trials)
    for folds in (None, question):
        fit = tune_leave_out(logits, prior, outcome, folds, grid=grid)
        labels = np.arange(len(outcome)) if folds is None else folds
        for label in np.unique(labels):
            rest = labels != label
            part = tune_in_sample(trial_logits(trials[rest]), prior[rest], outcome[rest], grid=grid)
            weight = (
                floor_weight(logits.spread[~rest], *part.cell)
                if grid is FLOOR_GRID
                else bayes_weight(logits.count[~rest], logits.spread[~rest] ** 2, part.cell[0])
            )
            assert np.allclose(fit.p[~rest], shrink(logits.mean[~rest], weight, prior[~rest]), atol=1e-12)
        assert sum(cell[-1] for cell in fit.chosen) == len(outcome)


def test_shrink_bayes_by_hand() -> None:
    """Eq. 9 of BLF's App. C.9: two trials of logits 0 and 2 have mean 1 and sample variance 2."""
    p = sigmoid(np.array([[0.0, 2.0]]))
    logits = trial_logits(p)
    forecast = VARIANCE_GRID.forecasts(logits, np.array([0.5]), (0.5,))
    # weight = 2 x 0.5 / (2 x 0.5 + 2) = 1/3, so the logit is a third of 1 of the way from 0
    assert forecast[0] == pytest.approx(1 / (1 + np.exp(-1 / 3)))


@pytest.mark.parametrize("calibrate", ["none", "platt"])
def test_shrink_bayes_forecasts_a_question_without_its_outcome(calibrate: str) -> None:
    trials, prior, outcome, question = tuning_data(3)
    recipe = Recipe(pool="shrink-bayes", prior="prior", loo="question", calibrate=calibrate)

    def forecasts(o: np.ndarray) -> np.ndarray:
        events = Events.of(o, question=question.astype(str), prior=prior)
        return prepare(trials, events, recipe).p

    plain = forecasts(outcome)
    for held_out in (0, 7, 19):
        turned = np.where(question == held_out, 1 - outcome, outcome)
        assert np.allclose(forecasts(turned)[question == held_out], plain[question == held_out], atol=1e-9)


def test_tuning_refuses_an_event_without_trials() -> None:
    with pytest.raises(DomainError, match="position 1 has no trial"):
        tune_in_sample(trial_logits([[0.5], [float("nan")]]), 0.5, [0, 1])


def test_divergence_agrees_with_scipy() -> None:
    from scipy.spatial.distance import jensenshannon

    rng = np.random.default_rng(0)
    p, q = rng.random(50), rng.random(50)
    wanted = [jensenshannon([a, 1 - a], [b, 1 - b], base=2) ** 2 for a, b in zip(p, q, strict=True)]
    assert jensen_shannon(p, q) == pytest.approx(np.mean(wanted), abs=1e-12)
    names, matrix = divergence_matrix({"p": p, "q": q})
    assert names == ["p", "q"] and matrix[0, 1] == pytest.approx(np.mean(wanted)) and matrix[0, 0] == 0


def test_a_greedy_ensemble_starts_with_the_best_and_adds_what_helps() -> None:
    rng = np.random.default_rng(1)
    truth = rng.random(400)
    outcome = (rng.random(400) < truth).astype(float)
    members = {f"m{k}": np.clip(truth + rng.normal(0, 0.1 + 0.1 * k, 400), 0, 1) for k in range(4)}
    steps = greedy_ensemble(members, outcome)
    single = {name: ((p - outcome) ** 2).mean() for name, p in members.items()}
    assert steps[0].added == min(single, key=lambda name: single[name])
    assert [step.added for step in steps[:1]] != [] and len({step.added for step in steps}) == 4
    pooled = np.mean([members[step.added] for step in steps], axis=0)
    assert steps[-1].brier == pytest.approx(((pooled - outcome) ** 2).mean())


def test_elicitation_by_hand() -> None:
    nan = float("nan")
    assert prompt_ensemble([[0.6, 0.7, nan, 0.8]])[0] == pytest.approx(0.7)
    assert both_directions([0.8], [0.4])[0] == pytest.approx(0.7)
    votes, confidence = [[1, 0, 1, nan]], [[0.9, 0.6, 0.3, 1.0]]
    assert self_consistency(votes)[0] == pytest.approx(2 / 3)
    assert self_consistency(votes, confidence)[0] == pytest.approx(1.2 / 1.8)
    assert np.isnan(self_consistency([[nan, nan]])[0])
    assert np.isnan(self_consistency([[1.0]], [[0.0]])[0])
    with pytest.raises(DomainError):
        self_consistency([[0.5]])


@pytest.mark.parametrize("seed", range(3))
def test_the_held_out_ensemble_is_a_refit_without_the_question(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth, question = rng.random(24), np.repeat(np.arange(8), 3)
    outcome = (rng.random(24) < truth).astype(float)
    members = {name: np.clip(truth + rng.normal(0, 0.3, 24), 0.01, 0.99) for name in "abcd"}
    held = greedy_leave_out(members, outcome, question, how="logit-mean")
    for label in range(8):
        rest = question != label
        steps = greedy_ensemble(
            {name: p[rest] for name, p in members.items()}, outcome[rest], how="logit-mean"
        )
        size = int(np.argmin([step.brier for step in steps])) + 1
        own = np.column_stack([members[step.added][~rest] for step in steps[:size]])
        assert np.allclose(held.p[~rest], pool(own, "logit-mean"), atol=1e-12)
    assert sum(held.chosen.values()) == 8
