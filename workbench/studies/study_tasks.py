"""Choices among options as paper A scores them: a task is a question at one horizon, its options, and what each turned out to be worth.

Two exclusive options are asked about once, and the second has what is left of 1 (paper A, C.1). Accuracy, soft and hard utility are of
tasks, never of their single yes-or-no events: "is it the first?" and "is it the second?" are one choice.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.questions.question import Question, QuestionEvent, events_of
from workbench.science.arrays import FloatArray
from workbench.science.comparing.clusters import cluster_count
from workbench.science.comparing.mean_intervals import Bounds, share_interval, utility_intervals
from workbench.science.scoring.utility import run_variance, task_values, utility_scores
from workbench.science.table_cells import StrArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One choice of a study."""

    #: Of the question, with the horizon where it has several.
    id: str
    options: tuple[str, ...]
    #: The event of each option.
    events: tuple[str, ...]
    #: What a dollar on each option came back as; empty where the question does not say.
    payoffs: tuple[float, ...] = ()


def tasks_of(questions: Iterable[Question], present: Iterable[str]) -> tuple[Task, ...]:
    """The choices in questions of exclusive options whose events are all ``present``.

    >>> question = Question(id="q", title="Who?", kind="options", options=("Ann", "Bo"), payoffs={"Ann": 1.2, "Bo": 0.9})
    >>> tasks_of([question], ["q#Ann", "q#Bo"])[0].payoffs, tasks_of([question], ["q#Ann"])
    ((1.2, 0.9), ())
    """
    there, tasks = set(present), []
    for question in questions:
        if question.kind != "options" or not question.exclusive:
            continue
        by_horizon: dict[str, list[QuestionEvent]] = {}
        for event in events_of(question):
            by_horizon.setdefault(question.horizon_label(event.horizon), []).append(event)
        worth = tuple(question.payoffs[each] for each in question.options if each in question.payoffs)
        # The payoffs of a question are of its last day: of several horizons nothing says whose they are.
        known = len(worth) == len(question.options) and len(by_horizon) == 1 and np.ptp(worth) > 0
        for horizon, events in by_horizon.items():
            if all(event.id in there for event in events):
                tasks.append(
                    Task(
                        id=f"{question.id}@{horizon}" if horizon else question.id,
                        options=question.options,
                        events=tuple(event.id for event in events),
                        payoffs=worth if known else (),
                    )
                )
    return tuple(tasks)


def complements(tasks: Sequence[Task]) -> dict[str, str]:
    """Of each choice between two, the second option's event and the first's, whose complement it is.

    >>> complements([Task(id="q", options=("a", "b"), events=("q#a", "q#b"))])
    {'q#b': 'q#a'}
    """
    return {task.events[1]: task.events[0] for task in tasks if len(task.events) == 2}


def task_scores(
    tasks: Sequence[Task],
    p: FloatArray,
    trials: FloatArray,
    outcome: FloatArray,
    rows: dict[str, int],
    clusters: StrArray,
) -> dict[str, Any] | None:
    """Scores by task of an arm (paper A, 5.1); None without a task that it answered."""
    own = [(task, [rows[event] for event in task.events]) for task in tasks]
    own = [(task, places) for task, places in own if np.isfinite(p[places]).all() and p[places].sum() > 0]
    if not own:
        return None
    worth = [task.payoffs or tuple(outcome[places]) for task, places in own]
    chosen = [k for k, values in enumerate(worth) if np.ptp(values) > 0]
    if not chosen:
        return None
    every = task_values([p[own[k][1]] for k in chosen], [worth[k] for k in chosen])
    labels = np.array([clusters[own[k][1][0]] for k in chosen])
    intervals: dict[str, Bounds] = {
        "accuracy": share_interval(every.right, labels),
        "soft": None,
        "hard": None,
    }
    scores: dict[str, Any] = {
        "tasks": len(chosen),
        "clusters": cluster_count(labels),
        "with_payoffs": 0,
        "accuracy": float(every.right.mean()),
        "brier": float(every.brier.mean()),
        "confidence": float(every.sure.mean()),
        "intervals": intervals,
        **dict.fromkeys(("soft", "hard", "soft_per_task", "hard_per_task", "variance")),
    }
    paying = [(places, task.payoffs) for task, places in own if task.payoffs]
    if paying:
        chances, payoffs = [p[places] for places, _ in paying], [payoffs for _, payoffs in paying]
        pooled = utility_scores(chances, payoffs, normalise="pooled")
        single = utility_scores(chances, payoffs)
        labels = np.array([clusters[places[0]] for places, _ in paying])
        own_ends = utility_intervals(task_values(chances, payoffs), labels)
        intervals |= {name: own_ends[name] for name in ("hard", "soft")}
        scores |= {
            "with_payoffs": len(paying),
            "soft": pooled.soft,
            "hard": pooled.hard,
            "soft_per_task": single.soft,
            "hard_per_task": single.hard,
            "variance": _hard_variance([(trials[places], payoffs) for places, payoffs in paying]),
        }
    return scores


def _hard_variance(tasks: Sequence[tuple[FloatArray, tuple[float, ...]]]) -> float | None:
    tasks = [
        (each, payoffs) for each, payoffs in tasks if np.isfinite(each).all() and (each.sum(axis=0) > 0).all()
    ]
    if not tasks or tasks[0][0].shape[1] < 2:
        return None
    span = float(np.mean([np.ptp(payoffs) for _, payoffs in tasks]))
    hard = []
    for chances, payoffs in tasks:
        top = chances >= chances.max(axis=0) - 1e-12
        value = (top * np.array(payoffs)[:, None]).sum(axis=0) / top.sum(axis=0)
        hard.append((value - min(payoffs)) / span)
    return run_variance(np.array(hard))
