"""The JSON documents of the science commands, as functions from tables to plain values.

The command line, MCP and Python all show the same numbers, so each document is built once, in this file: no option
parsing, no printing. Keys and their order are a contract with whoever reads the JSON.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

import numpy as np

from workbench.errors import UsageError
from workbench.science.arrays import FloatArray, IntArray
from workbench.science.calibrating.calibration import Calibration, fit_calibration, fit_threshold
from workbench.science.comparing.agreement import consensus_matrix, mcnemar_matrix
from workbench.science.comparing.bootstrap import PairedResult
from workbench.science.comparing.comparison import (
    corrected,
    effect_table,
    mixed_comparisons,
    paired_comparisons,
    size_hints,
    trial_anova,
)
from workbench.science.pooling.elicitation import both_directions, prompt_ensemble, self_consistency
from workbench.science.pooling.ensembles import divergence_matrix
from workbench.science.pooling.pool import pool
from workbench.science.recipe import Prepared, Recipe, prepare
from workbench.science.scoring.baselines import baseline_forecast
from workbench.science.scoring.calibration_error import calibration_error
from workbench.science.scoring.market import TIE_WIDTH, TIES, Tie, market_returns, position_log, ties
from workbench.science.scoring.scorecard import (
    DEFAULT_METRICS,
    Difficulty,
    check_metrics,
    difficulty_of,
    scorecard,
    subset_scorecard,
)
from workbench.science.scoring.scores import brier, log_loss
from workbench.science.series.exceedance import exceedance, make_model
from workbench.science.series.history import History
from workbench.science.tables import Answers, Events, Forecasts

Document = dict[str, Any]

#: What the paired bootstrap may draw.
UNITS: dict[str, tuple[str, ...]] = {
    "question": ("question",),
    "event": ("event",),
    "both": ("question", "event"),
}


def method_names(forecasts: Forecasts, names: Sequence[str] = ()) -> list[str]:
    """The methods to work on: ``names`` if there are any, else all of the file.

    ``METHOD@VARIANT`` names one published variant of a method. A name the file does not have is refused.
    """
    for name in names:
        if name.partition("@")[0] not in forecasts.methods:
            known = ", ".join(forecasts.methods)
            raise UsageError(f"{forecasts.path} has no method {name!r}; it has: {known}")
    return list(names) or list(forecasts.methods)


def raw_forecasts(forecasts: Forecasts, method: str, variant: str = "forecast") -> FloatArray:
    """Trials (n, K) or published forecasts (n,) of a method; ``METHOD@VARIANT`` overrides ``variant``."""
    name, _, other = method.partition("@")
    if forecasts.keyed_by == "trial":
        return forecasts.trials(name)
    return forecasts.variant(name, other or variant)


def pooled_forecasts(
    forecasts: Forecasts, method: str, *, variant: str = "forecast", how: str = "logit-mean"
) -> FloatArray:
    """One forecast per event, shape (n,): the trials pooled, or the published forecasts as they are."""
    raw = raw_forecasts(forecasts, method, variant)
    return raw if raw.ndim == 1 else pool(raw, how)


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
        everyone = {
            name: pooled_forecasts(forecasts, name, variant=variant, how="mean") for name in forecasts.methods
        }
        difficulty = difficulty_of(events, everyone)
    entries: Document = {}
    for name in method_names(forecasts, methods):
        raw = raw_forecasts(forecasts, name, variant)
        entries[name] = _score_entry(
            name, raw, events, recipe, metrics, difficulty, by=by, subsets=subsets if raw.ndim == 2 else None
        )
    for spec in baselines:
        plain = Recipe(clip=recipe.clip)
        forecast = baseline_forecast(events, spec)
        entries[spec] = _score_entry(spec, forecast, events, plain, metrics, difficulty, by=by)
    return {"methods": entries}


def _score_entry(
    name: str,
    raw: FloatArray,
    events: Events,
    recipe: Recipe,
    metrics: Sequence[str],
    difficulty: Difficulty | None,
    *,
    by: str = "",
    subsets: int | None = None,
) -> Document:
    try:
        if subsets is not None:
            averaged, of_average, rows = subset_scorecard(raw, events, subsets, recipe.pool, metrics)
            return {
                **averaged,
                "n": _counts(rows, events, raw),
                "fitted": {},
                "forecast_averaged": of_average,
            }
        ready = prepare(raw, events, recipe)
        entry: Document = dict(scorecard(ready.p, ready.rows, events, metrics, difficulty))
    except UsageError as error:
        raise UsageError(f"{name}: {error}") from error
    entry["n"] = _counts(ready.rows, events, raw)
    entry["fitted"] = ready.fitted
    if by:
        labels = events.text(by)[ready.rows]
        entry["by"] = {}
        for label in np.unique(labels):
            inside = labels == label
            rows = ready.rows[inside]
            card = scorecard(ready.p[inside], rows, events, metrics, difficulty)
            entry["by"][str(label)] = {**card, "n": _counts(rows, events, raw[rows])}
    return entry


def _counts(rows: IntArray, events: Events, raw: FloatArray) -> Document:
    kinds, sizes = np.unique(events.kind[rows], return_counts=True)
    counts: Document = {"market": 0, "dataset": 0}
    counts |= {str(kind): int(size) for kind, size in zip(kinds, sizes, strict=True)}
    counts["overall"] = len(rows)
    counts["questions"] = len(np.unique(events.question[rows]))
    if raw.ndim == 2:
        number, how_often = np.unique(np.isfinite(raw).sum(axis=1), return_counts=True)
        counts["trials"] = {str(k): int(v) for k, v in zip(number, how_often, strict=True)}
    return counts


def compare_document(
    events: Events,
    forecasts: Forecasts,
    recipe: Recipe,
    reference: str,
    *,
    methods: Sequence[str] = (),
    variant: str = "forecast",
    baselines: Sequence[str] = (),
    unit: str = "question",
    resamples: int = 20_000,
    seed: int = 20261121,
) -> Document:
    """Every method against a reference, with what is needed to believe a difference: what `compare` prints.

    Parameters
    ----------
    events, forecasts, recipe, methods, variant, baselines
        As for `score_document`; the recipe goes for every method.
    reference : str
        A method, ``METHOD@VARIANT``, or a baseline.
    unit : {"question", "event", "both"}
        What the bootstrap draws.
    resamples, seed : int
        Of the paired bootstrap.

    Raises
    ------
    UsageError
        An unknown name, nothing to compare, or two methods that share no event.

    Examples
    --------
    >>> events = Events.of([1, 0, 1, 0], kind=["market", "market", "dataset", "dataset"])
    >>> forecasts = Forecasts.of(events, {"m": {"forecast": [0.9, 0.1, 0.8, 0.2]}}, keyed_by="variant")
    >>> document = compare_document(events, forecasts, Recipe(), "0.5", resamples=20)
    >>> round(document["paired_bootstrap"]["question"]["m"]["overall"]["difference"], 6)
    35.0
    """
    if unit not in UNITS:
        raise UsageError(f"--unit must be question, event or both, not {unit!r}")
    raw, values = {}, {}
    names = method_names(forecasts, methods)
    if reference.partition("@")[0] in forecasts.methods and reference not in names:
        names.append(reference)
    for name in names:
        raw[name] = raw_forecasts(forecasts, name, variant)
        values[name] = _on_all_events(prepare(raw[name], events, recipe), len(events))
    for spec in dict.fromkeys([*baselines, *([reference] if reference not in values else [])]):
        values[spec] = baseline_forecast(events, spec)
    if len(values) < 2:
        raise UsageError("there is nothing to compare: give at least one method beside the reference")
    names, p_values = mcnemar_matrix(values, events.outcome)
    others = len(values) - 1
    return {
        "reference": reference,
        "resamples": resamples,
        "seed": seed,
        "paired_bootstrap": {
            drawn: _paired(events, values, reference, by=drawn, resamples=resamples, seed=seed)
            for drawn in UNITS[unit]
        },
        "mixed_model": {
            name: {
                part: {"difference": c.difference, "se": c.error, "interval": [c.low, c.high]}
                for part, c in parts.items()
            }
            for name, parts in mixed_comparisons(events, values, reference).items()
        },
        "mcnemar": {"methods": names, "p": p_values.tolist()},
        "consensus": {"methods": names, "agreement": consensus_matrix(values)[1].tolist()},
        "divergence": {"methods": names, "bits": divergence_matrix(values)[1].tolist()},
        "als": {key: _effects(events, values, complete=key == "complete") for key in ("complete", "all")},
        "anova": {key: _anova(events, raw, complete=key == "complete") for key in ("complete", "all")},
        "sample_size": {
            name: {"needed": hint.needed, "have": hint.have, "power": hint.power, "hint": hint.sentence()}
            for name, hint in size_hints(events, values, reference).items()
        },
        "multiple_comparisons": (
            f"{others} methods against one reference: about {0.05 * others:.1f} would show p < 0.05 "
            "by chance alone; p_holm keeps the chance of any such to 5 %"
        ),
    }


def _on_all_events(ready: Prepared, size: int) -> FloatArray:
    p = np.full(size, np.nan)
    p[ready.rows] = ready.p
    return p


def _paired(
    events: Events, values: Mapping[str, FloatArray], reference: str, *, by: str, resamples: int, seed: int
) -> Document:
    results = paired_comparisons(
        events,
        values,
        reference,
        by_question=by == "question",
        resamples=resamples,
        seed=seed,
        draws="multinomial",  # the stream behind the published reference values
    )
    p_holm = corrected(results)
    return {
        name: {
            part: _pair(result) | ({"p_holm": p_holm[name]} if part == "overall" else {})
            for part, result in parts.items()
        }
        for name, parts in results.items()
    }


def _pair(result: PairedResult) -> Document:
    return {
        "n": result.n,
        "method": result.a,
        "reference": result.b,
        "difference": result.difference,
        "interval": [result.low, result.high],
        "method_interval": [result.a_low, result.a_high],
        "se": result.error,
        "p_one_sided": result.p_one_sided,
        "p_two_sided": result.p_two_sided,
        "stars": result.stars,
    }


def _effects(events: Events, values: Mapping[str, FloatArray], *, complete: bool) -> Document | None:
    fit = effect_table(events, values, complete=complete)
    if fit is None:
        return None
    effects = fit.effects
    return {
        "methods": list(fit.methods),
        "mu": effects.mean,
        "alpha": dict(zip(fit.methods, effects.method.tolist(), strict=True)),
        "raw_mean": dict(zip(fit.methods, fit.raw_mean.tolist(), strict=True)),
        "n": dict(zip(fit.methods, fit.n.tolist(), strict=True)),
        "gamma": dict(zip(events.event_id[fit.rows].tolist(), effects.question.tolist(), strict=True)),
        "gamma_sd": float(effects.question.std()),
        "sweeps": effects.sweeps,
    }


def _anova(events: Events, raw: Mapping[str, FloatArray], *, complete: bool) -> Document | None:
    table = trial_anova(events, raw, complete=complete)
    if table is None:
        return None
    names, fit = table
    shares = fit.shares
    return {
        "methods": names,
        "N": fit.n,
        "M": fit.methods,
        "Q": fit.questions,
        "grand_mean": fit.grand_mean,
        "SS_method": fit.ss_method,
        "SS_question": fit.ss_question,
        "SS_residual": fit.ss_residual,
        "SS_total": fit.ss_total,
        "pct_method": shares[0],
        "pct_question": shares[1],
        "pct_residual": shares[2],
        "df_method": fit.df_method,
        "df_question": fit.df_question,
        "df_residual": fit.df_residual,
        "F_method": fit.f_method,
        "F_question": fit.f_question,
    }


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
)


def market_forecasts(
    forecasts: Forecasts,
    *,
    methods: Sequence[str] = (),
    variant: str = "forecast",
    how: str = "mean",
    baselines: Sequence[str] = (),
) -> dict[str, FloatArray]:
    """Forecasts to bet on, one array of shape (n,) per method and baseline; both functions below take them."""
    values = {
        name: pooled_forecasts(forecasts, name, variant=variant, how=how)
        for name in method_names(forecasts, methods)
    }
    return values | {spec: baseline_forecast(forecasts.events, spec) for spec in baselines}


def returns_document(
    events: Events,
    values: Mapping[str, FloatArray],
    *,
    price: str = "crowd",
    levels: Sequence[float] = (0.0, 0.25, 0.5, 0.75, 1.0),
    tie: str = "no",
    by: str = "",
) -> Document:
    """What a dollar on every market event would have brought, per method: what `returns` prints.

    Parameters
    ----------
    events : Events
    values : mapping of str to ndarray of shape (n,)
        As from `market_forecasts`.
    price : str
        Column with the price of a Yes share.
    levels : sequence of float
        Risk aversions; 0 goes all in, 1 bets the forecast.
    tie : {"no", "yes", "half", "abstain"}
        The bet at level 0 where forecast equals price.
    by : str
        A column: also within each of its values.

    Raises
    ------
    UsageError
        No market event, no such column, or a price that cannot be bet at.

    Examples
    --------
    >>> events = Events.of([1, 0], kind="market", crowd=[0.5, 0.5])
    >>> document = returns_document(events, {"m": np.array([0.7, 0.2])}, levels=[0.0])
    >>> document["methods"]["m"]["average_return"]
    {'0': 2.0}
    """
    if tie not in TIES:
        raise UsageError(f"--tie must be one of {', '.join(TIES)}, not {tie!r}")
    if not (events.kind == "market").any():
        raise UsageError(f"{events.path} has no event of question_type market")
    prices = events.probability(price)
    entries: Document = {}
    for name, p in values.items():
        rows = _market_rows(name, p, prices, events)
        entries[name] = _returns(p, prices, events, rows, levels, cast(Tie, tie))
        if by:
            labels = events.text(by)[rows]
            entries[name]["by"] = {
                str(label): _returns(p, prices, events, rows[labels == label], levels, cast(Tie, tie))
                for label in np.unique(labels)
            }
    return {"methods": entries}


def position_rows(
    events: Events,
    values: Mapping[str, FloatArray],
    *,
    price: str = "crowd",
    levels: Sequence[float] = (0.0, 0.25, 0.5, 0.75, 1.0),
    tie: str = "no",
) -> list[list[Any]]:
    """Every bet behind `returns_document`, one row of `POSITION_COLUMNS` each; an empty stake means no bet."""
    prices = events.probability(price)
    lines: list[list[Any]] = []
    for name, p in values.items():
        rows = _market_rows(name, p, prices, events)
        ids, outcome = events.event_id[rows].tolist(), events.outcome[rows]
        for level in levels:
            for bet in position_log(ids, p[rows], prices[rows], outcome, level, tie=cast(Tie, tie)):
                stake = "" if bet.on_yes is None else bet.on_yes
                figures = [bet.forecast, bet.price, bet.edge, bet.side, stake, bet.payoff, bet.running_total]
                lines.append([name, f"{level:g}", bet.event, *figures])
    return lines


def _market_rows(name: str, p: FloatArray, prices: FloatArray, events: Events) -> IntArray:
    rows = np.flatnonzero((events.kind == "market") & np.isfinite(p))
    if not len(rows):
        raise UsageError(f"{name}: no market event has a forecast")
    unusable = ~((prices[rows] > 0) & (prices[rows] < 1))
    if unusable.any():
        event = str(events.event_id[rows][int(np.argmax(unusable))])
        raise UsageError(f"{name}: event {event!r} has no price strictly between 0 and 1")
    return rows


def _returns(
    forecast: FloatArray,
    prices: FloatArray,
    events: Events,
    rows: IntArray,
    levels: Sequence[float],
    tie: Tie,
) -> Document:
    p, q, o = forecast[rows], prices[rows], events.outcome[rows]
    results = {f"{level:g}": market_returns(p, q, o, level, tie=tie) for level in levels}
    return {
        "n": len(p),
        "average_return": {key: r.average_return for key, r in results.items()},
        "sharpe": {key: r.sharpe for key, r in results.items()},
        "sharpe_ddof0": {key: r.sharpe_ddof0 for key, r in results.items()},
        "total_payoff": {key: r.total for key, r in results.items()},
        "max_payoff": {key: r.largest for key, r in results.items()},
        "zero_payoffs": {key: r.lost for key, r in results.items()},
        "payoff_sd": {key: r.deviation for key, r in results.items()},
        "brier": brier(p, o),
        "ece": calibration_error(p, o),
        "ece_right_closed": calibration_error(p, o, closed="right"),
        "ties": int(ties(p, q).sum()),
        "yes_bets": int((p - q > TIE_WIDTH).sum()),
    }


def calibration_document(
    events: Events,
    forecasts: Forecasts,
    method: str,
    *,
    variant: str = "forecast",
    how: str = "logit-mean",
    factors: Sequence[str] = (),
    penalty: float = 1.0,
    minimum: int = 10,
    threshold: bool = False,
) -> tuple[Calibration, Document]:
    """A calibration learned from every resolved forecast of a method, and the document that `calibrate fit` prints.

    Parameters
    ----------
    events, forecasts : Events, Forecasts
        Events may be unresolved; only resolved ones teach.
    method, variant, how : str
        Whose forecasts, and how their trials are pooled.
    factors : sequence of str
        Offsets along these (`Events.factor`).
    penalty, minimum, threshold
        As for `fit_calibration`.

    Raises
    ------
    UsageError
        Nothing has resolved, or too little to learn from.
    """
    p = _some(method, pooled_forecasts(forecasts, method, variant=variant, how=how))
    rows = np.flatnonzero(np.isfinite(p) & np.isfinite(events.outcome))
    if not len(rows):
        raise UsageError(f"{method}: no forecast has resolved yet, there is nothing to learn from")
    labels = {factor: events.factor(factor)[rows] for factor in factors}
    p, o = p[rows], events.outcome[rows]
    model = fit_calibration(
        p,
        o,
        labels,
        penalty=penalty,
        minimum=minimum,
        threshold=threshold,
        learned_from=f"{method}, {len(rows)} resolved forecasts",
    )
    calibrated = model.apply(p, labels)
    document: Document = {
        **model.to_json(),
        "in_sample": {
            "brier_before": brier(p, o),
            "brier_after": brier(calibrated, o),
            "log_loss_before": log_loss(p, o),
            "log_loss_after": log_loss(calibrated, o),
        },
    }
    if threshold:
        cut = fit_threshold(calibrated, o)
        document["threshold_fit"] = {
            "threshold": cut.threshold,
            "accuracy": cut.accuracy,
            "accuracy_at_half": cut.accuracy_at_half,
        }
    return model, document


def calibrated_document(
    model: Calibration,
    events: Events,
    forecasts: Forecasts,
    *,
    methods: Sequence[str] = (),
    variant: str = "forecast",
    how: str = "logit-mean",
) -> Document:
    """Forecasts after a saved calibration, resolved or not: what `calibrate apply` prints.

    ``unseen`` lists the groups the calibration has no offset for, per factor.
    """
    factors = {name: events.factor(name) for name in model.deltas}
    rows: list[Document] = []
    for name in method_names(forecasts, methods):
        p = _some(name, pooled_forecasts(forecasts, name, variant=variant, how=how))
        known = np.isfinite(p)
        calibrated = model.apply(p[known], {factor: labels[known] for factor, labels in factors.items()})
        calls = model.decide(calibrated) if model.threshold is not None else None
        for index, event in enumerate(events.event_id[known]):
            row = {
                "method": name,
                "event_id": str(event),
                "variant": "calibrated",
                "p": float(calibrated[index]),
                "p_raw": float(p[known][index]),
            }
            rows.append(row if calls is None else {**row, "yes": int(calls[index])})
    return {"forecasts": rows, "unseen": model.unseen(factors), "threshold": model.threshold}


def _some(method: str, p: FloatArray) -> FloatArray:
    if not np.isfinite(p).any():
        raise UsageError(f"{method}: no event has a forecast")
    return p


def exceed_document(
    history: History,
    *,
    cutoff: str,
    targets: Sequence[str],
    levels: Sequence[float],
    models: Sequence[str] = ("hybrid",),
) -> Document:
    """Chances that a series lies above each level on each day, from data before the cutoff: what `exceed` prints.

    Parameters
    ----------
    history : History
        May reach past the cutoff: whatever does is not used.
    cutoff : str
        ISO date, the first day that may not be used.
    targets : sequence of str
        ISO dates, none before the cutoff.
    levels : sequence of float
    models : sequence of str
        Keys of `model_names`.

    Examples
    --------
    >>> days = np.arange("2020-01-01", "2020-03-01", dtype="datetime64[D]")
    >>> history = History.of(days, np.arange(60.0))
    >>> exceed_document(history, cutoff="2020-02-01", targets=["2020-02-03"], levels=[0.0])["last"]
    {'day': '2020-01-31', 'value': 30.0, 'observations': 31}
    """
    chances: list[Document] = []
    for name in models:
        p = exceedance(make_model(name), history, cutoff=cutoff, targets=list(targets), levels=list(levels))
        chances += [
            {"model": name, "day": day, "above": level, "p": float(p[row, column])}
            for row, day in enumerate(targets)
            for column, level in enumerate(levels)
        ]
    seen = history.before(np.datetime64(cutoff, "D"))
    last = {"day": str(seen.days[-1]), "value": float(seen.values[-1]), "observations": len(seen)}
    return {"cutoff": cutoff, "last": last, "chances": chances}


Elicited = Literal["ensemble", "both_directions", "votes", "weighted_votes"]


def elicit_document(answers: Mapping[str, Answers]) -> Document:
    """Probabilities from one model's answers to one question in several forms: what `elicit` prints.

    Parameters
    ----------
    answers : mapping of str to Answers
        As from `read_answers`.

    Examples
    --------
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
                entry["weighted_votes"] = None if np.isnan(weighted) else weighted
        entries[event] = entry
    return {"events": entries}


def paper_tables_document(
    events: Events, published: Forecasts, trials: Forecasts, *, resamples: int = 5000, seed: int = 20261121
) -> Document:
    """Tables 1, 9 and 17 of paper B as printed, beside ours: what `paper-tables` prints."""
    # Only this command reads the module of printed figures, so no other document pays for it.
    from workbench.science.comparing.paper_tables import UNREACHABLE, paper_tables

    cells = paper_tables(events, published, trials, resamples=resamples, seed=seed)
    return {
        "cells": [
            {
                "table": c.table,
                "row": c.row,
                "column": c.column,
                "printed": c.printed,
                "ours": c.ours,
                "difference": c.difference,
                "agrees": c.agrees,
                "printed_note": c.printed_note,
                "our_note": c.our_note,
                "why": c.why,
            }
            for c in cells
        ],
        "unreachable": [{"what": what, "why": why} for what, why in UNREACHABLE],
    }
