"""`score`: Brier scores, indices and calibration of forecasts against what happened."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from workbench.audit.forecast_histories import history_scores
from workbench.audit.home_scores import BASE_RATE, own_document
from workbench.audit.step_scores import STATISTICS, steps_document
from workbench.audit.track_record import ORIGINS, table_bytes, track_record
from workbench.cli.common import command, echo, emit_json, open_store, say, unlisted
from workbench.cli.science.science_options import (
    AsJson,
    EventsFile,
    ExamName,
    ForecastsFile,
    Methods,
    QuantilesFile,
    Resamples,
    Seed,
    Variant,
    listed,
    load,
    print_consistency,
    print_quantile_scores,
    with_exam,
    with_interval,
)
from workbench.cli.table import show_fields, show_table
from workbench.errors import UsageError
from workbench.formatting import SCORE_WORDS, outcome_words, percent
from workbench.output_files import write_output
from workbench.science.comparing.mean_intervals import Resampling
from workbench.science.documents import UtilityRule, quantile_document, score_document
from workbench.science.quantile_tables import read_quantiles, read_targets
from workbench.science.recipe import Recipe
from workbench.science.scoring.scorecard import BINNED, DEFAULT_METRICS, check_metrics


@command
def score(
    events: EventsFile | None = None,
    forecasts: ForecastsFile | None = None,
    values: Annotated[
        Path | None,
        typer.Option(
            "--values", help="Numbers that are asked for, with what came: event_id, value, low, high."
        ),
    ] = None,
    quantiles: QuantilesFile | None = None,
    own: Annotated[
        bool,
        typer.Option(
            "--own", help="Score this home's own resolved runs instead of files; with Brier over time."
        ),
    ] = False,
    steps: Annotated[
        bool,
        unlisted(
            "--steps",
            help="With --own: how agents' loops worked (steps, tokens, evidence), and the Brier score of their beliefs step by step.",
        ),
    ] = False,
    histories: Annotated[
        list[Path] | None,
        unlisted(
            "--history",
            help="With --own: forecasts made elsewhere (Metaculus, Good Judgment, Manifold or a plain CSV), scored beside.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        unlisted("--out", help="With --own: the forecasts as a table, .csv or .parquet."),
    ] = None,
    method: Methods = "",
    variant: Variant = "forecast",
    pool: Annotated[
        str,
        unlisted(
            "--pool",
            help="mean, median, logit-mean, first; mean:3 and so on for the mean over all subsets of 3 trials; "
            "shrink-std, shrink-prior, shrink-alpha, shrink-bayes (by the variance of the prior).",
        ),
    ] = "logit-mean",
    prior: Annotated[
        str, unlisted("--prior", help="Column to shrink to; prior_temporal when not given.")
    ] = "",
    tune: Annotated[
        str,
        unlisted(
            "--tune",
            help="loo-question, loo-event, in-sample, as-published (in-sample and ddof 0).",
        ),
    ] = "loo-question",
    ddof: Annotated[int | None, unlisted("--ddof", help="0 or 1; 1 unless as-published.")] = None,
    calibrate: Annotated[str, typer.Option("--calibrate", help="none, platt, platt-hier.")] = "none",
    loo: Annotated[
        str,
        unlisted("--loo", help="What calibration leaves out: event, question; none fits in-sample."),
    ] = "event",
    subsets: Annotated[
        int | None,
        unlisted("--subsets", help="Average the scores over all subsets of K trials."),
    ] = None,
    metrics: Annotated[str, typer.Option("--metrics", help="By comma; the usual ones when not given.")] = "",
    by: Annotated[str, typer.Option("--by", help="Also score within each value of this column.")] = "",
    baseline: Annotated[
        str,
        unlisted("--baseline", help="Add baselines, by comma: 0.5, crowd, crowd+prior_temporal, ..."),
    ] = "",
    clip: Annotated[float, unlisted("--clip", help="Clip forecasts to [x, 1 - x] before scoring.")] = 0.0,
    penalty: Annotated[float, unlisted("--lambda", help="Penalty on the offsets of platt-hier.")] = 1.0,
    dead: Annotated[
        str, unlisted("--dead", help="Dead trials: drop, or impute (count each as 0.5).")
    ] = "drop",
    utility: Annotated[
        str,
        unlisted(
            "--utility",
            help="Also soft and hard utility of going long or short: plain, analytica-paper (5 % over days / 252, 0.02, gain at most +100 %).",
        ),
    ] = "",
    price: Annotated[
        str, unlisted("--price", help="Column with the price of a Yes share, for --utility.")
    ] = "crowd",
    resamples: Resamples = 2000,
    seed: Seed = 20261122,
    exam: ExamName = None,
    json: AsJson = False,
) -> None:
    """Score forecasts by question type and overall.

    Overall is the mean of the question types, but ece and log_loss pool all events. ``abi`` takes its question
    effects from all methods of the forecasts file. Forecasts of numbers (--values, --quantiles) get CRPS and PIT in a table of their own. In brackets stands the 95 % interval over clusters, all else held fixed; beside a calibration error what a calibrated forecaster of the same forecasts would show.
    """
    if values is not None or quantiles is not None:
        if values is None or quantiles is None or events or forecasts or own or exam:
            raise UsageError(
                "numbers are scored by --values FILE and --quantiles FILE, apart from probabilities: no --events, --forecasts, --own or --exam"
            )
        targets = read_targets(values)
        scores = quantile_document(targets, read_quantiles(quantiles, targets), methods=listed(method))
        print_quantile_scores(scores, as_json=json)
        return
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
    resampling = Resampling(resamples=resamples, seed=seed)
    if steps and not own:
        raise UsageError("--steps goes with --own: files of forecasts hold no steps")
    if own:
        if events or forecasts or exam or method or baseline or subsets:
            raise UsageError(
                "--own scores the runs of this home: no --events, --forecasts, --exam, --method, --baseline or --subsets"
            )
        if steps:
            _score_steps(resampling, as_json=json)
            return
        _score_own(
            recipe, columns, by=by, resampling=resampling, histories=histories or [], out=out, as_json=json
        )
        return
    if histories or out is not None:
        raise UsageError("--history and --out go with --own")
    if events is None or forecasts is None:
        raise UsageError("score wants --events FILE and --forecasts FILE, or --own for the runs of this home")
    table, probabilities, chosen = load(events, forecasts, exam=exam)
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
        resampling=resampling,
        utility=UtilityRule(rule=utility, price=price) if utility else None,
    )
    if json:
        emit_json(with_exam(document, chosen))
        return
    _show(document, columns)
    print_consistency(document)
    if utility:
        names = ("n", "accuracy", "soft", "hard", "soft_pooled", "hard_pooled", "confidence")
        echo("")
        show_table(
            [f"utility ({utility})", *names],
            [
                [label, *(entry["utility"][name] for name in names)]
                for label, entry in document["methods"].items()
                if "utility" in entry
            ],
        )


def _show(document: dict[str, Any], columns: Sequence[str]) -> None:
    entries = document["methods"]
    first = next(iter(entries.values()))[columns[0]]
    parts = [part for part in first if part in ("market", "dataset", "overall")]
    show_table(
        [
            "method",
            "n",
            "clusters",
            "days asked on",
            *[name for metric in columns for part in parts for name in _score_headings(metric, part)],
        ],
        [
            [
                name,
                entry["n"]["overall"],
                entry["n"]["clusters"],
                entry["n"]["days"],
                *[cell for metric in columns for part in parts for cell in _score_cells(entry, metric, part)],
            ]
            for name, entry in entries.items()
        ],
    )


#: What the own record calls its scores; each is explained below the table (`SCORE_WORDS`).
_PLAIN_NAMES = {
    "brier": "Brier score",
    "brier_index": "Brier Index",
    "metaculus_baseline": "Metaculus score",
    "ece": "calibration error",
    "log_loss": "log loss",
}
#: Scores on a scale of 100.
_IN_POINTS = ("brier_index", "metaculus_baseline", "abi")


def own_digits(metric: str, n: int) -> int:
    """Return the decimals that a mean over so many runs supports: its last digit is a fifth of the chance error or more.

    >>> own_digits("brier", 16), own_digits("brier", 400), own_digits("brier_index", 16), own_digits("brier_index", 400)
    (2, 3, 0, 1)
    """
    decimals = 2 if n < 100 else 3 if n < 10_000 else 4
    return decimals - 2 if metric in _IN_POINTS else decimals


def _own_cells(entry: dict[str, Any], metric: str) -> list[Any]:
    digits = own_digits(metric, entry["n"]["overall"])
    cells = _score_cells(entry, metric, "overall")
    interval = entry.get("intervals", {}).get(metric, {}).get("overall")
    if isinstance(cells[0], str) and interval is not None:
        score = entry[metric]["overall"]
        return [f"{score:.{digits}f}[{interval[0]:.{digits}f},{interval[1]:.{digits}f}]"]
    return [f"{cell:.{digits}f}" if isinstance(cell, float) else cell for cell in cells]


def _score_headings(metric: str, part: str) -> list[str]:
    name = f"{metric} {part}".strip()
    return [name, f"{name} if calibrated"] if metric in BINNED else [name]


def _plain_name(metric: str) -> str:
    return _PLAIN_NAMES.get(metric, metric)


def _own_headings(metric: str) -> list[str]:
    return [_plain_name(metric), *(["by luck alone"] if metric in BINNED else [])]


def _score_cells(entry: dict[str, Any], metric: str, part: str) -> list[Any]:
    """The score with its interval; of a calibration error also what a calibrated forecaster would show."""
    score = entry.get(metric, {}).get(part)
    if metric in BINNED:
        calibrated = entry.get("calibrated", {}).get(metric, {}).get(part)
        return [score, None if calibrated is None else calibrated["expected"]]
    return [with_interval(score, entry.get("intervals", {}).get(metric, {}).get(part))]


def _score_own(
    recipe: Recipe,
    columns: Sequence[str],
    *,
    by: str,
    resampling: Resampling,
    histories: Sequence[Path],
    out: Path | None,
    as_json: bool,
) -> None:
    store = open_store()
    document = {
        **own_document(store, recipe, metrics=columns, by=by, resampling=resampling),
        "record": track_record(store),
        "histories": [history_scores(path) for path in histories],
    }
    if out is not None:
        write_output(out, table_bytes(document["runs"], out))
    if as_json:
        emit_json(document)
        return
    show_table(
        [
            "",
            "runs",
            "independent",
            "days asked on",
            *[name for metric in columns for name in _own_headings(metric)],
        ],
        [
            [
                {"own": "answers", BASE_RATE: "base rate", "0.5": "always 50%"}.get(label, label),
                entry["n"]["overall"],
                entry["n"]["clusters"],
                entry["n"]["days"],
                *[cell for metric in columns for cell in _own_cells(entry, metric)],
            ]
            for name, entries in document["methods"].items()
            for label, entry in ((name, entries), *entries.get("by", {}).items())
        ],
    )
    echo("")
    show_fields(
        [
            (name, words)
            for name, words in SCORE_WORDS.items()
            if name in (*map(_plain_name, columns), "95% interval", "independent")
        ]
    )
    for origin in ORIGINS:
        record = document["record"][origin]
        if record is not None and (line := record["base_rate"]["line"]) is not None:
            echo(f"{origin}: {line}")
    echo("")
    show_table(
        ["month", "runs", "Brier score", "so far"],
        [
            [row["month"], row["n"], f"{row['brier']:.2f}", f"{row['brier_so_far']:.2f}"]
            for row in document["over_time"]
        ],
    )
    echo("")
    show_table(
        ["day", "run", "p", "base rate", "outcome", "Brier score", "made", "claim"],
        [
            [
                row["day"],
                row["run_id"],
                percent(row["p"]),
                percent(row["base_rate"]),
                outcome_words(row["outcome"]),
                f"{row['brier']:.3f}",
                row["made"],
                row["statement"],
            ]
            for row in document["runs"]
        ],
    )
    _show_record(document)
    for row in document["left_out"]:
        say(f"not counted: {row['run_id']}: {row['reason']}")


def _show_record(document: dict[str, Any]) -> None:
    for origin in ORIGINS:
        record = document["record"][origin]
        if record is None:
            continue
        echo("")
        show_table(
            [f"{origin}: said", "runs", "independent", "on average", "came true", "95% from", "to"],
            [
                [
                    f"{percent(each['from'])} to {percent(each['to'])}",
                    each["n"],
                    each["clusters"],
                    *(percent(each[name]) for name in ("said", "true", "low", "high")),
                ]
                for each in record["reliability"]
            ],
        )
        echo(
            f"{origin}: answers lie {100 * record['sharpness']['from_half']:.1f} points from 50% on average; calibration: {record['calibration']['verdict']}"
        )
        for each in record["overrides"]:
            echo(
                f"{origin}: {each['scenario']} of {each['author'] or 'nobody named'} said {percent(each['p'])}, the model {percent(each['model'])}: Brier {each['gain']:+.3f} better"
            )
        for each in record["people"]:
            echo(
                f"{origin}: {each['author']}: Brier {each['brier']:.3f} over {each['claims']} claims and {each['drivers']} drivers, the model {each['model_brier']:.3f} over the same"
            )
        for each in record["surprises"][:5]:
            echo(
                f"{origin}: {each['node']} of {each['run_id']} was held {percent(each['p'])} and came out {outcome_words(each['outcome'])}: known, it moves the claim by {100 * each['moved']:+.1f} points"
            )
    for each in document["histories"]:
        peer = "" if each["peer"] is None else f", {each['peer']:+.1f} against the crowd (100 ln)"
        echo(f"{each['file']}: {each['n']} forecasts, Brier {each['brier']:.3f}{peer}")


def _score_steps(resampling: Resampling, *, as_json: bool) -> None:
    document = steps_document(open_store(), resampling)
    if as_json:
        emit_json(document)
        return
    show_table(
        ["medians", "trials", *STATISTICS, "submitted as believed"],
        [
            [
                name,
                arm["n"],
                *arm["statistics"].values(),
                f"{arm['consistent']['same']} of {arm['consistent']['n']}",
            ]
            for name, arm in document["arms"].items()
        ],
    )
    for name, arm in document["arms"].items():
        if (by_step := arm["by_step"]) is None:
            say(
                f"{name}: no driver with beliefs by step has an outcome yet (`workbench resolve RUN --leaves`)"
            )
            continue
        echo("")
        show_table(
            [f"{name}: step", "Brier", "low", "high", "still at work"],
            [
                [row["step"], row["brier"], *(row["interval"] or (None, None)), row["working"]]
                for row in by_step["steps"]
            ],
        )
        echo(f"{by_step['n']} drivers of {by_step['runs']} runs; step 0 is a belief of 0.5")
    for row in document["left_out"]:
        say(f"not counted: {row['run_id']}: {row['reason']}")
