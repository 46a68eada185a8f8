"""Commands over files of forecasts: scores, comparisons, calibration, exams."""

import typer

from workbench.cli.lazy import lazy_group

# fmt: off
SCIENCE = {
    "score": ("workbench.cli.science.score:score", "Score forecasts by question type and overall."),
    "compare": ("workbench.cli.science.compare:compare", "Compare methods with a reference on the events both answered."),
    "returns": ("workbench.cli.science.returns:returns", "Average return (1 breaks even) and Sharpe ratio of a dollar on every market event, and what of it was edge and luck."),
    "calibrate": ("workbench.cli.science.calibrate:calibrate", "Calibration learned from resolved forecasts."),
    "elicit": ("workbench.cli.science.elicit:elicit", "Pool what one model answered when asked in several ways: variants, both directions, repeated votes."),
    "exceed": ("workbench.cli.science.elicit:exceed", "Chance that the series lies above each level on each day, from data before the cutoff only."),
    "simulate": ("workbench.cli.science.simulate:simulate", "Run a study in worlds whose truth is known: every estimate with its interval, every claim with what came out."),
    "exam": ("workbench.cli.science.exam:exams", "Named views of a file of questions."),
    "paper-tables": ("workbench.cli.science.simulate:paper_tables", "Print Tables 1, 9 and 17 of paper B, printed and ours, with the difference and why it is there."),
}
# fmt: on

science_group = typer.Typer(
    cls=lazy_group(SCIENCE),
    help="Scores, comparisons, calibration and exams over files of forecasts.",
    no_args_is_help=True,
)
