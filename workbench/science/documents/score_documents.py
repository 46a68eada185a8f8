"""The documents that `score`, `returns` and `elicit` print, and the forecasts of a method out of a file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np

from workbench.errors import Option, UsageError
from workbench.science.arrays import FloatArray, IntArray
from workbench.science.comparing.clusters import cluster_count, day_count, event_clusters, series_clusters
from workbench.science.comparing.mean_intervals import PLAIN, Resampling
from workbench.science.comparing.return_intervals import return_intervals
from workbench.science.comparing.score_intervals import card_of, interval_card
from workbench.science.pooling.elicitation import both_directions, prompt_ensemble, self_consistency
from workbench.science.pooling.pool import pool
from workbench.science.recipe import Recipe, prepare
from workbench.science.scoring.baselines import baseline_forecast
from workbench.science.scoring.betting import Costs, Positions, whole_dollar, with_costs
from workbench.science.scoring.calibration_error import calibrated_error, calibration_error
from workbench.science.scoring.market import TIE_WIDTH, TIES, EdgeAndLuck, Returns, Tie, returns_of, ties
from workbench.science.scoring.payoffs import payoff_rule
from workbench.science.scoring.scorecard import (
    DEFAULT_METRICS,
    Difficulty,
    SubsetScores,
    calibrated_card,
    check_metrics,
    difficulty_of,
    scorecard,
    subset_scorecard,
)
from workbench.science.scoring.scores import brier, consistency_scores
from workbench.science.scoring.utility import Normalise, utility_scores
from workbench.science.tables import Answers, Events, Forecasts

Document = dict[str, Any]


def method_names(forecasts: Forecasts, names: Sequence[str] = ()) -> list[str]:
    """Return the methods to work on: ``names`` if there are any, else all of the file.

    ``METHOD@VARIANT`` names one published variant of a method. A name the file does not have is refused.
    """
    for name in names:
        if name.partition("@")[0] not in forecasts.methods:
            available = ", ".join(forecasts.methods)
            raise UsageError(f"{forecasts.path} has no method {name!r}; it has: {available}")
    return list(names) or list(forecasts.methods)


def raw_forecasts(forecasts: Forecasts, method: str, variant: str = "forecast") -> FloatArray:
    """Return trials (n, K) or published forecasts (n,) of a method; ``METHOD@VARIANT`` overrides ``variant``."""
    name, _, other = method.partition("@")
    if forecasts.keyed_by == "trial":
        return forecasts.trials(name)
    return forecasts.variant(name, other or variant)


def pooled_forecasts(
    forecasts: Forecasts, method: str, *, variant: str = "forecast", how: str = "logit-mean"
) -> FloatArray:
    """Return one forecast per event, shape (n,): the trials pooled, or the published forecasts as they are."""
    raw = raw_forecasts(forecasts, method, variant)
    return raw if raw.ndim == 1 else pool(raw, how)


Elicited = Literal["ensemble", "both_directions", "votes", "weighted_votes"]


def elicit_document(answers: Mapping[str, Answers]) -> Document:
    """Combine one model's answers to one question in several forms to probabilities: the document of `elicit`.

    >>> both = Answers(variants=[], yes=0.7, no=0.5, votes=[], confidence=[])
    >>> round(elicit_document({"e": both})["events"]["e"]["both_directions"], 6)
    0.6
    """
    entries: dict[str, dict[Elicited, float | None]] = {}
    for event, answer in answers.items():
        entry: dict[Elicited, float | None] = {}
        if answer.variants:
            entry["ensemble"] = float(prompt_ensemble([answer.variants])[0])
        if answer.yes is not None and answer.no is not None:
            entry["both_directions"] = float(both_directions([answer.yes], [answer.no])[0])
        if answer.votes:
            entry["votes"] = float(self_consistency([answer.votes])[0])
            if any(c is not None for c in answer.confidence):
                weights = [[np.nan if c is None else c for c in answer.confidence]]
                weighted = float(self_consistency([answer.votes], weights)[0])
                # No weight at all gives nan, which JSON does not have.
                entry["weighted_votes"] = None if np.isnan(weighted) else weighted
        entries[event] = entry
    return {"events": entries}


@dataclass(frozen=True, slots=True, kw_only=True)
class UtilityRule:
    """The payoff of going long or short on a market event: a rule of `workbench.science.scoring.payoffs` and the price's column."""

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
        chances = [(chance, 1.0 - chance) for chance in p[usable].tolist()]
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
    """Score every method by question type and overall: the document of `score`.

    >>> events = Events.of([1, 0], kind=["market", "dataset"])
    >>> forecasts = Forecasts.of(events, {"m": {"forecast": [0.5, 0.0]}}, keyed_by="variant")
    >>> score_document(events, forecasts, Recipe(), metrics=["brier"])["methods"]["m"]["brier"]
    {'market': 0.25, 'dataset': 0.0, 'overall': 0.125}
    """
    metrics = check_metrics(metrics)
    if subsets is not None and forecasts.keyed_by != "trial":
        raise UsageError(Option("subsets"), " needs a file of trials")
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
    def card(p: FloatArray, rows: IntArray, raw_rows: FloatArray) -> Document:
        scores = scorecard(p, rows, events, metrics, difficulty)
        entry: Document = {**scores, "n": _counts(rows, events, raw_rows)}
        if calibrated := calibrated_card(p, events.kind[rows], metrics, series_clusters(events)[rows]):
            entry["calibrated"] = calibrated
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
    if consistency := consistency_entry(ready.p, ready.rows, events):
        entry["consistency"] = consistency
    if by:
        labels = events.text(by)[ready.rows]
        entry["by"] = {
            str(label): card(ready.p[inside], ready.rows[inside], raw[ready.rows[inside]])
            for label in np.unique(labels)
            for inside in [labels == label]
        }
    return entry


