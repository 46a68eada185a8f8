"""Commands over files of forecasts: scores, comparisons, calibration, exams."""

import typer

from workbench.cli.lazy import lazy_group

# fmt: off
SCIENCE = {
    "score": ("workbench.operations.scoring:Score", "Score forecasts by question type and overall."),
    "compare": ("workbench.operations.comparisons:Compare", "Compare methods with a reference on the events both answered."),
    "returns": ("workbench.operations.comparisons:Returns", "Average return (1 breaks even) and Sharpe ratio of a dollar on every market event, and what of it was edge and luck."),
    "calibrate": ("workbench.cli.science:calibrate_group", "Calibration learned from resolved forecasts."),
    "elicit": ("workbench.operations.elicitation:Elicit", "Pool what one model answered when asked in several ways: variants, both directions, repeated votes."),
    "exceed": ("workbench.operations.elicitation:Exceed", "Chance that the series lies above each level on each day, from data before the cutoff only."),
    "simulate": ("workbench.operations.studies_of_worlds:Simulate", "Run a study in worlds whose truth is known: every estimate with its interval, every claim with what came out."),
    "exam": ("workbench.cli.science:exam_group", "Named views of a file of questions."),
    "paper-tables": ("workbench.operations.studies_of_worlds:PaperTables", "Print Tables 1, 9 and 17 of paper B, printed and ours, with the difference and why it is there."),
}
CALIBRATE = {
    "fit": ("workbench.operations.calibrations:FitCalibration", "Fit a calibration on every resolved forecast of one method, and save it where it helps questions left out of the fit."),
    "apply": ("workbench.operations.calibrations:ApplyCalibration", "Write calibrated forecasts, resolved or not, as variant `calibrated`."),
    "priors": ("workbench.operations.calibrations:Priors", "Write the events with `prior_temporal`: how often questions of the same group came true that had resolved before each was asked."),
}
EXAM = {
    "build": ("workbench.operations.exams:BuildExam", "Choose questions by dates, source, strata and seed, leaving out what a model may know by heart."),
    "list": ("workbench.operations.exams:ListExams", "Exams that were built, in the order of their names."),
}
# fmt: on

calibrate_group = typer.Typer(
    cls=lazy_group(CALIBRATE), help="Calibration learned from resolved forecasts.", no_args_is_help=True
)
exam_group = typer.Typer(
    cls=lazy_group(EXAM), help="Named views of a file of questions.", no_args_is_help=True
)

science_group = typer.Typer(
    cls=lazy_group(SCIENCE),
    help="Scores, comparisons, calibration and exams over files of forecasts.",
    no_args_is_help=True,
)
