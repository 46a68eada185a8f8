"""``experiment``: studies of arms on an exam."""

import typer

from workbench.cli.lazy import lazy_group

# fmt: off
COMMANDS = {
    "run": ("workbench.operations.experiments:RunStudy", "Run a study, or go on with it: nothing that was made is made again. Ends with the leak audit and the report."),
    "status": ("workbench.operations.experiments:StudyStatus", "How far a study is: forecasts made, missing and to come, by arm, and what they cost so far."),
    "report": ("workbench.operations.experiments:StudyReport", "Write the report of a finished study again: tables, page, notebook. Results are locked until the leak audit is done."),
    "ready": ("workbench.operations.experiments:ReadyStudies", "Studies that come with the workbench: listed, or written to a file to run or to edit."),
}
# fmt: on
experiment = typer.Typer(
    cls=lazy_group(COMMANDS), help="Studies: arms x exam x trials x seeds.", no_args_is_help=True
)
