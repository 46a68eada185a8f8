"""`returns`: what betting the forecasts against market prices would have brought."""

from pathlib import Path
from typing import Annotated, Any

import typer

from workbench.cli.common import command, emit_json
from workbench.cli.science.files import write_csv
from workbench.cli.science.options import (
    AsJson,
    EventsFile,
    ExamName,
    ForecastsFile,
    Home,
    Methods,
    Pool,
    Variant,
    listed,
    load,
    numbers,
    with_exam,
)
from workbench.cli.table import show_table


@command
def returns(
    events: EventsFile,
    forecasts: ForecastsFile,
    method: Methods = "",
    variant: Variant = "forecast",
    pool: Pool = "mean",
    risk_aversion: Annotated[
        str, typer.Option("--risk-aversion", help="Levels by comma; 0 goes all in, 1 bets the forecast.")
    ] = "0,0.25,0.5,0.75,1",
    price: Annotated[str, typer.Option("--price", help="Column with the price of a Yes share.")] = "crowd",
    tie: Annotated[
        str, typer.Option("--tie", help="Bet at level 0 where forecast equals price: no, yes, half, abstain.")
    ] = "no",
    by: Annotated[str, typer.Option("--by", help="Also within each value of this column.")] = "",
    baseline: Annotated[
        str, typer.Option("--baseline", help="Add baselines: 0.5, crowd, outcome (perfect).")
    ] = "",
    log: Annotated[Path | None, typer.Option("--log", help="Write every position to this CSV.")] = None,
    exam: ExamName = None,
    home: Home = None,
    json: AsJson = False,
) -> None:
    """Average return (1 breaks even) and Sharpe ratio of a dollar on every market event."""
    from workbench.science.documents import (
        POSITION_COLUMNS,
        market_forecasts,
        position_rows,
        returns_document,
    )

    levels = numbers(risk_aversion, option="--risk-aversion")
    table, probabilities, chosen = load(events, forecasts, exam=exam, home=home)
    values = market_forecasts(
        probabilities, methods=listed(method), variant=variant, how=pool, baselines=listed(baseline)
    )
    document = returns_document(table, values, price=price, levels=levels, tie=tie, by=by)
    if log is not None:
        write_csv(log, POSITION_COLUMNS, position_rows(table, values, price=price, levels=levels, tie=tie))
    if json:
        emit_json(with_exam(document, chosen))
        return
    keys = [f"{level:g}" for level in levels]
    returned, ratio = [f"return {key}" for key in keys], [f"sharpe {key}" for key in keys]
    show_table(
        ["method", "n", *returned, *ratio, "brier", "ece", "ties"],
        [[name, *_line(entry, keys)] for name, entry in document["methods"].items()],
    )


def _line(entry: dict[str, Any], keys: list[str]) -> list[Any]:
    returned, ratio = entry["average_return"], entry["sharpe"]
    figures = [*[returned[key] for key in keys], *[ratio[key] for key in keys]]
    return [entry["n"], *figures, entry["brier"], entry["ece"], entry["ties"]]
