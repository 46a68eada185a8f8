"""The plots of a study's report, as PNG bytes by name; drawn by the science room's own plots."""

from collections.abc import Callable, Mapping, Sequence
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
    boxes_plot,
    curves_plot,
    figure_bytes,
    frontier_plot,
    heatmap_plot,
    load_matplotlib,
    reliability_plot,
    words_as_they_stand,
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


def study_figures(
    results: Mapping[str, Any], exam: StudyExam, frame: pd.DataFrame, weights: Mapping[str, list[float]]
) -> dict[str, tuple[str, bytes]]:
    """Draw what the study has data for."""
    arms = results["arms"]
    trials = {arm: matrix for arm, matrix in trials_of(frame, exam).items() if arm in arms}
    pooled = pooled_arms(trials)
    drawings: list[tuple[str, str, Callable[[], Figure | None]]] = [
        (
            "scores",
            "Brier Index of every arm with its 95% interval; questions are resampled.",
            lambda: _scores(arms),
        ),
        (
            "differences",
            "Brier Index points above the reference, arm by arm in the order of the file: a build-up or an ablation (paper B, Fig. 3).",
            lambda: _differences(results["differences"], results["reference"]),
        ),
        *(
            (
                name,
                f"{words}; the line joins arms that no other beats in both.",
                partial(_frontier, arms, cost, score),
            )
            for name, words, cost, score in (
                ("frontier", "Cost and Brier Index", "cost_usd", "Brier Index"),
                ("frontier-accuracy", "Cost and accuracy (paper A, Figs. 6 and 12)", "cost_usd", "accuracy"),
                ("frontier-time", "Time and accuracy (paper A, Fig. 6)", "seconds", "accuracy"),
            )
        ),
        (
            "nodes",
            "Accuracy over the size of trees, a line for arms that differ in nothing else (paper A, Fig. 5).",
            lambda: _curves(results["curves"]["nodes"], "nodes of a tree, mean", "Size of trees"),
        ),
        (
            "noise",
            "Accuracy over noise at the leaves, by rule and kind of noise (paper A, Fig. 5).",
            lambda: _curves(results["curves"]["noise"], "noise at the leaves", "Noise"),
        ),
        (
            "spread",
            "Runs about the mean of their question, which stands where the arm does on average: 1 is what came; a narrow box is a stable arm (paper A, Fig. 2).",
            lambda: _spread(trials, exam),
        ),
        (
            "correctness",
            "Probability that was given to what came, by category, mean over arms (paper A, Fig. 14).",
            lambda: _correctness(pooled, results["by_category"], exam),
        ),
        (
            "ensemble",
            "Scores of ensembles that grow by the best member each time, in-sample (paper B, Fig. 13).",
            lambda: _ensemble(results["ensemble"]),
        ),
        (
            "questions",
            "Score of each question, best first: mean over trials with its 95% interval (paper B, Fig. 15).",
            lambda: _questions(trials, exam, everything=True),
        ),
        (
            "questions-below-chance",
            "The same, of questions at or below chance (paper B, Fig. 15).",
            lambda: _questions(trials, exam, everything=False),
        ),
        (
            "reliability",
            "What came true of what was said, in ten classes; bars are 95% intervals over clusters, none where a class has too few.",
            lambda: _reliability(pooled, exam),
        ),
        (
            "conservatism",
            "Each arm against the market (green: came true): a slope below 1 is more cautious than the price.",
            lambda: _market(pooled, results["caution"], exam),
        ),
        ("lead-time", "Brier score by days left until resolution.", lambda: _lead_time(pooled, exam)),
        (
            "divergence",
            "Jensen-Shannon divergence between arms, in bits.",
            lambda: _heat(results["divergence"], "bits", "divergence", 3),
        ),
        (
            "distance",
            "Root mean squared distance between arms (paper P, section 4).",
            lambda: _heat(results["distance"], "rms", "distance", 3),
        ),
        (
            "consensus",
            "Share of events on which two arms make the same call.",
            lambda: _heat(results["consensus"], "share", "consensus", 2),
        ),
        (
            "trials",
            "Brier Index against the number of trials pooled (paper B, Fig. 9).",
            lambda: _trials(trials, exam),
        ),
        (
            "steps",
            "Brier score of the belief after each step of the agent (paper B, Fig. 12).",
            lambda: _steps(results.get("steps", {})),
        ),
        (
            "weights",
            "Weights of the linear rules in the arm's trees (paper A, Fig. 17).",
            lambda: _weights(weights),
        ),
    ]
    figures, manifest_id = {}, results.get("manifest_id", "")
    with words_as_they_stand():
        for name, caption, draw in drawings:
            figure = draw()
            if figure is not None:
                figures[name] = (
                    caption,
                    figure_bytes(figure, source=f"manifest {manifest_id}" if manifest_id else ""),
                )
    return figures


