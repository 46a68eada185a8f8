"""The forecasting science on the command line: score, compare, returns, calibrate, exam, and their companions."""

import typer

from workbench.cli.science.calibrate import calibrate
from workbench.cli.science.compare import compare
from workbench.cli.science.elicit import elicit
from workbench.cli.science.exam import exams
from workbench.cli.science.exceed import exceed
from workbench.cli.science.paper_tables import paper_tables
from workbench.cli.science.returns import returns
from workbench.cli.science.score import score
from workbench.cli.science.simulate import simulate


def register(app: typer.Typer) -> None:
    """Add the science commands to an app."""
    app.command()(score)
    app.command()(compare)
    app.command()(returns)
    app.add_typer(calibrate, name="calibrate")
    app.add_typer(exams, name="exam")
    app.command("paper-tables")(paper_tables)
    app.command()(exceed)
    app.command()(elicit)
    app.command()(simulate)
