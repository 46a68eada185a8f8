"""Scores of a study beside those of its arms: what they cost, subsets with another mix of categories, and how its agents worked.

A subset is drawn without replacement, ``draws`` times; what is shown is the mean over the draws and the range that 95 percent of
them lie in (paper P, App. C.8). That range is of the drawing alone: how sure a score is stands in the table of scores.
"""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from workbench.audit.step_scores import LoopTrial, brier_by_step, loop_traces, medians
from workbench.engine.record.fold import load_state
from workbench.errors import UsageError
from workbench.science.arrays import FloatArray
from workbench.science.comparing.mean_intervals import PLAIN
from workbench.science.errors import ScienceError
from workbench.science.scoring.breakdown import rebalance
from workbench.studies.study_file import REBALANCE_DRAWS

if TYPE_CHECKING:
    from workbench.store import Store
    from workbench.studies.study_exam import StudyExam
    from workbench.studies.study_state import StudyState


#: Questions that a price is stated for, as in the paper's table.
PER = 1000


def cost_rows(
    arms: Mapping[str, Mapping[str, Any]],
    manifest: Mapping[str, Any],
    frame: pd.DataFrame,
    *,
    answered_with: Collection[str] = (),
) -> list[dict[str, Any]]:
    """A row per arm that asked a model: its models, accuracy, scores, and dollars per 1,000 questions at the prices that were charged.

    Parameters
    ----------
    arms : mapping
        Scores by arm, as `study_results` makes them.
    manifest : mapping
        Of the study: its ``arms`` hold the settings of every arm of runs.
    frame : DataFrame
        The tidy table; a forecast that is missing has cost what its calls cost.
    answered_with : collection of str
        Events that were asked together with another, as the second of two options, and are no question of their own.

    Returns
    -------
    list of dict
        ``per_1000`` counts all trials and seeds of a question, since a score rests on all of them, and is None where a price is
        not known. ``gain`` is the accuracy above that of the same models and grounder without a tree, as a share of it; None for
        an arm without a tree, or where no such arm is in the study.
    """
    settings = {name: each for name, each in manifest.get("arms", {}).items() if "grounder" in each}
    rows = []
    for arm, scores in arms.items():
        own = settings.get(arm)
        if own is None or not scores["calls"]:
            continue
        own_rows = (frame["arm"] == arm) & ~frame["event_id"].isin(list(answered_with))
        questions = int(frame.loc[own_rows, "event_id"].nunique())
        plain = _without_tree(own, settings, arms)
        rows.append(
            {
                "arm": arm,
                "models": ", ".join(_models(own)),
                "questions": questions,
                "accuracy": _accuracy(scores),
                "gain": _accuracy(scores) / plain - 1.0 if plain else None,
                "soft": scores["soft"],
                "hard": scores["hard"],
                "brier": scores["brier"],
                "calls": scores["calls"] / questions,
                "tokens": scores["tokens"] / questions,
                "per_1000": None if scores["cost_usd"] is None else scores["cost_usd"] / questions * PER,
            }
        )
    return rows


def _models(settings: Mapping[str, Any]) -> list[str]:
    """The models of an arm, each once; a single role's with the role behind it."""
    main = str(settings["model"])
    others = [f"{model} ({role})" for role, model in settings.get("models", {}).items() if model != main]
    return [main, *others]


def _without_tree(
    own: Mapping[str, Any],
    settings: Mapping[str, Mapping[str, Any]],
    arms: Mapping[str, Mapping[str, Any]],
) -> float | None:
    """Accuracy of the arm that differs from this one by having no tree; None without one, or for an arm that has none itself."""
    if own["analyzer"] == "single":
        return None

    def alike(settings: Mapping[str, Any]) -> list[Any]:
        return [*(settings[key] for key in ("model", "models", "grounder", "trials")), _options(settings)]

    for name, other in settings.items():
        if name in arms and other["analyzer"] == "single" and alike(other) == alike(own):
            return _accuracy(arms[name])
    return None


