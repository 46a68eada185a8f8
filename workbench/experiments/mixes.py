"""A study's scores on subsets with another mix of categories: whether the order of the arms hangs on what was asked (paper P, App. C.8).

A subset is drawn without replacement, ``draws`` times; what is shown is the mean over the draws and the range that 95 percent of
them lie in. That range is of the drawing alone: how sure a score is stands in the table of scores.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.errors import UsageError
from workbench.experiments.study import REBALANCE_DRAWS
from workbench.science.arrays import FloatArray
from workbench.science.errors import ScienceError
from workbench.science.scoring.breakdown import rebalance

if TYPE_CHECKING:
    from workbench.experiments.exam import StudyExam


def exam_mix_problems(settings: Mapping[str, Any], exam: "StudyExam") -> list[str]:
    """What the exam lacks for a study's ``rebalance``, a line each."""
    column = str(settings.get("column", "category"))
    if column not in exam.events.frame.columns:
        return [f"rebalance: the exam has no column {column!r}"]
    problems = []
    for mix in _mixes(settings):
        try:
            rebalance(exam.events.text(column), mix, seed=0)
        except ScienceError as error:
            problems.append(f"rebalance: {_name(mix)}: {' '.join(str(error).split())}")
    return problems


def mix_scores(
    settings: Mapping[str, Any] | None, exam: "StudyExam", pooled: Mapping[str, FloatArray]
) -> dict[str, Any]:
    """Brier scores of every arm by mix, the exam as it is first; empty where the study asks for none.

    ``order`` is the rank correlation of the arms' scores with those on the whole exam: 1 where the order stays.
    """
    if settings is None:
        return {}
    column = str(settings.get("column", "category"))
    labels = exam.events.text(column)
    scores = {arm: (p - exam.events.outcome) ** 2 for arm, p in pooled.items()}
    names, counts = np.unique(labels, return_counts=True)
    shares = {str(name): float(count) / len(labels) for name, count in zip(names, counts, strict=True)}
    whole = {arm: np.array([np.nanmean(each)]) for arm, each in scores.items()}
    rows = [_row("as it is: " + _name(shares), len(labels), whole, whole)]
    for mix in _mixes(settings):
        subsets = [
            rebalance(labels, mix, seed=seed) for seed in range(int(settings.get("draws", REBALANCE_DRAWS)))
        ]
        means = {arm: np.array([_mean(each[rows_]) for rows_ in subsets]) for arm, each in scores.items()}
        rows.append(_row(_name(mix), len(subsets[0]), means, whole))
    return {"column": column, "mixes": rows}


def _mixes(settings: Mapping[str, Any]) -> list[Mapping[str, float]]:
    mixes = settings["mixes"]
    return list(mixes) if isinstance(mixes, list | tuple) else [mixes]


def _name(mix: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {100 * share:.0f} %" for name, share in mix.items())


def _mean(scores: FloatArray) -> float:
    known = scores[np.isfinite(scores)]
    return float(known.mean()) if len(known) else float("nan")


def _row(
    name: str, size: int, means: Mapping[str, FloatArray], whole: Mapping[str, FloatArray]
) -> dict[str, Any]:
    arms = {}
    for arm, draws in means.items():
        known = draws[np.isfinite(draws)]
        if len(known):
            low, high = np.quantile(known, [0.025, 0.975])
            arms[arm] = {"brier": float(known.mean()), "low": float(low), "high": float(high)}
    order = [arm for arm in arms if np.isfinite(whole[arm]).all()]
    return {
        "mix": name,
        "events": size,
        "arms": arms,
        "order": rank_correlation(
            np.array([arms[arm]["brier"] for arm in order]), np.array([whole[arm][0] for arm in order])
        ),
    }


def rank_correlation(a: FloatArray, b: FloatArray) -> float | None:
    """Spearman's rank correlation, ties at their mean rank; None where either does not vary.

    >>> rank_correlation(np.array([1.0, 2.0, 4.0]), np.array([0.1, 0.3, 0.2]))
    0.5
    """
    import pandas as pd

    if len(a) != len(b):
        raise UsageError(f"there are {len(a)} values on one side and {len(b)} on the other")
    ranks = [pd.Series(values).rank().to_numpy(dtype=np.float64) for values in (a, b)]
    if len(a) < 2 or any(np.ptp(each) == 0 for each in ranks):
        return None
    return round(float(np.corrcoef(ranks[0], ranks[1])[0, 1]), 12)
