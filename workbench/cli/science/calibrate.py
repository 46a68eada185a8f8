"""`calibrate`: learn a calibration from resolved forecasts, save it, apply it to new ones."""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from workbench.cli.common import command, echo, emit_json, say, unlisted
from workbench.cli.science.science_options import (
    AsJson,
    EventsFile,
    ForecastsFile,
    Methods,
    Pool,
    Variant,
    listed,
    print_csv,
    write_csv,
)
from workbench.cli.table import show_table
from workbench.errors import UsageError
from workbench.science.calibrating.calibration import load_calibration, save_calibration
from workbench.science.documents import (
    calibrated_document,
    calibration_document,
    method_names,
    priors_document,
)
from workbench.science.documents.calibration_documents import ENOUGH
from workbench.science.tables import read_events, read_forecasts

calibrate = typer.Typer(help="Calibration learned from resolved forecasts.", no_args_is_help=True)


@calibrate.command("fit")
@command
def fit(
    events: EventsFile,
    forecasts: ForecastsFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the calibration goes (JSON).")],
    method: Methods = "",
    variant: Variant = "forecast",
    pool: Pool = "logit-mean",
    by: Annotated[str, unlisted("--by", help="Offsets along: source, topic, horizon, or any column.")] = "",
    penalty: Annotated[float, unlisted("--lambda", help="Penalty on the offsets.")] = 1.0,
    minimum: Annotated[
        int, unlisted("--minimum", min=4, help="Fewer resolved questions are refused.")
    ] = ENOUGH,
    threshold: Annotated[
        bool,
        unlisted("--threshold", help="Also fit the cut for Yes; the events must be a validation set."),
    ] = False,
    json: AsJson = False,
) -> None:
    """Fit a calibration on every resolved forecast of one method, and save it where it helps questions left out of the fit."""
    table = read_events(events, unresolved=True)
    probabilities = read_forecasts(forecasts, table)
    names = method_names(probabilities, listed(method))
    if len(names) != 1:
        raise UsageError(
            f"a calibration belongs to one method: choose with --method among {', '.join(names)}"
        )
    model, report = calibration_document(
        table,
        probabilities,
        names[0],
        variant=variant,
        how=pool,
        factors=listed(by),
        penalty=penalty,
        minimum=minimum,
        threshold=threshold,
    )
    save_calibration(model, output)
    if json:
        emit_json(report)
        return
    echo(
        f"slope {model.slope:.4f}, offset {model.offset:+.4f}, from {report['questions']} questions,"
        f" {model.n} forecasts ({model.n_yes} Yes)"
    )
    for factor, offsets in model.deltas.items():
        for group, value in offsets.items():
            echo(f"  {factor} {group}: {value:+.4f} ({model.counts[factor][group]})")
    if threshold:
        cut = report["threshold_fit"]
        echo(
            f"Yes above {cut['threshold']:.4f}: accuracy {cut['accuracy']:.4f} here, {cut['accuracy_at_half']:.4f} at 0.5"
        )
    left_out, here = report["left_out"], report["in_sample"]
    echo(
        f"Brier score of questions left out of the fit {left_out['brier_before']:.4f} -> {left_out['brier_after']:.4f};"
        f" of those in it (in-sample) {here['brier_after']:.4f}"
    )
    say(str(output))


@calibrate.command("apply")
@command
def apply(
    model: Annotated[Path, typer.Argument(help="A calibration written by `calibrate fit`.")],
    events: EventsFile,
    forecasts: ForecastsFile,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Forecasts CSV (gz by its name); stdout when not given."),
    ] = None,
    method: Methods = "",
    variant: Variant = "forecast",
    pool: Pool = "logit-mean",
    json: AsJson = False,
) -> None:
    """Write calibrated forecasts, resolved or not, as variant `calibrated`."""
    loaded = load_calibration(model)
    table = read_events(events, unresolved=True)
    probabilities = read_forecasts(forecasts, table)
    document = calibrated_document(
        loaded, table, probabilities, methods=listed(method), variant=variant, how=pool
    )
    for factor, groups in document["unseen"].items():
        say(f"not seen when the calibration was learned, so without an offset: {factor} {', '.join(groups)}")
    if json:
        emit_json(document)
    header = [
        "method",
        "event_id",
        "variant",
        "p",
        "p_raw",
        *(["yes"] if loaded.threshold is not None else []),
    ]
    rows = [list(row.values()) for row in document["forecasts"]]
    if output is not None:
        write_csv(output, header, rows)
    elif not json:
        print_csv(header, rows)


@calibrate.command("priors")
@command
def priors(
    events: Annotated[Path, typer.Argument(help="Events: CSV (gzip too) or parquet.")],
    output: Annotated[
        Path, typer.Argument(help="Where the events go with their priors (CSV, gz by its name).")
    ],
    by: Annotated[str, unlisted("--by", help="Columns whose values make a group, by comma.")] = "source",
    pseudo: Annotated[
        float,
        unlisted(
            "--pseudo",
            min=0,
            help="Imagined questions on either side: 0 leaves a first question empty, as paper B.",
        ),
    ] = 1.0,
    json: AsJson = False,
) -> None:
    """Write the events with `prior_temporal`: how often questions of the same group came true that had resolved before each was asked.

    It knows no later outcome, so back-tests may shrink to it (`score --pool shrink-prior`), show it to an agent (`prior` of an arm) or
    score it (`score --baseline prior_temporal`).
    """
    table = read_events(events, unresolved=True)
    prior, document = priors_document(table, listed(by), pseudo=pseudo)
    frame = table.frame.assign(
        prior_temporal=["" if np.isnan(p) else repr(p) for p in prior.p.tolist()],
        prior_temporal_n=[str(n) for n in prior.pool.tolist()],
    )
    cells = frame.astype(object).where(frame.notna(), "").astype(str)
    write_csv(output, list(cells.columns), cells.to_numpy().tolist())
    if json:
        emit_json(document)
        return
    show_table(
        [
            "group",
            "questions",
            "events",
            "share of Yes, with hindsight",
            "paper B, Table 7",
            "events without a known one before",
        ],
        [list(each.values()) for each in document["groups"]],
    )
    say(str(output))
