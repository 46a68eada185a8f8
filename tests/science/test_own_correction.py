"""A correction learned from one's own record: noise is hardly ever adopted, a real fault mostly is, and no question teaches itself."""

import numpy as np
import pytest

from workbench.science.comparing import own_correction
from workbench.science.comparing.own_correction import ENOUGH, OwnCorrection, learn_correction
from workbench.science.pooling.shrinkage import TrialLogits, trial_logits

pytestmark = pytest.mark.long


def record(
    rng: np.random.Generator, questions: int, slope: float, *, dates: int = 1
) -> tuple[TrialLogits, np.ndarray, np.ndarray, list[str]]:
    """Three trials of each forecast, whose logits are ``slope`` times the true ones: 1 is calibrated."""
    true = np.repeat(rng.normal(0, 1.2, questions), dates)
    outcome = (rng.uniform(size=len(true)) < 1 / (1 + np.exp(-true))).astype(float)
    said = slope * true[:, None] + 0.25 * rng.standard_normal((len(true), 3))
    labels = [f"q{number}" for number in range(questions) for _ in range(dates)]
    return trial_logits(1 / (1 + np.exp(-said))), np.full(len(true), np.nan), outcome, labels


def adopted(questions: int, slope: float, records: int, **shape: int) -> int:
    rng = np.random.default_rng(questions)
    return sum(not learn_correction(*record(rng, questions, slope, **shape)).reason for _ in range(records))


@pytest.mark.parametrize(("questions", "records"), [(20, 20), (40, 10), (100, 10)])
def test_a_calibrated_forecaster_is_hardly_ever_corrected(questions: int, records: int) -> None:
    assert adopted(questions, 1.0, records) <= 0.06 * records


def test_a_forecaster_twice_too_sure_is_mostly_corrected() -> None:
    assert adopted(200, 2.0, 8) >= 5


def test_dates_of_few_questions_teach_nothing() -> None:
    rng = np.random.default_rng(1)
    found = learn_correction(*record(rng, ENOUGH - 1, 3.0, dates=10))
    assert found.reason == "fewer than 20 questions are too few" and found.questions == ENOUGH - 1


def two_sided_yes() -> int:
    return sum((n % 2 == 0) == (n % 10 < 7) for n in range(40))


def two_sided(shift: int = 0) -> OwnCorrection:
    """40 forecasts of 5 or 95 %, wrong in three of ten; the last question's outcome turned round with ``shift``."""
    said = np.where(np.arange(40) % 2 == 0, 0.95, 0.05)
    right = np.arange(40) % 10 < 7
    outcome = np.where(right, said > 0.5, said < 0.5).astype(float)
    if shift:
        outcome[-1] = 1 - outcome[-1]
    labels = [f"q{number}" for number in range(40)]
    return learn_correction(trial_logits(said[:, None]), np.full(40, np.nan), outcome, labels)


def test_the_prior_holds_two_pseudo_questions_and_counts_a_question_once() -> None:
    plain, turned = two_sided(), two_sided(1)
    assert not plain.reason and plain.calibration_slope < 0.5
    assert plain.base_rate == pytest.approx((two_sided_yes() + 1) / 42)
    assert abs(turned.base_rate - plain.base_rate) == pytest.approx(1 / 42)
    # 20 questions of which one has 30 dates, all yes, and the others came out no
    labels = ["q0"] * 30 + [f"q{number}" for number in range(1, 20)]
    outcome = np.array([1.0] * 30 + [0.0] * 19)
    found = learn_correction(trial_logits(np.full((49, 1), 0.5)), np.full(49, np.nan), outcome, labels)
    assert found.base_rate == pytest.approx(2 / 22)


def test_a_left_out_forecast_does_not_know_its_own_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    """Turn one question's outcomes round: what the others teach it, base rate, shrinkage and calibration, stays the same."""
    logits, prior, outcome, labels = record(np.random.default_rng(3), 24, 2.0, dates=2)
    seen: list[np.ndarray] = []
    monkeypatch.setattr(
        own_correction, "log_losses", lambda p, o, clip: seen.append(np.asarray(p)) or np.zeros(len(p))
    )
    for question in range(3):
        own = slice(2 * question, 2 * question + 2)
        turned = outcome.copy()
        turned[own] = 1 - turned[own]
        seen.clear()
        for each in (outcome, turned):
            learn_correction(logits, prior, each, labels)
        (_, corrected, _, again) = seen
        assert np.allclose(corrected[own], again[own], atol=1e-8)
        assert not np.allclose(corrected, again, atol=1e-4)  # the other questions did learn from it


def test_no_question_is_scored_by_a_prior_or_a_fit_that_saw_it() -> None:
    """Trials of pure noise, outcomes by a coin: the printed score of the corrected forecasts cannot beat a coin's 0.25."""
    rng = np.random.default_rng(5)
    scores, together = [], []
    for _ in range(4):
        coins = np.repeat((rng.uniform(size=24) < 0.5).astype(float), 4)
        trials = 1 / (1 + np.exp(-2.5 * rng.standard_normal((96, 3))))
        labels = np.repeat(np.arange(24), 4).astype(str)
        honest = learn_correction(trial_logits(trials), np.full(96, np.nan), coins, labels.tolist())
        # the same forecasts as if each date were a question of its own: its sisters give its outcome away
        loose = learn_correction(
            trial_logits(trials), np.full(96, np.nan), coins, [str(row) for row in range(96)]
        )
        assert honest.brier is not None and loose.brier is not None
        scores.append(honest.brier)
        together.append(loose.brier)
    assert np.mean(scores) >= 0.25 and np.mean(together) < np.mean(scores)
