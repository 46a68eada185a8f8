"""Intervals of scores: every metric of a scorecard, by question type and overall.

Held fixed: the pooling, shrinkage and calibration behind the forecasts, and the difficulty of each event behind ``abi``. What those would
add to the uncertainty is not in the interval. Calibration errors have none: near 0 they are biased by more than they vary, so beside them stands
what a calibrated forecaster of the same forecasts would show (`workbench.science.scoring.calibration_error.calibrated_error`). The parts of
the Brier score, which its bins bias too, have none either.
"""

from collections.abc import Mapping, Sequence

import numpy as np

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
from workbench.science.scoring.scorecard import ACCURACY_BY_OUTCOME, METRICS, Difficulty
from workbench.science.scoring.scores import event_weights, hits, index_of
from workbench.science.table_cells import StrArray
from workbench.science.tables import Events

EventLosses = dict[str, FloatArray]
Card = dict[str, dict[str, Bounds]]

#: Metrics whose overall value is the mean of the question types' indices.
_INDICES = frozenset(name for name, metric in METRICS.items() if metric.printed is index_of)


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
    kind, o, clusters = events.kind[rows], events.outcome[rows], event_clusters(events)[rows]
    losses = {name: of(p, o) for name in metrics if (of := METRICS[name].losses) is not None}
    if "abi" in metrics and difficulty is not None:
        adjusted = np.full(len(rows), np.nan)
        for part in np.unique(kind):
            inside = kind == part
            column = difficulty.losses(p[inside], o[inside], rows[inside])
            adjusted[inside] = np.nan if column is None else column
        losses["abi"] = adjusted
    wanted = {metric: estimates[metric] for metric in metrics}
    card = card_of(losses, kind, events.question[rows], clusters, wanted, resampling)
    for metric in set(metrics) & set(ACCURACY_BY_OUTCOME) if resampling.resamples else ():
        for part in card[metric]:
            inside = (o == ACCURACY_BY_OUTCOME[metric]) & ((kind == part) | (part == "overall"))
            if inside.any():
                card[metric][part] = share_interval(hits(p, o)[inside], clusters[inside])
    return card


def card_of(
    losses: EventLosses,
    kind: StrArray,
    question: StrArray,
    clusters: StrArray,
    estimates: Mapping[str, Mapping[str, float | None]],
    resampling: Resampling = PLAIN,
) -> Card:
    """Intervals from each metric's losses of events, ``nan`` where there is none.

    >>> kind, question = np.array(["market"] * 6), np.array(list("abcdef"))
    >>> estimates = {"brier": {"market": 0.25, "overall": 0.25}}
    >>> card = card_of({"brier": np.full(6, 0.25)}, kind, question, question, estimates)
    >>> [round(end, 9) for end in card["brier"]["overall"]]
    [0.25, 0.25]
    """
    card: Card = {metric: dict.fromkeys(scores) for metric, scores in estimates.items()}
    if not resampling.resamples:
        return card
    by_question = event_weights(np.char.add(np.char.add(kind, "\n"), question))
    kinds = codes_of(kind)[0]
    weights = {False: event_weights(kind), True: by_question / np.bincount(kinds, weights=by_question)[kinds]}
    parts = {str(part): kind == part for part in np.unique(kind)}
    enough = True
    for part, inside in parts.items():
        if cluster_count(clusters[inside]) < MIN_CLUSTERS:
            enough = False
            continue
        columns = {
            metric: column[inside]
            for metric, column in losses.items()
            if estimates[metric][part] is not None and not np.isnan(column[inside]).any()
        }
        within = {by: column[inside] for by, column in weights.items()}
        for metric, bounds in _loss_bounds(columns, within, clusters[inside], resampling).items():
            card[metric][part] = bounds
    if not enough:
        # Half the weight may lie on a type that hardly varies: the overall interval would be too narrow.
        return card
    whole = {metric: column for metric, column in losses.items() if not np.isnan(column).any()}
    indices = _INDICES & whole.keys() if len(parts) > 1 else frozenset[str]()
    overall = _loss_bounds(
        {metric: column for metric, column in whole.items() if metric not in indices},
        weights, clusters, resampling,
    )  # fmt: skip
    for by in (False, True):
        # The mean of the types' indices: each index by its own root.
        names = [metric for metric in indices if METRICS[metric].by_question == by]
        columns = {metric: np.empty(len(kind)) for metric in names}
        for inside in parts.values():
            for metric, values in columns.items():
                roots = root_values(whole[metric][inside], weights[by][inside])
                values[inside] = 100.0 * (1.0 - roots)
        ends = mean_intervals(list(columns.values()), clusters, weights=weights[by], resampling=resampling)
        overall |= dict(zip(names, ends, strict=True))
    for metric, bounds in overall.items():
        card[metric]["overall"] = bounds
    if "abi" in overall and "overall_of_mean_score" in card["abi"]:
        mean = _loss_bounds({"abi": whole["abi"]}, weights, clusters, resampling)
        card["abi"]["overall_of_mean_score"] = mean["abi"]
    return card


def _loss_bounds(
    columns: EventLosses, weights: Mapping[bool, FloatArray], clusters: StrArray, resampling: Resampling
) -> dict[str, Bounds]:
    """Intervals of metrics of a mean loss, by the root of the mean; columns of one weighting are flipped together."""
    bounds_by_metric: dict[str, Bounds] = {}
    groups: dict[tuple[bool, bool], list[str]] = {}
    for name in columns:
        groups.setdefault((METRICS[name].pooled, METRICS[name].by_question), []).append(name)
    for (pooled, by_question), names in groups.items():
        row_weights = np.ones(len(clusters)) if pooled else weights[by_question]
        if "accuracy" in names:
            names.remove("accuracy")
            bounds_by_metric["accuracy"] = share_interval(columns["accuracy"], clusters, weights=row_weights)
        roots = [root_values(columns[name], row_weights) for name in names]
        ends = mean_intervals(roots, clusters, weights=row_weights, resampling=resampling)
        for name, bounds in zip(names, ends, strict=True):
            squares = squared(bounds, most=METRICS[name].most)
            bounds_by_metric[name] = None if squares is None else sorted(map(METRICS[name].printed, squares))
    return bounds_by_metric