def _accuracy(scores: Mapping[str, Any]) -> float:
    """Accuracy by task where the exam has choices, else of single events."""
    return float((scores.get("tasks") or scores)["accuracy"])


def _options(settings: Mapping[str, Any]) -> Any:
    return settings.get("options", {}).get("grounder", {})


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
            problems.append(f"rebalance: {_mix_words(mix)}: {' '.join(str(error).split())}")
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
    rows = [_mix_row("as it is: " + _mix_words(shares), len(labels), whole, whole)]
    for mix in _mixes(settings):
        subsets = [
            rebalance(labels, mix, seed=seed) for seed in range(int(settings.get("draws", REBALANCE_DRAWS)))
        ]
        means = {arm: np.array([_mean(each[rows_]) for rows_ in subsets]) for arm, each in scores.items()}
        rows.append(_mix_row(_mix_words(mix), len(subsets[0]), means, whole))
    return {"column": column, "mixes": rows}


def _mixes(settings: Mapping[str, Any]) -> list[Mapping[str, float]]:
    mixes = settings["mixes"]
    return list(mixes) if isinstance(mixes, list | tuple) else [mixes]


def _mix_words(mix: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {100 * share:.0f} %" for name, share in mix.items())


def _mean(scores: FloatArray) -> float:
    known = scores[np.isfinite(scores)]
    return float(known.mean()) if len(known) else float("nan")


def _mix_row(
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
    if len(a) != len(b):
        raise UsageError(f"there are {len(a)} values on one side and {len(b)} on the other")
    ranks = [pd.Series(values).rank().to_numpy(dtype=np.float64) for values in (a, b)]
    if len(a) < 2 or any(np.ptp(each) == 0 for each in ranks):
        return None
    return round(float(np.corrcoef(ranks[0], ranks[1])[0, 1]), 12)


def step_statistics(store: "Store", exam: "StudyExam", state: "StudyState") -> dict[str, Any]:
    """Return how the loops of each arm worked (paper B, Table 19) and the Brier score of their beliefs by step (Fig. 12).

    Counts are medians over the leaves that a loop grounded; leaves below a tree count too, but the scores by step need runs whose
    claim is the leaf, since only those have an outcome. ``submitted`` is the share of loops that ended by their own submission and
    not at a limit, ``gap`` the mean distance of what was submitted from the belief beside it (App. E: there should be none).
    """
    outcome = dict(zip(exam.events.event_id.tolist(), exam.events.outcome.tolist(), strict=True))
    arms: dict[str, list[LoopTrial]] = {}
    for cell, forecast in state.forecasts.items():
        if not forecast.run:
            continue
        run = load_state(store, forecast.run)
        scored = outcome.get(cell.event) if not run.tree.root.children else None
        for node, number in run.trials:
            for _, trace in loop_traces(store, run, node, number):
                # trials and seeds of one event are one leaf: their mean belief is scored
                trial = LoopTrial(run_id=cell.event, node=node, arm=cell.arm, trace=trace, outcome=scored)
                arms.setdefault(cell.arm, []).append(trial)
    return {arm: _step_scores(trials) for arm, trials in arms.items()}


def _step_scores(trials: list[LoopTrial]) -> dict[str, Any]:
    submissions = [trial.trace.submission for trial in trials if trial.trace.submission is not None]
    gaps = [submission.gap for submission in submissions if submission.gap is not None]
    curve = brier_by_step([trial for trial in trials if any(p is not None for p in trial.beliefs)], PLAIN)
    return {
        "leaves": len(trials),
        **medians(trials, dict.fromkeys(name for trial in trials for name in trial.trace.statistics)),
        "submitted": float(np.mean([not submission.forced for submission in submissions])),
        "gap": float(np.mean(gaps)) if gaps else None,
        # step 0 is the same 0.5 for all
        "brier_by_step": [] if curve is None else [step["brier"] for step in curve["steps"]][1:],
    }
