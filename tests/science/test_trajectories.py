"""Brier score by step: laws, and one value by hand (BLF, App. E, Fig. 12)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.science.comparing.mean_intervals import Resampling
from workbench.science.comparing.trajectories import step_scores
from workbench.science.errors import DomainError
from workbench.science.scoring.scores import brier

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
