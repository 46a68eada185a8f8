"""Metrics of a method by question type and overall: the table that `score` prints."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
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
    brier_scores,
    event_weights,
    hits,
    index_of,
    log_losses,
    metaculus_scores,
)
from workbench.science.table_cells import StrArray
from workbench.science.tables import Events

Part = dict[str, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A score of one part's forecasts: a function of the mean loss of its events, or of all of them at once."""

    #: Loss of each event (for accuracy the hits), from forecasts and outcomes; None where the metric is no function of their mean.
    losses: Callable[[FloatArray, FloatArray], FloatArray] | None = None
    #: The metric of a mean loss.
    printed: Callable[[float], float] = float
    #: Largest loss there can be.
    most: float = float("inf")
    #: Every question counts once, however many events it has.
    by_question: bool = False
    #: The metric of forecasts and outcomes, where there is no loss.
    of_all: Callable[[FloatArray, FloatArray], float] | None = None
    #: Only events with this outcome count.
    outcome: float | None = None
    #: Overall pools all events; else it is the plain mean of the question types (BLF, section 2).
    pooled: bool = False

    def value(self, p: FloatArray, o: FloatArray, question: StrArray) -> float:
        """Score forecasts; ``nan`` where no event counts."""
        if self.outcome is not None:
            p, o = p[o == self.outcome], o[o == self.outcome]
        if not len(p):
            return float("nan")
        if self.losses is None:
            return float("nan") if self.of_all is None else self.of_all(p, o)
        losses = self.losses(p, o)
        return self.printed(
            float(np.average(losses, weights=event_weights(question)) if self.by_question else losses.mean())
        )


_BRIER = Metric(losses=brier_scores, most=1.0)
_INDEX = replace(_BRIER, printed=index_of)
#: Accuracy of what came true, and of what did not, by themselves (paper A, Table 7).
ACCURACY_BY_OUTCOME = {"accuracy_true": 1.0, "accuracy_false": 0.0}
METRICS: dict[str, Metric] = {
    "brier": _BRIER,
    "brier_index": _INDEX,
    "metaculus_baseline": Metric(
        losses=lambda p, o: 100.0 - metaculus_scores(p, o), printed=lambda loss: 100.0 - loss
    ),
    "abi": Metric(printed=index_of, most=1.0),  # its losses need the pool of methods: see `Difficulty.losses`
    "ece": Metric(of_all=calibration_error, pooled=True),
    "log_loss": Metric(losses=log_losses, pooled=True),
    "accuracy": Metric(losses=hits),
    "ece_quantile": Metric(of_all=partial(calibration_error, how="quantile"), pooled=True),
    "ece_debiased": Metric(of_all=debiased_calibration_error, pooled=True),
    **{
        name: Metric(of_all=accuracy, outcome=outcome, pooled=True)
        for name, outcome in ACCURACY_BY_OUTCOME.items()
    },
    "reliability": Metric(of_all=lambda p, o: brier_parts(p, o).reliability, pooled=True),
    "resolution": Metric(of_all=lambda p, o: brier_parts(p, o).resolution, pooled=True),
    "uncertainty": Metric(of_all=lambda p, o: brier_parts(p, o).uncertainty, pooled=True),
    "brier_by_question": replace(_BRIER, by_question=True),
    "brier_index_by_question": replace(_INDEX, by_question=True),
}
DEFAULT_METRICS = ("brier", "brier_index", "metaculus_baseline", "ece", "log_loss", "accuracy")
#: Calibration errors, which come out above 0 for a calibrated forecaster too, with their kind of bins.
BINNED: dict[str, Bins] = {"ece": "width", "ece_quantile": "quantile"}
MAIN_PARTS = ("market", "dataset")


