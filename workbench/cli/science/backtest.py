"""`backtest`: claims at past cutoffs, forecast with what was known there, and how that compares with taking the base rate."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from workbench.backtests.claim_backtest import (
    COLUMNS,
    BacktestPlan,
    ForecastFile,
    backtest_document,
    backtest_rows,
    run_backtest,
)
from workbench.backtests.claim_record import past_table
from workbench.backtests.claim_templates import Span, read_templates
from workbench.cli.common import AsJson, command, echo, emit_json, say, unlisted
from workbench.cli.science.science_options import parsed_day, write_csv
from workbench.cli.table import show_table
from workbench.environment import home_from
from workbench.errors import UsageError
from workbench.output_files import write_output
from workbench.resources import cores
from workbench.science.comparing.clusters import event_clusters
from workbench.science.documents.record_documents import BASE_RATE
from workbench.science.plots import figure_bytes, reliability_plot


@command
def backtest(
    claims: Annotated[
        str,
        typer.Argument(
            metavar="CLAIM|FILE",
            help="A claim, or a file with one a line (CSV: claim, family, horizon). {end}, {start}, {last}, {median} are filled in at each cutoff.",
        ),
    ],
    first: Annotated[str, typer.Option("--from", help="First cutoff, YYYY-MM-DD.")],
    last: Annotated[str, typer.Option("--to", help="Last cutoff; the end of the data without it.")] = "",
    every: Annotated[str, typer.Option("--every", help="week, month or quarter.")] = "quarter",
    horizon: Annotated[
        str,
        typer.Option(
            "--horizon",
            help="From cutoff to the claim's last day: 26d, 1w, 3m, 1y; the claim's own without it.",
        ),
    ] = "",
    forecaster: Annotated[
        str,
        unlisted(
            "--forecaster",
            help="tree, or paths: the answer of the key-free tree, which is the forecast of its series' paths.",
        ),
    ] = "tree",
    csv: Annotated[Path | None, unlisted("--csv", help="Write every forecast to this CSV.")] = None,
    plot: Annotated[
        Path | None, unlisted("--plot", help="Write the reliability plot (.png or .svg).")
    ] = None,
    processes: Annotated[
        int | None,
        unlisted("--processes", min=1, help="Processes at once; a core each, two at most, without it."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Forecast claims at past cutoffs with what was known there, and score them against the base rate.

    Stopped or killed, the same command goes on where it was. Differences are in Brier Index points, above 0 where the forecast was
    better; intervals are over clusters of overlapping windows, verdicts after Holm's correction for the number of families.
    """
    span = Span.parse(horizon) if horizon else None
    plan = BacktestPlan(
        templates=tuple(read_templates(claims, span)),
        first=parsed_day(first, option="--from"),
        every=every,
        forecaster=forecaster,
        **({"last": parsed_day(last, option="--to")} if last else {}),
    )
    if plot is not None and plot.suffix.lower() not in (".png", ".svg"):
        raise UsageError(f"a plot is written as .png or .svg, not {plot.name!r:.60}")
    stored = ForecastFile(home_from(os.environ) / "backtests" / plan.key())
    with progress_bar("cutoffs") as progress:
        rows = run_backtest(plan, stored, processes=processes or min(2, cores()), progress=progress)
    document = backtest_document(plan, rows)
    if csv is not None:
        write_csv(csv, COLUMNS, backtest_rows(rows))
    scored = [row.forecast for row in rows if row.forecast is not None]
    if plot is not None and scored:
        table = past_table(scored)
        clusters = event_clusters(table.events())
        said = {plan.forecaster: table.forecast, "base rate": table.rivals[BASE_RATE]}
        figure = reliability_plot({name: (p, table.outcome, clusters) for name, p in said.items()}, bins=10)
        write_output(plot, figure_bytes(figure, plot.suffix.lower().removeprefix(".")))
    if as_json:
        emit_json(document)
        return
    _print_backtest(document)


def _print_backtest(document: dict[str, Any]) -> None:
    overall = document["overall"]
    if overall is None:
        echo("no claim could be asked at any of these cutoffs")
    else:
        # The first line says how far to trust it.
        echo(overall["line"])
        families = document["families"]
        rows = [_family_cells(name, each) for name, each in families.items()]
        if len(families) > 1:
            rows.append(_family_cells("all", overall))
        show_table(
            [
                "claims",
                "n",
                "clusters",
                "came true",
                document["forecaster"],
                "base rate",
                "walk",
                "against base rate",
                "p holm",
                "verdict",
            ],
            rows,
        )
        if len(families) > 1:
            echo(
                f"family: {len(families)} kinds of claims looked at, p after Holm's correction for them; `all` is one look more"
            )
    for reason, count in document["left_out"].items():
        say(f"not asked {count} times: {reason}")


def _family_cells(name: str, record: dict[str, Any]) -> list[Any]:
    against = record["against"]["base rate"]
    ends = "" if against["interval"] is None else " [{:+.1f}, {:+.1f}]".format(*against["interval"])
    return [
        name,
        record["n"],
        record["clusters"],
        f"{record['came_true']:.2f}",
        f"{record['brier_index']:.1f}",
        f"{against['brier_index']:.1f}",
        f"{record['against']['driftless walk']['brier_index']:.1f}",
        f"{against['difference']:+.1f}{ends}",
        f"{against['p_holm']:.3f}",
        against["verdict"] or "no verdict",
    ]


@contextmanager
def progress_bar(noun: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that shows how many of how many are done: a bar on a terminal, else a line each tenth, on stderr."""
    if not sys.stderr.isatty():
        shown = -1

        def line(done: int, count: int) -> None:
            nonlocal shown
            if count and (tenth := 10 * done // count) > shown:
                shown = tenth
                say(f"{done} of {count} {noun}")

        yield line
        return
    # a bar is for terminals only, and rich takes as long to load as a short command
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(noun), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(noun, total=None)
        yield lambda done, count: bar.update(task, completed=done, total=count)
