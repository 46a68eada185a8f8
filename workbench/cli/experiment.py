"""``experiment``: a study of arms on an exam, from its file to its report."""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from workbench.cli.common import (
    AsJson,
    IsolationLevel,
    command,
    echo,
    emit_json,
    exit_code,
    one_line,
    open_store,
    say,
)
from workbench.cli.run.drive import may_buy_again
from workbench.cli.run.run_options import (
    Workers,
    Yes,
    takes_settings,
    without_level,
)
from workbench.cli.signals import stop_signals
from workbench.cli.table import show_table
from workbench.engine.worker_place import worker_place
from workbench.errors import STOPPED, USAGE, BudgetStop, ProviderError, UsageError
from workbench.store import Store
from workbench.studies.arms.run_arms import with_settings
from workbench.studies.leak_audit import audit_study
from workbench.studies.ready_studies import needs_of, ready_studies, write_ready
from workbench.studies.runner import StudyRunner
from workbench.studies.study_file import StudyError, read_study
from workbench.studies.study_plan import StudyPlan, plan_study, status_document
from workbench.studies.study_report import write_study
from workbench.studies.study_state import SORT, StudyState, load_study

experiment = typer.Typer(help="Studies: arms x exam x trials x seeds.", no_args_is_help=True)

StudyFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="The study: a YAML file (docs/experiments.md).")
]
Json = AsJson


@experiment.command("run")
@command
@takes_settings(only_set=True)
def run(
    file: StudyFile,
    settings: Mapping[str, Any],
    plan_only: Annotated[
        bool, typer.Option("--plan-only", help="Check the file, print the cost forecast, ask nobody.")
    ] = False,
    workers: Workers = None,
    isolation: IsolationLevel = None,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Run a study, or go on with it: nothing that was made is made again. Ends with the leak audit and the report."""
    place = worker_place(workers)
    settings, isolation = without_level(settings, isolation)
    store = open_store()
    plan = _plan(store, file, settings)
    for line in plan.cost_lines():
        say(line)
    expected, budget = plan.expected_usd(), plan.spec.budget_usd
    if budget is not None and expected is not None and expected > budget:
        say(
            f"the forecast is above the budget of ${budget:g}: the study will stop there and can go on with more"
        )
    if plan_only:
        if as_json:
            emit_json({"study": plan.spec.name, "forecasts": len(plan.cells()), "expected_usd": expected})
        return
    again = may_buy_again(store, _open_runs(store, plan), yes=yes)
    runner = StudyRunner(
        store, plan, environ=os.environ, isolation=isolation, workers=place, say=say, rebuy=again
    )
    try:
        state = asyncio.run(interruptible(runner))
    except (BudgetStop, ProviderError) as error:
        say(f"workbench: {one_line(error)} (`workbench experiment run {file}` goes on)")
        raise typer.Exit(exit_code(error)) from None
    except (KeyboardInterrupt, asyncio.CancelledError):
        say(f"workbench: stopped by hand; `workbench experiment run {file}` goes on")
        raise typer.Exit(STOPPED) from None
    if state.audited is None:
        state = audit_study(store, plan, state)
    folder = store.home / "studies" / plan.spec.name
    results = write_study(store, plan, state, folder)
    if as_json:
        emit_json(results)
        return
    for line in results["summary"]:
        echo(line)
    echo(f"{folder / 'report.html'}")


def _open_runs(store: Store, plan: "StudyPlan") -> list[str]:
    name = plan.spec.name
    return load_study(store, name).open_runs() if name in store.streams(SORT) else []


async def interruptible(runner: "StudyRunner") -> StudyState:
    """Work on a study until it ends; the signals that stop a program end it between two calls."""
    task = asyncio.current_task()
    assert task is not None
    loop = asyncio.get_running_loop()
    for number in stop_signals():
        loop.add_signal_handler(number, task.cancel)
    return await runner.work()


@experiment.command("status")
@command
@takes_settings(only_set=True)
def status(file: StudyFile, settings: Mapping[str, Any], as_json: Json = False) -> None:
    """How far a study is: forecasts made, missing and to come, by arm, and what they cost so far."""
    store = open_store()
    document = status_document(store, _plan(store, file, settings))
    if as_json:
        emit_json(document)
        return
    show_table(
        ["arm", "made", "missing", "to come", "calls", "usd"],
        [
            [row["arm"], row["made"], row["missing"], row["to_come"], row["calls"], row["cost_usd"]]
            for row in document["arms"]
        ],
    )
    echo(document["state"])


@experiment.command("report")
@command
@takes_settings(only_set=True)
def report(
    file: StudyFile,
    settings: Mapping[str, Any],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder; the study's own without it.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write the report of a finished study again: tables, page, notebook. Results are locked until the leak audit is done."""
    store = open_store()
    plan = _plan(store, file, settings)
    folder = output or store.home / "studies" / plan.spec.name
    results = write_study(store, plan, load_study(store, plan.spec.name), folder)
    if as_json:
        emit_json(results)
        return
    for line in results["summary"]:
        echo(line)
    echo(f"{folder / 'report.html'}")


@experiment.command("ready")
@command
def ready(
    name: Annotated[str | None, typer.Argument(help="One of them; all are listed without it.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; its questions go beside it.")
    ] = None,
) -> None:
    """Studies that come with the workbench: listed, or written to a file to run or to edit."""
    if name is None:
        show_table(
            ["study", "fill in", "what it asks"],
            [
                [each, ", ".join(needs_of(each)) or "nothing: it runs as it is", note]
                for each, note in ready_studies().items()
            ],
        )
        return
    if output is None:
        raise UsageError(f"where to? `workbench experiment ready {name} -o FILE`")
    for path in write_ready(name, output):
        echo(f"{path}")


def _plan(store: Store, file: Path, settings: Mapping[str, Any]) -> "StudyPlan":
    """Read and check a study; every mistake is a line on stderr, and the exit code is the caller's."""
    try:
        spec = with_settings(read_study(file), settings)
        state = load_study(store, spec.name) if spec.name in store.streams(SORT) else None
        return plan_study(store, spec, state)
    except StudyError as error:
        for problem in error.problems:
            say(f"workbench: {problem}")
        raise typer.Exit(USAGE) from None
