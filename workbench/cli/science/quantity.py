"""`quantity`: a forecast of a series' value instead of a claim's probability."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from workbench.cli.common import AsJson, command, echo, emit_json, unlisted
from workbench.cli.science.science_options import parsed_day
from workbench.cli.table import show_table
from workbench.errors import UsageError
from workbench.formatting import figure
from workbench.output_files import write_output
from workbench.questions.series.series_quantity import MOST
from workbench.science.plots import figure_bytes
from workbench.views.fan_chart import fan_figure, fan_lines
from workbench.views.quantity_documents import quantity_at


@command
def quantity(
    series: Annotated[
        str,
        typer.Argument(
            help="A series by name (S&P 500, VIX, Bitcoin), by reference (yahoo:AAPL, fred:DGS10, own:NAME), or a CSV with date and value."
        ),
    ],
    on: Annotated[str, typer.Option("--on", help="Forecast its value on this day, YYYY-MM-DD.")] = "",
    by: Annotated[
        str, typer.Option("--by", help="Forecast its highest and lowest value until this day.")
    ] = "",
    cutoff: Annotated[str, typer.Option("--cutoff", help="Cutoff; now for none.")] = "now",
    past: Annotated[int, unlisted("--past", min=0, help="Past cutoffs of its record; 0 for none.")] = MOST,
    plot: Annotated[Path | None, unlisted("--plot", help="Write the fan chart (.png or .svg).")] = None,
    as_json: AsJson = False,
) -> None:
    """Forecast a series: quantiles of its value on a day, or of its highs and lows until then.

    The first line says how far to trust it: how the same forecast did at past cutoffs. Once the day has come, CRPS (lower is better, in
    the unit of the series) and PIT (where in the forecast the value lay, from 0 to 1) follow.
    """
    if bool(on) == bool(by):
        raise UsageError(
            "name one day: --on DATE for the value on it, --by DATE for the highest and the lowest until then"
        )
    if plot is not None and plot.suffix.lower() not in (".png", ".svg"):
        raise UsageError(f"a plot is written as .png or .svg, not {plot.name!r:.60}")
    document = quantity_at(
        series,
        parsed_day(on or by, option="--on" if on else "--by"),
        cutoff,
        extremes=bool(by),
        past=past,
        environ=os.environ,
    )
    if plot is not None:
        write_output(plot, figure_bytes(fan_figure(document), plot.suffix.lower().removeprefix(".")))
    if as_json:
        emit_json(document)
        return
    _print_quantity(document)


def _print_quantity(document: dict[str, Any]) -> None:
    echo(document["line"])
    echo("")
    echo("\n".join(fan_lines(document)), whole=True)
    echo("")
    shares = next(iter(document["quantiles"].values())).keys()
    show_table(
        ["", *(f"{float(share):.0%}" for share in shares)],
        [[name, *map(figure, levels.values())] for name, levels in document["quantiles"].items()],
    )
    echo("")
    show_table(
        ["1 chance in", "above", "below"],
        [[row["one_in"], figure(row["above"]), figure(row["below"])] for row in document["one_in"]],
    )
    for name, score in (document["outcome"] or {}).items():
        echo(f"\n{name} {figure(score['value'])} came: CRPS {figure(score['crps'])}, PIT {score['pit']:.2f}")
