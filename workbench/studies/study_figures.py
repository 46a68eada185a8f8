"""The plots of a study's report, as PNG bytes by name; drawn by the science room's own plots."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from workbench.science.arrays import FloatArray, IntArray
from workbench.science.comparing.clusters import event_clusters
from workbench.science.comparing.mean_intervals import Bounds, loss_interval
from workbench.science.plots import (
    Curve,
    bars_plot,
    blank_figure,
    boxes_plot,
    curves_plot,
    figure_bytes,
    frontier_plot,
    heatmap_plot,
    reliability_plot,
)
from workbench.science.pooling.pool import subset_pools
from workbench.science.scoring.breakdown import lead_time_curve
from workbench.science.scoring.scores import index_of, metaculus_scores
from workbench.science.table_cells import StrArray
from workbench.studies.study_exam import StudyExam
from workbench.studies.study_scores import accuracy_of
from workbench.studies.study_table import pooled_arms, trials_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_EDGES = (0.0, 8.0, 31.0, 91.0, 366.0)  # days
_MOST = 6  # arms in a plot of points
_LISTED = 3  # arms in a plot of a point for each question
_DRAWS = 400
#: What stands on the axis of a cost figure, a question.
_TAKEN = {"cost_usd": "US dollars", "seconds": "seconds", "calls": "model calls"}
_GIVEN = "probability given to what came"

#: Name and caption of a figure, what it is drawn from (nothing where that is empty), and the plot that takes it.
Drawing = tuple[str, str, Any, Callable[[Any], "Figure"]]


def study_figures(
    results: Mapping[str, Any], exam: StudyExam, frame: pd.DataFrame, weights: Mapping[str, list[float]]
) -> dict[str, tuple[str, bytes]]:
    """Draw what the study has data for: caption and PNG by name."""
    arms = results["arms"]
    trials = {arm: matrix for arm, matrix in trials_of(frame, exam).items() if arm in arms}
    forecasts = _Forecasts(exam, trials, pooled_arms(trials))
    manifest_id = results.get("manifest_id", "")
    source = f"manifest {manifest_id}" if manifest_id else ""
    return {
        name: (caption, figure_bytes(plot(data), source=source))
        for name, caption, data, plot in _drawings(results, forecasts, weights)
        if data
    }


def _drawings(
    results: Mapping[str, Any], forecasts: "_Forecasts", weights: Mapping[str, list[float]]
) -> Iterator[Drawing]:
    arms = results["arms"]
    accuracy = partial(curves_plot, y="accuracy, %")
    yield "scores", "Brier Index of every arm with its 95% interval; questions are resampled.", _scores(arms), bars_plot  # fmt: skip
    yield (
        "differences",
        "Brier Index points above the reference, arm by arm in the order of the file: a build-up or an ablation (paper B, Fig. 3).",
        {row["arm"]: (row["difference"], row["low"], row["high"]) for row in results["differences"]},
        partial(bars_plot, label=f"Brier Index points above {results['reference']}", baseline=0.0),
    )
    for name, words, cost, score in (
        ("frontier", "Cost and Brier Index", "cost_usd", "Brier Index"),
        ("frontier-accuracy", "Cost and accuracy (paper A, Figs. 6 and 12)", "cost_usd", "accuracy, %"),
        ("frontier-time", "Time and accuracy (paper A, Fig. 6)", "seconds", "accuracy, %"),
    ):
        caption = f"{words}; the line joins arms that no other beats in both."
        taken, points = _frontier(arms, cost, score)
        yield name, caption, points, partial(frontier_plot, cost=f"{_TAKEN[taken]} per question", score=score)
    yield (
        "nodes",
        "Accuracy over the size of trees, a line for arms that differ in nothing else (paper A, Fig. 5).",
        _accuracies(results["curves"]["nodes"]),
        partial(accuracy, x="nodes of a tree, mean", title="Size of trees"),
    )
    yield (
        "noise",
        "Accuracy over noise at the leaves, by rule and kind of noise (paper A, Fig. 5).",
        _accuracies(results["curves"]["noise"]),
        partial(accuracy, x="noise at the leaves", title="Noise"),
    )
    yield (
        "spread",
        "Runs about the mean of their question, which stands where the arm does on average: 1 is what came; a narrow box is a stable arm (paper A, Fig. 2).",
        forecasts.spread(),
        partial(boxes_plot, label=_GIVEN),
    )
    yield (
        "correctness",
        "Probability that was given to what came, by category, mean over arms (paper A, Fig. 14).",
        forecasts.correctness(results["by_category"]),
        partial(boxes_plot, label=_GIVEN),
    )
    rows = results["ensemble"]
    scores = {"Brier Index": "brier_index", "Metaculus baseline": "metaculus_baseline"} if rows else {}
    yield (
        "ensemble",
        "Scores of ensembles that grow by the best member each time, in-sample (paper B, Fig. 13).",
        {
            name: ([row["members"] for row in rows], [row[key] for row in rows])
            for name, key in scores.items()
        },
        partial(curves_plot, x="members", y="points", title="Ensembles"),
    )
    by_question = partial(curves_plot, x="question, best first", y="Metaculus baseline score", baseline=0.0)
    yield (
        "questions",
        "Score of each question, best first: mean over trials with its 95% interval (paper B, Fig. 15).",
        forecasts.questions(everything=True),
        partial(by_question, title="Questions"),
    )
    yield (
        "questions-below-chance",
        "The same, of questions at or below chance (paper B, Fig. 15).",
        forecasts.questions(everything=False),
        partial(by_question, title="Questions at or below chance"),
    )
    yield (
        "reliability",
        "What came true of what was said, in ten classes; bars are 95% intervals over clusters, none where a class has too few.",
        forecasts.reliability(),
        reliability_plot,
    )
    yield (
        "conservatism",
        "Each arm against the market (green: came true): a slope below 1 is more cautious than the price.",
        results["caution"][:_MOST],
        forecasts.market_plot,
    )
    yield (
        "lead-time",
        "Brier score by days left until resolution.",
        forecasts.lead_time(),
        partial(curves_plot, x="days until resolution, at least", y="Brier score", title="Lead time"),
    )
    for name, key, caption, digits in (
        ("divergence", "bits", "Jensen-Shannon divergence between arms, in bits.", 3),
        ("distance", "rms", "Root mean squared distance between arms (paper P, section 4).", 3),
        ("consensus", "share", "Share of events on which two arms make the same call.", 2),
    ):
        names, table = results[name]["arms"], np.array(results[name][key], dtype=float)
        known = names if len(names) > 1 and np.isfinite(table).any() else []
        yield name, caption, known, partial(heatmap_plot, matrix=table, title=name, digits=digits)
    yield (
        "trials",
        "Brier Index against the number of trials pooled (paper B, Fig. 9).",
        forecasts.growing(),
        partial(curves_plot, x="trials pooled", y="Brier Index", title="Trials"),
    )
    steps = [(arm, row["brier_by_step"]) for arm, row in results.get("steps", {}).items()]
    yield (
        "steps",
        "Brier score of the belief after each step of the agent (paper B, Fig. 12).",
        dict([(arm, _from_one(each)) for arm, each in steps if len(each) > 1][:_MOST]),
        partial(curves_plot, x="step", y="Brier score of the belief", title="Steps"),
    )
    yield (
        "weights",
        "Weights of the linear rules in the arm's trees (paper A, Fig. 17).",
        {f"{arm} (n {len(values)})": values for arm, values in weights.items() if values},
        partial(boxes_plot, label="weight of a child"),
    )


def _scores(arms: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    several = len({row["events"] for row in arms.values()}) > 1
    return {
        f"{arm} (n {row['events']})" if several else arm: tuple(
            row[f"brier_index{end}"] for end in ("", "_low", "_high")
        )
        for arm, row in arms.items()
    }


def _frontier(
    arms: Mapping[str, Any], cost: str, score: str
) -> tuple[str, dict[str, list[tuple[float, float]]]]:
    """A score by what a question took, and what that is; without a bill the calls are what an arm takes."""
    known = {arm: row for arm, row in arms.items() if row[cost] is not None and row["events"]}
    if cost == "cost_usd" and len({row[cost] for row in known.values()}) < 2:
        cost, known = "calls", dict(arms)
    if len({row[cost] for row in known.values()}) < 2 or not any(row["calls"] for row in known.values()):
        return cost, {}
    return cost, {
        arm: [
            (
                row[cost] / row["questions"],
                row["brier_index"] if score == "Brier Index" else 100 * accuracy_of(row),
            )
        ]
        for arm, row in known.items()
    }


def _accuracies(curves: Mapping[str, Any]) -> dict[str, Curve]:
    return {
        name: ([point["x"] for point in points], [100 * point["accuracy"] for point in points])
        for name, points in curves.items()
    }


def _from_one(values: list[float]) -> Curve:
    return range(1, len(values) + 1), values


def _class_interval(clusters: StrArray, scores: FloatArray, rows: IntArray) -> Bounds:
    return loss_interval(scores, clusters[rows])


@dataclass(frozen=True, slots=True)
class _Forecasts:
    """What the arms said of an exam: all their trials, and those pooled."""

    exam: StudyExam
    trials: Mapping[str, FloatArray]
    pooled: Mapping[str, FloatArray]

    @property
    def _first(self) -> list[tuple[str, FloatArray]]:
        return list(self.pooled.items())[:_MOST]

    def _given_to_truth(self, p: FloatArray) -> FloatArray:
        outcome = self.exam.events.outcome
        return np.where((outcome if p.ndim == 1 else outcome[:, None]) == 1.0, p, 1.0 - p)

    def spread(self) -> dict[str, FloatArray]:
        boxes = {}
        for arm, matrix in self.trials.items():
            truth = self._given_to_truth(matrix)
            truth = truth[np.isfinite(truth).all(axis=1)]
            if truth.shape[0] and truth.shape[1] > 1:
                boxes[arm] = (truth - truth.mean(axis=1, keepdims=True) + truth.mean()).ravel()
        return boxes

    def correctness(self, table: Mapping[str, Any]) -> dict[str, FloatArray]:
        if not table:
            return {}
        labels = self.exam.events.text(table["column"])
        truth = np.array([self._given_to_truth(p) for p in self.pooled.values()])
        known = np.isfinite(truth).any(axis=0)
        mean, labels = np.nanmean(truth[:, known], axis=0), labels[known]
        boxes = {f"{name} (n {(labels == name).sum()})": mean[labels == name] for name in np.unique(labels)}
        return boxes if len(boxes) > 1 else {}

    def questions(self, *, everything: bool) -> dict[str, Curve]:
        curves: dict[str, Curve] = {}
        for arm, matrix in self.trials.items():
            runs = matrix.shape[1]
            rows = np.isfinite(matrix).all(axis=1)
            outcomes = np.repeat(self.exam.events.outcome[rows], runs)
            if runs < 2 or not len(outcomes) or len(curves) == _LISTED:
                continue
            scores = metaculus_scores(matrix[rows].ravel(), outcomes).reshape(-1, runs)
            scores = scores[np.argsort(-scores.mean(axis=1), kind="stable")]
            scores = scores[everything | (scores.mean(axis=1) <= 0)]
            if len(scores):
                draws = np.random.default_rng(15).integers(0, runs, (_DRAWS, runs))
                low, high = np.quantile(scores[:, draws].mean(axis=2), [0.025, 0.975], axis=1)
                curves[arm] = (np.arange(1, len(scores) + 1), scores.mean(axis=1), low, high)
        return curves

    def reliability(self) -> dict[str, tuple[Any, ...]]:
        clusters = event_clusters(self.exam.events)
        return {
            arm: (p[rows], self.exam.events.outcome[rows], clusters[rows])
            for arm, p in self._first
            if (rows := np.isfinite(p)).sum() >= 20
        }

    def market_plot(self, rows: list[Mapping[str, Any]]) -> "Figure":
        """A panel per arm of the table of caution; the line through its points beside the diagonal."""
        price, outcomes = self.exam.events.probability("crowd"), self.exam.events.outcome
        wide = min(3, len(rows))
        high = -(-len(rows) // wide)
        figure = blank_figure(3.1 * wide, 3.1 * high)
        panels = figure.subplots(high, wide, squeeze=False, sharex=True, sharey=True).ravel()
        for axes, row in zip(panels, rows, strict=False):
            axes.plot([0, 1], [0, 1], color="0.6", linewidth=1, linestyle="--")
            for outcome, colour in ((1.0, "tab:green"), (0.0, "tab:red")):
                of = outcomes == outcome
                axes.scatter(price[of], self.pooled[row["arm"]][of], s=10, alpha=0.6, color=colour)
            axes.set(xlim=(0, 1), ylim=(0, 1))
            axes.set_title(f"{row['arm']}, slope {row['slope']:.2f}", fontsize=8)
        for axes in panels[len(rows) :]:
            axes.set_axis_off()
        figure.supxlabel("market price")
        figure.supylabel("forecast")
        return figure

    def lead_time(self) -> dict[str, Curve]:
        events = self.exam.events
        if "horizon_days" not in events.frame.columns:
            return {}
        days, clusters = events.number("horizon_days"), event_clusters(events)
        if len(set(np.searchsorted(_EDGES, days[np.isfinite(days)], side="right"))) < 2:
            return {}
        lines: dict[str, Curve] = {}
        for arm, p in self._first:
            rows = np.isfinite(p) & (days >= 0)
            curve = lead_time_curve(
                p[rows],
                events.outcome[rows],
                days[rows],
                _EDGES,
                events.question[rows],
                interval=partial(_class_interval, clusters[rows]),
            )
            # A class of too few clusters has its point and no bar.
            ends = [each or [value, value] for each, value in zip(curve.intervals, curve.brier, strict=True)]
            lines[arm] = (curve.low, curve.brier, *np.array(ends).T)
        return lines

    def growing(self) -> dict[str, Curve]:
        """The Brier Index of every number of trials pooled."""
        curves = {}
        for arm, matrix in list(self.trials.items())[:_MOST]:
            whole, runs = np.isfinite(matrix).all(axis=1), matrix.shape[1]
            if 1 < runs <= 10 and whole.any():
                o = self.exam.events.outcome[whole][:, None]
                pools = (subset_pools(matrix[whole], size, "logit-mean") for size in range(1, runs + 1))
                curves[arm] = _from_one([index_of(float(((p - o) ** 2).mean())) for p in pools])
        return curves
