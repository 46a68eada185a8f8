"""`elicit` and `exceed`: several answers of one model pooled, and the chance that a series lies above a level."""

from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.common import command, echo, emit_json, unlisted
from workbench.cli.science.science_options import AsJson, listed, numbers
from workbench.cli.table import show_table
from workbench.errors import UsageError
from workbench.forecasts.series.exceedance import exceed_document, model_names
from workbench.forecasts.series.series_history import History
from workbench.science.documents import elicit_document
from workbench.science.tables import read_answers, read_series


@command
def elicit(
    answers: Annotated[
        Path,
        typer.Option(
            "--answers",
            help="CSV: event_id, kind (variant, yes, no, vote), value, confidence (votes only, may be empty).",
        ),
    ],
    json: AsJson = False,
) -> None:
    """Pool what one model answered when asked in several ways: variants, both directions, repeated votes."""
    document = elicit_document(read_answers(answers))
    if json:
        emit_json(document)
        return
    kinds = ["ensemble", "both_directions", "votes", "weighted_votes"]
    show_table(
        ["event", *kinds],
        [[event, *[entry.get(kind) for kind in kinds]] for event, entry in document["events"].items()],
    )


@command
def exceed(
    series: Annotated[
        Path | None,
        typer.Option("--series", help="CSV (gzip too) or parquet with a date and a value column."),
    ] = None,
    cutoff: Annotated[str, typer.Option("--cutoff", help="First day that may not be used.")] = "",
    on: Annotated[str, typer.Option("--on", help="Days asked about, by comma.")] = "",
    above: Annotated[str, typer.Option("--above", help="Levels asked about, by comma.")] = "",
    model: Annotated[
        str,
        unlisted("--model", help="Model, by comma; `--model list` lists them and needs nothing else."),
    ] = "ensemble",
    date_column: Annotated[str, unlisted("--date-column", help="Name of the date column.")] = "date",
    value_column: Annotated[str, unlisted("--value-column", help="Name of the value column.")] = "value",
    json: AsJson = False,
) -> None:
    """Chance that the series lies above each level on each day, from data before the cutoff only.

    It is the share of the paths of the forecaster that `quantity` and the key-free analyst ask; ``--model`` names another, such as those
    of paper B.
    """
    if model == "list":
        _list_models(json=json)
        return
    # Not typer's own "required": `--model list` needs none of them.
    for option, value in (("--series", series), ("--cutoff", cutoff), ("--on", on), ("--above", above)):
        if not value:
            raise UsageError(
                f"{option} is missing: --series, --cutoff, --on and --above are needed (`--model list` needs none)"
            )

    assert series is not None  # checked above; for the type checker
    days, values = read_series(series, date_column, value_column)
    levels = numbers(above, option="--above")
    document = exceed_document(
        History.of(days, values),
        cutoff=_option_day(cutoff, "--cutoff"),
        targets=[_option_day(day, "--on") for day in listed(on)],
        levels=levels,
        models=listed(model),
    )
    if json:
        emit_json(document)
        return
    last = document["last"]
    echo(f"{last['observations']} observations before {cutoff}, the last {last['value']:g} on {last['day']}")
    show_table(
        ["model", "day", "above", "p"],
        [[row["model"], row["day"], f"{row['above']:g}", row["p"]] for row in document["chances"]],
    )


def _list_models(*, json: bool) -> None:
    if json:
        emit_json({"models": model_names()})
        return
    show_table(["model", "what it is"], list(model_names().items()))


def _option_day(text: str, option: str) -> str:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError as error:
        raise UsageError(f"{option} wants dates such as 2025-10-26, not {text!r}") from error
