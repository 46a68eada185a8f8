"""Choices of a study: asked once, scored as paper A scores them, by values worked out by hand."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from workbench.questions.formats.base import Resolution
from workbench.questions.formats.price_questions import read_price_history
from workbench.questions.question import Question, QuestionError, event_id, events_of
from workbench.questions.sets.question_sets import add_questions, record_resolutions
from workbench.store import Store
from workbench.studies.study_file import study_of
from workbench.studies.study_plan import plan_study
from workbench.studies.study_tasks import complements, task_scores, tasks_of


def choices(payoffs: Sequence[tuple[float, float]]) -> list[Question]:
    return [
        Question(
            id=f"q{number}",
            title="Long or short?",
            kind="options",
            options=("long", "short"),
            payoffs={"long": long, "short": short},
            outcomes={
                event_id(f"q{number}", "long"): float(long > short),
                event_id(f"q{number}", "short"): float(short > long),
            },
        )
        for number, (long, short) in enumerate(payoffs)
    ]


def scored(questions: Sequence[Question], runs: np.ndarray) -> dict | None:  # type: ignore[type-arg]
    """Of the first options' forecasts, one column a run."""
    events = [event for question in questions for event in events_of(question)]
    trials = np.empty((len(events), runs.shape[1]))
    trials[0::2], trials[1::2] = runs, 1 - runs
    outcome = np.array([event.outcome for event in events], dtype=float)
    tasks = tasks_of(questions, [event.id for event in events])
    return task_scores(
        tasks,
        trials.mean(axis=1),
        trials,
        outcome,
        {event.id: row for row, event in enumerate(events)},
        np.array([event.id.split("#")[0] for event in events]),
    )


def test_hard_utility_is_another_number_than_accuracy() -> None:
    # Worth by hand: spans 1.0, 0.2, 0.2, together 1.4. The first is called right, the others wrong.
    questions = choices([(1.5, 0.5), (1.1, 0.9), (0.9, 1.1)])
    scores = scored(questions, np.array([[0.8], [0.4], [0.7]]))
    assert scores is not None
    assert scores["accuracy"] == pytest.approx(1 / 3)
    assert scores["hard"] == pytest.approx(1.0 / 1.4)
    assert scores["soft"] == pytest.approx((0.8 * 1.0 + 0.4 * 0.2 + 0.3 * 0.2) / 1.4)
    # Normalised task by task, as the paper's text has it, a choice between two has its accuracy.
    assert scores["hard_per_task"] == pytest.approx(scores["accuracy"])
    assert scores["soft_per_task"] == pytest.approx((0.8 + 0.4 + 0.3) / 3)
    assert scores["brier"] == pytest.approx((0.2**2 + 0.6**2 + 0.7**2) / 3)
    assert scores["variance"] is None


def test_the_variance_is_of_the_hard_score_over_runs() -> None:
    # Mean span 0.6. Runs choose long, long, short of the first (1, 1, 0 of its span 1.0) and always long of the second.
    scores = scored(choices([(1.5, 0.5), (1.1, 0.9)]), np.array([[0.9, 0.6, 0.2], [0.8, 0.7, 0.6]]))
    first = np.var(np.array([1.0, 1.0, 0.0]) / 0.6, ddof=1)
    assert scores is not None and scores["variance"] == pytest.approx((first + 0.0) / 2)


def test_without_payoffs_there_is_no_utility_and_what_is_no_choice_has_no_task() -> None:
    plain = Question(
        id="q", title="Who?", kind="options", options=("a", "b"), outcomes={"q#a": 1.0, "q#b": 0.0}
    )
    scores = scored([plain], np.array([[0.7]]))
    assert (
        scores is not None and scores["accuracy"] == 1.0 and scores["soft"] is None and scores["hard"] is None
    )
    several = Question(id="q", title="Which?", kind="options", options=("a", "b"), exclusive=False)
    assert tasks_of([several], ["q#a", "q#b"]) == ()
    three = Question(id="q", title="Who?", kind="options", options=("a", "b", "c"))
    assert complements(tasks_of([three], [event.id for event in events_of(three)])) == {}


def test_options_of_prices_are_propositions() -> None:
    rows = [
        {"symbol": "AAA", "date": day, "close": close}
        for day, close in (("2024-01-01", "100"), ("2025-01-01", "110"))
    ]
    (question,) = read_price_history(rows, "2024-01-02").questions
    assert [event.statement for event in events_of(question)] == [
        "Going long AAA pays more than going short from 2024-01-02 to 2025-01-01",
        "Going short AAA pays more than going long from 2024-01-02 to 2025-01-01",
    ]


def test_a_choice_between_two_is_asked_once(tmp_path: Path) -> None:
    rows = [
        {"symbol": symbol, "date": day, "close": close}
        for symbol, last in (("AAA", "110"), ("BBB", "80"))
        for day, close in (("2024-01-01", "100"), ("2025-01-01", last))
    ]
    with closing(Store(tmp_path / "home")) as store:
        add_questions(store, "ls", read_price_history(rows, "2024-01-02"), form="prices", origin="by hand")
        arms = ["random", {"arm": "tot", "model": "openai/gpt-4o"}]
        spec = study_of({"name": "s", "exam": {"set": "ls"}, "arms": arms, "trials": 2}, tmp_path)
        plan = plan_study(store, spec)
        with pytest.raises(QuestionError, match="not known yet"):
            record_resolutions(store, "ls", [Resolution("AAA@2024-01-02#long", 1.0, "2999-01-01")])
    own = [cell for cell in plan.cells() if cell.arm == "tot"]
    assert len(own) == 4 and {cell.event.partition("#")[2] for cell in own} == {"long"}
    # Random forecasts cost nothing and stay one per event.
    assert sum(cell.arm == "random" for cell in plan.cells()) == 8
    assert [task.payoffs[0] > task.payoffs[1] for task in plan.exam.tasks] == [True, False]


def test_accuracy_and_utility_have_intervals_over_clusters_and_none_below_six() -> None:
    payoffs = [(1.5, 0.5), (1.1, 0.9), (0.9, 1.1), (1.2, 0.8)] * 5
    runs = np.array([[0.8], [0.4], [0.7], [0.6]] * 5)
    scores = scored(choices(payoffs), runs)
    assert scores is not None and scores["clusters"] == 20
    for name in ("accuracy", "hard", "soft"):
        low, high = scores["intervals"][name]
        assert 0 <= low < scores[name] < high <= 1
    # Each call right at its stake: a share of what was at stake is no surer than one of cases.
    right = scored(choices(payoffs[:1] * 10), runs[:1].repeat(10, axis=0))
    assert right is not None and right["hard"] == 1.0 and right["intervals"]["hard"][0] < 0.75
    few = scored(choices(payoffs[:5]), runs[:5])
    assert few is not None and set(few["intervals"].values()) == {None}
