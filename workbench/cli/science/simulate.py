"""`simulate`: the papers' claims about bias, variance, noise and depth, tested in worlds whose truth is known."""

from typing import Annotated

import typer

from workbench.cli.common import command, echo, emit_json
from workbench.cli.science.options import AsJson, Seed
from workbench.cli.table import show_table
from workbench.errors import UsageError
from workbench.science.comparing.clusters import MIN_CLUSTERS
from workbench.science.simulator.studies import STUDIES, run_study


@command
def simulate(
    study: Annotated[str, typer.Argument(help="noise, leaves, depth, crowd, or all.")] = "all",
    seed: Seed = 0,
    batches: Annotated[
        int, typer.Option("--batches", help="Independent batches of worlds; intervals come from them.")
    ] = 40,
    json: AsJson = False,
) -> None:
    """Run a study on known ground: every estimate with its interval, every claim with what came out."""
    if batches < MIN_CLUSTERS:
        raise UsageError(f"intervals need at least {MIN_CLUSTERS} batches, not {batches}")
    studies = [
        run_study(name, seed=seed, batches=batches) for name in (STUDIES if study == "all" else [study])
    ]
    if json:
        emit_json({"seed": seed, "batches": batches, "studies": [each.to_json() for each in studies]})
        return
    for each in studies:
        echo(f"{each.name}: {each.measure}")
        show_table(
            ["setting", "value", "low", "high"],
            [
                [row.setting, f"{row.value:.5f}", f"{row.low:.5f}", f"{row.high:.5f}"]
                for row in each.estimates
            ],
        )
        show_table(
            ["claim", "source", "difference", "low", "high", "verdict"],
            [
                [
                    claim.statement,
                    claim.source,
                    f"{claim.estimate.value:.5f}",
                    f"{claim.estimate.low:.5f}",
                    f"{claim.estimate.high:.5f}",
                    claim.verdict,
                ]
                for claim in each.claims
            ],
        )
        for line in each.summary():
            echo(line)
