"""`simulate` and `paper-tables`: the papers' claims in worlds whose truth is known, and the printed figures of paper B beside ours."""

from pathlib import Path
from typing import Annotated, Any

import typer

from workbench.cli.common import command, echo, emit_json, unlisted
from workbench.cli.science.science_options import AsJson, EventsFile, Seed
from workbench.cli.table import show_table
from workbench.science.documents import paper_tables_document
from workbench.science.simulator.studies import STUDIES, run_study
from workbench.science.tables import read_events, read_forecasts


@command
def paper_tables(
    events: EventsFile,
    published: Annotated[Path, typer.Option("--published", help="Published forecasts of the dev methods.")],
    trials: Annotated[Path, unlisted("--trials", help="Trials of the dev methods.")],
    resamples: Annotated[int, unlisted("--resamples", min=1, help="Bootstrap resamples.")] = 5000,
    seed: Seed = 20261121,
    json: AsJson = False,
) -> None:
    """Print Tables 1, 9 and 17 of paper B, printed and ours, with the difference and why it is there."""
    table = read_events(events)
    document = paper_tables_document(
        table, read_forecasts(published, table), read_forecasts(trials, table), resamples=resamples, seed=seed
    )
    if json:
        emit_json(document)
        return
    cells = document["cells"]
    for number in ("1", "9", "17"):
        echo(f"\nTable {number}")
        show_table(
            ["row", "column", "printed", "ours", "difference", "why"],
            [_table_row(cell) for cell in cells if cell["table"] == number],
        )
    comparable = [cell for cell in cells if cell["difference"] is not None]
    agreeing = sum(cell["agrees"] for cell in comparable)
    echo(f"\n{agreeing} of {len(comparable)} figures agree to the print's rounding.")
    echo("Also printed, but not to be had from the released files:")
    for row in document["unreachable"]:
        echo(f"  {row['what']}: {row['why']}")


def _table_row(cell: dict[str, Any]) -> list[str]:
    printed, ours, difference = cell["printed"], cell["ours"], cell["difference"]
    note = cell["our_note"] if cell["table"] != "17" else ""
    return [
        cell["row"],
        cell["column"],
        "-" if printed is None else f"{printed:.1f} {cell['printed_note']}".strip(),
        "-" if ours is None else f"{ours:.2f} {note}".strip(),
        "-" if difference is None else f"{difference:+.2f}" + ("" if cell["agrees"] else " !"),
        cell["why"],
    ]


@command
def simulate(
    study: Annotated[str, typer.Argument(help="`noise`, `leaves`, depth, crowd, or all.")] = "all",
    seed: Seed = 0,
    json: AsJson = False,
) -> None:
    """Run a study in worlds whose truth is known: every estimate with its interval, every claim with what came out."""
    results = [run_study(name, seed=seed) for name in (STUDIES if study == "all" else [study])]
    if json:
        emit_json({"seed": seed, "studies": [result.to_json() for result in results]})
        return
    for result in results:
        echo(f"{result.name}: {result.measure}")
        show_table(
            ["setting", "value", "low", "high"],
            [
                [row.setting, f"{row.value:.5f}", f"{row.low:.5f}", f"{row.high:.5f}"]
                for row in result.estimates
            ],
        )
        show_table(
            ["claim", "source", "difference", "low", "high", "Holm p", "verdict"],
            [
                [
                    claim.statement,
                    claim.source,
                    f"{claim.estimate.value:.5f}",
                    f"{claim.estimate.low:.5f}",
                    f"{claim.estimate.high:.5f}",
                    f"{claim.p_holm:.4f}",
                    claim.verdict,
                ]
                for claim in result.claims
            ],
        )
        for line in result.summary():
            echo(line)
