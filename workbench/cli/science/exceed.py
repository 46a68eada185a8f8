"""`exceed`: the chance that a series lies above a level, by a time-series model."""

from pathlib import Path
from typing import Annotated, Any

import typer

from workbench.cli.common import command, emit_json
from workbench.cli.science.options import AsJson, listed, numbers, show_table
from workbench.errors import UsageError


@command
def exceed(
    series: Annotated[
        Path, typer.Option("--series", help="CSV (gzip too) or parquet with a date and a value column.")
    ],
    cutoff: Annotated[str, typer.Option("--cutoff", help="First day that may not be used.")],
    on: Annotated[str, typer.Option("--on", help="Days asked about, by comma.")],
    above: Annotated[str, typer.Option("--above", help="Levels asked about, by comma.")],
    model: Annotated[
        str, typer.Option("--model", help="Model, by comma; `--model list` lists them.")
    ] = "hybrid",
    date_column: Annotated[str, typer.Option("--date-column", help="Name of the date column.")] = "date",
    value_column: Annotated[str, typer.Option("--value-column", help="Name of the value column.")] = "value",
    json: AsJson = False,
) -> None:
    """Chance that the series lies above each level on each day, from data before the cutoff only."""
    from workbench.science.series.exceedance import exceedance, make_model, model_names
    from workbench.science.series.history import History
    from workbench.science.tables import read_series

    if model == "list":
        show_table(["model", "what it is"], list(model_names().items()))
        return
    days, values = read_series(series, date_column, value_column)
    history = History.of(days, values)
    targets, levels = listed(on), numbers(above, option="--above")
    first = _day(cutoff, "--cutoff")
    ahead = [_day(day, "--on") for day in targets]
    found: list[dict[str, Any]] = []
    for name in listed(model):
        p = exceedance(make_model(name), history, cutoff=first, targets=ahead, levels=levels)
        for row, day in enumerate(targets):
            for column, level in enumerate(levels):
                found.append({"model": name, "day": day, "above": level, "p": float(p[row, column])})
    seen = history.before(first)
    if json:
        last = {"day": str(seen.days[-1]), "value": float(seen.values[-1]), "observations": len(seen)}
        emit_json({"cutoff": cutoff, "last": last, "chances": found})
        return
    typer.echo(f"{len(seen)} observations before {cutoff}, the last {seen.values[-1]:g} on {seen.days[-1]}")
    show_table(
        ["model", "day", "above", "p"], [[r["model"], r["day"], f"{r['above']:g}", r["p"]] for r in found]
    )


def _day(text: str, option: str) -> str:
    from datetime import date

    try:
        return date.fromisoformat(text).isoformat()
    except ValueError as wrong:
        raise UsageError(f"{option} wants dates such as 2025-10-26, not {text!r}") from wrong
