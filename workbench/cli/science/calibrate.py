"""`calibrate`: learn a calibration from resolved forecasts, keep it, apply it to new ones."""

from pathlib import Path
from typing import Annotated, Any

import typer

from workbench.cli.common import command, emit_json, say
from workbench.cli.science.options import (
    AsJson,
    EventsFile,
    ForecastsFile,
    Methods,
    Pool,
    Variant,
    chosen_methods,
    listed,
    raw_values,
)
from workbench.errors import UsageError

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
    by: Annotated[
        str, typer.Option("--by", help="Offsets along: source, topic, horizon, or any column.")
    ] = "",
    penalty: Annotated[float, typer.Option("--lambda", help="Penalty on the offsets.")] = 1.0,
    minimum: Annotated[
        int, typer.Option("--minimum", min=4, help="Fewer resolved forecasts are refused.")
    ] = 10,
    threshold: Annotated[
        bool,
        typer.Option("--threshold", help="Also fit the cut for Yes; the events must be a validation set."),
    ] = False,
    json: AsJson = False,
) -> None:
    """Fit a calibration on every resolved forecast of one method."""
    from workbench.science.calibrating.calibration import fit_calibration, fit_threshold, save_calibration
    from workbench.science.scoring.scores import brier, log_loss
    from workbench.science.tables import read_events, read_forecasts

    table = read_events(events, unresolved=True)
    given = read_forecasts(forecasts, table)
    name = _one(method, given)
    p, known = _forecast(given, table, name, variant, pool)
    import numpy as np

    rows = np.flatnonzero(known & np.isfinite(table.outcome))
    if not len(rows):
        raise UsageError(f"{name}: no forecast has resolved yet, there is nothing to learn from")
    factors = {factor: table.factor(factor)[rows] for factor in listed(by)}
    model = fit_calibration(
        p[rows],
        table.outcome[rows],
        factors,
        penalty=penalty,
        minimum=minimum,
        threshold=threshold,
        learned_from=f"{name}, {len(rows)} resolved forecasts",
    )
    save_calibration(model, output)
    calibrated = model.apply(p[rows], factors)
    o = table.outcome[rows]
    report: dict[str, Any] = {
        **model.to_json(),
        "in_sample": {
            "brier_before": brier(p[rows], o),
            "brier_after": brier(calibrated, o),
            "log_loss_before": log_loss(p[rows], o),
            "log_loss_after": log_loss(calibrated, o),
        },
    }
    if threshold:
        cut = fit_threshold(calibrated, o)
        report["threshold_fit"] = {
            "threshold": cut.threshold,
            "accuracy": cut.accuracy,
            "accuracy_at_half": cut.accuracy_at_half,
        }
    if json:
        emit_json(report)
        return
    typer.echo(
        f"slope {model.slope:.4f}, offset {model.offset:+.4f}, from {model.n} forecasts ({model.n_yes} Yes)"
    )
    for factor, offsets in model.deltas.items():
        for group, value in offsets.items():
            typer.echo(f"  {factor} {group}: {value:+.4f} ({model.counts[factor][group]})")
    if threshold:
        cut = report["threshold_fit"]
        typer.echo(
            f"Yes above {cut['threshold']:.4f}: accuracy {cut['accuracy']:.4f} here, {cut['accuracy_at_half']:.4f} at 0.5"
        )
    before, after = report["in_sample"]["brier_before"], report["in_sample"]["brier_after"]
    typer.echo(
        f"Brier score here (in-sample) {before:.4f} -> {after:.4f}; `score --calibrate` gives the honest one"
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
    import csv
    import io

    from workbench.cli.science.files import write_whole
    from workbench.science.calibrating.calibration import load_calibration
    from workbench.science.tables import read_events, read_forecasts

    loaded = load_calibration(model)
    table = read_events(events, unresolved=True)
    given = read_forecasts(forecasts, table)
    factors = {name: table.factor(name) for name in loaded.deltas}
    rows: list[list[Any]] = []
    documents = []
    for name in chosen_methods(method, given):
        p, known = _forecast(given, table, name, variant, pool)
        calibrated = loaded.apply(p[known], {factor: labels[known] for factor, labels in factors.items()})
        calls = loaded.decide(calibrated) if loaded.threshold is not None else None
        for index, (event, raw, value) in enumerate(
            zip(table.event_id[known], p[known], calibrated, strict=True)
        ):
            row = [name, str(event), "calibrated", float(value), float(raw)]
            rows.append(row if calls is None else [*row, int(calls[index])])
    unseen = loaded.unseen(factors)
    for factor, groups in unseen.items():
        say(f"not seen when the calibration was learned, so without an offset: {factor} {', '.join(groups)}")
    header = [
        "method",
        "event_id",
        "variant",
        "p",
        "p_raw",
        *(["yes"] if loaded.threshold is not None else []),
    ]
    if json:
        documents = [dict(zip(header, row, strict=True)) for row in rows]
        emit_json({"forecasts": documents, "unseen": unseen, "threshold": loaded.threshold})
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    if output is not None:
        write_whole(output, text.getvalue())
    elif not json:
        typer.echo(text.getvalue(), nl=False)


def _one(method: str, given: Any) -> str:
    names = chosen_methods(method, given)
    if len(names) != 1:
        raise UsageError(
            f"a calibration belongs to one method: choose with --method among {', '.join(names)}"
        )
    return names[0]


def _forecast(given: Any, table: Any, name: str, variant: str, pool: str) -> tuple[Any, Any]:
    import numpy as np

    from workbench.science.pooling.pool import pool as pool_trials

    raw = raw_values(given, name, variant)
    p = raw if raw.ndim == 1 else pool_trials(raw, pool)
    known = np.isfinite(p)
    if not known.any():
        raise UsageError(f"{name}: no event has a forecast")
    return p, known
