"""Metrics of a method by question type and overall: the table that `score` prints."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from workbench.science.arrays import FloatArray, IntArray
from workbench.science.errors import DomainError, UnknownName
from workbench.science.pooling.pool import subset_pools
from workbench.science.scoring.adjusted import adjusted_brier, market_difficulty, question_difficulty
from workbench.science.scoring.calibration_error import (
    Bins,
    brier_parts,
    calibrated_error,
    calibration_error,
    debiased_calibration_error,
)
from workbench.science.scoring.scores import (
    accuracy,
    brier,
    brier_index,
    event_weighted_brier,
    index_of,
    log_loss,
    log_losses,
    metaculus_baseline,
    metaculus_scores,
)
from workbench.science.table_cells import StrArray
from workbench.science.tables import Events

Part = dict[str, float | None]


def _accuracy_of(outcome: float, p: FloatArray, o: FloatArray, _: Any) -> float:
    return accuracy(p[o == outcome], o[o == outcome]) if (o == outcome).any() else float("nan")


#: Accuracy of what came true, and of what did not, by themselves (paper A, Table 7).
ACCURACY_BY_OUTCOME = {"accuracy_true": 1.0, "accuracy_false": 0.0}
#: Metrics of one part's forecasts, outcomes and questions.
METRICS: dict[str, Callable[[FloatArray, FloatArray, Any], float]] = {
    "brier": lambda p, o, q: brier(p, o),
    "brier_index": lambda p, o, q: brier_index(p, o),
    "metaculus_baseline": lambda p, o, q: metaculus_baseline(p, o),
    "abi": lambda p, o, q: float("nan"),  # needs the pool of methods: see `adjusted_part`
    "ece": lambda p, o, q: calibration_error(p, o),
    "log_loss": lambda p, o, q: log_loss(p, o),
    "accuracy": lambda p, o, q: accuracy(p, o),
    "ece_quantile": lambda p, o, q: calibration_error(p, o, how="quantile"),
    "ece_debiased": lambda p, o, q: debiased_calibration_error(p, o),
    **{name: partial(_accuracy_of, outcome) for name, outcome in ACCURACY_BY_OUTCOME.items()},
    "reliability": lambda p, o, q: brier_parts(p, o).reliability,
    "resolution": lambda p, o, q: brier_parts(p, o).resolution,
    "uncertainty": lambda p, o, q: brier_parts(p, o).uncertainty,
    "brier_by_question": lambda p, o, q: event_weighted_brier(p, o, q),
    "brier_index_by_question": lambda p, o, q: index_of(event_weighted_brier(p, o, q)),
}
DEFAULT_METRICS = ("brier", "brier_index", "metaculus_baseline", "ece", "log_loss", "accuracy")
#: For these, overall pools all events; for the others it is the plain mean of the question types (BLF, section 2).
POOLED = frozenset(
    {
        "ece",
        "ece_quantile",
        "ece_debiased",
        "log_loss",
        *ACCURACY_BY_OUTCOME,
        "reliability",
        "resolution",
        "uncertainty",
    }
)
#: Calibration errors, which come out above 0 for a calibrated forecaster too, with their kind of bins.
BINNED: dict[str, Bins] = {"ece": "width", "ece_quantile": "quantile"}
MAIN_PARTS = ("market", "dataset")


@dataclass(frozen=True, slots=True, kw_only=True)
class Difficulty:
    """Difficulty of every event of a file, for adjusted scores; ``nan`` where it cannot be had."""

    values: FloatArray
    kind: Any


def check_metrics(names: Sequence[str]) -> tuple[str, ...]:
    """The metrics asked for, or one line listing the known ones.

    >>> check_metrics(["brier"])
    ('brier',)
    """
    for name in names:
        if name not in METRICS:
            raise UnknownName("metric", name, METRICS)
    return tuple(names)


def parts_of(kind: Any) -> list[str]:
    """Question types in the order they are printed: market, dataset, then any others.

    >>> parts_of(["dataset", "news"])
    ['market', 'dataset', 'news']
    """
    present = set(np.asarray(kind).astype(str).tolist())
    return [*MAIN_PARTS, *sorted(present - set(MAIN_PARTS))]


def difficulty_of(events: Events, pool: Mapping[str, FloatArray]) -> Difficulty:
    """Difficulty per event: the crowd's Brier score for market events, the additive effect for all others.

    Source: BLF, App. A.2. The effects come from this pool, not from the official leaderboard's.

    ``pool`` holds the methods that estimate the question effects.
    """
    values = np.full(len(events), np.nan)
    market = events.kind == "market"
    if market.any() and "crowd" in events.frame.columns:
        crowd = events.probability("crowd")
        priced = market & np.isfinite(crowd)
        if priced.any():
            values[priced] = market_difficulty(crowd[priced], events.outcome[priced])
    others = np.flatnonzero(~market)
    if len(others) and pool:
        briers = np.array([(p - events.outcome) ** 2 for p in pool.values()])[:, others]
        answered = np.isfinite(briers).any(axis=0)
        methods = np.isfinite(briers).any(axis=1)
        if answered.any():
            # The additive fit refuses methods and events without any score, so both are left out first.
            values[others[answered]] = question_difficulty(briers[methods][:, answered])
    return Difficulty(values=values, kind=events.kind)


def adjusted_part(p: FloatArray, o: FloatArray, rows: IntArray, difficulty: Difficulty, part: str) -> float:
    """Adjusted Brier score of one question type, rescaled with the mean difficulty of all its events; lower is better.

    ``p`` and ``o`` are the forecasts and outcomes of this type's events, ``rows`` their rows in the file. ``nan`` if
    a difficulty is missing.

    >>> hard = Difficulty(values=np.array([0.1, 0.3]), kind=np.array(["market", "market"]))
    >>> round(adjusted_part(np.array([0.5]), np.array([1.0]), np.array([1]), hard, "market"), 6)
    0.15
    """
    reference = difficulty.values[difficulty.kind == part]
    of_rows = difficulty.values[rows]
    if not len(of_rows) or np.isnan(of_rows).any():
        return float("nan")
    return adjusted_brier((p - o) ** 2, of_rows, reference[np.isfinite(reference)])


def _json_number(value: float) -> float | None:
    # JSON has no nan.
    return None if np.isnan(value) else float(value)


def _overall(values: Mapping[str, float | None]) -> float | None:
    present = [value for value in values.values() if value is not None]
    return float(np.mean(present)) if present else None


def scorecard(
    p: FloatArray,
    rows: IntArray,
    events: Events,
    metrics: Sequence[str] = DEFAULT_METRICS,
    difficulty: Difficulty | None = None,
) -> dict[str, Part]:
    """Compute every metric for each question type and overall.

    Parameters
    ----------
    p : ndarray, shape (k,)
        Forecasts of the events at ``rows``.
    rows : ndarray of int, shape (k,)
    events : Events
    metrics : sequence of str
        Names in `METRICS`.
    difficulty : Difficulty, optional
        Needed for ``abi``.

    Returns
    -------
    dict
        Metric -> ``{market, dataset, ..., overall}``; None where a type has no event. Overall is the mean of the
        types, whatever their sizes, but for the metrics of `POOLED`, which pool all events.

    Raises
    ------
    UnknownName
        No such metric.

    Examples
    --------
    >>> events = Events.of([1, 0], kind=["market", "dataset"])
    >>> scorecard(np.array([0.5, 0.0]), np.arange(2), events, ["brier_index"])
    {'brier_index': {'market': 50.0, 'dataset': 100.0, 'overall': 75.0}}
    """
    check_metrics(metrics)
    o, kind, question = events.outcome[rows], events.kind[rows], events.question[rows]
    card: dict[str, Part] = {}
    for metric in metrics:
        scores: Part = {}
        adjusted: list[float] = []
        for part in parts_of(kind):
            inside = kind == part
            if not inside.any():
                scores[part] = None
                continue
            if metric == "abi":
                if difficulty is None:
                    raise DomainError("abi needs the difficulty of the events")
                score = adjusted_part(p[inside], o[inside], rows[inside], difficulty, part)
                scores[part] = _json_number(index_of(score) if not np.isnan(score) else score)
                adjusted.append(score)
            else:
                scores[part] = _json_number(METRICS[metric](p[inside], o[inside], question[inside]))
        if metric in POOLED:
            scores["overall"] = _json_number(METRICS[metric](p, o, question))
        else:
            scores["overall"] = _overall(scores)
        if metric == "abi" and adjusted:
            scores["overall_of_mean_score"] = _json_number(index_of(float(np.mean(adjusted))))
        card[metric] = scores
    return card


def calibrated_card(
    p: FloatArray, kind: Any, metrics: Sequence[str], clusters: StrArray | None = None
) -> dict[str, dict[str, Any]]:
    """Estimate the calibration errors of a calibrated forecaster of the same forecasts, with luck by cluster:
    metric -> part -> ``{expected, high}``, for ``ece``, ``ece_quantile``.

    >>> calibrated_card(np.full(100, 0.5), np.full(100, "market"), ["ece"])["ece"]["dataset"]
    """
    card: dict[str, dict[str, Any]] = {}
    for metric in metrics:
        if metric in BINNED:
            card[metric] = {
                part: calibrated_error(
                    p[inside], None if clusters is None else clusters[inside], how=BINNED[metric]
                )._asdict()
                if inside.any()
                else None
                for part, inside in {
                    **{part: kind == part for part in parts_of(kind)},
                    "overall": np.ones(len(p), dtype=bool),
                }.items()
            }
    return card


@dataclass(frozen=True, slots=True, kw_only=True)
class SubsetScores:
    """Scores over all subsets of so many trials.

    Parameters
    ----------
    averaged, of_average : dict
        As `scorecard`. The second scores the averaged forecasts, which is what the authors' code stores; it makes every size look alike.
    rows : ndarray of int
        The events scored.
    per_event : dict
        Metric -> loss of each event, averaged over subsets, that its interval is made from (hits for accuracy), shape (rows,).
    """

    averaged: dict[str, Part]
    of_average: dict[str, Part]
    rows: IntArray
    per_event: dict[str, FloatArray]


#: Metrics that are means over events, so that they can be averaged over subsets of trials.
SUBSET_METRICS = ("brier", "brier_index", "metaculus_baseline", "log_loss", "accuracy")


def subset_scorecard(
    trials: FloatArray, events: Events, size: int, how: str, metrics: Sequence[str]
) -> SubsetScores:
    """Scores averaged over all subsets of ``size`` trials, and the score of the averaged forecasts.

    Source: BLF, App. D.4 (Figure 9).

    >>> scores = subset_scorecard(np.array([[0.0, 1.0]]), Events.of([1]), 1, "mean", ["brier"])
    >>> scores.averaged["brier"]["overall"], scores.of_average["brier"]["overall"]
    (0.5, 0.25)
    """
    usable = [metric for metric in metrics if metric in SUBSET_METRICS]
    pooled = subset_pools(trials, size, how)
    rows = np.flatnonzero(np.isfinite(pooled).all(axis=1))
    if not len(rows):
        raise DomainError(f"no event has all {trials.shape[1]} trials, which subsets need")
    pooled = pooled[rows]
    o, kind = events.outcome[rows], events.kind[rows]
    columns = pooled.shape[1]
    flat, outcomes = pooled.ravel(), np.repeat(o, columns)
    per_event: dict[str, FloatArray] = {
        "brier": ((pooled - o[:, None]) ** 2).mean(axis=1),
        "metaculus_baseline": metaculus_scores(flat, outcomes).reshape(-1, columns).mean(axis=1),
        "log_loss": log_losses(flat, outcomes).reshape(-1, columns).mean(axis=1),
        # As in `accuracy`: a forecast of exactly 0.5 decides nothing and counts half.
        "accuracy": np.where(pooled == 0.5, 0.5, (pooled > 0.5) == (o[:, None] == 1.0)).mean(axis=1),
    }
    card: dict[str, Part] = {}
    for metric in usable:
        base = per_event["brier" if metric == "brier_index" else metric]
        scores: Part = {}
        for part in parts_of(kind):
            inside = kind == part
            value = float(base[inside].mean()) if inside.any() else float("nan")
            # The root comes after the mean over subsets and events, as for any other Brier Index (BLF, App. A.2).
            scores[part] = _json_number(
                index_of(value) if metric == "brier_index" and inside.any() else value
            )
        scores["overall"] = float(base.mean()) if metric in POOLED else _overall(scores)
        card[metric] = scores
    per_event["brier_index"] = per_event["brier"]
    per_event["metaculus_baseline"] = 100.0 - per_event["metaculus_baseline"]
    return SubsetScores(
        averaged=card,
        of_average=scorecard(pooled.mean(axis=1), rows, events, usable),
        rows=rows,
        per_event={metric: per_event[metric] for metric in usable},
    )
