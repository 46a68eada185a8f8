"""`paper-tables`: the printed figures of paper B beside ours."""

from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.common import command, emit_json
from workbench.cli.science.options import AsJson, EventsFile, Seed, show_table


@command
def paper_tables(
    events: EventsFile,
    published: Annotated[Path, typer.Option("--published", help="Published forecasts of the dev methods.")],
    trials: Annotated[Path, typer.Option("--trials", help="Trials of the dev methods.")],
    resamples: Annotated[int, typer.Option("--resamples", min=1, help="Bootstrap resamples.")] = 5000,
    seed: Seed = 20261121,
    json: AsJson = False,
) -> None:
    """Print Tables 1, 9 and 17 of paper B, printed and ours, with the difference and why it is there."""
    from workbench.science.comparing.paper_tables import UNREACHABLE
    from workbench.science.comparing.paper_tables import paper_tables as build
    from workbench.science.tables import read_events, read_forecasts

    table = read_events(events)
    cells = build(
        table, read_forecasts(published, table), read_forecasts(trials, table), resamples=resamples, seed=seed
    )
    if json:
        emit_json(
            {
                "cells": [
                    {
                        "table": c.table,
                        "row": c.row,
                        "column": c.column,
                        "printed": c.printed,
                        "ours": c.ours,
                        "difference": c.difference,
                        "agrees": c.agrees,
                        "printed_note": c.printed_note,
                        "our_note": c.our_note,
                        "why": c.why,
                    }
                    for c in cells
                ],
                "unreachable": [{"what": what, "why": why} for what, why in UNREACHABLE],
            }
        )
        return
    for number in ("1", "9", "17"):
        typer.echo(f"\nTable {number}")
        show_table(
            ["row", "column", "printed", "ours", "difference", "why"],
            [
                [
                    c.row,
                    c.column,
                    "-" if c.printed is None else f"{c.printed:.1f} {c.printed_note}".strip(),
                    "-" if c.ours is None else f"{c.ours:.2f} {c.our_note if number != '17' else ''}".strip(),
                    "-" if c.difference is None else f"{c.difference:+.2f}" + ("" if c.agrees else " !"),
                    c.why,
                ]
                for c in cells
                if c.table == number
            ],
        )
    comparable = [c for c in cells if c.difference is not None]
    typer.echo(
        f"\n{sum(c.agrees for c in comparable)} of {len(comparable)} figures agree to the print's rounding."
    )
    typer.echo("Also printed, but not to be had from the released files:")
    for what, why in UNREACHABLE:
        typer.echo(f"  {what}: {why}")