def consistency_entry(p: FloatArray, rows: IntArray, events: Events) -> Document:
    """`consistency_scores` of forecasts of these rows; empty where no outcomes of the file exclude or imply each other."""
    if "outcome_set" not in events.frame.columns:
        return {}
    return dict(
        consistency_scores(
            p,
            events.text("outcome_set")[rows],
            events.number("set_size")[rows],
            events.number("set_step")[rows],
        )
    )


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
            scores.per_event,
            events.kind[rows],
            events.question[rows],
            event_clusters(events)[rows],
            scores.averaged,
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
    counts["days"] = day_count(events, rows)
    if raw.ndim == 2:
        number, how_often = np.unique(np.isfinite(raw).sum(axis=1), return_counts=True)
        counts["trials"] = {str(k): int(v) for k, v in zip(number, how_often, strict=True)}
    return counts


#: Header of the position log that `returns --log` writes.
POSITION_COLUMNS = (
    "method",
    "risk_aversion",
    "event_id",
    "p",
    "price",
    "edge",
    "side",
    "on_yes",
    "payoff",
    "running_total",
    "stake",
    "expected",
    "luck",
)


def market_forecasts(
    forecasts: Forecasts,
    *,
    methods: Sequence[str] = (),
    variant: str = "forecast",
    how: str = "mean",
    baselines: Sequence[str] = (),
) -> dict[str, FloatArray]:
    """Return forecasts to bet on, one array of shape (n,) per method and baseline; both functions below take them."""
    values = {
        name: pooled_forecasts(forecasts, name, variant=variant, how=how)
        for name in method_names(forecasts, methods)
    }
    return values | {spec: baseline_forecast(forecasts.events, spec) for spec in baselines}


@dataclass(frozen=True, slots=True, kw_only=True)
class BettingRules:
    """The rules by which forecasts are bet on."""

    #: Column with the price of a Yes share.
    price: str = "crowd"
    #: Risk aversions; 0 goes all in, 1 bets the forecast.
    levels: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)
    #: The bet at level 0 where forecast equals price.
    tie: str = "no"
    #: With costs a bet is of one side and sized after them, and what it leaves is kept; without, as paper P, the whole dollar is bet.
    costs: Costs | None = None
    #: Column with the price of a No share, where that is not one minus the other: the spread.
    no_price: str = ""
    #: Column by which the edge of the results is measured, such as a later price; "" is the forecaster's own.
    belief: str = ""

    def __post_init__(self) -> None:
        if self.tie not in TIES:
            raise UsageError(Option("tie"), f" must be one of {', '.join(TIES)}, not {self.tie!r}")
        if self.no_price and self.costs is None:
            # Paper P's bets are of both sides at prices that sum to 1.
            object.__setattr__(self, "costs", Costs())

    def positions(self, events: Events, p: FloatArray, rows: IntArray, level: float) -> Positions:
        """The bets of one level on the events at ``rows``, whose forecasts are ``p``."""
        price = events.probability(self.price)[rows]
        if self.costs is None:
            return whole_dollar(p, price, level, tie=cast(Tie, self.tie))
        no_ask = events.probability(self.no_price)[rows] if self.no_price else None
        return with_costs(p, price, no_ask, level, self.costs)

    def beliefs(self, events: Events, p: FloatArray, rows: IntArray) -> FloatArray:
        """Probabilities by which edge is measured; one line on an event that has none."""
        if not self.belief:
            return p
        belief = events.probability(self.belief)[rows]
        if np.isnan(belief).any():
            event = str(events.event_id[rows][int(np.argmax(np.isnan(belief)))])
            raise UsageError(f"event {event!r} has no {self.belief} to measure the edge by")
        return belief


