"""`score`: Brier scores, indices and calibration of forecasts against what happened."""

from typing import Annotated

import typer

from workbench.cli.common import command, emit_json
from workbench.cli.science.options import (
    AsJson,
    EventsFile,
    ExamName,
    ForecastsFile,
    Home,
    Methods,
    Resamples,
    Seed,
    Variant,
    listed,
    load,
    with_exam,
    with_half_width,
)
from workbench.cli.table import show_table


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
            "shrink-std, shrink-prior, shrink-alpha, shrink-bayes (by the variance of the prior).",
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
    resamples: Resamples = 2000,
    seed: Seed = 20261122,
    exam: ExamName = None,
    home: Home = None,
    json: AsJson = False,
) -> None:
    """Score forecasts by question type and overall.

    Overall is the mean of the question types, but ece and log_loss pool all events. ``abi`` takes its question
    effects from all methods of the forecasts file. Behind each ± stands half a 95 % interval: questions are drawn again, all else is held fixed.
    """
    from workbench.science.comparing.score_intervals import Resampling
    from workbench.science.documents import score_document
    from workbench.science.recipe import Recipe
    from workbench.science.scoring.scorecard import DEFAULT_METRICS, check_metrics

    columns = check_metrics(listed(metrics) or DEFAULT_METRICS)
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
    table, probabilities, chosen = load(events, forecasts, exam=exam, home=home)
    document = score_document(
        table,
        probabilities,
        recipe,
        metrics=columns,
        methods=listed(method),
        variant=variant,
        baselines=listed(baseline),
        by=by,
        subsets=subsets,
        resampling=Resampling(resamples=resamples, seed=seed),
    )
    if json:
        emit_json(with_exam(document, chosen))
        return
    entries = document["methods"]
    first = next(iter(entries.values()))[columns[0]]
    parts = [part for part in first if part in ("market", "dataset", "overall")]
    show_table(
        ["method", "n", *[f"{metric} {part}" for metric in columns for part in parts]],
        [
            [
                name,
                entry["n"]["overall"],
                *[
                    with_half_width(
                        entry.get(metric, {}).get(part), entry.get("intervals", {}).get(metric, {}).get(part)
                    )
                    for metric in columns
                    for part in parts
                ],
            ]
            for name, entry in entries.items()
        ],
    )
