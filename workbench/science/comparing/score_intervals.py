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
from workbench.science.scoring.scorecard import ACCURACY_BY_OUTCOME, METRICS, Difficulty, parts_of
from workbench.science.scoring.scores import hits, index_of
from workbench.science.table_cells import StrArray
from workbench.science.tables import Events

BoolArray = NDArray[np.bool_]
EventLosses = dict[str, FloatArray]
Card = dict[str, dict[str, Bounds]]

#: Metrics whose overall value is the mean of the question types' indices.
_INDICES = frozenset(name for name, metric in METRICS.items() if metric.printed is index_of)


def _losses(
    p: FloatArray, o: FloatArray, rows: IntArray, metrics: Sequence[str], difficulty: Difficulty | None
) -> EventLosses:
    losses = {name: of(p, o) for name in metrics if (of := METRICS[name].losses) is not None}
    if "abi" in metrics and difficulty is not None and (column := difficulty.losses(p, o, rows)) is not None:
        losses["abi"] = column
    return losses


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
        return _losses(p[inside], events.outcome[inside_rows], inside_rows, metrics, difficulty)

    clusters, o = event_clusters(events)[rows], events.outcome[rows]
    wanted = {metric: estimates[metric] for metric in metrics}
    card = card_of(losses, kind, events.question[rows], clusters, wanted, resampling)
    for metric in set(metrics) & set(ACCURACY_BY_OUTCOME) if resampling.resamples else ():
        for part in card[metric]:
            inside = (o == ACCURACY_BY_OUTCOME[metric]) & ((kind == part) | (part == "overall"))
            if inside.any():
                card[metric][part] = share_interval(
                    hits(p, o)[inside], clusters[inside], level=resampling.level
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

    ``losses`` gives them by metric for the chosen events of one question type.

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
                by = weights[METRICS[metric].by_question][inside]
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
    groups: dict[tuple[bool, bool], list[str]] = {}
    for name in columns:
        groups.setdefault((METRICS[name].pooled, METRICS[name].by_question), []).append(name)
    for (pooled, by_question), names in groups.items():
        row_weights = np.ones(int(inside.sum())) if pooled else weights[by_question][inside]
        flipped = {
            name: columns[name][0] if columns[name][1] else root_values(columns[name][0], row_weights)
            for name in names
            if name != "accuracy"
        }
        ends = mean_intervals(
            list(flipped.values()), clusters[inside], weights=row_weights, resampling=resampling
        )
        for name, bounds in zip(flipped, ends, strict=True):
            if not columns[name][1]:
                loss_ends = squared(bounds, most=METRICS[name].most)
                bounds = None if loss_ends is None else sorted(map(METRICS[name].printed, loss_ends))
            bounds_by_metric[name] = bounds
        if "accuracy" in names:
            bounds_by_metric["accuracy"] = share_interval(
                columns["accuracy"][0], clusters[inside], weights=row_weights, level=resampling.level
            )
    return bounds_by_metric
