"""The forecasting science on the command line: score, compare, returns, calibrate, exam, and their companions."""

import typer

from workbench.cli.science_calibrate import calibrate
from workbench.cli.science_compare import compare
from workbench.cli.science_exam import exams
from workbench.cli.science_paper import paper_tables
from workbench.cli.science_returns import returns
from workbench.cli.science_score import score
from workbench.cli.science_series import elicit, exceed


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