def _scores(arms: Mapping[str, Any]) -> "Figure":
    sizes = {row["events"] for row in arms.values()}
    bars = {}
    for arm, row in arms.items():
        label = f"{arm} (n {row['events']})" if len(sizes) > 1 else arm
        bars[label] = (row["brier_index"], row["brier_index_low"], row["brier_index_high"])
    return bars_plot(bars)


#: What stands on the axis of a cost figure, a question.
_TAKEN = {"cost_usd": "US dollars", "seconds": "seconds", "calls": "model calls"}


def _frontier(arms: Mapping[str, Any], cost: str, score: str) -> "Figure | None":
    """Draw a score against what a question took; without a bill the calls are what an arm takes."""
    known = {arm: row for arm, row in arms.items() if row[cost] is not None and row["events"]}
    if cost == "cost_usd" and len({row[cost] for row in known.values()}) < 2:
        cost, known = "calls", dict(arms)
    if len({row[cost] for row in known.values()}) < 2 or not any(row["calls"] for row in known.values()):
        return None
    points = {
        arm: [
            (
                row[cost] / row["questions"],
                row["brier_index"] if score == "Brier Index" else 100 * accuracy_of(row),
            )
        ]
        for arm, row in known.items()
    }
    return frontier_plot(
        points, cost=f"{_TAKEN[cost]} per question", score=score if score == "Brier Index" else f"{score}, %"
    )


def _curves(curves: Mapping[str, Sequence[Mapping[str, Any]]], x: str, title: str) -> "Figure | None":
    lines = {
        name: ([point["x"] for point in points], [100 * point["accuracy"] for point in points])
        for name, points in curves.items()
    }
    return curves_plot(lines, x=x, y="accuracy, %", title=title) if lines else None


def _given_to_truth(p: FloatArray, exam: StudyExam) -> FloatArray:
    outcome = exam.events.outcome if p.ndim == 1 else exam.events.outcome[:, None]
    return np.where(outcome == 1.0, p, 1.0 - p)


def _spread(trials: Mapping[str, FloatArray], exam: StudyExam) -> "Figure | None":
    boxes = {}
    for arm, matrix in trials.items():
        truth = _given_to_truth(matrix, exam)
        truth = truth[np.isfinite(truth).all(axis=1)]
        if truth.shape[0] and truth.shape[1] > 1:
            boxes[arm] = (truth - truth.mean(axis=1, keepdims=True) + truth.mean()).ravel()
    return boxes_plot(boxes, label="probability given to what came") if boxes else None


def _correctness(
    pooled: Mapping[str, FloatArray], table: Mapping[str, Any], exam: StudyExam
) -> "Figure | None":
    if not table:
        return None
    labels = exam.events.text(table["column"])
    truth = np.array([_given_to_truth(p, exam) for p in pooled.values()])
    known = np.isfinite(truth).any(axis=0)
    mean = np.nanmean(truth[:, known], axis=0)
    boxes = {
        f"{name} (n {(labels[known] == name).sum()})": mean[labels[known] == name]
        for name in np.unique(labels[known])
    }
    return boxes_plot(boxes, label="probability given to what came") if len(boxes) > 1 else None


def _ensemble(rows: Sequence[Mapping[str, Any]]) -> "Figure | None":
    if not rows:
        return None
    size = [row["members"] for row in rows]
    lines = {
        name: (size, [row[key] for row in rows])
        for name, key in (("Brier Index", "brier_index"), ("Metaculus baseline", "metaculus_baseline"))
    }
    return curves_plot(lines, x="members", y="points", title="Ensembles")


def _questions(trials: Mapping[str, FloatArray], exam: StudyExam, *, everything: bool) -> "Figure | None":
    curves: dict[str, Curve] = {}
    for arm, matrix in trials.items():
        rows = np.flatnonzero(np.isfinite(matrix).all(axis=1))
        if matrix.shape[1] < 2 or not len(rows):
            continue
        runs = matrix.shape[1]
        scores = metaculus_scores(matrix[rows].ravel(), np.repeat(exam.events.outcome[rows], runs)).reshape(
            -1, runs
        )
        scores = scores[np.argsort(-scores.mean(axis=1), kind="stable")]
        if not everything:
            scores = scores[scores.mean(axis=1) <= 0]
        draws = np.random.default_rng(15).integers(0, runs, (_DRAWS, runs))
        low, high = (
            np.quantile(scores[:, draws].mean(axis=2), [0.025, 0.975], axis=1) if len(scores) else ([], [])
        )
        if len(scores):
            curves[arm] = (np.arange(1, len(scores) + 1), scores.mean(axis=1), low, high)
    few = dict(list(curves.items())[:_LISTED])
    title = "Questions" if everything else "Questions at or below chance"
    return (
        curves_plot(few, x="question, best first", y="Metaculus baseline score", title=title, baseline=0.0)
        if few
        else None
    )


def _reliability(pooled: Mapping[str, FloatArray], exam: StudyExam) -> "Figure | None":
    if len(exam) < 20:
        return None
    curves, clusters = {}, event_clusters(exam.events)
    for arm, p in list(pooled.items())[:_MOST]:
        rows = np.isfinite(p)
        if rows.sum() >= 20:
            curves[arm] = (p[rows], exam.events.outcome[rows], clusters[rows])
    return reliability_plot(curves) if curves else None