@dataclass(frozen=True, slots=True, kw_only=True)
class Difficulty:
    """Difficulty of every event of a file, for adjusted scores; ``nan`` where it cannot be had."""

    values: FloatArray
    kind: StrArray

    def of_part(self, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """Difficulties of these events of one question type, and of all events of that type that have one."""
        of_kind = self.values[self.kind == self.kind[rows[0]]]
        return self.values[rows], of_kind[np.isfinite(of_kind)]

    def losses(self, p: FloatArray, o: FloatArray, rows: IntArray) -> FloatArray | None:
        """Adjusted losses of events of one question type: the error less the event's difficulty and the mean difficulty back.

        That mean is of these very events, so each adds to it what it is harder than others. A method that answered everything has the
        losses, and the interval, of its plain index. None where no event of the type has a difficulty.
        """
        own, of_kind = self.of_part(rows)
        if not len(of_kind):
            return None
        harder = (own - own.mean()) * np.sqrt(len(own) / len(of_kind))
        return np.asarray((p - o) ** 2 - own + of_kind.mean() + harder)


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


def _adjusted(p: FloatArray, o: FloatArray, rows: IntArray, difficulty: Difficulty) -> float:
    """Adjusted Brier score of events of one question type; ``nan`` if a difficulty is missing."""
    own, of_kind = difficulty.of_part(rows)
    return float("nan") if np.isnan(own).any() else adjusted_brier((p - o) ** 2, own, of_kind)


def _json_number(value: float) -> float | None:
    # JSON has no nan.
    return None if np.isnan(value) else float(value)


def _index(score: float) -> float:
    return score if np.isnan(score) else index_of(score)


def _mean(values: Mapping[str, float | None]) -> float | None:
    present = [value for value in values.values() if value is not None]
    return float(np.mean(present)) if present else None


def scorecard(
    p: FloatArray,
    rows: IntArray,
    events: Events,
    metrics: Sequence[str] = DEFAULT_METRICS,
    difficulty: Difficulty | None = None,
) -> dict[str, Part]:
    """Compute every metric for each question type and overall; None where a type has no event.

    Overall is the mean of the types, whatever their sizes, but for pooled metrics.

    >>> events = Events.of([1, 0], kind=["market", "dataset"])
    >>> scorecard(np.array([0.5, 0.0]), np.arange(2), events, ["brier_index"])
    {'brier_index': {'market': 50.0, 'dataset': 100.0, 'overall': 75.0}}
    """
    check_metrics(metrics)
    if "abi" in metrics and difficulty is None:
        raise DomainError("abi needs the difficulty of the events")
    o, kind, question = events.outcome[rows], events.kind[rows], events.question[rows]
    adjusted: list[float] = []

    def value(name: str, inside: Any) -> float:
        if name != "abi" or difficulty is None:
            return METRICS[name].value(p[inside], o[inside], question[inside])
        adjusted.append(_adjusted(p[inside], o[inside], rows[inside], difficulty))
        return _index(adjusted[-1])

    card: dict[str, Part] = {}
    for name in metrics:
        scores: Part = {
            part: _json_number(value(name, kind == part)) if (kind == part).any() else None
            for part in parts_of(kind)
        }
        overall = _json_number(value(name, slice(None))) if METRICS[name].pooled else _mean(scores)
        card[name] = scores | {"overall": overall}
    if adjusted:
        card["abi"]["overall_of_mean_score"] = _json_number(_index(float(np.mean(adjusted))))
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
    flat, outcomes = pooled.ravel(), np.repeat(o, pooled.shape[1])
    card: dict[str, Part] = {}
    per_event: dict[str, FloatArray] = {}
    for name in usable:
        metric = METRICS[name]
        assert metric.losses is not None  # of all `SUBSET_METRICS`
        losses = per_event[name] = metric.losses(flat, outcomes).reshape(pooled.shape).mean(axis=1)
        scores: Part = {
            # The root comes after the mean over subsets and events, as for any other Brier Index (BLF, App. A.2).
            part: metric.printed(float(losses[kind == part].mean())) if (kind == part).any() else None
            for part in parts_of(kind)
        }
        card[name] = scores | {
            "overall": metric.printed(float(losses.mean())) if metric.pooled else _mean(scores)
        }
    return SubsetScores(
        averaged=card,
        of_average=scorecard(pooled.mean(axis=1), rows, events, usable),
        rows=rows,
        per_event=per_event,
    )
