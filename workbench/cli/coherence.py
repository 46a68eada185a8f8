"""``coherence``: the roots of several runs checked against each other."""

from typing import Annotated

import typer

from workbench.cli.common import JSON_OPTION, WANTING, command, echo, emit_json, open_store, say
from workbench.cli.table import show_table
from workbench.engine import documents
from workbench.formatting import percent


@command
def coherence(
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[RUN]...", help="Runs to compare; all finished ones without."),
    ] = None,
    exclusive: Annotated[
        list[str] | None,
        typer.Option(help="RUN,RUN,...: the options of one question, of which exactly one comes true."),
    ] = None,
    as_json: Annotated[bool, JSON_OPTION] = False,
) -> None:
    """Check the roots of several runs against each other: nested and exclusive claims, repeats and contraries.

    What belongs together is read from the statements; only runs with the same cutoff are compared.
    """
    store = open_store()
    groups = [[part.strip() for part in group.split(",") if part.strip()] for group in exclusive or ()]
    report = documents.coherence(store, runs or (), groups)
    for line in report["left_out"]:
        say(line)
    if as_json:
        emit_json(report)
    else:
        lines = [
            (row["run_id"], percent(row["p"]), row["cutoff"], row["statement"]) for row in report["forecasts"]
        ]
        if lines:
            show_table(("run", "p", "cutoff", "statement"), lines)
        for finding in report["findings"]:
            echo(f"{finding['kind']:10} {finding['message']}")
        count = len(report["findings"])
        echo("coherent" if not count else f"NOT coherent: {count} finding{'s' if count > 1 else ''}")
    if report["findings"]:
        raise typer.Exit(WANTING)
