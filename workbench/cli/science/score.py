"""`score`: Brier scores, indices and calibration of forecasts against what happened."""

from typing import Annotated, Any

import typer

from workbench.cli.common import command, emit_json
from workbench.cli.science.options import (
    AsJson,
    EventsFile,
    ForecastsFile,
    Methods,
    Variant,
    chosen_methods,
    listed,
    load,
    raw_values,
    show_table,
)
from workbench.errors import UsageError


@command
def score(
    events: EventsFile,
    forecasts: ForecastsFile,
    method: Methods = "",
    variant: Variant = "forecast",
    pool: Annotated[
        str,
        typer.Option(
            "--pool",
            help="mean, median, logit-mean, first; mean:3 and so on for the mean over all subsets of 3 trials; "
            "shrink-std, shrink-prior, shrink-alpha.",
        ),
    ] = "logit-mean",
    prior: Annotated[
        str, typer.Option("--prior", help="Column to shrink to; prior_temporal when not given.")
    ] = "",
    tune: Annotated[
        str,
        typer.Option(
            "--tune", help="loo-question, loo-event, in-sample, as-published (in-sample and ddof 0)."
        ),
    ] = "loo-question",
    ddof: Annotated[int | None, typer.Option("--ddof", help="0 or 1; 1 unless as-published.")] = None,
    calibrate: Annotated[str, typer.Option("--calibrate", help="none, platt, platt-hier.")] = "none",
    loo: Annotated[
        str, typer.Option("--loo", help="What calibration leaves out: event, question; none fits in-sample.")
    ] = "event",
    subsets: Annotated[
        int | None, typer.Option("--subsets", help="Average the scores over all subsets of K trials.")
    ] = None,
    metrics: Annotated[str, typer.Option("--metrics", help="By comma; the usual ones when not given.")] = "",
    by: Annotated[str, typer.Option("--by", help="Also score within each value of this column.")] = "",
    baseline: Annotated[
        str, typer.Option("--baseline", help="Add baselines, by comma: 0.5, crowd, crowd+prior_temporal, ...")
    ] = "",
    clip: Annotated[float, typer.Option("--clip", help="Clip forecasts to [x, 1 - x] before scoring.")] = 0.0,
    penalty: Annotated[float, typer.Option("--lambda", help="Penalty on the offsets of platt-hier.")] = 1.0,
    dead: Annotated[
        str, typer.Option("--dead", help="Dead trials: drop, or impute (count each as 0.5).")
    ] = "drop",
    json: AsJson = False,
) -> None:
    """Score forecasts by question type and overall.

    Overall is the mean of the question types, but ece and log_loss pool all events. ``abi`` takes its question
    effects from all methods of the forecasts file.
    """
    from workbench.science.recipe import Recipe
    from workbench.science.scoring.baselines import baseline_forecast
    from workbench.science.scoring.scorecard import DEFAULT_METRICS, check_metrics, difficulty_of

    table, given = load(events, forecasts)
    recipe = Recipe(
        pool=pool,
        prior=prior or None,
        tune=tune,
        ddof=ddof,
        calibrate=calibrate,
        loo=loo,
        penalty=penalty,
        clip=clip,
        dead=dead,
    )
    wanted = check_metrics(listed(metrics) or DEFAULT_METRICS)
    if subsets is not None and given.keyed_by != "trial":
        raise UsageError("--subsets needs a file of trials")
    difficulty = None
    if "abi" in wanted:
        difficulty = difficulty_of(table, {name: _pooled(given, name, variant) for name in given.methods})
    values = {name: raw_values(given, name, variant) for name in chosen_methods(method, given)}
    document: dict[str, Any] = {}
    for name, raw in values.items():
        document[name] = _entry(name, raw, table, recipe, wanted, difficulty, by=by, subsets=subsets)
    for spec in listed(baseline):
        plain = Recipe(clip=clip)
        document[spec] = _entry(spec, baseline_forecast(table, spec), table, plain, wanted, difficulty, by=by)
    if json:
        emit_json({"methods": document})
        return
    parts = [
        part for part in next(iter(document.values()))[wanted[0]] if part in ("market", "dataset", "overall")
    ]
    header = ["method", "n", *[f"{metric} {part}" for metric in wanted for part in parts]]
    rows = []
    for name, entry in document.items():
        cells = [entry.get(metric, {}).get(part) for metric in wanted for part in parts]
        rows.append([name, entry["n"]["overall"], *cells])
    show_table(header, rows)


def _pooled(given: Any, name: str, variant: str) -> Any:
    from workbench.science.pooling.pool import pool

    raw = raw_values(given, name, variant)
    return raw if raw.ndim == 1 else pool(raw, "mean")


def _counts(prepared_rows: Any, table: Any, raw: Any) -> dict[str, Any]:
    import numpy as np

    kinds, sizes = np.unique(table.kind[prepared_rows], return_counts=True)
    counts: dict[str, Any] = {"market": 0, "dataset": 0}
    counts |= {str(kind): int(size) for kind, size in zip(kinds, sizes, strict=True)}
    counts["overall"] = len(prepared_rows)
    counts["questions"] = len(np.unique(table.question[prepared_rows]))
    if raw.ndim == 2:
        number, how_often = np.unique(np.isfinite(raw).sum(axis=1), return_counts=True)
        counts["trials"] = {str(k): int(v) for k, v in zip(number, how_often, strict=True)}
    return counts


def _entry(
    name: str,
    raw: Any,
    table: Any,
    recipe: Any,
    wanted: Any,
    difficulty: Any,
    *,
    by: str = "",
    subsets: int | None = None,
) -> dict[str, Any]:
    import numpy as np

    from workbench.science.recipe import prepare
    from workbench.science.scoring.scorecard import scorecard, subset_scorecard

    try:
        if subsets is not None and raw.ndim == 2:
            averaged, of_average, rows = subset_scorecard(raw, table, subsets, recipe.pool, wanted)
            return {**averaged, "n": _counts(rows, table, raw), "fitted": {}, "forecast_averaged": of_average}
        ready = prepare(raw, table, recipe)
        entry: dict[str, Any] = dict(scorecard(ready.p, ready.rows, table, wanted, difficulty))
    except UsageError as wrong:
        raise UsageError(f"{name}: {wrong}") from wrong
    entry["n"] = _counts(ready.rows, table, raw)
    entry["fitted"] = ready.fitted
    if by:
        labels = table.text(by)[ready.rows]
        groups = {}
        for label in np.unique(labels):
            at = labels == label
            card = dict(scorecard(ready.p[at], ready.rows[at], table, wanted, difficulty))
            groups[str(label)] = {**card, "n": _counts(ready.rows[at], table, raw[ready.rows[at]])}
        entry["by"] = groups
    return entry