PAPER = BettingRules()


def returns_document(
    events: Events,
    values: Mapping[str, FloatArray],
    *,
    rules: BettingRules = PAPER,
    by: str = "",
    resampling: Resampling = PLAIN,
) -> Document:
    """Compute the returns of a dollar on every market event, per method: the document of `returns`.

    >>> events = Events.of([1, 0], kind="market", crowd=[0.5, 0.5])
    >>> document = returns_document(events, {"m": np.array([0.7, 0.2])}, rules=BettingRules(levels=(0.0,)))
    >>> document["methods"]["m"]["average_return"]
    {'0': 2.0}
    """
    if not (events.kind == "market").any():
        raise UsageError(f"{events.path} has no event of question_type market")
    entries: Document = {}
    for name, p in values.items():
        rows = _market_rows(name, p, rules, events)
        entries[name] = _returns(p, events, rows, rules, resampling)
        if by:
            labels = events.text(by)[rows]
            entries[name]["by"] = {
                str(label): _returns(p, events, rows[labels == label], rules, resampling)
                for label in np.unique(labels)
            }
    return {"methods": entries} | resampling.note()


def position_rows(
    events: Events, values: Mapping[str, FloatArray], *, rules: BettingRules = PAPER
) -> list[list[Any]]:
    """List every bet behind `returns_document`, one row of `POSITION_COLUMNS` each; an empty share on Yes means no bet."""
    lines: list[list[Any]] = []
    for name, forecast in values.items():
        rows = _market_rows(name, forecast, rules, events)
        p, price = forecast[rows], events.probability(rules.price)[rows]
        belief = rules.beliefs(events, p, rows)
        for level in rules.levels:
            bets = rules.positions(events, p, rows, level)
            split = bets.split(events.outcome[rows], belief)
            on_yes = ["" if np.isnan(share) else share for share in bets.on_yes.tolist()]
            columns = (
                events.event_id[rows], p, price, p - price, bets.side, on_yes, split.gain + 1.0,
                np.cumsum(split.gain), bets.stake, split.edge, split.luck,
            )  # fmt: skip
            cells = (column.tolist() if isinstance(column, np.ndarray) else column for column in columns)
            lines += [[name, f"{level:g}", *line] for line in zip(*cells, strict=True)]
    return lines


def _market_rows(name: str, p: FloatArray, rules: BettingRules, events: Events) -> IntArray:
    rows = np.flatnonzero((events.kind == "market") & np.isfinite(p))
    if not len(rows):
        raise UsageError(f"{name}: no market event has a forecast")
    for column in filter(None, (rules.price, rules.no_price)):
        prices = events.probability(column)[rows]
        unusable = ~((prices > 0) & (prices < 1))
        if unusable.any():
            event = str(events.event_id[rows][int(np.argmax(unusable))])
            raise UsageError(f"{name}: event {event!r} has no price strictly between 0 and 1 in {column}")
    return rows


def _returns(
    forecast: FloatArray, events: Events, rows: IntArray, rules: BettingRules, resampling: Resampling
) -> Document:
    p, q, o = forecast[rows], events.probability(rules.price)[rows], events.outcome[rows]
    clusters = event_clusters(events)[rows]
    belief = rules.beliefs(events, p, rows)
    bets = {f"{level:g}": rules.positions(events, p, rows, level) for level in rules.levels}
    splits: dict[str, EdgeAndLuck] = {key: positions.split(o, belief) for key, positions in bets.items()}
    results = {key: returns_of(split.gain + 1.0)._asdict() for key, split in splits.items()}
    entry: Document = {
        "n": len(p),
        "clusters": cluster_count(clusters),
        "days": day_count(events, rows),
        **{name: {key: result[name] for key, result in results.items()} for name in Returns._fields},
        "edge": {key: float(split.edge.mean()) for key, split in splits.items()},
        "luck": {key: float(split.luck.mean()) for key, split in splits.items()},
        "luck_z": {key: split.luck_z(clusters) for key, split in splits.items()},
        "staked": {key: float(positions.stake.mean()) for key, positions in bets.items()},
        "brier": brier(p, o),
        "ece": calibration_error(p, o),
        "calibrated": {"ece": calibrated_error(p, series_clusters(events)[rows])._asdict()},
        "ece_right_closed": calibration_error(p, o, closed="right"),
        "ties": int(ties(p, q).sum()),
        "yes_bets": int((p - q > TIE_WIDTH).sum()),
    }
    if resampling.resamples:
        entry["intervals"] = return_intervals(entry, splits, p, q, o, clusters, resampling)
    return entry
