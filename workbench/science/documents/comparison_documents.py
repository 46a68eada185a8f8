"""The documents that `compare` and `paper-tables` print."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

import numpy as np

from workbench.errors import Option, UsageError
from workbench.formatting import counted
from workbench.science.arrays import FloatArray
from workbench.science.comparing.agreement import consensus_matrix, mcnemar_matrix
from workbench.science.comparing.bootstrap import PairedResult
from workbench.science.comparing.clusters import MIN_CLUSTERS
from workbench.science.comparing.comparison import (
    bootstrap_comparisons,
    effect_table,
    judge,
    mixed_comparisons,
    paired_comparisons,
    size_hints,
    trial_anova,
)
from workbench.science.comparing.mean_intervals import Bounds
from workbench.science.comparing.mixed import IndexContrast
from workbench.science.comparing.paired import holm, holm_matrix
from workbench.science.comparing.score_intervals import interval_card
from workbench.science.documents.score_documents import Document, method_names, raw_forecasts
from workbench.science.pooling.ensembles import divergence_matrix, greedy_ensemble, greedy_leave_out
from workbench.science.recipe import SHRINKAGES, Prepared, Recipe, prepare
from workbench.science.scoring.baselines import baseline_forecast
from workbench.science.scoring.scorecard import scorecard
from workbench.science.tables import Events, Forecasts


def paper_tables_document(
    events: Events, published: Forecasts, trials: Forecasts, *, resamples: int = 5000, seed: int = 20261121
) -> Document:
    """Return tables 1, 9 and 17 of paper B as printed, beside ours: the document of `paper-tables`."""
    # Only this command reads the module of printed figures, so no other document pays for it.
    from workbench.science.comparing.paper_b_tables import PRINTED, paper_tables

    cells = paper_tables(events, published, trials, resamples=resamples, seed=seed)
    return {
        "cells": [{**asdict(cell), "difference": cell.difference, "agrees": cell.agrees} for cell in cells],
        "unreachable": PRINTED["unreachable"],
    }


#: Units that the paired bootstrap may draw.
UNITS: dict[str, tuple[str, ...]] = {
    "question": ("question",),
    "event": ("event",),
    "both": ("question", "event"),
}


ENSEMBLES = ("none", "greedy")
#: Name of the ensemble among the methods.
GREEDY = "greedy ensemble"


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
    ensemble: str = "none",
) -> Document:
    """Compare every method with a reference, with all that is needed to believe a difference: the document of `compare`.

    ``paired_test`` holds the verdicts; ``paired_bootstrap`` is BLF's own procedure, without any.

    >>> events = Events.of([1, 0, 1, 0], kind=["market", "market", "dataset", "dataset"])
    >>> forecasts = Forecasts.of(events, {"m": {"forecast": [0.9, 0.1, 0.8, 0.2]}}, keyed_by="variant")
    >>> document = compare_document(events, forecasts, Recipe(), "0.5", resamples=20)
    >>> round(document["paired_test"]["m"]["overall"]["difference"], 6), document["paired_test"]["m"]["overall"]["verdict"]
    (35.0, None)
    """
    if unit not in UNITS:
        raise UsageError(Option("unit"), f" must be question, event or both, not {unit!r}")
    if ensemble not in ENSEMBLES:
        raise UsageError(Option("ensemble"), f" must be one of {', '.join(ENSEMBLES)}, not {ensemble!r}")
    raw, values = {}, {}
    names = method_names(forecasts, methods)
    if reference.partition("@")[0] in forecasts.methods and reference not in names:
        names.append(reference)
    for name in names:
        raw[name] = raw_forecasts(forecasts, name, variant)
        values[name] = _on_all_events(prepare(raw[name], events, recipe), len(events))
    grown = _ensemble(events, values, recipe) if ensemble == "greedy" else None
    if grown is not None:
        values[GREEDY] = grown[0]
    for spec in dict.fromkeys([*baselines, *([reference] if reference not in values else [])]):
        values[spec] = baseline_forecast(events, spec)
    if len(values) < 2:
        raise UsageError("there is nothing to compare: give at least one method beside the reference")
    names, p_values = mcnemar_matrix(values, events.outcome)
    others = len(values) - 1
    mixed = mixed_comparisons(events, values, reference)
    return {
        "reference": reference,
        "resamples": resamples,
        "seed": seed,
        "paired_test": _tested(events, values, reference, mixed, resamples=resamples, seed=seed),
        "paired_bootstrap": {
            drawn: _paired(events, values, reference, by=drawn, resamples=resamples, seed=seed)
            for drawn in UNITS[unit]
        },
        "mixed_model": {
            name: {
                part: {"difference": c.difference, "se": c.error, "interval": [c.low, c.high]}
                for part, c in parts.items()
            }
            for name, parts in mixed.items()
        },
        "mcnemar": {
            "methods": names,
            "p": p_values.tolist(),
            "p_holm": holm_matrix(p_values).tolist(),
            "looked_at": len(names) * (len(names) - 1) // 2,
        },
        "consensus": {"methods": names, "agreement": consensus_matrix(values)[1].tolist()},
        "divergence": {"methods": names, "bits": divergence_matrix(values)[1].tolist()},
        "als": {key: effect_table(events, values, complete=key == "complete") for key in ("complete", "all")},
        "anova": {key: trial_anova(events, raw, complete=key == "complete") for key in ("complete", "all")},
        **({} if grown is None else {"ensemble": grown[1]}),
        "sample_size": {
            name: {
                "needed": hint.needed,
                "have": hint.have,
                "power": hint.power,
                "hint": hint.sentence("clusters"),
            }
            for name, hint in size_hints(events, values, reference).items()
        },
        "multiple_comparisons": (
            f"family: {counted(others, 'method')} against one reference, in each part; about {0.05 * others:.1f} of them would "
            "show p < 0.05 by chance alone; p_holm keeps the chance of any such to 5%"
        ),
    }


def _ensemble(
    events: Events, values: Mapping[str, FloatArray], recipe: Recipe
) -> tuple[FloatArray, Document]:
    if recipe.calibrate != "none" or recipe.pool in SHRINKAGES:
        # The other questions' forecasts would have been fitted on the one that is left out.
        raise UsageError(
            Option("ensemble"),
            " leaves one question out, but calibrated or shrunk forecasts have used that question: use ",
            Option("calibrate", "none"),
            " and a plain ",
            Option("pool"),
        )
    if len(values) < 2:
        raise UsageError(Option("ensemble"), " needs at least two methods")
    rows = np.flatnonzero(np.isfinite(np.array(list(values.values()))).all(axis=0))
    if not len(rows):
        raise UsageError(
            Option("ensemble"),
            ": no event has a forecast of every method; ",
            Option("method"),
            " names fewer",
        )
    common = {name: p[rows] for name, p in values.items()}
    o, question = events.outcome[rows], events.question[rows]
    how = recipe.pool if recipe.pool in ("mean", "median", "logit-mean") else "mean"
    left_out, single = (greedy_leave_out(common, o, question, how=how, size=size) for size in (None, 1))
    steps = greedy_ensemble(common, o, how=how)
    p = np.full(len(events), np.nan)
    p[rows] = left_out.p
    return p, {
        "name": GREEDY,
        "how": how,
        "events": len(rows),
        "questions": len(np.unique(question)),
        "brier": float(((left_out.p - o) ** 2).mean()),
        "best_single_brier": float(((single.p - o) ** 2).mean()),
        "in_sample_brier": min(step.brier for step in steps),
        "in_sample": [{"added": step.added, "brier": step.brier} for step in steps],
        "chosen": [
            {"members": list(members), "questions": count} for members, count in left_out.chosen.items()
        ],
    }


def _on_all_events(ready: Prepared, size: int) -> FloatArray:
    p = np.full(size, np.nan)
    p[ready.rows] = ready.p
    return p


def _tested(
    events: Events,
    values: Mapping[str, FloatArray],
    reference: str,
    mixed: Mapping[str, Mapping[str, IndexContrast]],
    *,
    resamples: int,
    seed: int,
) -> Document:
    results = paired_comparisons(events, values, reference, resamples=resamples, seed=seed)
    cards = {name: _index_card(events, values[name], values[reference]) for name in results}
    document: Document = {name: {} for name in results}
    for part in dict.fromkeys(part for parts in results.values() for part in parts):
        for name, test in judge(results, mixed, part=part).items():
            document[name][part] = {
                **test.to_json(),
                "method": cards[name][0][part],
                "method_interval": cards[name][1][part],
                "looked_at": len(results),
            }
    return document


def _index_card(
    events: Events, p: FloatArray, reference: FloatArray
) -> tuple[Mapping[str, float | None], Mapping[str, Bounds]]:
    rows = np.flatnonzero(np.isfinite(p) & np.isfinite(reference))
    scores = scorecard(p[rows], rows, events, ["brier_index"])
    card = interval_card(p[rows], rows, events, ["brier_index"], scores)
    return scores["brier_index"], card["brier_index"]


def _paired(
    events: Events, values: Mapping[str, FloatArray], reference: str, *, by: str, resamples: int, seed: int
) -> Document:
    results = bootstrap_comparisons(
        events,
        values,
        reference,
        by_question=by == "question",
        resamples=resamples,
        seed=seed,
        draws="multinomial",  # the stream behind the published reference values
    )
    p_holm = holm({name: parts["overall"].p_two_sided for name, parts in results.items()})
    return {
        name: {
            part: _pair(result) | ({"p_holm": p_holm[name]} if part == "overall" else {})
            for part, result in parts.items()
        }
        for name, parts in results.items()
    }


def _pair(result: PairedResult) -> Document:
    few = result.units < MIN_CLUSTERS
    return {
        "n": result.n,
        "method": result.a,
        "reference": result.b,
        "difference": result.difference,
        "interval": None if few else [result.low, result.high],
        "method_interval": None if few else [result.a_low, result.a_high],
        "se": result.error,
        "p_one_sided": result.p_one_sided,
        "p_two_sided": result.p_two_sided,
        "stars": result.stars,
    }
