"""The document that `score` prints."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from workbench.errors import UsageError
from workbench.science.arrays import FloatArray, IntArray
from workbench.science.comparing.clusters import cluster_count, event_clusters
from workbench.science.comparing.score_intervals import PLAIN, Resampling, card_of, interval_card
from workbench.science.documents.forecasts import Document, method_names, pooled_forecasts, raw_forecasts
from workbench.science.recipe import Recipe, prepare
from workbench.science.scoring.baselines import baseline_forecast
from workbench.science.scoring.payoffs import payoff_rule
from workbench.science.scoring.scorecard import (
    DEFAULT_METRICS,
    Difficulty,
    SubsetScores,
    check_metrics,
    difficulty_of,
    scorecard,
    subset_scorecard,
)
from workbench.science.scoring.utility import Normalise, utility_scores
from workbench.science.tables import Events, Forecasts


@dataclass(frozen=True, slots=True, kw_only=True)
class UtilityRule:
    """What going long or short on a market event is worth: a rule of `workbench.science.scoring.payoffs` and the price's column."""

    rule: str
    price: str = "crowd"

    def scores(self, events: Events, p: FloatArray, rows: IntArray) -> Document:
        """Accuracy, soft and hard utility over the market events that have a price, both normalisations of paper A."""
        rule = payoff_rule(self.rule)
        price = events.probability(self.price)[rows]
        usable = (events.kind[rows] == "market") & (price > 0) & (price < 1)
        if not usable.any():
            raise UsageError(f"no market event has a {self.price} strictly between 0 and 1 to buy at")
        chosen = rows[usable]
        days = events.number("horizon_days")[chosen] if "horizon_days" in events.frame.columns else 0.0
        long, short = rule.market(price[usable], events.outcome[chosen], np.nan_to_num(np.asarray(days)))
        chances = [(own, 1.0 - own) for own in p[usable].tolist()]
        worth = list(zip(long.tolist(), short.tolist(), strict=True))
        task, whole = (utility_scores(chances, worth, normalise=how) for how in NORMALISATIONS)
        return {
            "rule": self.rule,
            "n": len(chosen),
            "accuracy": task.accuracy,
            "soft": task.soft,
            "hard": task.hard,
            "soft_pooled": whole.soft,
            "hard_pooled": whole.hard,
            "confidence": task.confidence,
        }


NORMALISATIONS: tuple[Normalise, Normalise] = ("per-task", "pooled")


def score_document(
    events: Events,
    forecasts: Forecasts,
    recipe: Recipe,
    *,
    metrics: Sequence[str] = DEFAULT_METRICS,
    methods: Sequence[str] = (),
    variant: str = "forecast",
    baselines: Sequence[str] = (),
    by: str = "",
    subsets: int | None = None,
    resampling: Resampling = PLAIN,
    utility: UtilityRule | None = None,
) -> Document:
    """Scores of every method by question type and overall: what `score` prints.

    Parameters
    ----------
    events, forecasts : Events, Forecasts
        Forecasts tied to these very events.
    recipe : Recipe
        What is done to the raw forecasts first.
    metrics : sequence of str
        Keys of `workbench.science.scoring.scorecard.METRICS`.
    methods, baselines : sequence of str
        All methods of the file when empty; specifications of `baseline_forecast`.
    variant : str
        Which published forecast is scored.
    by : str
        A column: also score within each of its values.
    subsets : int, optional
        Average the scores over all subsets of so many trials.
    resampling : Resampling
        Behind ``intervals``, one of each score; none with 0 resamples.
    utility : UtilityRule, optional
        Also the utility of going long or short on every market event (paper A, section 5.1).

    Raises
    ------
    UsageError
        An unknown name, or a method that cannot be scored; the line starts with the method.

    Examples
    --------
    >>> events = Events.of([1, 0], kind=["market", "dataset"])
    >>> forecasts = Forecasts.of(events, {"m": {"forecast": [0.5, 0.0]}}, keyed_by="variant")
    >>> score_document(events, forecasts, Recipe(), metrics=["brier"])["methods"]["m"]["brier"]
    {'market': 0.25, 'dataset': 0.0, 'overall': 0.125}
    """
    metrics = check_metrics(metrics)
    if subsets is not None and forecasts.keyed_by != "trial":
        raise UsageError("--subsets needs a file of trials")
    difficulty = None
    if "abi" in metrics:
        # All methods of the file, also if few are scored: how hard a question is must not depend on the selection.
        everyone = {
            name: pooled_forecasts(forecasts, name, variant=variant, how="mean") for name in forecasts.methods
        }
        difficulty = difficulty_of(events, everyone)
    entries: Document = {}
    for name in method_names(forecasts, methods):
        raw = raw_forecasts(forecasts, name, variant)
        entries[name] = _score_entry(
            name,
            raw,
            events,
            recipe,
            metrics,
            difficulty,
            resampling,
            by=by,
            subsets=subsets if raw.ndim == 2 else None,
        )
        if utility is not None and subsets is None:
            ready = prepare(raw, events, recipe)
            entries[name]["utility"] = utility.scores(events, ready.p, ready.rows)
    for spec in baselines:
        # A baseline is the yardstick and stays as it is: never pooled, shrunk or calibrated.
        plain = Recipe(clip=recipe.clip)
        forecast = baseline_forecast(events, spec)
        entries[spec] = _score_entry(spec, forecast, events, plain, metrics, difficulty, resampling, by=by)
    return {"methods": entries} | resampling.note()


