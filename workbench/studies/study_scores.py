"""Tables of a study beside the scores of its arms: cost, other mixes of categories, size and noise, roles, agents' steps, distances, caution.

A subset is drawn without replacement, ``draws`` times; what is shown is the mean over the draws and the range that 95 percent of
them lie in (paper P, App. C.8). That range is of the drawing alone: how sure a score is stands in the table of scores.
"""

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.stats import spearmanr

from workbench.audit.step_scores import LoopTrial, brier_by_step, loop_traces, medians
from workbench.engine.record.fold import load_state
from workbench.science.arrays import FloatArray, IntArray, pair_matrix
from workbench.science.comparing.clusters import cluster_count, event_clusters
from workbench.science.comparing.mean_intervals import PLAIN, share_interval
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
        asked = frame.loc[frame["arm"] == arm, "event_id"]
        questions = len(set(asked) - set(answered_with))
        plain, accuracy = _without_tree(own, settings, arms), accuracy_of(scores)
        rows.append(
            {
                "arm": arm,
                "models": ", ".join(_models(own)),
                "questions": questions,
                "accuracy": accuracy,
                "gain": accuracy / plain - 1.0 if plain else None,
                **{name: scores.get(name) for name in ("nodes", "leaves", "soft", "hard", "brier")},
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

    def asked(settings: Mapping[str, Any]) -> list[Any]:
        return [*(settings[key] for key in ("model", "models", "grounder", "trials")), _options(settings)]

    plain = [
        accuracy_of(arms[name])
        for name, other in settings.items()
        if name in arms and other["analyzer"] == "single" and asked(other) == asked(own)
    ]
    return plain[0] if plain else None


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
    scores = pd.DataFrame({arm: (p - exam.events.outcome) ** 2 for arm, p in pooled.items()})

    def mix(name: str, subsets: Sequence[IntArray]) -> dict[str, Any]:
        # One value of each arm per subset: the mean over the events that it answered.
        means = pd.DataFrame([scores.iloc[rows].mean() for rows in subsets]).dropna(axis=1, how="all")
        ends = means.quantile([0.025, 0.975]).rename({0.025: "low", 0.975: "high"})
        table = pd.concat([means.mean().rename("brier").to_frame().T, ends])
        order = rank_correlation(table.loc["brier"], scores[means.columns].mean())
        return {"mix": name, "events": len(subsets[0]), "arms": table.to_dict(), "order": order}

    names, counts = np.unique(labels, return_counts=True)
    shares = dict(zip(names.tolist(), (counts / len(labels)).tolist(), strict=True))
    rows = [mix("as it is: " + _mix_words(shares), [np.arange(len(labels))])]
    for each in asked.mixes:
        rows.append(
            mix(_mix_words(each), [rebalance(labels, each, seed=seed) for seed in range(asked.draws)])
        )
    return {"column": asked.column, "mixes": rows}


def _mix_words(mix: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {100 * share:.0f}%" for name, share in mix.items())


def rank_correlation(a: ArrayLike, b: ArrayLike) -> float | None:
    """Spearman's rank correlation, ties at their mean rank; None where either does not vary.

    >>> rank_correlation([1.0, 2.0, 4.0], [0.1, 0.3, 0.2])
    0.5
    """
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    return None if np.ptp(x) == 0 or np.ptp(y) == 0 else round(float(spearmanr(x, y).statistic), 12)


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
        for model, scores in by_model.items() if len(by_model) > 1 else ():
            costs = [each["cost_usd"] for each in scores]
            rows.append(
                {
                    "role": role,
                    "model": model,
                    "arms": len(scores),
                    "accuracy": fmean(map(accuracy_of, scores)),
                    "brier_index": fmean(each["brier_index"] for each in scores),
                    "cost_usd": None if None in costs else fmean(costs),
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
    rows = np.isfinite([*members.values()]).all(axis=0)
    if len(members) < 2 or not rows.any():
        return []
    members, outcome = {arm: p[rows] for arm, p in members.items()}, outcome[rows]
    steps = greedy_ensemble(members, outcome, how="logit-mean")
    grown = np.column_stack([members[step.added] for step in steps])
    return [
        {
            "members": size,
            "added": step.added,
            "brier_index": index_of(step.brier),
            "metaculus_baseline": metaculus_baseline(pool(grown[:, :size], "logit-mean"), outcome),
        }
        for size, step in enumerate(steps, 1)
    ]


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
    events = exam.events.event_id.tolist()
    outcome = dict(zip(events, exam.events.outcome.tolist(), strict=True))
    source = dict(zip(events, exam.events.source.tolist(), strict=True))
    facts = RunFacts()
    arms: dict[str, list[LoopTrial]] = {}
    forecasts: Counter[tuple[str, str]] = Counter()
    calls: Counter[tuple[str, str, str]] = Counter()
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
        place = str(source.get(cell.event, ""))
        forecasts[cell.arm, place] += 1
        for node, number in run.trials:
            for _, trace in loop_traces(store, run, node, number):
                # trials and seeds of one event are one leaf: their mean belief is scored
                trial = LoopTrial(run_id=cell.event, node=node, arm=cell.arm, trace=trace, outcome=scored)
                arms.setdefault(cell.arm, []).append(trial)
                calls.update((cell.arm, place, call.tool) for step in trace.steps for call in step.calls)
    for arm, trials in arms.items():
        tools: dict[str, dict[str, float]] = {place: {} for other, place in sorted(forecasts) if other == arm}
        for (other, place, tool), count in sorted(calls.items()):
            if other == arm:
                tools[place][tool] = count / forecasts[arm, place]
        facts.steps[arm] = {**_step_scores(trials), "tools": tools}
    return facts


def _step_scores(trials: list[LoopTrial]) -> dict[str, Any]:
    submissions = [submission for trial in trials if (submission := trial.trace.submission) is not None]
    gaps = [submission.gap for submission in submissions if submission.gap is not None]
    curve = brier_by_step([trial for trial in trials if any(p is not None for p in trial.beliefs)], PLAIN)
    return {
        "leaves": len(trials),
        **medians(trials, dict.fromkeys(name for trial in trials for name in trial.trace.statistics)),
        "submitted": fmean(not submission.forced for submission in submissions),
        "gap": fmean(gaps) if gaps else None,
        # step 0 is the same 0.5 for all
        "brier_by_step": [] if curve is None else [step["brier"] for step in curve["steps"]][1:],
    }


#: Events below which a slope says nothing, and a spread of prices below which it would be rounding.
_FEW, _SPREAD = 10, 1e-6


def caution_rows(exam: "StudyExam", pooled: Mapping[str, FloatArray]) -> list[dict[str, Any]]:
    """A row per arm that forecasts priced events: the slope of forecast on price, and the share nearer to 0.5 than the price.

    A slope below 1 and a share above 0.5 mean more cautious than the market. Events on which both are as far from 0.5 decide
    nothing and are left out of the share; its interval is over clusters. An arm that is the price itself has no row.
    """
    if "crowd" not in exam.events.frame.columns:
        return []
    price, clusters = exam.events.probability("crowd"), event_clusters(exam.events)
    rows = []
    for arm, p in pooled.items():
        known = np.isfinite(p) & np.isfinite(price)
        q, said = price[known], p[known]
        if known.sum() < _FEW or np.ptp(q) < _SPREAD or np.allclose(q, said):
            continue
        nearer = np.abs(said - 0.5) - np.abs(q - 0.5)
        decided = np.abs(nearer) > 1e-12
        nearer_half = (nearer < 0)[decided]
        ends = share_interval(nearer_half, clusters[known][decided]) if decided.any() else None
        low, high = ends or (None, None)
        rows.append(
            {
                "arm": arm,
                "n": int(known.sum()),
                "slope": float(np.polyfit(q, said, 1)[0]),
                "clusters": cluster_count(clusters[known]),
                "cautious": float(nearer_half.mean()) if decided.any() else None,
                "cautious_low": low,
                "cautious_high": high,
            }
        )
    return rows


def distance_matrix(pooled: Mapping[str, FloatArray]) -> FloatArray:
    """Root mean squared difference of the forecasts of each pair of arms, on the events both answered (paper P, Fig. 5: L2).

    ``nan`` for a pair without a common event.

    >>> distance_matrix({"a": np.array([0.2, 0.4]), "b": np.array([0.5, 0.8])}).round(4).tolist()
    [[0.0, 0.3536], [0.3536, 0.0]]
    """
    return pair_matrix(pooled, lambda a, b, _: float(np.sqrt(((a - b) ** 2).mean())))[1]
