"""Scores of a study beside those of its arms: cost, other mixes of categories, curves over size and noise, roles, how its agents worked.

A subset is drawn without replacement, ``draws`` times; what is shown is the mean over the draws and the range that 95 percent of
them lie in (paper P, App. C.8). That range is of the drawing alone: how sure a score is stands in the table of scores.
"""

import json
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from workbench.audit.step_scores import LoopTrial, brier_by_step, loop_traces, medians
from workbench.engine.record.fold import load_state
from workbench.science.arrays import FloatArray
from workbench.science.comparing.mean_intervals import PLAIN
from workbench.science.errors import ScienceError
from workbench.science.pooling.ensembles import greedy_ensemble
from workbench.science.pooling.pool import pool
from workbench.science.scoring.breakdown import rebalance
from workbench.science.scoring.scores import index_of, metaculus_baseline
from workbench.studies.study_file import Rebalance, StudySpec
from workbench.synthesis import LinearRule

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
    """A row per arm that asked a model: its models, accuracy, scores, and dollars per 1,000 questions at the prices that were charged."""
    settings = _run_settings(manifest)
    rows = []
    for arm, scores in arms.items():
        own = settings.get(arm)
        if own is None or not scores["calls"]:
            continue
        own_rows = (frame["arm"] == arm) & ~frame["event_id"].isin(list(answered_with))
        questions = int(frame.loc[own_rows, "event_id"].nunique())
        plain, accuracy = _without_tree(own, settings, arms), accuracy_of(scores)
        rows.append(
            {
                "arm": arm,
                "models": ", ".join(_models(own)),
                "questions": questions,
                "accuracy": accuracy,
                "gain": accuracy / plain - 1.0 if plain else None,
                "nodes": scores.get("nodes"),
                "leaves": scores.get("leaves"),
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
            return accuracy_of(arms[name])
    return None


def _run_settings(manifest: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {name: each for name, each in manifest.get("arms", {}).items() if "grounder" in each}


def accuracy_of(scores: Mapping[str, Any]) -> float:
    """Return the accuracy by task where the exam has choices, else of single events."""
    return float((scores.get("tasks") or scores)["accuracy"])


def _options(settings: Mapping[str, Any]) -> Any:
    return settings.get("options", {}).get("grounder", {})


def exam_mix_problems(asked: Rebalance, exam: "StudyExam") -> list[str]:
    """What the exam lacks for a study's ``rebalance``, a line each."""
    if asked.column not in exam.events.frame.columns:
        return [f"rebalance: the exam has no column {asked.column!r}"]
    problems = []
    for mix in asked.mixes:
        try:
            rebalance(exam.events.text(asked.column), mix, seed=0)
        except ScienceError as error:
            problems.append(f"rebalance: {_mix_words(mix)}: {' '.join(str(error).split())}")
    return problems


def mix_scores(
    asked: Rebalance | None, exam: "StudyExam", pooled: Mapping[str, FloatArray]
) -> dict[str, Any]:
    """Brier scores of every arm by mix, the exam as it is first; empty where the study asks for none.

    ``order`` is the rank correlation of the arms' scores with those on the whole exam: 1 where the order stays.
    """
    if asked is None:
        return {}
    labels = exam.events.text(asked.column)
    scores = {arm: (p - exam.events.outcome) ** 2 for arm, p in pooled.items()}
    names, counts = np.unique(labels, return_counts=True)
    shares = {str(name): float(count) / len(labels) for name, count in zip(names, counts, strict=True)}
    whole = {arm: np.array([np.nanmean(each)]) for arm, each in scores.items()}
    rows = [_mix_row("as it is: " + _mix_words(shares), len(labels), whole, whole)]
    for mix in asked.mixes:
        subsets = [rebalance(labels, mix, seed=seed) for seed in range(asked.draws)]
        means = {arm: np.array([_mean(each[rows_]) for rows_ in subsets]) for arm, each in scores.items()}
        rows.append(_mix_row(_mix_words(mix), len(subsets[0]), means, whole))
    return {"column": asked.column, "mixes": rows}


def _mix_words(mix: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {100 * share:.0f}%" for name, share in mix.items())


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
    if len(a) < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return None
    return round(float(spearmanr(a, b).statistic), 12)


#: Settings in which arms of one curve over the size of trees differ.
_SIZE = ("depth", "leaf_target", "agent", "budget_usd")


def curve_points(
    spec: StudySpec, manifest: Mapping[str, Any], arms: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Accuracy over the ``nodes`` of trees and over the ``noise`` at their leaves, a curve for arms alike in all else (paper A, Fig. 5).

    Noise begins at 0, where the arm stands that is disturbed. A curve of one point is none.
    """
    curves: dict[str, dict[str, list[dict[str, Any]]]] = {"nodes": {}, "noise": {}}

    def add(axis: str, curve: str, arm: str, x: float) -> None:
        point = {
            "x": x,
            "arm": arm,
            "accuracy": accuracy_of(arms[arm]),
            "brier_index": arms[arm]["brier_index"],
        }
        curves[axis].setdefault(curve, []).append(point)

    names: dict[str, str] = {}
    for arm, own in _run_settings(manifest).items():
        if own["analyzer"] != "single" and arm in arms and arms[arm].get("nodes") is not None:
            alike = json.dumps(
                {key: value for key, value in own.items() if key not in _SIZE}, sort_keys=True, default=str
            )
            label = f"{own['grounder']}, {own['rule']}, {own['model']}"
            label = f"{label} ({arm})" if alike not in names and label in names.values() else label
            add("nodes", names.setdefault(alike, label), arm, arms[arm]["nodes"])
    for each in spec.arms:
        if each.name not in arms or "level" not in each.settings:
            continue
        of = each.settings.get("of")
        rest = {**({} if of else {"rule": "own"}), "noise": "normal", **each.settings}
        curve = ", ".join(f"{key} {value}" for key, value in rest.items() if key != "level")
        if of in arms and curve not in curves["noise"]:
            add("noise", curve, str(of), 0.0)
        add("noise", curve, each.name, float(each.settings["level"]))
    return {
        axis: {
            name: sorted(points, key=lambda point: float(point["x"]))
            for name, points in of_axis.items()
            if len({point["x"] for point in points}) > 1
        }
        for axis, of_axis in curves.items()
    }


def role_rows(manifest: Mapping[str, Any], arms: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Means over all arms with a tree in which a model has a role (paper A, Fig. 13); nothing of a role that one model has throughout."""
    trees = {
        arm: own
        for arm, own in _run_settings(manifest).items()
        if own["analyzer"] != "single" and arm in arms
    }
    rows = []
    for role in ("grounder", "analyzer", "synthesizer"):
        by_model: dict[str, list[Mapping[str, Any]]] = {}
        for arm, own in trees.items():
            by_model.setdefault(str(own["models"].get(role, own["model"])), []).append(arms[arm])
        for model, of_model in by_model.items() if len(by_model) > 1 else ():
            costs = [scores["cost_usd"] for scores in of_model]
            rows.append(
                {
                    "role": role,
                    "model": model,
                    "arms": len(of_model),
                    "accuracy": float(np.mean([accuracy_of(scores) for scores in of_model])),
                    "brier_index": float(np.mean([scores["brier_index"] for scores in of_model])),
                    "cost_usd": None if None in costs else float(np.mean(costs)),
                }
            )
    return rows


def ensemble_rows(
    manifest: Mapping[str, Any], pooled: Mapping[str, FloatArray], outcome: FloatArray
) -> list[dict[str, Any]]:
    """Scores of the ensemble of the arms of runs that grows by the best member each time (paper B, Fig. 13), in-sample.

    On the events that all of them answered; arms that may look up the answer are no members.
    """
    settings = _run_settings(manifest)
    members = {
        arm: p
        for arm, p in pooled.items()
        if arm in settings and not _options(settings[arm]).get("clairvoyant")
    }
    rows = np.isfinite(np.array(list(members.values()))).all(axis=0) if members else np.array([False])
    if len(members) < 2 or not rows.any():
        return []
    members, outcome = {arm: p[rows] for arm, p in members.items()}, outcome[rows]
    table: list[dict[str, Any]] = []
    chosen: list[FloatArray] = []
    for step in greedy_ensemble(members, outcome, how="logit-mean"):
        chosen.append(members[step.added])
        score = metaculus_baseline(pool(np.column_stack(chosen), "logit-mean"), outcome)
        table.append(
            {
                "members": len(chosen),
                "added": step.added,
                "brier_index": index_of(step.brier),
                "metaculus_baseline": score,
            }
        )
    return table


class TreeSize(NamedTuple):
    """Nodes and leaves of a run's tree, and how many leaves stayed such though deeper analysis was asked for."""

    nodes: int
    leaves: int
    kept: int


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What the finished runs of a study hold: size of the tree by run; by arm the weights of linear rules, and how loops worked."""

    sizes: dict[str, TreeSize] = field(default_factory=dict)
    weights: dict[str, list[float]] = field(default_factory=dict)
    steps: dict[str, Any] = field(default_factory=dict)


def run_facts(store: "Store", exam: "StudyExam", state: "StudyState") -> RunFacts:
    """Read the runs of a study, each once.

    Of loops (paper B, Table 19) counts are medians over the leaves that one grounded; leaves below a tree count too, but the scores by
    step (Fig. 12) need runs whose claim is the leaf, since only those have an outcome. ``submitted`` is the share of loops that ended by
    their own submission and not at a limit, ``gap`` the mean distance of what was submitted from the belief beside it (App. E: there
    should be none). ``tools`` are calls a forecast by source of the question (Fig. 6).
    """
    outcome = dict(zip(exam.events.event_id.tolist(), exam.events.outcome.tolist(), strict=True))
    source = dict(zip(exam.events.event_id.tolist(), exam.events.source.tolist(), strict=True))
    facts = RunFacts()
    arms: dict[str, list[LoopTrial]] = {}
    forecasts: Counter[tuple[str, str]] = Counter()
    calls: dict[tuple[str, str], Counter[str]] = {}
    for cell, forecast in state.forecasts.items():
        if not forecast.run:
            continue
        run = load_state(store, forecast.run)
        leaves = run.tree.leaves()
        facts.sizes[forecast.run] = TreeSize(len(run.tree), len(leaves), len(set(run.kept) & set(leaves)))
        for proposition in run.tree.propositions():
            if isinstance(proposition.rule, LinearRule):
                facts.weights.setdefault(cell.arm, []).extend(proposition.rule.weights.values())
        scored = outcome.get(cell.event) if not run.tree.root.children else None
        place = cell.arm, str(source.get(cell.event, ""))
        forecasts[place] += 1
        for node, number in run.trials:
            for _, trace in loop_traces(store, run, node, number):
                # trials and seeds of one event are one leaf: their mean belief is scored
                trial = LoopTrial(run_id=cell.event, node=node, arm=cell.arm, trace=trace, outcome=scored)
                arms.setdefault(cell.arm, []).append(trial)
                calls.setdefault(place, Counter()).update(
                    call.tool for step in trace.steps for call in step.calls
                )
    for arm, trials in arms.items():
        tools = {
            name: {tool: count / forecasts[arm, name] for tool, count in sorted(used.items())}
            for (other, name), used in sorted(calls.items())
            if other == arm
        }
        facts.steps[arm] = {**_step_scores(trials), "tools": tools}
    return facts


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