def _score_entry(
    name: str,
    raw: FloatArray,
    events: Events,
    recipe: Recipe,
    metrics: Sequence[str],
    difficulty: Difficulty | None,
    resampling: Resampling,
    *,
    by: str = "",
    subsets: int | None = None,
) -> Document:
    def card(p: FloatArray, rows: IntArray, own: FloatArray) -> Document:
        scores = scorecard(p, rows, events, metrics, difficulty)
        entry: Document = {**scores, "n": _counts(rows, events, own)}
        if resampling.resamples:
            entry["intervals"] = interval_card(p, rows, events, metrics, scores, difficulty, resampling)
        return entry

    try:
        if subsets is not None:
            return _subset_entry(
                raw, events, subset_scorecard(raw, events, subsets, recipe.pool, metrics), resampling
            )
        ready = prepare(raw, events, recipe)
        entry = card(ready.p, ready.rows, raw)
    except UsageError as error:
        raise UsageError(f"{name}: {error}") from error
    entry["fitted"] = ready.fitted
    if by:
        labels = events.text(by)[ready.rows]
        entry["by"] = {
            str(label): card(ready.p[inside], ready.rows[inside], raw[ready.rows[inside]])
            for label in np.unique(labels)
            for inside in [labels == label]
        }
    return entry


def _subset_entry(raw: FloatArray, events: Events, scores: SubsetScores, resampling: Resampling) -> Document:
    rows = scores.rows
    entry: Document = {
        **scores.averaged,
        "n": _counts(rows, events, raw),
        "fitted": {},
        "forecast_averaged": scores.of_average,
    }
    if resampling.resamples:
        entry["intervals"] = card_of(
            lambda inside, names: {name: scores.per_event[name][inside] for name in names},
            events.kind[rows],
            events.question[rows],
            event_clusters(events)[rows],
            scores.averaged,
            {},
            resampling,
        )
    return entry


def _counts(rows: IntArray, events: Events, raw: FloatArray) -> Document:
    kinds, sizes = np.unique(events.kind[rows], return_counts=True)
    counts: Document = {"market": 0, "dataset": 0}
    counts |= {str(kind): int(size) for kind, size in zip(kinds, sizes, strict=True)}
    counts["overall"] = len(rows)
    counts["questions"] = len(np.unique(events.question[rows]))
    counts["clusters"] = cluster_count(event_clusters(events)[rows])
    if raw.ndim == 2:
        number, how_often = np.unique(np.isfinite(raw).sum(axis=1), return_counts=True)
        counts["trials"] = {str(k): int(v) for k, v in zip(number, how_often, strict=True)}
    return counts