def _market(
    pooled: Mapping[str, FloatArray], rows: Sequence[Mapping[str, Any]], exam: StudyExam
) -> "Figure | None":
    """A panel per arm that the table of caution has; the line through its points beside the diagonal."""
    load_matplotlib()
    from matplotlib.figure import Figure

    shown = rows[:_MOST]
    if not shown:
        return None
    price = exam.events.probability("crowd")
    wide = min(3, len(shown))
    high = -(-len(shown) // wide)
    figure = Figure(figsize=(3.1 * wide, 3.1 * high), layout="constrained")
    panels = figure.subplots(high, wide, squeeze=False, sharex=True, sharey=True).ravel()
    for axes, row in zip(panels, shown, strict=False):
        p = pooled[row["arm"]]
        axes.plot([0, 1], [0, 1], color="0.6", linewidth=1, linestyle="--")
        for outcome, colour in ((1.0, "tab:green"), (0.0, "tab:red")):
            of = np.isfinite(p) & np.isfinite(price) & (exam.events.outcome == outcome)
            axes.scatter(price[of], p[of], s=10, alpha=0.6, color=colour)
        axes.set(xlim=(0, 1), ylim=(0, 1))
        axes.set_title(f"{row['arm']}, slope {row['slope']:.2f}", fontsize=8)
    for axes in panels[len(shown) :]:
        axes.set_axis_off()
    figure.supxlabel("market price")
    figure.supylabel("forecast")
    return figure


def _differences(rows: Sequence[Mapping[str, Any]], reference: str) -> "Figure | None":
    if not rows:
        return None
    bars = {row["arm"]: (row["difference"], row["low"], row["high"]) for row in rows}
    return bars_plot(bars, label=f"Brier Index points above {reference}", baseline=0.0)


def _steps(table: Mapping[str, Any]) -> "Figure | None":
    curves = {arm: row["brier_by_step"] for arm, row in table.items() if len(row["brier_by_step"]) > 1}
    lines = {arm: (range(1, len(scores) + 1), scores) for arm, scores in list(curves.items())[:_MOST]}
    return curves_plot(lines, x="step", y="Brier score of the belief", title="Steps") if lines else None


def _lead_time(pooled: Mapping[str, FloatArray], exam: StudyExam) -> "Figure | None":
    if "horizon_days" not in exam.events.frame.columns:
        return None
    days = exam.events.number("horizon_days")
    if (
        not np.isfinite(days).any()
        or len(np.unique(np.searchsorted(_EDGES, days[np.isfinite(days)], side="right"))) < 2
    ):
        return None
    clusters = event_clusters(exam.events)
    lines: dict[str, Curve] = {}
    for arm, p in list(pooled.items())[:_MOST]:
        rows = np.isfinite(p) & np.isfinite(days) & (days >= 0)
        curve = lead_time_curve(
            p[rows],
            exam.events.outcome[rows],
            days[rows],
            _EDGES,
            exam.events.question[rows],
            interval=partial(_class_interval, clusters[rows]),
        )
        # A class of too few clusters has its point and no bar.
        ends = [each or [value, value] for each, value in zip(curve.intervals, curve.brier, strict=True)]
        lines[arm] = (curve.low, curve.brier, *np.array(ends).T)
    return curves_plot(lines, x="days until resolution, at least", y="Brier score", title="Lead time")


def _class_interval(clusters: StrArray, scores: FloatArray, rows: IntArray) -> Bounds:
    return loss_interval(scores, clusters[rows])


def _heat(table: Mapping[str, Any], key: str, title: str, digits: int) -> "Figure | None":
    values = np.array([[np.nan if each is None else each for each in row] for row in table[key]], dtype=float)
    if len(table["arms"]) < 2 or not np.isfinite(values).any():
        return None
    return heatmap_plot(table["arms"], values, title=title, digits=digits)


def _trials(trials: Mapping[str, FloatArray], exam: StudyExam) -> "Figure | None":
    curves = {}
    for arm, matrix in list(trials.items())[:_MOST]:
        whole = np.isfinite(matrix).all(axis=1)
        if not 1 < matrix.shape[1] <= 10 or not whole.any():
            continue
        o = exam.events.outcome[whole][:, None]
        curves[arm] = [
            index_of(float(((subset_pools(matrix[whole], size, "logit-mean") - o) ** 2).mean()))
            for size in range(1, matrix.shape[1] + 1)
        ]
    lines = {arm: (range(1, len(values) + 1), values) for arm, values in curves.items()}
    return curves_plot(lines, x="trials pooled", y="Brier Index", title="Trials") if lines else None


def _weights(weights: Mapping[str, list[float]]) -> "Figure | None":
    boxes = {f"{arm} (n {len(values)})": values for arm, values in weights.items() if values}
    return boxes_plot(boxes, label="weight of a child") if boxes else None
