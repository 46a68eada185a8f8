"""Intervals of scores: every metric of a scorecard, by question type and overall.

Held fixed: the pooling, shrinkage and calibration behind the forecasts, and the difficulty of each event behind ``abi``. What those would
add to the uncertainty is not in the interval. Calibration errors have none: near 0 they are biased by more than they vary, so beside them stands
what a calibrated forecaster of the same forecasts would show (`workbench.science.scoring.calibration_error.calibrated_error`). The parts of
the Brier score, which its bins bias too, have none either.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from workbench.science.arrays import FloatArray, IntArray, codes_of
from workbench.science.comparing.clusters import MIN_CLUSTERS, cluster_count, event_clusters
from workbench.science.comparing.mean_intervals import (
    PLAIN,
    Bounds,
    Resampling,
    mean_intervals,
    root_values,
    share_interval,
    squared,
)
from workbench.science.scoring.scorecard import ACCURACY_BY_OUTCOME, POOLED, Difficulty, parts_of
from workbench.science.scoring.scores import log_losses, metaculus_scores
from workbench.science.table_cells import StrArray
from workbench.science.tables import Events

BoolArray = NDArray[np.bool_]
EventLosses = dict[str, FloatArray]
Card = dict[str, dict[str, Bounds]]

#: Metrics that are 100 less 100 times the root of a mean loss, and their overall value the mean of those of the question types.
_INDICES = frozenset({"brier_index", "abi", "brier_index_by_question"})
_BY_QUESTION = frozenset({"brier_by_question", "brier_index_by_question"})


def event_losses(
    p: FloatArray,
    o: FloatArray,
    rows: IntArray,
    metrics: Sequence[str],
    difficulty: Difficulty | None = None,
) -> EventLosses:
    """Per metric the loss of each event of one question type, of whose mean the metric is a function; for accuracy the hits.

    Loss of ``abi`` is the error less the event's difficulty and the mean difficulty back; that mean is of these very events, so each
    adds to it what it is harder than others. A method that answered everything has the losses, and the interval, of its plain index.

    >>> event_losses(np.array([0.5]), np.array([1.0]), np.array([0]), ["brier"])["brier"].tolist()
    [0.25]
    """
    errors = (p - o) ** 2
    columns: EventLosses = {}
    for metric in metrics:
        match metric:
            case "brier" | "brier_index" | "brier_by_question" | "brier_index_by_question":
                columns[metric] = errors
            case "metaculus_baseline":
                columns[metric] = 100.0 - metaculus_scores(p, o)
            case "log_loss":
                columns[metric] = log_losses(p, o)
            case "accuracy":
                columns[metric] = _hits(p, o)
            case "abi" if difficulty is not None:
                of_rows = difficulty.values[rows]
                of_kind = difficulty.values[difficulty.kind == difficulty.kind[rows[0]]]
                of_kind = of_kind[np.isfinite(of_kind)]
                if len(of_kind):
                    columns[metric] = (
                        errors
                        - of_rows
                        + of_kind.mean()
                        + (of_rows - of_rows.mean()) * np.sqrt(len(of_rows) / len(of_kind))
                    )
    return columns


def _hits(p: FloatArray, o: FloatArray) -> FloatArray:
    return np.where(p == 0.5, 0.5, ((p > 0.5) == (o == 1.0)).astype(np.float64))


def _printed(metric: str, roots: Bounds) -> Bounds:
    if roots is None:
        return None
    if metric in _INDICES:
        return [100.0 * (1.0 - min(max(end, 0.0), 1.0)) for end in reversed(roots)]
    ends = squared(roots, most=1.0 if metric.startswith("brier") else np.inf)
    return [100.0 - end for end in reversed(ends or [])] if metric == "metaculus_baseline" else ends


def interval_card(
    p: FloatArray,
    rows: IntArray,
    events: Events,
    metrics: Sequence[str],
    estimates: Mapping[str, Mapping[str, float | None]],
    difficulty: Difficulty | None = None,
    resampling: Resampling = PLAIN,
) -> Card:
    """Interval of every score of a scorecard.

    Metric -> part -> ``[low, high]``; None where a part has fewer than `MIN_CLUSTERS` clusters (`event_clusters`), no score, or a
    calibration error.
    """
    kind = events.kind[rows]

    def losses(inside: BoolArray) -> EventLosses:
        inside_rows = rows[inside]
        return event_losses(p[inside], events.outcome[inside_rows], inside_rows, metrics, difficulty)

    clusters, o = event_clusters(events)[rows], events.outcome[rows]
    wanted = {metric: estimates[metric] for metric in metrics}
    card = card_of(losses, kind, events.question[rows], clusters, wanted, resampling)
    for metric in set(metrics) & set(ACCURACY_BY_OUTCOME) if resampling.resamples else ():
        for part in card[metric]:
            inside = (o == ACCURACY_BY_OUTCOME[metric]) & ((kind == part) | (part == "overall"))
            if inside.any():
                card[metric][part] = share_interval(
                    _hits(p, o)[inside], clusters[inside], level=resampling.level
                )
    return card


def card_of(
    losses: Callable[[BoolArray], EventLosses],
    kind: StrArray,
    question: StrArray,
    clusters: StrArray,
    estimates: Mapping[str, Mapping[str, float | None]],
    resampling: Resampling = PLAIN,
) -> Card:
    """Intervals from per-event losses, whatever they were computed from; `interval_card` and averages over subsets of trials use it.

    ``losses`` gives those of `event_losses` for the chosen events of one question type.

    >>> kind, question = np.array(["market"] * 6), np.array(list("abcdef"))
    >>> estimates = {"brier": {"market": 0.25, "overall": 0.25}}
    >>> card = card_of(lambda inside: {"brier": np.full(6, 0.25)[inside]}, kind, question, question, estimates)
    >>> [round(end, 9) for end in card["brier"]["overall"]]
    [0.25, 0.25]
    """
    card: Card = {metric: dict.fromkeys(scores) for metric, scores in estimates.items()}
    parts = [part for part in parts_of(kind) if (kind == part).any()]
    whole: dict[str, FloatArray] = {}
    enough = bool(resampling.resamples)
    weights = {by: np.empty(len(kind)) for by in (False, True)}
    for part in parts:
        inside = kind == part
        part_losses = {
            metric: column
            for metric, column in losses(inside).items()
            if metric in estimates and estimates[metric][part] is not None
        }
        sizes = np.bincount(codes_of(question[inside])[0])[codes_of(question[inside])[0]]
        weights[False][inside], weights[True][inside] = 1.0 / inside.sum(), 1.0 / sizes / (1.0 / sizes).sum()
        few = cluster_count(clusters[inside]) < MIN_CLUSTERS
        enough &= not few
        for metric, column in part_losses.items():
            whole.setdefault(metric, np.full(len(kind), np.nan))[inside] = column
        if not few and resampling.resamples:
            columns = {metric: (column, False) for metric, column in part_losses.items()}
            for metric, bounds in _bounds(columns, weights, inside, clusters, resampling).items():
                card[metric][part] = bounds
    if (
        not enough
    ):  # half the weight may lie on a type that hardly varies: the overall interval would be too narrow
        return card
    everything = np.ones(len(kind), dtype=bool)
    columns = {}
    for metric, column in whole.items():
        if np.isnan(column).any():
            continue
        if metric in _INDICES and len(parts) > 1:
            # The mean of the types' indices: each index by its own root.
            values = np.empty(len(kind))
            for part in parts:
                inside = kind == part
                by = weights[metric in _BY_QUESTION][inside]
                values[inside] = 100.0 * (1.0 - root_values(column[inside], by))
            columns[metric] = (values, True)
        else:
            columns[metric] = (column, False)
    for metric, bounds in _bounds(columns, weights, everything, clusters, resampling).items():
        card[metric]["overall"] = bounds
    if "abi" in columns and "overall_of_mean_score" in card["abi"]:
        mean = _bounds({"abi": (whole["abi"], False)}, weights, everything, clusters, resampling)
        card["abi"]["overall_of_mean_score"] = mean["abi"]
    return card


def _bounds(
    columns: Mapping[str, tuple[FloatArray, bool]],
    weights: Mapping[bool, FloatArray],
    inside: BoolArray,
    clusters: StrArray,
    resampling: Resampling,
) -> dict[str, Bounds]:
    bounds_by_metric: dict[str, Bounds] = {}
    alike = np.ones(int(inside.sum()))
    for pooled in (False, True):
        for by_question in (False, True):
            row_weights = alike if pooled else weights[by_question][inside]
            names = [m for m in columns if (m in POOLED) == pooled and (m in _BY_QUESTION) == by_question]
            flipped = {
                m: columns[m][0] if columns[m][1] else root_values(columns[m][0], row_weights)
                for m in names
                if m != "accuracy"
            }
            ends = mean_intervals(
                list(flipped.values()), clusters[inside], weights=row_weights, resampling=resampling
            )
            for metric, bounds in zip(flipped, ends, strict=True):
                bounds_by_metric[metric] = bounds if columns[metric][1] else _printed(metric, bounds)
            if "accuracy" in names:
                bounds_by_metric["accuracy"] = share_interval(
                    columns["accuracy"][0], clusters[inside], weights=row_weights, level=resampling.level
                )
    return bounds_by_metric
