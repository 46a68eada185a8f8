"""Working on a run from the command line: what ``analyze``, ``resume`` and ``demo`` share."""

import asyncio
import os
import signal
from typing import TYPE_CHECKING

import typer

from workbench.cli.common import (
    BUG,
    EXPECTED,
    ISOLATION,
    PROVIDER,
    STOPPED,
    USAGE,
    emit_json,
    exit_code,
    fail,
    one_line,
    open_store,
    say,
)

if TYPE_CHECKING:
    from proxies.asof.clock import Cutoff
    from workbench.engine.run.settings import RunSettings
    from workbench.store import Store


def analyze_claim(
    statement: str, cutoff: str, settings: "RunSettings", *, plan_only: bool = False, as_json: bool = False
) -> str:
    """Open a run for a claim, work on it, print it, and return its id; leaves with the exit code of an early end."""
    from proxies.asof.clock import Cutoff

    claim = (statement, Cutoff.parse(cutoff))
    store = open_store()
    run_id, error = drive(store, settings, isolation=settings.isolation, claim=claim, plan_only=plan_only)
    return finish(store, run_id, error, plan_only=plan_only, as_json=as_json)


def drive(
    store: "Store",
    settings: "RunSettings",
    *,
    isolation: str | None,
    run_id: str | None = None,
    claim: "tuple[str, Cutoff] | None" = None,
    plan_only: bool = False,
) -> "tuple[str | None, BaseException | None]":
    """Work on a run, or on a new one for a claim; return its id and what ended the work early.

    The id is None if no run was opened, the error None if the work came to its end. A bug of ours is raised: a damaged
    store or a prompt that does not fit needs its traceback.
    """
    try:
        run_id, error = asyncio.run(
            _work(store, settings, isolation=isolation, run_id=run_id, claim=claim, plan_only=plan_only)
        )
    except KeyboardInterrupt as stop:  # before or after the time in which Ctrl-C cancels the work
        return run_id, stop
    if error is not None and _code(error) == BUG:
        raise error
    return run_id, error


async def _work(
    store: "Store",
    settings: "RunSettings",
    *,
    isolation: str | None,
    run_id: str | None,
    claim: "tuple[str, Cutoff] | None",
    plan_only: bool,
) -> "tuple[str | None, BaseException | None]":
    from workbench.engine.progress import print_progress
    from workbench.engine.run.assembly import open_engine
    from workbench.engine.run.opening import new_run

    task = asyncio.current_task()
    assert task is not None
    loop = asyncio.get_running_loop()
    # A signal cancels the task instead of raising in the middle of it: cancelled groundings end their kernels on the way
    # out, and SIGTERM, which would end this process at once, leaves none behind either.
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, task.cancel)
    try:
        async with open_engine(
            store, settings, environ=os.environ, isolation=isolation, listener=print_progress
        ) as engine:
            if claim is not None:
                statement, cutoff = claim
                await engine.check(statement, cutoff, settings)
                run_id = new_run(store, statement, cutoff, settings)
                say(f"run {run_id}  {settings.model}  cutoff {cutoff.text}")
            assert run_id is not None, "a run to take up, or a claim to open one for"
            await engine.work(run_id, plan_only=plan_only)
    except (asyncio.CancelledError, *EXPECTED) as error:
        return run_id, error
    return run_id, None


def finish(
    store: "Store", run_id: str | None, error: BaseException | None, *, plan_only: bool, as_json: bool
) -> str:
    """Print a run as far as it has come and return its id, or leave with the exit code of what ended it early."""
    from workbench.engine.view import view
    from workbench.engine.wording import run_lines

    if run_id is None:
        assert error is not None
        if isinstance(error, KeyboardInterrupt | asyncio.CancelledError):
            say("workbench: stopped by hand before a run was opened")
            raise typer.Exit(STOPPED)
        fail(error)
    run = view(store, run_id)
    # A run that was stopped can be resumed, so its document so far is a result; after a mistake of the caller there is none.
    if as_json and (error is None or _code(error) in (STOPPED, PROVIDER)):
        emit_json(run.document())
    elif error is None:
        typer.echo("\n".join(run_lines(run)))
    if error is not None:
        say(f"workbench: {_ending(error, run_id)}")
        raise typer.Exit(_code(error))
    if plan_only:
        from workbench.engine.run.forecast import cost_line

        say(cost_line(run.state))
    return run_id


def _ending(error: BaseException, run_id: str) -> str:
    goes_on = f"`workbench resume {run_id}` goes on"
    if isinstance(error, KeyboardInterrupt | asyncio.CancelledError):
        return f"stopped by hand; {goes_on}"
    # These messages say themselves how to go on.
    if _code(error) in (USAGE, ISOLATION) or "resume" in str(error):
        return one_line(error)
    return f"{one_line(error)} ({goes_on})"


def _code(error: BaseException) -> int:
    return STOPPED if isinstance(error, KeyboardInterrupt | asyncio.CancelledError) else exit_code(error)
