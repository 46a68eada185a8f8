"""Intervals of scores: every metric of a scorecard, computed again on resamples of the questions.

A metric is a function of sums over events, so a resample needs the sums per question once and then only how often each
question was drawn. Source of the interval: Prophet Arena, App. C.7, algorithm 1; questions are drawn inside each question
type, since dates of one question are not independent and the overall score is the mean of the types (BLF, App. G.2).

Held fixed: the pooling, shrinkage and calibration behind the forecasts, the difficulty behind ``abi``, and the edges of
quantile bins. What those would add to the uncertainty is not in the interval.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.science.arrays import FloatArray, IntArray, codes_of
from workbench.science.comparing.bootstrap import Draws, index_means, resample_counts, symmetric_interval
from workbench.science.comparing.clusters import MIN_CLUSTERS, event_clusters
from workbench.science.errors import DomainError
from workbench.science.scoring.calibration_error import bin_of
from workbench.science.scoring.scorecard import POOLED, Difficulty, parts_of
from workbench.science.scoring.scores import log_losses, metaculus_scores
from workbench.science.table_cells import StrArray
from workbench.science.tables import Events

_BLOCK = 1 << 21  # drawn questions held at once

BoolArray = NDArray[np.bool_]
EventScores = dict[str, FloatArray]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resampling:
    """How the resamples behind an interval are drawn.

    Parameters
    ----------
    resamples : int
        0 for no intervals; with 2000 the half-width of a 95 % interval moves by about 3 % from seed to seed.
    seed : int
    level : float
        Share of resamples inside the interval.
    """

    resamples: int = 2000
    seed: int = 20261122
    level: float = 0.95

    def __post_init__(self) -> None:
        if self.resamples < 0:
            raise DomainError(f"resamples must be at least 0, not {self.resamples}")

    def note(self) -> dict[str, Any]:
        """What a document says of its intervals; nothing where it has none."""
        if not self.resamples:
            return {}
        return {"interval": {**asdict(self), "unit": "cluster", "kind": "symmetric"}}


PLAIN = Resampling()


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Sums of one question type on every resample, one row per resample: of scores, of events; and how many clusters were drawn from."""

    sums: FloatArray
    events: FloatArray
    clusters: int


def resampled_sums(
    values: FloatArray,
    clusters: object,
    *,
    resamples: int,
    rng: np.random.Generator,
    draws: Draws = "index",
) -> Totals:
    """Sums of columns under resampling of whole clusters of rows.

    >>> totals = resampled_sums(np.ones((3, 1)), ["a", "a", "b"], resamples=2, rng=np.random.default_rng(0))
    >>> (totals.sums[:, 0] == totals.events).all()
    np.True_
    """
    codes, names = codes_of(clusters)  # type: ignore[arg-type]
    units = len(names)
    own = np.column_stack([np.bincount(codes, weights=column, minlength=units) for column in values.T])
    sizes = np.bincount(codes, minlength=units).astype(np.float64)
    sums, events = np.empty((resamples, values.shape[1])), np.empty(resamples)
    step = max(1, _BLOCK // units)
    for start in range(0, resamples, step):
        stop = min(start + step, resamples)
        counts = resample_counts(units, stop - start, rng, draws)
        sums[start:stop], events[start:stop] = counts @ own, counts @ sizes
    return Totals(sums=sums, events=events, clusters=units)


def event_scores(
    p: FloatArray,
    o: FloatArray,
    rows: IntArray,
    events: Events,
    metrics: Sequence[str],
    difficulty: Difficulty | None = None,
) -> EventScores:
    """Per metric the columns whose sums it is a function of, shape (n,) or (n, bins).

    Means are means of one column; a calibration error is the sum over bins of the absolute sum of outcome minus forecast;
    a mean by question is the sum over questions of their means, for which every event carries its share.

    >>> event_scores(np.array([0.5]), np.array([1.0]), np.array([0]), Events.of([1]), ["brier"])["brier"].tolist()
    [0.25]
    """
    squared = (p - o) ** 2
    columns: EventScores = {}
    for metric in metrics:
        match metric:
            case "brier" | "brier_index":
                columns[metric] = squared
            case "metaculus_baseline":
                columns[metric] = metaculus_scores(p, o)
            case "log_loss":
                columns[metric] = log_losses(p, o)
            case "accuracy":
                # As in `accuracy`: a forecast of exactly 0.5 decides nothing and counts half.
                columns[metric] = np.where(p == 0.5, 0.5, ((p > 0.5) == (o == 1.0)).astype(np.float64))
            case "ece" | "ece_quantile":
                columns[metric] = _bin_gaps(p, o, quantile=metric == "ece_quantile")
            case "brier_by_question" | "brier_index_by_question":
                codes = codes_of(events.question[rows])[0]
                columns[metric] = squared / np.bincount(codes)[codes]
            case "abi" if difficulty is not None:
                columns[metric] = squared - difficulty.values[rows]
    return columns


def _bin_gaps(p: FloatArray, o: FloatArray, *, quantile: bool) -> FloatArray:
    codes = bin_of(p, how="quantile" if quantile else "width")
    gaps = np.zeros((len(p), 10))
    gaps[np.arange(len(p)), codes] = o - p
    return gaps


def _metric(
    name: str, sums: FloatArray, events: FloatArray, questions: FloatArray, level: float
) -> FloatArray:
    """Values of a metric from its sums, one per resample; ``level`` is the mean difficulty that ``abi`` adds back."""
    if name in ("ece", "ece_quantile"):
        return np.asarray(np.abs(sums).sum(axis=1) / events)
    if name == "brier_by_question":
        return np.asarray(sums[:, 0] / questions)
    if name == "brier_index_by_question":
        return index_means(sums[:, 0] / questions)
    mean = sums[:, 0] / events
    if name == "abi":
        return np.asarray(mean + level)
    return index_means(mean) if name == "brier_index" else np.asarray(mean)


Card = dict[str, dict[str, list[float] | None]]


def interval_card(
    p: FloatArray,
    rows: IntArray,
    events: Events,
    metrics: Sequence[str],
    estimates: Mapping[str, Mapping[str, float | None]],
    difficulty: Difficulty | None = None,
    resampling: Resampling = PLAIN,
) -> Card:
    """Interval of every score of a scorecard, about the score itself.

    Metric -> part -> ``[low, high]``, symmetric about the score and not cut at the ends of its range; None where a part has
    fewer than `MIN_CLUSTERS` clusters (`event_clusters`), or no score.
    """

    def columns(inside: BoolArray, names: Sequence[str]) -> EventScores:
        own = rows[inside]
        return event_scores(p[inside], events.outcome[own], own, events, names, difficulty)

    back = {
        part: _mean_of_known(difficulty.values[difficulty.kind == part])
        for part in (parts_of(events.kind[rows]) if difficulty is not None else ())
        if difficulty is not None
    }
    return card_of(
        columns,
        events.kind[rows],
        events.question[rows],
        event_clusters(events)[rows],
        {metric: estimates[metric] for metric in metrics},
        back,
        resampling,
    )


def _mean_of_known(values: FloatArray) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")


def card_of(
    columns: Callable[[BoolArray, Sequence[str]], EventScores],
    kind: StrArray,
    question: StrArray,
    clusters: StrArray,
    estimates: Mapping[str, Mapping[str, float | None]],
    back: Mapping[str, float],
    resampling: Resampling = PLAIN,
) -> Card:
    """Intervals from per-event columns, whatever they were computed from; `interval_card` and averages over subsets of trials use it.

    ``columns`` gives those of `event_scores` for the chosen events; ``back`` is the mean difficulty of each question type.

    >>> kind, question = np.array(["market"] * 6), np.array(list("abcdef"))
    >>> def columns(inside, names):
    ...     return {"brier": np.full(6, 0.25)[inside]}
    >>> card_of(columns, kind, question, question, {"brier": {"market": 0.25, "overall": 0.25}}, {})["brier"]["overall"]
    [0.25, 0.25]
    """
    card: Card = {metric: dict.fromkeys(scores) for metric, scores in estimates.items()}
    names = [metric for metric in estimates if metric != "abi" or back]
    pooled = [metric for metric in names if metric in POOLED]
    everywhere = columns(np.ones(len(kind), dtype=bool), pooled)
    rng, level = np.random.default_rng(resampling.seed), resampling.level
    drawn: dict[str, dict[str, FloatArray]] = {metric: {} for metric in names}
    whole: dict[str, FloatArray] = {}
    events, enough = np.zeros(resampling.resamples), True
    for part in parts_of(kind):
        inside = kind == part
        if not inside.any():
            continue
        own = columns(inside, names)
        # Beside its own columns those of the pooled scores, whose quantile bins are of all events.
        both = [*own.values(), *(everywhere[metric][inside] for metric in pooled)]
        blocks = [column.reshape(int(inside.sum()), -1) for column in both]
        codes = codes_of(question[inside])[0]
        blocks.append((1.0 / np.bincount(codes)[codes])[:, None])  # sums to the number of questions drawn
        total = resampled_sums(
            np.hstack(blocks), clusters[inside], resamples=resampling.resamples, rng=rng, draws="half"
        )
        *sums, questions = np.split(total.sums, np.cumsum([block.shape[1] for block in blocks])[:-1], axis=1)
        few = total.clusters < MIN_CLUSTERS
        enough &= not few
        events += total.events
        for metric, sum_ in zip(pooled, sums[len(own) :], strict=True):
            whole[metric] = whole.get(metric, 0.0) + sum_
        for metric, sum_ in zip(own, sums, strict=False):
            values = _metric(metric, sum_, total.events, questions[:, 0], back.get(part, float("nan")))
            drawn[metric][part] = values
            if not few:
                card[metric][part] = _bounds(metric, estimates[metric][part], values, level)
    if (
        enough
    ):  # half the weight may lie on a type that hardly varies: the overall interval would be too narrow
        for metric, parts in drawn.items():
            overall = (
                _metric(metric, whole[metric], events, events, 0.0)
                if metric in POOLED
                else np.mean([_on_printed_scale(metric, values) for values in parts.values()], axis=0)
            )
            card[metric]["overall"] = _bounds("", estimates[metric]["overall"], overall, level)
            if "overall_of_mean_score" in card[metric]:
                mean = index_means(np.mean(list(parts.values()), axis=0))
                score = estimates[metric]["overall_of_mean_score"]
                card[metric]["overall_of_mean_score"] = _bounds("", score, mean, level)
    return card


def _on_printed_scale(metric: str, values: FloatArray) -> FloatArray:
    # Adjusted scores stay scores until here: their mean over question types is printed too.
    return index_means(values) if metric == "abi" else values


def _bounds(metric: str, estimate: float | None, resampled: FloatArray, level: float) -> list[float] | None:
    if estimate is None or not np.isfinite(resampled).all():
        return None
    interval = symmetric_interval(estimate, _on_printed_scale(metric, resampled), level=level)
    return [interval.low, interval.high]
